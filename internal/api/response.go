package api

import (
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"penstock"
	"penstock/internal/admit"
	"penstock/internal/body"
	"penstock/internal/config"
	"penstock/internal/deliver"
	"penstock/internal/dialect"
	"penstock/internal/dialect/openai"
	"penstock/internal/store"
)

// A response runs as a synchronous call, and is stored behind its answer (response_keep.go). In the background, or with an
// Idempotency-Key, it runs as a job of one item: its id is the job's with another prefix, its events are the job's log in OpenAI's
// format, and it is stored as long as the job is.

// createResponse runs a response.
func (c responses) createResponse() error {
	if err := c.takePermit(); err != nil {
		return err
	}
	sent, err := c.readBody()
	if err != nil {
		return err
	}
	options, err := openai.ReadOptions(sent)
	if err != nil {
		return err
	}
	key, err := idempotencyKey(c.R)
	if err != nil {
		return err
	}
	turn, err := c.prepare(sent, options)
	if err != nil {
		return err
	}
	turn.stored = options.Stored || !options.StoreGiven && c.Config.Current().StoreResponses == config.StoreByDefault
	switch {
	case options.Background, key != "" && turn.stored:
		return c.responseAsJob(sent, options, turn)
	case turn.stored || turn.conversation != "":
		return c.keepResponse(turn, options)
	}
	return inferences(c).inferText(new(inferenceEndpoints[penstock.EndpointResponses]), turn.text)
}

// responseAsJob runs a response as a job, and answers with it.
func (c responses) responseAsJob(sent []byte, options openai.ResponseOptions, turn preparedTurn) error {
	if turn.conversation != "" {
		return penstock.InvalidParam("Idempotency-Key", "A response of a conversation cannot have an Idempotency-Key; leave out one of the two.")
	}
	text, err := openai.OneAnswer(turn.text)
	if err != nil {
		return penstock.Internal(err)
	}
	asked, err := openai.ReadResponse(text)
	if err != nil {
		return err
	}
	c.model = asked.Model
	order := admit.JobOrder{
		Endpoint: penstock.EndpointResponses, Model: asked.Model, Scope: penstock.ScopeInference, Lane: penstock.LaneRealtime,
		Inferences: []dialect.Inference{asked}, Previous: turn.previous,
		Try: tryOf(c.R), Memory: &c.memory,
	}
	if options.Background {
		order.Lane = penstock.LaneStandard
	}
	if options.Stream {
		order.Stream = penstock.StreamWire
		if err := c.stayOpen(openStream); err != nil {
			return err
		}
	}
	window, err := c.window()
	if err != nil {
		return err
	}
	order.Deadline = c.closes(window)
	if order.IdempotencyKey, order.BodyHash, err = c.idempotency(sent); err != nil {
		return err
	}
	c.permit.Leave() // its job takes one, until the job ends
	receipt, err := c.Admit.Job(c.R.Context(), c.Principal, order)
	if err != nil {
		return err
	}
	c.setWaitHeader(receipt.Waited)
	receipt.Begin()
	return c.jobResponse(receipt.Receipt, options)
}

// jobResponse answers with a response that runs as a job.
func (c responses) jobResponse(receipt store.Receipt, asked openai.ResponseOptions) error {
	if receipt.Replayed {
		c.W.Header().Set("Idempotency-Replayed", "true")
	}
	job := receipt.Job
	if asked.Stream {
		return c.streamResponse(job, -1)
	}
	if !asked.Background {
		var err error
		if job, err = c.wait(job.ID, deliver.Until{Timeout: keyedWait}); err != nil {
			return err
		}
		if job.Status() == penstock.StatusFailed {
			return c.whyFailed(job)
		}
	}
	return c.response(job)
}

// whyFailed is the error for a caller that waited for a stored response that failed, as for a synchronous one.
func (c responses) whyFailed(job penstock.Job) error {
	item, err := c.Jobs.Item(c.R.Context(), c.Principal.Tenant.ID, penstock.ItemID(job.ID, 0))
	if err != nil {
		return err
	}
	return penstock.Errorf(item.Error.Code, "%s", item.Error.Message)
}

