package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"time"

	"penstock"
)

// Job is what was submitted for later: one or many items.
type Job struct {
	ID       string            `json:"id"` // job_…
	Status   penstock.Status   `json:"status"`
	Outcome  penstock.Outcome  `json:"outcome"` // "" until every item is terminal
	Endpoint penstock.Endpoint `json:"endpoint"`
	Model    string            `json:"model"`
	Lane     penstock.Lane     `json:"lane"`
	Tags     map[string]string `json:"tags"`
	Counts   penstock.Counts   `json:"counts"` // true at every moment
	Usage    Usage             `json:"usage"`

	CreatedAt         time.Time `json:"created_at"`
	StartedAt         time.Time `json:"started_at"`  // zero until an item was started
	FinishedAt        time.Time `json:"finished_at"` // zero until every item is terminal
	Deadline          time.Time `json:"deadline"`
	EstimatedStartAt  time.Time `json:"estimated_start_at"`  // zero when it is not known
	EstimatedFinishAt time.Time `json:"estimated_finish_at"` // zero when it is not known
	ResultsExpireAt   time.Time `json:"results_expire_at"`   // when the job is deleted; zero until it has finished
	CancelRequestedAt time.Time `json:"cancel_requested_at"` // zero unless a cancel was asked for

	// ItemsPerSecond is how many items ended a second; 0 until one did.
	ItemsPerSecond float64 `json:"items_per_second"`

	InputFile string   `json:"input_file"` // the file whose lines are its items, or ""
	RetryOf   string   `json:"retry_of"`   // the job whose items it runs again, or ""
	WaitingOn string   `json:"waiting_on"` // what keeps it from going on, or ""
	Resolved  Resolved `json:"resolved"`

	Error  *penstock.ItemError `json:"error"`  // why the job itself could not run, nil if it could
	Result *Result             `json:"result"` // of a job with one item, once it is finished

	// Replayed is set by SubmitJob when the job was there already under the same idempotency key.
	Replayed bool `json:"-"`
	// Raw is the object as the server sent it, with all that this version does not know of.
	Raw json.RawMessage `json:"-"`
}

// Finished reports whether every item is terminal.
func (j *Job) Finished() bool { return !j.FinishedAt.IsZero() }

// UnmarshalJSON keeps the text in Raw.
func (j *Job) UnmarshalJSON(text []byte) error {
	type plain Job
	return keepRaw(text, (*plain)(j), &j.Raw)
}

// Resolved is what admission decided once; retries run it again.
type Resolved struct {
	Config  string   `json:"config"` // hash of the configuration
	Prompt  string   `json:"prompt"` // of every item, as NAME@VERSION, or ""
	Arm     string   `json:"arm"`    // arm of an experiment, or ""
	Targets []string `json:"targets"`
	// Prompts are those that the inputs name, with the versions that they meant when the job was accepted.
	Prompts []PromptUse `json:"prompts"`
}

// Usage is tokens and what they cost.
type Usage struct {
	penstock.Usage
	Cost penstock.NanoUSD `json:"cost_usd"`
}

// JobSpec is a job to submit. Model and exactly one of Input, Inputs, InputFile and Prompt are required; the prompt may name the model, and
// stand beside the others.
type JobSpec struct {
	// Model is the name to ask for; [Client.Models] lists them. A job over a file may leave it to its lines.
	Model string `json:"model,omitempty"`

	// Input is one inference: a string, which is asked as a user's question, or a body: anything that
	// encodes to a JSON object in the dialect of Endpoint, a json.RawMessage for one.
	Input any `json:"input,omitempty"`

	// Messages is one inference, instead of Input: the messages of a conversation. Anything that encodes to a JSON array.
	Messages any `json:"messages,omitempty"`

	// Inputs are several inferences.
	Inputs []Input `json:"inputs,omitempty"`

	// Prompt is the prompt of every input that names no other; nil for none. Without inputs it is one inference.
	Prompt *PromptRef `json:"prompt,omitempty"`

	// InputFile is the id of a file whose lines are the inferences; [Client.UploadFile] makes one.
	InputFile string `json:"input_file,omitempty"`

	// Defaults has members for every body that lacks them. Anything that encodes to a JSON object.
	Defaults any `json:"defaults,omitempty"`

	// Endpoint names the dialect of the bodies. Zero: /v1/chat/completions.
	Endpoint penstock.Endpoint `json:"endpoint,omitempty"`

	// Lane says how urgent it is. Zero: standard.
	Lane penstock.Lane `json:"lane,omitempty"`

	// Deadline is when unfinished items expire. Zero: in 24 hours.
	Deadline time.Time `json:"deadline,omitzero"`

	// MaxAttempts is how often an item is tried. Zero: 4 times.
	MaxAttempts int `json:"max_attempts,omitempty"`

	// ItemTimeout is how long one try may take. Zero: 5 minutes.
	ItemTimeout time.Duration `json:"-"`

	// Tags are kept with the job; jobs can be listed by them.
	Tags map[string]string `json:"tags,omitempty"`

	dryRun bool // see [Client.TryJob]
}

