package admin

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
	Source  store.TenantSource `json:"source" about:"file: the configuration file declares it. api: it was created by the admin API."`
	Enabled bool               `json:"enabled"`
	Tier    string             `json:"tier"`
	Weight  int                `json:"weight"`
	Lanes   []penstock.Lane    `json:"lanes"`
	Regions []string           `json:"regions" about:"Empty for anywhere."`
	Models  []string           `json:"models" about:"Empty for any."`

	MediaHosts []string `json:"media_hosts" about:"Empty for the global default."`

	Retention tenantRetention `json:"retention"`
	Limits    tenantLimits    `json:"limits"`
	Budget    config.Budget   `json:"budget"`

	ModelBudgets map[string]config.Budget `json:"model_budgets"`
	TagBudgets   map[string]config.Budget `json:"tag_budgets"`

	ETag      string    `json:"etag"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
	DryRun    bool      `json:"dry_run,omitzero" about:"Nothing was changed: this is the result that the change would have."`
}

// tenantRetention is how long the work of a tenant is kept; null for the global default.
type tenantRetention struct {
	Results     *rest.Seconds `json:"results"`
	Events      *rest.Seconds `json:"events"`
	Idempotency *rest.Seconds `json:"idempotency"`
	Files       *rest.Seconds `json:"files"`
}

// own is a duration unless it is zero.
func own(d time.Duration) *rest.Seconds {
	if d == 0 {
		return nil
	}
	v := rest.Seconds(d)
	return &v
}

func (c tenants) view(t store.TenantRecord) tenantView {
	if t.Source == store.SourceFile { // the file says now what counts, and whether the tenant is still in it
		if current, ok := c.Directory.Tenant(t.ID); ok {
			t.Tenant = current
		} else {
			t.Enabled = false
		}
	}
	return tenantView{
		Object: "tenant", ID: t.ID, Source: t.Source, Enabled: t.Enabled, Tier: t.Tier, Weight: t.Weight, Lanes: t.Lanes,
		Regions: append([]string{}, t.Regions...), Models: append([]string{}, t.Models...), MediaHosts: append([]string{}, t.MediaHosts...),
		Limits: tenantLimits{t.Limits, t.EnqueuedTokens, t.StoredBytes, t.ModelLimits}, Budget: config.BudgetOf(t.Budgets, penstock.Budget{}), ModelBudgets: modelBudgets(t.Budgets), TagBudgets: tagBudgets(t.Budgets),
		Retention: tenantRetention{own(t.Retention.Results), own(t.Retention.Events), own(t.Retention.Idempotency), own(t.Retention.Files)},
		ETag:      rest.ETag(t.Version), CreatedAt: t.CreatedAt, UpdatedAt: t.UpdatedAt,
	}
}

// tenantFields is the body that creates or changes a tenant. A field that is left out does not change, or takes its
// default.
type tenantFields struct {
	ID      *penstock.TenantID `json:"id" about:"The tenant's name in logs, metrics and bills. It cannot be changed."`
	Enabled *bool              `json:"enabled"`
	Tier    *string            `json:"tier"`
	Weight  *int               `json:"weight"`
	Lanes   *[]penstock.Lane   `json:"lanes"`
	Regions *[]string          `json:"regions"`
	Models  *[]string          `json:"models"`

	MediaHosts *[]string `json:"media_hosts"`

	Retention *tenantRetention `json:"retention"`
	allowanceFields
}

// apply edits a tenant. Codes: invalid_request.
func (f tenantFields) apply(t *store.TenantRecord) error {
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
	return f.allowanceFields.apply(t)
}

func (c tenants) list() error {
	limit, err := c.PageLimit(pageSize)
	if err != nil {
		return err
	}
	query := c.R.URL.Query()
	all, err := c.Tenants.ListTenants(c.R.Context(), store.TenantFilter{
		Tier: query.Get("tier"), After: penstock.TenantID(query.Get("after")), Limit: limit + 1,
	})
	if err != nil {
		return err
	}
	page := rest.Page[tenantView]{Object: "list", Data: []tenantView{}, HasMore: len(all) > limit}
	for _, t := range all[:min(limit, len(all))] {
		page.Data = append(page.Data, c.view(t))
	}
	return c.JSON(http.StatusOK, page)
}

func (c tenants) id() penstock.TenantID { return penstock.TenantID(c.R.PathValue("tenant")) }

func (c tenants) read() error {
	found, err := c.Tenants.ListTenants(c.R.Context(), store.TenantFilter{ID: c.id(), Limit: 1})
	if err == nil && len(found) == 0 {
		err = penstock.Errorf(penstock.CodeNotFound, "There is no tenant %q.", c.id())
	}
	if err != nil {
		return err
	}
	c.W.Header().Set("ETag", rest.ETag(found[0].Version))
	return c.JSON(http.StatusOK, c.view(found[0]))
}

func (c tenants) create() error {
	var fields tenantFields
	on, err := c.call.change(&fields)
	if err == nil && fields.ID == nil {
		err = penstock.InvalidParam("id", "id is missing; it is the tenant's name in logs, metrics and bills.")
	}
	if err != nil {
		return err
	}
	t, err := c.Editor.CreateTenant(c.R.Context(), *fields.ID, fields.apply, on)
	return c.answer(http.StatusCreated, t, on, err)
}

func (c tenants) change() error {
	var fields tenantFields
	on, err := c.call.change(&fields)
	if err == nil && fields.ID != nil && *fields.ID != c.id() {
		err = penstock.InvalidParam("id", "id cannot be changed: jobs and books name the tenant by it.")
	}
	if err != nil {
		return err
	}
	t, err := c.Editor.ChangeTenant(c.R.Context(), c.id(), fields.apply, on)
	return c.answer(http.StatusOK, t, on, err)
}

func (c tenants) delete() error {
	on, err := c.condition()
	if err != nil {
		return err
	}
	t, err := c.Editor.DeleteTenant(c.R.Context(), c.id(), on)
	return c.answer(http.StatusOK, t, on, err)
}

// answer answers a change with the tenant as it is now, or would be.
func (c tenants) answer(status int, t store.TenantRecord, on store.Condition, err error) error {
	if err != nil {
		return err
	}
	view := c.view(t)
	if view.DryRun = on.DryRun; view.DryRun {
		return c.JSON(http.StatusOK, view)
	}
	c.W.Header().Set("ETag", view.ETag)
	return c.JSON(status, view)
}
