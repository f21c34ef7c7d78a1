package api

import (
	"errors"
	"net/http"
	"reflect"
	"slices"
	"time"

	"penstock"
	"penstock/internal/admit"
	"penstock/internal/rest"
	"penstock/internal/store"
	"penstock/internal/telemetry"
)

// deadLetterView is a failed item that was neither retried nor dismissed.
type deadLetterView struct {
	ItemID      string        `json:"item_id"`
	JobID       string        `json:"job_id"`
	Model       string        `json:"model"`
	Code        penstock.Code `json:"code"`
	ErrorKind   *string       `json:"error_kind"`
	Message     string        `json:"message"`
	Target      *string       `json:"target" about:"The target that was called last; null when none was."`
	Fingerprint string        `json:"fingerprint" about:"Failures with the same cause share it."`
	CreatedAt   time.Time     `json:"created_at"`
}

func newDeadLetterView(d store.DeadLetter) deadLetterView {
	return deadLetterView{
		ItemID: penstock.ViewItem.Format(d.Item), JobID: penstock.ViewJob.Format(d.Job), Model: d.Model, Code: d.Code,
		ErrorKind: text(d.Kind), Message: d.Message, Target: text(d.Target), Fingerprint: d.Fingerprint, CreatedAt: d.CreatedAt,
	}
}

// deadLetterGroupView is the dead letters with one cause.
type deadLetterGroupView struct {
	Fingerprint string         `json:"fingerprint"`
	Count       int            `json:"count"`
	AtLeast     bool           `json:"at_least" about:"Whether there are more dead letters than count: a group is counted up to 10,000."`
	Model       *string        `json:"model" about:"null when they are of several models."`
	Code        penstock.Code  `json:"code"`
	ErrorKind   *string        `json:"error_kind"`
	FirstAt     time.Time      `json:"first_at" about:"When the first of them failed."`
	LastAt      time.Time      `json:"last_at" about:"When the last of them failed."`
	Sample      deadLetterView `json:"sample" about:"One of the dead letters."`
}

func newDeadLetterGroupView(g store.DeadLetterGroup) deadLetterGroupView {
	return deadLetterGroupView{
		Fingerprint: g.Fingerprint, Count: g.Count, AtLeast: g.AtLeast, Model: text(g.Model), Code: g.Sample.Code, ErrorKind: text(g.Sample.Kind),
		FirstAt: g.FirstAt, LastAt: g.LastAt, Sample: newDeadLetterView(g.Sample),
	}
}

func (c deadLetters) listDeadLetterGroups() error {
	filter, limit, err := c.deadLetterQuery()
	if err != nil {
		return err
	}
	groups, next, err := c.DeadLetters.DeadLetterGroups(c.R.Context(), c.Principal.Tenant.ID, store.DeadLetterGroupPage{
		Filter: filter, After: c.R.URL.Query().Get("after"), Limit: limit,
	})
	if err != nil {
		return err
	}
	data := make([]deadLetterGroupView, len(groups))
	for i, g := range groups {
		data[i] = newDeadLetterGroupView(g)
	}
	return c.JSON(http.StatusOK, rest.NewCursorPage(data, next))
}

func (c deadLetters) listDeadLetters() error {
	filter, limit, err := c.deadLetterQuery()
	if err != nil {
		return err
	}
	p := store.DeadLetterPage{Filter: filter, Limit: limit}
	if after := c.R.URL.Query().Get("after"); after != "" {
		if p.After, err = penstock.ViewItem.Parse(after); err != nil {
			return penstock.InvalidParam("after", "after: %v.", err)
		}
	}
	deadLetters, last, err := c.DeadLetters.DeadLetters(c.R.Context(), c.Principal.Tenant.ID, p)
	if err != nil {
		return err
	}
	data, next := make([]deadLetterView, len(deadLetters)), ""
	for i, d := range deadLetters {
		data[i] = newDeadLetterView(d)
	}
	if last != "" {
		next = penstock.ViewItem.Format(last)
	}
	return c.JSON(http.StatusOK, rest.NewCursorPage(data, next))
}

