package api

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"penstock"
	"penstock/internal/admit"
	"penstock/internal/body"
	"penstock/internal/config"
	"penstock/internal/deliver"
	"penstock/internal/dialect"
	"penstock/internal/dialect/catalog"
	"penstock/internal/dialect/line"
	"penstock/internal/rest"
	"penstock/internal/store"
	"penstock/internal/telemetry"
)

// jobCreate is a job as a caller submits it.
type jobCreate struct {
	Endpoint    penstock.Endpoint `json:"endpoint,omitzero" about:"The dialect of the bodies; /v1/chat/completions when not given."`
	Model       string            `json:"model,omitzero" about:"The model. A job over a file may leave it out: then the model of the first line counts."`
	Lane        penstock.Lane     `json:"lane,omitzero" about:"realtime, standard (default) or bulk."`
	Input       jsontext.Value    `json:"input,omitzero" about:"One inference: a prompt as a string, or a body."`
	Messages    jsontext.Value    `json:"messages,omitzero" about:"One inference: the messages of a conversation, instead of input. Other members of the body go into defaults."`
	Inputs      []anInput         `json:"inputs,omitzero" about:"Several inferences, at most 10,000: prompts as strings, or objects with a body. Exactly one of input, messages, inputs and input_file is given."`
	Prompt      jsontext.Value    `json:"prompt,omitzero" about:"The prompt of every input that names no other: {name or id, label or version, variables}. An input may have variables of its own."`
	InputFile   *string           `json:"input_file,omitzero" about:"The id of a file (POST /v1/files) whose lines are the inferences, as many as it has."`
	Defaults    jsontext.Value    `json:"defaults,omitzero" about:"Members that are added to every body that lacks them."`
	Deadline    time.Time         `json:"deadline,omitzero" about:"When unfinished items expire, within 30 days; 24 hours from now when not given."`
	MaxAttempts *int              `json:"max_attempts,omitzero" about:"The most attempts of an item, 1 to 20; 4 when not given."`
	ItemTimeout *rest.Seconds     `json:"item_timeout,omitzero" about:"How long one attempt may take, from 1s to 1h; 5m when not given."`
	Tags        map[string]string `json:"tags,omitzero"`
	Webhook     *jobWebhook       `json:"webhook,omitzero" about:"Where the events of this job are sent, signed with the secret of POST /v1/webhooks/secret."`
	Stream      bool              `json:"stream,omitzero" about:"Stream the answers as item.delta in the job's events. The results are the same."`
	DryRun      bool              `json:"dry_run,omitzero" about:"Only report whether the job would be accepted, its tokens and cost, and when it would finish. Nothing is stored."`
}

// MaxWait is the longest wait of Prefer: wait.
const MaxWait = 60 * time.Second

func (c jobs) submitJob() error {
	limits := c.Config.Current().Process.Limits
	if n := c.R.ContentLength; n < 0 || n > limits.MaxBodyBytes {
		leave, err := c.uploads.admit(c.Principal.Tenant.ID) // it takes at least as much memory as an upload
		if err != nil {
			return err
		}
		defer leave()
	}
	text, err := c.readBodyOf(limits.MaxJobBytes)
	if err != nil {
		return err
	}
	var in jobCreate
	if err := rest.Decode(text, &in); err != nil {
		return err
	}
	order, err := c.orderOf(&in, limits)
	if err != nil {
		return err
	}
	if order.Webhook, err = (webhooks(c)).jobWebhook(in.Webhook); err != nil {
		return err
	}
	order.Memory = &c.memory
	if in.DryRun {
		return trials(c).tryJob(order)
	}
	if order.IdempotencyKey, order.BodyHash, err = c.idempotency(text); err != nil {
		return err
	}
	wait, err := c.preferredWait()
	if err == nil && wait > 0 {
		err = c.stayOpen(openStream) // before anything is accepted
	}
	if err != nil {
		return err
	}
	ctx, span := c.Tracer.StartProducer(c.R.Context(), "submit job")
	order.TraceParent = telemetry.TraceParent(ctx)
	order.Try = tryOf(c.R)
	job, err := c.Admit.Job(ctx, c.Principal, order)
	span.End(err)
	if err != nil {
		return err
	}
	c.setWaitHeader(job.Waited)
	setBudgetWarning(c.W.Header(), job.Warnings)
	return c.accepted(job, wait)
}

// accepted answers a submit, after waiting as long as the caller prefers.
func (c jobs) accepted(a admit.Accepted, wait time.Duration) error {
	h := c.W.Header()
	h.Set("Location", "/v1/jobs/"+penstock.ViewJob.Format(a.Job.ID))
	if a.Replayed {
		h.Set("Idempotency-Replayed", "true")
	}
	defer a.Begin() // after the answer was sent
	job := a.Job
	if wait > 0 && job.FinishedAt.IsZero() {
		a.Begin()
		var err error
		if job, err = c.wait(job.ID, deliver.Until{Timeout: wait}); err != nil {
			return err
		}
	}
	status := http.StatusAccepted
	if !job.FinishedAt.IsZero() && wait > 0 {
		status = http.StatusOK
	} else {
		c.setRetryAfter(job)
	}
	if err := c.job(status, job); err != nil {
		return err
	}
	return c.W.Send()
}

