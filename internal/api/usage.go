package api

import (
	"net/http"

	"penstock"
	"penstock/internal/rest"
	"penstock/internal/usage"
)

// usageRoutes report usage and cost.
var usageRoutes = []rest.Route{
	{Method: "GET", Path: "/v1/usage", Scope: penstock.ScopeJobsRead, Summary: "Report usage and cost",
		Params: []rest.Param{
			{Name: "group_by", In: "query", About: "The dimensions of the report: some of tenant, key, model, lane, day, tag (all tags of a job) and tag:NAME, separated by commas. Without it, only the total."},
			{Name: "from", In: "query", About: "The first day, such as 2026-11-01, of UTC; the first of this month when not given."},
			{Name: "to", In: "query", About: "The last day; today when not given. 366 days at the most."},
			{Name: "key", In: "query", About: "Only the usage of this key."},
			{Name: "model", In: "query", About: "Only the usage of this model."},
			{Name: "lane", In: "query", About: "Only the usage in this lane."},
			{Name: "tag", In: "query", About: "Only the usage with this tag, as key:value."},
			{Name: "top", In: "query", About: "How many groups to report, 1 to 100: those with the highest cost in the whole time. The others become one line with other: true, for each day if the report is grouped by day. All groups when not given."},
			{Name: "format", In: "query", About: "json or csv; without it, csv for a caller that accepts text/csv."}},
		Answers: []rest.Answer{{Status: 200, About: "The report. It also covers jobs that were deleted.", Body: usage.Report{}},
			{Status: 200, About: "The same as CSV; its last line is the total.", Type: "text/csv"}},
		Serve: on(reports.reportUsage)},
}

func (c reports) reportUsage() error {
	query := c.R.URL.Query()
	q, err := usage.Read(usage.TermsOf(query), c.Clock())
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
		panic(http.ErrAbortHandler) // the only way to show a caller that the report is incomplete
	}
	if err != nil {
		c.W.Header().Del("Content-Type")
	}
	return err
}
