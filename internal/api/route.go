package api

import (
	"reflect"
	"slices"

	"penstock"
	"penstock/internal/dialect/anthropic"
	"penstock/internal/dialect/openai"
	"penstock/internal/rest"
	"penstock/internal/store"
)

// callOf returns the call of this surface.
func callOf(c *rest.Call) *call { return c.Of.(*call) }

// on makes the handler of a route from a method of a resource.
func on[R ~struct{ *call }](serve func(R) error) func(*rest.Call) error {
	return func(c *rest.Call) error { return serve(R{callOf(c)}) }
}

// The resources. Each answers the calls on some routes.
type (
	inferences     struct{ *call }
	responses      struct{ *call }
	conversations  struct{ *call }
	jobs           struct{ *call }
	trials         struct{ *call }
	items          struct{ *call }
	deadLetters    struct{ *call }
	files          struct{ *call }
	fileUploads    struct{ *call }
	batches        struct{ *call }
	messageBatches struct{ *call }
	webhooks       struct{ *call }
	models         struct{ *call }
	reports        struct{ *call }
	process        struct{ *call }
	lookups        struct{ *call }
)

var (
	jobParam     = rest.Param{Name: "id", In: "path", About: "The job's id, job_….", Required: true}
	fileParam    = rest.Param{Name: "id", In: "path", About: "The file's id, file_….", Required: true}
	rangeParam   = rest.Param{Name: "Range", In: "header", About: "bytes=N- resumes a download after N bytes; answered with 206."}
	itemParam    = rest.Param{Name: "id", In: "path", About: "The item's id, item_….", Required: true}
	waitParam    = rest.Param{Name: "Prefer", In: "header", About: "wait=N waits up to N seconds (60 at most) for the job to finish."}
	keyParam     = rest.Param{Name: "Idempotency-Key", In: "header", About: "Makes it safe to send the same call again: it returns the same job."}
	versionParam = rest.Param{Name: "anthropic-version", In: "header", About: "The version of Anthropic's API that the caller uses, such as 2023-06-01."}
	cacheParam   = rest.Param{Name: "x-penstock-cache", In: "header", About: "use: answer from the cache if the same tenant has made an identical call before. " +
		"refresh: make the call and cache its answer. off: make the call and do not cache its answer. Without it, the setting of the key or the model counts."}
	betaParam = rest.Param{Name: "anthropic-beta", In: "header", About: "Forwarded to targets that use Anthropic's dialect."}
	limitPage = rest.Param{Name: "limit", In: "query", About: "The most entries in a page: 1 to 100, 20 when not given."}
)

// The roles of people that rows name.
var (
	developers = []penstock.Role{penstock.RoleDeveloper}
	stoppers   = []penstock.Role{penstock.RoleDeveloper, penstock.RoleOperator} // who may stop work, and start stopped work again
)

// Why the audit log has no record of some calls: their effect has its own record.
var (
	auditJob      = rest.Audit{None: "The job's events are the record."}
	auditCall     = rest.Audit{None: "The call has its own record: GET /v1/requests/{id}."}
	auditFile     = rest.Audit{None: "The file is the record: it is never changed."}
	auditDelivery = rest.Audit{None: "The delivery and its attempts are the record."}
	auditNothing  = rest.Audit{None: "Nothing is changed."}
)

// passedOnAnswers are the answers of an inference endpoint.
var passedOnAnswers = []rest.Answer{{Status: 200, About: "The upstream's answer.", Body: rest.AnyObject{}},
	{Status: 200, About: "With stream: true, the upstream's stream.", Type: rest.TypeSSE, Body: rest.AnyObject{}}}

// deadLetterParams filter dead letters.
var deadLetterParams = []rest.Param{
	{Name: "job_id", In: "query", About: "Only those of this job."}, {Name: "model", In: "query", About: "Only those of this model."},
	{Name: "code", In: "query", About: "Only those that failed with this code."},
	{Name: "error_kind", In: "query", About: "Only those whose last upstream error was of this kind."},
	{Name: "fingerprint", In: "query", About: "Only those with this fingerprint."},
	{Name: "created_after", In: "query", About: "Only those that failed after this time, RFC 3339."},
	{Name: "created_before", In: "query", About: "Only those that failed up to this time, RFC 3339."},
}

