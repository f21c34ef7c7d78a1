package app

import (
	"time"

	"penstock/internal/prompt"
)

// newPrompts makes the registry of prompts. A change wakes the runner of webhooks, because its event may have receivers.
func newPrompts(a *app) *prompt.Service {
	s := a.store.prompts
	return prompt.New(prompt.Deps{
		Prompts: s, Drafts: s, Versions: s, Labels: s, Requests: s, Protections: s, Imports: s, Resolver: a.resolver,
		Published: a.topics.deliveries.Notify, Clock: time.Now,
	})
}
