package attempt

import (
	"context"
	"time"

	"penstock"
	"penstock/internal/capacity"
	"penstock/internal/fan"
	"penstock/internal/provider"
	"penstock/internal/route"
)

// maxParallel is how many calls upstream one attempt makes at once.
const maxParallel = 16

// several makes the calls of a try on a target that gives one answer for each. Each call takes capacity of the target like any
// other, the first that of the try, and returns it at its end. Calls that find no capacity at first wait for an earlier one to end.
func (r *Runner) several(ctx context.Context, t *try) *fan.Answer {
	calls, asked, first := int(t.request.Parts.Calls), t.asked(), t.call(ctx)
	first.Waiting = nil // it is not for several goroutines
	request := t.request
	text, times := request.Parts.Input(first.Body)
	query := route.Query{
		Candidates: []*penstock.Target{t.choice.Target}, Lane: t.task.Lane, Tenant: t.task.Tenant, Wait: t.task.Wait, Stream: t.task.Stream,
		InputTokens: penstock.InputTokens(times * int64(len(text)) / int64(calls)), MaxOutputTokens: t.task.MaxOutputTokens / int64(calls),
	}
	t.choice.Amend(query.InputTokens, query.MaxOutputTokens)
	choices := append([]*route.Choice{t.choice}, r.Router.Reserve(query, min(calls, maxParallel)-1)...)
	return fan.Start(ctx, fan.Plan{
		Calls: calls, Parallel: len(choices), Each: int(request.Parts.Each), Stream: t.task.Stream, IncludeUsage: t.task.IncludeUsage, Memory: &t.memory,
		Begin: func(ctx context.Context, call int) (fan.Unit, error) {
			if call < len(choices) {
				return t.unitOn(choices[call]), nil
			}
			choice, err := r.Router.Choose(ctx, query)
			if err != nil {
				return nil, err
			}
			return t.unitOn(choice), nil
		},
		Ask: func(ctx context.Context, call int) (provider.Answer, error) {
			one := first
			text, err := request.Part(first.Body, int64(call))
			if err != nil {
				return nil, err
			}
			one.Body = text
			answer, err := request.Upstream.Call(ctx, one)
			if err != nil {
				return nil, err
			}
			return request.Answer(answer, asked, &t.memory), nil
		},
	})
}

// unit is the capacity of one of several calls, with the result that its target learns from.
type unit struct {
	choice  *route.Choice
	clock   func() time.Time
	began   time.Time
	stream  bool
	hurried bool // the caller allows less time than the target
}

func (t *try) unitOn(choice *route.Choice) *unit {
	return &unit{choice: choice, clock: t.runner.Clock, began: t.runner.Clock(), stream: t.task.Stream, hurried: t.callerLimitsTime()}
}

// Begun implements fan.Unit.
func (u *unit) Begun() {
	if u.stream {
		u.choice.Begun(u.clock().Sub(u.began))
	}
}

// Done implements fan.Unit.
func (u *unit) Done(meta provider.Meta, failure *provider.Error) {
	result := capacity.ResultOf(&meta, failure)
	if result.Took = u.clock().Sub(u.began); result.Kind == provider.KindTimeout && u.hurried {
		result.Kind = provider.KindCancelled // see try.result
	}
	u.choice.Done(result)
}

// Release implements fan.Unit.
func (u *unit) Release() { u.choice.Release() }

// calls is how many calls upstream of a try may be charged for.
func (t *try) calls() int64 {
	if t.several == nil {
		return 1
	}
	return t.several.Charged()
}
