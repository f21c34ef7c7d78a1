package api

import (
	"net/http"

	"penstock"
	"penstock/internal/rest"
	"penstock/internal/rollup"
	"penstock/internal/usage"
)

// overviewRoutes report the recent past, and the cost of the month.
var overviewRoutes = []rest.Route{
	{Method: "GET", Path: "/v1/overview", Scope: penstock.ScopeJobsRead, Summary: "Report the last hour or day in figures and series",
		Params:  []rest.Param{{Name: "window", In: "query", About: "hour (in steps of a minute) or day (in steps of 15 minutes); hour when not given."}},
		Answers: []rest.Answer{{Status: 200, About: "The figures of your tenant, over all processes, for trends; the ledger is exact. A process that is killed loses up to 15 s of them.", Body: rollup.Overview{}}},
		Serve:   on(reports.overview)},
	{Method: "GET", Path: "/v1/usage/forecast", Scope: penstock.ScopeJobsRead, Summary: "Forecast the cost of this month",
		Answers: []rest.Answer{{Status: 200, About: "The cost so far, and the expected cost of the month.", Body: usage.MonthForecast{}}}, Serve: on(reports.forecastUsage)},
}

func (c reports) overview() error {
	w, err := rollup.ReadWindow(c.R.URL.Query().Get("window"))
	if err != nil {
		return err
	}
	v, err := c.Overviews.Overview(c.R.Context(), c.Principal.Tenant.ID, w)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, v)
}

func (c reports) forecastUsage() error {
	f, err := c.Daily.Month(c.R.Context(), c.Principal.Tenant.ID)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, f)
}
