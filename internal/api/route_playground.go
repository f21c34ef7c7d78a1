package api

import (
	"reflect"
	"slices"

	"penstock"
	"penstock/internal/playground"
	"penstock/internal/rest"
)

var (
	runParam   = rest.Param{Name: "id", In: "path", About: "The run's id, prun_….", Required: true}
	shareParam = rest.Param{Name: "id", In: "path", About: "The share's id, pshr_….", Required: true}
	cellParam  = rest.Param{Name: "n", In: "path", About: "The number of the cell, from 0.", Required: true, Type: reflect.TypeFor[int]()}
)

// Why the audit has no record of some changes of runs.
var (
	auditCells    = rest.Audit{None: "Each call of a cell has its own record: GET /v1/requests/{id}."}
	auditRunName  = rest.Audit{None: "The name of a run has no effect."}
	auditJudgment = rest.Audit{None: "The mark is the record: it has its author and its time."}
)

// playgroundRoutes are the routes of the playground.
var playgroundRoutes = slices.Concat(runRoutes, runWorkRoutes, runShareRoutes)

var runRoutes = []rest.Route{
	{Method: "POST", Path: "/v1/playground/estimates", Audit: auditNothing, Scope: penstock.ScopeInference, Summary: "Render a run without a call: tokens and the worst-case cost",
		Body: playgroundRunOrder{}, Example: runExample, Answers: []rest.Answer{{Status: 200, About: "The estimate. A mistake of a column is in the column.", Body: playgroundEstimateView{}}}, Serve: on(runs.estimate)},
	{Method: "POST", Path: "/v1/playground/runs", Audit: rest.Audit{Action: playground.ActionCreate}, Scope: penstock.ScopeInference,
		Summary: "Run prompts side by side. All cells are rendered and checked first: after a mistake nothing runs",
		Body:    playgroundRunOrder{}, Example: runExample, Answers: []rest.Answer{{Status: 201, About: "The run. Its cells go on when the caller leaves.", Body: playgroundRunView{}}}, Serve: on(runs.create)},
	{Method: "GET", Path: "/v1/playground/runs", Scope: penstock.ScopeInference, Summary: "List your runs, and those that are shared with you, newest first",
		Params: []rest.Param{limitPage, {Name: "after", In: "query", About: "The next_after of the previous page."},
			{Name: "query", In: "query", About: "Only runs with this text in their name, in the name of a prompt or in the name of a model."},
			{Name: "author", In: "query", About: "me: only your own. others: only those of others.", Type: reflect.TypeFor[playground.Authorship]()}},
		Answers: []rest.Answer{{Status: 200, About: "A page of runs, without setups and cells.", Body: rest.CursorPage[playgroundRunSummary]{}}}, Serve: on(runs.list)},
	{Method: "GET", Path: "/v1/playground/runs/{id}", Scope: penstock.ScopeInference,
		Summary: "Read a run with its setup and its cells. The audit records when a person reads the run of somebody else", Params: []rest.Param{runParam},
		Answers: []rest.Answer{{Status: 200, About: "The run, with an ETag.", Body: playgroundRunView{}}}, Serve: on(runs.read)},
	{Method: "PATCH", Path: "/v1/playground/runs/{id}", Audit: auditRunName, Scope: penstock.ScopeInference, Summary: "Change the name of a run of your own", Params: []rest.Param{runParam, ifMatchParam},
		Body: playgroundRunChange{}, Example: map[string]any{"name": "shorter answers"}, Answers: []rest.Answer{{Status: 200, About: "The run, with its new ETag.", Body: playgroundRunView{}}}, Serve: on(runs.rename)},
	{Method: "DELETE", Path: "/v1/playground/runs/{id}", Audit: rest.Audit{Action: playground.ActionDelete}, Scope: penstock.ScopeInference,
		Summary: "Delete a run of your own with its cells, marks, shares and snapshots. Cells that run are stopped", Params: []rest.Param{runParam},
		Answers: []rest.Answer{{Status: 200, About: "The run is deleted.", Body: deletedView{}}}, Serve: on(runs.remove)},
	{Method: "GET", Path: "/v1/playground/runs/{id}/export", Scope: penstock.ScopeInference, Summary: "Read the cells of a run with their inputs, as lines of JSON",
		Params:  []rest.Param{runParam, {Name: "format", In: "query", About: "jsonl, which is the default."}},
		Answers: []rest.Answer{{Status: 200, About: "One line of JSON for each cell.", Type: rest.TypeJSONL, Body: playgroundExportView{}}}, Serve: on(runs.export)},
}

