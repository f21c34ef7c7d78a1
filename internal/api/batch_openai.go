package api

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"penstock"
	"penstock/internal/admit"
	"penstock/internal/rest"
	"penstock/internal/store"
	"penstock/internal/telemetry"
)

// completionWindow is the only window of OpenAI's batches. Penstock accepts others as well.
const completionWindow = "24h"

// The bounds of metadata, which are OpenAI's.
const maxMetadata, maxMetadataKey, maxMetadataValue = 16, 64, 512

// batchCreate is the request of OpenAI's SDKs.
type batchCreate struct {
	InputFileID        string            `json:"input_file_id" required:"true" about:"A file with the purpose batch."`
	Endpoint           penstock.Endpoint `json:"endpoint" required:"true" about:"The endpoint that every line is for."`
	CompletionWindow   string            `json:"completion_window" required:"true" about:"24h, or another duration of up to 30 days, such as 90m."`
	Metadata           map[string]string `json:"metadata,omitzero"`
	OutputExpiresAfter *expiresAfter     `json:"output_expires_after,omitzero" about:"How long the output and error files are kept; never longer than files are kept here."`
}

type expiresAfter struct {
	Anchor  string `json:"anchor" required:"true" about:"created_at."`
	Seconds int64  `json:"seconds" required:"true" about:"From 3600 to 2592000."`
}

// batchView is a job, in the shape of OpenAI's batches.
type batchView struct {
	ID               string            `json:"id"`
	Object           string            `json:"object"`
	Endpoint         penstock.Endpoint `json:"endpoint"`
	Model            *string           `json:"model"`
	Errors           *batchErrorList   `json:"errors" about:"Why the batch failed: its invalid lines."`
	InputFileID      string            `json:"input_file_id"`
	CompletionWindow string            `json:"completion_window"`
	Status           batchStatus       `json:"status" about:"validating, failed, in_progress, finalizing, completed, expired, cancelling or cancelled."`
	OutputFileID     *string           `json:"output_file_id"`
	ErrorFileID      *string           `json:"error_file_id"`
	CreatedAt        int64             `json:"created_at"`
	InProgressAt     *int64            `json:"in_progress_at"`
	ExpiresAt        *int64            `json:"expires_at"`
	FinalizingAt     *int64            `json:"finalizing_at"`
	CompletedAt      *int64            `json:"completed_at"`
	FailedAt         *int64            `json:"failed_at"`
	ExpiredAt        *int64            `json:"expired_at"`
	CancellingAt     *int64            `json:"cancelling_at"`
	CancelledAt      *int64            `json:"cancelled_at"`
	RequestCounts    batchCounts       `json:"request_counts"`
	Usage            *batchUsage       `json:"usage"`
	Metadata         map[string]string `json:"metadata"`
}

type batchErrorList struct {
	Object string          `json:"object"`
	Data   []lineErrorView `json:"data"`
}

type batchCounts struct {
	Total     int `json:"total"`
	Completed int `json:"completed"`
	Failed    int `json:"failed" about:"Those that failed, expired or were cancelled."`
}

type batchUsage struct {
	InputTokens   int64              `json:"input_tokens"`
	InputDetails  batchInputDetails  `json:"input_tokens_details"`
	OutputTokens  int64              `json:"output_tokens"`
	OutputDetails batchOutputDetails `json:"output_tokens_details"`
	TotalTokens   int64              `json:"total_tokens"`
}

type batchInputDetails struct {
	CachedTokens int64 `json:"cached_tokens"`
}

type batchOutputDetails struct {
	ReasoningTokens int64 `json:"reasoning_tokens"`
}

// batchPageView is a page of batches, in OpenAI's shape.
type batchPageView struct {
	Object  string      `json:"object"`
	Data    []batchView `json:"data"`
	FirstID *string     `json:"first_id"`
	LastID  *string     `json:"last_id"`
	HasMore bool        `json:"has_more"`
}

// batchStatus is the status of a batch in OpenAI's API.
type batchStatus string

