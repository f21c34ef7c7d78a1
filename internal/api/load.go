package api

import (
	"net/http"

	"penstock"
	"penstock/internal/backlog"
	"penstock/internal/rest"
)

// loadRoutes report the queue of a tenant.
var loadRoutes = []rest.Route{
	{Method: "GET", Path: "/v1/load", Scope: penstock.ScopeJobsRead, Summary: "Report your queued and running work, by lane and by model",
		Answers: []rest.Answer{{Status: 200, About: "The work of your tenant, over all processes. It shows nothing of other tenants.", Body: backlog.TenantReport{}}},
		Serve:   on(reports.reportLoad)},
}

func (c reports) reportLoad() error {
	return c.JSON(http.StatusOK, c.Queue(c.Principal.Tenant.ID))
}
