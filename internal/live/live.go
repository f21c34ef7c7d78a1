// Package live tells open pages that something changed: one stream of events per page, over all processes.
//
// Events are hints with small figures: the state and the counts of a job, the depth of a lane, the number of dead letters.
// They carry no content of a tenant. A page refetches the data that an event concerns, so an event may be lost, late or
// repeated without harm.
//
// A [Hub] is the one producer of a process. While somebody listens, it follows the signals of package signal and the views
// that the process has in memory, and asks the database a few bounded questions every [PollInterval]. While nobody
// listens, it does nothing. Its cost does not depend on the number of streams, apart from writing the events to them.
//
// Invariants:
//   - A stream holds no events: it has a position in the one ring of the hub, which is bounded. A reader that falls behind
//     the ring, or resumes from an id that the ring does not have any more, gets the event reset and refetches everything.
//   - A stream of a tenant gets events of this tenant only.
//   - A job has at most one event per [JobInterval].
//
// Hub and Stream are safe for concurrent use, except that one goroutine reads a stream.
package live

import (
	"context"
	"crypto/rand"
	"log/slog"
	"strings"
	"sync"
	"time"

	"penstock"
	"penstock/internal/backlog"
	"penstock/internal/signal"
)

const (
	// PollInterval is the time between two looks at the views in memory and at the database.
	PollInterval = 2 * time.Second
	// JobInterval is the shortest time between two reads of the jobs that changed.
	JobInterval = time.Second
	// ringSize is how many events a hub keeps for readers that resume or are slow.
	ringSize = 2048
	// maxJobs is how many changed jobs a read takes. If more changed, readers get reset instead.
	maxJobs = 512
	// linger is how long a hub follows changes after its last reader left, so that a reader that reconnects can resume.
	linger = time.Minute
	// MaxStreams bounds the open streams of a process, MaxStreamsPerReader those of one key or person.
	MaxStreams          = 2000
	MaxStreamsPerReader = 200
)

// Source answers the questions of a hub. Its answers are over all tenants.
type Source interface {
	// JobStates returns the states of jobs. Unknown jobs are left out.
	JobStates(ctx context.Context, ids []penstock.ID) ([]JobState, error)
	// Recent returns the newest rows of a log since a time, at most limit, newest first.
	Recent(ctx context.Context, log Log, since time.Time, limit int) ([]Mark, error)
	// DeadLetters counts the open dead letters of a tenant, or of all tenants for "", and stops at most.
	DeadLetters(ctx context.Context, tenant penstock.TenantID, most int) (int, error)
}

// Load reports the queue and the targets.
type Load interface {
	Report() backlog.LoadReport
	// TenantLanes reports the lanes of one tenant.
	TenantLanes(tenant penstock.TenantID) backlog.TenantReport
}

// Deps are the dependencies of a hub.
type Deps struct {
	Source  Source
	Load    Load
	Jobs    *signal.Topic[penstock.ID]
	Control *signal.Topic[signal.None]
	Log     *slog.Logger
	Clock   func() time.Time
}

// Hub produces the events of a process.
type Hub struct {
	Deps
	epoch string // of this process: an id of another process cannot be resumed

	mu      sync.Mutex
	seq     int64 // of the newest event
	ring    []event
	streams map[*Stream]struct{}
	readers map[string]int
	woke    chan struct{} // holds one signal at the most: a stream was opened
}

// event is an event of the ring.
type event struct {
	seq    int64
	topics []Topic // a stream with one of them gets the event; nil for every stream
	tenant penstock.TenantID
	all    bool   // streams of all tenants get the event
	key    string // an event replaces earlier events with its key, for a reader that is behind
	kind   Type
	data   []byte
}

// New returns a hub that produces nothing before Run.
func New(d Deps) *Hub {
	return &Hub{Deps: d, epoch: strings.ToLower(rand.Text()[:8]), streams: map[*Stream]struct{}{}, readers: map[string]int{}, woke: make(chan struct{}, 1)}
}

// Run follows changes until ctx ends.
func (h *Hub) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-h.woke:
		}
		h.follow(ctx)
	}
}

// follow produces events while somebody listens, and a little longer.
func (h *Hub) follow(ctx context.Context) {
	f := newFollower(h)
	defer f.close()
	poll := time.NewTicker(PollInterval)
	defer poll.Stop()
	jobs := time.NewTimer(0)
	defer jobs.Stop()
	<-jobs.C
	due, idleSince := false, time.Time{}
	f.poll(ctx)
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.woke:
			f.poll(ctx) // the new stream may want other topics
		case <-f.jobs.C:
			if !due { // the first change is read soon, the following changes together
				due = true
				jobs.Reset(max(JobInterval-h.Clock().Sub(f.readAt), jobDelay))
			}
		case <-jobs.C:
			due = false
			f.readJobs(ctx)
		case <-f.control.C:
			f.publish(event{topics: []Topic{TopicLoad, TopicTargets}, all: true, key: string(TypeControl), kind: TypeControl}, Hint{Type: TypeControl})
		case <-poll.C:
			f.poll(ctx)
		}
		switch now := h.Clock(); {
		case h.open() > 0:
			idleSince = time.Time{}
		case idleSince.IsZero():
			idleSince = now
		case now.Sub(idleSince) >= linger:
			if h.stop() {
				return
			}
		}
	}
}

// jobDelay lets the changes of one transaction arrive together.
const jobDelay = 20 * time.Millisecond

// open is the number of streams.
func (h *Hub) open() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.streams)
}

// stop forgets all events, unless a stream was opened meanwhile. Changes from now on are not seen, so no earlier position
// can be resumed.
func (h *Hub) stop() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.streams) > 0 {
		return false
	}
	h.seq++
	h.ring = nil
	return true
}

// add appends an event and wakes the streams that want it.
func (h *Hub) add(e event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seq++
	e.seq = h.seq
	if len(h.ring) == ringSize {
		h.ring = append(h.ring[:0], h.ring[ringSize/4:]...)
	}
	h.ring = append(h.ring, e)
	for s := range h.streams {
		if s.wants(&e) {
			s.wake()
		}
	}
}
