package demo

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"penstock"
	"penstock/internal/budget"
	"penstock/internal/cache"
	"penstock/internal/provider"
)

// The parts of calls that do not just succeed.
const (
	partFailed    = 0.015
	partLimited   = 0.012 // refused by the upstream's rate limit, on all targets
	partCancelled = 0.012 // the caller left
	partFallback  = 0.05
	partHit       = 0.12 // of the calls of a model with a cache
	partCached    = 0.25 // of the calls whose prompt was partly in the cache of the upstream
	partWritten   = 0.1  // of the other calls of a model whose upstream charges for what it writes to its cache
)

// statusClientClosed is what the log of calls says about callers that left.
const statusClientClosed = 499

// drawCalls returns the synchronous calls of a slot, oldest first.
func (h *history) drawCalls(ctx context.Context, begin, end time.Time) ([]penstock.Request, error) {
	var calls []penstock.Request
	for i := range h.workloads {
		w := &h.workloads[i]
		expected := w.calls * w.share(begin, h.grown(begin)) * end.Sub(begin).Hours()
		for n := expected; n > 0 && h.draw.Float64() < n; n-- { // on average as many as expected
			r, err := h.call(ctx, w, begin.Add(time.Duration(h.draw.Float64()*float64(end.Sub(begin)))))
			if err != nil {
				return nil, err
			}
			if r != nil {
				calls = append(calls, *r)
			}
		}
	}
	slices.SortFunc(calls, func(a, b penstock.Request) int { return cmp.Compare(a.StartedAt.UnixNano(), b.StartedAt.UnixNano()) })
	for i := range calls { // in the order of their times, as ids are
		h.number(&calls[i])
	}
	return calls, nil
}

// number gives a call and its attempts their ids.
func (h *history) number(r *penstock.Request) {
	r.ID = h.ids.New(r.StartedAt)
	for n := range r.Attempts {
		r.Attempts[n].ID, r.Attempts[n].Subject, r.Attempts[n].Number = h.ids.New(r.StartedAt), r.ID, n+1
	}
}

