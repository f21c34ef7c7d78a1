package admin

import (
	"net/http/pprof"
	"reflect"
	"slices"

	"penstock"
	"penstock/internal/backlog"
	"penstock/internal/config"
	"penstock/internal/live"
	"penstock/internal/rest"
	"penstock/internal/store"
	"penstock/internal/usage"
)

// Surface is the admin API, to be described.
func Surface() rest.Surface {
	s := rest.Surface{
		Routes: routes, Enums: rest.Enums{}, ParamTypes: map[string]reflect.Type{"dry_run": reflect.TypeFor[bool](), "force": reflect.TypeFor[bool]()},
		Tags: []rest.Tag{{Name: "admin", Description: "The API of operators, on a listener of its own (`admin_listen`). It accepts the admin key, and keys with the scope admin: " +
			"both have the role admin, which includes all other roles. The audit records every change with its `actor`."}},
		Both: []reflect.Type{reflect.TypeFor[penstock.Limits](), reflect.TypeFor[tenantLimits](), reflect.TypeFor[tenantRetention](), reflect.TypeFor[config.Budget]()},
	}
	rest.Enumerate(s.Enums, penstock.AllScopes)
	rest.Enumerate(s.Enums, penstock.Roles)
	rest.Enumerate(s.Enums, store.ControlKinds)
	rest.Enumerate(s.Enums, live.Types)
	rest.Enumerate(s.Enums, live.Topics)
	return s
}

// The roles that routes need, beside admin.
var (
	viewers  = rest.Readers
	auditors = []penstock.Role{penstock.RoleAuditor}
	managers = []penstock.Role{penstock.RoleOperator}
	admins   = []penstock.Role{penstock.RoleAdmin}
)

var (
	actorParam  = rest.Param{Name: "actor", In: "query", About: "The actor that the audit names. With the admin key: this text, or the caller's address if it is empty. With another key: this text, followed by the name of that key."}
	dryRun      = rest.Param{Name: "dry_run", In: "query", About: "true: change nothing, and return the result that the change would have."}
	matchParam  = rest.Param{Name: "If-Match", In: "header", About: "An ETag. If the object was changed since, the answer is 412 and nothing is done."}
	absentParam = rest.Param{Name: "If-None-Match", In: "header", About: "*: if the object exists already, the answer is 412 and nothing is done."}
	tenantParam = rest.Param{Name: "tenant", In: "path", About: "The tenant's id.", Required: true}
	keyParam    = rest.Param{Name: "key", In: "path", About: "The key's id, key_….", Required: true}
	limitParam  = rest.Param{Name: "limit", In: "query", About: "The most entries in a page: 1 to 1000, 100 when not given."}
	afterParam  = rest.Param{Name: "after", In: "query", About: "The last id of the previous page."}
	kindParam   = rest.Param{Name: "kind", In: "path", About: "lane, model, target or tenant.", Required: true}
	nameParam   = rest.Param{Name: "name", In: "path", About: "The name of the lane, model, target or tenant.", Required: true}
)

// changing are the parameters of every change, behind others.
func changing(others ...rest.Param) []rest.Param {
	return append(others, actorParam, dryRun, matchParam)
}

// routes is the whole surface.
var routes = slices.Concat(coreRoutes, memberRoutes, liveRoutes, fleetRoutes, configRoutes, overviewRoutes, forecastRoutes)

