package api

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"penstock"
	"penstock/internal/admit"
	"penstock/internal/deliver"
	"penstock/internal/dialect"
	"penstock/internal/dialect/anthropic"
	"penstock/internal/dialect/catalog"
	"penstock/internal/request"
	"penstock/internal/rest"
)

// keyedWait is how long a call with an Idempotency-Key waits for the job that it runs as.
const keyedWait = 10 * time.Minute

// inferenceEndpoint describes an inference endpoint: how its bodies are parsed, and its particulars. All of them share one
// handler, [inference], and submitJob for jobs.
type inferenceEndpoint struct {
	endpoint penstock.Endpoint
	read     func(text []byte) (dialect.Inference, error)
	question func(string) ([]byte, error) // makes the body of one prompt; nil if jobs do not have the endpoint
	forward  []string                     // request headers that are forwarded to the upstream
	beta     string                       // the forwarded header that selects beta features
	free     bool                         // its calls cost nothing
	// estimate answers when no target of the model has the endpoint; nil where there is no other answer.
	estimate func(c inferences, text []byte) error
}

// inferenceEndpoints are all inference endpoints.
var inferenceEndpoints = func() map[penstock.Endpoint]inferenceEndpoint {
	all := map[penstock.Endpoint]inferenceEndpoint{}
	for _, e := range catalog.All() {
		d := inferenceEndpoint{endpoint: e.Name, read: e.Read, question: e.Question, forward: e.Forward, beta: e.Beta, free: e.Free}
		if e.Name == penstock.EndpointCountTokens {
			d.estimate = inferences.estimateTokens
		}
		all[e.Name] = d
	}
	return all
}()

// inference returns the handler of an endpoint.
func inference(endpoint penstock.Endpoint) func(*rest.Call) error {
	d := inferenceEndpoints[endpoint]
	return on(func(c inferences) error { return c.infer(&d) })
}

// infer runs a synchronous inference.
func (c inferences) infer(d *inferenceEndpoint) error {
	if err := c.takePermit(); err != nil {
		return err
	}
	asked, err := c.readInference(d)
	if err != nil {
		return err
	}
	if !namesPrompt(c.R.Header) {
		return c.start(d, asked)
	}
	text, err := withPrompt(c.R.Header, d.endpoint, asked.Object.Text)
	if err != nil {
		return err
	}
	return c.inferText(d, text)
}

// takePermit takes a permit from the concurrency limits of the call's tenant and key. It needs the headers only, so a caller
// at its limit gets no memory for another body. Codes: rate_limited, overloaded.
func (c *call) takePermit() (err error) {
	c.permit, err = c.Requests.Permit(c.R.Context(), &c.Principal)
	return err
}

// inferText runs the inference of a body.
func (c inferences) inferText(d *inferenceEndpoint, text []byte) error {
	asked, err := d.read(text)
	if err != nil {
		return err
	}
	return c.start(d, asked)
}

// start answers an inference that was read.
func (c inferences) start(d *inferenceEndpoint, asked dialect.Inference) error {
	c.model = asked.Model
	if d.beta != "" {
		asked.Betas = strings.Join(c.R.Header.Values(d.beta), ",")
	}
	key, err := idempotencyKey(c.R)
	if err != nil {
		return err
	}
	if key != "" && d.question != nil {
		labels, err := c.labelsOf(d.endpoint, &asked.Object)
		if err == nil {
			_, err = c.overrides() // which a job does not have
		}
		if err != nil {
			return err
		}
		return c.inferAsJob(d, asked, keyedCall{key, labels})
	}
	return c.startWith(d, &asked, &httpSink{call: c.call, endpoint: d, stream: asked.Stream, text: asked.Object.Text})
}

// startWith runs an inference as a synchronous call, whose answer goes to a sink.
func (c inferences) startWith(d *inferenceEndpoint, asked *dialect.Inference, sink request.Sink) error {
	c.model = asked.Model
	mode, err := cacheMode(c.R)
	if err != nil {
		return err
	}
	labels, err := c.labelsOf(d.endpoint, &asked.Object)
	if err != nil {
		return err
	}
	overrides, err := c.overrides()
	if err != nil {
		return err
	}
	if asked.Stream {
		c.endWithKey()
	}
	c.running, err = c.Requests.Start(c.R.Context(), c.Principal, request.Order{
		ID: c.ID, Endpoint: d.endpoint, Inference: asked,
		Header: d.forwarded(c.R.Header), Free: d.free, Cache: mode, Labels: labels, Overrides: overrides, Try: tryOf(c.R), Permit: c.permit, Memory: &c.memory,
	}, sink)
	return err
}