// Input is one inference of several.
type Input struct {
	// CustomID is the caller's own name for it, unique in the job. Zero: none.
	CustomID string `json:"custom_id,omitempty"`
	// Body is anything that encodes to a JSON object in the dialect of the job's Endpoint. Required, unless the job has a prompt.
	Body any `json:"body,omitempty"`
	// Variables are those of the prompt that the body or the job names.
	Variables any `json:"variables,omitempty"`
}

// MarshalJSON writes the spec as the API wants it, with ItemTimeout as text.
func (s JobSpec) MarshalJSON() ([]byte, error) {
	type plain JobSpec
	var timeout string
	if s.ItemTimeout != 0 {
		timeout = s.ItemTimeout.String()
	}
	return encode(struct {
		plain
		ItemTimeout string `json:"item_timeout,omitempty"`
		DryRun      bool   `json:"dry_run,omitempty"`
	}{plain(s), timeout, s.dryRun})
}

// JobFilter selects jobs. Zero fields select everything.
type JobFilter struct {
	Status        penstock.Status
	Statuses      []penstock.Status // beside Status: any of them
	Lane          penstock.Lane
	Model         string
	Key           string        // the name of the key that submitted the job
	Code          penstock.Code // with an item that failed with this code
	Fingerprint   string        // with an item that failed with this fingerprint
	IDPrefix      string        // the beginning of the id, such as job_01JQ
	TagKey        string        // with TagValue: only jobs with this tag
	TagValue      string
	CreatedAfter  time.Time
	CreatedBefore time.Time
	After         string // only jobs older than this one
	PageSize      int    // jobs read at a time. Zero: MaxPageSize
}

// ListJobs yields jobs, newest first.
func (c *Client) ListJobs(ctx context.Context, f JobFilter) iter.Seq2[*Job, error] {
	l := list[Job]{path: "/v1/jobs", size: f.PageSize, after: f.After, id: func(j *Job) string { return j.ID }, query: f.query()}
	return l.all(ctx, c)
}

// query is the filter as parameters; those that are not given are empty.
func (f JobFilter) query() url.Values {
	tag := ""
	if f.TagKey != "" {
		tag = f.TagKey + ":" + f.TagValue
	}
	var statuses []string
	for _, s := range append([]penstock.Status{f.Status}, f.Statuses...) {
		if s != "" || len(f.Statuses) == 0 {
			statuses = append(statuses, string(s))
		}
	}
	return url.Values{
		"status": statuses, "lane": {string(f.Lane)}, "model": {f.Model}, "key": {f.Key}, "tag": {tag},
		"code": {string(f.Code)}, "fingerprint": {f.Fingerprint}, "id_prefix": {f.IDPrefix},
		"created_after": {timeText(f.CreatedAfter)}, "created_before": {timeText(f.CreatedBefore)},
	}
}

func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

func jobPath(id string) string { return "/v1/jobs/" + url.PathEscape(id) }

// Job reads a job. Codes: not_found.
func (c *Client) Job(ctx context.Context, id string) (*Job, error) {
	j, _, err := fetch[Job](ctx, c, call{method: http.MethodGet, path: jobPath(id)})
	return j, err
}

// CancelJob asks a job to stop and returns it as it is then: items that run may still be on their way
// out, and finished ones keep their results. Cancelling twice, or too late, changes nothing. Codes:
// not_found.
func (c *Client) CancelJob(ctx context.Context, id string) (*Job, error) {
	j, _, err := fetch[Job](ctx, c, call{method: http.MethodPost, path: jobPath(id) + "/cancel"})
	return j, err
}

// DeleteJob removes a finished job with its inputs and results. Its idempotency key is remembered, so that
// it does not run again by accident. Codes: not_found, conflict (it has not finished: cancel it first).
func (c *Client) DeleteJob(ctx context.Context, id string) error {
	_, err := c.do(ctx, call{method: http.MethodDelete, path: jobPath(id)})
	return err
}