var runWorkRoutes = []rest.Route{
	{Method: "POST", Path: "/v1/playground/runs/{id}/stop", Audit: auditCells, Scope: penstock.ScopeInference, Summary: "Stop the cells of a run, or of one column. Their text stays",
		Params: []rest.Param{runParam}, Body: playgroundStopOrder{}, NoBody: true, Example: map[string]any{"column": 0}, Answers: []rest.Answer{{Status: 200, About: "The run.", Body: playgroundRunView{}}}, Serve: on(runs.stop)},
	{Method: "POST", Path: "/v1/playground/runs/{id}/resume", Audit: auditCells, Scope: penstock.ScopeInference,
		Summary: "Run the cells of a run again that were interrupted or stopped, or failed, with the same input", Params: []rest.Param{runParam},
		Answers: []rest.Answer{{Status: 200, About: "The run.", Body: playgroundRunView{}}}, Serve: on(runs.resume)},
	{Method: "GET", Path: "/v1/playground/runs/{id}/events", Scope: penstock.ScopeInference, Summary: "Follow the cells of a run",
		Params: []rest.Param{runParam, {Name: "after", In: "query", About: "Resume behind this event: its id, or the cursor of a run that was read."},
			{Name: "Last-Event-ID", In: "header", About: "Resume behind this event, as browsers do."}},
		Answers: []rest.Answer{{Status: 200, About: "Server-sent events: cell on each change of a cell, delta for each piece of output, and run when the run has ended, which is the last. " +
			"All of it can be followed at any process, and a reader that comes back gets exactly the rest.", Type: rest.TypeSSE, Body: playgroundDeltaView{}}}, Serve: on(runs.follow)},
	{Method: "PUT", Path: "/v1/playground/runs/{id}/cells/{n}/mark", Audit: auditJudgment, People: rest.Readers, Scope: penstock.ScopeInference,
		Summary: "Judge a cell: thumbs, a comment, a correction. Everyone who sees a run has one mark on each cell; an empty one removes it",
		Params:  []rest.Param{runParam, cellParam}, Body: playgroundMarkOrder{}, Example: map[string]any{"rating": -1, "comment": "too long", "correction": "Use the link in the mail."},
		Answers: []rest.Answer{{Status: 200, About: "The mark.", Body: playgroundMarkView{}}}, Serve: on(runs.mark)},
}

var runShareRoutes = []rest.Route{
	{Method: "POST", Path: "/v1/playground/shares", Audit: rest.Audit{Action: playground.ActionShare}, Scope: penstock.ScopeInference,
		Summary: "Share a run of your own with a role, or make a snapshot of it: a copy that stays as it is until it expires",
		Body:    playgroundShareOrder{}, Example: map[string]any{"run_id": exampleRun, "kind": "snapshot", "expires_in": "168h"},
		Answers: []rest.Answer{{Status: 201, About: "The share.", Body: playgroundShareView{}}}, Serve: on(runs.share)},
	{Method: "GET", Path: "/v1/playground/shares", Scope: penstock.ScopeInference, Summary: "List the shares of a run of your own",
		Params:  []rest.Param{{Name: "run_id", In: "query", About: "The run's id, prun_….", Required: true}},
		Answers: []rest.Answer{{Status: 200, About: "All shares that have not expired. The list is one page.", Body: rest.Page[playgroundShareView]{}}}, Serve: on(runs.listShares)},
	{Method: "GET", Path: "/v1/playground/shares/{id}", Scope: penstock.ScopeInference,
		Summary: "Open a shared run: the live run, or the snapshot. The audit records when a person reads the run of somebody else", Params: []rest.Param{shareParam},
		Answers: []rest.Answer{{Status: 200, About: "The share and the run.", Body: playgroundOpenShareView{}}}, Serve: on(runs.openShare)},
	{Method: "DELETE", Path: "/v1/playground/shares/{id}", Audit: rest.Audit{Action: playground.ActionRemoveShare}, Scope: penstock.ScopeInference, Summary: "End a share, and delete its snapshot",
		Params: []rest.Param{shareParam}, Answers: []rest.Answer{{Status: 200, About: "The share is deleted.", Body: deletedView{}}}, Serve: on(runs.unshare)},
}

// The examples of the OpenAPI document.
const exampleRun = "prun_01JQ00000000000000000000R1"

var (
	exampleSetup = map[string]any{
		"columns": []any{
			map[string]any{"prompt": map[string]any{"name": "support/answer", "label": "production"}},
			map[string]any{"content": map[string]any{"kind": "chat", "messages": []any{map[string]any{"role": "user", "content": "Answer in one sentence: {{question}}"}}}, "model": "fast", "params": map[string]any{"temperature": 0.2}},
		},
		"rows": []any{map[string]any{"question": "Where is my order?"}}, "trials": 2,
	}
	runExample = map[string]any{"name": "one sentence", "setup": exampleSetup}
)
