package api

import (
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"penstock"
	"penstock/internal/admit"
	"penstock/internal/body"
	"penstock/internal/conversation"
	"penstock/internal/deliver"
	"penstock/internal/dialect"
	"penstock/internal/dialect/openai"
	"penstock/internal/store"
)

// pathResponse finds the response that the path names: a kept one, or the job that it runs as. Codes: not_found.
func (c responses) pathResponse() (kept *conversation.Response, job penstock.Job, err error) {
	id, err := c.PathID(penstock.ViewResponse)
	if err != nil {
		return nil, job, err
	}
	r, found, err := c.keptResponse(id)
	if err != nil || found {
		return &r, job, err
	}
	job, err = c.findResponse(id)
	return nil, job, err
}

// findResponse finds the job of a response that runs as one. Codes: not_found.
func (c responses) findResponse(id penstock.ID) (penstock.Job, error) {
	job, err := c.Jobs.Job(c.R.Context(), c.Principal.Tenant.ID, id)
	if penstock.ErrorCode(err) == penstock.CodeNotFound || (err == nil && (job.Endpoint != penstock.EndpointResponses || job.Counts.Total != 1)) {
		return job, &penstock.Error{Code: penstock.CodeNotFound, Param: "id", Message: "There is no such response. " + storedResponses}
	}
	return job, err
}

// storedResponses says which responses are stored.
const storedResponses = "Responses are stored for the retention time of results, unless they were created with store: false, failed or were deleted."

// keptResponse finds the stored response of a synchronous call. If found is false, the id may still be that of a job.
func (c responses) keptResponse(id penstock.ID) (r conversation.Response, found bool, err error) {
	r, err = c.Conversations.Responses.Response(c.R.Context(), c.Principal.Tenant.ID, id)
	if penstock.ErrorCode(err) == penstock.CodeNotFound {
		return r, false, nil
	}
	return r, err == nil, err
}

