package usage

import (
	"context"

	"penstock"
	"penstock/internal/store"
)

// TenantLister lists the tenants that ever were.
type TenantLister interface {
	TenantIDs(ctx context.Context, p store.TenantPage) ([]penstock.TenantID, error)
}

// Tenants are the tenants of a report: the one that is named, or all that ever were.
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
