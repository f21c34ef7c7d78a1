package api

import (
	"errors"
	"net/http"
	"slices"
	"time"

	"penstock"
	"penstock/internal/request"
	"penstock/internal/rest"
	"penstock/internal/store"
)

// requestRoutes read the records of synchronous calls.
var requestRoutes = []rest.Route{
	{Method: "GET", Path: "/v1/requests", Scope: penstock.ScopeInference, Summary: "List synchronous calls, newest first",
		Params: []rest.Param{limitPage, {Name: "after", In: "query", About: "The next_after of the previous page."},
			{Name: "status", In: "query", About: "Only calls that ended like this: succeeded, failed or cancelled."},
			{Name: "code", In: "query", About: "Only calls that failed with this error code."},
			{Name: "model", In: "query", About: "Only calls for this model."}, {Name: "target", In: "query", About: "Only calls that this target answered."},
			{Name: "key", In: "query", About: "Only calls with the key of this name."}, {Name: "tag", In: "query", About: "Only calls with this tag, as key:value."},
			{Name: "subject", In: "query", About: "Only calls about this end user."},
			{Name: "prompt", In: "query", About: "Only calls with this prompt, as NAME or NAME@VERSION."},
			{Name: "min_cost", In: "query", About: "Only calls that cost at least so many dollars, such as 0.05."},
			{Name: "created_after", In: "query", About: "Only calls that arrived after this time, RFC 3339."},
			{Name: "created_before", In: "query", About: "Only calls that arrived up to this time, RFC 3339."}},
		Answers: []rest.Answer{{Status: 200, About: "A page of calls, without their attempts. A call is listed within a second of its end.", Body: requestPageView{}}},
		Serve:   on(inferences.listRequests)},
	{Method: "GET", Path: "/v1/requests/{id}", Scope: penstock.ScopeInference, Summary: "Explain a synchronous call",
		Params:  []rest.Param{{Name: "id", In: "path", About: "The x-request-id of the call's answer, req_….", Required: true}},
		Answers: []rest.Answer{{Status: 200, About: "The call and its attempts.", Body: requestView{}}}, Serve: on(inferences.readRequest)},
	{Method: "GET", Path: "/v1/requests/{id}/prompt", Payload: rest.PayloadAlways, Scope: penstock.ScopeInference, Summary: "Render the prompt of a synchronous call again",
		Params:  []rest.Param{{Name: "id", In: "path", About: "The x-request-id of the call's answer, req_….", Required: true}},
		Answers: []rest.Answer{{Status: 200, About: "The prompt exactly as the call had it, without the messages of the caller, which are not stored.", Body: requestPromptView{}}},
		Serve:   on(inferences.readRequestPrompt)},
}

// requestSummaryView is a synchronous call in a list.
type requestSummaryView struct {
	ID           string              `json:"id"`
	Object       string              `json:"object"`
	Endpoint     string              `json:"endpoint" about:"The path that was called."`
	Model        string              `json:"model"`
	Key          string              `json:"key" about:"The name of the key that made the call."`
	Stream       bool                `json:"stream"`
	Status       penstock.Status     `json:"status"`
	StatusCode   int                 `json:"status_code" about:"The HTTP status of the answer; 499 when the caller closed the connection."`
	Error        *penstock.ItemError `json:"error"`
	Target       *string             `json:"target"`
	Tags         map[string]string   `json:"tags"`
	Subject      *string             `json:"subject" about:"The end user that the call is about."`
	Usage        usageView           `json:"usage"`
	Cache        *string             `json:"cache" about:"hit or coalesced when another call paid for the answer; null otherwise."`
	StartedAt    time.Time           `json:"started_at"`
	FirstTokenAt *time.Time          `json:"first_token_at"`
	FinishedAt   time.Time           `json:"finished_at"`
}

// requestView is a synchronous call, explained.
type requestView struct {
	requestSummaryView
	Saved     *savedView      `json:"saved" about:"The usage of the other call that paid for the answer."`
	History   []attemptView   `json:"history" about:"All attempts, in order."`
	Files     []attachedView  `json:"files,omitzero" about:"The files that the body named, with the hash of the content that the call was made with."`
	Truncated *truncationView `json:"truncated,omitzero" about:"What was dropped of a conversation that was longer than the context of its model."`
	Prompt    *promptUseView  `json:"prompt,omitzero" about:"The prompt whose messages were in the body."`
}

