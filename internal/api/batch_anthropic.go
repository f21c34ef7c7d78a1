package api

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"regexp"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"penstock"
	"penstock/internal/admit"
	"penstock/internal/file"
	"penstock/internal/store"
)

// The bounds of a message batch, which are Anthropic's.
const (
	maxMessageBatch      = 100_000
	maxMessageBatchBytes = 256 << 20
)

var messageCustomID = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// messageBatchCreate is what Anthropic's SDKs send, for the OpenAPI document: it is read as it comes.
type messageBatchCreate struct {
	Requests []messageBatchRequest `json:"requests" required:"true" about:"At most 100,000. All are for one model: that of the first."`
}

type messageBatchRequest struct {
	CustomID string         `json:"custom_id" required:"true" about:"1 to 64 letters, digits, _ and -; unique in the batch."`
	Params   jsontext.Value `json:"params" required:"true" about:"A body of POST /v1/messages."`
}

// messageBatchView is a job, in the shape of Anthropic's message batches.
type messageBatchView struct {
	ID                string             `json:"id"`
	Type              string             `json:"type"`
	ProcessingStatus  string             `json:"processing_status" about:"in_progress, canceling or ended."`
	RequestCounts     messageBatchCounts `json:"request_counts" about:"All but processing are 0 until the batch has ended."`
	CreatedAt         time.Time          `json:"created_at"`
	ExpiresAt         time.Time          `json:"expires_at"`
	EndedAt           *time.Time         `json:"ended_at"`
	CancelInitiatedAt *time.Time         `json:"cancel_initiated_at"`
	ArchivedAt        *time.Time         `json:"archived_at"`
	ResultsURL        *string            `json:"results_url" about:"null until the batch has ended."`
}

type messageBatchCounts struct {
	Processing int `json:"processing"`
	Succeeded  int `json:"succeeded"`
	Errored    int `json:"errored"`
	Canceled   int `json:"canceled"`
	Expired    int `json:"expired"`
}

type messageBatchPageView struct {
	Data    []messageBatchView `json:"data"`
	HasMore bool               `json:"has_more"`
	FirstID *string            `json:"first_id"`
	LastID  *string            `json:"last_id"`
}

type messageBatchDeletedView struct {
	ID   string `json:"id"`
	Type string `json:"type"`
}

func (c *call) messageBatchView(b store.Batch) messageBatchView {
	j := b.Job
	v := messageBatchView{
		ID: penstock.ViewMessageBatch.Format(b.ID), Type: "message_batch", ProcessingStatus: "in_progress",
		RequestCounts: messageBatchCounts{Processing: j.Counts.Total}, CreatedAt: stamp(j.CreatedAt), ExpiresAt: stamp(j.Deadline),
		EndedAt: optional(j.FinishedAt), CancelInitiatedAt: optional(j.CancelRequestedAt),
	}
	switch {
	case !j.FinishedAt.IsZero():
		n := j.Counts
		v.ProcessingStatus = "ended"
		v.RequestCounts = messageBatchCounts{Succeeded: n.Succeeded, Errored: n.Failed, Canceled: n.Cancelled, Expired: n.Expired}
		v.ResultsURL = text(c.base() + "/v1/messages/batches/" + v.ID + "/results")
	case !j.CancelRequestedAt.IsZero():
		v.ProcessingStatus = "canceling"
	}
	return v
}

