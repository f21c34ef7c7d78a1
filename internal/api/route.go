package api

import (
	"net/http"
	"reflect"
	"slices"
	"strings"

	"penstock"
	"penstock/internal/dialect/anthropic"
	"penstock/internal/dialect/openai"
	"penstock/internal/store"
)

// route is a row of the surface. The exported fields are what the OpenAPI document tells about it.
type route struct {
	Method  string
	Path    string
	Scope   penstock.Scope // what a key needs; "" for any key
	Summary string
	Params  []param
	Body    any  // a zero value of what is sent, nil for nothing
	Form    bool // Body is sent as a form
	NoBody  bool // Body may be left out
	Waits   bool // it may wait for its turn under its caller's limits, and tells for how long
	Answers []answer

	open bool // needs no key
	// anyQuery ignores query parameters that are not its own: probes and links come by way of others, who add some.
	anyQuery bool
	words    *wording // how errors look; nil for the usual ones
	shared   bool     // both dialects have it: Anthropic's for callers that send anthropic-version
	serve    func(*call) error
}

// param is a parameter in the path, the query or a header.
type param struct {
	Name, In, About string
	Required        bool
	Type            reflect.Type // where its name means something else than on other routes
}

// answer is a successful answer.
type answer struct {
	Status int
	About  string
	Type   string // media type, application/json when empty
	Body   any    // a zero value of what is answered, nil when it is not JSON of ours
}

var (
	jobParam     = param{Name: "id", In: "path", About: "The job's id, job_….", Required: true}
	fileParam    = param{Name: "id", In: "path", About: "The file's id, file_….", Required: true}
	rangeParam   = param{Name: "Range", In: "header", About: "bytes=N- resumes a download behind N bytes; answered with 206."}
	itemParam    = param{Name: "id", In: "path", About: "The item's id, item_….", Required: true}
	waitParam    = param{Name: "Prefer", In: "header", About: "wait=N waits up to N seconds (60 at most) for the job to finish."}
	keyParam     = param{Name: "Idempotency-Key", In: "header", About: "Makes sending the same call again safe: it names the same job."}
	versionParam = param{Name: "anthropic-version", In: "header", About: "The version of Anthropic's dialect that the caller speaks, such as 2023-06-01."}
	cacheParam   = param{Name: "x-penstock-cache", In: "header", About: "use: the answer to an earlier identical call of the same tenant will do. " +
		"refresh: it will not, but this one is kept. off: this one is not kept either. Without it, what the key or the model says."}
	betaParam = param{Name: "anthropic-beta", In: "header", About: "Passed on to targets that speak Anthropic's dialect themselves."}
	limitPage = param{Name: "limit", In: "query", About: "Entries a page holds at the most: 1 to 100, 20 when not given."}
)

// passedOn are the answers of an inference.
var passedOn = []answer{{Status: 200, About: "What the upstream answered.", Body: anyObject{}},
	{Status: 200, About: "With stream: true, what the upstream streams.", Type: typeSSE, Body: anyObject{}}}

// deadLetterParams narrow down dead letters.
var deadLetterParams = []param{
	{Name: "job_id", In: "query", About: "Only those of this job."}, {Name: "model", In: "query", About: "Only those of this model."},
	{Name: "code", In: "query", About: "Only those that failed with this code."},
	{Name: "error_kind", In: "query", About: "Only those whose last upstream error was of this kind."},
	{Name: "fingerprint", In: "query", About: "Only those with this fingerprint."},
	{Name: "created_after", In: "query", About: "Only those that failed after this time, RFC 3339."},
	{Name: "created_before", In: "query", About: "Only those that failed up to this time, RFC 3339."},
}

// routes is the whole surface.
var routes = slices.Concat(coreRoutes, webhookRoutes, responseRoutes, batchRoutes, usageRoutes, storageRoutes)

