package backlog

import (
	"time"

	"penstock"
)

// Estimate is when a job will start and when it will be finished. A zero time is unknown, or past.
type Estimate struct{ Start, Finish time.Time }

// Place is where a job stands when it is accepted.
type Place struct {
	Mark   int64     // the odometer's reading at which its first item is due
	Start  time.Time // when it will start; zero when nobody knows
	Finish time.Time // when it will be finished; zero when nobody knows
}

// Place gives a job that was let in its place. Its deadline is zero when it has none of its own.
func (v *View) Place(a Arrival, deadline time.Time) Place {
	p := v.current()
	v.mu.Lock()
	local := v.local.at(a.level())
	v.mu.Unlock()
	f := p.of(a.level())
	ahead := max(f.tokens+local.tokens-a.Tokens, 0) // it has been let in: part of what came is its own
	mark := f.drainedTk + ahead
	e := p.estimate(penstock.Job{
		Lane: a.Lane, Tenant: a.Tenant, Model: a.Model, QueueMark: mark, QueueTokens: a.Tokens, Deadline: deadline,
		Counts: penstock.Counts{Total: a.Items, Queued: a.Items},
	}, local, v.Clock())
	return Place{Mark: mark, Start: e.Start, Finish: e.Finish}
}

// Estimate says when an open job will start and finish, as far as anybody can know. It takes the queue to
// be served in the order of arrival, at the speed of late: a job with an earlier deadline passes others
// by, and work that joins another tenant's slows it down.
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
	if f.ready == 0 { // what came since was taken as it came
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
	// What runs longer than usual is nearly done, or nobody knows.
	e.Finish = notAfter(later(last.Add(service), now.Add(service/4)), j.Deadline)
	return e
}

// place is how many tokens are ahead of a job's next item, and how many of its own are queued. Work that
// was ahead and was cancelled never moves the odometer, so there is never more ahead than is queued.
func place(j penstock.Job, f flow, local weight) (ahead, own float64) {
	tokens, total := float64(j.QueueTokens), float64(j.Counts.Total)
	own = tokens * float64(j.Counts.Queued) / total
	due := float64(j.QueueMark) + tokens - own
	ahead = min(due-float64(f.drainedTk), float64(f.tokens+local.tokens)-own)
	return max(ahead, 0), own
}

// after is when so many tokens of a job's backlog will have been drained. A backlog that was never seen
// to drain gets an equal part of what its lane does.
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

// serviceTime is how long an item of a job's model runs; of any model, when that one is not known.
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

// notAfter ends an estimate at a job's deadline: then it is over in any case.
func notAfter(t, deadline time.Time) time.Time {
	if !deadline.IsZero() && t.After(deadline) {
		return deadline
	}
	return t
}
