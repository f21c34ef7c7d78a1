package forecast

import "penstock/internal/fair"

// arena is where tenants compete: those of one lane whose models share targets. It measures how fair they
// are served, against an ideal server that divides every token among all who wait, by weight.
type arena struct {
	weights int64   // of those who wait
	ideal   float64 // tokens for each unit of weight, so far
}

// standing is how a tenant fares in its arena.
type standing struct {
	waits bool
	since float64 // the arena's ideal when its wait, or the measurement, began
	got   float64 // tokens while it waited
	fair  float64 // what the ideal server had given it meanwhile
}

func (a *arena) admit(t *tenant) {
	a.weights += t.group.Weight
	t.standing.waits, t.standing.since = true, a.ideal
}

// leave notes that a tenant has nothing ready any more. It must have been given what it took before.
func (a *arena) leave(t *tenant) {
	t.standing.settle(t)
	t.standing.waits = false
	a.weights -= t.group.Weight
}

// give notes that a tenant was given tokens.
func (a *arena) give(t *tenant, tokens int64) {
	a.ideal += float64(tokens) / float64(max(a.weights, 1))
	t.standing.got += float64(tokens)
}

// settle books what the ideal server had given until now.
func (s *standing) settle(t *tenant) {
	if s.waits {
		s.fair += float64(t.group.Weight) * (t.arena.ideal - s.since)
		s.since = t.arena.ideal
	}
}

// fairTurns is how many turns' worth of tokens a tenant must have been due to be judged: turns are not
// divided, so those that waited for less say nothing.
const fairTurns = 4

// judged is what part of its due a tenant got.
func (s *standing) judged() (part float64, enough bool) {
	return s.got / s.fair, s.fair >= fairTurns*fair.QuantumTokens
}