// call is one synchronous call, nil for one that its budget refused.
func (h *history) call(ctx context.Context, w *workload, at time.Time) (*penstock.Request, error) {
	r := &penstock.Request{
		Tenant: w.tenant, Key: w.key, Endpoint: w.endpoint, Model: w.model, Stream: h.draw.Float64() < w.streams,
		Labels: penstock.Labels{Tags: w.tags}, StartedAt: at,
	}
	model := h.Config.Models[w.model]
	caller, err := h.caller(w)
	if err != nil {
		return nil, err
	}
	reservation, err := h.budgets.Reserve(ctx, budget.Demand{
		Principal: caller, Model: penstock.ModelNames{Asked: w.model, Answers: w.model}, Tags: w.tags, Most: h.most(model, w),
	})
	if penstock.ErrorCode(err) == penstock.CodeBudgetExceeded {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	h.outcome(r, w, model)
	reservation.Settle(r.Cost + r.Forfeit)
	r.Funding = reservation.Funding
	return r, nil
}

// most is what a call can cost.
func (h *history) most(model penstock.Model, w *workload) (most penstock.NanoUSD) {
	for _, name := range model.Targets {
		t := h.Config.Targets[name]
		most = max(most, t.MostFrom(h.Clock.Now(), penstock.Charge{
			Usage: penstock.Usage{InputTokens: int64(4 * (w.system + 500)), OutputTokens: int64(8 * (w.output + 50))}, Calls: 1,
		}))
	}
	return most
}

// outcome decides how a call went.
func (h *history) outcome(r *penstock.Request, w *workload, model penstock.Model) {
	luck := h.draw.Float64()
	first, last := h.target(model), model.Targets[len(model.Targets)-1]
	switch {
	case luck < partFailed:
		h.failed(r, first, provider.Error{Kind: provider.KindServer, StatusCode: http.StatusInternalServerError, Message: "The server had an error while processing your request."})
	case luck < partFailed+partLimited:
		h.failed(r, first, provider.Error{Kind: provider.KindRateLimited, StatusCode: http.StatusTooManyRequests, Message: "Rate limit reached for requests."})
	case luck < partFailed+partLimited+partCancelled && r.Stream:
		h.answered(r, w, first)
		r.Status, r.StatusCode, r.ErrorCode, r.Error = penstock.StatusCancelled, statusClientClosed, penstock.CodeCancelled, "The caller closed the connection before the answer ended."
		r.Attempts[0].ErrorKind, r.Attempts[0].ErrorMessage = string(provider.KindCancelled), "our side gave up"
	case model.CacheTTL > 0 && h.draw.Float64() < partHit:
		h.hit(r, w, first)
	case first != last && (luck > 1-partFallback || first == targetLlamaOwn && h.sick(r.StartedAt)):
		refused := h.try(r.StartedAt, first)
		refused.ErrorKind, refused.ErrorMessage, refused.StatusCode = string(provider.KindOverloaded), "The server is overloaded.", http.StatusServiceUnavailable
		refused.FinishedAt = r.StartedAt.Add(time.Duration(80+h.draw.IntN(200)) * time.Millisecond)
		h.answered(r, w, last)
		r.Attempts = []penstock.Attempt{refused, r.Attempts[0]}
		r.Attempts[1].Reason = "next in the model's order: " + first + " was tried"
	default:
		h.answered(r, w, first)
	}
}

// sick reports whether the company's own model server had trouble: for two days in the middle of the month, and since this morning.
func (h *history) sick(at time.Time) bool {
	ago := h.Until.Sub(at)
	return ago < 6*time.Hour || ago > 15*24*time.Hour && ago < 17*24*time.Hour
}

// target is the target that a call begins with.
func (h *history) target(model penstock.Model) string {
	if model.Policy == penstock.PolicyWeighted && h.draw.Float64() < 0.25 {
		return model.Targets[len(model.Targets)-1]
	}
	return model.Targets[0]
}

// try is an attempt on a target, with the reason that the router would give.
func (h *history) try(at time.Time, target string) penstock.Attempt {
	_, version := h.Config.Targets[target].PriceAt(at)
	reason := "first of the model's order"
	if weight, ok := h.Config.Models[modelMini].Weights[target]; ok { // the only model with weights
		reason = fmt.Sprintf("weighted, with a weight of %d", weight)
	}
	return penstock.Attempt{Target: target, Reason: reason, Config: h.Config.Hash, PriceVersion: version, StartedAt: at.Add(2 * time.Millisecond)}
}

// hit completes a call whose answer was cached: the usage that it saved is on its attempt.
func (h *history) hit(r *penstock.Request, w *workload, target string) {
	h.answered(r, w, target)
	a := &r.Attempts[0]
	saved := a.Cost
	r.FinishedAt = r.StartedAt.Add(time.Duration(300+h.draw.IntN(900)) * time.Microsecond)
	r.FirstTokenAt = r.FinishedAt
	r.Target, r.Usage, r.Cost = string(cache.Hit)+"/"+target, penstock.Usage{}, 0
	a.Target, a.Cost, a.PriceVersion, a.StartedAt, a.FirstTokenAt, a.FinishedAt = r.Target, 0, "", r.StartedAt, r.FinishedAt, r.FinishedAt
	a.Reason = fmt.Sprintf("the answer to an earlier call was kept, %s ago; saved %d input and %d output tokens, $%s",
		time.Duration(5+h.draw.IntN(500))*time.Second, a.Usage.InputTokens, a.Usage.OutputTokens, saved)
}

// answered completes a call that succeeded.
func (h *history) answered(r *penstock.Request, w *workload, target string) {
	r.Status, r.StatusCode, r.Target = penstock.StatusSucceeded, http.StatusOK, target
	r.Usage.InputTokens = int64(float64(w.system)*(0.7+0.6*h.draw.Float64())) + int64(40+h.draw.IntN(120))
	r.Usage.OutputTokens = int64(float64(w.output) * (0.5 + h.draw.Float64()))
	if h.draw.Float64() < partCached && w.system > 1_000 {
		r.Usage.CachedInputTokens = r.Usage.InputTokens * int64(50+h.draw.IntN(40)) / 100
	} else if w.model == modelSonnet && h.draw.Float64() < partWritten {
		r.Usage.CacheWriteTokens = r.Usage.InputTokens * int64(40+h.draw.IntN(30)) / 100
	}
	if w.endpoint == penstock.EndpointResponses { // its model reasons before it answers
		r.Usage.ReasoningTokens = r.Usage.OutputTokens * int64(20+h.draw.IntN(30)) / 100
	}
	a := h.try(r.StartedAt, target)
	price, _ := h.Config.Targets[target].PriceAt(r.StartedAt)
	r.Cost = price.Charge(penstock.Charge{Usage: r.Usage, Calls: 1, Lane: penstock.LaneRealtime})
	pace := 70.0
	if target == targetMistral {
		pace = 14
	}
	first := time.Duration(200+h.draw.IntN(500)+h.draw.IntN(30)*h.draw.IntN(30)) * time.Millisecond
	r.FinishedAt = r.StartedAt.Add(first + time.Duration(float64(r.Usage.OutputTokens)/pace*float64(time.Second)))
	if r.FirstTokenAt = r.FinishedAt; r.Stream { // a plain answer comes at once
		r.FirstTokenAt = r.StartedAt.Add(first)
	}
	a.StatusCode, a.Usage, a.UsageKnown, a.Cost, a.FirstTokenAt, a.FinishedAt = http.StatusOK, r.Usage, true, r.Cost, r.FirstTokenAt, r.FinishedAt
	r.Attempts = []penstock.Attempt{a}
}

// failed completes a call that failed on its target.
func (h *history) failed(r *penstock.Request, target string, why provider.Error) {
	a := h.try(r.StartedAt, target)
	r.FinishedAt = r.StartedAt.Add(time.Duration(90+h.draw.IntN(900)) * time.Millisecond)
	a.ErrorKind, a.ErrorMessage, a.StatusCode, a.FinishedAt = string(why.Kind), why.Message, why.StatusCode, r.FinishedAt
	r.Status, r.Target, r.Attempts = penstock.StatusFailed, target, []penstock.Attempt{a}
	r.ErrorCode, r.Error = why.Kind.Policy().Code, why.Message
	r.StatusCode = http.StatusBadGateway
	if r.ErrorCode == penstock.CodeOverloaded {
		r.StatusCode = http.StatusServiceUnavailable
	}
}

// caller is the principal of a workload, with the budgets of its tenant as they are now.
func (h *history) caller(w *workload) (penstock.Principal, error) {
	return h.Directory.Principal(h.state.Secret(w.tenant, w.key))
}
