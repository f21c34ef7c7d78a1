package app

import (
	"time"

	"penstock/internal/cache"
	"penstock/internal/telemetry"
)

// newCache creates the cache of answers and its metrics.
func (a *app) newCache() *cache.Cache {
	bounds := a.Config.Process.Cache
	c := cache.New(cache.Config{
		MaxBytes: bounds.MaxBytes, MaxEntryBytes: bounds.MaxEntryBytes, Clock: time.Now, Evicted: a.metrics.CacheEvicted,
	})
	a.metrics.CollectCache(func() telemetry.CacheSize { return telemetry.CacheSize(c.Size()) })
	return c
}
