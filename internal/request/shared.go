package request

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"penstock"
	"penstock/internal/admit"
	"penstock/internal/attempt"
	"penstock/internal/cache"
	"penstock/internal/provider"
)

// CacheMode is what a caller wants of the cache.
type CacheMode string

// The modes. The zero mode leaves it to the key and the model.
const (
	CacheUse     CacheMode = "use"     // a kept answer will do, also where neither model nor key says so
	CacheRefresh CacheMode = "refresh" // a new answer, which is kept instead of an older one
	CacheOff     CacheMode = "off"     // a new answer, which is not kept
)

// Source says where an answer came from, for a call that uses the cache.
type Source = cache.Source

// askedTTL is how old an answer may be for a caller who asks for the cache where neither model nor key does.
const askedTTL = 5 * time.Minute

// plan is how a call uses the cache.
type plan struct {
	key     cache.Key
	ttl     time.Duration // 0 for a call that does not use it
	refresh bool
}

// plan decides how a call uses the cache: the caller decides first, then its key, then the model.
func (s *Service) plan(principal *penstock.Principal, order *Order, a *admit.Admitted) plan {
	p := plan{ttl: a.Model.CacheTTL, refresh: order.Cache == CacheRefresh}
	if principal.CacheTTL > 0 {
		p.ttl = principal.CacheTTL
	}
	switch order.Cache {
	case CacheOff:
		p.ttl = 0
	case CacheUse, CacheRefresh:
		if p.ttl == 0 {
			p.ttl = askedTTL
		}
	}
	if p.ttl == 0 || order.Free || s.Cache == nil { // a free answer is not worth keeping
		return plan{}
	}
	var ok bool
	p.key, ok = cache.KeyOf(cache.Question{
		Tenant: principal.Tenant.ID, Definition: a.Model.Definition, Targets: a.Resolved, Endpoint: order.Endpoint, Headers: spelled(order), Body: order.Inference.Object, Filters: s.Runner.Filters.VersionName(),
	})
	if !ok {
		return plan{}
	}
	return p
}

// spelled lists the headers that go on to the upstream, in a fixed order.
func spelled(order *Order) []string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(order.Header)) {
		all = append(all, name, strings.Join(order.Header[name], "\n"))
	}
	return all
}

// ask finds a kept answer, joins a call that is under way for the same question, or makes one that others may join.
func (r *Running) ask(ctx context.Context, p plan, t task) {
	s := r.service
	r.began = s.Clock()
	l := &leader{call: r, task: t, caller: ctx, held: held{free: r.held.free, permit: r.held.permit, limits: r.held.limits, place: true}}
	r.reading = s.Cache.Ask(ctx, cache.Ask{Key: p.key, Subject: r.id, TTL: p.ttl, Refresh: p.refresh, Call: l.run})
	if r.reading.Source == cache.Miss { // the leader records the call
		r.leader, r.held.place = l, false
	}
	s.Metrics.CacheAnswered(r.model, string(r.reading.Source))
}

// finishShared passes on an answer that is kept or comes in for several callers, and records a call that did not make the call
// upstream itself.
func (r *Running) finishShared(ctx context.Context) {
	err := r.reading.Copy(ctx, (*answer)(r))
	kept := r.reading.Answer()
	end := r.conclude(ctx, &attempt.Outcome{Err: err, Target: kept.Target})
	if r.leader == nil {
		r.held.settle(&attempt.Outcome{}) // it was a call, and used nothing
		r.recordShared(sharedAnswer{r.reading.Source, kept, err}, end)
	}
	cost := penstock.NanoUSD(0) // of an answer that another call paid for
	if r.leader != nil {
		cost = kept.Cost
	}
	r.sink.End(cost)
}

// leader makes the call upstream whose answer several callers may read, on the account of the caller who asked first. It goes on
// without that caller while others wait for the answer, so it holds the reservation and the place of the record itself. The permit
// and the limit hold end with the caller or with the call, by what ends first.
type leader struct {
	call   *Running
	task   task
	caller context.Context // ends when the caller leaves
	held   held
}

