package api

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"penstock"
	"penstock/internal/conversation"
	"penstock/internal/dialect/openai"
	"penstock/internal/rest"
)

// preparedTurn is the body of a response that says everything itself: the upstream need not have stored anything.
type preparedTurn struct {
	text         []byte
	previous     penstock.ID      // the response that it continues, "" for none
	conversation penstock.ID      // that it belongs to, "" for none
	earlier      int              // how many items of earlier turns are in front of the caller's
	own          []jsontext.Value // the items that the caller sent, references resolved
	stored       bool             // the response can be read and continued; otherwise only its conversation grows
}

// prepare puts earlier turns before the input of a response, and items in the place of references to them. Codes: invalid_request,
// not_found, conflict (the earlier response has not ended), too_large, rate_limited, overloaded.
func (c responses) prepare(sent []byte, options openai.ResponseOptions) (t preparedTurn, err error) {
	t.text, t.own = sent, options.Items
	var earlier []jsontext.Value
	switch {
	case options.Previous != "":
		t.previous, earlier, err = c.earlierItems(options.Previous)
	case options.Conversation != "":
		t.conversation, earlier, err = c.conversationItems(options.Conversation)
	}
	if err != nil {
		return t, err
	}
	t.earlier = len(earlier)
	references, err := openai.References("input", options.Items)
	if err != nil {
		return t, err
	}
	if options.Previous == "" && options.Conversation == "" && len(references) == 0 {
		return t, nil
	}
	if t.own, err = c.resolve("input", options.Items); err != nil {
		return t, err
	}
	if t.text, err = openai.GoOn(sent, earlier, t.own); err != nil {
		return t, err
	}
	if most := c.Config.Current().Process.Limits.MaxBodyBytes; int64(len(t.text)) > most {
		return t, penstock.Errorf(penstock.CodeTooLarge, "With the earlier turns of the conversation, the body is larger than %d bytes, the maximum.", most)
	}
	return t, c.memory.Take(int64(len(t.text)))
}

// place names an item in an error as the caller sent it: the targets see the items of earlier turns in front of the caller's.
func (t preparedTurn) place(e *penstock.Error) *penstock.Error {
	indexed, found := strings.CutPrefix(e.Param, "input[")
	digits, after, _ := strings.Cut(indexed, "]")
	i, err := strconv.Atoi(digits)
	if !found || err != nil || t.earlier == 0 {
		return e
	}
	placed := *e
	if i < t.earlier {
		placed.Param = "previous_response_id"
		if t.conversation != "" {
			placed.Param = "conversation"
		}
		placed.Message += fmt.Sprintf(" input[%d] is an item of an earlier turn.", i)
		return &placed
	}
	own := fmt.Sprintf("input[%d]", i-t.earlier)
	placed.Param = own + after
	placed.Message = strings.ReplaceAll(e.Message, "input["+digits+"]", own)
	return &placed
}

// earlierItems are the items of the response that a caller continues.
func (c responses) earlierItems(name string) (penstock.ID, []jsontext.Value, error) {
	refuse := func(code penstock.Code, reason string) error {
		return &penstock.Error{Code: code, Param: "previous_response_id", Message: fmt.Sprintf("previous_response_id: %s %s", rest.Clip(name), reason)}
	}
	id, err := penstock.ViewResponse.Parse(name)
	if err != nil {
		return "", nil, refuse(penstock.CodeInvalidRequest, "is not the id of a stored response. "+storedResponses+" Without a stored response, send its items in input.")
	}
	r, found, err := c.keptResponse(id)
	if err != nil {
		return "", nil, err
	}
	if found {
		items, err := openai.Turn{Asked: []byte(`{"input":` + string(r.Input) + `}`), Answered: r.Object}.Items()
		return id, items, err
	}
	job, err := c.findResponse(id)
	if penstock.ErrorCode(err) == penstock.CodeNotFound {
		return "", nil, refuse(penstock.CodeNotFound, "is not stored. "+storedResponses)
	}
	if err != nil {
		return "", nil, err
	}
	if job.FinishedAt.IsZero() {
		return "", nil, refuse(penstock.CodeConflict, "has not ended; continue from it when it is completed.")
	}
	turn, err := c.jobTurn(job)
	if err != nil {
		return "", nil, err
	}
	if turn.Answered == nil {
		return "", nil, refuse(penstock.CodeInvalidRequest, "has no result; continue from the response before it.")
	}
	items, err := turn.Items()
	return id, items, err
}

// jobTurn returns the input and the output of a response that ran as a job and has ended. The output is empty unless it succeeded.
func (c responses) jobTurn(job penstock.Job) (t openai.Turn, err error) {
	item := penstock.ItemID(job.ID, 0)
	ended, err := c.Jobs.Item(c.R.Context(), c.Principal.Tenant.ID, item)
	if err != nil || ended.Status != penstock.StatusSucceeded {
		return t, err
	}
	t.Answered = ended.Result
	t.Asked, err = c.Inputs.ItemInput(c.R.Context(), c.Principal.Tenant.ID, item)
	if pins := job.Resolved.Prompts; err == nil && len(pins) == 1 && pins[0].Items > 0 && ended.Truncated == nil {
		t.Asked, err = openai.Behind(t.Asked, pins[0].Items) // as instructions, the messages of a prompt are not carried over
	}
	return t, err
}

// conversationItems are the items of the conversation that a response belongs to.
func (c responses) conversationItems(name string) (penstock.ID, []jsontext.Value, error) {
	id, err := conversation.ViewConversation.Parse(name)
	if err != nil {
		return "", nil, penstock.InvalidParam("conversation", "conversation: %s is not the id of a conversation.", rest.Clip(name))
	}
	var history []conversation.Item
	if err = conversations(c).settle(id); err == nil {
		history, err = c.Conversations.History(c.R.Context(), c.Principal.Tenant.ID, id)
	}
	if penstock.ErrorCode(err) == penstock.CodeNotFound {
		return "", nil, &penstock.Error{Code: penstock.CodeNotFound, Param: "conversation", Message: fmt.Sprintf("conversation: there is no conversation %s. "+
			"Conversations are stored until they do not change for the retention time of results.", rest.Clip(name))}
	}
	if err != nil {
		return "", nil, err
	}
	items := make([]jsontext.Value, len(history))
	for i := range history {
		items[i] = history[i].Body
	}
	items, err = openai.Repeated(items)
	return id, items, err
}

// resolve puts stored items in the place of references to them. The member of the body that has the items is named in errors. Codes:
// invalid_request, not_found.
func (c responses) resolve(member string, items []jsontext.Value) ([]jsontext.Value, error) {
	references, err := openai.References(member, items)
	if err != nil || len(references) == 0 {
		return items, err
	}
	out, err := c.Conversations.Responses.Outputs(c.R.Context(), c.Principal.Tenant.ID, references)
	if err != nil {
		return nil, err
	}
	found := make(map[string]jsontext.Value, len(references))
	for id, item := range out.Items {
		found[id] = item
	}
	for id, at := range out.Positions {
		output, err := openai.Output(out.Objects[at.Response])
		if err == nil && at.Index < len(output) {
			found[id] = output[at.Index]
		}
	}
	return openai.Resolve(member, items, found)
}
