// Package batch runs jobs over files: the [Splitter] turns the lines of an input file into items, a few ahead of the
// workers, and the [Finisher] writes the results to files.
//
// It decides when a step is made, and what happens to a file that cannot be read. Package admit turns a line into an
// item, and package dialect/line encodes results; both are passed in.
//
// Every step is one transaction that compares and sets, so any number of processes may take them at once, and a
// process may stop between any two: a step that was not committed is repeated, by the same process or another. So that not all of them
// write the same files, a finisher claims a batch and renews its claim while it writes; a claim without renewals
// expires. Both hold one step in memory, whatever the size of the batch; the splitter also keeps the index and one chunk of the
// files that it reads, at most [maxOpenFiles] of them.
package batch

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"penstock"
	"penstock/internal/file"
	"penstock/internal/signal"
	"penstock/internal/store"
)

const (
	// splitJobs is how many jobs get a step in one round: they take turns.
	splitJobs = 16
	// stepBytes bounds the bodies of a step; one line is always taken.
	stepBytes = 4 << 20
	// busyPoll is the poll interval of a splitter while it has work, idlePoll while it has none.
	busyPoll, idlePoll = 10 * time.Millisecond, time.Second
	// busyFor is how long a splitter without work still polls at busyPoll: more work usually follows.
	busyFor = 3 * time.Second
	// roundTimeout bounds a round, so that a store that hangs does not end splitting for good.
	roundTimeout = 30 * time.Second
)

// Splits is the store of a splitter.
type Splits interface {
	UnsplitJobs(ctx context.Context, limit int) ([]store.Unsplit, error)
	SplitJob(ctx context.Context, tenant penstock.TenantID, s store.Split) (store.Step, error)
}

// Files opens files that jobs were accepted with.
type Files interface {
	// Reopen opens a file though it may have expired meanwhile. Codes: not_found.
	Reopen(ctx context.Context, tenant penstock.TenantID, id penstock.ID) (*file.Reader, error)
}

// Composer makes items of lines, with the same checks, defaults and bounds as the items of other jobs.
type Composer interface {
	// Accounts are the budgets that pay for a job's next items. They are unknown if the job's tenant was disabled.
	Accounts(j penstock.Job) (accounts []store.Account, known bool)
	// Compose returns the function that makes the items of one job. A line that cannot be run becomes an item with a Refusal. An
	// error means that it may be possible to run the line later.
	Compose(ctx context.Context, u store.Unsplit) (func(file.Line) (store.NewItem, error), error)
}

// Publisher wakes the readers of jobs that changed.
type Publisher interface {
	Publish(jobs ...penstock.ID)
}

// SplitterDeps are the dependencies of a Splitter.
type SplitterDeps struct {
	Store    Splits
	Files    Files
	Composer Composer
	Work     *signal.Topic[signal.None] // notified when items are ready; it may also mean that more lines fit
	Jobs     Publisher
	Log      *slog.Logger
	Clock    func() time.Time
}

// Splitter makes the items of jobs over files.
type Splitter struct {
	SplitterDeps
	files openFiles
}

// NewSplitter returns a splitter.
func NewSplitter(d SplitterDeps) (*Splitter, error) {
	if d.Store == nil || d.Files == nil || d.Composer == nil || d.Work == nil || d.Jobs == nil || d.Log == nil || d.Clock == nil {
		return nil, errors.New("a splitter needs a store, files, a composer, a work topic, a publisher, a log and a clock")
	}
	return &Splitter{SplitterDeps: d, files: openFiles{files: d.Files, clock: d.Clock}}, nil
}

// Run splits until ctx ends. Errors are logged and tried again: the next round finds the same work.
func (s *Splitter) Run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	work := s.Work.SubscribeAll()
	defer work.Close()
	var last time.Time // when there was something to do
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-work.C:
		case <-timer.C:
		}
		began := s.Clock()
		items, err := s.runOnce(ctx)
		if err != nil && ctx.Err() == nil {
			s.Log.ErrorContext(ctx, "splitting files into items", "error", err)
		}
		now := s.Clock()
		if items > 0 {
			last = now
		}
		rest := idlePoll
		if err == nil && now.Sub(last) < busyFor {
			// It pauses for as long as the round took: submits, claims and finishes get half of the time.
			rest = max(busyPoll, now.Sub(began))
		}
		timer.Reset(rest)
	}
}

