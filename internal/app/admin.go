package app

import (
	"encoding/json"
	"net/http"
	"net/http/pprof"

	"penstock"
	"penstock/internal/rest"
)

// adminHandler serves operators: metrics, profiles, health, the audit, the reload of the configuration, and what
// is paused, tenants and keys. What is below /admin/v1 needs an admin key. Metrics and profiles need one unless the
// connection comes in over loopback; health needs none. Calls for a host that is not its own are refused.
func (a *app) adminHandler() http.Handler {
	mux := http.NewServeMux()
	operate := func(pattern string, h http.HandlerFunc, query ...string) {
		mux.Handle(pattern, a.operatorsOnly(a.withQuery(h, query)))
	}
	mux.Handle("GET /metrics", a.scrapersOnly(a.metrics.Handler()))
	for pattern, h := range map[string]http.HandlerFunc{
		"GET /debug/pprof/": pprof.Index, "GET /debug/pprof/cmdline": pprof.Cmdline, "GET /debug/pprof/profile": pprof.Profile,
		"GET /debug/pprof/symbol": pprof.Symbol, "GET /debug/pprof/trace": pprof.Trace,
	} {
		mux.Handle(pattern, a.localOrOperators(h))
	}
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		adminJSON(w, http.StatusOK, map[string]string{"status": "ok"})
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if err := a.readiness.check(r.Context()); err != nil {
			adminJSON(w, http.StatusServiceUnavailable, map[string]string{"status": "not ready", "reason": penstock.AsError(err).Message})
			return
		}
		adminJSON(w, http.StatusOK, map[string]string{"status": "ready"})
	})
	operate("GET /admin/v1/load", func(w http.ResponseWriter, _ *http.Request) { adminJSON(w, http.StatusOK, a.loadReport()) })
	operate("POST /admin/v1/config/reload", a.reloadAsked, "actor", "dry_run", "force")
	operate("GET /admin/v1/audit", a.audit, "tenant", "limit", "after")
	operate("GET /admin/v1/controls", a.listControls)
	operate("PUT /admin/v1/controls/{kind}/{name...}", a.setControl, changeQuery...)
	operate("DELETE /admin/v1/controls/{kind}/{name...}", a.liftControl, changeQuery...)
	operate("GET /admin/v1/usage", a.reportUsage, "from", "to", "group_by", "format", "tenant")
	operate("GET /admin/v1/budgets", a.listBudgets, "tenant")
	a.tenantRoutes(operate)
	a.keyRoutes(operate)
	return a.ownHosts(mux)
}

// operates adds a route of operators, with the parameters that its query may have.
type operates func(pattern string, h http.HandlerFunc, query ...string)

// changeQuery are the parameters of every change.
var changeQuery = []string{"actor", "dry_run"}

// withQuery refuses a query with other parameters than those that are known: a dry run that is misspelt would be a change.
func (a *app) withQuery(h http.HandlerFunc, known []string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := rest.CheckQuery(r.URL.RawQuery, known, nil); err != nil {
			a.adminError(w, r, err)
			return
		}
		h(w, r)
	}
}

func adminJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the reader may have left
}
