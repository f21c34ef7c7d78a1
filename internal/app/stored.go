package app

import (
	"context"
	"sync/atomic"
	"time"

	"penstock"
	"penstock/internal/store"
	"penstock/internal/telemetry"
)

const (
	// storedInterval is how often metrics of what is stored are brought up to date. Quotas do not go by them.
	storedInterval = 10 * time.Second
	storedTimeout  = 5 * time.Second
)

// storedWatch keeps what tenants have stored for metrics.
type storedWatch struct {
	source store.Storage
	last   atomic.Pointer[map[penstock.TenantID]store.Stored]
}

// run looks until ctx ends. A look that fails leaves the one before it.
func (w *storedWatch) run(ctx context.Context) error {
	ticker := time.NewTicker(storedInterval)
	defer ticker.Stop()
	for {
		w.look(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

func (w *storedWatch) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, storedTimeout)
	defer cancel()
	if all, err := w.source.StoredByTenant(ctx); err == nil {
		w.last.Store(&all)
	}
}

func (w *storedWatch) status() (all []telemetry.StoredBytes) {
	last := w.last.Load()
	if last == nil {
		return nil
	}
	for tenant, s := range *last {
		all = append(all, telemetry.StoredBytes{Tenant: string(tenant), Kind: "jobs", Bytes: s.JobBytes},
			telemetry.StoredBytes{Tenant: string(tenant), Kind: "files", Bytes: s.FileBytes})
	}
	return all
}