// createMessageBatch makes a job of a list of messages, which may be long: it is written to a file as it comes.
func (c *call) createMessageBatch() error {
	if err := c.Refusing(); err != nil {
		return err
	}
	leave, err := c.uploads.enter(c.caller.Tenant.ID)
	if err != nil {
		return err
	}
	defer leave()
	ctx, cancel := context.WithTimeout(c.r.Context(), UploadTimeout)
	defer cancel()
	sum := sha256.New()
	f, err := c.receiveMessages(ctx, sum)
	if err != nil {
		return err
	}
	key, err := idempotencyKey(c.r)
	if err != nil {
		c.Files.Discard(ctx, f)
		return err
	}
	if f, err = c.Files.Keep(ctx, f); err != nil {
		return err // the row may be there all the same, so its blob must stay
	}
	order := admit.JobOrder{Endpoint: penstock.EndpointMessages, Lane: penstock.LaneBulk, IdempotencyKey: key, BodyHash: sum.Sum(nil)}
	var receipt admit.Accepted
	if err = c.overLines(&order, admit.Lines{File: f, Batch: store.Batch{Kind: store.BatchAnthropic}}); err == nil {
		receipt, err = c.Admit.Job(ctx, c.caller, order)
	}
	if err != nil || receipt.Replayed {
		// Nothing reads it. Should this fail, it goes when files do.
		_ = c.Files.Delete(ctx, f.Tenant, store.FileDeletion{File: f.ID, Actor: c.caller.Key})
	}
	if err != nil {
		return err
	}
	receipt.Begin()
	b, err := c.Batches.Batch(ctx, c.caller.Tenant.ID, receipt.Job.ID)
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, c.messageBatchView(b))
}

// receiveMessages writes the requests of a batch to a file that nobody sees yet, one line each.
func (c *call) receiveMessages(ctx context.Context, sum hash.Hash) (store.File, error) {
	limits := c.Config.Current().Process.Limits
	most := min(limits.MaxFileBytes, maxMessageBatchBytes)
	sent := io.TeeReader(http.MaxBytesReader(c.w, c.patientBody(c.r.Body), most), sum)
	lines, out := io.Pipe()
	go func() { out.CloseWithError(copyRequests(sent, out)) }()
	f, err := c.Files.Receive(ctx, c.caller.Tenant.ID, lines, file.Limits{
		MaxBytes: 2 * most, MaxLineBytes: limits.MaxBodyBytes, MaxJSONDepth: limits.MaxJSONDepth,
	})
	lines.CloseWithError(context.Canceled) // lets the other side go if it still writes
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return f, penstock.Errorf(penstock.CodeTooLarge, "The batch is larger than %d bytes; split it.", tooLarge.Limit)
	}
	if err == nil && f.ErrorCount > 0 {
		c.Files.Discard(ctx, f)
		e := f.Errors[0]
		return f, penstock.InvalidParam(fmt.Sprintf("requests.%d", e.Line-1), "requests.%d: %s", e.Line-1, e.Message)
	}
	f.Key, f.Name, f.Purpose = c.caller.Key, "requests.jsonl", store.PurposeBatch
	return f, err
}

// copyRequests turns the requests of a body into lines, one at a time.
func copyRequests(sent io.Reader, out io.Writer) error {
	dec := jsontext.NewDecoder(sent)
	if err := seekRequests(dec); err != nil {
		return err
	}
	n := 0
	for ; dec.PeekKind() != ']'; n++ {
		if n == maxMessageBatch {
			return penstock.Errorf(penstock.CodeTooLarge, "A batch has at most %d requests; split it.", maxMessageBatch)
		}
		var r messageBatchRequest
		if err := json.UnmarshalDecode(dec, &r, lenient); err != nil {
			return unreadableRequest(err, n)
		}
		if !messageCustomID.MatchString(r.CustomID) {
			return penstock.InvalidParam(fmt.Sprintf("requests.%d.custom_id", n), "requests.%d.custom_id must be 1 to 64 letters, digits, _ and -.", n)
		}
		if r.Params.Kind() != '{' {
			return penstock.InvalidParam(fmt.Sprintf("requests.%d.params", n), "requests.%d.params must be an object.", n)
		}
		if err := r.Params.Compact(); err != nil { // so that it is one line
			return unreadableRequest(err, n)
		}
		if _, err := fmt.Fprintf(out, `{"custom_id":%q,"body":%s}`+"\n", r.CustomID, r.Params); err != nil {
			return err
		}
	}
	if n == 0 {
		return penstock.InvalidParam("requests", "requests is empty; send at least one.")
	}
	for range 2 { // the end of the list and of the body, so that a body that was cut off is no batch
		if _, err := dec.ReadToken(); err != nil {
			return unreadableRequest(err, n)
		}
	}
	return nil
}

