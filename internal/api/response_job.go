package api

import (
	"context"

	"github.com/go-json-experiment/json/jsontext"

	"penstock"
	"penstock/internal/admit"
	"penstock/internal/body"
	"penstock/internal/conversation"
	"penstock/internal/dialect"
	"penstock/internal/dialect/openai"
)

// responseAsJob runs a response as a job, and answers with it.
func (c responses) responseAsJob(sent []byte, options openai.ResponseOptions, turn preparedTurn) error {
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
		Inferences: []dialect.Inference{asked}, Previous: turn.previous, Conversation: turn.conversation, Own: len(turn.own),
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
	accepted, err := c.submitTurn(order)
	if err != nil {
		return err
	}
	c.setWaitHeader(accepted.Waited)
	setTruncatedHeader(c.W.Header(), accepted.Truncated)
	setPromptHeader(c.W.Header(), accepted.Prompt)
	accepted.Begin()
	return c.jobResponse(accepted.Receipt, options)
}

// submitTurn submits the job of a response. A turn of a conversation is written before its job is, so that no accepted job lacks it.
func (c responses) submitTurn(order admit.JobOrder) (admit.Accepted, error) {
	ctx, tenant := c.R.Context(), c.Principal.Tenant.ID
	if order.Conversation != "" {
		order.ID = c.Conversations.NewID()
		turn := conversation.JobTurn{Conversation: order.Conversation, Job: order.ID, Own: order.Own}
		if err := c.Conversations.Jobs.AddJobTurn(ctx, tenant, turn); err != nil {
			return admit.Accepted{}, err
		}
	}
	c.permit.Leave() // its job takes one, until the job ends
	accepted, err := c.Admit.Job(ctx, c.Principal, order)
	if order.Conversation != "" && (err != nil && ctx.Err() == nil && !ambiguous(err) || err == nil && accepted.Replayed) {
		// The turn of a job that was not accepted; a replayed job has had its turn since its first call. A turn that stays, because
		// this fails or because nobody knows whether its job was accepted, is settled later, when the queue does not have the job.
		_ = c.Conversations.Jobs.RemoveJobTurn(context.WithoutCancel(ctx), tenant, order.ID)
	}
	return accepted, err
}

// ambiguous reports whether a submit that failed may have been written all the same: the store failed, or did not answer.
func ambiguous(err error) bool {
	e := penstock.AsError(err)
	return e.Code == penstock.CodeInternal || e.Err != nil
}

// settle adds the turns of a conversation whose jobs have ended. It is called before the conversation is read or grows, so readers see
// all turns that ended before.
func (c conversations) settle(id penstock.ID) error {
	ctx, tenant := c.R.Context(), c.Principal.Tenant.ID
	open, err := c.Conversations.Jobs.OpenJobTurns(ctx, tenant, id)
	if err != nil {
		return err
	}
	for _, turn := range open {
		items, ended, err := c.turnItems(turn)
		if err == nil && ended {
			err = c.Conversations.Jobs.SettleJobTurn(ctx, tenant, turn, items)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// turnItems are the items that the turn of a job adds to its conversation, once the job has ended: none unless it succeeded.
func (c conversations) turnItems(turn conversation.JobTurn) (items []conversation.Item, ended bool, err error) {
	job, err := c.Jobs.Job(c.R.Context(), c.Principal.Tenant.ID, turn.Job)
	if penstock.ErrorCode(err) == penstock.CodeNotFound {
		return nil, c.Conversations.Abandoned(turn), nil // not submitted yet, or never; or deleted since
	}
	if err != nil || job.FinishedAt.IsZero() {
		return nil, false, err
	}
	exchange, err := responses(c).jobTurn(job)
	if err != nil || exchange.Answered == nil {
		return nil, err == nil, err
	}
	own, err := ownItems(exchange.Asked, turn.Own)
	if err != nil {
		return nil, false, err
	}
	output, err := openai.Output(exchange.Answered)
	if err != nil {
		return nil, true, nil // not a response; its caller got it as it is
	}
	return newTurnItems(turn.Job, own, output), true, nil
}

// ownItems are the last n items of the input of a body: those before are of earlier turns.
func ownItems(asked []byte, n int) ([]jsontext.Value, error) {
	o, err := body.Scan(asked)
	if err != nil {
		return nil, penstock.Internal(err)
	}
	items, err := openai.InputItems(o.Raw("input"))
	return items[max(0, len(items)-n):], err
}

// newTurnItems are the items of a turn: those that its caller sent, then those that were answered.
func newTurnItems(response penstock.ID, own, output []jsontext.Value) (items []conversation.Item) {
	for i, item := range append(own[:len(own):len(own)], output...) {
		items = append(items, conversation.Item{ID: inputItemID(item, response, i), Body: item})
	}
	return items
}