// forwarded returns the headers that are forwarded to the upstream.
func (d *inferenceEndpoint) forwarded(from http.Header) http.Header {
	var to http.Header
	for _, name := range d.forward {
		if values := from.Values(name); len(values) > 0 {
			if to == nil {
				to = make(http.Header, len(d.forward))
			}
			to[name] = values
		}
	}
	return to
}

// headerEstimate marks a number that was not counted.
const headerEstimate = "x-penstock-estimate"

// estimateTokens answers with the length of a message by a tokenizer that may not be the upstream's.
func (c inferences) estimateTokens(text []byte) error {
	c.W.Header().Set(headerEstimate, "true")
	return c.JSON(http.StatusOK, anthropic.TokenCount{InputTokens: c.tokens.Body(text)})
}

// keyedCall is what a call with an idempotency key has beside its body.
type keyedCall struct {
	key    string
	labels penstock.Labels
}

// inferAsJob runs a call with an idempotency key as a job, so that it does not run twice, and waits for it.
func (c inferences) inferAsJob(d *inferenceEndpoint, asked dialect.Inference, keyed keyedCall) error {
	if asked.Stream {
		return penstock.InvalidParam("Idempotency-Key", "A streamed call cannot have an Idempotency-Key; leave out stream or Idempotency-Key.")
	}
	if c.R.Header.Get(anthropic.HeaderBeta) != "" && slices.Contains(d.forward, anthropic.HeaderBeta) {
		return penstock.InvalidParam("anthropic-beta", "A call with an Idempotency-Key runs as a job, and a job does not store the header anthropic-beta; leave out anthropic-beta or Idempotency-Key.")
	}
	order := admit.JobOrder{Endpoint: d.endpoint, Model: asked.Model, IdempotencyKey: keyed.key, Tags: keyed.labels.Tags, Inferences: []dialect.Inference{asked}}
	var err error
	if order.BodyHash, err = canonicalHash(c.R.URL.Path, asked.Object.Text); err != nil {
		return err
	}
	order.Lane, order.Scope, order.Try, order.Memory = penstock.LaneRealtime, penstock.ScopeInference, tryOf(c.R), &c.memory
	c.permit.Leave() // its job takes one, until the job ends
	receipt, err := c.Admit.Job(c.R.Context(), c.Principal, order)
	if err != nil {
		return err
	}
	c.setWaitHeader(receipt.Waited)
	receipt.Begin()
	setBudgetWarning(c.W.Header(), receipt.Warnings)
	if receipt.Replayed {
		c.W.Header().Set("Idempotency-Replayed", "true")
	}
	job, err := c.wait(receipt.Job.ID, deliver.Until{Timeout: keyedWait})
	if err != nil {
		return err
	}
	c.W.Header().Set("Location", "/v1/jobs/"+penstock.ViewJob.Format(job.ID))
	if job.FinishedAt.IsZero() {
		return penstock.Errorf(penstock.CodeOverloaded, "The call still runs, as %s; send it again with the same Idempotency-Key to wait for its answer.",
			penstock.ViewJob.Format(job.ID))
	}
	item, err := c.Jobs.Item(c.R.Context(), c.Principal.Tenant.ID, penstock.ItemID(job.ID, 0))
	if err != nil {
		return err
	}
	c.Final = true // the same key will always get this answer
	switch item.Status {
	case penstock.StatusSucceeded:
	case penstock.StatusCancelled:
		return penstock.Errorf(penstock.CodeConflict, "The call ran as %s, and that job was cancelled.", penstock.ViewJob.Format(job.ID))
	default:
		return penstock.Errorf(item.Error.Code, "%s", item.Error.Message)
	}
	setTruncatedHeader(c.W.Header(), item.Truncated)
	setPromptHeader(c.W.Header(), item.Prompt)
	c.W.Header().Set("Content-Type", rest.TypeJSON)
	c.W.Header().Set(headerTarget, item.Target)
	c.W.Header().Set(headerCost, item.Cost.String())
	c.W.WriteHeader(item.StatusCode)
	_, err = c.W.Write(item.Result)
	return err
}
