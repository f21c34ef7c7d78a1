package admit

import (
	"fmt"
	"math"
	"slices"

	"penstock"
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
	Asked   string // the model as the caller named it
	Model   penstock.Model
	Policy  penstock.OnOverflow // of the model when the work was admitted
	Targets []*penstock.Target  // that the work may run on, in the order of the model
	Own     int                 // messages at the end that must be kept, 0 for those of the last turn
}

// Shorten drops turns of an inference that is too long for every target that may serve it, by the policy of its model. It returns
// the shorter inference, or the same with its tokens if they had to be counted; nil if the inference is surely short enough. The decision is made once: the shorter body is what is priced, stored, cached and
// sent. Codes: context_too_long.
func (f *Overflow) Shorten(o ShortenOrder, inf *dialect.Inference) (*dialect.Inference, error) {
	if f == nil || !o.Policy.Truncates() || inf.Format == nil || !overflow.Applies(inf.Format.Endpoint) {
		return nil, nil
	}
	output := inf.OutputTokens()
	goal := func(t *penstock.Target) int64 { return t.InputGoal(output) }
	bound := overflow.Bound(inf.Body())
	if !slices.ContainsFunc(o.Targets, func(t *penstock.Target) bool { return t.ContextTokens > 0 && bound > goal(t) }) {
		return nil, nil // nearly all calls: it is short enough for every target
	}
	needs := inf.Needs()
	w := route.Window{Model: &o.Model, Targets: o.Targets, Able: func(t *penstock.Target) bool {
		return needs&t.Lacks == 0 && (f.Serves == nil || f.Serves(t, inf.Format.Endpoint))
	}}
	window := overflow.Window{Goal: w.Largest(goal), Limit: w.Largest(func(t *penstock.Target) int64 { return t.InputLimit(output) })}
	if window.Goal == 0 || bound <= window.Goal {
		return nil, nil // no target serves such a call, or one has the context for it
	}
	cut := f.Cutter.Cut(overflow.Order{Inference: inf, Policy: o.Policy, Window: window, Own: o.Own})
	if cut.After > window.Limit {
		return nil, tooLong(o, inf, cut, window.Limit)
	}
	if cut.Text == nil {
		counted := *inf
		counted.Counted = cut.After
		return &counted, nil
	}
	short, err := catalog.Read(inf.Format.Endpoint, cut.Text)
	if err != nil {
		return nil, penstock.Internal(fmt.Errorf("reading a body that was shortened: %w", err))
	}
	short.CustomID, short.Betas, short.Files = inf.CustomID, inf.Betas, inf.Files // the body does not contain these
	short.Counted = cut.After
	short.Truncated = &penstock.Truncation{Policy: o.Policy, Turns: cut.Turns, TokensBefore: cut.Before, TokensAfter: cut.After, ContextTokens: contextOf(o.Targets, window.Goal, goal)}
	return &short, nil
}

// contextOf is the context of the target whose goal was chosen.
func contextOf(targets []*penstock.Target, chosen int64, goal func(*penstock.Target) int64) int64 {
	for _, t := range targets {
		if goal(t) == chosen {
			return t.ContextTokens
		}
	}
	return 0
}

// tooLong refuses an inference whose mandatory messages are too long.
func tooLong(o ShortenOrder, inf *dialect.Inference, cut overflow.Cut, limit int64) error {
	entry, _ := catalog.Of(inf.Format.Endpoint)
	beside := ""
	if output := inf.OutputTokens(); output > 0 && output < math.MaxInt32 {
		beside = fmt.Sprintf(" beside an answer of %d tokens", output)
	}
	e := penstock.Errorf(penstock.CodeContextTooLong,
		"The instructions, the tools and the last turn of this call have about %d tokens of its %d, and model %q takes %d%s. They are never dropped (on_overflow: %s). Shorten them, ask for a shorter answer, or use a model with a larger context.",
		cut.After, cut.Before, clip(o.Asked), limit, beside, o.Policy)
	e.Param = entry.Conversation
	return e
}

// shortenRequest shortens a synchronous call. It considers the targets that may serve the call now: a paused target, or one that the
// caller left out, does not make a call short enough. Codes: context_too_long.
func (s *Service) shortenRequest(o *RequestOrder, resolved *penstock.Resolved, targets []*penstock.Target) (*dialect.Inference, error) {
	if !resolved.OnOverflow.Truncates() || o.Free {
		return nil, nil
	}
	open := s.Controls.Open(resolved.Targets)
	usable := slices.DeleteFunc(slices.Clone(targets), func(t *penstock.Target) bool {
		return !slices.Contains(open, t.Name) || o.Only != nil && !slices.Contains(o.Only, t.Name)
	})
	short, err := s.Overflow.Shorten(s.shortenOrder(o.Model, resolved, usable), &o.Inference)
	if short != nil {
		o.Inference = *short
	}
	return short, err
}

func (s *Service) shortenOrder(asked string, resolved *penstock.Resolved, targets []*penstock.Target) ShortenOrder {
	return ShortenOrder{Asked: asked, Model: s.Config.Current().Models[resolved.Model], Policy: resolved.OnOverflow, Targets: targets}
}

// shortenJob shortens the bodies of a job. The shorter bodies are stored: every attempt, retry and replay sends the same bytes. The
// caller's list of inferences is not changed, for the reason of attachJob. Codes: context_too_long.
func (s *Service) shortenJob(o *JobOrder, resolved *penstock.Resolved, targets []*penstock.Target) error {
	order, sent := s.shortenOrder(o.Model, resolved, targets), o.Inferences
	if o.Conversation != "" {
		order.Own = o.Own
	}
	for i := range sent {
		short, err := s.Overflow.Shorten(order, &sent[i])
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

// retried is the model and the targets of an item that a retry resolves again.
type retried struct {
	asked    string
	resolved *penstock.Resolved
	targets  []*penstock.Target
}

// shortenAgain shortens an item that a retry resolves again: the targets, and what its model does with long inputs, may be others now.
func (s *Service) shortenAgain(r retried, inf *dialect.Inference) error {
	short, err := s.Overflow.Shorten(s.shortenOrder(r.asked, r.resolved, r.targets), inf)
	if short != nil {
		*inf = *short
	}
	return err
}