func (c responses) readResponse() error {
	kept, job, err := c.pathResponse()
	if err != nil {
		return err
	}
	streamed := c.asksForStream()
	switch {
	case kept != nil && streamed:
		return penstock.InvalidParam("stream", "This response did not run in the background, so its events are not stored; read it without stream.")
	case kept != nil:
		return c.JSON(http.StatusOK, jsontext.Value(kept.Object))
	case !streamed:
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
	kept, job, err := c.pathResponse()
	if err != nil {
		return err
	}
	if kept != nil {
		return penstock.InvalidParam("id", "This response did not run in the background and has ended; only responses in the background can be cancelled.")
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
	kept, job, err := c.pathResponse()
	if err != nil {
		return err
	}
	if kept != nil {
		err := c.Conversations.Responses.DeleteResponse(c.R.Context(), c.Principal.Tenant.ID, conversation.Removal{ID: kept.ID, Actor: c.Principal.Actor()})
		if err != nil {
			return err
		}
		return c.JSON(http.StatusOK, deletedView{ID: penstock.ViewResponse.Format(kept.ID), Object: "response", Deleted: true})
	}
	if err := c.Deleter.DeleteJob(c.R.Context(), c.Principal.Tenant.ID, store.Deletion{Job: job.ID, Actor: c.Principal.Actor()}); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, deletedView{ID: penstock.ViewResponse.Format(job.ID), Object: "response", Deleted: true})
}

// inputItems lists the items that the model of a response was given.
func (c responses) inputItems() error {
	kept, job, err := c.pathResponse()
	if err != nil {
		return err
	}
	var raw jsontext.Value
	id := job.ID
	if kept != nil {
		id, raw = kept.ID, kept.Input
	} else {
		text, err := c.Inputs.ItemInput(c.R.Context(), c.Principal.Tenant.ID, penstock.ItemID(job.ID, 0))
		if err != nil {
			return err
		}
		o, err := body.Scan(text)
		if err != nil {
			return penstock.Internal(err)
		}
		raw = o.Raw("input")
	}
	items, err := openai.InputItems(raw)
	if err != nil {
		return err
	}
	entries := make([]jsontext.Value, len(items))
	for i, item := range items {
		entries[i] = openai.ListedItem(item, inputItemID(item, id, i))
	}
	page, err := c.itemPage()
	if err != nil {
		return err
	}
	if page.newest {
		slices.Reverse(entries)
	}
	if page.after != "" {
		at := slices.IndexFunc(entries, func(e jsontext.Value) bool { return openai.ItemID(e) == page.after })
		if at < 0 {
			return penstock.InvalidParam("after", "after must be the id of an item in this list.")
		}
		entries = entries[at+1:]
	}
	return c.JSON(http.StatusOK, newItemList(entries, page.limit))
}

// inputItemID is the id of an item of a response's input. Most have none of their own.
func inputItemID(item jsontext.Value, response penstock.ID, at int) string {
	if id := openai.ItemID(item); id != "" {
		return id
	}
	return "msg_" + string(response) + "_" + strconv.Itoa(at)
}

// itemListView is a page of items in OpenAI's format.
type itemListView struct {
	Object  string           `json:"object"`
	Data    []jsontext.Value `json:"data"`
	FirstID *string          `json:"first_id"`
	LastID  *string          `json:"last_id"`
	HasMore bool             `json:"has_more"`
}

// newItemList is a page of at most limit items, of a list that has one more if another page follows.
func newItemList(items []jsontext.Value, limit int) itemListView {
	v := itemListView{Object: "list", Data: items, HasMore: len(items) > limit}
	if v.HasMore {
		v.Data = items[:limit]
	}
	if n := len(v.Data); n > 0 {
		first, last := openai.ItemID(v.Data[0]), openai.ItemID(v.Data[n-1])
		v.FirstID, v.LastID = &first, &last
	} else {
		v.Data = []jsontext.Value{}
	}
	return v
}

// pagedItems selects a page of items.
type pagedItems struct {
	limit  int
	after  string
	newest bool
}

func (c *call) itemPage() (p pagedItems, err error) {
	query := c.R.URL.Query()
	p.after = query.Get("after")
	switch order := query.Get("order"); order {
	case "", string(store.Descending):
		p.newest = true
	case string(store.Ascending):
	default:
		return p, penstock.InvalidParam("order", "order must be %s or %s.", store.Ascending, store.Descending)
	}
	p.limit, err = c.PageLimit(pageSize)
	return p, err
}

// inputTokensView is the length of an input.
type inputTokensView struct {
	Object      string `json:"object"`
	InputTokens int64  `json:"input_tokens"`
}

// countInputTokens answers with the length of a response's input by a tokenizer that may not be the upstream's.
func (c responses) countInputTokens() error {
	sent, err := c.readBody()
	if err != nil {
		return err
	}
	options, err := openai.ReadOptions(sent)
	if err != nil {
		return err
	}
	turn, err := c.prepare(sent, options)
	if err != nil {
		return err
	}
	if turn.text, err = c.rendered(turn.text); err != nil {
		return err
	}
	c.W.Header().Set(headerEstimate, "true")
	return c.JSON(http.StatusOK, inputTokensView{Object: "response.input_tokens", InputTokens: c.tokens.Body(turn.text)})
}

// rendered is a body with the messages of the prompt that it names.
func (c responses) rendered(text []byte) ([]byte, error) {
	if o, err := body.Scan(text); err != nil || len(o.Raw(dialect.PromptMember)) == 0 {
		return text, nil
	}
	one, err := openai.OneAnswer(text)
	if err != nil {
		return nil, penstock.Internal(err)
	}
	asked, err := openai.ReadResponse(one)
	if err != nil {
		return nil, err
	}
	asked, err = admit.Prompted(c.R.Context(), c.Admit, c.Principal, admit.RequestOrder{Endpoint: penstock.EndpointResponses, Inference: asked, Memory: &c.memory})
	return asked.Body(), err
}
