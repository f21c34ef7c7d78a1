package store

import (
	"context"
	"time"

	"penstock"
)

// Batches are jobs over files and jobs of the batch APIs. A job over a file gets its items, the lines, in steps: a bounded
// number ahead of the workers. Items that a job does not have yet count as queued.
type Batches interface {
	// UnsplitJobs returns jobs that lack items and have few queued items, oldest first, at most limit. It includes
	// jobs that were cancelled or are past their deadline: their items end as soon as they are added.
	UnsplitJobs(ctx context.Context, limit int) ([]Unsplit, error)

	// SplitJob gives a job its next items, at most MaxSplit, and reserves for them: as many, from the first on, as
	// every hard budget has enough left for. The step says how many; with none the job waits for its budget, and
	// UnsplitJobs skips it for a while. Items that have a Refusal fail at once. Codes: conflict (it has them
	// already, or does not have those before them), not_found.
	SplitJob(ctx context.Context, tenant penstock.TenantID, s Split) (Step, error)

	// Batch returns a batch. Codes: not_found (also for a job that is no batch).
	Batch(ctx context.Context, tenant penstock.TenantID, job penstock.ID) (Batch, error)

	// WantResults requests that the results of a job be written to a file when it has ended; a job over a file needs no
	// request. For a job that is a batch already it changes nothing. Codes: not_found.
	WantResults(ctx context.Context, tenant penstock.TenantID, job penstock.ID) (Batch, error)

	// ListBatches returns the batches of one API, newest first, at most p.Limit; of BatchNative, the jobs over files.
	ListBatches(ctx context.Context, tenant penstock.TenantID, p BatchPage) ([]Batch, error)

	// RefuseBatch stores a batch that cannot run, with the reasons; it has no job.
	RefuseBatch(ctx context.Context, tenant penstock.TenantID, b Batch) (Batch, error)

	// UnfinishedBatches returns batches that are not done and not claimed, and whose first job has ended; their other jobs
	// may still run. Oldest first, at most limit.
	UnfinishedBatches(ctx context.Context, limit int) ([]Batch, error)

	// ClaimBatch gives one process the task of writing a batch's files, for as long as the claim says; the holder may
	// claim it again. A claim only saves work: FinishBatch decides whose files count. False: another process holds the
	// claim, the batch is done, or no such batch exists.
	ClaimBatch(ctx context.Context, tenant penstock.TenantID, c BatchClaim) (bool, error)

	// FinishBatch makes the files that were written for a batch its files, once: a later call returns the batch as it is,
	// and false. Codes: not_found.
	FinishBatch(ctx context.Context, tenant penstock.TenantID, f BatchFiles) (Batch, bool, error)
}

// BatchKind is the API that a batch was submitted through.
type BatchKind string

// The kinds of batches.
const (
	BatchNative    BatchKind = "native"    // POST /v1/jobs
	BatchOpenAI    BatchKind = "openai"    // POST /v1/batches
	BatchAnthropic BatchKind = "anthropic" // POST /v1/messages/batches
)

// Batch is the further state of a job whose items are the lines of a file, or whose results are written to a file.
type Batch struct {
	ID         penstock.ID // that of its job
	Tenant     penstock.TenantID
	Kind       BatchKind
	File       penstock.ID // whose lines are its items, "" for none
	Endpoint   penstock.Endpoint
	Defaults   []byte        // members for every body that does not have them itself; nil in lists
	References []penstock.ID // the files that Defaults name. They are written, and not read back
	Metadata   map[string]string
	Errors     []LineError   // why it was refused; then it has no job
	OutputLife time.Duration // how long its files are kept, 0 for as long as files are
	Parts      []penstock.ID // further jobs of it, for other models; they are kept and deleted together

	Output, ErrorOutput penstock.ID // its files, "" until they are written, and where there was nothing to write
	CreatedAt           time.Time
	DoneAt              time.Time // when all of its jobs had ended and its files were written, zero until then

	// Job is zero for a refused batch. Counts, usage and times of a batch with parts are those of all its jobs together.
	Job   penstock.Job
	Split int // how many of its items the job has
}

// Jobs are the ids of all jobs of a batch.
func (b Batch) Jobs() []penstock.ID { return append([]penstock.ID{b.ID}, b.Parts...) }

// together combines two jobs of a batch: the result runs until both have ended.
func together(a, b penstock.Job) penstock.Job {
	a.Counts, a.Usage, a.Cost = a.Counts.Plus(b.Counts), a.Usage.Plus(b.Usage), a.Cost+b.Cost
	if a.StartedAt.IsZero() || !b.StartedAt.IsZero() && b.StartedAt.Before(a.StartedAt) {
		a.StartedAt = b.StartedAt
	}
	if a.CancelRequestedAt.IsZero() {
		a.CancelRequestedAt = b.CancelRequestedAt
	}
	if !a.FinishedAt.IsZero() && (b.FinishedAt.IsZero() || b.FinishedAt.After(a.FinishedAt)) {
		a.FinishedAt = b.FinishedAt
	}
	return a
}

// Gather completes a batch with its jobs.
func (b *Batch) Gather(jobs map[penstock.ID]penstock.Job) {
	b.Job = jobs[b.ID]
	for _, id := range b.Parts {
		b.Job = together(b.Job, jobs[id])
	}
}

// Refused reports whether the batch never ran.
func (b Batch) Refused() bool { return len(b.Errors) > 0 }

// MaxDefaultsBytes bounds the defaults of a job over a file: they are read with every step.
const MaxDefaultsBytes = 1 << 20

// Unsplit is a job that does not have all of its items yet.
type Unsplit struct {
	Job      penstock.Job
	Next     int    // index of the next item that it gets, which is a line of its file
	Defaults []byte // members for every line that does not have them itself
}

// Split gives a job its next items.
type Split struct {
	Job   penstock.ID
	From  int // index of the first of them
	Items []NewItem
	// Accounts are the budgets that these items are paid from: those of their job's key and model, now.
	Accounts []Account
	// AsBefore charges the budgets of the job's earlier items, because the current budgets are unknown: the tenant was
	// disabled or deleted. A job under a hard budget that has no earlier items waits.
	AsBefore bool
}

// MaxSplit is how many items a job gets at a time.
const MaxSplit = 500

// BatchPage selects batches.
type BatchPage struct {
	Kind   BatchKind
	After  penstock.ID // the last batch of the page before
	Before penstock.ID // the first batch of the page behind; exclusive with After
	Limit  int
}

// BatchClaim claims the writing of a batch's files.
type BatchClaim struct {
	Job penstock.ID
	By  penstock.ID // the claiming process
	For time.Duration
}

// BatchFiles are the files that were written for a batch.
type BatchFiles struct {
	Job                 penstock.ID
	Output, ErrorOutput *File // nil where there was nothing to write
}
