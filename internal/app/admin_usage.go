package app

import (
	"context"
	"net/http"
	"slices"
	"time"

	"penstock"
	"penstock/internal/store"
	"penstock/internal/usage"
)

// reportUsage reports what one tenant spent, or all of them did.
func (a *app) reportUsage(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	scope := usage.Scope{}
	var err error
	scope.Query, err = usage.Read(usage.Terms{From: query.Get("from"), To: query.Get("to"), GroupBy: query.Get("group_by")}, time.Now())
	format, ok := usage.FormatOf(query.Get("format"), r.Header.Get("Accept"))
	if err == nil && !ok {
		err = penstock.InvalidParam("format", "format must be json or csv.")
	}
	if err == nil {
		scope.Tenants, err = a.spenders(r.Context(), penstock.TenantID(query.Get("tenant")))
	}
	if err != nil {
		a.adminError(w, r, err)
		return
	}
	if !slices.Contains(scope.By, usage.ByTenant) {
		scope.By = slices.Insert(scope.By, 0, usage.ByTenant)
	}
	w.Header().Set("Content-Type", format.MediaType())
	begun, err := usage.New(a.store).Write(r.Context(), scope, format, w)
	switch {
	case err != nil && begun:
		panic(http.ErrAbortHandler) // the only way to tell that the report is not whole
	case err != nil:
		w.Header().Del("Content-Type")
		a.adminError(w, r, err)
	}
}

// spenders are the tenants of a report: one, or all that ever were.
func (a *app) spenders(ctx context.Context, one penstock.TenantID) ([]penstock.TenantID, error) {
	if one != "" {
		return []penstock.TenantID{one}, nil
	}
	const step = 1000
	var all []penstock.TenantID
	for {
		page := store.TenantPage{Limit: step}
		if len(all) > 0 {
			page.After = all[len(all)-1]
		}
		ids, err := a.store.TenantIDs(ctx, page)
		all = append(all, ids...)
		if err != nil || len(ids) < step {
			return all, err
		}
	}
}