// response answers with the current state of a response.
func (c responses) response(job penstock.Job) error {
	object, err := c.responseObject(job)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, object)
}

// keptView is a stored response without an upstream's answer: it has not ended, or has no result.
type keptView struct {
	ID                string            `json:"id"`
	Object            string            `json:"object"`
	CreatedAt         int64             `json:"created_at"`
	Status            string            `json:"status" about:"queued, in_progress, completed, incomplete, failed or cancelled."`
	Background        bool              `json:"background"`
	Store             bool              `json:"store"`
	Model             string            `json:"model"`
	Output            []jsontext.Value  `json:"output"`
	Error             *responseError    `json:"error"`
	IncompleteDetails *jsontext.Value   `json:"incomplete_details"`
	Usage             *jsontext.Value   `json:"usage"`
	Instructions      *string           `json:"instructions"`
	Metadata          map[string]string `json:"metadata"`
	Previous          *string           `json:"previous_response_id"`
	ParallelToolCalls bool              `json:"parallel_tool_calls"`
	ToolChoice        string            `json:"tool_choice"`
	Tools             []jsontext.Value  `json:"tools"`
	Temperature       *float64          `json:"temperature"`
	TopP              *float64          `json:"top_p"`
}

// responseError is why a response failed, in OpenAI's format.
type responseError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func newKeptView(job penstock.Job, status string) keptView {
	v := keptView{
		ID: penstock.ViewResponse.Format(job.ID), Object: "response", CreatedAt: job.CreatedAt.Unix(), Status: status,
		Background: job.Lane != penstock.LaneRealtime, Store: true, Model: job.Model, Output: []jsontext.Value{},
		Metadata: map[string]string{}, ParallelToolCalls: true, ToolChoice: "auto", Tools: []jsontext.Value{},
	}
	if previous := job.Resolved.Previous; previous != "" {
		v.Previous = text(penstock.ViewResponse.Format(previous))
	}
	return v
}

// responseObject is the current state of a response. A complete one is the upstream's answer with Penstock's id.
func (c responses) responseObject(job penstock.Job) (any, error) {
	if job.FinishedAt.IsZero() {
		if job.StartedAt.IsZero() {
			return newKeptView(job, "queued"), nil
		}
		return newKeptView(job, "in_progress"), nil
	}
	item, err := c.Jobs.Item(c.R.Context(), c.Principal.Tenant.ID, penstock.ItemID(job.ID, 0))
	if err != nil {
		return nil, err
	}
	switch item.Status {
	case penstock.StatusSucceeded:
		return ownResponse(job, item.Result)
	case penstock.StatusCancelled:
		return newKeptView(job, "cancelled"), nil
	}
	v := newKeptView(job, "failed")
	v.Error = &responseError{Code: responseErrorCode(item.Error.Code), Message: item.Error.Message}
	return v, nil
}

// responseErrorCode is the closest of OpenAI's error codes.
func responseErrorCode(code penstock.Code) string {
	switch code {
	case penstock.CodeUpstreamRejected, penstock.CodeInvalidRequest, penstock.CodeContextTooLong, penstock.CodeTooLarge:
		return "invalid_prompt"
	}
	return "server_error"
}

// ownResponse turns an upstream's answer into the stored response.
func ownResponse(job penstock.Job, result []byte) (jsontext.Value, error) {
	o, err := body.Scan(result)
	if err != nil {
		return nil, penstock.Internal(err)
	}
	v := newKeptView(job, "")
	id, err := json.Marshal(v.ID)
	if err != nil {
		return nil, penstock.Internal(err)
	}
	edits := []body.Edit{o.Replace("id", string(id)), o.Replace("store", "true"), o.Replace("background", strconv.FormatBool(v.Background))}
	if v.Previous != nil {
		edits = append(edits, o.Replace("previous_response_id", strconv.Quote(*v.Previous)))
	}
	return body.Apply(result, edits...), nil
}
