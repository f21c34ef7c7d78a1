package token

import (
	"crypto/sha256"
	"sync"
	"time"

	"penstock"
)

const (
	shards = 16
	// MaxCached is how many tokens are cached.
	MaxCached = 65_536
	// evictTries is how many entries an insertion into a full shard looks at for an expired one.
	evictTries = 8
)

// entry is a verified token.
type entry struct {
	of         *issuers // the configuration that it was verified with
	keys       *keySet
	generation uint64 // of the keys
	expires    time.Time

	issuer      string
	name        string
	tenant      penstock.TenantID
	tenantValue string // of the claim that chose the tenant
	scopes      []penstock.Scope
	limits      penstock.Limits
}

// valid reports whether the result still holds.
func (e *entry) valid(set *issuers, now time.Time) bool {
	return e.of == set && !now.After(e.expires) && e.keys.holds(e.generation, now)
}

// cache has verified tokens by their digest. It is bounded: a full shard evicts an expired entry, or else any.
type cache struct{ shards [shards]shard }

type shard struct {
	mu      sync.RWMutex
	entries map[[sha256.Size]byte]*entry
}

func (c *cache) shard(digest [sha256.Size]byte) *shard { return &c.shards[digest[0]%shards] }

func (c *cache) find(digest [sha256.Size]byte) *entry {
	s := c.shard(digest)
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.entries[digest]
}

func (c *cache) add(digest [sha256.Size]byte, e *entry, now time.Time) {
	s := c.shard(digest)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.entries == nil {
		s.entries = map[[sha256.Size]byte]*entry{}
	}
	if _, known := s.entries[digest]; !known && len(s.entries) >= MaxCached/shards {
		s.evict(now)
	}
	s.entries[digest] = e
}

// evict removes the expired ones of a few random entries, or else one of them.
func (s *shard) evict(now time.Time) {
	tries, before := 0, len(s.entries)
	var last [sha256.Size]byte
	for digest, e := range s.entries {
		if last = digest; now.After(e.expires) {
			delete(s.entries, digest)
		}
		if tries++; tries == evictTries {
			break
		}
	}
	if len(s.entries) == before {
		delete(s.entries, last)
	}
}
