package collect

import (
	"context"
	"sync/atomic"
	"time"

	"penstock"
	"penstock/internal/store"
	"penstock/internal/telemetry"
)

const (
	// storedInterval is how often the metrics of stored bytes are updated. Quotas do not use them.
	storedInterval = 10 * time.Second
	storedTimeout  = 5 * time.Second
)

// StoredWatch holds the stored bytes of tenants for metrics.
type StoredWatch struct {
	Source store.Storage
	last   atomic.Pointer[map[penstock.TenantID]store.Stored]
}

// Run reads them until ctx ends. A failed read leaves the last values.
func (w *StoredWatch) Run(ctx context.Context) error {
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

func (w *StoredWatch) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, storedTimeout)
	defer cancel()
	if all, err := w.Source.StoredByTenant(ctx); err == nil {
		w.last.Store(&all)
	}
}

// Status returns the last values.
func (w *StoredWatch) Status() (all []telemetry.StoredBytes) {
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
