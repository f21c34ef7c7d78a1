// Package signal tells the other processes on the same database to look: at the queue, at a job that
// somebody waits for, at a cancel, at what an operator holds back.
//
// It owns hints, never facts. A signal carries ids at the most, may be late, come twice or get lost, and
// whoever hears one reads the database before doing anything. Beneath every topic lies slow polling,
// so without signals everything still happens, only later.
//
// Telling never blocks: what there is to tell gathers in a bounded buffer, in which a crowd of ids becomes
// "look at everything", and is sent at most once per [MinGap]. What is told inside one process does not
// pass through here: package queue's Bell and package deliver's Hub wake it directly.
//
// An Exchange is safe for concurrent use.
package signal

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"penstock"
	"penstock/internal/telemetry"
)

const (
	// MinGap is the shortest time between two sends: everything told meanwhile shares the next one.
	MinGap = 5 * time.Millisecond
	// MaxIDs is how many ids a topic gathers between two sends. More than that become one call to look
	// at everything.
	MaxIDs = 256

	sendTimeout  = 2 * time.Second
	flushTimeout = time.Second // for the last send of a process that stops
	minBackoff   = 100 * time.Millisecond
	maxBackoff   = 5 * time.Second
)

// Topic says where to look.
type Topic string

// The topics.
const (
	TopicWork    Topic = "work"    // items became due
	TopicJob     Topic = "job"     // the jobs named changed
	TopicCancel  Topic = "cancel"  // jobs were asked to stop
	TopicControl Topic = "control" // an operator paused or resumed something
	TopicCallers Topic = "callers" // an operator changed tenants or keys
)

// Topics lists every topic.
var Topics = []Topic{TopicWork, TopicJob, TopicCancel, TopicControl, TopicCallers}

// Message is the news of one topic. Without ids it says: look at everything.
type Message struct {
	Topic Topic
	IDs   []penstock.ID
}

// Wire carries messages between processes.
type Wire interface {
	// Send hands messages to every other process that listens. It returns once they are on their way.
	Send(ctx context.Context, messages []Message) error

	// Listen tells the ear what other processes send, until ctx ends or the connection breaks.
	Listen(ctx context.Context, ear Ear) error
}

// Ear is what a wire talks to. Its functions return at once.
type Ear struct {
	Connected func() // nothing that is sent from now on is missed
	Heard     func(Message)
}

// Deps are what an exchange works with.
type Deps struct {
	Wire    Wire // nil when there is no other process to tell
	Metrics *telemetry.Metrics
	Log     *slog.Logger
}

// Exchange is this process's end of the wire.
type Exchange struct {
	Deps
	listeners map[Topic]func(ids []penstock.ID)

	mu      sync.Mutex
	pending map[Topic]*gathered
	due     chan struct{}
}

// gathered is what a topic gathered since the last send.
type gathered struct {
	ids        map[penstock.ID]struct{}
	everything bool
}

// New returns an exchange that neither hears nor sends before Run.
func New(d Deps) *Exchange {
	for _, topic := range Topics {
		d.Metrics.ExpectSignals(string(topic))
	}
	return &Exchange{
		Deps: d, listeners: map[Topic]func([]penstock.ID){}, pending: map[Topic]*gathered{}, due: make(chan struct{}, 1),
	}
}

// On names who looks when a topic is heard; without ids they look at everything. There is one listener
// for a topic, it must not block, and all of them are named before Run.
func (x *Exchange) On(topic Topic, look func(ids []penstock.ID)) { x.listeners[topic] = look }

// Tell makes the other processes look, soon. It never blocks and never fails.
func (x *Exchange) Tell(topic Topic, ids ...penstock.ID) {
	if x.Wire == nil {
		return
	}
	x.mu.Lock()
	n := x.pending[topic]
	if n == nil {
		n = &gathered{}
		x.pending[topic] = n
	}
	dropped := n.add(ids)
	x.mu.Unlock()
	x.Metrics.SignalsDropped(string(topic), dropped)
	x.wake()
}

