package batch

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"penstock"
	"penstock/internal/chore"
	"penstock/internal/store"
)

const (
	finishJobs = 4
	finishPoll = 250 * time.Millisecond
	// FinishTimeout bounds the writing of one batch's files.
	FinishTimeout = time.Hour
	// claimFor is how long a claim lasts without renewal, and claimRenewal the interval of renewals. They are short: a
	// batch that another finisher takes over too soon costs work and nothing else.
	claimFor, claimRenewal = 3 * time.Second, time.Second
	// partsPoll is the poll interval of a batch of which some jobs have ended and others have not.
	partsPoll = 5 * time.Second
	// resultPage and pageBuffer bound the results of a batch that are in memory.
	resultPage = 1024
	pageBuffer = 256 << 10
)

// Batches is the store of a finisher.
type Batches interface {
	UnfinishedBatches(ctx context.Context, limit int) ([]store.Batch, error)
	ClaimBatch(ctx context.Context, tenant penstock.TenantID, c store.BatchClaim) (bool, error)
	FinishBatch(ctx context.Context, tenant penstock.TenantID, f store.BatchFiles) (store.Batch, bool, error)
	Results(ctx context.Context, tenant penstock.TenantID, job penstock.ID, p store.ResultPage) (items []penstock.Item, more bool, err error)
}

// Artifacts stores the files of batches.
type Artifacts interface {
	Write(ctx context.Context, tenant penstock.TenantID, content io.Reader) (store.File, error)
	Discard(ctx context.Context, f store.File)
}

// Writer encodes results in the format of an API.
type Writer interface {
	// WriteLine writes one result and its line end.
	WriteLine(w *bufio.Writer, kind store.BatchKind, item penstock.Item) error
}

// FinisherDeps are the dependencies of a Finisher.
type FinisherDeps struct {
	Store     Batches
	Artifacts Artifacts
	Writer    Writer
	Jobs      Publisher
	// Needed says whether this process writes files now; nil for always.
	Needed func() bool
	Log    *slog.Logger
	Clock  func() time.Time
}

// Finisher writes the files of batches that ended.
type Finisher struct {
	FinisherDeps
	id penstock.ID // of the claimant
}

// NewFinisher returns a finisher.
func NewFinisher(d FinisherDeps) (*Finisher, error) {
	if d.Store == nil || d.Artifacts == nil || d.Writer == nil || d.Jobs == nil || d.Log == nil || d.Clock == nil {
		return nil, errors.New("a finisher needs a store, artifacts, a writer, a publisher, a log and a clock")
	}
	return &Finisher{d, new(penstock.IDs).New(d.Clock())}, nil
}

// Run finishes batches until ctx ends. Errors are logged and tried again.
func (f *Finisher) Run(ctx context.Context) error {
	round := func(ctx context.Context) (more bool, err error) {
		done, err := f.runOnce(ctx)
		return done > 0, err
	}
	chore.Chore{Interval: finishPoll, Round: round, Failed: func(ctx context.Context, err error) {
		f.Log.ErrorContext(ctx, "writing the files of batches", "error", err)
	}}.Run(ctx)
	return nil
}

// runOnce finishes some batches and returns how many.
func (f *Finisher) runOnce(ctx context.Context) (done int, err error) {
	if f.Needed != nil && !f.Needed() {
		return 0, nil
	}
	batches, err := f.Store.UnfinishedBatches(ctx, finishJobs)
	if err != nil {
		return 0, err
	}
	var errs []error
	for _, b := range batches {
		if len(b.Parts) > 0 && b.Job.FinishedAt.IsZero() {
			// A claim also keeps this batch from displacing others on the next page.
			_, err := f.claim(ctx, b, partsPoll)
			errs = append(errs, err)
			continue
		}
		claimed, err := f.claim(ctx, b, claimFor)
		if err == nil && claimed {
			err = f.finish(ctx, b)
		}
		switch {
		case penstock.ErrorCode(err) == penstock.CodeNotFound: // it was deleted meanwhile
		case err != nil:
			errs = append(errs, err)
		case claimed:
			done++
		}
	}
	return done, errors.Join(errs...)
}

func (f *Finisher) claim(ctx context.Context, b store.Batch, length time.Duration) (bool, error) {
	return f.Store.ClaimBatch(ctx, b.Tenant, store.BatchClaim{Job: b.ID, By: f.id, For: length})
}

// hold renews the claim of a batch until it is released. The context ends when another finisher has the claim.
func (f *Finisher) hold(ctx context.Context, b store.Batch) (held context.Context, release func()) {
	held, cancel := context.WithCancel(ctx)
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		tick := time.NewTicker(claimRenewal)
		defer tick.Stop()
		for {
			select {
			case <-held.Done():
				return
			case <-tick.C:
			}
			// A failed renewal does not mean that the claim is lost: the next renewal decides.
			if claimed, err := f.claim(held, b, claimFor); err == nil && !claimed {
				cancel()
			}
		}
	}()
	return held, func() { cancel(); <-gone }
}

