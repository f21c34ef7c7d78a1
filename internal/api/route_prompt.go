package api

import (
	"reflect"
	"slices"

	"penstock"
	"penstock/internal/prompt"
	"penstock/internal/rest"
)

var (
	promptParam        = rest.Param{Name: "name", In: "path", About: "The prompt's name. Its slashes may be written as they are, or as %2F.", Required: true}
	promptVersionParam = rest.Param{Name: "version", In: "path", About: "The number of the version.", Required: true}
	promptLabelParam   = rest.Param{Name: "label", In: "path", About: "The label.", Required: true}
	promptRequestParam = rest.Param{Name: "id", In: "path", About: "The request's id, lreq_….", Required: true}
	promptAfter        = rest.Param{Name: "after", In: "query", About: "The next_after of the previous page."}
	ifMatchParam       = rest.Param{Name: "If-Match", In: "header", About: "The ETag that the object must have; otherwise the answer is 412 and nothing is done."}
	ifAbsentParam      = rest.Param{Name: "If-None-Match", In: "header", About: "*: if the object exists already, the answer is 412 and nothing is done."}
)

var auditDraft = rest.Audit{None: "A draft is a working copy. The audit records the creation of its prompt and every version."}

// promptRoutes are the routes of prompts.
var promptRoutes = slices.Concat(promptObjectRoutes, promptFileRoutes, promptVersionRoutes, promptLabelRoutes, promptRequestRoutes, coeditRoutes)

var promptObjectRoutes = []rest.Route{
	{Method: "GET", Path: "/v1/prompts", Scope: penstock.ScopePromptsRead, Summary: "List prompts, in the order of their names",
		Params: []rest.Param{limitPage, {Name: "after", In: "query", About: "The next_after of the previous page."},
			{Name: "prefix", In: "query", About: "Only prompts whose names begin with this text."},
			{Name: "folder", In: "query", About: "Only prompts right inside this folder, with the folders inside it; empty for the top."},
			{Name: "archived", In: "query", About: "true: archived prompts too.", Type: reflect.TypeFor[bool]()}},
		Answers: []rest.Answer{{Status: 200, About: "A page of prompts.", Body: promptPageView{}}}, Serve: on(prompts.list)},
	{Method: "GET", Path: "/v1/prompts/{name...}", Scope: penstock.ScopePromptsRead, Summary: "Read a prompt with its labels",
		Params: []rest.Param{promptParam}, Answers: []rest.Answer{{Status: 200, About: "The prompt, without contents.", Body: promptView{}}}, Serve: on(prompts.read)},
	{Method: "POST", Path: "/v1/prompts/{name...}/archive", Audit: rest.Audit{Action: prompt.ActionArchive}, Scope: penstock.ScopePromptsWrite,
		Summary: "Archive a prompt: its labels no longer resolve; its versions stay for the jobs and prompts that name them",
		Params:  []rest.Param{promptParam}, Answers: []rest.Answer{{Status: 200, About: "The prompt.", Body: promptView{}}}, Serve: on(prompts.archive)},
	{Method: "POST", Path: "/v1/prompts/{name...}/restore", Audit: rest.Audit{Action: prompt.ActionRestore}, Scope: penstock.ScopePromptsWrite, Summary: "Restore an archived prompt",
		Params: []rest.Param{promptParam}, Answers: []rest.Answer{{Status: 200, About: "The prompt.", Body: promptView{}}}, Serve: on(prompts.restore)},
	{Method: "GET", Path: "/v1/prompts/{name...}/uses", Scope: penstock.ScopePromptsRead, Summary: "Find the labels and versions that name versions of a prompt",
		Params: []rest.Param{promptParam, {Name: "version", In: "query", About: "Only uses of this version.", Type: reflect.TypeFor[int]()}}, Answers: []rest.Answer{{Status: 200, About: "The uses.", Body: promptUsesView{}}}, Serve: on(prompts.uses)},
	{Method: "GET", Path: "/v1/prompts/{name...}/draft", Scope: penstock.ScopePromptsRead, Summary: "Read the draft of a prompt",
		Params: []rest.Param{promptParam}, Answers: []rest.Answer{{Status: 200, About: "The draft, with an ETag.", Body: promptDraftView{}}}, Serve: on(prompts.readDraft)},
	{Method: "PUT", Path: "/v1/prompts/{name...}/draft", Audit: auditDraft, Scope: penstock.ScopePromptsWrite,
		Summary: "Replace the draft of a prompt; the prompt is created if it does not exist. A draft may have mistakes",
		Params:  []rest.Param{promptParam, ifMatchParam, ifAbsentParam}, Body: promptDraftOrder{}, Example: promptDraftExample,
		Answers: []rest.Answer{{Status: 200, About: "The draft, with its new ETag.", Body: promptDraftView{}}}, Serve: on(prompts.putDraft)},
	{Method: "DELETE", Path: "/v1/prompts/{name...}/draft", Audit: auditDraft, Scope: penstock.ScopePromptsWrite, Summary: "Discard the draft of a prompt",
		Params: []rest.Param{promptParam, ifMatchParam}, Answers: []rest.Answer{{Status: 200, About: "The draft is discarded.", Body: deletedView{}}}, Serve: on(prompts.deleteDraft)},
}