// add gathers ids, and reports how many were given up for a call to look at everything.
func (n *gathered) add(ids []penstock.ID) (dropped int) {
	if n.everything {
		return len(ids)
	}
	if len(ids) == 0 {
		return n.giveUp()
	}
	if n.ids == nil {
		n.ids = make(map[penstock.ID]struct{}, len(ids))
	}
	for i, id := range ids {
		n.ids[id] = struct{}{}
		if len(n.ids) > MaxIDs {
			return n.giveUp() + len(ids) - i - 1
		}
	}
	return 0
}

// giveUp turns ids into a call to look at everything.
func (n *gathered) giveUp() (dropped int) {
	dropped = len(n.ids)
	n.ids, n.everything = nil, true
	return dropped
}

func (x *Exchange) wake() {
	select {
	case x.due <- struct{}{}:
	default: // a send is due already
	}
}

// Run sends and listens until ctx ends. What was told until then is still sent.
func (x *Exchange) Run(ctx context.Context) error {
	if x.Wire == nil {
		<-ctx.Done()
		return nil
	}
	var both sync.WaitGroup
	both.Go(func() { x.send(ctx) })
	both.Go(func() { x.listen(ctx) })
	both.Wait()
	return nil
}

// send carries what was told: the first at once, what follows on its heels in groups.
func (x *Exchange) send(ctx context.Context) {
	for failures := 0; ; {
		select {
		case <-ctx.Done():
		case <-x.due:
		}
		if ctx.Err() != nil {
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
			defer cancel()
			_ = x.sendOnce(last) // polling finds what this cannot carry
			return
		}
		gap := MinGap
		if err := x.sendOnce(ctx); err == nil {
			failures = 0
		} else if ctx.Err() == nil {
			if failures == 0 {
				x.Log.WarnContext(ctx, "telling other processes; they find out by polling", "error", err)
			}
			gap = backoff(failures)
			failures++
		}
		pause(ctx, gap)
	}
}

// sendOnce sends all that was told. After a failure it will be told again, without ids: by then there
// may be too many.
func (x *Exchange) sendOnce(ctx context.Context) error {
	messages := x.take()
	if len(messages) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	err := x.Wire.Send(ctx, messages)
	for _, m := range messages {
		if err != nil {
			x.Metrics.SignalsDropped(string(m.Topic), len(m.IDs))
			x.Tell(m.Topic)
		} else {
			x.Metrics.SignalSent(string(m.Topic))
		}
	}
	return err
}

func (x *Exchange) take() []Message {
	x.mu.Lock()
	defer x.mu.Unlock()
	var messages []Message
	for topic, n := range x.pending {
		m := Message{Topic: topic}
		for id := range n.ids {
			m.IDs = append(m.IDs, id)
		}
		messages = append(messages, m)
	}
	clear(x.pending)
	return messages
}

// listen hears other processes, over as many connections as it takes.
func (x *Exchange) listen(ctx context.Context) {
	failures := 0
	ear := Ear{Heard: x.heard, Connected: func() {
		if failures > 0 {
			x.Log.InfoContext(ctx, "hearing other processes again")
		}
		failures = 0
		x.lookEverywhere() // whatever was sent before was missed
	}}
	for {
		err := x.Wire.Listen(ctx, ear)
		if ctx.Err() != nil {
			return
		}
		x.Metrics.SignalReconnect()
		if failures == 0 {
			x.Log.WarnContext(ctx, "not hearing other processes; polling until that is mended", "error", err)
		}
		pause(ctx, backoff(failures))
		failures++
	}
}

func (x *Exchange) heard(m Message) {
	look := x.listeners[m.Topic]
	if look == nil {
		return // a topic of a newer version, or one that is nobody's business here
	}
	x.Metrics.SignalReceived(string(m.Topic))
	look(m.IDs)
}

func (x *Exchange) lookEverywhere() {
	for _, topic := range Topics {
		if look := x.listeners[topic]; look != nil {
			look(nil)
		}
	}
}

// backoff grows with every failure, and differs between processes that lost the same database.
func backoff(failures int) time.Duration {
	longest := min(minBackoff<<min(failures, 10), maxBackoff)
	return longest/2 + rand.N(longest/2)
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
