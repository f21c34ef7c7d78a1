package api

import (
	"penstock"
	"penstock/internal/dialect/line"
)

var (
	etagParam  = param{Name: "If-None-Match", In: "header", About: "The ETag of an earlier answer; 304 while nothing became of the job since."}
	batchParam = param{Name: "id", In: "path", About: "The batch's id, batch_….", Required: true}

	messageBatchParam = param{Name: "id", In: "path", About: "The batch's id, msgbatch_….", Required: true}

	// batchRoutes are what large jobs need beside other jobs.
	batchRoutes = []route{
		{Method: "GET", Path: "/v1/jobs/{id}/items", Scope: penstock.ScopeJobsRead, Summary: "List the items of a job in input order, whatever became of them",
			Params: []param{jobParam, limitPage, {Name: "after", In: "query", About: "The last id of the page before."},
				{Name: "status", In: "query", About: "Only items in this status, such as failed."}},
			Answers: []answer{{Status: 200, About: "A page of items, without their responses.", Body: page[listedItemView]{}}}, serve: (*call).listItems},
		{Method: "POST", Path: "/v1/jobs/{id}/results/url", Scope: penstock.ScopeJobsRead,
			Summary: "Make a link that downloads all results of a job, without a key",
			Params:  []param{jobParam}, Body: linkCreate{}, NoBody: true,
			Answers: []answer{{Status: 200, About: "Whoever has the link can download the results until it ends. 409 until they are written: soon after the end of a job over a file, and of others soon after they were asked for.",
				Body: linkView{}}}, serve: (*call).createResultsLink},
		{Method: "POST", Path: "/v1/batches", Scope: penstock.ScopeJobsWrite, Summary: "Run a file of requests, as OpenAI's batches do",
			Params: []param{keyParam}, Body: batchCreate{},
			Answers: []answer{{Status: 200, About: "The batch: a job in the lane bulk whose id is the same behind batch_. One that cannot run has failed, with its errors.",
				Body: batchView{}}}, serve: (*call).createBatch},
		{Method: "GET", Path: "/v1/batches", Scope: penstock.ScopeJobsRead, Summary: "List batches, newest first",
			Params:  []param{limitPage, {Name: "after", In: "query", About: "The last id of the page before."}},
			Answers: []answer{{Status: 200, About: "A page of batches.", Body: batchPageView{}}}, serve: (*call).listBatches},
		{Method: "GET", Path: "/v1/batches/{id}", Scope: penstock.ScopeJobsRead, Summary: "Read a batch",
			Params: []param{batchParam}, Answers: []answer{{Status: 200, About: "The batch.", Body: batchView{}}}, serve: (*call).readBatch},
		{Method: "POST", Path: "/v1/batches/{id}/cancel", Scope: penstock.ScopeJobsWrite, Summary: "Cancel a batch",
			Params:  []param{batchParam},
			Answers: []answer{{Status: 200, About: "The cancel is noted; finished requests keep their results.", Body: batchView{}}}, serve: (*call).cancelBatch},
		{Method: "POST", Path: "/v1/messages/batches", Scope: penstock.ScopeJobsWrite, Summary: "Run a list of messages, as Anthropic's message batches do",
			Params: []param{keyParam, versionParam, windowParam}, Body: messageBatchCreate{}, words: &anthropicWording,
			Answers: []answer{{Status: 200, About: "The batch: a job in the lane bulk whose id is the same behind msgbatch_, and one more for each further model that its requests name.", Body: messageBatchView{}}},
			serve:   (*call).createMessageBatch},
		{Method: "GET", Path: "/v1/messages/batches", Scope: penstock.ScopeJobsRead, Summary: "List message batches, newest first", words: &anthropicWording,
			Params: []param{versionParam, {Name: "limit", In: "query", About: "Batches a page holds at the most: 1 to 1000, 20 when not given."},
				{Name: "after_id", In: "query", About: "The last_id of the page before."}, {Name: "before_id", In: "query", About: "The first_id of the page behind."}},
			Answers: []answer{{Status: 200, About: "A page of message batches.", Body: messageBatchPageView{}}}, serve: (*call).listMessageBatches},
		{Method: "GET", Path: "/v1/messages/batches/{id}", Scope: penstock.ScopeJobsRead, Summary: "Read a message batch", words: &anthropicWording,
			Params: []param{messageBatchParam, versionParam}, Answers: []answer{{Status: 200, About: "The batch.", Body: messageBatchView{}}}, serve: (*call).readMessageBatch},
		{Method: "POST", Path: "/v1/messages/batches/{id}/cancel", Scope: penstock.ScopeJobsWrite, Summary: "Cancel a message batch", words: &anthropicWording,
			Params:  []param{messageBatchParam, versionParam},
			Answers: []answer{{Status: 200, About: "The cancel is noted; finished requests keep their results.", Body: messageBatchView{}}}, serve: (*call).cancelMessageBatch},
		{Method: "DELETE", Path: "/v1/messages/batches/{id}", Scope: penstock.ScopeJobsWrite, Summary: "Delete a message batch that has ended", words: &anthropicWording,
			Params:  []param{messageBatchParam, versionParam},
			Answers: []answer{{Status: 200, About: "It is gone with its requests and results.", Body: messageBatchDeletedView{}}}, serve: (*call).deleteMessageBatch},
		{Method: "GET", Path: "/v1/messages/batches/{id}/results", Scope: penstock.ScopeJobsRead, Summary: "Read the results of a message batch that has ended",
			Params: []param{messageBatchParam, versionParam}, words: &anthropicWording,
			Answers: []answer{{Status: 200, About: "One line of JSON for each request.", Type: typeAnthropicJSONL, Body: line.MessageBatchLine{}}}, serve: (*call).messageBatchResults},
	}
)