var promptFileRoutes = []rest.Route{
	{Method: "POST", Path: "/v1/prompts/import", Audit: rest.Audit{Action: prompt.ActionSaveVersion}, Scope: penstock.ScopePromptsWrite,
		Summary: "Import prompts from files: dotprompt, promptfoo, OpenAI, Langfuse, a directory, or an export. A body without files is one file, with these settings in the query",
		Params: []rest.Param{{Name: "format", In: "query", About: "Of a body that is one file: its format."}, {Name: "path", In: "query", About: "Of a body that is one file: its name."},
			{Name: "prefix", In: "query", About: "Of a body that is one file: text in front of every name."}, {Name: "labels", In: "query", About: "Of a body that is one file: keep or move."},
			{Name: "allow_problems", In: "query", About: "Of a body that is one file: true imports prompts with constructs that cannot be translated.", Type: reflect.TypeFor[bool]()},
			{Name: "dry_run", In: "query", About: "Of a body that is one file: true changes nothing.", Type: reflect.TypeFor[bool]()}},
		Body: promptImportOrder{}, Example: promptImportExample,
		Answers: []rest.Answer{{Status: 200, About: "The result of each prompt. Each is imported as a whole or not at all.", Body: promptImportView{}}}, Serve: on(promptFiles.importFiles)},
	{Method: "GET", Path: "/v1/prompts/export", Scope: penstock.ScopePromptsRead, Summary: "Export prompts. The format json is complete: all versions, labels and ids, and can be imported again",
		Params: []rest.Param{{Name: "format", In: "query", About: "json, dotprompt, promptfoo, openai, langfuse or directory; json when not given."}, {Name: "prefix", In: "query", About: "Only prompts whose names begin with this text."},
			{Name: "versions", In: "query", About: "all, or the label of the version that is exported. all when not given; latest in formats with one version in a file."}},
		Answers: []rest.Answer{{Status: 200, About: "The prompts or files.", Body: promptExportView{}}}, Serve: on(promptFiles.exportFiles)},
}

var promptVersionRoutes = []rest.Route{
	{Method: "POST", Path: "/v1/prompts/{name...}/versions", Audit: rest.Audit{Action: prompt.ActionSaveVersion}, Scope: penstock.ScopePromptsWrite,
		Summary: "Save a version; the prompt is created if it does not exist", Params: []rest.Param{promptParam}, Body: promptVersionOrder{}, Example: promptVersionExample,
		Answers: []rest.Answer{{Status: 201, About: "The new version.", Body: promptVersionView{}}, {Status: 200, About: "A version with the same content, which existed.", Body: promptVersionView{}}},
		Serve:   on(prompts.save)},
	{Method: "GET", Path: "/v1/prompts/{name...}/versions", Scope: penstock.ScopePromptsRead, Summary: "List versions, newest first, without contents",
		Params:  []rest.Param{promptParam, limitPage, promptAfter},
		Answers: []rest.Answer{{Status: 200, About: "A page of versions.", Body: rest.CursorPage[promptVersionView]{}}}, Serve: on(prompts.listVersions)},
	{Method: "GET", Path: "/v1/prompts/{name...}/versions/{version}", Scope: penstock.ScopePromptsRead, Summary: "Read a version",
		Params: []rest.Param{promptParam, promptVersionParam}, Answers: []rest.Answer{{Status: 200, About: "The version. 410 if its content was deleted.", Body: promptVersionView{}}}, Serve: on(prompts.readVersion)},
	{Method: "DELETE", Path: "/v1/prompts/{name...}/versions/{version}", Audit: rest.Audit{Action: prompt.ActionDeleteVersion}, Scope: penstock.ScopePromptsWrite,
		Summary: "Delete the content of a version that no label and no other version names", Params: []rest.Param{promptParam, promptVersionParam},
		Answers: []rest.Answer{{Status: 200, About: "The content is deleted. Number, hash and author stay.", Body: deletedView{}}}, Serve: on(prompts.deleteVersion)},
	{Method: "GET", Path: "/v1/prompts/{name...}/diff", Scope: penstock.ScopePromptsRead, Summary: "Compare two versions: messages by line, config and schema by member",
		Params: []rest.Param{promptParam, {Name: "from", In: "query", About: "A version, a label or draft.", Required: true},
			{Name: "to", In: "query", About: "A version, a label or draft; latest when not given."}},
		Answers: []rest.Answer{{Status: 200, About: "The difference.", Body: promptDiffView{}}}, Serve: on(prompts.diff)},
	{Method: "POST", Path: "/v1/prompts/{name...}/render", Audit: auditNothing, People: rest.Readers, Scope: penstock.ScopePromptsRead,
		Summary: "Render a prompt without a call: messages, tokens and the worst-case cost", Params: []rest.Param{promptParam}, Body: promptRenderOrder{}, NoBody: true, Example: promptRenderExample,
		Answers: []rest.Answer{{Status: 200, About: "The rendered prompt.", Body: promptRenderView{}}}, Serve: on(prompts.render)},
}

