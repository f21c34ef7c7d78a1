package api

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"penstock"
	"penstock/internal/admit"
	"penstock/internal/api/dialect"
	"penstock/internal/attempt"
	"penstock/internal/cache"
	"penstock/internal/provider"
	"penstock/internal/rest"
)

const (
	// headerCache is how a caller says what it wants of the cache, and how it is told what it got. In canonical form: every
	// call looks for it.
	headerCache = "X-Penstock-Cache"
	// askedTTL is how old an answer may be for a caller who asks for the cache where nobody else did.
	askedTTL = 5 * time.Minute
)

// What a caller may want of the cache.
const (
	cacheUse     = "use"     // an answer that is kept will do, also where neither model nor key says so
	cacheRefresh = "refresh" // a new answer, which is kept instead of an older one
	cacheOff     = "off"     // a new answer, which is not kept
)

// cachePlan is how a call uses the cache.
type cachePlan struct {
	key     cache.Key
	ttl     time.Duration // 0 for a call that does not use it
	refresh bool
}

// cachePlan decides how a call uses the cache: the caller's word counts most, then its key's, then the model's.
// Codes: invalid_request.
func (c inferences) cachePlan(d *inferenceEndpoint, asked dialect.Call, a admit.Admitted) (cachePlan, error) {
	plan := cachePlan{ttl: a.Model.CacheTTL}
	if c.Principal.CacheTTL > 0 {
		plan.ttl = c.Principal.CacheTTL
	}
	switch wish := c.R.Header.Get(headerCache); wish {
	case "":
	case cacheOff:
		plan.ttl = 0
	case cacheUse, cacheRefresh:
		plan.refresh = wish == cacheRefresh
		if plan.ttl == 0 {
			plan.ttl = askedTTL
		}
	default:
		return plan, penstock.InvalidParam("x-penstock-cache", "x-penstock-cache must be %s, %s or %s.", cacheUse, cacheRefresh, cacheOff)
	}
	if plan.ttl == 0 || d.free || c.Cache == nil { // what is free is not worth keeping
		return cachePlan{}, nil
	}
	var ok bool
	plan.key, ok = cache.KeyOf(cache.Question{
		Tenant: c.Principal.Tenant.ID, Definition: a.Model.Definition, Targets: a.Resolved, Endpoint: d.endpoint,
		Headers: d.spelled(c.R.Header), Body: asked.Object,
	})
	if !ok {
		return cachePlan{}, nil
	}
	return plan, nil
}

// spelled lists the headers that go on to the upstream, in a fixed order.
func (d *inferenceEndpoint) spelled(from http.Header) []string {
	var all []string
	for _, name := range d.forward {
		all = append(all, name, strings.Join(from.Values(name), "\n"))
	}
	return all
}

// runShared answers a call from the cache, or from a call upstream that others with the same question may join.
func (c inferences) runShared(plan cachePlan, task *attempt.Task, t *charge) error {
	if task.Stream {
		c.endWithKey()
	}
	began := c.Clock()
	reading := c.Cache.Ask(c.R.Context(), cache.Ask{
		Key: plan.key, Subject: c.ID, TTL: plan.ttl, Refresh: plan.refresh, Call: c.lead(task, began, t),
	})
	defer reading.Close()
	recorded := reading.Source == cache.Miss // then the call upstream is what is recorded
	defer func() {
		if !recorded {
			c.Recorder.Leave() // a panic: there is nothing sound to record
		}
	}()
	c.W.Header().Set(headerCache, string(reading.Source))
	c.Metrics.CacheAnswered(task.Model, string(reading.Source))
	sink := &httpSink{w: c.W, stream: task.Stream, config: c.Config.Current(), charge: t}
	out := &attempt.Outcome{Err: reading.Copy(c.R.Context(), sink)}
	answer := reading.Answer()
	out.Begun, out.Target = c.W.Status != 0, answer.Target
	err := c.conclude(out, sink)
	if !recorded {
		t.settle(&attempt.Outcome{}) // it was a call, and used nothing
		c.Recorder.Add(c.recordShared(task, sharedAnswer{reading.Source, answer, out.Err}, outcomeOf{began: began, err: err, status: c.W.Status}))
		recorded = true
	}
	sink.end()
	return nil
}

