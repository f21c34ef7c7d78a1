package app

import (
	"net/http"
	"time"

	"penstock"
	"penstock/internal/config"
	"penstock/internal/rest"
	"penstock/internal/store"
)

// tenantView is a tenant as operators see it.
type tenantView struct {
	Object  string             `json:"object"`
	ID      penstock.TenantID  `json:"id"`
	Source  store.TenantSource `json:"source"`
	Enabled bool               `json:"enabled"`
	Tier    string             `json:"tier"`
	Weight  int                `json:"weight"`
	Lanes   []penstock.Lane    `json:"lanes"`
	Regions []string           `json:"regions"` // empty for anywhere
	Models  []string           `json:"models"`  // empty for any

	MediaHosts []string `json:"media_hosts"` // empty for the global default

	Retention retentionView `json:"retention"`
	Limits    limitsView    `json:"limits"`
	Budget    config.Budget `json:"budget"`

	ModelBudgets map[string]config.Budget `json:"model_budgets"`

	ETag      string    `json:"etag"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
	DryRun    bool      `json:"dry_run,omitempty"`
}

// retentionView is how long work is kept; null where the tenant goes by what holds for all.
type retentionView struct {
	Results     *duration `json:"results"`
	Events      *duration `json:"events"`
	Idempotency *duration `json:"idempotency"`
	Files       *duration `json:"files"`
}

// duration is written as in the configuration: "24h".
type duration time.Duration

func (d duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

func (d *duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	*d = duration(v)
	return err
}

// own is a duration unless it is zero.
func own(d time.Duration) *duration {
	if d == 0 {
		return nil
	}
	v := duration(d)
	return &v
}

func (a *app) tenantView(t store.TenantRecord) tenantView {
	if t.Source == store.SourceFile { // what the file says now counts, and whether it still says anything
		if current, ok := a.directory.Tenant(t.ID); ok {
			t.Tenant = current
		} else {
			t.Enabled = false
		}
	}
	return tenantView{
		Object: "tenant", ID: t.ID, Source: t.Source, Enabled: t.Enabled, Tier: t.Tier, Weight: t.Weight, Lanes: t.Lanes,
		Regions: append([]string{}, t.Regions...), Models: append([]string{}, t.Models...), MediaHosts: append([]string{}, t.MediaHosts...),
		Limits: limitsView{t.Limits, t.EnqueuedTokens, t.StoredBytes, t.ModelLimits}, Budget: config.BudgetOf(t.Budgets, "", ""), ModelBudgets: modelBudgets(t.Budgets),
		Retention: retentionView{own(t.Retention.Results), own(t.Retention.Events), own(t.Retention.Idempotency), own(t.Retention.Files)},
		ETag:      rest.ETag(t.Version), CreatedAt: t.CreatedAt, UpdatedAt: t.UpdatedAt,
	}
}

// tenantFields is what an operator says about a tenant. What is left out stays, or takes its default.
type tenantFields struct {
	ID      *penstock.TenantID `json:"id"`
	Enabled *bool              `json:"enabled"`
	Tier    *string            `json:"tier"`
	Weight  *int               `json:"weight"`
	Lanes   *[]penstock.Lane   `json:"lanes"`
	Regions *[]string          `json:"regions"`
	Models  *[]string          `json:"models"`

	MediaHosts *[]string `json:"media_hosts"`

	Retention *retentionView `json:"retention"`
	allowanceFields
}

// apply edits a tenant by what was said and holds the outcome to the rules. Codes: invalid_request.
func (a *app) apply(f tenantFields, t *store.TenantRecord) error {
	assign(&t.Enabled, f.Enabled)
	assign(&t.Tier, f.Tier)
	assign(&t.Weight, f.Weight)
	assign(&t.Lanes, f.Lanes)
	assign(&t.Regions, f.Regions)
	assign(&t.Models, f.Models)
	assign(&t.MediaHosts, f.MediaHosts)
	if f.Retention != nil {
		t.Retention = penstock.Retention{}
		assign(&t.Retention.Results, (*time.Duration)(f.Retention.Results))
		assign(&t.Retention.Events, (*time.Duration)(f.Retention.Events))
		assign(&t.Retention.Idempotency, (*time.Duration)(f.Retention.Idempotency))
		assign(&t.Retention.Files, (*time.Duration)(f.Retention.Files))
	}
	if err := f.allowanceFields.apply(t); err != nil {
		return err
	}
	return a.live.Current().CheckTenant(t.Tenant)
}

// assign sets what was said.
func assign[T any](field *T, said *T) {
	if said != nil {
		*field = *said
	}
}

func (a *app) tenantRoutes(operate operates) {
	operate("GET /admin/v1/tenants", a.listTenants, "tier", "limit", "after")
	operate("POST /admin/v1/tenants", a.createTenant, changeQuery...)
	operate("GET /admin/v1/tenants/{tenant}", a.readTenant)
	operate("PATCH /admin/v1/tenants/{tenant}", a.changeTenant, changeQuery...)
	operate("DELETE /admin/v1/tenants/{tenant}", a.deleteTenant, changeQuery...)
}

func (a *app) listTenants(w http.ResponseWriter, r *http.Request) {
	limit, err := pageLimit(r)
	if err != nil {
		a.adminError(w, r, err)
		return
	}
	query := r.URL.Query()
	all, err := a.store.ListTenants(r.Context(), store.TenantFilter{
		Tier: query.Get("tier"), After: penstock.TenantID(query.Get("after")), Limit: limit + 1,
	})
	if err != nil {
		a.adminError(w, r, err)
		return
	}
	data := []tenantView{}
	for _, t := range all[:min(limit, len(all))] {
		data = append(data, a.tenantView(t))
	}
	adminJSON(w, http.StatusOK, map[string]any{"object": "list", "data": data, "has_more": len(all) > limit})
}

func (a *app) readTenant(w http.ResponseWriter, r *http.Request) {
	id := penstock.TenantID(r.PathValue("tenant"))
	found, err := a.store.ListTenants(r.Context(), store.TenantFilter{ID: id, Limit: 1})
	if err == nil && len(found) == 0 {
		err = penstock.Errorf(penstock.CodeNotFound, "There is no tenant %q.", id)
	}
	if err != nil {
		a.adminError(w, r, err)
		return
	}
	w.Header().Set("ETag", rest.ETag(found[0].Version))
	adminJSON(w, http.StatusOK, a.tenantView(found[0]))
}

func (a *app) createTenant(w http.ResponseWriter, r *http.Request) {
	made, c, err := a.newTenant(r)
	a.answerTenant(w, r, tenantOutcome{made, c, err, http.StatusCreated})
}

// newTenant makes the tenant that a call asks for. Codes: invalid_request, conflict, managed_by_file.
func (a *app) newTenant(r *http.Request) (store.TenantRecord, store.Condition, error) {
	var said tenantFields
	c, err := condition(r)
	if err == nil {
		err = adminBody(r, &said)
	}
	if err == nil && said.ID == nil {
		err = penstock.InvalidParam("id", "id is missing; it is the tenant's name in logs, metrics and bills.")
	}
	if err != nil {
		return store.TenantRecord{}, c, err
	}
	t := store.TenantRecord{Enabled: true, Tenant: penstock.Tenant{ID: *said.ID, Weight: 1, Lanes: penstock.Lanes}}
	if err := a.apply(said, &t); err != nil {
		return t, c, err
	}
	_, declared := a.live.Current().Tenants[t.ID]
	t, err = a.store.CreateTenant(r.Context(), store.NewTenant{Tenant: t.Tenant, Enabled: t.Enabled, Adopt: !declared, Condition: c})
	return t, c, err
}

func (a *app) changeTenant(w http.ResponseWriter, r *http.Request) {
	var said tenantFields
	id := penstock.TenantID(r.PathValue("tenant"))
	c, err := condition(r)
	if err == nil {
		err = adminBody(r, &said)
	}
	if err == nil && said.ID != nil && *said.ID != id {
		err = penstock.InvalidParam("id", "id cannot be changed: jobs and books name the tenant by it.")
	}
	var now store.TenantRecord
	if err == nil {
		now, err = a.store.ChangeTenant(r.Context(), store.TenantChange{ID: id, Condition: c,
			Apply: func(t *store.TenantRecord) error { return a.apply(said, t) }})
	}
	a.answerTenant(w, r, tenantOutcome{now, c, err, http.StatusOK})
}

func (a *app) deleteTenant(w http.ResponseWriter, r *http.Request) {
	var now store.TenantRecord
	c, err := condition(r)
	if err == nil {
		now, err = a.store.DeleteTenant(r.Context(), store.TenantChange{ID: penstock.TenantID(r.PathValue("tenant")), Condition: c})
	}
	a.answerTenant(w, r, tenantOutcome{now, c, err, http.StatusOK})
}

// tenantOutcome is what became of a change.
type tenantOutcome struct {
	now    store.TenantRecord
	by     store.Condition
	err    error
	status int
}

// answerTenant tells every process of a change and answers with the tenant as it is now, or would be.
func (a *app) answerTenant(w http.ResponseWriter, r *http.Request, o tenantOutcome) {
	if o.err != nil {
		a.adminError(w, r, o.err)
		return
	}
	a.callersChanged(r.Context(), o.by)
	view := a.tenantView(o.now)
	if view.DryRun = o.by.DryRun; view.DryRun {
		adminJSON(w, http.StatusOK, view)
		return
	}
	a.log.InfoContext(r.Context(), "tenant changed", "tenant", o.now.ID, "enabled", o.now.Enabled, "actor", o.by.Actor)
	w.Header().Set("ETag", view.ETag)
	adminJSON(w, o.status, view)
}