// The statuses. A job has no such status: it follows from the job's counts and from the files that are still to be written.
const (
	batchValidating batchStatus = "validating"  // none of its lines is an item yet
	batchFailed     batchStatus = "failed"      // it was refused
	batchInProgress batchStatus = "in_progress" //
	batchFinalizing batchStatus = "finalizing"  // every item ended; its files are being written
	batchCompleted  batchStatus = "completed"
	batchExpired    batchStatus = "expired"
	batchCancelling batchStatus = "cancelling"
	batchCancelled  batchStatus = "cancelled"
)

// batchStatusOf returns the status of a batch. A batch that expired or was cancelled in part has that status as a whole,
// as in OpenAI's API; a cancel that was too late to stop anything changes nothing.
func batchStatusOf(b store.Batch) batchStatus {
	j := b.Job
	switch {
	case b.Refused():
		return batchFailed
	case b.DoneAt.IsZero() && !j.CancelRequestedAt.IsZero() && (j.FinishedAt.IsZero() || j.Counts.Cancelled > 0):
		return batchCancelling
	case j.FinishedAt.IsZero() && b.Split == 0:
		return batchValidating
	case j.FinishedAt.IsZero():
		return batchInProgress
	case b.DoneAt.IsZero():
		return batchFinalizing
	case j.Counts.Cancelled > 0:
		return batchCancelled
	case j.Counts.Expired > 0:
		return batchExpired
	}
	return batchCompleted
}

func newBatchView(b store.Batch) batchView {
	j, c := b.Job, b.Job.Counts
	v := batchView{
		ID: penstock.ViewBatch.Format(b.ID), Object: "batch", Endpoint: b.Endpoint, Model: text(j.Model),
		InputFileID: penstock.ViewFile.Format(b.File), CompletionWindow: windowOf(j), Status: batchStatusOf(b),
		CreatedAt: b.CreatedAt.Unix(), InProgressAt: unix(j.StartedAt), ExpiresAt: unix(j.Deadline), FinalizingAt: unix(j.FinishedAt),
		CancellingAt:  unix(j.CancelRequestedAt),
		RequestCounts: batchCounts{Total: c.Total, Completed: c.Succeeded, Failed: c.Failed + c.Expired + c.Cancelled}, Metadata: b.Metadata,
	}
	if b.Output != "" {
		v.OutputFileID = text(penstock.ViewFile.Format(b.Output))
	}
	if b.ErrorOutput != "" {
		v.ErrorFileID = text(penstock.ViewFile.Format(b.ErrorOutput))
	}
	switch v.Status {
	case batchFailed:
		v.FailedAt = unix(b.DoneAt)
		v.Errors = &batchErrorList{Object: "list"}
		for _, e := range b.Errors {
			v.Errors.Data = append(v.Errors.Data, lineErrorView{Code: e.Code, Message: e.Message, Param: text(e.Param), Line: e.Line})
		}
	case batchCompleted:
		v.CompletedAt = unix(b.DoneAt)
	case batchExpired:
		v.ExpiredAt = unix(b.DoneAt)
	case batchCancelled:
		v.CancelledAt = unix(b.DoneAt)
	}
	if u := j.Usage; u != (penstock.Usage{}) {
		v.Usage = &batchUsage{InputTokens: u.InputTokens, InputDetails: batchInputDetails{u.CachedInputTokens}, OutputTokens: u.OutputTokens,
			OutputDetails: batchOutputDetails{u.ReasoningTokens}, TotalTokens: u.InputTokens + u.OutputTokens}
	}
	return v
}

// windowOf is the completion window of a job.
func windowOf(j penstock.Job) string {
	window := j.Deadline.Sub(j.CreatedAt).Round(time.Second)
	if window%time.Hour != 0 {
		return window.String()
	}
	if window == 0 {
		return completionWindow // it never started
	}
	return fmt.Sprintf("%dh", window/time.Hour)
}

// unix is a time as OpenAI writes it, nil for none.
func unix(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	n := t.Unix()
	return &n
}

