package api

import (
	"reflect"

	"penstock"
	"penstock/internal/rest"
)

var (
	draftTextParam    = rest.Param{Name: "text", In: "path", About: "The id of the text, from the structure of the draft.", Required: true}
	draftCommentParam = rest.Param{Name: "id", In: "path", About: "The comment's id, cmt_….", Required: true}
)

var (
	auditUpdates  = rest.Audit{None: "The log of the draft has every update with its author."}
	auditPresence = rest.Audit{None: "The cursor of an editor, which is forgotten after some seconds."}
	auditComment  = rest.Audit{None: "A comment on a working copy; the comment has its author and its time."}
)

// coeditRoutes are the routes of people who edit a draft together.
var coeditRoutes = []rest.Route{
	{Method: "GET", Path: "/v1/prompts/{name...}/draft/structure", Scope: penstock.ScopePromptsRead, Summary: "Open the draft of a prompt to edit it with others: its structure, texts, comments and people",
		Params: []rest.Param{promptParam}, Answers: []rest.Answer{{Status: 200, About: "The draft, with the ETag of its structure.", Body: draftStructureView{}}}, Serve: on(coedits.open)},
	{Method: "PUT", Path: "/v1/prompts/{name...}/draft/structure", Audit: auditDraft, Scope: penstock.ScopePromptsWrite,
		Summary: "Change the structure of a draft: messages, roles, config, schema. Texts with ids stay as they are",
		Params:  []rest.Param{promptParam, ifMatchParam}, Body: draftStructureOrder{}, Example: draftStructureExample,
		Answers: []rest.Answer{{Status: 200, About: "The draft, with the new ETag of its structure.", Body: draftStructureView{}}}, Serve: on(coedits.putStructure)},
	{Method: "GET", Path: "/v1/prompts/{name...}/draft/events", Scope: penstock.ScopePromptsRead, Summary: "Follow the changes of a draft as server-sent events",
		Params: []rest.Param{promptParam, {Name: "after", In: "query", About: "The revision of the structure that you have read, or the id of the last event.", Type: reflect.TypeFor[int]()},
			{Name: "client", In: "query", About: "The id of your editor. It is among the people while the stream is open, and not afterwards."},
			{Name: "Last-Event-ID", In: "header", About: "The id of the last event of an earlier stream, instead of after."}},
		Answers: []rest.Answer{{Status: 200, About: "Events. The stream has a comment while nothing happens. It ends when the draft is discarded, when its key or session ends, or when the server stops.", Type: rest.TypeSSE, Body: draftEvent{}}},
		Serve:   on(coedits.follow)},
	{Method: "GET", Path: "/v1/prompts/{name...}/draft/texts/{text}", Scope: penstock.ScopePromptsRead, Summary: "Read a text of a draft, as it is or as it was",
		Params:  []rest.Param{promptParam, draftTextParam, {Name: "version", In: "query", About: "The version; the current one when not given.", Type: reflect.TypeFor[int]()}},
		Answers: []rest.Answer{{Status: 200, About: "The text. 410 if the log does not reach back to the version.", Body: draftTextAtView{}}}, Serve: on(coedits.readText)},
	{Method: "POST", Path: "/v1/prompts/{name...}/draft/texts/{text}/updates", Audit: auditUpdates, Scope: penstock.ScopePromptsWrite,
		Summary: "Edit a text of a draft. The server maps the updates over those that were accepted since their version",
		Params:  []rest.Param{promptParam, draftTextParam}, Body: draftUpdatesOrder{}, Example: draftUpdatesExample,
		Answers: []rest.Answer{{Status: 200, About: "The updates behind the version, those of the call included. The same call again adds nothing. 410 if the log does not reach back to the version.", Body: draftUpdatesView{}}}, Serve: on(coedits.submit)},
	{Method: "GET", Path: "/v1/prompts/{name...}/draft/history", Scope: penstock.ScopePromptsRead, Summary: "List the updates of a draft, newest first: who changed which text, when and how",
		Params:  []rest.Param{promptParam, limitPage, promptAfter, {Name: "text", In: "query", About: "Only updates of this text."}},
		Answers: []rest.Answer{{Status: 200, About: "A page of updates. The log has the last 10,000.", Body: rest.CursorPage[draftLogView]{}}}, Serve: on(coedits.history)},
	{Method: "POST", Path: "/v1/prompts/{name...}/draft/presence", Audit: auditPresence, Scope: penstock.ScopePromptsWrite, Summary: "Show the cursor of your editor to the others",
		Params: []rest.Param{promptParam}, Body: draftPresenceOrder{}, Example: map[string]any{"client": "0f3a5c7d9e1b-k3x9", "text": "t4-0", "version": 12, "anchor": 5, "head": 5},
		Answers: []rest.Answer{{Status: 200, About: "The editor is shown.", Body: draftPresenceView{}}}, Serve: on(coedits.sight)},
	{Method: "POST", Path: "/v1/prompts/{name...}/draft/comments", Audit: auditComment, Scope: penstock.ScopePromptsWrite, Summary: "Comment on a range of a text, or reply to a comment",
		Params: []rest.Param{promptParam}, Body: draftCommentOrder{}, Example: map[string]any{"text": "t4-0", "version": 12, "from": 3, "to": 8, "body": "Is this still true?"},
		Answers: []rest.Answer{{Status: 201, About: "The comment.", Body: draftCommentView{}}}, Serve: on(coedits.addComment)},
	{Method: "PATCH", Path: "/v1/prompts/{name...}/draft/comments/{id}", Audit: auditComment, Scope: penstock.ScopePromptsWrite, Summary: "Change your comment, or resolve or reopen a comment",
		Params: []rest.Param{promptParam, draftCommentParam}, Body: draftCommentChange{}, Example: map[string]any{"state": "resolved"},
		Answers: []rest.Answer{{Status: 200, About: "The comment.", Body: draftCommentView{}}}, Serve: on(coedits.changeComment)},
	{Method: "DELETE", Path: "/v1/prompts/{name...}/draft/comments/{id}", Audit: auditComment, Scope: penstock.ScopePromptsWrite, Summary: "Delete your comment, with its replies",
		Params: []rest.Param{promptParam, draftCommentParam}, Answers: []rest.Answer{{Status: 200, About: "The comment is deleted.", Body: deletedView{}}}, Serve: on(coedits.removeComment)},
}

// The examples of the OpenAPI document.
var (
	draftStructureExample = map[string]any{
		"kind":     "chat",
		"messages": []any{map[string]any{"role": "system", "content": ""}, map[string]any{"role": "user", "content": "{{question}}"}},
		"config":   map[string]any{"model": "fast"}, "texts": []string{"t4-0", ""},
	}
	draftUpdatesExample = map[string]any{"client": "0f3a5c7d9e1b-k3x9", "version": 12, "updates": []any{map[string]any{"changes": []any{5, []any{0, "Hello"}, 20}}}}
)
