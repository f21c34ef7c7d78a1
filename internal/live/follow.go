package live

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"penstock"
	"penstock/internal/signal"
)

const (
	// recent is how far back a look at a log goes. It is longer than the time between two looks, so that a row which was
	// committed late, or by a process with another clock, is seen.
	recent = 15 * time.Second
	// changing is how long a delivery is watched for changes.
	changing = 15 * time.Minute
	// maxMarks is how many rows of a log a look takes.
	maxMarks = 256
	// maxDeadLetters is where counting stops, and maxCounts how many tenants are counted in a look.
	maxDeadLetters = 10_000
	maxCounts      = 64
	// maxKnown bounds the jobs whose last status is remembered.
	maxKnown = 4096
	// resetInterval is the shortest time between two resets because too many jobs changed.
	resetInterval = 5 * time.Second
	// readTimeout bounds a question to the database.
	readTimeout = 5 * time.Second
)

// follower is the state of a hub while it follows changes. It belongs to the goroutine of Run.
type follower struct {
	*Hub
	jobs    *signal.Gathering[penstock.ID]
	control *signal.Subscription[signal.None]
	readAt  time.Time // of the last read of jobs
	resetAt time.Time
	known   map[penstock.ID]known
	said    map[string][]byte            // the last data of figures, by their key
	marks   map[Log]map[penstock.ID]Mark // the rows of the last look
	turn    int                          // of the tenants whose dead letters are counted
	wants   map[want]time.Time           // when a stream last had it
	failing bool
}

// want is a topic of a tenant, or of all tenants for "", that a stream follows.
type want struct {
	topic  Topic
	tenant penstock.TenantID
}

// known is the last state of a job that readers got.
type known struct {
	status penstock.Status
	seq    int64
	counts penstock.Counts
}

func newFollower(h *Hub) *follower {
	return &follower{
		Hub: h, jobs: h.Jobs.Gather(maxJobs), control: h.Control.SubscribeAll(),
		known: map[penstock.ID]known{}, said: map[string][]byte{}, marks: map[Log]map[penstock.ID]Mark{}, wants: map[want]time.Time{},
	}
}

func (f *follower) close() {
	f.jobs.Close()
	f.control.Close()
}

// publish adds an event with its data.
func (f *follower) publish(e event, data any) {
	text, err := json.Marshal(data)
	if err != nil {
		return // the types of this package have no value that cannot be encoded
	}
	e.data = text
	f.add(e)
}

// publishChange adds an event unless its data is the same as the last time.
func (f *follower) publishChange(e event, data, compared any) {
	text, err := json.Marshal(compared)
	if err != nil || bytes.Equal(f.said[e.key], text) {
		return
	}
	f.said[e.key] = text
	f.publish(e, data)
}

// wanted are the topics that streams follow, or followed a short while ago, and the tenants of these streams; "" is all
// tenants.
func (f *follower) wanted() map[Topic]map[penstock.TenantID]struct{} {
	now := f.Clock()
	f.mu.Lock()
	for s := range f.streams {
		for _, topic := range s.Topics {
			f.wants[want{topic, s.Tenant}] = now
		}
	}
	f.mu.Unlock()
	all := map[Topic]map[penstock.TenantID]struct{}{}
	for w, at := range f.wants {
		if now.Sub(at) > linger {
			delete(f.wants, w)
			continue
		}
		if all[w.topic] == nil {
			all[w.topic] = map[penstock.TenantID]struct{}{}
		}
		all[w.topic][w.tenant] = struct{}{}
	}
	return all
}

// readJobs tells of the jobs that changed since the last read.
func (f *follower) readJobs(ctx context.Context) {
	f.readAt = f.Clock()
	ids, everything := f.jobs.Take()
	wanted := f.wanted()
	if len(wanted[TopicJobs]) == 0 && len(wanted[TopicBatches]) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	states, err := f.Source.JobStates(ctx, ids)
	if f.failed(ctx, err) {
		everything = true
	}
	for _, s := range states {
		f.tellJob(s)
	}
	if everything && f.Clock().Sub(f.resetAt) >= resetInterval {
		f.resetAt = f.Clock()
		topics := []Topic{TopicJobs, TopicBatches}
		f.publish(event{topics: topics, all: true, key: "jobs", kind: TypeReset}, Reset{Type: TypeReset, Topics: topics})
	}
}