// deadLetterQuery reads the filter and the page size of a list.
func (c deadLetters) deadLetterQuery() (store.DeadLetterFilter, int, error) {
	q := c.R.URL.Query()
	f := deadLetterFilter{
		JobID: q.Get("job_id"), Model: q.Get("model"), Code: penstock.Code(q.Get("code")), ErrorKind: q.Get("error_kind"),
		Fingerprint: q.Get("fingerprint"),
	}
	var errs [3]error
	var limit int
	limit, errs[0] = c.PageLimit(pageSize)
	f.CreatedAfter, errs[1] = c.QueryTime("created_after")
	f.CreatedBefore, errs[2] = c.QueryTime("created_before")
	if err := errors.Join(errs[:]...); err != nil {
		return store.DeadLetterFilter{}, 0, err
	}
	filter, err := f.read("")
	return filter, limit, err
}

// maxItemIDs is the most items that a filter names.
const maxItemIDs = 1000

// deadLetterFilter selects dead letters.
type deadLetterFilter struct {
	All           bool          `json:"all,omitzero" about:"Every dead letter; no other field may be given."`
	JobID         string        `json:"job_id,omitzero"`
	Model         string        `json:"model,omitzero"`
	Code          penstock.Code `json:"code,omitzero"`
	ErrorKind     string        `json:"error_kind,omitzero"`
	Fingerprint   string        `json:"fingerprint,omitzero"`
	ItemIDs       []string      `json:"item_ids,omitzero" about:"Only these items, at most 1,000."`
	CreatedAfter  time.Time     `json:"created_after,omitzero" about:"Only those that failed after this time."`
	CreatedBefore time.Time     `json:"created_before,omitzero" about:"Only those that failed up to this time."`
}

// read checks the filter and converts it for the store. Errors name its fields by their path.
func (f deadLetterFilter) read(path string) (store.DeadLetterFilter, error) {
	out := store.DeadLetterFilter{
		Model: f.Model, Code: f.Code, Kind: f.ErrorKind, Fingerprint: f.Fingerprint,
		CreatedAfter: f.CreatedAfter, CreatedUntil: f.CreatedBefore,
	}
	if f.Code != "" && !slices.Contains(penstock.Codes, f.Code) {
		return out, penstock.InvalidParam(path+"code", "%scode must be an error code such as %s, not %q.", path, penstock.CodeUpstreamTimeout, rest.Clip(string(f.Code)))
	}
	if f.JobID != "" {
		var err error
		if out.Job, err = penstock.ViewJob.Parse(f.JobID); err != nil {
			return out, penstock.InvalidParam(path+"job_id", "%sjob_id: %v.", path, err)
		}
	}
	if len(f.ItemIDs) > maxItemIDs {
		return out, penstock.InvalidParam(path+"item_ids", "%sitem_ids has %d ids; at most %d are allowed.", path, len(f.ItemIDs), maxItemIDs)
	}
	for _, given := range f.ItemIDs {
		id, err := penstock.ViewItem.Parse(given)
		if err != nil {
			return out, penstock.InvalidParam(path+"item_ids", "%sitem_ids: %v.", path, err)
		}
		out.Items = append(out.Items, id)
	}
	return out, nil
}

// deliberate reads the filter of a call that changes something. An empty filter is refused: it must not mean all dead
// letters.
func (f *deadLetterFilter) deliberate() (store.DeadLetterFilter, error) {
	if f == nil || reflect.ValueOf(*f).IsZero() {
		return store.DeadLetterFilter{}, penstock.InvalidParam("filter",
			`filter is missing or empty; select dead letters by a field, such as {"model":"fast"}, or all of them by {"all":true}.`)
	}
	if f.All && !reflect.DeepEqual(*f, deadLetterFilter{All: true}) {
		return store.DeadLetterFilter{}, penstock.InvalidParam("filter.all", "filter.all selects every dead letter; no other field can be given with it.")
	}
	return f.read("filter.")
}

// deadLetterSelection selects the dead letters of a call.
type deadLetterSelection struct {
	Filter *deadLetterFilter `json:"filter,omitzero" required:"true" about:"Selects dead letters; must not be empty."`
	DryRun bool              `json:"dry_run,omitzero" about:"Only report the effect; change nothing."`
}

// deadLetterRetry selects the dead letters to retry, and says how.
type deadLetterRetry struct {
	deadLetterSelection
	jobRetry
}

