package signal

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"penstock/internal/telemetry"
)

const (
	// MinGap is the shortest time between two sends: signals that are published meanwhile share the next one.
	MinGap = 5 * time.Millisecond
	// MaxKeys is how many keys a topic gathers between two sends. More keys become one signal to look at everything.
	MaxKeys = 256

	sendTimeout  = 2 * time.Second
	flushTimeout = time.Second // for the last send of a process that stops
	minBackoff   = 100 * time.Millisecond
	maxBackoff   = 5 * time.Second
)

// Message is the signal of one topic. Without keys it says: look at everything.
type Message struct {
	Topic string
	Keys  []string
}

// Wire carries messages between processes.
type Wire interface {
	// Send hands messages to every other process that listens. It returns once they are on their way.
	Send(ctx context.Context, messages []Message) error

	// Listen passes the messages of other processes to a receiver, until ctx ends or the connection breaks.
	Listen(ctx context.Context, r Receiver) error
}

// Receiver is called by a wire. Its functions return at once.
type Receiver struct {
	Connected func() // no message that is sent from now on is missed
	Receive   func(Message)
}

// Deps are the dependencies of a bus.
type Deps struct {
	Wire    Wire // nil when there is no other process
	Metrics *telemetry.Metrics
	Log     *slog.Logger
}

// Bus carries the signals of topics between processes.
type Bus struct {
	Deps
	names  []string // of the topics, in the order they were made
	topics map[string]func(keys []string)

	mu      sync.Mutex
	pending map[string]*gathered
	due     chan struct{}
}

// gathered is what a topic gathered since the last send.
type gathered struct {
	keys       map[string]struct{}
	everything bool
}

// NewBus returns a bus that neither sends nor receives before Run.
func NewBus(d Deps) *Bus {
	return &Bus{Deps: d, topics: map[string]func([]string){}, pending: map[string]*gathered{}, due: make(chan struct{}, 1)}
}

// register adds a topic.
func (b *Bus) register(name string, receive func(keys []string)) {
	b.Metrics.ExpectSignals(name)
	b.names = append(b.names, name)
	b.topics[name] = receive
}

// remote reports whether there are other processes.
func (b *Bus) remote() bool { return b != nil && b.Wire != nil }

// publish makes the other processes look, soon. Without keys they look at everything.
func (b *Bus) publish(topic string, keys []string) {
	b.mu.Lock()
	g := b.pending[topic]
	if g == nil {
		g = &gathered{}
		b.pending[topic] = g
	}
	dropped := g.add(keys)
	b.mu.Unlock()
	b.Metrics.SignalsDropped(topic, dropped)
	select {
	case b.due <- struct{}{}:
	default: // a send is due already
	}
}

// add gathers keys, and reports how many were given up for a signal to look at everything.
func (g *gathered) add(keys []string) (dropped int) {
	if g.everything {
		return len(keys)
	}
	if len(keys) == 0 {
		return g.giveUp()
	}
	if g.keys == nil {
		g.keys = make(map[string]struct{}, len(keys))
	}
	for i, key := range keys {
		g.keys[key] = struct{}{}
		if len(g.keys) > MaxKeys {
			return g.giveUp() + len(keys) - i - 1
		}
	}
	return 0
}

// giveUp turns keys into a signal to look at everything.
func (g *gathered) giveUp() (dropped int) {
	dropped = len(g.keys)
	g.keys, g.everything = nil, true
	return dropped
}

// Run sends and receives until ctx ends. What was published until then is still sent.
func (b *Bus) Run(ctx context.Context) error {
	if !b.remote() {
		<-ctx.Done()
		return nil
	}
	var both sync.WaitGroup
	both.Go(func() { b.send(ctx) })
	both.Go(func() { b.listen(ctx) })
	both.Wait()
	return nil
}

// send carries signals to other processes: the first at once, those that follow soon after it in groups.
func (b *Bus) send(ctx context.Context) {
	for failures := 0; ; {
		select {
		case <-ctx.Done():
		case <-b.due:
		}
		if ctx.Err() != nil {
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
			defer cancel()
			_ = b.sendOnce(last) // polling finds what this cannot carry
			return
		}
		gap := MinGap
		if err := b.sendOnce(ctx); err == nil {
			failures = 0
		} else if ctx.Err() == nil {
			if failures == 0 {
				b.Log.WarnContext(ctx, "sending signals to other processes; they find changes by polling", "error", err)
			}
			gap = backoff(failures)
			failures++
		}
		pause(ctx, gap)
	}
}

// sendOnce sends all that was gathered. After a failure it is published again, without keys: by then there
// may be too many.
func (b *Bus) sendOnce(ctx context.Context) error {
	messages := b.take()
	if len(messages) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	err := b.Wire.Send(ctx, messages)
	for _, m := range messages {
		if err != nil {
			b.Metrics.SignalsDropped(m.Topic, len(m.Keys))
			b.publish(m.Topic, nil)
		} else {
			b.Metrics.SignalSent(m.Topic)
		}
	}
	return err
}

func (b *Bus) take() []Message {
	b.mu.Lock()
	defer b.mu.Unlock()
	var messages []Message
	for topic, g := range b.pending {
		m := Message{Topic: topic}
		for key := range g.keys {
			m.Keys = append(m.Keys, key)
		}
		messages = append(messages, m)
	}
	clear(b.pending)
	return messages
}

// listen receives the signals of other processes, over as many connections as it takes.
func (b *Bus) listen(ctx context.Context) {
	failures := 0
	receiver := Receiver{Receive: b.receive, Connected: func() {
		if failures > 0 {
			b.Log.InfoContext(ctx, "receiving signals of other processes again")
		}
		failures = 0
		for _, name := range b.names { // signals that were sent before were missed
			b.topics[name](nil)
		}
	}}
	for {
		err := b.Wire.Listen(ctx, receiver)
		if ctx.Err() != nil {
			return
		}
		b.Metrics.SignalReconnect()
		if failures == 0 {
			b.Log.WarnContext(ctx, "not receiving signals of other processes; polling until the connection is back", "error", err)
		}
		pause(ctx, backoff(failures))
		failures++
	}
}

func (b *Bus) receive(m Message) {
	receive := b.topics[m.Topic]
	if receive == nil {
		return // a topic of a newer version
	}
	b.Metrics.SignalReceived(m.Topic)
	receive(m.Keys)
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