// createBatch creates a job over a file for a caller that uses OpenAI's dialect.
func (c batches) createBatch() error {
	sent, err := c.readBody()
	if err != nil {
		return err
	}
	var in batchCreate
	// SDKs may send members of later API versions; unknown members are ignored, as OpenAI does.
	if err := decodeLoosely(sent, &in); err != nil {
		return err
	}
	if err := in.check(); err != nil {
		return err
	}
	f, err := jobs(c).batchFile(in.InputFileID, "input_file_id")
	if err != nil {
		return err
	}
	batch := store.Batch{Kind: store.BatchOpenAI, Metadata: in.Metadata, File: f.ID, Endpoint: in.Endpoint}
	if in.OutputExpiresAfter != nil {
		batch.OutputLife = time.Duration(in.OutputExpiresAfter.Seconds) * time.Second
	}
	if f.ErrorCount > 0 {
		batch.Errors = f.Errors
		return c.refuseBatch(batch)
	}
	order := admit.JobOrder{Endpoint: in.Endpoint, Lane: penstock.LaneBulk}
	if window, _ := time.ParseDuration(in.CompletionWindow); in.CompletionWindow != completionWindow {
		order.Deadline = c.Clock().Add(window)
	}
	if err := (jobs(c)).overLines(&order, admit.Lines{File: f, Batch: batch}); err != nil {
		batch.Errors = []store.LineError{refusalOf(err)}
		return c.refuseBatch(batch)
	}
	job, err := c.submitBatch(order, sent)
	if err != nil {
		return err
	}
	return c.answerBatch(job)
}

func (in *batchCreate) check() error {
	window, _ := time.ParseDuration(in.CompletionWindow) // 0 when it is not a duration
	switch {
	case window <= 0 || window > admit.MaxDeadline:
		return penstock.InvalidParam("completion_window", "completion_window must be %q, or another duration of up to %d days.", completionWindow, admit.MaxDeadline/(24*time.Hour))
	case !in.Endpoint.Valid():
		return penstock.InvalidParam("endpoint", "There is no endpoint %q for batches; use a path such as %s.", rest.Clip(string(in.Endpoint)), penstock.EndpointChat)
	case len(in.Metadata) > maxMetadata:
		return penstock.InvalidParam("metadata", "metadata holds %d entries; at most %d are allowed.", len(in.Metadata), maxMetadata)
	}
	for key, value := range in.Metadata {
		if len(key) > maxMetadataKey || len(value) > maxMetadataValue {
			return penstock.InvalidParam("metadata", "metadata: a key may have at most %d bytes, a value at most %d.", maxMetadataKey, maxMetadataValue)
		}
	}
	if e := in.OutputExpiresAfter; e != nil {
		if e.Anchor != "created_at" {
			return penstock.InvalidParam("output_expires_after.anchor", "output_expires_after.anchor must be created_at.")
		}
		if life := time.Duration(e.Seconds) * time.Second; life < minFileLife || life > maxFileLife {
			return penstock.InvalidParam("output_expires_after.seconds", "output_expires_after.seconds must be from %d to %d.",
				int(minFileLife.Seconds()), int(maxFileLife.Seconds()))
		}
	}
	return nil
}

// decodeLoosely decodes a request of another vendor's SDK. Codes: invalid_request.
func decodeLoosely(text []byte, into any) error {
	if kind := jsontext.Value(text).Kind(); kind != '{' {
		return penstock.Errorf(penstock.CodeInvalidRequest, "The body must be a JSON object.")
	}
	err := json.Unmarshal(text, into)
	if e, ok := errors.AsType[*json.SemanticError](err); ok {
		return rest.SemanticError(e)
	}
	if err != nil {
		return &penstock.Error{Code: penstock.CodeInvalidRequest, Message: fmt.Sprintf("The body is not valid JSON: %v.", err), Err: err}
	}
	return nil
}

// refusalOf is an error as it is stored with a batch.
func refusalOf(err error) store.LineError {
	e := penstock.AsError(err)
	return store.LineError{Code: string(e.Code), Message: e.Message, Param: e.Param}
}

