package api

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"time"

	"penstock"
	"penstock/internal/admit"
	"penstock/internal/dialect/line"
	"penstock/internal/rest"
	"penstock/internal/store"
)

// maxMessageBatchBytes bounds the body of a message batch, as Anthropic does.
const maxMessageBatchBytes = 256 << 20

// messageBatchCreate is the request of Anthropic's SDKs, for the OpenAPI document: the body is read as a stream.
type messageBatchCreate struct {
	Requests []line.MessageBatchRequest `json:"requests" required:"true" about:"At most 100,000, for at most 16 models."`
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

func (c messageBatches) messageBatchView(b store.Batch) messageBatchView {
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
		v.ResultsURL = text(files(c).base() + "/v1/messages/batches/" + v.ID + "/results")
	case !j.CancelRequestedAt.IsZero():
		v.ProcessingStatus = "canceling"
	}
	return v
}

// createMessageBatch creates jobs from a list of messages, which may be long: the list is written to a file as it is
// received, or to one file for each model.
func (c messageBatches) createMessageBatch() error {
	ctx, leave, err := files(c).receiving()
	if err != nil {
		return err
	}
	defer leave()
	order := admit.JobOrder{}
	if order.IdempotencyKey, err = idempotencyKey(c.R); err != nil {
		return err
	}
	window, err := c.window()
	if err != nil {
		return err
	}
	sum := sha256.New()
	f, models, err := c.receiveMessages(ctx, sum)
	if err != nil {
		return err
	}
	files, err := c.keepByModel(ctx, f, models)
	if err != nil {
		return err
	}
	order.BodyHash, order.Deadline = sum.Sum(nil), c.closes(window)
	receipt, err := c.submitMessages(ctx, files, order)
	if err != nil || receipt.Replayed {
		c.forget(ctx, files) // nothing reads them
	}
	if err != nil {
		return err
	}
	receipt.Begin()
	b, err := c.Batches.Batch(ctx, c.Principal.Tenant.ID, receipt.Job.ID)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, c.messageBatchView(b))
}

// submitMessages admits a batch: a job over the first file, and one as part of it over each of the others.
func (c messageBatches) submitMessages(ctx context.Context, files []store.File, order admit.JobOrder) (admit.Accepted, error) {
	orders := make([]admit.JobOrder, len(files))
	orders[0] = order
	for i, f := range files {
		o := &orders[i]
		o.Endpoint, o.Lane, o.Deadline = penstock.EndpointMessages, penstock.LaneBulk, order.Deadline
		if err := (jobs(c)).overLines(o, admit.Lines{File: f, Batch: store.Batch{Kind: store.BatchAnthropic}}); err != nil {
			return admit.Accepted{}, err
		}
	}
	orders[0].Parts = orders[1:]
	return c.Admit.Job(ctx, c.Principal, orders[0])
}

// receiveMessages writes the requests of a batch to a file that is not listed yet, one line each, and returns the models
// that they name.
func (c messageBatches) receiveMessages(ctx context.Context, sum hash.Hash) (f store.File, models []string, err error) {
	limits := c.Config.Current().Process.Limits
	most := min(limits.MaxFileBytes, maxMessageBatchBytes)
	sent := io.TeeReader(http.MaxBytesReader(c.W, c.uploadBody(c.R.Body), most), sum)
	f, err = c.receiveLines(ctx, 2*most, func(out io.Writer) (err error) {
		models, err = line.CopyRequests(sent, out)
		return err
	})
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return f, nil, penstock.Errorf(penstock.CodeTooLarge, "The batch is larger than %d bytes; split it.", tooLarge.Limit)
	}
	if err == nil && f.ErrorCount > 0 {
		c.Files.Discard(ctx, f)
		e := f.Errors[0]
		return f, nil, penstock.InvalidParam(fmt.Sprintf("requests.%d", e.Line-1), "requests.%d: %s", e.Line-1, e.Message)
	}
	return f, models, err
}

// receiveLines writes lines to a file that is not listed yet.
func (c messageBatches) receiveLines(ctx context.Context, most int64, write func(io.Writer) error) (store.File, error) {
	lines, out := io.Pipe()
	written := make(chan struct{})
	go func() {
		defer close(written)
		out.CloseWithError(write(out))
	}()
	f, err := files(c).receiveFile(ctx, lines, most)
	lines.CloseWithError(context.Canceled) // ends the writing side if it still writes
	<-written
	f.Key, f.Name, f.Purpose = c.Principal.Key, "requests.jsonl", store.PurposeBatch
	return f, err
}

func (c messageBatches) readMessageBatch() error {
	b, err := batches(c).batch(store.BatchAnthropic, penstock.ViewMessageBatch)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, c.messageBatchView(b))
}

func (c messageBatches) listMessageBatches() error {
	const most, usual = 1000, 20
	limit, err := c.PageLimit(rest.PageSize{Most: most, Usual: usual})
	if err != nil {
		return err
	}
	p := store.BatchPage{Kind: store.BatchAnthropic, Limit: limit + 1}
	for name, into := range map[string]*penstock.ID{"after_id": &p.After, "before_id": &p.Before} {
		if id := c.R.URL.Query().Get(name); id != "" {
			if *into, err = penstock.ViewMessageBatch.Parse(id); err != nil {
				return penstock.InvalidParam(name, "%s: %v.", name, err)
			}
		}
	}
	if p.After != "" && p.Before != "" {
		return penstock.InvalidParam("before_id", "Both after_id and before_id are given; give only one.")
	}
	batches, err := c.Batches.ListBatches(c.R.Context(), c.Principal.Tenant.ID, p)
	if err != nil {
		return err
	}
	v := messageBatchPageView{Data: []messageBatchView{}, HasMore: len(batches) > int(limit)}
	if v.HasMore && p.Before != "" {
		batches = batches[1:] // the extra entry is the newest
	}
	for _, b := range batches[:min(int(limit), len(batches))] {
		v.Data = append(v.Data, c.messageBatchView(b))
	}
	if n := len(v.Data); n > 0 {
		v.FirstID, v.LastID = &v.Data[0].ID, &v.Data[n-1].ID
	}
	return c.JSON(http.StatusOK, v)
}

func (c messageBatches) cancelMessageBatch() error {
	b, err := batches(c).stopBatch(store.BatchAnthropic, penstock.ViewMessageBatch)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, c.messageBatchView(b))
}

func (c messageBatches) deleteMessageBatch() error {
	b, err := batches(c).batch(store.BatchAnthropic, penstock.ViewMessageBatch)
	if err != nil {
		return err
	}
	if b.Job.FinishedAt.IsZero() {
		return penstock.Errorf(penstock.CodeConflict, "%s has not ended; cancel it first, or wait until it has ended.", penstock.ViewMessageBatch.Format(b.ID))
	}
	if err := c.deleteWithFiles(b); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, messageBatchDeletedView{penstock.ViewMessageBatch.Format(b.ID), "message_batch_deleted"})
}

func (c messageBatches) messageBatchResults() error {
	b, err := batches(c).batch(store.BatchAnthropic, penstock.ViewMessageBatch)
	if err != nil {
		return err
	}
	if b.Job.FinishedAt.IsZero() {
		return penstock.Errorf(penstock.CodeConflict, "%s has not ended; its results are available when processing_status is ended.", penstock.ViewMessageBatch.Format(b.ID))
	}
	c.W.Header().Set("Content-Type", typeAnthropicJSONL)
	p := store.ResultPage{Order: store.OrderInput, After: -1, Limit: resultPage}
	return items(c).stream(results{jobs: b.Jobs(), page: p, kind: store.BatchAnthropic})
}
