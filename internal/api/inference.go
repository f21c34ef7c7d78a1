package api

import (
	"net/http"
	"slices"
	"time"

	"penstock"
	"penstock/internal/admit"
	"penstock/internal/api/dialect"
	"penstock/internal/api/dialect/anthropic"
	"penstock/internal/api/dialect/openai"
	"penstock/internal/deliver"
	"penstock/internal/request"
)

// keyedWait is how long a call with an Idempotency-Key waits for the job that it runs as.
const keyedWait = 10 * time.Minute

// inferenceEndpoint is an endpoint of inferences: how its bodies are read, and what is particular to it. All of them
// share one way, which is [inference] here and a job's in submitJob.
type inferenceEndpoint struct {
	endpoint penstock.Endpoint
	read     func(text []byte) (dialect.Call, error)
	question func(string) ([]byte, error) // the body that asks one question; nil where no job can name the endpoint
	needs    string                       // members that a job's bodies get when they and its defaults leave them out
	forward  []string                     // headers of the caller's that are the upstream's business
	free     bool                         // nobody charges for it
	silent   bool                         // its answers are never streamed
	// estimate answers when no target of the model has the endpoint; nil where there is no other answer.
	estimate func(c *call, text []byte) error
}

// inferenceEndpoints are the endpoints that inferences come in by.
var inferenceEndpoints = map[penstock.Endpoint]inferenceEndpoint{
	penstock.EndpointChat:        {endpoint: penstock.EndpointChat, read: openai.ReadChat, question: openai.ChatQuestion},
	penstock.EndpointCompletions: {endpoint: penstock.EndpointCompletions, read: openai.ReadCompletion, question: openai.CompletionQuestion},
	penstock.EndpointEmbeddings:  {endpoint: penstock.EndpointEmbeddings, read: openai.ReadEmbedding, question: openai.InputQuestion, silent: true},
	penstock.EndpointResponses:   {endpoint: penstock.EndpointResponses, read: openai.ReadResponse, question: openai.InputQuestion},
	penstock.EndpointMessages: {endpoint: penstock.EndpointMessages, read: anthropic.ReadMessage, question: anthropic.Question, needs: anthropic.Needs,
		forward: []string{anthropic.HeaderVersion, anthropic.HeaderBeta}},
	penstock.EndpointCountTokens: {endpoint: penstock.EndpointCountTokens, read: anthropic.ReadCount,
		forward: []string{anthropic.HeaderVersion, anthropic.HeaderBeta}, free: true, estimate: (*call).estimateTokens},
}

// inference makes the handler of an endpoint.
func inference(endpoint penstock.Endpoint) func(*call) error {
	d := inferenceEndpoints[endpoint]
	return func(c *call) error { return c.infer(&d) }
}

// infer answers an inference at once.
func (c *call) infer(d *inferenceEndpoint) error {
	if err := c.takePermit(); err != nil {
		return err
	}
	text, err := c.readBody()
	if err != nil {
		return err
	}
	return c.inferText(d, text)
}

// takePermit takes the call's place under the concurrency of its tenant and key. Callers are known by their headers, so
// one that is at its limit gets no memory for another body. Codes: rate_limited, overloaded.
func (c *call) takePermit() (err error) {
	c.permit, err = c.Requests.Permit(c.r.Context(), &c.caller)
	return err
}

// inferText answers the inference of a body.
func (c *call) inferText(d *inferenceEndpoint, text []byte) error {
	asked, err := d.read(text)
	if err != nil {
		return err
	}
	c.model = asked.Model
	key, err := idempotencyKey(c.r)
	if err != nil {
		return err
	}
	if key != "" && d.question != nil {
		return c.inferAsJob(d, asked, key)
	}
	mode, err := cacheMode(c.r)
	if err != nil {
		return err
	}
	if asked.Stream {
		c.endWithKey()
	}
	c.running, err = c.Requests.Start(c.r.Context(), c.caller, request.Order{
		ID: c.id, Endpoint: d.endpoint, Model: asked.Model, Inference: inferenceOf(asked), Object: new(asked.Object), Stream: asked.Stream, IncludeUsage: asked.IncludeUsage,
		Header: d.forwarded(c.r.Header), Free: d.free, Cache: mode, Try: tryOf(c.r), Permit: c.permit,
	}, &httpSink{call: c, endpoint: d, stream: asked.Stream, text: asked.Object.Text})
	return err
}

