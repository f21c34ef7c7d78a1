// Package signal wakes goroutines that wait for a change, in this process and in the other processes on the same database.
//
// A [Topic] is a subject that goroutines wait for: work in the queue, a job, a cancel, a pause. A publisher signals
// that something may have changed, and every subscriber checks. Signals carry no data: a subscriber reads the database,
// or memory, before it acts. Signals may come late, come twice or get lost, so each subscriber also polls.
//
// Invariants:
//   - Publishing never blocks and never fails, whatever subscribers and other processes do.
//   - Signals that a subscriber has not received yet are merged into one. A signal means "check", not how often.
//   - A subscriber receives every signal that was published in its process after it subscribed. Delivery to other
//     processes is best effort: a [Bus] sends at most once per [MinGap], replaces many keys by "check everything", and
//     makes all subscribers check after a lost connection.
//   - A signal from another process is not forwarded.
//
// Topics, subscriptions and buses are safe for concurrent use.
package signal

import "sync"

// The names of topics that processes share.
const (
	Work    = "work"    // items became due
	Jobs    = "job"     // the jobs named changed
	Cancels = "cancel"  // jobs were asked to stop
	Control = "control" // an operator paused or resumed something
	Callers = "callers" // an operator changed tenants or keys
	People  = "people"  // sessions ended, or members changed
	Prompts = "prompts" // prompts changed: versions, labels, the archive

	Runs     = "playground"      // the runs named changed
	RunStops = "playground_stop" // runs were asked to stop, or deleted
)

// None is the key of topics that have no keys.
type None string

// Topic is a subject that goroutines wait for. K names its parts.
type Topic[K ~string] struct {
	name string
	bus  *Bus // nil for a topic of this process alone

	mu    sync.Mutex
	whole map[*Subscription[K]]struct{}
	byKey map[K]map[*Subscription[K]]struct{}

	gathering map[*Gathering[K]]struct{}
}

// NewTopic returns a topic that a bus carries to other processes under a name; with a nil bus it is for this process alone.
// Topics of a bus are made before it runs.
func NewTopic[K ~string](bus *Bus, name string) *Topic[K] {
	t := &Topic[K]{name: name, bus: bus, whole: make(map[*Subscription[K]]struct{}), byKey: make(map[K]map[*Subscription[K]]struct{}), gathering: make(map[*Gathering[K]]struct{})}
	if bus != nil {
		bus.register(name, t.receive)
	}
	return t
}

// Subscription receives the signals of a topic, or of one key of it.
type Subscription[K ~string] struct {
	C <-chan struct{} // holds one signal at the most

	c     chan struct{}
	topic *Topic[K]
	key   K
	whole bool
}

// Subscribe receives the signals of one key, until Close.
func (t *Topic[K]) Subscribe(key K) *Subscription[K] {
	s := t.newSubscription()
	s.key = key
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byKey[key] == nil {
		t.byKey[key] = make(map[*Subscription[K]]struct{})
	}
	t.byKey[key][s] = struct{}{}
	return s
}

// SubscribeAll receives every signal of the topic, until Close.
func (t *Topic[K]) SubscribeAll() *Subscription[K] {
	s := t.newSubscription()
	s.whole = true
	t.mu.Lock()
	defer t.mu.Unlock()
	t.whole[s] = struct{}{}
	return s
}

func (t *Topic[K]) newSubscription() *Subscription[K] {
	c := make(chan struct{}, 1)
	return &Subscription[K]{C: c, c: c, topic: t}
}

// Close ends the subscription. Its channel stays open.
func (s *Subscription[K]) Close() {
	t := s.topic
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.whole {
		delete(t.whole, s)
		return
	}
	delete(t.byKey[s.key], s)
	if len(t.byKey[s.key]) == 0 {
		delete(t.byKey, s.key)
	}
}

// Subscribers counts the open subscriptions.
func (t *Topic[K]) Subscribers() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(t.whole)
	for _, subscribers := range t.byKey {
		n += len(subscribers)
	}
	return n
}

// Publish wakes the subscribers of the given keys, here and in other processes. Without keys it does nothing.
func (t *Topic[K]) Publish(keys ...K) {
	if len(keys) == 0 {
		return
	}
	t.mu.Lock()
	for _, key := range keys {
		wake(t.byKey[key])
	}
	wake(t.whole)
	t.gather(keys)
	t.mu.Unlock()
	if t.bus.remote() {
		text := make([]string, len(keys))
		for i, key := range keys {
			text[i] = string(key)
		}
		t.bus.publish(t.name, text)
	}
}

// Notify wakes all subscribers, here and in other processes: anything may have changed.
func (t *Topic[K]) Notify() {
	t.NotifyLocal()
	if t.bus.remote() {
		t.bus.publish(t.name, nil)
	}
}

// NotifyLocal wakes all subscribers of this process.
func (t *Topic[K]) NotifyLocal() {
	t.mu.Lock()
	defer t.mu.Unlock()
	wake(t.whole)
	t.gather(nil)
	for _, subscribers := range t.byKey {
		wake(subscribers)
	}
}

// receive wakes the subscribers for a signal of another process. No keys stand for all.
func (t *Topic[K]) receive(keys []string) {
	if len(keys) == 0 {
		t.NotifyLocal()
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	named := make([]K, len(keys))
	for i, key := range keys {
		named[i] = K(key)
		wake(t.byKey[named[i]])
	}
	wake(t.whole)
	t.gather(named)
}

func wake[K ~string](subscribers map[*Subscription[K]]struct{}) {
	for s := range subscribers {
		select {
		case s.c <- struct{}{}:
		default: // it has a signal that it has not received yet
		}
	}
}