var promptLabelRoutes = []rest.Route{
	{Method: "GET", Path: "/v1/prompts/{name...}/labels", Scope: penstock.ScopePromptsRead, Summary: "List the labels of a prompt",
		Params: []rest.Param{promptParam}, Answers: []rest.Answer{{Status: 200, About: "All labels, latest first. The list is one page.", Body: rest.Page[promptLabelView]{}}}, Serve: on(prompts.listLabels)},
	{Method: "GET", Path: "/v1/prompts/{name...}/labels/{label}", Scope: penstock.ScopePromptsRead, Summary: "Read a label",
		Params: []rest.Param{promptParam, promptLabelParam}, Answers: []rest.Answer{{Status: 200, About: "The label, with an ETag.", Body: promptLabelView{}}}, Serve: on(prompts.readLabel)},
	{Method: "PUT", Path: "/v1/prompts/{name...}/labels/{label}", Audit: rest.Audit{Action: prompt.ActionMoveLabel}, People: prompt.MovingRoles, Scope: penstock.ScopePromptsWrite,
		Summary: "Move a label to a version, or create it. A protected label needs one of the roles of its protection",
		Params:  []rest.Param{promptParam, promptLabelParam, ifMatchParam, ifAbsentParam}, Body: promptMoveOrder{}, Example: promptMoveExample,
		Answers: []rest.Answer{{Status: 200, About: "The label, with its new ETag.", Body: promptLabelView{}}}, Serve: on(prompts.moveLabel)},
	{Method: "DELETE", Path: "/v1/prompts/{name...}/labels/{label}", Audit: rest.Audit{Action: prompt.ActionRemoveLabel}, People: prompt.MovingRoles, Scope: penstock.ScopePromptsWrite, Summary: "Remove a label",
		Params: []rest.Param{promptParam, promptLabelParam, ifMatchParam}, Answers: []rest.Answer{{Status: 200, About: "The label is removed.", Body: deletedView{}}}, Serve: on(prompts.removeLabel)},
	{Method: "GET", Path: "/v1/prompts/{name...}/history", Scope: penstock.ScopePromptsRead, Summary: "List the moves of labels, newest first",
		Params:  []rest.Param{promptParam, limitPage, promptAfter, {Name: "label", In: "query", About: "Only moves of this label."}},
		Answers: []rest.Answer{{Status: 200, About: "A page of moves.", Body: rest.CursorPage[promptMoveView]{}}}, Serve: on(prompts.history)},
	{Method: "GET", Path: "/v1/prompt_protections", Scope: penstock.ScopePromptsRead, Summary: "List the protected labels of your tenant",
		Answers: []rest.Answer{{Status: 200, About: "All protections. The list is one page.", Body: rest.Page[promptProtectionView]{}}}, Serve: on(prompts.listProtections)},
	{Method: "PUT", Path: "/v1/prompt_protections/{label}", Audit: rest.Audit{Action: prompt.ActionSetProtection}, People: []penstock.Role{penstock.RoleAdmin}, Scope: penstock.ScopeAdmin,
		Summary: "Protect a label: moves need a role, and an approval if asked for", Params: []rest.Param{promptLabelParam, ifMatchParam, ifAbsentParam}, Body: promptProtectionOrder{}, Example: promptProtectionExample,
		Answers: []rest.Answer{{Status: 200, About: "The protection, with its ETag.", Body: promptProtectionView{}}}, Serve: on(prompts.setProtection)},
	{Method: "DELETE", Path: "/v1/prompt_protections/{label}", Audit: rest.Audit{Action: prompt.ActionRemoveProtection}, People: []penstock.Role{penstock.RoleAdmin}, Scope: penstock.ScopeAdmin, Summary: "Remove the protection of a label",
		Params: []rest.Param{promptLabelParam, ifMatchParam}, Answers: []rest.Answer{{Status: 200, About: "The protection is removed.", Body: deletedView{}}}, Serve: on(prompts.removeProtection)},
}