// inAnthropicShape describes the answer of a path that both dialects have.
const inAnthropicShape = "In Anthropic's shape when anthropic-version is present."

// routes are all routes of the API.
var routes = slices.Concat(coreRoutes, listRoutes, requestRoutes, webhookRoutes, responseRoutes, conversationRoutes, batchRoutes, usageRoutes, storageRoutes, uploadRoutes, authRoutes, sessionRoutes, liveRoutes, loadRoutes, definitionRoutes, overviewRoutes, detailRoutes, progressRoutes, promptRoutes, playgroundRoutes)

// coreRoutes are the routes that have no table of their own in another file.
var coreRoutes = []rest.Route{
	{Method: "POST", Path: "/v1/jobs", Audit: auditJob, Waits: true, Scope: penstock.ScopeJobsWrite, Summary: "Submit a job",
		Params: []rest.Param{keyParam, waitParam}, Body: jobCreate{}, Example: jobExample,
		Answers: []rest.Answer{{Status: 202, About: "Accepted: it is on stable storage.", Body: jobView{}},
			{Status: 200, About: "Finished within the wait of Prefer.", Body: jobView{}},
			{Status: 200, About: "With dry_run: the predicted outcome.", Body: trialView{}}},
		Serve: on(jobs.submitJob)},
	{Method: "GET", Path: "/v1/jobs/{id}", Payload: rest.PayloadAsked, Scope: penstock.ScopeJobsRead, Summary: "Read a job",
		Params: []rest.Param{jobParam, waitParam, etagParam, rest.RevealParam},
		Answers: []rest.Answer{{Status: 200, About: "The current state of the job, with an ETag; 304 without a body while If-None-Match names it. " +
			"With Prefer: wait=N and If-None-Match it is a long poll: 200 at the next change, 304 after N seconds without a change.", Body: jobView{}},
			{Status: 202, About: "Not finished within the wait of Prefer.", Body: jobView{}}},
		Serve: on(jobs.readJob)},
	{Method: "POST", Path: "/v1/jobs/{id}/cancel", Audit: auditJob, People: stoppers, Scope: penstock.ScopeJobsWrite, Summary: "Cancel a job",
		Params:  []rest.Param{jobParam},
		Answers: []rest.Answer{{Status: 200, About: "The job is being cancelled; finished items keep their results.", Body: jobView{}}},
		Serve:   on(jobs.cancelJob)},
	{Method: "DELETE", Path: "/v1/jobs/{id}", Audit: rest.Audit{Action: store.ActionDeleteJob}, Scope: penstock.ScopeJobsWrite, Summary: "Delete a finished job with its inputs and results",
		Params:  []rest.Param{jobParam},
		Answers: []rest.Answer{{Status: 200, About: "The job is deleted; its Idempotency-Key will not run again.", Body: deletedView{}}},
		Serve:   on(jobs.deleteJob)},
	{Method: "POST", Path: "/v1/jobs/{id}/retry", Audit: rest.Audit{Action: store.ActionRetryJob}, People: stoppers, Scope: penstock.ScopeJobsWrite,
		Summary: "Retry the items of a job that failed, expired or were cancelled, in a new job",
		Params:  []rest.Param{jobParam, keyParam, waitParam}, Body: jobRetryOrder{}, NoBody: true,
		Answers: []rest.Answer{{Status: 202, About: "Accepted: the new job is on stable storage. An item is retried once; 409 when none is left.", Body: jobView{}},
			{Status: 200, About: "Finished within the wait of Prefer.", Body: jobView{}},
			{Status: 200, About: "With dry_run: the effect that the retry would have.", Body: retryTrialView{}}},
		Serve: on(jobs.retryJob)},
	{Method: "GET", Path: "/v1/jobs/{id}/results", Payload: rest.PayloadAlways, Scope: penstock.ScopeJobsRead, Summary: "Read results, at any time",
		Params: []rest.Param{jobParam, {Name: "after", In: "query", About: "Resume after this seq (order=completion) or index (order=input)."},
			{Name: "order", In: "query", About: "completion (default) or input. " +
				"In input order, the results of a running job end before its first unfinished item; read the rest later, with after."}, {Name: "status", In: "query", About: "Only items in this terminal status."}},
		Answers: []rest.Answer{{Status: 200, About: "One line of JSON for each finished item.", Type: rest.TypeJSONL, Body: resultView{}}},
		Serve:   on(items.streamResults)},
	{Method: "GET", Path: "/v1/jobs/{id}/events", Payload: rest.PayloadAlways, Scope: penstock.ScopeJobsRead, Summary: "Follow a job's events",
		Params: []rest.Param{jobParam, {Name: "after", In: "query", About: "Resume after this seq."},
			{Name: "Last-Event-ID", In: "header", About: "Resume after this seq, as browsers do."}},
		Answers: []rest.Answer{{Status: 200, About: "Server-sent events; the stream ends with job.finished.", Type: rest.TypeSSE, Body: eventView{}}},
		Serve:   on(items.streamEvents)},
	{Method: "GET", Path: "/v1/items/{id}", Payload: rest.PayloadAsked, Scope: penstock.ScopeJobsRead, Summary: "Read an item and its attempts",
		Params: []rest.Param{itemParam, rest.RevealParam}, Answers: []rest.Answer{{Status: 200, About: "The item. For people its response is null unless they reveal it.", Body: itemView{}}}, Serve: on(items.readItem)},
	{Method: "GET", Path: "/v1/dead_letters", Scope: penstock.ScopeJobsRead,
		Summary: "List failed items that were neither retried nor dismissed, grouped by the fingerprint of their error",
		Params:  append([]rest.Param{limitPage, {Name: "after", In: "query", About: "The next_after of the previous page, or its last fingerprint."}}, deadLetterParams...),
		Answers: []rest.Answer{{Status: 200, About: "A page of groups, in the order of their fingerprints.", Body: rest.CursorPage[deadLetterGroupView]{}}},
		Serve:   on(deadLetters.listDeadLetterGroups)},
	{Method: "GET", Path: "/v1/dead_letters/items", Scope: penstock.ScopeJobsRead, Summary: "List failed items that were neither retried nor dismissed, oldest first",
		Params:  append([]rest.Param{limitPage, {Name: "after", In: "query", About: "The next_after of the previous page, or its last item_id."}}, deadLetterParams...),
		Answers: []rest.Answer{{Status: 200, About: "A page of dead letters.", Body: rest.CursorPage[deadLetterView]{}}}, Serve: on(deadLetters.listDeadLetters)},
	{Method: "POST", Path: "/v1/dead_letters/retry", Audit: rest.Audit{Action: store.ActionRetryDeadLetters}, People: stoppers, Scope: penstock.ScopeJobsWrite,
		Summary: "Retry dead letters, the oldest first, in a new job for each job that they belong to", Body: deadLetterRetry{},
		Answers: []rest.Answer{{Status: 200, About: "The new jobs: 32 at the most; further calls retry the rest. " +
			"A dead letter is retried once, so a repeated call retries only the rest. An Idempotency-Key is not needed, and is refused.",
			Body: deadLetterRetriedView{}}}, Serve: on(deadLetters.retryDeadLetters)},
	{Method: "POST", Path: "/v1/dead_letters/dismiss", Audit: rest.Audit{Action: store.ActionDismissDeadLetters}, People: stoppers, Scope: penstock.ScopeJobsWrite,
		Summary: "Dismiss dead letters, the oldest first: they are no longer listed", Body: deadLetterDismiss{},
		Answers: []rest.Answer{{Status: 200, About: "The number of dismissed dead letters: 1,000 at the most; further calls dismiss the rest.", Body: deadLetterDismissedView{}}},
		Serve:   on(deadLetters.dismissDeadLetters)},
	{Method: "POST", Path: "/v1/chat/completions", Audit: auditCall, Waits: true, Scope: penstock.ScopeInference, Summary: "OpenAI chat completion, plain or streamed",
		Params: []rest.Param{keyParam, cacheParam, tagsParam, subjectParam, timeoutParam, fallbackParam, targetsParam}, Body: chatBody{}, Example: chatExample, Answers: answersWith(chatAnswer{}), Serve: inference(penstock.EndpointChat)},
	{Method: "POST", Path: "/v1/completions", Audit: auditCall, Waits: true, Scope: penstock.ScopeInference, Summary: "OpenAI completion, plain or streamed",
		Params: []rest.Param{keyParam, cacheParam, tagsParam, subjectParam, timeoutParam, fallbackParam, targetsParam}, Body: completionBody{}, Example: promptExample, Answers: answersWith(completionAnswer{}), Serve: inference(penstock.EndpointCompletions)},
	{Method: "POST", Path: "/v1/embeddings", Audit: auditCall, Waits: true, Scope: penstock.ScopeInference, Summary: "OpenAI embeddings",
		Params: []rest.Param{keyParam, cacheParam, tagsParam, subjectParam, timeoutParam, fallbackParam, targetsParam}, Body: embeddingBody{}, Example: inputExample, Answers: answersWith(embeddingAnswer{})[:1], Serve: inference(penstock.EndpointEmbeddings)},
	rerankRoute("/v1/rerank", "Rank documents by their relevance to a query"),
	rerankRoute("/v2/rerank", "The same as /v1/rerank, at the path of Cohere's SDK"),
	{Method: "POST", Path: "/v1/responses", Audit: auditCall, Waits: true, Scope: penstock.ScopeInference,
		Summary: "OpenAI response, plain or streamed; it is stored unless store is false, and previous_response_id continues it. With background: true it runs as a job",
		Params:  []rest.Param{keyParam, cacheParam, tagsParam, subjectParam, timeoutParam, fallbackParam, targetsParam, windowParam}, Body: responseBody{}, Example: inputExample, Answers: answersWith(responseAnswer{}), Words: &responsesWording, Serve: on(responses.createResponse)},
	{Method: "POST", Path: "/v1/messages", Audit: auditCall, Waits: true, Scope: penstock.ScopeInference, Summary: "Anthropic message, plain or streamed",
		Params: []rest.Param{keyParam, cacheParam, tagsParam, subjectParam, timeoutParam, fallbackParam, targetsParam, versionParam, betaParam}, Body: messageBody{}, Example: messageExample, Answers: answersWith(messageAnswer{}), Words: &anthropicWording,
		Serve: inference(penstock.EndpointMessages)},
	{Method: "POST", Path: "/v1/messages/count_tokens", Audit: auditCall, Waits: true, Scope: penstock.ScopeInference, Summary: "Count the tokens of an Anthropic message",
		Params: []rest.Param{versionParam, betaParam}, Body: countBody{}, Example: chatExample, Words: &anthropicWording,
		Answers: []rest.Answer{{Status: 200, Body: anthropic.TokenCount{}, About: "The count of a target that supports counting. If the model has none, an estimate: " +
			"counted with a tokenizer that may not be the model's own, marked by the header x-penstock-estimate: true."}},
		Serve: inference(penstock.EndpointCountTokens)},
	{Method: "GET", Path: "/v1/models", Scope: penstock.ScopeInference, Summary: "List models", WordsFor: dialectOf,
		Params: []rest.Param{versionParam, {Name: "limit", In: "query", About: "Anthropic's dialect only: the most models in a page, 1 to 1000; 20 when not given."},
			{Name: "after_id", In: "query", About: "Anthropic's dialect only: the last_id of the previous page."},
			{Name: "before_id", In: "query", About: "Anthropic's dialect only: the first_id of the next page."}},
		Answers: []rest.Answer{{Status: 200, About: "The models.", Body: openai.ModelList{}},
			{Status: 200, About: inAnthropicShape, Body: anthropic.ModelPage{}}}, Serve: on(models.listModels)},
	{Method: "GET", Path: "/v1/models/{model...}", Scope: penstock.ScopeInference, Summary: "Read a model", WordsFor: dialectOf,
		Params: []rest.Param{versionParam, {Name: "model", In: "path", About: "The model's name.", Required: true}},
		Answers: []rest.Answer{{Status: 200, About: "The model.", Body: openai.Model{}},
			{Status: 200, About: inAnthropicShape, Body: anthropic.ModelInfo{}}}, Serve: on(models.readModel)},
	{Method: "POST", Path: "/v1/models/{model}/explain", Audit: auditNothing, People: rest.Readers, Scope: penstock.ScopeInference,
		Summary: "Explain how a model would route a call, without making it", Body: rest.AnyObject{}, NoBody: true,
		Params: []rest.Param{{Name: "model", In: "path", About: "The model's name; a slash in it as %2F.", Required: true},
			{Name: "endpoint", In: "query", About: "The endpoint of the call, such as /v1/embeddings: targets that do not serve it are excluded. " +
				"Without it, all targets count as serving it."}},
		Answers: []rest.Answer{{Status: 200, About: "Each target's score by its parts, or why it is excluded, and the target that would be called.",
			Body: explainView{}}}, Serve: on(models.explainModel)},
	{Method: "POST", Path: "/v1/files", Audit: auditFile, Scope: penstock.ScopeJobsWrite, Summary: "Upload a file: requests for a batch, or content that requests name", WordsFor: dialectOf,
		Params: []rest.Param{versionParam}, Body: fileUpload{}, Form: true,
		Answers: []rest.Answer{{Status: 200, About: "The file is on stable storage. Invalid lines of a batch are listed by number; a batch over a file with invalid lines is refused.", Body: fileView{}},
			{Status: 200, About: inAnthropicShape, Body: anthropicFile{}}},
		Serve: on(files.createFile)},
	{Method: "GET", Path: "/v1/files", Scope: penstock.ScopeJobsRead, Summary: "List files", WordsFor: dialectOf,
		Params: []rest.Param{versionParam, {Name: "limit", In: "query", About: "The most files in a page: 1 to 10000, 10000 when not given. In Anthropic's dialect 1 to 1000, 20 when not given."},
			{Name: "after", In: "query", About: "The last id of the previous page."},
			{Name: "order", In: "query", About: "By age: asc, or desc when not given.", Type: reflect.TypeFor[store.Direction]()},
			{Name: "purpose", In: "query", About: "Only files with this purpose."},
			{Name: "after_id", In: "query", About: "Anthropic's dialect only: the last_id of the previous page."},
			{Name: "before_id", In: "query", About: "Anthropic's dialect only: the first_id of the next page."}},
		Answers: []rest.Answer{{Status: 200, About: "A page of files.", Body: filePageView{}},
			{Status: 200, About: inAnthropicShape, Body: anthropicFilePage{}}}, Serve: on(files.listFiles)},
	{Method: "GET", Path: "/v1/files/{id}", Scope: penstock.ScopeJobsRead, Summary: "Read a file's metadata", WordsFor: dialectOf,
		Params: []rest.Param{fileParam, versionParam}, Answers: []rest.Answer{{Status: 200, About: "The file.", Body: fileView{}},
			{Status: 200, About: inAnthropicShape, Body: anthropicFile{}}}, Serve: on(files.readFile)},
	{Method: "DELETE", Path: "/v1/files/{id}", Audit: rest.Audit{Action: store.ActionDeleteFile}, Scope: penstock.ScopeJobsWrite, Summary: "Delete a file", WordsFor: dialectOf,
		Params: []rest.Param{fileParam, versionParam}, Answers: []rest.Answer{{Status: 200, About: "The file is deleted.", Body: deletedView{}},
			{Status: 200, About: inAnthropicShape, Body: anthropicDeletedFile{}}}, Serve: on(files.deleteFile)},
	{Method: "GET", Path: "/v1/files/{id}/content", Payload: rest.PayloadAlways, Scope: penstock.ScopeJobsRead, Summary: "Download a file of a batch, byte by byte; files for requests cannot be downloaded", WordsFor: dialectOf,
		Params: []rest.Param{fileParam, versionParam, rangeParam}, Answers: []rest.Answer{{Status: 200, About: "The content.", Type: rest.TypeBytes}}, Serve: on(files.fileContent)},
	{Method: "POST", Path: "/v1/files/{id}/url", Audit: auditNothing, Payload: rest.PayloadAlways, Scope: penstock.ScopeJobsRead, Summary: "Make a link that downloads a file without a key",
		Params: []rest.Param{fileParam}, Body: linkCreate{}, NoBody: true,
		Answers: []rest.Answer{{Status: 200, About: "Everyone who has the link can download the file until the link expires.", Body: linkView{}}}, Serve: on(files.createFileLink)},
	{Method: "GET", Path: "/v1/download/{tenant}/{object}", Open: true, AnyQuery: true, Summary: "Follow a link to a download",
		Params: []rest.Param{{Name: "tenant", In: "path", About: "From the link.", Required: true}, {Name: "object", In: "path", About: "From the link.", Required: true},
			{Name: "expires", In: "query", About: "From the link.", Required: true}, {Name: "sig", In: "query", About: "From the link.", Required: true}, rangeParam},
		Answers: []rest.Answer{{Status: 200, About: "The content. 410 once the link has expired.", Type: rest.TypeBytes}}, Serve: on(files.download)},
	{Method: "GET", Path: "/healthz", Open: true, AnyQuery: true, Summary: "Report whether the process is running",
		Answers: []rest.Answer{{Status: 200, About: "It is running.", Body: healthView{}}}, Serve: on(process.healthz)},
	{Method: "GET", Path: "/readyz", Open: true, AnyQuery: true, Summary: "Report whether the process can accept work: it writes and reads the store and the blobs",
		Answers: []rest.Answer{{Status: 200, About: "It can; degraded when it accepts no new jobs because storage is short.", Body: healthView{}}}, Serve: on(process.readyz)},
	{Method: "GET", Path: "/v1/deprecations", Summary: "List deprecations of the API",
		Answers: []rest.Answer{{Status: 200, About: "Versions, routes and fields, each with its replacement and the day from which it may be removed. The list is one page.", Body: rest.Page[rest.DeprecationView]{}}},
		Serve:   (*rest.Call).ServeDeprecations},
	{Method: "GET", Path: "/openapi.json", Open: true, Summary: "This document",
		Answers: []rest.Answer{{Status: 200, About: "OpenAPI 3.1, of the version in the header penstock-version.", Body: rest.AnyObject{}}}, Serve: on(process.document)},
}

// rerankRoute is the route of rankings at a path.
func rerankRoute(path, summary string) rest.Route {
	return rest.Route{Method: "POST", Path: path, Audit: auditCall, Waits: true, Scope: penstock.ScopeInference, Summary: summary,
		Params: []rest.Param{keyParam, cacheParam, tagsParam, subjectParam, timeoutParam, fallbackParam, targetsParam}, Body: rerankBody{}, Example: rerankExample,
		Answers: []rest.Answer{{Status: 200, About: "The ranking, in one form for all targets.", Body: rerankAnswer{}}}, Serve: inference(penstock.EndpointRerank)}
}

// typeAnthropicJSONL is the media type of the results of Anthropic's batches.
const typeAnthropicJSONL = "application/x-jsonl"

// pageSize is the size of a page of a list.
var pageSize = rest.PageSize{Most: 100, Usual: 20}
