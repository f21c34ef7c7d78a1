package api

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"penstock"
	"penstock/internal/rest"
	"penstock/internal/store"
)

// progressRoutes report how far batches are, in one shape for every dialect.
var progressRoutes = []rest.Route{
	{Method: "GET", Path: "/v1/batches/progress", Scope: penstock.ScopeJobsRead, Summary: "List batches of every dialect, newest first, each with its progress",
		Params:  []rest.Param{limitPage, {Name: "after", In: "query", About: "The next_after of the previous page."}},
		Answers: []rest.Answer{{Status: 200, About: "A page: OpenAI batches, message batches, and jobs over files.", Body: rest.CursorPage[batchProgress]{}}}, Serve: on(batches.listProgress)},
	{Method: "GET", Path: "/v1/batches/{id}/progress", Scope: penstock.ScopeJobsRead, Summary: "Read how far a batch is, of any dialect, with its rate, its estimated end and its cost", Params: []rest.Param{anyBatchParam},
		Answers: []rest.Answer{{Status: 200, About: "The progress of all jobs of the batch together.", Body: batchProgress{}}}, Serve: on(batches.readProgress)},
}

var anyBatchParam = rest.Param{Name: "id", In: "path", About: "The id of a batch or of its job: batch_…, msgbatch_… or job_….", Required: true}

// batchProgress is how far a batch is.
type batchProgress struct {
	Object            string            `json:"object"`
	ID                string            `json:"id" about:"Of its first job."`
	BatchID           string            `json:"batch_id" about:"In its dialect: batch_…, msgbatch_… or job_…."`
	Dialect           store.BatchKind   `json:"dialect" about:"The API that it was submitted through: openai, anthropic or native (POST /v1/jobs)."`
	Endpoint          penstock.Endpoint `json:"endpoint"`
	Model             *string           `json:"model" about:"Of its first job; null for a batch that was refused."`
	Lane              *penstock.Lane    `json:"lane" about:"null for a batch that was refused."`
	InputFileID       *string           `json:"input_file_id"`
	Metadata          map[string]string `json:"metadata"`
	Status            penstock.Status   `json:"status"`
	Counts            penstock.Counts   `json:"counts"`
	Usage             usageView         `json:"usage"`
	ItemsPerSecond    *float64          `json:"items_per_second" about:"Items that ended, since the first item started; null before."`
	WaitingOn         *penstock.Reason  `json:"waiting_on" about:"Why queued items do not start, as in GET /v1/jobs/{id}."`
	CreatedAt         time.Time         `json:"created_at"`
	StartedAt         *time.Time        `json:"started_at"`
	EstimatedFinishAt *time.Time        `json:"estimated_finish_at" about:"null if it is unknown."`
	FinishedAt        *time.Time        `json:"finished_at"`
	Deadline          *time.Time        `json:"deadline" about:"When open items expire; null for a batch that was refused."`
	CancelRequestedAt *time.Time        `json:"cancel_requested_at"`
	OutputFileID      *string           `json:"output_file_id" about:"null until it is written, and if nothing succeeded."`
	ErrorFileID       *string           `json:"error_file_id" about:"null until it is written, and if everything succeeded."`
	Errors            []lineErrorView   `json:"errors" about:"Why the batch was refused: its first invalid lines."`
	Jobs              []string          `json:"jobs" about:"The jobs of the batch: one for each model."`
}

// batchViews are the ids of batches, by dialect.
var batchViews = map[store.BatchKind]penstock.View{
	store.BatchOpenAI: penstock.ViewBatch, store.BatchAnthropic: penstock.ViewMessageBatch, store.BatchNative: penstock.ViewJob,
}

