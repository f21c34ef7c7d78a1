package config

import "time"

func (c *checker) cache(at path, m Cache) {
	if within(c, at+".max_bytes", m.MaxBytes, bounds[int64]{minCacheBytes, maxCacheBytes}) {
		within(c, at+".max_entry_bytes", m.MaxEntryBytes, bounds[int64]{minCacheEntryBytes, m.MaxBytes / maxCacheEntryPart})
	}
}

func (c *checker) cacheUse(at path, u CacheUse) {
	if _, written := c.draft.places[at]; written || u.TTL != 0 {
		within(c, at+".ttl", u.TTL, bounds[time.Duration]{minCacheTTL, maxCacheTTL})
	}
}