// tellJob tells of a job, unless readers know its state.
func (f *follower) tellJob(s JobState) {
	id := penstock.ID(s.ID)
	now, was := known{s.Status, s.Seq, s.Counts}, f.known[id]
	if now == was {
		return
	}
	if len(f.known) >= maxKnown {
		clear(f.known)
	}
	f.known[id] = now
	topics := []Topic{TopicJobs}
	if s.Batch {
		topics = append(topics, TopicBatches)
	}
	if s.Type = TypeJob; now.status == was.status {
		s.Type = TypeProgress
	}
	s.ID = penstock.ViewJob.Format(id)
	f.publish(event{topics: topics, tenant: s.Tenant, all: true, key: s.ID, kind: s.Type}, s)
}

// poll looks at the views in memory and asks the database for changes that no signal tells of.
func (f *follower) poll(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	wanted := f.wanted()
	f.tellLoad(wanted)
	f.countDeadLetters(ctx, wanted[TopicDeadLetters])
	for _, l := range []struct {
		topic Topic
		log   Log
		since time.Duration
		kind  Type
	}{
		{TopicAudit, LogAudit, recent, TypeAudit},
		{TopicRequests, LogRequests, recent, TypeRequest},
		{TopicDeliveries, LogDeliveries, changing, TypeDelivery},
		{TopicPrompts, LogPrompts, recent, TypePrompt},
	} {
		if len(wanted[l.topic]) == 0 {
			delete(f.marks, l.log)
			continue
		}
		marks, err := f.Source.Recent(ctx, l.log, f.Clock().Add(-l.since), maxMarks)
		if f.failed(ctx, err) {
			continue
		}
		for tenant, n := range f.added(l.log, marks) {
			f.publish(event{topics: []Topic{l.topic}, tenant: tenant, all: true, key: string(l.kind) + "/" + string(tenant), kind: l.kind},
				Hint{Type: l.kind, Tenant: tenant, Count: n})
		}
	}
}

// added counts the rows that were added or changed since the last look, by tenant. The first look only remembers.
func (f *follower) added(log Log, marks []Mark) map[penstock.TenantID]int {
	before, looked := f.marks[log]
	now := make(map[penstock.ID]Mark, len(marks))
	fresh := map[penstock.TenantID]int{}
	for _, m := range marks {
		now[m.ID] = m
		if looked && before[m.ID] != m {
			fresh[m.Tenant]++
		}
	}
	f.marks[log] = now
	return fresh
}

// countDeadLetters tells of the number of dead letters.
func (f *follower) countDeadLetters(ctx context.Context, tenants map[penstock.TenantID]struct{}) {
	order := slices.Sorted(maps.Keys(tenants))
	for range min(len(order), maxCounts) {
		f.turn++
		tenant := order[f.turn%len(order)]
		n, err := f.Source.DeadLetters(ctx, tenant, maxDeadLetters+1)
		if f.failed(ctx, err) {
			return
		}
		data := DeadLetterCount{Type: TypeDeadLetters, Tenant: tenant, Count: min(n, maxDeadLetters), AtLeast: n > maxDeadLetters}
		f.publishChange(event{topics: []Topic{TopicDeadLetters}, tenant: tenant, all: tenant == "", key: string(TypeDeadLetters) + "/" + string(tenant), kind: TypeDeadLetters}, data, data)
	}
}

// failed reports whether the database did not answer, and logs the first of several failures.
func (f *follower) failed(ctx context.Context, err error) bool {
	if err != nil && !f.failing {
		f.Log.WarnContext(ctx, "reading changes for live streams; pages show them later", "error", err)
	}
	f.failing = err != nil
	return err != nil
}
