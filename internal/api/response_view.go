package api

import (
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"penstock"
	"penstock/internal/body"
	"penstock/internal/conversation"
	"penstock/internal/dialect/openai"
)

// keptView is a stored response without an upstream's answer: it has not ended, or has no result.
type keptView struct {
	ID                string           `json:"id"`
	Object            string           `json:"object"`
	CreatedAt         int64            `json:"created_at"`
	Status            string           `json:"status" about:"queued, in_progress, completed, incomplete, failed or cancelled."`
	Background        bool             `json:"background"`
	Store             bool             `json:"store"`
	Model             string           `json:"model"`
	Output            []jsontext.Value `json:"output"`
	Error             *responseError   `json:"error"`
	IncompleteDetails *jsontext.Value  `json:"incomplete_details"`
	Usage             *jsontext.Value  `json:"usage"`
	Previous          *string          `json:"previous_response_id"`
	Conversation      *conversationRef `json:"conversation,omitzero"`
	openai.Echo
}

// conversationRef names the conversation that a response is a turn of.
type conversationRef struct {
	ID string `json:"id"`
}

func newConversationRef(id penstock.ID) *conversationRef {
	return &conversationRef{conversation.ViewConversation.Format(id)}
}

// responseError is why a response failed, in OpenAI's format.
type responseError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// echo returns the members of its request that a response repeats, for a response that runs as a job.
func (c responses) echo(job penstock.Job) (openai.Echo, error) {
	asked, err := c.Inputs.ItemInput(c.R.Context(), c.Principal.Tenant.ID, penstock.ItemID(job.ID, 0))
	if code := penstock.ErrorCode(err); code == penstock.CodeNotFound || code == penstock.CodeGone {
		err = nil // the input is not stored any more; the rest of the response is
	}
	return openai.NewEcho(asked), err
}

func newKeptView(job penstock.Job, status string, echo openai.Echo) keptView {
	v := keptView{
		ID: penstock.ViewResponse.Format(job.ID), Object: "response", CreatedAt: job.CreatedAt.Unix(), Status: status,
		Background: job.Lane != penstock.LaneRealtime, Store: true, Model: job.Model, Output: []jsontext.Value{},
		Echo: echo,
	}
	if job.Resolved.Conversation != "" {
		v.Conversation = newConversationRef(job.Resolved.Conversation)
	}
	if previous := job.Resolved.Previous; previous != "" {
		v.Previous = text(penstock.ViewResponse.Format(previous))
	}
	return v
}

// responseObject is the current state of a response. A complete one is the upstream's answer with Penstock's id.
func (c responses) responseObject(job penstock.Job) (any, error) {
	ended := !job.FinishedAt.IsZero()
	var item penstock.Item
	if ended {
		var err error
		if item, err = c.Jobs.Item(c.R.Context(), c.Principal.Tenant.ID, penstock.ItemID(job.ID, 0)); err != nil {
			return nil, err
		}
		if item.Status == penstock.StatusSucceeded {
			return ownResponse(job, item.Result)
		}
	}
	echo, err := c.echo(job)
	if err != nil {
		return nil, err
	}
	switch {
	case !ended && job.StartedAt.IsZero():
		return newKeptView(job, "queued", echo), nil
	case !ended:
		return newKeptView(job, "in_progress", echo), nil
	case item.Status == penstock.StatusCancelled:
		return newKeptView(job, "cancelled", echo), nil
	}
	v := newKeptView(job, "failed", echo)
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
	v := newKeptView(job, "", openai.Echo{})
	id, err := json.Marshal(v.ID)
	if err != nil {
		return nil, penstock.Internal(err)
	}
	edits := []body.Edit{o.Replace("id", string(id)), o.Replace("store", "true"), o.Replace("background", strconv.FormatBool(v.Background))}
	if v.Previous != nil {
		edits = append(edits, o.Replace("previous_response_id", strconv.Quote(*v.Previous)))
	}
	if v.Conversation != nil {
		edits = append(edits, o.Replace("conversation", `{"id":`+strconv.Quote(v.Conversation.ID)+`}`))
	}
	return body.Apply(result, edits...), nil
}