// orderOf checks the envelope and decodes its inferences.
func (c jobs) orderOf(in *jobCreate, limits config.Limits) (admit.JobOrder, error) {
	o, err := in.terms()
	if err == nil {
		err = in.addPrompt()
	}
	if err != nil {
		return o, err
	}
	if in.InputFile != nil {
		return o, c.fileOrder(in, &o)
	}
	return in.order(limits)
}

// terms reads the fields that apply to all inferences of an order.
func (in *jobCreate) terms() (admit.JobOrder, error) {
	o := admit.JobOrder{
		Endpoint: in.Endpoint, Model: in.Model, Lane: in.Lane, Deadline: in.Deadline, Tags: in.Tags,
	}
	if in.Stream {
		if d := jobEndpoint(in.Endpoint); d.Silent {
			return o, penstock.InvalidParam("stream", "stream is true, but %s returns no text to stream; leave stream out.", d.Name)
		}
		o.Stream = penstock.StreamText
	}
	if in.MaxAttempts != nil {
		o.MaxAttempts = max(*in.MaxAttempts, -1)
		if o.MaxAttempts == 0 {
			o.MaxAttempts = -1 // a written 0 is out of bounds, not the default
		}
	}
	if in.ItemTimeout != nil {
		o.ItemTimeout = max(time.Duration(*in.ItemTimeout), time.Nanosecond)
	}
	return o, nil
}

// order parses every inference.
func (in *jobCreate) order(limits config.Limits) (admit.JobOrder, error) {
	o, err := in.terms()
	if err != nil {
		return o, err
	}
	form := line.Form{Endpoint: jobEndpoint(in.Endpoint), Model: in.Model}
	inputs, err := in.inputs(form.Endpoint)
	if err != nil {
		return o, err
	}
	if form.Defaults, err = in.defaults(); err != nil {
		return o, err
	}
	o.Inferences = make([]dialect.Inference, len(inputs))
	var total int64
	for i, input := range inputs {
		if o.Inferences[i], err = form.Inference(input); err != nil {
			return o, err
		}
		size := int64(len(o.Inferences[i].Body()))
		if size > limits.MaxBodyBytes {
			return o, penstock.Errorf(penstock.CodeTooLarge, "With the defaults added, %s is larger than %d bytes, the maximum for one inference.", input.Path, limits.MaxBodyBytes)
		}
		// Defaults are copied into every body, so a small request could become a very large job.
		if total += size; total > limits.MaxJobBytes {
			return o, penstock.Errorf(penstock.CodeTooLarge, "With the defaults added, the inputs together are larger than %d bytes; upload them as a file.", limits.MaxJobBytes)
		}
	}
	return o, nil
}

func given(v jsontext.Value) bool { return len(v) > 0 && string(v) != "null" }

// jobEndpoint is the endpoint of the bodies. Admission refuses an endpoint that jobs do not have; until then its bodies
// are parsed as those of a chat.
func jobEndpoint(name penstock.Endpoint) catalog.Entry {
	if !name.Valid() {
		name = penstock.EndpointChat
	}
	e, _ := catalog.Of(name)
	return e
}

func (in *jobCreate) defaults() (body.Object, error) {
	if !given(in.Defaults) {
		return body.Object{}, nil
	}
	o, err := body.Scan(in.Defaults)
	if err != nil {
		return o, penstock.InvalidParam("defaults", "defaults %v.", err)
	}
	return o, nil
}

// idempotencyKey reads the key, in the quoted form of the standard or plain. Codes: invalid_request.
func idempotencyKey(r *http.Request) (string, error) {
	values := r.Header.Values("Idempotency-Key")
	if len(values) == 0 {
		return "", nil
	}
	key := values[0]
	if len(key) >= 2 && key[0] == '"' && key[len(key)-1] == '"' {
		key = key[1 : len(key)-1]
	}
	if len(values) > 1 || strings.TrimSpace(key) == "" {
		return "", penstock.InvalidParam("Idempotency-Key", "Idempotency-Key must be given once and not be empty.")
	}
	return key, nil
}

// idempotency reads the key, "" for a call without one, and hashes the body. Codes: invalid_request.
func (c *call) idempotency(sent []byte) (key string, hash []byte, err error) {
	if key, err = idempotencyKey(c.R); err != nil || key == "" {
		return "", nil, err
	}
	hash, err = canonicalHash(c.R.URL.Path, sent)
	return key, hash, err
}

// canonicalHash is the same for equivalent bodies: the order of names and white space do not count. The path is part
// of it, so that one key cannot name calls of two routes.
func canonicalHash(path string, text []byte) ([]byte, error) {
	canonical := jsontext.Value(append([]byte(nil), text...))
	if err := canonical.Canonicalize(); err != nil {
		return nil, penstock.Errorf(penstock.CodeInvalidRequest, "The body is not valid JSON: %v.", err)
	}
	h := sha256.New()
	h.Write([]byte(path + "\n"))
	h.Write(canonical)
	return h.Sum(nil), nil
}

