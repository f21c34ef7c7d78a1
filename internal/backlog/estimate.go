package backlog

import (
	"time"

	"penstock"
)

// Estimate is when a job will start and when it will be finished. A zero time is unknown, or past.
type Estimate struct{ Start, Finish time.Time }

// Place is the position of a job in its backlog at acceptance, with its estimate.
type Place struct {
	Mark   int64     // the value of the odometer at which its first item is due
	Start  time.Time // the estimated start; zero if it is unknown
	Finish time.Time // the estimated finish; zero if it is unknown
}

// Place returns the place of an admitted job. The deadline is zero for a job without its own deadline.
func (v *View) Place(a Arrival, deadline time.Time) Place {
	p := v.current()
	v.mu.Lock()
	local := v.local.at(a.level())
	v.mu.Unlock()
	f := p.of(a.level())
	ahead := max(f.tokens+local.tokens-a.Tokens, 0) // the job was admitted: a part of the arrivals is its own
	mark := f.drainedTk + ahead
	e := p.estimate(penstock.Job{
		Lane: a.Lane, Tenant: a.Tenant, Model: a.Model, QueueMark: mark, QueueTokens: a.Tokens, Deadline: deadline,
		Counts: penstock.Counts{Total: a.Items, Queued: a.Items},
	}, local, v.Clock())
	return Place{Mark: mark, Start: e.Start, Finish: e.Finish}
}

// Estimate returns when an open job will probably start and finish. It assumes that the queue is served in the order of
// arrival, at its recent speed. An earlier deadline of another job, or new work of another tenant, delays the job.
func (v *View) Estimate(j penstock.Job) Estimate {
	p := v.current()
	v.mu.Lock()
	local := v.local.at(level{j.Lane, j.Tenant, j.Model})
	v.mu.Unlock()
	return p.estimate(j, local, v.Clock())
}

func (p *picture) estimate(j penstock.Job, local weight, now time.Time) Estimate {
	var e Estimate
	if j.Counts.Open() == 0 || j.QueueTokens == 0 || p.flows == nil || !j.CancelRequestedAt.IsZero() {
		return e
	}
	f := p.of(level{j.Lane, j.Tenant, j.Model})
	if f.ready == 0 { // later arrivals started at once
		local.tokens = 0
	}
	ahead, own := place(j, f, local)
	first, ok := p.after(j, ahead, now)
	if !ok {
		return e
	}
	if j.StartedAt.IsZero() {
		e.Start = notAfter(first, j.Deadline)
	}
	service, ok := p.serviceTime(j)
	if !ok {
		return e
	}
	last := j.StartedAt
	if j.Counts.Queued > 0 {
		each := float64(j.QueueTokens) / float64(j.Counts.Total)
		if last, ok = p.after(j, ahead+max(own-each, 0), now); !ok {
			return e
		}
	}
	// The rest of an item that runs longer than usual is unknown; it counts as nearly done.
	e.Finish = notAfter(later(last.Add(service), now.Add(service/4)), j.Deadline)
	return e
}

// place is how many tokens are ahead of a job's next item, and how many of the job's own tokens are queued. Cancelled
// work never moves the odometer, so the tokens ahead are capped by the queued tokens.
func place(j penstock.Job, f flow, local weight) (ahead, own float64) {
	tokens, total := float64(j.QueueTokens), float64(j.Counts.Total)
	own = tokens * float64(j.Counts.Queued) / total
	due := float64(j.QueueMark) + tokens - own
	ahead = min(due-float64(f.drainedTk), float64(f.tokens+local.tokens)-own)
	return max(ahead, 0), own
}

// after is the time at which so many tokens of a job's backlog will have started. A backlog without a measured speed
// gets an equal part of its lane's speed.
func (p *picture) after(j penstock.Job, tokens float64, now time.Time) (time.Time, bool) {
	if tokens <= 0 {
		return now, true
	}
	f := p.of(level{j.Lane, j.Tenant, j.Model})
	perSecond, ok := f.drain.tokens()
	if !ok {
		if perSecond, ok = p.of(level{lane: j.Lane}).drain.tokens(); !ok {
			return time.Time{}, false
		}
		others := p.waiting[j.Lane]
		if f.ready > 0 {
			others--
		}
		perSecond /= float64(others + 1)
	}
	return later(p.at.Add(seconds(tokens/perSecond)), now), true
}

// serviceTime is how long an item of a job's model runs, or of any model if that is unknown.
func (p *picture) serviceTime(j penstock.Job) (time.Duration, bool) {
	if t, ok := p.of(level{model: j.Model}).service.time(); ok {
		return t, true
	}
	return p.of(level{}).service.time()
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// notAfter caps an estimate at the job's deadline.
func notAfter(t, deadline time.Time) time.Time {
	if !deadline.IsZero() && t.After(deadline) {
		return deadline
	}
	return t
}
