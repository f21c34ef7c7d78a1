package api

import (
	"penstock"
	"penstock/internal/dialect/line"
	"penstock/internal/rest"
	"penstock/internal/store"
)

var (
	etagParam  = rest.Param{Name: "If-None-Match", In: "header", About: "The ETag of an earlier answer; 304 while the job has not changed since."}
	batchParam = rest.Param{Name: "id", In: "path", About: "The batch's id, batch_….", Required: true}

	messageBatchParam = rest.Param{Name: "id", In: "path", About: "The batch's id, msgbatch_….", Required: true}

	// batchRoutes are the routes of items, result files and batches.
	batchRoutes = []rest.Route{
		{Method: "GET", Path: "/v1/jobs/{id}/items", Scope: penstock.ScopeJobsRead, Summary: "List the items of a job in input order, in every status",
			Params: []rest.Param{jobParam, limitPage, {Name: "after", In: "query", About: "The next_after of the previous page, or its last id."},
				{Name: "status", In: "query", About: "Only items in this status, such as failed."},
				{Name: "custom_id", In: "query", About: "Only the item with this custom id. One call looks at 100,000 items."}},
			Answers: []rest.Answer{{Status: 200, About: "A page of items, without their responses.", Body: rest.CursorPage[listedItemView]{}}}, Serve: on(jobs.listItems)},
		{Method: "POST", Path: "/v1/jobs/{id}/results/url", Audit: auditNothing, Payload: rest.PayloadAlways, Scope: penstock.ScopeJobsRead,
			Summary: "Make a link that downloads all results of a job, without a key",
			Params:  []rest.Param{jobParam}, Body: linkCreate{}, NoBody: true,
			Answers: []rest.Answer{{Status: 200, About: "Everyone who has the link can download the results until the link expires. 409 until the results are written: soon after the end of a job over a file, and soon after the first call of this route for another job.",
				Body: linkView{}}}, Serve: on(jobs.createResultsLink)},
		{Method: "POST", Path: "/v1/batches", Audit: auditJob, Scope: penstock.ScopeJobsWrite, Summary: "Run a file of requests, as OpenAI's batches do",
			Params: []rest.Param{keyParam}, Body: batchCreate{},
			Answers: []rest.Answer{{Status: 200, About: "The batch: a job in the lane bulk with the same id after the prefix batch_. A batch that cannot run has the status failed, with its errors.",
				Body: batchView{}}}, Serve: on(batches.createBatch)},
		{Method: "GET", Path: "/v1/batches", Scope: penstock.ScopeJobsRead, Summary: "List batches, newest first",
			Params:  []rest.Param{limitPage, {Name: "after", In: "query", About: "The last id of the previous page."}},
			Answers: []rest.Answer{{Status: 200, About: "A page of batches.", Body: batchPageView{}}}, Serve: on(batches.listBatches)},
		{Method: "GET", Path: "/v1/batches/{id}", Scope: penstock.ScopeJobsRead, Summary: "Read a batch",
			Params: []rest.Param{batchParam}, Answers: []rest.Answer{{Status: 200, About: "The batch.", Body: batchView{}}}, Serve: on(batches.readBatch)},
		{Method: "POST", Path: "/v1/batches/{id}/cancel", Audit: auditJob, People: stoppers, Scope: penstock.ScopeJobsWrite, Summary: "Cancel a batch",
			Params:  []rest.Param{batchParam},
			Answers: []rest.Answer{{Status: 200, About: "The batch is being cancelled; finished requests keep their results.", Body: batchView{}}}, Serve: on(batches.cancelBatch)},
		{Method: "POST", Path: "/v1/messages/batches", Audit: auditJob, Scope: penstock.ScopeJobsWrite, Summary: "Run a list of messages, as Anthropic's message batches do",
			Params: []rest.Param{keyParam, versionParam, windowParam}, Body: messageBatchCreate{}, Words: &anthropicWording,
			Answers: []rest.Answer{{Status: 200, About: "The batch: a job in the lane bulk with the same id after the prefix msgbatch_, and one more for each further model that its requests name.", Body: messageBatchView{}}},
			Serve:   on(messageBatches.createMessageBatch)},
		{Method: "GET", Path: "/v1/messages/batches", Scope: penstock.ScopeJobsRead, Summary: "List message batches, newest first", Words: &anthropicWording,
			Params: []rest.Param{versionParam, {Name: "limit", In: "query", About: "The most batches in a page: 1 to 1000, 20 when not given."},
				{Name: "after_id", In: "query", About: "The last_id of the previous page."}, {Name: "before_id", In: "query", About: "The first_id of the next page."}},
			Answers: []rest.Answer{{Status: 200, About: "A page of message batches.", Body: messageBatchPageView{}}}, Serve: on(messageBatches.listMessageBatches)},
		{Method: "GET", Path: "/v1/messages/batches/{id}", Scope: penstock.ScopeJobsRead, Summary: "Read a message batch", Words: &anthropicWording,
			Params: []rest.Param{messageBatchParam, versionParam}, Answers: []rest.Answer{{Status: 200, About: "The batch.", Body: messageBatchView{}}}, Serve: on(messageBatches.readMessageBatch)},
		{Method: "POST", Path: "/v1/messages/batches/{id}/cancel", Audit: auditJob, People: stoppers, Scope: penstock.ScopeJobsWrite, Summary: "Cancel a message batch", Words: &anthropicWording,
			Params:  []rest.Param{messageBatchParam, versionParam},
			Answers: []rest.Answer{{Status: 200, About: "The batch is being cancelled; finished requests keep their results.", Body: messageBatchView{}}}, Serve: on(messageBatches.cancelMessageBatch)},
		{Method: "DELETE", Path: "/v1/messages/batches/{id}", Audit: rest.Audit{Action: store.ActionDeleteJob}, Scope: penstock.ScopeJobsWrite, Summary: "Delete a message batch that has ended", Words: &anthropicWording,
			Params:  []rest.Param{messageBatchParam, versionParam},
			Answers: []rest.Answer{{Status: 200, About: "The batch is deleted with its requests and results.", Body: messageBatchDeletedView{}}}, Serve: on(messageBatches.deleteMessageBatch)},
		{Method: "GET", Path: "/v1/messages/batches/{id}/results", Payload: rest.PayloadAlways, Scope: penstock.ScopeJobsRead, Summary: "Read the results of a message batch that has ended",
			Params: []rest.Param{messageBatchParam, versionParam}, Words: &anthropicWording,
			Answers: []rest.Answer{{Status: 200, About: "One line of JSON for each request.", Type: typeAnthropicJSONL, Body: line.MessageBatchLine{}}}, Serve: on(messageBatches.messageBatchResults)},
	}
)