// requestPageView is a page of calls.
type requestPageView struct {
	Object    string               `json:"object"`
	Data      []requestSummaryView `json:"data"`
	HasMore   bool                 `json:"has_more" about:"Whether another page follows. A page may be short, or empty, and still be followed by another: a call reads at most 3,000 records."`
	NextAfter *string              `json:"next_after" about:"The after of the next page; null after the last page."`
}

func newRequestSummary(r penstock.Request) requestSummaryView {
	v := requestSummaryView{
		ID: penstock.ViewRequest.Format(r.ID), Object: "request", Endpoint: string(r.Endpoint), Model: r.Model, Key: r.Key, Stream: r.Stream,
		Status: r.Status, StatusCode: r.StatusCode, Target: text(r.Target), Tags: r.Tags, Subject: text(r.Subject), Usage: usageView{Usage: r.Usage, Cost: r.Cost},
		StartedAt: stamp(r.StartedAt), FirstTokenAt: optional(r.FirstTokenAt), FinishedAt: stamp(r.FinishedAt),
	}
	if r.Tags == nil {
		v.Tags = map[string]string{}
	}
	if r.ErrorCode != "" {
		v.Error = &penstock.ItemError{Code: r.ErrorCode, Message: r.Error}
	}
	if source, target := request.SplitTarget(r.Target); source != "" {
		v.Cache, v.Target = text(string(source)), text(target)
	}
	return v
}

func newRequestView(r penstock.Request) requestView {
	v := requestView{requestSummaryView: newRequestSummary(r), History: newAttemptViews(r.Attempts), Files: newAttachedViews(r.Files), Truncated: newTruncationView(r.Truncated)}
	if r.Prompt != nil {
		v.Prompt = newPromptUseView(&r.Prompt.PromptUse)
	}
	v.showShared()
	return v
}

func (c inferences) listRequests() error {
	f, err := c.requestFilter()
	if err != nil {
		return err
	}
	found, err := c.Records.ListRequests(c.R.Context(), c.Principal.Tenant.ID, f)
	if err != nil {
		return err
	}
	p := requestPageView{Object: "list", Data: make([]requestSummaryView, len(found.Requests)), HasMore: found.Next != ""}
	for i, r := range found.Requests {
		p.Data[i] = newRequestSummary(r)
	}
	if p.HasMore {
		p.NextAfter = text(penstock.ViewRequest.Format(found.Next))
	}
	return c.JSON(http.StatusOK, p)
}

// endedStatuses are the statuses of a call that is over.
var endedStatuses = []penstock.Status{penstock.StatusSucceeded, penstock.StatusFailed, penstock.StatusCancelled}

func (c inferences) requestFilter() (f store.RequestFilter, err error) {
	q := c.R.URL.Query()
	var errs [3]error
	f.Limit, errs[0] = c.PageLimit(pageSize)
	f.CreatedAfter, errs[1] = c.QueryTime("created_after")
	f.CreatedUntil, errs[2] = c.QueryTime("created_before")
	if err := errors.Join(errs[:]...); err != nil {
		return f, err
	}
	f.Status, f.Model, f.Target, f.Key, f.Subject = penstock.Status(q.Get("status")), q.Get("model"), q.Get("target"), q.Get("key"), q.Get("subject")
	if err := checkStatus(f.Status, endedStatuses); err != nil {
		return f, err
	}
	if f.Code = penstock.Code(q.Get("code")); f.Code != "" && !slices.Contains(penstock.Codes, f.Code) {
		return f, penstock.InvalidParam("code", "code must be an error code such as %s, not %q.", penstock.CodeUpstreamTimeout, rest.Clip(string(f.Code)))
	}
	if f.TagKey, f.TagValue, err = queryTag(q.Get("tag")); err != nil {
		return f, err
	}
	if f.Prompt, err = queryPrompt(q.Get("prompt")); err != nil {
		return f, err
	}
	if least := q.Get("min_cost"); least != "" {
		if f.MinCost, err = penstock.ParseNanoUSD(least); err != nil {
			return f, penstock.InvalidParam("min_cost", "min_cost: %v.", err)
		}
	}
	if after := q.Get("after"); after != "" {
		if f.After, err = penstock.ViewRequest.Parse(after); err != nil {
			return f, penstock.InvalidParam("after", "after: %v.", err)
		}
	}
	return f, nil
}

// queryTag reads a tag to filter by. Codes: invalid_request.
func queryTag(tag string) (key, value string, err error) {
	if tag == "" {
		return "", "", nil
	}
	key, value, ok := penstock.CutTag(tag)
	if !ok {
		return "", "", penstock.InvalidParam("tag", "tag must be given as key:value.")
	}
	return key, value, nil
}