// ReadInference reads a body of an endpoint again: one that was stored, or that a filter edited. Codes: invalid_request.
func ReadInference(endpoint penstock.Endpoint, text []byte) (admit.Inference, error) {
	return readStored(endpoint, text)
}

// inferenceOf is what admission has to know of a body.
func inferenceOf(asked dialect.Call) admit.Inference {
	return admit.Inference{Body: asked.Object.Text, MaxOutputTokens: asked.MaxOutputTokens, Further: asked.Further, Choices: asked.Choices,
		Silent: asked.Silent, Links: asked.Object.Links}
}

// forwarded returns the headers that go on to the upstream.
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

// estimateTokens answers how long a message is by a tokenizer that may not be the upstream's.
func (c *call) estimateTokens(text []byte) error {
	c.w.Header().Set(headerEstimate, "true")
	return c.json(http.StatusOK, anthropic.TokenCount{InputTokens: c.tokens.Body(text)})
}

// inferAsJob runs a call that must not run twice as a job, and waits for it.
func (c *call) inferAsJob(d *inferenceEndpoint, asked dialect.Call, key string) error {
	if asked.Stream {
		return penstock.InvalidParam("Idempotency-Key", "A streamed call cannot be repeated; leave out stream or Idempotency-Key.")
	}
	if c.r.Header.Get(anthropic.HeaderBeta) != "" && slices.Contains(d.forward, anthropic.HeaderBeta) {
		return penstock.InvalidParam("anthropic-beta", "A call with an Idempotency-Key runs as a job, which keeps no headers; leave out one of the two.")
	}
	order := admit.JobOrder{Endpoint: d.endpoint, Model: asked.Model, IdempotencyKey: key, Inferences: []admit.Inference{inferenceOf(asked)}}
	var err error
	if order.BodyHash, err = canonicalHash(c.r.URL.Path, asked.Object.Text); err != nil {
		return err
	}
	order.Lane, order.Scope, order.Try = penstock.LaneRealtime, penstock.ScopeInference, tryOf(c.r)
	c.permit.Leave() // its job takes one, until the job ends
	receipt, err := c.Admit.Job(c.r.Context(), c.caller, order)
	if err != nil {
		return err
	}
	c.tellWait(receipt.Waited)
	receipt.Begin()
	tellBudgets(c.w.Header(), receipt.Warnings)
	if receipt.Replayed {
		c.w.Header().Set("Idempotency-Replayed", "true")
	}
	job, err := c.wait(receipt.Job.ID, deliver.Until{Timeout: keyedWait})
	if err != nil {
		return err
	}
	c.w.Header().Set("Location", "/v1/jobs/"+penstock.ViewJob.Format(job.ID))
	if job.FinishedAt.IsZero() {
		return penstock.Errorf(penstock.CodeOverloaded, "The call still runs as %s; send it again with the same key to wait on.",
			penstock.ViewJob.Format(job.ID))
	}
	item, err := c.Jobs.Item(c.r.Context(), c.caller.Tenant.ID, penstock.ItemID(job.ID, 0))
	if err != nil {
		return err
	}
	c.final = true // the same key will always get this answer
	switch item.Status {
	case penstock.StatusSucceeded:
	case penstock.StatusCancelled:
		return penstock.Errorf(penstock.CodeConflict, "The job that this call runs as, %s, was cancelled.", penstock.ViewJob.Format(job.ID))
	default:
		return penstock.Errorf(item.Error.Code, "%s", item.Error.Message)
	}
	c.w.Header().Set("Content-Type", typeJSON)
	c.w.Header().Set(headerTarget, item.Target)
	c.w.WriteHeader(item.StatusCode)
	_, err = c.w.Write(item.Result)
	return err
}
