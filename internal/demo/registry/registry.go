// Package registry is the part of the demo's past that concerns prompts: who wrote, compared, released and rolled back which prompt.
//
// It owns that story. It writes through the service of prompts, on the clock of the demo, so that every rule of the registry holds for it.
package registry

import (
	"context"
	"time"

	"penstock"
	"penstock/internal/prompt"
)

// Clock is the clock of the past.
type Clock interface {
	Now() time.Time
	// Walk moves the clock forward.
	Walk(d time.Duration)
}

// Models are the public names of models that the prompts use.
type Models struct{ Mini, Small, Large, Llama string }

// Deps are what the story is written with.
type Deps struct {
	Prompts *prompt.Service
	Clock   Clock
	Models  Models
}

// Event is something that happens once, at a time before the present.
type Event struct {
	Before time.Duration
	Do     func(ctx context.Context) error
}

// Events are the changes of prompts in the month.
func Events(d Deps) []Event {
	w := &writers{Deps: d, people: map[author]penstock.ID{}}
	return append(w.support(), w.elsewhere()...)
}
