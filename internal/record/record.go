// Package record writes synchronous calls down, behind their answers.
//
// A call must not wait for the database, and must not go unrecorded either: so a place in the bounded
// line of records is taken before the call may spend anything, and given back once its record is on
// stable storage. When the line is full, because the store is slow or away, calls are refused instead
// of left unrecorded.
//
// A record is also appended to a journal before the answer of its call ends (package journal), and is done with there
// once it is on stable storage: what a process that was killed had not written yet, the next one writes. Calls that it
// was running are lost: synchronous calls are recorded, not durable.
package record

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"penstock"
	"penstock/internal/journal"
	"penstock/internal/store"
)

const (
	// MaxPlaces bounds the calls that run or wait to be written.
	MaxPlaces = 32768
	// MaxGroup is how many records one transaction takes.
	MaxGroup = 500
	// Interval is how long records gather before they are written.
	Interval = 100 * time.Millisecond
	// lastCalls is how long the end waits for calls that are still running.
	lastCalls = 2 * time.Second
	// retryInterval is how long to wait after the store refused a group.
	retryInterval = time.Second
)

// Recorder is the line of records. It is safe for concurrent use.
type Recorder struct {
	Deps

	mu      sync.Mutex
	places  int
	pending []*entry
	arrived chan struct{}
}

// Deps are what a Recorder works with.
type Deps struct {
	Store   store.Requests
	Journal *journal.Journal // nil for none
	// Added is called with each record and returns at once; nil for nothing.
	Added func(penstock.Request)
	Log   *slog.Logger
}

// entry is a record that waits to be written.
type entry struct {
	penstock.Request
	mark journal.Mark
}

// New returns an empty line.
func New(d Deps) *Recorder {
	return &Recorder{Deps: d, arrived: make(chan struct{}, 1)}
}

// Place takes a place in the line. Codes: overloaded.
func (r *Recorder) Place() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.places >= MaxPlaces {
		return &penstock.Error{Code: penstock.CodeOverloaded, RetryAfter: retryInterval,
			Message: "Too many calls wait to be recorded; the database may be slow or away."}
	}
	r.places++
	return nil
}

// Add hands over the record of a call that took a place. It waits for nothing but the journal's file. When it has returned,
// the record survives the death of the process: so the end of the answer is sent after it.
func (r *Recorder) Add(req penstock.Request) {
	e := &entry{Request: req}
	e.mark = r.Journal.Append(&e.Request)
	r.mu.Lock()
	r.pending = append(r.pending, e)
	r.mu.Unlock()
	r.wake()
	if r.Added != nil {
		r.Added(req)
	}
}

// wake makes Run look; one pending wake is enough.
func (r *Recorder) wake() {
	select {
	case r.arrived <- struct{}{}:
	default:
	}
}

// Leave gives back the place of a call that has no record.
func (r *Recorder) Leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.places--
}

// Request finds a call, also one that is not written yet. Codes: not_found.
func (r *Recorder) Request(ctx context.Context, tenant penstock.TenantID, id penstock.ID) (penstock.Request, error) {
	r.mu.Lock()
	at := slices.IndexFunc(r.pending, func(e *entry) bool { return e.ID == id && e.Tenant == tenant })
	if at >= 0 {
		found := r.pending[at].Request
		r.mu.Unlock()
		return found, nil
	}
	r.mu.Unlock()
	return r.Store.Request(ctx, tenant, id)
}

// Run writes records until ctx ends, and then what is left.
func (r *Recorder) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			continue
		case <-r.arrived:
		}
		pause := Interval
		if err := r.flush(ctx); err != nil && ctx.Err() == nil {
			pause = retryInterval
			r.Log.ErrorContext(ctx, "recording requests", "error", err)
			r.wake() // look again, even if nothing new comes
		}
		wait := time.NewTimer(pause)
		select {
		case <-ctx.Done():
		case <-wait.C:
		}
		wait.Stop()
	}
	r.awaitCalls()
	return r.flush(context.WithoutCancel(ctx))
}

// awaitCalls waits a little for calls that were cut at the end and are on their way to be recorded.
func (r *Recorder) awaitCalls() {
	timeout := time.NewTimer(lastCalls)
	defer timeout.Stop()
	for {
		r.mu.Lock()
		running := r.places - len(r.pending)
		r.mu.Unlock()
		if running <= 0 {
			return
		}
		select {
		case <-r.arrived:
		case <-timeout.C:
			return
		}
	}
}

// flush writes what is pending, group by group. Records stay visible to Request until they are
// written; a group that failed is written again later, which the store allows.
func (r *Recorder) flush(ctx context.Context) error {
	r.Journal.Seal()
	for {
		r.mu.Lock()
		group := slices.Clone(r.pending[:min(MaxGroup, len(r.pending))])
		r.mu.Unlock()
		if len(group) == 0 {
			return nil
		}
		kept, err := r.writeGroup(ctx, group)
		r.finish(len(group), kept)
		if err != nil {
			return err
		}
	}
}

// writeGroup writes a group at once or, when the store refuses it, one by one: a record that it will
// never take must not keep the others from being written. It returns those that were not.
func (r *Recorder) writeGroup(ctx context.Context, group []*entry) (kept []*entry, err error) {
	if err = r.write(ctx, group); err == nil {
		return nil, nil
	}
	if len(group) == 1 {
		return group, err
	}
	for i := range group {
		if refused := r.write(ctx, group[i:i+1]); refused != nil {
			kept = append(kept, group[i])
			if penstock.ErrorCode(refused) == penstock.CodeOverloaded || ctx.Err() != nil {
				return append(kept, group[i+1:]...), refused // the store is away: the rest would fail too
			}
		}
	}
	if len(kept) == 0 {
		return nil, nil
	}
	return kept, err
}

// finish takes the first n records out of the line and puts those that were kept at its end, so that
// they are not in the way of the others. When none was written, the line stays as it is.
func (r *Recorder) finish(n int, kept []*entry) {
	if len(kept) == n {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	// A new slice, so that the memory of what was written is let go.
	r.pending = slices.Concat(r.pending[n:], kept)
	r.places -= n - len(kept)
}

func (r *Recorder) write(ctx context.Context, group []*entry) error {
	const timeout = 10 * time.Second
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	records := make([]penstock.Request, len(group))
	for i := range group {
		records[i] = group[i].Request
	}
	if err := r.Store.RecordRequests(ctx, records); err != nil {
		return err
	}
	for i := range group {
		r.Journal.Done(group[i].mark)
	}
	return nil
}

// Replay writes records that another process left. The store knows those that it has.
func (r *Recorder) Replay(ctx context.Context, records []penstock.Request) error {
	group := make([]*entry, len(records))
	for i := range records {
		group[i] = &entry{Request: records[i]}
	}
	kept, err := r.writeGroup(ctx, group)
	if len(kept) > 0 {
		return err
	}
	return nil
}