// refuseBatch stores a batch that cannot run and answers with it: SDKs look for the errors in the batch.
func (c batches) refuseBatch(b store.Batch) error {
	b.ID = c.ids.New(c.Clock())
	kept, err := c.Batches.RefuseBatch(c.R.Context(), c.Principal.Tenant.ID, b)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, newBatchView(kept))
}

// submitBatch submits the job of a batch.
func (c batches) submitBatch(order admit.JobOrder, sent []byte) (penstock.Job, error) {
	var err error
	if order.IdempotencyKey, order.BodyHash, err = c.idempotency(sent); err != nil {
		return penstock.Job{}, err
	}
	ctx, span := c.Tracer.StartProducer(c.R.Context(), "submit job")
	order.TraceParent = telemetry.TraceParent(ctx)
	receipt, err := c.Admit.Job(ctx, c.Principal, order)
	span.End(err)
	if err != nil {
		return penstock.Job{}, err
	}
	if receipt.Replayed {
		c.W.Header().Set("Idempotency-Replayed", "true")
	}
	receipt.Begin()
	return receipt.Job, nil
}

// batch returns one of the tenant's batches of a dialect. Codes: not_found.
func (c batches) batch(kind store.BatchKind, view penstock.View) (store.Batch, error) {
	id, err := c.PathID(view)
	if err != nil {
		return store.Batch{}, err
	}
	b, err := c.Batches.Batch(c.R.Context(), c.Principal.Tenant.ID, id)
	if penstock.ErrorCode(err) == penstock.CodeNotFound || err == nil && b.Kind != kind {
		return b, penstock.Errorf(penstock.CodeNotFound, "There is no %s.", view.Format(id))
	}
	return b, err
}

func (c batches) answerBatch(j penstock.Job) error {
	b, err := c.Batches.Batch(c.R.Context(), c.Principal.Tenant.ID, j.ID)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, newBatchView(b))
}

func (c batches) readBatch() error {
	b, err := c.batch(store.BatchOpenAI, penstock.ViewBatch)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, newBatchView(b))
}

func (c batches) listBatches() error {
	p := store.BatchPage{Kind: store.BatchOpenAI}
	var err error
	if p.Limit, err = c.PageLimit(pageSize); err != nil {
		return err
	}
	if after := c.R.URL.Query().Get("after"); after != "" {
		if p.After, err = penstock.ViewBatch.Parse(after); err != nil {
			return penstock.InvalidParam("after", "after: %v.", err)
		}
	}
	wanted := p.Limit
	p.Limit++
	batches, err := c.Batches.ListBatches(c.R.Context(), c.Principal.Tenant.ID, p)
	if err != nil {
		return err
	}
	v := batchPageView{Object: "list", Data: []batchView{}, HasMore: len(batches) > wanted}
	for _, b := range batches[:min(wanted, len(batches))] {
		v.Data = append(v.Data, newBatchView(b))
	}
	if n := len(v.Data); n > 0 {
		v.FirstID, v.LastID = &v.Data[0].ID, &v.Data[n-1].ID
	}
	return c.JSON(http.StatusOK, v)
}

func (c batches) cancelBatch() error {
	b, err := c.stopBatch(store.BatchOpenAI, penstock.ViewBatch)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, newBatchView(b))
}

// stopBatch cancels a batch. A batch that has ended does not change.
func (c batches) stopBatch(kind store.BatchKind, view penstock.View) (store.Batch, error) {
	b, err := c.batch(kind, view)
	if err != nil {
		return b, err
	}
	if b.Refused() || !b.Job.FinishedAt.IsZero() {
		return b, penstock.Errorf(penstock.CodeConflict, "%s has already ended.", view.Format(b.ID))
	}
	for _, id := range b.Jobs() {
		if _, err := c.Jobs.CancelJob(c.R.Context(), c.Principal.Tenant.ID, id); err != nil && penstock.ErrorCode(err) != penstock.CodeNotFound {
			return b, err
		}
		c.Cancelled(id)
	}
	return c.Batches.Batch(c.R.Context(), c.Principal.Tenant.ID, b.ID)
}