// preferredWait reads Prefer: wait=N. Codes: invalid_request.
func (c *call) preferredWait() (time.Duration, error) {
	for _, header := range c.R.Header.Values("Prefer") {
		for preference := range strings.SplitSeq(header, ",") {
			name, value, _ := strings.Cut(strings.TrimSpace(preference), "=")
			if !strings.EqualFold(name, "wait") {
				continue
			}
			n, err := strconv.Atoi(strings.Trim(value, `"`))
			if err != nil || n < 0 {
				return 0, penstock.InvalidParam("Prefer", "Prefer: wait must be a whole number of seconds.")
			}
			wait := time.Duration(min(n, int(MaxWait.Seconds()))) * time.Second
			c.W.Header().Set("Preference-Applied", fmt.Sprintf("wait=%d", int(wait.Seconds())))
			return wait, nil
		}
	}
	return 0, nil
}

func (c jobs) readJob() error {
	id, err := c.PathID(penstock.ViewJob)
	if err != nil {
		return err
	}
	wait, err := c.preferredWait()
	if err != nil {
		return err
	}
	if wait == 0 {
		job, err := c.Jobs.Job(c.R.Context(), c.Principal.Tenant.ID, id)
		if err != nil {
			return err
		}
		return c.unlessKnown(job)
	}
	if err := c.stayOpen(openStream); err != nil {
		return err
	}
	if c.R.Header.Get("If-None-Match") != "" {
		return c.waitForChange(id, wait)
	}
	job, err := c.wait(id, deliver.Until{Timeout: wait})
	if err != nil {
		return err
	}
	c.tag(job)
	if job.FinishedAt.IsZero() {
		c.setRetryAfter(job)
		return c.job(http.StatusAccepted, job)
	}
	return c.job(http.StatusOK, job)
}

// waitForChange answers as soon as the job differs from what the caller has, or with 304 when the wait is over.
func (c jobs) waitForChange(id penstock.ID, wait time.Duration) error {
	job, err := c.wait(id, deliver.Until{Timeout: wait, Reached: func(j penstock.Job) bool { return !c.known(j) }})
	if err != nil {
		return err
	}
	if job.FinishedAt.IsZero() {
		c.setRetryAfter(job)
	}
	return c.unlessKnown(job)
}

// waitingOn says why queued items of a job do not start, "" if they only wait for their turn.
func (c jobs) waitingOn(j penstock.Job) penstock.Reason {
	switch {
	case !j.FinishedAt.IsZero():
		return ""
	case c.Admit.Held(j):
		return penstock.WaitingOnPaused
	case !j.CancelRequestedAt.IsZero():
		return ""
	case j.WaitingOn != "":
		return j.WaitingOn
	case c.WaitingOn == nil || j.Counts.Queued == 0:
		return ""
	}
	return c.WaitingOn(j)
}

// job answers with a job. A job with a single item includes its result.
func (c jobs) job(status int, j penstock.Job) error {
	view := c.jobView(j)
	if !j.FinishedAt.IsZero() {
		// The last span of the job's own trace is the call that fetches the outcome.
		_, span := c.Tracer.Start(telemetry.WithTraceParent(c.R.Context(), j.TraceParent), "deliver job",
			telemetry.String("penstock.status", string(j.Status())))
		defer span.End(nil)
	}
	if j.Counts.Total == 1 && !j.FinishedAt.IsZero() && c.mayReadResults() {
		item, err := c.Jobs.Item(c.R.Context(), c.Principal.Tenant.ID, penstock.ItemID(j.ID, 0))
		if err != nil {
			return err
		}
		result := newResultView(item)
		view.Result = &result
	}
	return c.JSON(status, view)
}

// mayReadResults says whether the caller may see the results of its tenant's jobs. A key that may only submit, cancel and
// retry sees their status only, and so does a person who does not reveal them.
func (c *call) mayReadResults() bool {
	if c.Principal.Kind == penstock.PrincipalPerson {
		return c.Shows()
	}
	return slices.Contains(c.Principal.Scopes, penstock.ScopeJobsRead)
}

func (c jobs) cancelJob() error {
	id, err := c.PathID(penstock.ViewJob)
	if err != nil {
		return err
	}
	job, err := c.Jobs.CancelJob(c.R.Context(), c.Principal.Tenant.ID, id)
	if err != nil {
		return err
	}
	c.Cancelled(id)
	return c.job(http.StatusOK, job)
}

func (c jobs) deleteJob() error {
	id, err := c.PathID(penstock.ViewJob)
	if err != nil {
		return err
	}
	if err := c.Deleter.DeleteJob(c.R.Context(), c.Principal.Tenant.ID, store.Deletion{Job: id, Actor: c.Principal.Actor()}); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, deletedView{ID: penstock.ViewJob.Format(id), Object: "job", Deleted: true})
}
