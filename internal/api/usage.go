package api

import (
	"net/http"

	"penstock"
	"penstock/internal/rest"
	"penstock/internal/usage"
)

// usageRoutes report what was spent.
var usageRoutes = []rest.Route{
	{Method: "GET", Path: "/v1/usage", Scope: penstock.ScopeJobsRead, Summary: "Report what was spent",
		Params: []rest.Param{
			{Name: "group_by", In: "query", About: "What to tell apart: some of tenant, key, model, lane, day, tag (all tags of a job) and tag:NAME, divided by commas. Without it, the total alone."},
			{Name: "from", In: "query", About: "The first day, such as 2026-11-01, of UTC; the first of this month when not given."},
			{Name: "to", In: "query", About: "The last day; today when not given. 366 days at the most."},
			{Name: "format", In: "query", About: "json or csv; without it, csv for a caller that accepts text/csv."}},
		Answers: []rest.Answer{{Status: 200, About: "The report, written as it is made. It does not need the jobs, which may be deleted.", Body: usage.Report{}},
			{Status: 200, About: "The same as CSV; its last line is the total.", Type: "text/csv"}},
		Serve: on(reports.reportUsage)},
}

func (c reports) reportUsage() error {
	query := c.R.URL.Query()
	q, err := usage.Read(usage.Terms{From: query.Get("from"), To: query.Get("to"), GroupBy: query.Get("group_by")}, c.Clock())
	if err != nil {
		return err
	}
	format, ok := usage.FormatOf(query.Get("format"), c.R.Header.Get("Accept"))
	if !ok {
		return penstock.InvalidParam("format", "format must be json or csv.")
	}
	c.W.Header().Set("Content-Type", format.MediaType())
	begun, err := c.Usage.Write(c.R.Context(), usage.Scope{Tenants: []penstock.TenantID{c.Principal.Tenant.ID}, Query: q}, format, c.W)
	if err != nil && begun {
		panic(http.ErrAbortHandler) // the only way to tell a caller that the report is not whole
	}
	if err != nil {
		c.W.Header().Del("Content-Type")
	}
	return err
}