// runOnce makes the next items of some jobs and returns how many it made.
func (s *Splitter) runOnce(ctx context.Context) (items int, err error) {
	ctx, cancel := context.WithTimeout(ctx, roundTimeout)
	defer cancel()
	jobs, err := s.Store.UnsplitJobs(ctx, splitJobs)
	if err != nil {
		return 0, err
	}
	var errs []error
	for _, u := range jobs {
		n, err := s.step(ctx, u)
		items += n
		if err != nil && penstock.ErrorCode(err) != penstock.CodeConflict { // a conflict means that another process was faster
			errs = append(errs, err)
		}
	}
	if items > 0 {
		s.Work.Notify()
	}
	return items, errors.Join(errs...)
}

// step makes a job's next items.
func (s *Splitter) step(ctx context.Context, u store.Unsplit) (int, error) {
	items, err := s.next(ctx, u)
	if err != nil {
		return 0, err
	}
	accounts, known := s.Composer.Accounts(u.Job)
	step, err := s.Store.SplitJob(ctx, u.Job.Tenant, store.Split{
		Job: u.Job.ID, From: u.Next, Items: items, Accounts: accounts, AsBefore: !known,
	})
	if err != nil {
		return 0, err
	}
	if u.Next+step.Items == u.Job.Counts.Total {
		s.files.close(u.Job.ID)
	}
	s.Jobs.Publish(append(step.Finished, u.Job.ID)...)
	return step.Items, nil
}

// next reads the next lines of a job's file and makes items of them. Lines that cannot be read become items that fail.
func (s *Splitter) next(ctx context.Context, u store.Unsplit) ([]store.NewItem, error) {
	items, err := s.readLines(ctx, u)
	if err == nil && len(items) == 0 {
		err = penstock.Errorf(penstock.CodeNotFound, "The file has fewer lines than its row says.")
	}
	if err == nil {
		return items, nil
	}
	s.files.close(u.Job.ID) // the next step opens the file again
	if penstock.ErrorCode(err) == penstock.CodeNotFound {
		return s.lost(ctx, u, err), nil
	}
	return nil, err
}

// readLines makes items of the next lines of a job's file. Codes: not_found.
func (s *Splitter) readLines(ctx context.Context, u store.Unsplit) (items []store.NewItem, err error) {
	r, err := s.files.reader(ctx, u)
	if err != nil {
		return nil, err
	}
	compose, err := s.Composer.Compose(ctx, u)
	if err != nil {
		return nil, err
	}
	size, most := 0, min(store.MaxSplit, u.Job.Counts.Total-u.Next)
	for line, err := range r.Lines(ctx, u.Next) {
		if err != nil {
			return nil, err
		}
		item, err := compose(line)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
		if size += len(item.Body); len(items) == most || size >= stepBytes {
			break
		}
	}
	return items, nil
}

// lost makes failed items for the lines of a lost file, so that the job can end. Penstock itself never removes a file
// that a job still needs.
func (s *Splitter) lost(ctx context.Context, u store.Unsplit, why error) []store.NewItem {
	s.Log.ErrorContext(ctx, "the file of a job cannot be read; its lines fail", "job", penstock.ViewJob.Format(u.Job.ID),
		"file", penstock.ViewFile.Format(u.Job.File), "line", u.Next+1, "error", why)
	message := "The line could not be read any more: " + penstock.ViewFile.Format(u.Job.File) + " is gone."
	if errors.Is(why, file.ErrLost) {
		message = "The line could not be read any more: the server has lost the content of " + penstock.ViewFile.Format(u.Job.File) +
			". Upload the file again, and create a new job."
	}
	items := make([]store.NewItem, min(store.MaxSplit, u.Job.Counts.Total-u.Next))
	for i := range items {
		items[i].Body = []byte("{}")
		items[i].Refusal = &penstock.ItemError{Code: penstock.CodeGone, Message: message}
	}
	return items
}
