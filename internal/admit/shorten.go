package admit

import (
	"fmt"
	"slices"

	"penstock"
	"penstock/internal/config"
	"penstock/internal/dialect"
	"penstock/internal/dialect/catalog"
	"penstock/internal/overflow"
	"penstock/internal/route"
)

// Overflow shortens conversations that are longer than the context of every target.
type Overflow struct {
	Cutter *overflow.Cutter
	// Serves reports whether a target can serve an endpoint, itself or by translation; nil if all can.
	Serves func(*penstock.Target, penstock.Endpoint) bool
}

// ShortenOrder is what the length of an inference depends on.
type ShortenOrder struct {
	Asked    string // the model as the caller named it
	Snapshot *config.Snapshot
	Model    string              // that the work was resolved to
	Policy   penstock.OnOverflow // of the model when the work was resolved
	Targets  []*penstock.Target  // that the work may run on, in the order of the model
	Own      int                 // messages at the end that must be kept, 0 for those of the last turn
}

// shortenOrder is the order for work that was resolved.
func shortenOrder(asked string, snapshot *config.Snapshot, resolved *penstock.Resolved, targets []*penstock.Target) ShortenOrder {
	return ShortenOrder{Asked: asked, Snapshot: snapshot, Model: resolved.Model, Policy: resolved.OnOverflow, Targets: targets}
}

// Shorten drops turns of an inference that is too long for every target that may serve it, by the policy of its model. It returns
// the shorter inference, or the same with its tokens if they had to be counted; nil if the inference is surely short enough. The decision
// is made once: the shorter body is what is priced, stored, cached and sent. Codes: context_too_long.
func (f *Overflow) Shorten(o ShortenOrder, inf *dialect.Inference) (*dialect.Inference, error) {
	if f == nil || !o.Policy.Truncates() || inf.Format == nil || !overflow.Applies(inf.Format.Endpoint) {
		return nil, nil
	}
	bound, output := overflow.Bound(inf.Object), inf.OutputTokens()
	for _, t := range o.Targets {
		if t.ContextTokens > 0 && bound > t.InputGoal(output) {
			return f.fit(o, *inf, bound)
		}
	}
	return nil, nil // nearly all calls: it is short enough for every target
}

// fit shortens an inference that may be too long for a target.
func (f *Overflow) fit(o ShortenOrder, inf dialect.Inference, bound int64) (*dialect.Inference, error) {
	goal := func(t *penstock.Target) int64 { return t.InputGoal(inf.OutputTokens()) }
	w := f.window(o, &inf)
	window := overflow.Window{Goal: w.Largest(goal), Limit: w.Largest(func(t *penstock.Target) int64 { return t.InputLimit(inf.OutputTokens()) })}
	if window.Goal == 0 || bound <= window.Goal {
		return nil, nil // no target serves such a call, or one has the context for it
	}
	cut := f.Cutter.Cut(overflow.Order{Inference: &inf, Policy: o.Policy, Window: window, Own: o.Own})
	if cut.After > window.Limit {
		return nil, tooLong(o, &inf, cut, window.Limit)
	}
	inf.Counted = cut.After
	if cut.Text == nil {
		return &inf, nil
	}
	short, err := catalog.Read(inf.Format.Endpoint, cut.Text)
	if err != nil {
		return nil, penstock.Internal(fmt.Errorf("reading a body that was shortened: %w", err))
	}
	short.Keep(&inf)
	short.Counted = inf.Counted
	short.Truncated = &penstock.Truncation{Policy: o.Policy, Turns: cut.Turns, TokensBefore: cut.Before, TokensAfter: cut.After}
	for _, t := range o.Targets {
		if goal(t) == window.Goal {
			short.Truncated.ContextTokens = t.ContextTokens
		}
	}
	return &short, nil
}

// window asks how long an inference may be.
func (f *Overflow) window(o ShortenOrder, inf *dialect.Inference) route.Window {
	needs, endpoint, model := inf.Needs(), inf.Format.Endpoint, o.Snapshot.Models[o.Model]
	return route.Window{Model: &model, Targets: o.Targets, Able: func(t *penstock.Target) bool {
		return needs&t.Lacks == 0 && (f.Serves == nil || f.Serves(t, endpoint))
	}}
}

// tooLong refuses an inference whose mandatory messages are too long.
func tooLong(o ShortenOrder, inf *dialect.Inference, cut overflow.Cut, limit int64) error {
	entry, _ := catalog.Of(inf.Format.Endpoint)
	beside := ""
	if output := inf.OutputTokens(); output > 0 {
		beside = fmt.Sprintf(" beside an answer of %d tokens", output)
	}
	e := penstock.Errorf(penstock.CodeContextTooLong,
		"The instructions, the tools and the last turn of this call have about %d tokens of its %d, and model %q takes %d%s. They are never dropped (on_overflow: %s). Shorten them, ask for a shorter answer, or use a model with a larger context.",
		cut.After, cut.Before, clip(o.Asked), limit, beside, o.Policy)
	e.Param = entry.Conversation
	return e
}

// request shortens a synchronous call. It considers the targets that may serve the call now: a paused target, or one that the
// caller left out, does not make a call short enough. Codes: context_too_long.
func (f *Overflow) request(o *RequestOrder, order ShortenOrder, controls Controls) (*dialect.Inference, error) {
	if f == nil || !order.Policy.Truncates() || o.Free {
		return nil, nil
	}
	open := controls.Open(named(order.Targets))
	order.Targets = slices.DeleteFunc(slices.Clone(order.Targets), func(t *penstock.Target) bool {
		return !slices.Contains(open, t.Name) || o.Only != nil && !slices.Contains(o.Only, t.Name)
	})
	short, err := f.Shorten(order, &o.Inference)
	if short != nil {
		o.Inference = *short
	}
	return short, err
}

// job shortens the bodies of a job. The shorter bodies are stored: every attempt, retry and replay sends the same bytes. The
// caller's list of inferences is not changed, for the reason of attachJob. Codes: context_too_long.
func (f *Overflow) job(o *JobOrder, order ShortenOrder) error {
	sent := o.Inferences
	if o.Conversation != "" {
		order.Own = o.Own
	}
	for i := range sent {
		short, err := f.Shorten(order, &sent[i])
		if err != nil {
			return inInput(err, i, len(sent))
		}
		if short == nil {
			continue
		}
		if &o.Inferences[0] == &sent[0] {
			o.Inferences = append([]dialect.Inference(nil), sent...)
		}
		o.Inferences[i] = *short
	}
	return nil
}

// again shortens an item that a retry resolves again: the targets, and what its model does with long inputs, may be others now. The
// shorter body replaces the inference and its stored text. Codes: context_too_long.
func (f *Overflow) again(o ShortenOrder, inf *dialect.Inference, text *[]byte) error {
	short, err := f.Shorten(o, inf)
	if short != nil {
		*inf, *text = *short, short.Body()
	}
	return err
}