// seekRequests goes to the first request.
func seekRequests(dec *jsontext.Decoder) error {
	missing := penstock.InvalidParam("requests", "The body must be an object whose only member is requests, a list.")
	for _, want := range []jsontext.Kind{'{', '"', '['} {
		token, err := dec.ReadToken()
		if err != nil {
			return unreadableRequest(err, 0)
		}
		if token.Kind() != want || want == '"' && token.String() != "requests" {
			return missing
		}
	}
	return nil
}

func unreadableRequest(err error, n int) error {
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return err
	}
	if _, ours := errors.AsType[*penstock.Error](err); ours {
		return err
	}
	return &penstock.Error{Code: penstock.CodeInvalidRequest, Param: fmt.Sprintf("requests.%d", n), Err: err,
		Message: fmt.Sprintf("The body could not be read to its end: requests.%d is not as it should be.", n)}
}

func (c *call) readMessageBatch() error {
	b, err := c.batch(store.BatchAnthropic, penstock.ViewMessageBatch)
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, c.messageBatchView(b))
}

func (c *call) listMessageBatches() error {
	const most, usual = 1000, 20
	limit, err := c.queryInt("limit", usual)
	if err != nil {
		return err
	}
	if limit < 1 || limit > most {
		return penstock.InvalidParam("limit", "limit must be from 1 to %d.", most)
	}
	p := store.BatchPage{Kind: store.BatchAnthropic, Limit: int(limit) + 1}
	for name, into := range map[string]*penstock.ID{"after_id": &p.After, "before_id": &p.Before} {
		if id := c.r.URL.Query().Get(name); id != "" {
			if *into, err = penstock.ViewMessageBatch.Parse(id); err != nil {
				return penstock.InvalidParam(name, "%s: %v.", name, err)
			}
		}
	}
	if p.After != "" && p.Before != "" {
		return penstock.InvalidParam("before_id", "after_id and before_id are given; one is wanted.")
	}
	batches, err := c.Batches.ListBatches(c.r.Context(), c.caller.Tenant.ID, p)
	if err != nil {
		return err
	}
	v := messageBatchPageView{Data: []messageBatchView{}, HasMore: len(batches) > int(limit)}
	if v.HasMore && p.Before != "" {
		batches = batches[1:] // the one too many is the newest
	}
	for _, b := range batches[:min(int(limit), len(batches))] {
		v.Data = append(v.Data, c.messageBatchView(b))
	}
	if n := len(v.Data); n > 0 {
		v.FirstID, v.LastID = &v.Data[0].ID, &v.Data[n-1].ID
	}
	return c.json(http.StatusOK, v)
}

func (c *call) cancelMessageBatch() error {
	b, err := c.stopBatch(store.BatchAnthropic, penstock.ViewMessageBatch)
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, c.messageBatchView(b))
}

func (c *call) deleteMessageBatch() error {
	b, err := c.batch(store.BatchAnthropic, penstock.ViewMessageBatch)
	if err != nil {
		return err
	}
	ctx, tenant := c.r.Context(), c.caller.Tenant.ID
	if err := c.Deleter.DeleteJob(ctx, tenant, store.Deletion{Job: b.ID, Actor: c.caller.Key}); err != nil {
		return err
	}
	// Its requests were written to a file that is of no use to anybody else.
	if err := c.Files.Delete(ctx, tenant, store.FileDeletion{File: b.File, Actor: c.caller.Key}); err != nil && penstock.ErrorCode(err) != penstock.CodeNotFound {
		return err
	}
	return c.json(http.StatusOK, messageBatchDeletedView{penstock.ViewMessageBatch.Format(b.ID), "message_batch_deleted"})
}

func (c *call) messageBatchResults() error {
	b, err := c.batch(store.BatchAnthropic, penstock.ViewMessageBatch)
	if err != nil {
		return err
	}
	if b.Job.FinishedAt.IsZero() {
		return penstock.Errorf(penstock.CodeConflict, "%s has not ended; its results are there when processing_status is ended.", penstock.ViewMessageBatch.Format(b.ID))
	}
	c.w.Header().Set("Content-Type", typeAnthropicJSONL)
	p := store.ResultPage{Order: store.OrderInput, After: -1, Limit: resultPage}
	return c.stream(b.ID, p, store.BatchAnthropic)
}
