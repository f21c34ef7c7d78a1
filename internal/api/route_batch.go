package api

import "penstock"

var (
	etagParam = param{Name: "If-None-Match", In: "header", About: "The ETag of an earlier answer; 304 while nothing became of the job since."}

	// batchRoutes are what large jobs need beside other jobs.
	batchRoutes = []route{
		{Method: "GET", Path: "/v1/jobs/{id}/items", Scope: penstock.ScopeJobsRead, Summary: "List the items of a job in input order, whatever became of them",
			Params: []param{jobParam, limitPage, {Name: "after", In: "query", About: "The last id of the page before."},
				{Name: "status", In: "query", About: "Only items in this status, such as failed."}},
			Answers: []answer{{Status: 200, About: "A page of items, without their responses.", Body: page[listedItemView]{}}}, serve: (*call).listItems},
		{Method: "POST", Path: "/v1/jobs/{id}/results/url", Scope: penstock.ScopeJobsRead,
			Summary: "Make a link that downloads all results of a job over a file, without a key",
			Params:  []param{jobParam}, Body: linkCreate{}, NoBody: true,
			Answers: []answer{{Status: 200, About: "Whoever has the link can download the results until it ends. 409 until they are written, soon after the job's end.",
				Body: linkView{}}}, serve: (*call).createResultsLink},
	}
)