// coreRoutes are all routes but those of files beside this one.
var coreRoutes = []route{
	{Method: "POST", Path: "/v1/jobs", Waits: true, Scope: penstock.ScopeJobsWrite, Summary: "Submit a job",
		Params: []param{keyParam, waitParam}, Body: jobCreate{},
		Answers: []answer{{Status: 202, About: "Accepted: it is on stable storage.", Body: jobView{}},
			{Status: 200, About: "Finished within the time that Prefer asked for.", Body: jobView{}},
			{Status: 200, About: "With dry_run: what would become of it.", Body: trialView{}}},
		serve: (*call).submitJob},
	{Method: "GET", Path: "/v1/jobs", Scope: penstock.ScopeJobsRead, Summary: "List jobs, newest first",
		Params: []param{limitPage, {Name: "after", In: "query", About: "The last id of the page before."},
			{Name: "status", In: "query", About: "Only jobs in this status: queued, running, succeeded, failed or cancelled."}, {Name: "lane", In: "query", About: "Only jobs of this lane."},
			{Name: "model", In: "query", About: "Only jobs for this model."}, {Name: "tag", In: "query", About: "Only jobs with this tag, as key:value."},
			{Name: "created_after", In: "query", About: "Only jobs created after this time, RFC 3339."},
			{Name: "created_before", In: "query", About: "Only jobs created up to this time, RFC 3339."}},
		Answers: []answer{{Status: 200, About: "A page of jobs.", Body: page[jobView]{}}}, serve: (*call).listJobs},
	{Method: "GET", Path: "/v1/jobs/{id}", Scope: penstock.ScopeJobsRead, Summary: "Read a job",
		Params: []param{jobParam, waitParam, etagParam},
		Answers: []answer{{Status: 200, About: "The job as it is, with an ETag; 304 without a body while If-None-Match names it. " +
			"With Prefer: wait=N and If-None-Match it is a long poll: 200 at the next change, 304 after N seconds without a change.", Body: jobView{}},
			{Status: 202, About: "Not finished within the time that Prefer asked for.", Body: jobView{}}},
		serve: (*call).readJob},
	{Method: "POST", Path: "/v1/jobs/{id}/cancel", Scope: penstock.ScopeJobsWrite, Summary: "Cancel a job",
		Params:  []param{jobParam},
		Answers: []answer{{Status: 200, About: "The cancel is noted; finished items keep their results.", Body: jobView{}}},
		serve:   (*call).cancelJob},
	{Method: "DELETE", Path: "/v1/jobs/{id}", Scope: penstock.ScopeJobsWrite, Summary: "Delete a finished job with its inputs and results",
		Params:  []param{jobParam},
		Answers: []answer{{Status: 200, About: "It is gone; its Idempotency-Key will not run again.", Body: deletedView{}}},
		serve:   (*call).deleteJob},
	{Method: "POST", Path: "/v1/jobs/{id}/retry", Scope: penstock.ScopeJobsWrite,
		Summary: "Retry the items of a job that failed, expired or were cancelled, in a new job",
		Params:  []param{jobParam, keyParam, waitParam}, Body: jobRetry{}, NoBody: true,
		Answers: []answer{{Status: 202, About: "Accepted: the new job is on stable storage. An item is retried once; 409 when none is left.", Body: jobView{}},
			{Status: 200, About: "Finished within the time that Prefer asked for.", Body: jobView{}}},
		serve: (*call).retryJob},
	{Method: "GET", Path: "/v1/jobs/{id}/results", Scope: penstock.ScopeJobsRead, Summary: "Read results, at any time",
		Params: []param{jobParam, {Name: "after", In: "query", About: "Resume behind this seq (order=completion) or index (order=input)."},
			{Name: "order", In: "query", About: "completion (default) or input. " +
				"In input order, the results of a running job stop before its first open item; ask again with after for the rest."}, {Name: "status", In: "query", About: "Only items in this terminal status."}},
		Answers: []answer{{Status: 200, About: "One line of JSON for each finished item.", Type: typeJSONL, Body: resultView{}}},
		serve:   (*call).streamResults},
	{Method: "GET", Path: "/v1/jobs/{id}/events", Scope: penstock.ScopeJobsRead, Summary: "Follow a job's events",
		Params: []param{jobParam, {Name: "after", In: "query", About: "Resume behind this seq."},
			{Name: "Last-Event-ID", In: "header", About: "Resume behind this seq, as browsers do it."}},
		Answers: []answer{{Status: 200, About: "Server-sent events; the stream ends with job.finished.", Type: typeSSE, Body: eventView{}}},
		serve:   (*call).streamEvents},
	{Method: "GET", Path: "/v1/items/{id}", Scope: penstock.ScopeJobsRead, Summary: "Read an item and what was tried for it",
		Params: []param{itemParam}, Answers: []answer{{Status: 200, About: "The item.", Body: itemView{}}}, serve: (*call).readItem},
	{Method: "GET", Path: "/v1/requests/{id}", Scope: penstock.ScopeInference, Summary: "Explain a synchronous call",
		Params:  []param{{Name: "id", In: "path", About: "The x-request-id of the call's answer, req_….", Required: true}},
		Answers: []answer{{Status: 200, About: "The call and what was tried for it.", Body: requestView{}}}, serve: (*call).readRequest},
	{Method: "GET", Path: "/v1/dead_letters", Scope: penstock.ScopeJobsRead,
		Summary: "List failed items that nobody has dealt with, grouped by the fingerprint of their error",
		Params:  append([]param{limitPage, {Name: "after", In: "query", About: "The last fingerprint of the page before."}}, deadLetterParams...),
		Answers: []answer{{Status: 200, About: "A page of groups, in the order of their fingerprints.", Body: page[deadLetterGroupView]{}}},
		serve:   (*call).listDeadLetterGroups},
	{Method: "GET", Path: "/v1/dead_letters/items", Scope: penstock.ScopeJobsRead, Summary: "List failed items that nobody has dealt with, oldest first",
		Params:  append([]param{limitPage, {Name: "after", In: "query", About: "The last item_id of the page before."}}, deadLetterParams...),
		Answers: []answer{{Status: 200, About: "A page of dead letters.", Body: page[deadLetterView]{}}}, serve: (*call).listDeadLetters},
	{Method: "POST", Path: "/v1/dead_letters/retry", Scope: penstock.ScopeJobsWrite,
		Summary: "Retry dead letters, the oldest first, in a new job for each job that they are of", Body: deadLetterRetry{},
		Answers: []answer{{Status: 200, About: "What was retried: 32 jobs at the most, the rest by further calls. " +
			"A dead letter is retried once, so a call that is sent again only takes what is left; it has no use for an Idempotency-Key and refuses one.",
			Body: deadLetterRetriedView{}}}, serve: (*call).retryDeadLetters},
	{Method: "POST", Path: "/v1/dead_letters/dismiss", Scope: penstock.ScopeJobsWrite,
		Summary: "Dismiss dead letters, the oldest first: they are no longer listed", Body: deadLetterDismiss{},
		Answers: []answer{{Status: 200, About: "What was dismissed: 1,000 at the most, the rest by further calls.", Body: deadLetterDismissedView{}}},
		serve:   (*call).dismissDeadLetters},
	{Method: "POST", Path: "/v1/chat/completions", Waits: true, Scope: penstock.ScopeInference, Summary: "OpenAI chat completion, plain or streamed",
		Params: []param{keyParam, cacheParam}, Body: anyObject{}, Answers: passedOn, serve: inference(penstock.EndpointChat)},
	{Method: "POST", Path: "/v1/completions", Waits: true, Scope: penstock.ScopeInference, Summary: "OpenAI completion, plain or streamed",
		Params: []param{keyParam, cacheParam}, Body: anyObject{}, Answers: passedOn, serve: inference(penstock.EndpointCompletions)},
	{Method: "POST", Path: "/v1/embeddings", Waits: true, Scope: penstock.ScopeInference, Summary: "OpenAI embeddings",
		Params: []param{keyParam, cacheParam}, Body: anyObject{}, Answers: passedOn[:1], serve: inference(penstock.EndpointEmbeddings)},
	{Method: "POST", Path: "/v1/responses", Waits: true, Scope: penstock.ScopeInference,
		Summary: "OpenAI response, plain or streamed; with store: true or background: true it runs as a job and is kept, and previous_response_id goes on from it. conversation is refused",
		Params:  []param{keyParam, cacheParam, windowParam}, Body: anyObject{}, Answers: passedOn, words: &responsesWording, serve: (*call).createResponse},
	{Method: "POST", Path: "/v1/messages", Waits: true, Scope: penstock.ScopeInference, Summary: "Anthropic message, plain or streamed",
		Params: []param{keyParam, cacheParam, versionParam, betaParam}, Body: anyObject{}, Answers: passedOn, words: &anthropicWording,
		serve: inference(penstock.EndpointMessages)},
	{Method: "POST", Path: "/v1/messages/count_tokens", Waits: true, Scope: penstock.ScopeInference, Summary: "Count the tokens of an Anthropic message",
		Params: []param{versionParam, betaParam}, Body: anyObject{}, words: &anthropicWording,
		Answers: []answer{{Status: 200, Body: anthropic.TokenCount{}, About: "What a target that counts answered. Where the model has none, an estimate: " +
			"counted with a tokenizer that may not be the model's own, marked by the header x-penstock-estimate: true."}},
		serve: inference(penstock.EndpointCountTokens)},
	{Method: "GET", Path: "/v1/models", Scope: penstock.ScopeInference, Summary: "List models", shared: true,
		Params: []param{versionParam, {Name: "limit", In: "query", About: "Anthropic's dialect only: models a page holds at the most, 1 to 1000; 20 when not given."},
			{Name: "after_id", In: "query", About: "Anthropic's dialect only: the last_id of the page before."},
			{Name: "before_id", In: "query", About: "Anthropic's dialect only: the first_id of the page behind."}},
		Answers: []answer{{Status: 200, About: "The models.", Body: openai.ModelList{}},
			{Status: 200, About: "In Anthropic's shape when anthropic-version is present.", Body: anthropic.ModelPage{}}}, serve: (*call).listModels},
	{Method: "GET", Path: "/v1/models/{model...}", Scope: penstock.ScopeInference, Summary: "Read a model", shared: true,
		Params: []param{versionParam, {Name: "model", In: "path", About: "The model's name.", Required: true}},
		Answers: []answer{{Status: 200, About: "The model.", Body: openai.Model{}},
			{Status: 200, About: "In Anthropic's shape when anthropic-version is present.", Body: anthropic.ModelInfo{}}}, serve: (*call).readModel},
	{Method: "POST", Path: "/v1/models/{model}/explain", Scope: penstock.ScopeInference,
		Summary: "Say what a model would do with a call, without making it", Body: anyObject{}, NoBody: true,
		Params: []param{{Name: "model", In: "path", About: "The model's name; a slash in it as %2F.", Required: true},
			{Name: "endpoint", In: "query", About: "The endpoint that the call would come in by, such as /v1/embeddings: targets that do not serve it are left out. " +
				"Not given: all are taken to."}},
		Answers: []answer{{Status: 200, About: "Each target's score by its parts, or why it does not come into question, and which one would be called.",
			Body: explainView{}}}, serve: (*call).explainModel},
	{Method: "POST", Path: "/v1/files", Scope: penstock.ScopeJobsWrite, Summary: "Upload a file of requests, one a line",
		Body: fileUpload{}, Form: true,
		Answers: []answer{{Status: 200, About: "The file is on stable storage. Lines that are no good are told by number; a batch of them is refused.", Body: fileView{}}},
		serve:   (*call).createFile},
	{Method: "GET", Path: "/v1/files", Scope: penstock.ScopeJobsRead, Summary: "List files",
		Params: []param{{Name: "limit", In: "query", About: "Files a page holds at the most: 1 to 10000, 10000 when not given."},
			{Name: "after", In: "query", About: "The last id of the page before."},
			{Name: "order", In: "query", About: "By age: asc, or desc when not given.", Type: reflect.TypeFor[store.Direction]()},
			{Name: "purpose", In: "query", About: "Only files with this purpose."}},
		Answers: []answer{{Status: 200, About: "A page of files.", Body: filePageView{}}}, serve: (*call).listFiles},
	{Method: "GET", Path: "/v1/files/{id}", Scope: penstock.ScopeJobsRead, Summary: "Read what is known of a file",
		Params: []param{fileParam}, Answers: []answer{{Status: 200, About: "The file.", Body: fileView{}}}, serve: (*call).readFile},
	{Method: "DELETE", Path: "/v1/files/{id}", Scope: penstock.ScopeJobsWrite, Summary: "Delete a file",
		Params: []param{fileParam}, Answers: []answer{{Status: 200, About: "It is gone.", Body: deletedView{}}}, serve: (*call).deleteFile},
	{Method: "GET", Path: "/v1/files/{id}/content", Scope: penstock.ScopeJobsRead, Summary: "Download a file, byte by byte as it was uploaded",
		Params: []param{fileParam, rangeParam}, Answers: []answer{{Status: 200, About: "The content.", Type: typeBytes}}, serve: (*call).fileContent},
	{Method: "POST", Path: "/v1/files/{id}/url", Scope: penstock.ScopeJobsRead, Summary: "Make a link that downloads a file without a key",
		Params: []param{fileParam}, Body: linkCreate{}, NoBody: true,
		Answers: []answer{{Status: 200, About: "Whoever has the link can download the file until it ends.", Body: linkView{}}}, serve: (*call).createFileLink},
	{Method: "GET", Path: "/v1/download/{tenant}/{object}", open: true, anyQuery: true, Summary: "Follow a link to a download",
		Params: []param{{Name: "tenant", In: "path", About: "As the link has it.", Required: true}, {Name: "object", In: "path", About: "As the link has it.", Required: true},
			{Name: "expires", In: "query", About: "As the link has it.", Required: true}, {Name: "sig", In: "query", About: "As the link has it.", Required: true}, rangeParam},
		Answers: []answer{{Status: 200, About: "The content. 410 once the link has ended.", Type: typeBytes}}, serve: (*call).download},
	{Method: "GET", Path: "/healthz", open: true, anyQuery: true, Summary: "Whether the process lives",
		Answers: []answer{{Status: 200, About: "It does.", Body: healthView{}}}, serve: (*call).healthz},
	{Method: "GET", Path: "/readyz", open: true, anyQuery: true, Summary: "Whether the process can take work: store and blobs are written and read",
		Answers: []answer{{Status: 200, About: "It can; degraded when it takes no new jobs for lack of room.", Body: healthView{}}}, serve: (*call).readyz},
	{Method: "GET", Path: "/openapi.json", open: true, Summary: "This document",
		Answers: []answer{{Status: 200, About: "OpenAPI 3.1.", Body: anyObject{}}}, serve: (*call).document},
}

// The media types of answers.
const (
	typeJSON  = "application/json"
	typeJSONL = "application/x-ndjson"
	typeSSE   = "text/event-stream"

	typeAnthropicJSONL = "application/x-jsonl"

	typeBytes = "application/octet-stream"
	typeForm  = "multipart/form-data"
)

// PresentedKey returns the API key of a call, "" if there is none.
func PresentedKey(r *http.Request) string {
	if scheme, key, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(key)
	}
	return r.Header.Get("x-api-key")
}
