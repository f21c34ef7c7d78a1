package api

import (
	"reflect"
	"time"

	"penstock"
	"penstock/internal/backlog"
	"penstock/internal/playground"
	"penstock/internal/prompt"
	"penstock/internal/prompt/content"
	"penstock/internal/rest"
	"penstock/internal/rollup"
	"penstock/internal/store"
)

// Surface is the description of the public API.
func Surface() rest.Surface {
	return rest.Surface{Routes: routes, Tags: tags, Enums: enums(), ParamTypes: paramTypes, Shapes: shapes, Both: both}
}

// both are the types that callers send and that answers show.
var both = []reflect.Type{reflect.TypeFor[promptMessage](), reflect.TypeFor[promptPart](), reflect.TypeFor[promptImage](), reflect.TypeFor[promptToolCall](), reflect.TypeFor[promptFunction](),
	reflect.TypeFor[promptContent](), reflect.TypeFor[playgroundReferenceView]()}

// tags describe the groups of routes.
var tags = []rest.Tag{
	{Name: "jobs", Description: "Asynchronous work. A job is accepted once it is on stable storage; read it by polling, or read its results or events."},
	{Name: "items", Description: "The inferences of a job, each with its attempts."},
	{Name: "lookup", Description: "Which object an id belongs to."},
	{Name: "requests", Description: "Records of synchronous calls, each with its attempts."},
	{Name: "usage", Description: "Usage and cost, by key, model, lane, day and tag."},
	{Name: "storage", Description: "The bytes that a tenant has stored, and its quota."},
	{Name: "dead_letters", Description: "Failed items that were neither retried nor dismissed."},
	{Name: "files", Description: "Files: requests for batches, one per line, and documents, images and texts that requests name."},
	{Name: "uploads", Description: "Files that are uploaded in parts, in OpenAI's dialect."},
	{Name: "batches", Description: "Batches in OpenAI's dialect, as views of jobs."},
	{Name: "download", Description: "Downloads by signed link, without a key."},
	{Name: "webhooks", Description: "Endpoints that receive events as signed messages."},
	{Name: "deliveries", Description: "Messages to webhooks, with their attempts."},
	{Name: "chat", Description: "Synchronous chat completions, in OpenAI's dialect."},
	{Name: "completions", Description: "Synchronous completions of a prompt, in OpenAI's dialect."},
	{Name: "embeddings", Description: "Synchronous embeddings, in OpenAI's dialect."},
	{Name: "rerank", Description: "Synchronous rankings of documents, in the format of Cohere and Jina."},
	{Name: "responses", Description: "Responses, synchronous or in the background, in OpenAI's dialect."},
	{Name: "conversations", Description: "Conversations that responses add to, in OpenAI's dialect."},
	{Name: "messages", Description: "Synchronous messages, in Anthropic's dialect."},
	{Name: "models", Description: "The models that callers can use."},
	{Name: "prompts", Description: "Named templates with immutable versions, and labels that name versions."},
	{Name: "prompt_protections", Description: "Labels that need a role or an approval to be moved."},
	{Name: "playground", Description: "Prompts, models and settings side by side, with a history of runs."},
	{Name: "live", Description: "Changes as server-sent events, for pages that show the newest state."},
	{Name: "overview", Description: "The last hour or day in figures and series."},
	{Name: "budgets", Description: "Budgets of a tenant, with the amounts left."},
	{Name: "load", Description: "Queued and running work of a tenant."},
	{Name: "model_definitions", Description: "Models with their policy, targets and prices."},
	{Name: "catalogue", Description: "Public facts about the models of vendors."},
	{Name: "me", Description: "The caller."},
	{Name: "auth", Description: "How people sign in and out. These calls need no key; those that change something are made by pages of this server."},
	{Name: "deprecations", Description: "Versions, routes and fields that will be removed."},
	{Name: "process", Description: "The process itself. No key is needed."},
}

// paramTypes are the types of parameters, by name. after is an id on some routes and a number on others, so it is text.
var paramTypes = map[string]reflect.Type{
	"limit":          reflect.TypeFor[int](),
	"reveal":         reflect.TypeFor[bool](),
	"status":         reflect.TypeFor[penstock.Status](),
	"lane":           reflect.TypeFor[penstock.Lane](),
	"order":          reflect.TypeFor[store.Order](),
	"code":           reflect.TypeFor[penstock.Code](),
	"created_after":  reflect.TypeFor[time.Time](),
	"created_before": reflect.TypeFor[time.Time](),
}

// enums are the types with a closed list of values.
func enums() rest.Enums {
	all := rest.Enums{}
	rest.Enumerate(all, penstock.Statuses)
	rest.Enumerate(all, penstock.Lanes)
	rest.Enumerate(all, penstock.Endpoints)
	rest.Enumerate(all, penstock.Codes)
	rest.Enumerate(all, []penstock.Outcome{penstock.OutcomeAllSucceeded, penstock.OutcomeMixed, penstock.OutcomeNoneSucceeded})
	rest.Enumerate(all, []penstock.EventType{
		penstock.EventJobQueued, penstock.EventJobStarted, penstock.EventJobProgress, penstock.EventJobFinished,
		penstock.EventItemDelta, penstock.EventItemReset, penstock.EventItemSucceeded,
		penstock.EventItemFailed, penstock.EventItemCancelled, penstock.EventItemExpired,
		penstock.EventBudgetExceeded, penstock.EventPromptVersionCreated, penstock.EventPromptLabelMoved, penstock.EventPromptLabelRequested, penstock.EventWebhookTest,
	})
	rest.Enumerate(all, penstock.DeliveryStatuses)
	rest.Enumerate(all, penstock.Roles)
	rest.Enumerate(all, penstock.AllScopes)
	rest.Enumerate(all, penstock.PrincipalKinds)
	rest.Enumerate(all, []store.Order{store.OrderCompletion, store.OrderInput})
	rest.Enumerate(all, penstock.Reasons)
	rest.Enumerate(all, backlog.TargetStates)
	rest.Enumerate(all, rollup.Windows)
	rest.Enumerate(all, content.Kinds)
	rest.Enumerate(all, content.Changes)
	rest.Enumerate(all, prompt.RequestStates)
	rest.Enumerate(all, playground.RunStates)
	rest.Enumerate(all, playground.CellStates)
	rest.Enumerate(all, playground.DeltaKinds)
	rest.Enumerate(all, playground.ShareKinds)
	rest.Enumerate(all, []playground.Sharing{playground.Private, playground.SharedRole, playground.SharedSnapshot})
	rest.Enumerate(all, []playground.Authorship{playground.AuthorMe, playground.AuthorOthers})
	rest.Enumerate(all, penstock.AllCapabilities)
	rest.Enumerate(all, penstock.Resolves)
	rest.Enumerate(all, []store.Direction{store.Ascending, store.Descending})
	rest.Enumerate(all, []store.Purpose{store.PurposeBatch, store.PurposeBatchOutput, store.PurposeUserData, store.PurposeVision})
	return all
}