// lead makes the call upstream, and records it as the caller's who began it: also when that one has left, and others
// wait for the answer.
func (c inferences) lead(task *attempt.Task, began time.Time, t *charge) cache.Call {
	caller := c.R.Context()
	return func(ctx context.Context, f *cache.Flight) cache.Result {
		recorded := false
		defer func() {
			if !recorded {
				c.Recorder.Leave() // a panic, or a refusal: there is nothing sound to record
				t.reservation.Lose()
			}
		}()
		if err := c.open(ctx, t, task); err != nil {
			t.settle(&attempt.Outcome{})
			return cache.Result{Err: err}
		}
		out := c.Runner.Answer(ctx, task, f)
		t.settle(out)
		end := outcomeOf{began: began, status: out.StatusCode, holding: t.reservation.Funding}
		switch {
		case caller.Err() != nil:
			end.status, end.err = rest.StatusClientClosed, errLeft()
			if ended := c.keyEnded(); ended != nil {
				end.status, end.err = rest.Status(penstock.CodeInvalidKey), ended
			}
		case out.Err != nil:
			e := callerError(out.Err)
			end.err = e
			if !out.Begun {
				end.status = rest.Status(e.Code)
			}
		}
		c.Recorder.Add(c.recordOf(task, out, end))
		recorded = true
		return cache.Result{Err: out.Err, Meta: provider.Meta{Usage: out.Usage, UsageKnown: out.Err == nil}, Cost: out.Cost}
	}
}

// sharedAnswer is an answer that another call paid for.
type sharedAnswer struct {
	source cache.Source
	answer cache.Answer
	err    error
}

// recordShared is the record of a call that cost nothing. What it would have used stands on its only attempt, which was
// made on no target; the name of the target says so, because no target can have such a name.
func (c inferences) recordShared(task *attempt.Task, s sharedAnswer, o outcomeOf) penstock.Request {
	now := c.Clock()
	try := penstock.Attempt{
		ID: c.ids.New(now), Subject: c.ID, Number: 1, Target: string(s.source) + "/" + s.answer.Target, Config: c.Config.Current().Hash,
		StatusCode: o.status, StartedAt: o.began, FinishedAt: now, Reason: s.reason(now),
	}
	if s.err == nil {
		try.Usage, try.UsageKnown, try.FirstTokenAt = s.answer.Meta.Usage, s.answer.Meta.UsageKnown, now
		c.Metrics.CacheSaved(task.Model, try.Usage)
	} else {
		failure := provider.AsError(s.err)
		try.ErrorKind, try.ErrorMessage = string(failure.Kind), failure.Public()
	}
	return c.recordOf(task, &attempt.Outcome{Target: try.Target, Attempts: []penstock.Attempt{try}}, o)
}

// reason explains to whoever asks later why no target was called.
func (s sharedAnswer) reason(now time.Time) string {
	of := penstock.ViewRequest.Format(s.answer.Subject)
	if s.err != nil {
		return fmt.Sprintf("waited for the call of %s", of)
	}
	how := fmt.Sprintf("read along with the call of %s", of)
	if s.source == cache.Hit {
		how = fmt.Sprintf("the answer to %s was kept, %s ago", of, now.Sub(s.answer.StoredAt).Round(time.Second))
	}
	u := s.answer.Meta.Usage
	return fmt.Sprintf("%s; saved %d input and %d output tokens, $%s", how, u.InputTokens, u.OutputTokens, s.answer.Cost)
}

// unshare tells apart what recordShared put together: where the answer came from, "" for a call of its own, and
// whose it was.
func unshare(target string) (source, of string) {
	source, of, found := strings.Cut(target, "/")
	if !found || !slices.Contains([]cache.Source{cache.Hit, cache.Coalesced}, cache.Source(source)) {
		return "", target
	}
	return source, of
}

// savedView is what an answer did not use because it was there already.
type savedView struct {
	InputTokens  int64 `json:"input_tokens"`
	OutputTokens int64 `json:"output_tokens"`
}

// showShared completes the view of a call that another one paid for.
func (v *requestView) showShared(r penstock.Request) {
	source, of := unshare(r.Target)
	if source == "" {
		return
	}
	v.Cache, v.Target = &source, text(of)
	for i := range v.History {
		v.History[i].Target = v.Target
		spared := v.History[i].Usage
		v.Saved = &savedView{InputTokens: spared.InputTokens, OutputTokens: spared.OutputTokens}
		v.History[i].Usage = usageView{}
	}
}
