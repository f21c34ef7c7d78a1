package admin

import (
	"net/http"

	"penstock"
	"penstock/internal/rest"
	"penstock/internal/rollup"
	"penstock/internal/usage"
)

// overviewRoutes report the recent past, and the cost of the month.
var overviewRoutes = []rest.Route{
	{Method: "GET", Path: "/admin/v1/overview", Roles: viewers, Summary: "Report the last hour or day of all tenants in figures and series",
		Params:  []rest.Param{{Name: "window", In: "query", About: "hour (in steps of a minute) or day (in steps of 15 minutes); hour when not given."}},
		Answers: []rest.Answer{{Status: 200, About: "The figures, over all processes, for trends; the ledger is exact.", Body: rollup.Overview{}}},
		Serve:   on(reports.overview)},
	{Method: "GET", Path: "/admin/v1/usage/forecast", Roles: viewers, TenantParam: "tenant", Summary: "Forecast the cost of this month, of one tenant or of all tenants",
		Params:  []rest.Param{{Name: "tenant", In: "query", About: "Only this tenant."}},
		Answers: []rest.Answer{{Status: 200, About: "The cost so far, and the expected cost of the month.", Body: usage.MonthForecast{}}}, Serve: on(reports.forecastUsage)},
}

func (c reports) overview() error {
	w, err := rollup.ReadWindow(c.R.URL.Query().Get("window"))
	if err != nil {
		return err
	}
	v, err := c.Overviews.Overview(c.R.Context(), "", w)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, v)
}

func (c reports) forecastUsage() error {
	f, err := c.Daily.Month(c.R.Context(), penstock.TenantID(c.R.URL.Query().Get("tenant")))
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, f)
}