// run implements cache.Call.
func (l *leader) run(ctx context.Context, f *cache.Flight) cache.Result {
	r, s := l.call, l.call.service
	defer l.held.lose(s.Recorder) // after a refusal or a panic: no record would be sound
	if err := l.held.reserve(ctx, s.Budgets, &l.task); err != nil {
		l.held.settle(&attempt.Outcome{})
		return cache.Result{Err: err}
	}
	out := s.Runner.Answer(ctx, l.task.Task, f)
	l.held.settle(&out)
	s.Recorder.Add(r.recordOf(&out, l.ending(&out)))
	l.held.place = false
	return cache.Result{Err: out.Err, Meta: provider.Meta{Usage: out.Usage, UsageKnown: out.Err == nil}, Cost: out.Cost}
}

// ending is how the call ended for the caller who asked first.
func (l *leader) ending(out *attempt.Outcome) ending {
	s := l.call.service
	end := ending{began: l.call.began, status: out.StatusCode, funding: l.held.reservation.Funding}
	switch {
	case l.caller.Err() != nil:
		why := endedBy(l.caller)
		if why == nil {
			why = errLeft()
		}
		end.status, end.err = s.Status(why.Code), why
	case out.Err != nil:
		e := callerError(out.Err)
		end.err = e
		if !out.Begun {
			end.status = s.Status(e.Code)
		}
	}
	return end
}

// lose gives back the place and the reservation of a leader that did not settle them. The permit and the limit hold are those
// of its caller.
func (h *held) lose(records Recorder) {
	h.reservation.Lose()
	if h.place {
		h.place = false
		records.Leave()
	}
}

// sharedAnswer is an answer that another call paid for.
type sharedAnswer struct {
	source Source
	answer cache.Answer
	err    error
}

// recordShared records a call that cost nothing. The usage that it saved stands on its only attempt, which was made on no target;
// the name of the target says so, because no target can have such a name.
func (r *Running) recordShared(a sharedAnswer, end ending) {
	s := r.service
	now := s.Clock()
	try := penstock.Attempt{
		ID: s.ids.New(now), Subject: r.id, Number: 1, Target: string(a.source) + "/" + a.answer.Target, Config: s.Config.Current().Hash,
		StatusCode: end.status, StartedAt: end.began, FinishedAt: now, Reason: a.reason(now),
	}
	if a.err == nil {
		try.Usage, try.UsageKnown, try.FirstTokenAt = a.answer.Meta.Usage, a.answer.Meta.UsageKnown, now
		s.Metrics.CacheSaved(r.model, try.Usage)
	} else {
		failure := provider.AsError(a.err)
		try.ErrorKind, try.ErrorMessage = string(failure.Kind), failure.Public()
	}
	r.record(&attempt.Outcome{Target: try.Target, Attempts: []penstock.Attempt{try}}, end)
}

// reason explains why no target was called.
func (a sharedAnswer) reason(now time.Time) string {
	of := penstock.ViewRequest.Format(a.answer.Subject)
	if a.err != nil {
		return fmt.Sprintf("waited for the call of %s", of)
	}
	how := fmt.Sprintf("read along with the call of %s", of)
	if a.source == cache.Hit {
		how = fmt.Sprintf("the answer to %s was kept, %s ago", of, now.Sub(a.answer.StoredAt).Round(time.Second))
	}
	u := a.answer.Meta.Usage
	return fmt.Sprintf("%s; saved %d input and %d output tokens, $%s", how, u.InputTokens, u.OutputTokens, a.answer.Cost)
}

// SplitTarget takes apart the target on the record of a call: where its answer came from, "" for a call of its own, and the name
// of the target that gave the answer.
func SplitTarget(recorded string) (source Source, target string) {
	before, after, found := strings.Cut(recorded, "/")
	if !found || !slices.Contains([]Source{cache.Hit, cache.Coalesced}, Source(before)) {
		return "", recorded
	}
	return Source(before), after
}