// coreRoutes are the routes that have no table of their own in another file.
var coreRoutes = []rest.Route{
	{Method: "GET", Path: "/admin/v1/tenants", Roles: admins, Summary: "List tenants, by id",
		Params:  []rest.Param{{Name: "tier", In: "query", About: "Only tenants of this tier."}, limitParam, afterParam},
		Answers: []rest.Answer{{Status: 200, About: "A page of tenants.", Body: rest.Page[tenantView]{}}}, Serve: on(tenants.list)},
	{Method: "POST", Path: "/admin/v1/tenants", Audit: rest.Audit{Action: store.ActionCreateTenant}, Roles: admins, Summary: "Create a tenant", Params: changing(), Body: tenantFields{},
		Answers: []rest.Answer{{Status: 201, About: "The tenant, with an ETag.", Body: tenantView{}, Example: exampleTenant},
			{Status: 200, About: "With dry_run: the tenant as it would be.", Body: tenantView{}}}, Serve: on(tenants.create)},
	{Method: "GET", Path: "/admin/v1/tenants/{tenant}", Roles: admins, Summary: "Read a tenant", Params: []rest.Param{tenantParam},
		Answers: []rest.Answer{{Status: 200, About: "The tenant, with an ETag.", Body: tenantView{}, Example: exampleTenant}}, Serve: on(tenants.read)},
	{Method: "PATCH", Path: "/admin/v1/tenants/{tenant}", Audit: rest.Audit{Action: store.ActionChangeTenant}, Roles: admins, Summary: "Change, enable or disable a tenant",
		Params: changing(tenantParam), Body: tenantFields{},
		Answers: []rest.Answer{{Status: 200, About: "The tenant as it is now, with an ETag.", Body: tenantView{}}}, Serve: on(tenants.change)},
	{Method: "DELETE", Path: "/admin/v1/tenants/{tenant}", Audit: rest.Audit{Action: store.ActionDeleteTenant}, Roles: admins, Summary: "Disable a tenant and revoke all its keys, for good; its work is kept for its retention time",
		Params:  changing(tenantParam),
		Answers: []rest.Answer{{Status: 200, About: "The tenant as it is now.", Body: tenantView{}}}, Serve: on(tenants.delete)},
	{Method: "GET", Path: "/admin/v1/keys", Roles: admins, Summary: "List keys, oldest first; with tenant, the first page begins with the tenant's keys in the configuration file",
		Params:  []rest.Param{{Name: "tenant", In: "query", About: "Only keys of this tenant."}, limitParam, afterParam},
		Answers: []rest.Answer{{Status: 200, About: "A page of keys, without their secrets.", Body: rest.Page[keyView]{}}}, Serve: on(keys.list)},
	{Method: "POST", Path: "/admin/v1/keys", Audit: rest.Audit{Action: store.ActionCreateKey}, Roles: admins, Summary: "Create a key", Params: changing(), Body: keyFields{},
		Answers: []rest.Answer{{Status: 201, About: "The key with its secret, which is not shown again.", Body: keyView{}, Example: exampleKey},
			{Status: 200, About: "With dry_run: the key as it would be.", Body: keyView{}}}, Serve: on(keys.create)},
	{Method: "PATCH", Path: "/admin/v1/keys/{key}", Audit: rest.Audit{Action: store.ActionChangeKey}, Roles: admins, Summary: "Change the limits and the budgets of a key",
		Params: changing(keyParam), Body: keyAllowance{},
		Answers: []rest.Answer{{Status: 200, About: "The key as it is now, with an ETag.", Body: keyView{}}}, Serve: on(keys.change)},
	{Method: "POST", Path: "/admin/v1/keys/{key}/rotate", Audit: rest.Audit{Action: store.ActionRotateKey}, Roles: admins, Summary: "Replace a key by a new one; the old key works until the overlap ends",
		Params: changing(keyParam), Body: keyRotation{}, NoBody: true,
		Answers: []rest.Answer{{Status: 201, About: "The new key with its secret, which is not shown again.", Body: keyView{}},
			{Status: 200, About: "With dry_run: the new key as it would be.", Body: keyView{}}}, Serve: on(keys.rotate)},
	{Method: "DELETE", Path: "/admin/v1/keys/{key}", Audit: rest.Audit{Action: store.ActionRevokeKey}, Roles: admins, Summary: "Revoke a key, in every process within a second",
		Params: changing(keyParam), Answers: []rest.Answer{{Status: 200, About: "The key as it is now.", Body: keyView{}}}, Serve: on(keys.revoke)},
	{Method: "GET", Path: "/admin/v1/controls", Roles: viewers, Summary: "List the lanes, models, targets and tenants that are paused or draining",
		Answers: []rest.Answer{{Status: 200, About: "All of them.", Body: controlList{}}}, Serve: on(controls.list)},
	{Method: "PUT", Path: "/admin/v1/controls/{kind}/{name...}", Audit: rest.Audit{Action: store.ActionSetControl}, Roles: managers, Summary: "Pause or drain a lane, model, target or tenant",
		Params: changing(kindParam, nameParam, absentParam), Body: controlChange{},
		Answers: []rest.Answer{{Status: 200, About: "The state as it is now, with an ETag.", Body: controlView{}, Example: exampleControl}}, Serve: on(controls.set)},
	{Method: "DELETE", Path: "/admin/v1/controls/{kind}/{name...}", Audit: rest.Audit{Action: store.ActionLiftControl}, Roles: managers, Summary: "Resume a lane, model, target or tenant",
		Params:  changing(kindParam, nameParam),
		Answers: []rest.Answer{{Status: 200, About: "The state as it is now.", Body: controlView{}}}, Serve: on(controls.lift)},
	{Method: "POST", Path: "/admin/v1/config/reload", Audit: rest.Audit{Action: store.ActionReload}, Roles: managers, Summary: "Read the configuration file again and apply it",
		Params: []rest.Param{actorParam, dryRun, {Name: "force", In: "query", About: "true: apply it even if open jobs lose a target."}},
		Answers: []rest.Answer{{Status: 200, About: "The changes that the reload made, or would make. 409 if open jobs would lose a target; 400 if the configuration is not valid. The audit records nothing if nothing changed.",
			Body: reloadView{}}}, Serve: on(process.reload)},
	{Method: "GET", Path: "/admin/v1/usage", Roles: viewers, TenantParam: "tenant", Summary: "Report the usage and cost of one tenant or of all tenants",
		Params: []rest.Param{
			{Name: "group_by", In: "query", About: "As in GET /v1/usage; the report is grouped by tenant too, unless merge_tenants is true."},
			{Name: "merge_tenants", In: "query", About: "true: add the groups of all tenants up. false when not given."},
			{Name: "from", In: "query", About: "The first day, such as 2026-11-01, of UTC; the first of this month when not given."},
			{Name: "to", In: "query", About: "The last day; today when not given. 366 days at the most."},
			{Name: "key", In: "query", About: "Only the usage of keys with this name."},
			{Name: "model", In: "query", About: "Only the usage of this model."},
			{Name: "lane", In: "query", About: "Only the usage in this lane."},
			{Name: "tag", In: "query", About: "Only the usage with this tag, as key:value."},
			{Name: "top", In: "query", About: "How many groups to report, 1 to 100: those with the highest cost in the whole time. The others become one line with other: true, for each day if the report is grouped by day. All groups when not given."},
			{Name: "format", In: "query", About: "json or csv; without it, csv for a caller that accepts text/csv."},
			{Name: "tenant", In: "query", About: "Only this tenant."}},
		Answers: []rest.Answer{{Status: 200, About: "The report, sent while it is made.", Body: usage.Report{}},
			{Status: 200, About: "The same as CSV; its last line is the total.", Type: "text/csv"}}, Serve: on(reports.usage)},
	{Method: "GET", Path: "/admin/v1/budgets", Roles: viewers, TenantParam: "tenant", Summary: "List the budgets of a tenant or of all tenants, each with the amount left",
		Params:  []rest.Param{{Name: "tenant", In: "query", About: "Only those of this tenant."}},
		Answers: []rest.Answer{{Status: 200, About: "All of a tenant. Of all tenants, whole tenants in the order of their ids, until there are 1,000 budgets.", Body: rest.Page[balanceView]{}}}, Serve: on(reports.budgets)},
	{Method: "GET", Path: "/admin/v1/audit", Roles: auditors, TenantParam: "tenant", Summary: "List the changes that the audit recorded, newest first",
		Params: []rest.Param{{Name: "tenant", In: "query", About: "The tenant whose entries to list; - for the entries that concern no tenant, and * for all entries.", Required: true},
			{Name: "actor", In: "query", About: "Only changes by this actor. For a person, the name and the address without the session select all sessions."},
			{Name: "action", In: "query", About: "Only this action, such as key.revoke, or all actions on a kind of object, such as key."},
			{Name: "subject", In: "query", About: "Only changes of this object, by its id."},
			{Name: "created_after", In: "query", About: "Only entries from this time on."},
			{Name: "created_before", In: "query", About: "Only entries before this time."},
			{Name: "limit", In: "query", About: "The most entries in a page: 1 to 100, 20 when not given."}, afterParam},
		Answers: []rest.Answer{{Status: 200, About: "A page of entries.", Body: rest.Page[auditEntryView]{}}}, Serve: on(reports.audit)},
	{Method: "GET", Path: "/admin/v1/load", Roles: viewers, Summary: "Report the load: the queue over all processes, and the targets as seen by this process",
		Answers: []rest.Answer{{Status: 200, About: "The report.", Body: backlog.LoadReport{}}}, Serve: on(reports.load)},
	{Method: "GET", Path: "/metrics", Roles: viewers, Without: scraper, AnyQuery: true, Summary: "Read metrics, for Prometheus. Needs no key over loopback; elsewhere admin.metrics_key is enough",
		Answers: []rest.Answer{{Status: 200, About: "Metrics in Prometheus's text format.", Type: rest.TypeText}}, Serve: on(process.metrics)},

	// The same as on the public listener, or no API: not in the document.
	{Method: "GET", Path: "/healthz", Open: true, AnyQuery: true, Hidden: true, Serve: on(process.healthz)},
	{Method: "GET", Path: "/readyz", Open: true, AnyQuery: true, Hidden: true, Serve: on(process.readyz)},
	{Method: "GET", Path: "/openapi.json", Open: true, Hidden: true, Serve: on(process.document)},
	{Method: "GET", Path: "/debug/pprof/", Roles: managers, Without: local, AnyQuery: true, Hidden: true, Serve: raw(pprof.Index)},
	{Method: "GET", Path: "/debug/pprof/cmdline", Roles: managers, Without: local, AnyQuery: true, Hidden: true, Serve: raw(pprof.Cmdline)},
	{Method: "GET", Path: "/debug/pprof/profile", Roles: managers, Without: local, AnyQuery: true, Hidden: true, Serve: raw(pprof.Profile)},
	{Method: "GET", Path: "/debug/pprof/symbol", Roles: managers, Without: local, AnyQuery: true, Hidden: true, Serve: raw(pprof.Symbol)},
	{Method: "GET", Path: "/debug/pprof/trace", Roles: managers, Without: local, AnyQuery: true, Hidden: true, Serve: raw(pprof.Trace)},
}
