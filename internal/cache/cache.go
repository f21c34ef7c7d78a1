// Package cache answers an inference with the answer to an identical inference: a stored answer, or an answer that is
// arriving for another caller.
//
// It owns the stored answers, their lifetimes and bounds, and the calls that several callers share. It does not decide
// who may use it, does not call upstreams and records nothing: the caller passes in the function that makes the call.
//
// Invariants:
//   - Tenants share nothing. Answers are stored by tenant first, so that equal digests of two tenants cannot be
//     confused. A tenant that fills the cache evicts its own answers first.
//   - Only a complete answer is stored, not an answer that failed, broke off, or is too large.
//   - A shared call continues while one of its callers waits, even without the first caller. If it fails, all callers
//     get the error, and no caller repeats the call.
//   - Stored and arriving answers have one common bound.
//
// A Cache is safe for concurrent use. It starts one goroutine for each call that it makes, which ends with the
// call, or when no caller waits for it any more.
package cache

import (
	"container/heap"
	"sync"
	"sync/atomic"
	"time"

	"penstock"
	"penstock/internal/provider"
)

// Config bounds a cache.
type Config struct {
	// MaxBytes is the largest size of the cache. A quarter of it is for arriving answers.
	MaxBytes int64
	// MaxEntryBytes is the largest answer that is stored.
	MaxEntryBytes int64
	Clock         func() time.Time
	// Evicted is called for each answer that was evicted for another; may be nil.
	Evicted func()
}

// entryOverhead is the memory of an answer besides its bytes, so that many small answers are bounded too.
const entryOverhead = 512

// Cache stores answers. Create it with New.
type Cache struct {
	Config

	mu      sync.Mutex
	shares  map[penstock.TenantID]*share
	largest shareHeap // of all shares, the largest on top
	bytes   int64     // of all shares
	flights map[Key]*Flight

	flying atomic.Int64 // bytes of arriving answers that callers may join
}

// New returns an empty cache.
func New(cfg Config) *Cache {
	return &Cache{Config: cfg, shares: make(map[penstock.TenantID]*share), flights: make(map[Key]*Flight)}
}

// Answer is a complete stored answer.
type Answer struct {
	Subject  penstock.ID // the call that it was the answer to
	Target   string      // whose answer it is
	Meta     provider.Meta
	Body     []byte // what the caller received, events and all
	Cost     penstock.NanoUSD
	StoredAt time.Time
}

func (a *Answer) size() int64 { return int64(len(a.Body)) + entryOverhead }

// lookup finds an answer that is young enough for the caller who stored it and for the caller who asks.
func (c *Cache) lookup(key Key, ttl time.Duration) *Answer {
	s := c.shares[key.Tenant]
	if s == nil {
		return nil
	}
	e := s.entries[key.digest]
	if e == nil {
		return nil
	}
	switch age := c.Clock().Sub(e.answer.StoredAt); {
	case age >= e.ttl:
		c.remove(s, e)
		return nil
	case age >= ttl:
		return nil
	}
	s.order.MoveToFront(e.place)
	return e.answer
}

// keep stores an answer, and evicts other answers if necessary.
func (c *Cache) keep(key Key, a *Answer, ttl time.Duration) {
	s := c.shares[key.Tenant]
	if s == nil {
		s = &share{tenant: key.Tenant, entries: make(map[digest]*entry)}
		c.shares[key.Tenant] = s
		heap.Push(&c.largest, s)
	}
	if old := s.entries[key.digest]; old != nil {
		c.drop(s, old)
	}
	e := &entry{digest: key.digest, answer: a, ttl: ttl}
	e.place = s.order.PushFront(e)
	s.entries[key.digest] = e
	c.resize(s, a.size())
	c.shrink()
}

// maxFlying is the part of the cache that arriving answers may use.
func (c *Cache) maxFlying() int64 { return c.MaxBytes / 4 }

// shrink evicts answers until the cache fits its bound: the least recently used answers of the tenant with the most
// bytes. So other tenants cannot evict a tenant's fair part.
func (c *Cache) shrink() {
	for c.bytes > c.MaxBytes-c.maxFlying() {
		s := c.largest[0]
		c.remove(s, s.order.Back().Value.(*entry))
		if c.Evicted != nil {
			c.Evicted()
		}
	}
}

// remove deletes an answer, and the share of the tenant with its last answer.
func (c *Cache) remove(s *share, e *entry) {
	c.drop(s, e)
	if len(s.entries) == 0 {
		heap.Remove(&c.largest, s.at)
		delete(c.shares, s.tenant)
	}
}

func (c *Cache) drop(s *share, e *entry) {
	s.order.Remove(e.place)
	delete(s.entries, e.digest)
	c.resize(s, -e.answer.size())
}

func (c *Cache) resize(s *share, by int64) {
	s.bytes += by
	c.bytes += by
	heap.Fix(&c.largest, s.at)
}

// Size is how much a cache holds.
type Size struct {
	Entries int
	Bytes   int64 // what is coming in included
}

// Size returns how much is held.
func (c *Cache) Size() Size {
	c.mu.Lock()
	defer c.mu.Unlock()
	size := Size{Bytes: c.bytes + c.flying.Load()}
	for _, s := range c.shares {
		size.Entries += len(s.entries)
	}
	return size
}
