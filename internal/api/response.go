package api

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"penstock"
	"penstock/internal/admit"
	"penstock/internal/body"
	"penstock/internal/deliver"
	"penstock/internal/dialect"
	"penstock/internal/dialect/openai"
	"penstock/internal/rest"
	"penstock/internal/store"
)

// A stored response runs as a job of one item. Its id is the job's with another prefix, its events are the job's log in
// OpenAI's format, and it is stored as long as the job is.

// createResponse runs a response: as a synchronous call, or as a job if it is to be stored.
func (c responses) createResponse() error {
	if err := c.takePermit(); err != nil {
		return err
	}
	sent, err := c.readBody()
	if err != nil {
		return err
	}
	text, earlier, err := c.goOn(sent)
	if err != nil {
		return err
	}
	kept, wanted, err := openai.KeepResponse(text)
	if err != nil {
		return err
	}
	if !wanted {
		return inferences(c).inferText(new(inferenceEndpoints[penstock.EndpointResponses]), text)
	}
	asked, err := openai.ReadResponse(kept.Body)
	if err != nil {
		return err
	}
	c.model = asked.Model
	order := admit.JobOrder{
		Endpoint: penstock.EndpointResponses, Model: asked.Model, Scope: penstock.ScopeInference, Lane: penstock.LaneRealtime,
		Inferences: []dialect.Inference{asked}, Previous: earlier,
		Try: tryOf(c.R),
	}
	if kept.Background {
		order.Lane = penstock.LaneStandard
	}
	if kept.Stream {
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
	return c.keptResponse(receipt.Receipt, kept)
}

// goOn completes a body that continues an earlier response with the conversation so far, and returns the id of that
// response. Codes: invalid_request, not_found, conflict (it has not ended), too_large.
func (c responses) goOn(text []byte) ([]byte, penstock.ID, error) {
	const param = "previous_response_id"
	name, err := openai.PreviousResponse(text)
	if err != nil || name == "" {
		return text, "", err
	}
	refuse := func(code penstock.Code, reason string) error {
		return &penstock.Error{Code: code, Param: param, Message: fmt.Sprintf("previous_response_id: %s %s", rest.Clip(name), reason)}
	}
	id, err := penstock.ViewResponse.Parse(name)
	if err != nil {
		return nil, "", refuse(penstock.CodeInvalidRequest, "is not the id of a response.")
	}
	job, err := c.findResponse(id)
	if penstock.ErrorCode(err) == penstock.CodeNotFound {
		return nil, "", refuse(penstock.CodeNotFound, "is not stored. Only responses that were created with store or background are stored, for the retention time of jobs.")
	}
	if err != nil {
		return nil, "", err
	}
	if job.FinishedAt.IsZero() {
		return nil, "", refuse(penstock.CodeConflict, "has not ended; continue from it when it is completed.")
	}
	turn, err := c.turn(job)
	if err != nil {
		return nil, "", err
	}
	if turn.Answered == nil {
		return nil, "", refuse(penstock.CodeInvalidRequest, "has no result; continue from the response before it.")
	}
	whole, err := openai.GoOn(text, turn)
	if most := c.Config.Current().Process.Limits.MaxBodyBytes; err == nil && int64(len(whole)) > most {
		err = penstock.Errorf(penstock.CodeTooLarge, "With the earlier turns of the conversation, the body is larger than %d bytes, the maximum.", most)
	}
	return whole, job.ID, err
}

// turn returns the input and the output of a response that has ended. The output is empty unless it succeeded.
func (c responses) turn(job penstock.Job) (t openai.Turn, err error) {
	item := penstock.ItemID(job.ID, 0)
	ended, err := c.Jobs.Item(c.R.Context(), c.Principal.Tenant.ID, item)
	if err != nil || ended.Status != penstock.StatusSucceeded {
		return t, err
	}
	t.Answered = ended.Result
	t.Asked, err = c.Inputs.ItemInput(c.R.Context(), c.Principal.Tenant.ID, item)
	return t, err
}

// keptResponse answers with a stored response, which runs as a job.
func (c responses) keptResponse(receipt store.Receipt, kept openai.KeptResponse) error {
	if receipt.Replayed {
		c.W.Header().Set("Idempotency-Replayed", "true")
	}
	job := receipt.Job
	if kept.Stream {
		return c.streamResponse(job, -1)
	}
	if !kept.Background {
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

// responseJob finds the job that a response runs as.
func (c responses) responseJob() (penstock.Job, error) {
	id, err := c.PathID(penstock.ViewResponse)
	if err != nil {
		return penstock.Job{}, err
	}
	return c.findResponse(id)
}

func (c responses) findResponse(id penstock.ID) (penstock.Job, error) {
	job, err := c.Jobs.Job(c.R.Context(), c.Principal.Tenant.ID, id)
	if penstock.ErrorCode(err) == penstock.CodeNotFound || (err == nil && (job.Endpoint != penstock.EndpointResponses || job.Counts.Total != 1)) {
		return job, &penstock.Error{Code: penstock.CodeNotFound, Param: "id",
			Message: "There is no such response. Only responses that were created with store or background are stored, for the retention time of jobs."}
	}
	return job, err
}

func (c responses) readResponse() error {
	job, err := c.responseJob()
	if err != nil {
		return err
	}
	if !c.asksForStream() {
		return c.response(job)
	}
	after := int64(-1)
	if c.R.URL.Query().Has("starting_after") {
		if after, err = c.QueryInt("starting_after", 0); err != nil {
			return err
		}
	}
	if job.Stream != penstock.StreamWire {
		return penstock.InvalidParam("stream", "This response was not created with stream: true, so its events are not stored; read it without stream.")
	}
	if err := c.stayOpen(openStream); err != nil {
		return err
	}
	return c.streamResponse(job, after)
}

// asksForStream says that a reader wants events. OpenAI's SDK for Go sends the parameter in a body, although this is a
// GET.
func (c responses) asksForStream() bool {
	query := c.R.URL.Query()
	if query.Has("stream") || query.Has("starting_after") {
		return query.Get("stream") != "false"
	}
	const maxBody = 1 << 10
	text, err := io.ReadAll(io.LimitReader(c.R.Body, maxBody))
	if err != nil || len(text) == 0 {
		return false
	}
	o, err := body.Scan(text)
	return err == nil && string(o.Raw("stream")) == "true"
}

// cancelWait is how long a cancel waits for the end of the response, so that the answer shows it.
const cancelWait = 5 * time.Second

func (c responses) cancelResponse() error {
	job, err := c.responseJob()
	if err != nil {
		return err
	}
	if job, err = c.Jobs.CancelJob(c.R.Context(), c.Principal.Tenant.ID, job.ID); err != nil {
		return err
	}
	c.Cancelled(job.ID)
	if job, err = c.wait(job.ID, deliver.Until{Timeout: cancelWait}); err != nil {
		return err
	}
	return c.response(job)
}

func (c responses) deleteResponse() error {
	job, err := c.responseJob()
	if err != nil {
		return err
	}
	if err := c.Deleter.DeleteJob(c.R.Context(), c.Principal.Tenant.ID, store.Deletion{Job: job.ID, Actor: c.Principal.Key}); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, deletedView{ID: penstock.ViewResponse.Format(job.ID), Object: "response", Deleted: true})
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