func (c batches) listProgress() error {
	limit, err := c.PageLimit(pageSize)
	if err != nil {
		return err
	}
	page := store.BatchPage{Limit: limit + 1}
	if after := c.R.URL.Query().Get("after"); after != "" {
		if page.After, err = penstock.ViewJob.Parse(after); err != nil {
			return penstock.InvalidParam("after", "after: %v.", err)
		}
	}
	var all []store.Batch
	for kind := range batchViews {
		page.Kind = kind
		some, err := c.Batches.ListBatches(c.R.Context(), c.Principal.Tenant.ID, page)
		if err != nil {
			return err
		}
		all = append(all, some...)
	}
	slices.SortFunc(all, func(a, b store.Batch) int { return cmp.Compare(b.ID, a.ID) })
	next := ""
	if len(all) > limit {
		all = all[:limit]
		next = penstock.ViewJob.Format(all[limit-1].ID)
	}
	views := make([]batchProgress, len(all))
	for i, b := range all {
		views[i] = c.progressOf(b)
	}
	return c.JSON(http.StatusOK, rest.NewCursorPage(views, next))
}

func (c batches) readProgress() error {
	id, err := c.anyBatch()
	if err != nil {
		return err
	}
	b, err := c.Batches.Batch(c.R.Context(), c.Principal.Tenant.ID, id)
	if penstock.ErrorCode(err) == penstock.CodeNotFound { // a job with several items is no batch, and has the same progress
		b = store.Batch{ID: id, Kind: store.BatchNative}
		b.Job, err = c.Jobs.Job(c.R.Context(), c.Principal.Tenant.ID, id)
		b.Endpoint, b.CreatedAt, b.File = b.Job.Endpoint, b.Job.CreatedAt, b.Job.File
	}
	if penstock.ErrorCode(err) == penstock.CodeNotFound {
		return noBatch(c.R.PathValue("id")) // under the name that the caller used
	}
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, c.progressOf(b))
}

func (c batches) progressOf(b store.Batch) batchProgress {
	v := batchProgress{
		Object: "batch.progress", ID: penstock.ViewJob.Format(b.ID), BatchID: batchViews[b.Kind].Format(b.ID), Dialect: b.Kind, Endpoint: b.Endpoint,
		InputFileID: fileText(b.File), Metadata: b.Metadata, CreatedAt: stamp(b.CreatedAt), OutputFileID: fileText(b.Output), ErrorFileID: fileText(b.ErrorOutput),
		Errors: []lineErrorView{}, Jobs: []string{},
	}
	if v.Metadata == nil {
		v.Metadata = map[string]string{}
	}
	if b.Refused() {
		v.Status, v.FinishedAt = penstock.StatusFailed, optional(b.DoneAt)
		for _, e := range b.Errors {
			v.Errors = append(v.Errors, lineErrorView{Code: e.Code, Message: e.Message, Param: text(e.Param), Line: e.Line})
		}
		return v
	}
	view := jobs(c).jobView(b.Job)
	v.Model, v.Lane, v.Status, v.Counts, v.Usage = text(view.Model), &view.Lane, view.Status, view.Counts, view.Usage
	v.ItemsPerSecond, v.WaitingOn, v.StartedAt, v.EstimatedFinishAt = view.ItemsPerSecond, view.WaitingOn, view.StartedAt, view.EstimatedFinishAt
	v.FinishedAt, v.Deadline, v.CancelRequestedAt = view.FinishedAt, optional(view.Deadline), view.CancelRequestedAt
	for _, job := range b.Jobs() {
		v.Jobs = append(v.Jobs, penstock.ViewJob.Format(job))
	}
	return v
}

// fileText is the id of a file, nil for none.
func fileText(id penstock.ID) *string {
	if id == "" {
		return nil
	}
	return text(penstock.ViewFile.Format(id))
}

// anyBatch reads the id of a batch, in any of its forms. Codes: not_found.
func (c batches) anyBatch() (penstock.ID, error) {
	text := c.R.PathValue("id")
	for _, view := range []penstock.View{penstock.ViewBatch, penstock.ViewMessageBatch, penstock.ViewJob} {
		if id, err := view.Parse(text); err == nil {
			return id, nil
		}
	}
	return "", noBatch(text)
}

func noBatch(text string) error {
	return penstock.Errorf(penstock.CodeNotFound, "There is no batch %q.", rest.Clip(text))
}
