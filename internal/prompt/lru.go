package prompt

import (
	"container/list"
	"sync"
)

// lru is a cache that forgets the entries that were not used for longest. It is safe for concurrent use.
type lru[K comparable, V any] struct {
	most int // the sum of the weights

	mu      sync.Mutex
	weight  int
	order   *list.List // most recently used first
	entries map[K]*list.Element
}

type lruEntry[K comparable, V any] struct {
	key    K
	value  V
	weight int
}

func newLRU[K comparable, V any](most int) *lru[K, V] {
	return &lru[K, V]{most: most, order: list.New(), entries: map[K]*list.Element{}}
}

func (c *lru[K, V]) get(key K) (value V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries[key]
	if !ok {
		return value, false
	}
	c.order.MoveToFront(e)
	return e.Value.(*lruEntry[K, V]).value, true
}

// put adds or replaces an entry. One that is heavier than all of the cache is not kept.
func (c *lru[K, V]) put(key K, value V, weight int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.removeLocked(key)
	if weight > c.most {
		return
	}
	c.entries[key] = c.order.PushFront(&lruEntry[K, V]{key, value, weight})
	for c.weight += weight; c.weight > c.most; {
		c.removeLocked(c.order.Back().Value.(*lruEntry[K, V]).key)
	}
}

func (c *lru[K, V]) removeLocked(key K) {
	e, ok := c.entries[key]
	if !ok {
		return
	}
	c.weight -= c.order.Remove(e).(*lruEntry[K, V]).weight
	delete(c.entries, key)
}

// all are the entries, in any order.
func (c *lru[K, V]) all() map[K]V {
	c.mu.Lock()
	defer c.mu.Unlock()
	found := make(map[K]V, len(c.entries))
	for key, e := range c.entries {
		found[key] = e.Value.(*lruEntry[K, V]).value
	}
	return found
}
