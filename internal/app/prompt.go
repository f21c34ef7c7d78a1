package app

import (
	"time"

	"penstock/internal/prompt"
	"penstock/internal/prompt/promptcall"
)

// newPromptCalls makes the service that puts prompts into bodies. It is the same for calls, jobs and lines.
func newPromptCalls(a *app) *promptcall.Service { return promptcall.New(a.resolver) }

// newPrompts makes the registry of prompts. A change wakes the runner of webhooks, because its event may have receivers.
func newPrompts(a *app) *prompt.Service {
	s := a.store.prompts
	return prompt.New(prompt.Deps{
		Prompts: s, Drafts: s, Versions: s, Labels: s, Requests: s, Protections: s, Imports: s, Resolver: a.resolver,
		Published: a.topics.deliveries.Notify, Clock: time.Now,
	})
}
