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
	// DeltaInterval is how long what an item says waits for more, at the most.
	DeltaInterval = 100 * time.Millisecond
	// DeltaBytes is how much of it does not wait.
	DeltaBytes = 4 << 10
	// flushBytes bounds what one transaction writes of all items.
	flushBytes = 1 << 20
	// idleWait is how long the speaker sleeps when nobody says anything; it is woken then.
	idleWait = time.Minute
)

// Log is where what items say is kept for their readers.
type Log interface {
	AppendDeltas(ctx context.Context, group []store.ClaimDelta) ([]bool, error)
}

// deltaRecorder writes what the running items of this process say into the logs of their jobs, one transaction for all of
// them at a time. Items never wait for it: while the store is slow, what they say gathers, and the next delta is larger.
type deltaRecorder struct {
	log     Log
	readers queue.Publisher
	timeout time.Duration
	logger  *slog.Logger
	clock   func() time.Time
	wake    chan struct{} // holds one signal: there is something to write

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

// deltaWriter is what one claim of an item said and readers were not shown yet. Its fields are under the speaker's lock.
type deltaWriter struct {
	deltaRecorder *deltaRecorder
	of            store.Claimed // without its body
	pieces        []string
	size          int
	since         time.Time     // when the oldest piece came
	begun         bool          // something of it was handed over
	silent        bool          // the claim lost its item: nobody listens
	flight        chan struct{} // closed when what was handed over is written, or came back; nil when nothing is
}

// begin opens the delta writer of a claim. It is to be ended.
func (s *deltaRecorder) begin(c store.Claimed) *deltaWriter {
	c.Body = nil
	sp := &deltaWriter{deltaRecorder: s, of: c}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deltaWriters[sp] = struct{}{}
	return sp
}

// say adds a piece. It never waits.
func (sp *deltaWriter) say(piece string) {
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
		default: // it will look anyway
		}
	}
}

// end closes the delta writer and returns what is left of it, once all before that is written.
func (sp *deltaWriter) end() []store.Delta {
	s := sp.deltaRecorder
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.deltaWriters, sp) // what is left goes with the item's end
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

// restarts says that readers may have something of an earlier claim that does not count any more.
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

// run writes until ctx ends. By then nobody speaks any more: what was said last ends with its item.
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

// flush writes what is due, and returns how long nothing else will be.
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

// part is what is handed over of one delta writer.
type part struct {
	deltaWriter *deltaWriter
	reset       bool // what came before does not count any more
	pieces      []string
}

// gather takes what is due of all delta writers, those that wait the longest first, as far as one transaction goes.
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

// settle ends a flight: what was not written for a fault comes back, and whom nobody listens to falls silent.
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