var promptRequestRoutes = []rest.Route{
	{Method: "POST", Path: "/v1/prompts/{name...}/labels/{label}/requests", Audit: rest.Audit{Action: prompt.ActionRequestLabel}, People: prompt.MovingRoles, Scope: penstock.ScopePromptsWrite,
		Summary: "Ask for the move of a protected label", Params: []rest.Param{promptParam, promptLabelParam, ifMatchParam, ifAbsentParam}, Body: promptMoveOrder{}, Example: promptMoveExample,
		Answers: []rest.Answer{{Status: 201, About: "The request. It applies to the label as it is now.", Body: promptRequestView{}}}, Serve: on(prompts.requestMove)},
	{Method: "GET", Path: "/v1/prompts/{name...}/requests", Scope: penstock.ScopePromptsRead, Summary: "List the requests to move labels, newest first",
		Params:  []rest.Param{promptParam, limitPage, promptAfter, {Name: "state", In: "query", About: "open, approved or rejected.", Type: reflect.TypeFor[prompt.RequestState]()}},
		Answers: []rest.Answer{{Status: 200, About: "A page of requests.", Body: rest.CursorPage[promptRequestView]{}}}, Serve: on(prompts.listRequests)},
	{Method: "POST", Path: "/v1/prompts/{name...}/requests/{id}/approve", Audit: rest.Audit{Action: prompt.ActionApproveLabel}, People: prompt.MovingRoles, Scope: penstock.ScopePromptsWrite,
		Summary: "Approve a request: the label moves. 409 if the label was moved since", Params: []rest.Param{promptParam, promptRequestParam}, Body: promptDecisionOrder{}, NoBody: true,
		Answers: []rest.Answer{{Status: 200, About: "The request.", Body: promptRequestView{}}}, Serve: on(prompts.approve)},
	{Method: "POST", Path: "/v1/prompts/{name...}/requests/{id}/reject", Audit: rest.Audit{Action: prompt.ActionRejectLabel}, People: prompt.MovingRoles, Scope: penstock.ScopePromptsWrite,
		Summary: "Reject a request, or withdraw your own", Params: []rest.Param{promptParam, promptRequestParam}, Body: promptDecisionOrder{}, NoBody: true,
		Answers: []rest.Answer{{Status: 200, About: "The request.", Body: promptRequestView{}}}, Serve: on(prompts.reject)},
}

// The examples of the OpenAPI document.
var (
	promptVersionExample = map[string]any{
		"kind": "chat", "message": "shorter",
		"messages":     []any{map[string]any{"role": "system", "content": "You answer as {{brand}}."}, map[string]any{"role": "user", "content": "{{question}}"}},
		"config":       map[string]any{"model": "fast", "temperature": 0.2},
		"input_schema": map[string]any{"type": "object", "required": []string{"question"}},
	}
	promptDraftExample      = map[string]any{"kind": "text", "text": "Be brief. Answer in {{language}}.", "base": 1}
	promptRenderExample     = map[string]any{"label": "production", "variables": map[string]any{"brand": "Acme", "question": "Where is my order?"}}
	promptMoveExample       = map[string]any{"version": 7, "expect": 6, "reason": "eval run_01 passed"}
	promptImportExample     = map[string]any{"files": []any{map[string]any{"path": "support/answer.prompt", "text": "---\nmodel: fast\n---\n{{role \"system\"}}\nYou answer as {{brand}}.\n{{role \"user\"}}\n{{question}}\n"}}, "dry_run": true}
	promptProtectionExample = map[string]any{"prompts": []string{"support/"}, "roles": []string{"operator"}, "approval": true}
)
