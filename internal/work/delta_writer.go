package work

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"penstock"
	"penstock/internal/queue"
	"penstock/internal/store"
)

const (
	// DeltaInterval is the longest time that streamed text waits to be written.
	DeltaInterval = 100 * time.Millisecond
	// DeltaBytes is the length of text that does not wait.
	DeltaBytes = 4 << 10
	// flushBytes bounds the text that one transaction writes, of all items together.
	flushBytes = 1 << 20
	// idleWait is how long the recorder waits without new text; new text wakes it.
	idleWait = time.Minute
)

// Log stores the streamed text of items for their readers.
type Log interface {
	AppendDeltas(ctx context.Context, group []store.ClaimDelta) ([]bool, error)
}

// deltaRecorder writes the streamed text of this process's running items into the logs of their jobs, one transaction for
// all of them at a time. Items never wait for it: while the store is slow, the text accumulates, and the next delta is larger.
type deltaRecorder struct {
	log     Log
	readers queue.Publisher
	timeout time.Duration
	logger  *slog.Logger
	clock   func() time.Time
	wake    chan struct{} // holds one signal: there is text to write

	mu           sync.Mutex
	deltaWriters map[*deltaWriter]struct{}
}

func newDeltaRecorder(d Deps, timeout time.Duration) *deltaRecorder {
	if d.Streams == nil {
		return nil
	}
	return &deltaRecorder{
		log: d.Streams, readers: d.Readers, timeout: timeout, logger: d.Log, clock: d.Clock,
		wake: make(chan struct{}, 1), deltaWriters: map[*deltaWriter]struct{}{},
	}
}

// deltaWriter holds the text of one claim of an item that was not written yet. The recorder's lock guards its fields.
type deltaWriter struct {
	deltaRecorder *deltaRecorder
	of            store.Claimed // without its body
	pieces        []string
	size          int
	since         time.Time     // when the oldest piece arrived
	begun         bool          // some of its text was passed to a flush
	silent        bool          // the claim lost its item: its text is dropped
	flight        chan struct{} // closed when the running flush has written the text, or returned it; nil without one
}

// begin opens the delta writer of a claim. The caller ends it.
func (s *deltaRecorder) begin(c store.Claimed) *deltaWriter {
	c.Body = nil
	sp := &deltaWriter{deltaRecorder: s, of: c}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deltaWriters[sp] = struct{}{}
	return sp
}

// add adds a piece of text. It never waits.
func (sp *deltaWriter) add(piece string) {
	s := sp.deltaRecorder
	if piece == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if sp.silent {
		return
	}
	first := sp.size == 0
	if first {
		sp.since = s.clock()
	}
	before := sp.size
	sp.pieces, sp.size = append(sp.pieces, piece), sp.size+len(piece)
	if first || (before < DeltaBytes && sp.size >= DeltaBytes) {
		select {
		case s.wake <- struct{}{}:
		default: // the recorder will flush anyway
		}
	}
}

// end closes the delta writer and returns the rest of its text, after everything before it was written.
func (sp *deltaWriter) end() []store.Delta {
	s := sp.deltaRecorder
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.deltaWriters, sp) // the rest is written with the item's end
	for sp.flight != nil {
		flight := sp.flight
		s.mu.Unlock()
		<-flight
		s.mu.Lock()
	}
	var tail []store.Delta
	if sp.restarts() {
		tail = append(tail, store.Delta{Reset: true})
	}
	for len(sp.pieces) > 0 {
		tail = append(tail, store.Delta{Data: []byte(strings.Join(sp.take(), ""))})
	}
	return tail
}

// restarts says that readers may have text of an earlier claim, which is void.
func (sp *deltaWriter) restarts() bool { return !sp.begun && sp.of.Fence > 1 }

// take removes the pieces of the next delta.
func (sp *deltaWriter) take() []string {
	n, bytes := 0, 0
	for n < len(sp.pieces) && (n == 0 || bytes+len(sp.pieces[n]) <= store.MaxDeltaBytes) {
		bytes += len(sp.pieces[n])
		n++
	}
	taken := sp.pieces[:n:n]
	sp.pieces, sp.size = sp.pieces[n:], sp.size-bytes
	return taken
}

// run writes until ctx ends. By then all delta writers have ended: the last text of an item is written with its end.
func (s *deltaRecorder) run(ctx context.Context) {
	timer := time.NewTimer(idleWait)
	defer timer.Stop()
	for {
		timer.Reset(s.flush(ctx))
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		case <-timer.C:
		}
	}
}

// flush writes the text that is due, and returns how long until more is.
func (s *deltaRecorder) flush(ctx context.Context) time.Duration {
	group, next := s.gather()
	if len(group) == 0 {
		return next
	}
	var deltas []store.ClaimDelta
	for _, p := range group {
		if p.reset {
			deltas = append(deltas, store.ClaimDelta{Of: &p.deltaWriter.of, Delta: store.Delta{Reset: true}})
		}
		deltas = append(deltas, store.ClaimDelta{Of: &p.deltaWriter.of, Delta: store.Delta{Data: []byte(strings.Join(p.pieces, ""))}})
	}
	bounded, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	added, err := s.log.AppendDeltas(bounded, deltas)
	if err != nil {
		s.logger.WarnContext(ctx, "showing answers while they arrive", "deltas", len(deltas), "error", err)
	}
	s.settle(group, added, err)
	if err != nil {
		return recordRetry
	}
	return 0
}

// part is the text of one delta writer in a flush.
type part struct {
	deltaWriter *deltaWriter
	reset       bool // the earlier text is void
	pieces      []string
}

// gather takes the due text of all delta writers, the oldest first, up to the size of one transaction.
func (s *deltaRecorder) gather() (group []part, next time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, next := s.clock(), idleWait
	var due []*deltaWriter
	for sp := range s.deltaWriters {
		if sp.size == 0 {
			continue
		}
		if wait := sp.since.Add(DeltaInterval).Sub(now); wait > 0 && sp.size < DeltaBytes {
			next = min(next, wait)
			continue
		}
		due = append(due, sp)
	}
	slices.SortFunc(due, func(a, b *deltaWriter) int { return a.since.Compare(b.since) })
	deltas, bytes := 0, 0
	for _, sp := range due {
		if deltas+2 > store.MaxDeltaGroup || bytes >= flushBytes {
			break
		}
		p := part{deltaWriter: sp, reset: sp.restarts(), pieces: sp.take()}
		deltas++
		if p.reset {
			deltas++
		}
		for _, piece := range p.pieces {
			bytes += len(piece)
		}
		sp.begun, sp.flight, sp.since = true, make(chan struct{}), now
		group = append(group, p)
	}
	return group, next
}

// settle ends a flush: after an error the text goes back to its writers, and a writer whose claim lost its item is silenced.
func (s *deltaRecorder) settle(group []part, added []bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var jobs []penstock.ID
	at := 0
	for _, p := range group {
		sp := p.deltaWriter
		close(sp.flight)
		sp.flight = nil
		if err != nil {
			sp.pieces = slices.Concat(p.pieces, sp.pieces)
			for _, piece := range p.pieces {
				sp.size += len(piece)
			}
			sp.begun = sp.begun && !p.reset
			continue
		}
		if p.reset {
			at++
		}
		if added[at] {
			jobs = append(jobs, sp.of.Job)
		} else {
			sp.silent, sp.pieces, sp.size = true, nil, 0
		}
		at++
	}
	slices.Sort(jobs)
	s.readers.Publish(slices.Compact(jobs)...)
}
