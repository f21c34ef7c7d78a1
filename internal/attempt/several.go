package attempt

import (
	"context"
	"time"

	"penstock"
	"penstock/internal/capacity"
	"penstock/internal/dialect"
	"penstock/internal/fan"
	"penstock/internal/provider"
	"penstock/internal/route"
)

// maxParallel is how many calls upstream one attempt makes at once.
const maxParallel = 16

// divide makes the request that of the first of several calls, if the target gives one answer for each call.
func (l *upstreamRequest) divide(task *Task, target *penstock.Target) (err error) {
	inf := task.read()
	if inf == nil {
		return nil // the upstream says what is wrong with the body
	}
	if l.parts, err = inf.Parts(target); err == nil && l.parts.Calls > 1 {
		l.body, l.object = l.parts.Body(0), nil
	}
	return err
}

// part is the body of one of several calls.
func (l *upstreamRequest) part(first []byte, call int64) ([]byte, error) {
	if call == 0 || !l.parts.Varied() {
		return first, nil
	}
	text := l.parts.Body(call)
	if l.translation == nil {
		return text, nil
	}
	text, _, err := l.translation.Request(text, l.to)
	if err == nil && l.clamp > 0 {
		text = dialect.LimitOutput(l.endpoint, text, l.clamp)
	}
	return text, err
}

// several makes the calls of a try on a target that gives one answer for each. Each call takes capacity of the target like any
// other, the first that of the try, and returns it at its end. Calls that find no capacity at first wait for an earlier one to end.
func (r *Runner) several(ctx context.Context, t *try) *fan.Answer {
	calls, asked, first := int(t.upstreamRequest.parts.Calls), t.asked(), t.call(ctx)
	first.Waiting = nil // it is not for several goroutines
	request := t.upstreamRequest
	query := route.Query{
		Candidates: []*penstock.Target{t.choice.Target}, Lane: t.task.Lane, Tenant: t.task.Tenant, Wait: t.task.Wait, Stream: t.task.Stream,
		InputTokens: penstock.InputTokens(int64(len(first.Body))), MaxOutputTokens: t.task.MaxOutputTokens / int64(calls),
	}
	t.choice.Amend(query.InputTokens, query.MaxOutputTokens)
	units := append([]*route.Choice{t.choice}, r.Router.Reserve(query, min(calls, maxParallel)-1)...)
	return fan.Start(ctx, fan.Plan{
		Calls: calls, Parallel: len(units), Each: int(request.parts.Each), Stream: t.task.Stream, IncludeUsage: t.task.IncludeUsage, Memory: &t.memory,
		Begin: func(ctx context.Context, call int) (func(provider.Meta, *provider.Error), error) {
			if call < len(units) {
				return t.accounted(units[call]), nil
			}
			unit, err := r.Router.Choose(ctx, query)
			if err != nil {
				return nil, err
			}
			return t.accounted(unit), nil
		},
		Ask: func(ctx context.Context, call int) (provider.Answer, error) {
			one := first
			text, err := request.part(first.Body, int64(call))
			if err != nil {
				return nil, err
			}
			one.Body = text
			answer, err := request.upstream.Call(ctx, one)
			if err != nil || request.translation == nil {
				return answer, err
			}
			return request.translation.Answer(t.held(answer), asked), nil
		},
	})
}

// accounted reports the end of a call to the capacity that it ran on, which is free then.
func (t *try) accounted(unit *route.Choice) func(provider.Meta, *provider.Error) {
	began, hurried := time.Now(), t.callerLimitsTime()
	return func(meta provider.Meta, failure *provider.Error) {
		result := resultOf(&meta, failure)
		if result.Took = time.Since(began); result.Kind == provider.KindTimeout && hurried {
			result.Kind = provider.KindCancelled // see result
		}
		unit.Done(result)
	}
}

// resultOf is the result of a call, for the capacity of its target.
func resultOf(meta *provider.Meta, failure *provider.Error) capacity.Result {
	res := capacity.Result{Usage: meta.Usage, UsageKnown: meta.UsageKnown, Limits: meta.Limits}
	if failure != nil {
		res.Kind, res.RetryAfter, res.Quota = failure.Kind, failure.RetryAfter, failure.Quota
		if failure.Limits != (provider.RateLimits{}) {
			res.Limits = failure.Limits
		}
	}
	return res
}

// calls is how many calls upstream a try made.
func (t *try) calls() int64 {
	if t.several == nil {
		return 1
	}
	return max(1, t.several.Begun())
}
