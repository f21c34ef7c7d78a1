package usage

import (
	"context"

	"penstock"
	"penstock/internal/store"
)

// TenantLister lists all tenants, deleted ones included.
type TenantLister interface {
	TenantIDs(ctx context.Context, p store.TenantPage) ([]penstock.TenantID, error)
}

// Tenants returns the tenants of a report: the named tenant, or all tenants, deleted ones included.
func Tenants(ctx context.Context, from TenantLister, named penstock.TenantID) ([]penstock.TenantID, error) {
	if named != "" {
		return []penstock.TenantID{named}, nil
	}
	const step = 1000
	var all []penstock.TenantID
	for {
		page := store.TenantPage{Limit: step}
		if len(all) > 0 {
			page.After = all[len(all)-1]
		}
		ids, err := from.TenantIDs(ctx, page)
		all = append(all, ids...)
		if err != nil || len(ids) < step {
			return all, err
		}
	}
}