// finish writes a batch's files and records them. Content is durable before the row that names it; a finisher that
// loses to another process removes its own files. After an error it gives up the claim at once.
func (f *Finisher) finish(ctx context.Context, b store.Batch) (err error) {
	stopped := context.WithoutCancel(ctx)
	defer func() {
		if err != nil {
			ctx, cancel := context.WithTimeout(stopped, claimFor) // after that the claim has expired anyway
			defer cancel()
			_, _ = f.claim(ctx, b, 0)
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, FinishTimeout)
	defer cancel()
	ctx, release := f.hold(ctx, b)
	defer release()
	files := store.BatchFiles{Job: b.ID}
	if b.Kind != store.BatchAnthropic { // whose results are read from the job
		if err := f.writeFiles(ctx, b, &files); err != nil {
			f.discard(ctx, files)
			return err
		}
	}
	_, won, err := f.Store.FinishBatch(ctx, b.Tenant, files)
	if err == nil && !won || penstock.ErrorCode(err) == penstock.CodeNotFound {
		f.discard(ctx, files)
	}
	if err == nil {
		f.Jobs.Publish(b.ID)
	}
	return err
}

func (f *Finisher) discard(ctx context.Context, files store.BatchFiles) {
	for _, made := range []*store.File{files.Output, files.ErrorOutput} {
		if made != nil {
			f.Artifacts.Discard(ctx, *made)
		}
	}
}

// output is one of the files of a batch.
type output struct {
	suffix string
	keep   func(penstock.Status) bool
	into   func(*store.BatchFiles) **store.File
}

// outputs are the files that a batch gets. A native batch has all results in one.
func outputs(b store.Batch) []output {
	results := output{"output", func(penstock.Status) bool { return true }, func(f *store.BatchFiles) **store.File { return &f.Output }}
	if b.Kind == store.BatchNative {
		return []output{results}
	}
	results.keep = func(s penstock.Status) bool { return s == penstock.StatusSucceeded }
	failures := output{"error", func(s penstock.Status) bool { return s != penstock.StatusSucceeded }, func(f *store.BatchFiles) **store.File { return &f.ErrorOutput }}
	var wanted []output
	if b.Job.Counts.Succeeded > 0 {
		wanted = append(wanted, results)
	}
	if b.Job.Counts.Succeeded < b.Job.Counts.Total {
		wanted = append(wanted, failures)
	}
	return wanted
}

// outputPipe carries lines from the goroutine that reads the results to the one that stores their file.
type outputPipe struct {
	output
	lines *bufio.Writer
	end   *io.PipeWriter
}

// writeFiles writes all files of a batch in one pass over its results: each result goes to the file that keeps it.
// Files that were stored are in files, after an error too.
func (f *Finisher) writeFiles(ctx context.Context, b store.Batch, files *store.BatchFiles) error {
	group, ctx := errgroup.WithContext(ctx)
	var pipes []outputPipe
	for _, o := range outputs(b) {
		content, end := io.Pipe()
		pipes = append(pipes, outputPipe{o, bufio.NewWriterSize(end, pageBuffer), end})
		group.Go(func() (err error) {
			*o.into(files), err = f.store(ctx, b, o, content)
			content.CloseWithError(err) // the writing side must not wait for a reader that has stopped
			return err
		})
	}
	if len(pipes) == 0 {
		return nil
	}
	group.Go(func() error {
		err := f.writeResults(ctx, b, pipes)
		for _, p := range pipes {
			if err == nil {
				err = p.lines.Flush()
			}
			p.end.CloseWithError(err)
		}
		return err
	})
	return group.Wait()
}

// store stores one file of a batch.
func (f *Finisher) store(ctx context.Context, b store.Batch, o output, content io.Reader) (*store.File, error) {
	made, err := f.Artifacts.Write(ctx, b.Tenant, content)
	if err != nil {
		return nil, err
	}
	made.Key, made.Purpose, made.Name = b.Job.Key, store.PurposeBatchOutput, string(b.ID)+"_"+o.suffix+".jsonl"
	if b.OutputLife > 0 {
		made.ExpiresAt = f.Clock().Add(b.OutputLife)
	}
	return &made, nil
}

// writeResults reads the results of a batch page by page, in the order of its lines, and writes each to its file.
func (f *Finisher) writeResults(ctx context.Context, b store.Batch, pipes []outputPipe) error {
	page := store.ResultPage{Order: store.OrderInput, After: -1, Limit: resultPage}
	for {
		items, more, err := f.Store.Results(ctx, b.Tenant, b.ID, page)
		if err != nil {
			return err
		}
		for _, item := range items {
			page.After = int64(item.Index)
			for _, p := range pipes {
				if !p.keep(item.Status) {
					continue
				}
				if err := f.Writer.WriteLine(p.lines, b.Kind, item); err != nil {
					return err
				}
			}
		}
		if !more {
			return nil
		}
	}
}
