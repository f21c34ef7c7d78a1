// Package microbatch combines small calls of one kind, so that one upstream call answers them all.
//
// It owns when a batch departs ([Batcher]), how the bodies of embeddings become one ([Read], [Merge]), and how
// its answer and its usage are divided again ([Divide], [Share]). Package attempt decides which calls may share a
// batch, where it goes and what happens when it fails.
//
// Invariants:
//   - A call that finds no other call of its kind under way does not wait: it is sent at once, with its own bytes.
//   - A batch departs when it is full, when its oldest member waited long enough, or when no call of its kind
//     is under way any more. Until it has capacity upstream, members may still join.
//   - A member gets the vectors of its own inputs, in its own order, or none: an answer that does not name
//     every input once is not divided.
//   - The shares of a usage add up to it.
//
// A Batcher is safe for concurrent use. Each batch has one goroutine, which ends when its call has, and whose
// context ends when the last of its members has left.
package microbatch

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Limits bound a batch.
type Limits struct {
	MaxInputs int
	MaxTokens int64         // an estimate
	Wait      time.Duration // of its oldest member, until it departs
}

// Batcher collects calls. Calls with the same K are of one kind; T is the value of each call.
type Batcher[K, T comparable] struct {
	run func(ctx context.Context, b *Batch[K, T])

	mu    sync.Mutex
	kinds map[K]*kind[K, T]
}

// kind is the calls of one kind that are under way.
type kind[K, T comparable] struct {
	calls int          // made, or about to be
	open  *Batch[K, T] // can be joined; nil for none
}

// New returns a batcher that sends batches with run, which must call Seal.
func New[K, T comparable](run func(ctx context.Context, b *Batch[K, T])) *Batcher[K, T] {
	return &Batcher[K, T]{run: run, kinds: make(map[K]*kind[K, T])}
}

// Member is a call that may share a batch with others of its key.
type Member[K, T comparable] struct {
	Key     K
	Value   T
	Inputs  int
	Tokens  int64
	Urgency int // lower is more urgent
	Limits  Limits
}

// Batch is calls that are made together.
type Batch[K, T comparable] struct {
	batcher *Batcher[K, T]
	key     K
	limits  Limits
	start   func() // starts its goroutine
	cancel  context.CancelFunc
	timer   *time.Timer
	leaveAt time.Time // when it departs at the latest

	// Under the batcher's lock.
	members  []T
	inputs   int
	tokens   int64
	urgency  int
	departed bool // it is being sent, or waits for capacity
	sealed   bool // no member can join any more
	gone     int  // members that left since
}

// Join finds a batch for a member. If no call of its kind is under way, it returns no batch but a function: the member
// makes its call alone and calls the function when the call is over. A batch has the values of its first member's
// context, but not its cancellation.
func (b *Batcher[K, T]) Join(ctx context.Context, m Member[K, T]) (batch *Batch[K, T], over func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	k, ok := b.kinds[m.Key]
	if !ok {
		b.kinds[m.Key] = &kind[K, T]{calls: 1}
		return nil, sync.OnceFunc(func() { b.over(m.Key) })
	}
	if k.open != nil && !k.open.takes(m) {
		b.close(k)
	}
	if k.open == nil {
		k.open = b.gather(ctx, m)
	}
	batch = k.open
	if at := time.Now().Add(m.Limits.Wait); at.Before(batch.leaveAt) {
		batch.leaveAt = at
		batch.timer.Reset(m.Limits.Wait)
	}
	batch.members = append(batch.members, m.Value)
	batch.inputs += m.Inputs
	batch.tokens += m.Tokens
	batch.urgency = min(batch.urgency, m.Urgency)
	if batch.inputs >= batch.limits.MaxInputs {
		b.close(k)
	}
	return batch, nil
}

// takes reports whether a member fits in. A more urgent member does not join a batch that waits for capacity already: it
// would wait with the priority of the less urgent batch.
func (b *Batch[K, T]) takes(m Member[K, T]) bool {
	fits := b.inputs+m.Inputs <= b.limits.MaxInputs && b.tokens+m.Tokens <= b.limits.MaxTokens
	return fits && (!b.departed || m.Urgency >= b.urgency)
}

// gather opens a batch.
func (b *Batcher[K, T]) gather(ctx context.Context, m Member[K, T]) *Batch[K, T] {
	batch := &Batch[K, T]{batcher: b, key: m.Key, limits: m.Limits, urgency: m.Urgency}
	ctx, batch.cancel = context.WithCancel(context.WithoutCancel(ctx))
	batch.start = func() { go b.send(ctx, batch) }
	batch.leaveAt = time.Now().Add(m.Limits.Wait)
	batch.timer = time.AfterFunc(m.Limits.Wait, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		batch.depart()
	})
	return batch
}

// close sends the open batch of a kind; later members open a new one.
func (b *Batcher[K, T]) close(k *kind[K, T]) {
	k.open.depart()
	k.open = nil
}

// depart starts to send a batch, once. A batch that all members left is not sent.
func (b *Batch[K, T]) depart() {
	if b.departed || len(b.members) == 0 {
		return
	}
	b.departed = true
	b.timer.Stop()
	b.batcher.kinds[b.key].calls++
	b.start()
}

func (b *Batcher[K, T]) send(ctx context.Context, batch *Batch[K, T]) {
	defer b.over(batch.key)
	defer batch.cancel()
	defer batch.Seal()
	b.run(ctx, batch)
}

// over ends a call of a kind. When it was the last, the open batch departs at once.
func (b *Batcher[K, T]) over(key K) {
	b.mu.Lock()
	defer b.mu.Unlock()
	k := b.kinds[key]
	k.calls--
	switch {
	case k.calls > 0:
	case k.open != nil:
		k.open.depart()
	default:
		delete(b.kinds, key)
	}
}

// Members are the current members of the batch.
func (b *Batch[K, T]) Members() []T {
	b.batcher.mu.Lock()
	defer b.batcher.mu.Unlock()
	return slices.Clone(b.members)
}

// Departed reports whether the batch is being sent, or waits for capacity.
func (b *Batch[K, T]) Departed() bool {
	b.batcher.mu.Lock()
	defer b.batcher.mu.Unlock()
	return b.departed
}

// Seal ends joining, and returns the members.
func (b *Batch[K, T]) Seal() []T {
	b.batcher.mu.Lock()
	defer b.batcher.mu.Unlock()
	b.sealed = true
	b.shut()
	return b.members
}

// shut removes the batch as the open batch of its kind.
func (b *Batch[K, T]) shut() {
	if k := b.batcher.kinds[b.key]; k != nil && k.open == b {
		k.open = nil
	}
}

// Leave removes a member that does not want its answer any more. It reports false for a member of a sealed batch: its
// share of the call is charged all the same.
func (b *Batch[K, T]) Leave(member T) bool {
	b.batcher.mu.Lock()
	defer b.batcher.mu.Unlock()
	if b.sealed {
		if b.gone++; b.gone == len(b.members) {
			b.cancel()
		}
		return false
	}
	b.members = slices.DeleteFunc(b.members, func(other T) bool { return other == member })
	if len(b.members) == 0 {
		b.timer.Stop()
		b.cancel()
		b.shut()
	}
	return true
}