// deadLetterDismiss selects the dead letters to dismiss.
type deadLetterDismiss struct {
	deadLetterSelection
}

// readDeadLetterOrder reads a body and the selection in it.
func (c deadLetters) readDeadLetterOrder(into any, selection *deadLetterSelection) (admit.DeadLetterOrder, error) {
	if len(c.R.Header.Values("Idempotency-Key")) > 0 {
		return admit.DeadLetterOrder{}, penstock.InvalidParam("Idempotency-Key",
			"Leave Idempotency-Key out: each dead letter is retried or dismissed only once, however often this call is sent.")
	}
	body, err := c.readBody()
	if err != nil {
		return admit.DeadLetterOrder{}, err
	}
	if err := rest.Decode(body, into); err != nil {
		return admit.DeadLetterOrder{}, err
	}
	filter, err := selection.Filter.deliberate()
	return admit.DeadLetterOrder{Filter: filter, DryRun: selection.DryRun}, err
}

// deadLetterRetriedView is the result of retrying dead letters.
type deadLetterRetriedView struct {
	Object    string           `json:"object"`
	DryRun    bool             `json:"dry_run"`
	Jobs      []retriedJobView `json:"jobs"`
	Items     int              `json:"items" about:"Dead letters that these jobs retry."`
	AtMost    trialBoundView   `json:"at_most" about:"The amount that is reserved for these jobs: the most that one attempt at each item can use."`
	Remaining int              `json:"remaining" about:"Dead letters of the filter that are left."`
	Skipped   []skippedJobView `json:"skipped" about:"Jobs whose dead letters could not be retried."`
}

type retriedJobView struct {
	JobID   *string `json:"job_id" about:"The new job; null in a dry run."`
	RetryOf string  `json:"retry_of"`
	Items   int     `json:"items"`
}

type skippedJobView struct {
	JobID string             `json:"job_id"`
	Items int                `json:"items"`
	Error penstock.ItemError `json:"error"`
}

func (c deadLetters) retryDeadLetters() error {
	var in deadLetterRetry
	order, err := c.readDeadLetterOrder(&in, &in.deadLetterSelection)
	if err != nil {
		return err
	}
	ctx, span := c.Tracer.StartProducer(c.R.Context(), "retry dead letters")
	report, err := c.Admit.RetryDeadLetters(ctx, c.Principal, order, in.terms(telemetry.TraceParent(ctx)))
	span.End(err)
	if err != nil {
		return err
	}
	out := deadLetterRetriedView{
		Object: "dead_letter_retry", DryRun: in.DryRun, Items: report.Items, AtMost: trialBoundView{report.Most.Tokens, report.Most.Cost.String()}, Remaining: report.Remaining,
		Jobs: []retriedJobView{}, Skipped: []skippedJobView{},
	}
	for _, j := range report.Jobs {
		v := retriedJobView{RetryOf: penstock.ViewJob.Format(j.RetryOf), Items: j.Items}
		if j.Job != "" {
			v.JobID = text(penstock.ViewJob.Format(j.Job))
		}
		out.Jobs = append(out.Jobs, v)
	}
	for _, j := range report.Skipped {
		out.Skipped = append(out.Skipped, skippedJobView{
			JobID: penstock.ViewJob.Format(j.Job), Items: j.DeadLetters, Error: penstock.ItemError{Code: j.Reason.Code, Message: j.Reason.Message},
		})
	}
	defer c.Admit.Wake()
	return c.JSON(http.StatusOK, out)
}

// deadLetterDismissedView is the result of dismissing dead letters.
type deadLetterDismissedView struct {
	Object    string `json:"object"`
	DryRun    bool   `json:"dry_run"`
	Items     int    `json:"items" about:"Dead letters that were dismissed."`
	Remaining int    `json:"remaining" about:"Dead letters of the filter that are left."`
}

func (c deadLetters) dismissDeadLetters() error {
	var in deadLetterDismiss
	order, err := c.readDeadLetterOrder(&in, &in.deadLetterSelection)
	if err != nil {
		return err
	}
	out := deadLetterDismissedView{Object: "dead_letter_dismissal", DryRun: in.DryRun}
	out.Items, out.Remaining, err = c.Admit.DismissDeadLetters(c.R.Context(), c.Principal, order)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, out)
}
