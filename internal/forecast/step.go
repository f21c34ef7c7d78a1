package forecast

import (
	"time"

	"penstock"
	"penstock/internal/capacity"
	"penstock/internal/queue"
)

// queue makes an item ready, and rings until a process takes it or none can.
func (s *sim) queue(it *item) {
	it.age++
	it.due = s.now
	it.tenant.lane.put(it)
	for it.queued {
		i := firstInBoth(s.idle, it.model.open, s.turn)
		if i < 0 {
			return
		}
		s.turn = (i + 1) % len(s.processes)
		s.processes[i].fill()
	}
}

// call has a process make a synchronous call; processes take turns.
func (s *sim) call(it *item) {
	for range s.processes {
		p := s.processes[s.turn]
		s.turn = (s.turn + 1) % len(s.processes)
		if !p.alive {
			continue
		}
		p.hold(it)
		if !p.admit(it) {
			s.end(it, refused)
		}
		return
	}
	s.end(it, refused)
}

// claimed starts an item that a process claimed, with the capacity that it took for it.
func (s *sim) claimed(p *process, it *item) {
	p.hold(it)
	s.begin(it)
}

// begin starts the call of an item that has capacity.
func (s *sim) begin(it *item) {
	u, g := it.target, it.tenant.group
	if it.tried == 0 { // else it did not wait for us
		g.wait(s.now - it.due)
		g.waiting--
		g.running++
	}
	it.began = s.now
	it.tries++
	took, out := u.begin(s.now, it)
	it.outcome = out
	u.running++
	u.peak = max(u.peak, u.running)
	u.attempt(out.kind)
	g.attempts++
	s.planItem(it, took, answer)
}

// answered concludes a call.
func (s *sim) answered(it *item) {
	p, u, out := it.process, it.target, it.outcome
	s.leaveTarget(it)
	res := capacity.Result{Kind: out.kind, RetryAfter: out.retryAfter, Took: s.now - it.began}
	if out.kind == "" {
		res.Usage = penstock.Usage{InputTokens: int64(it.input), OutputTokens: int64(it.output)}
		res.UsageKnown = true
		u.answered(it, s.now-it.began)
	}
	it.reservation.Done(res)
	it.lent = it.reservation.Probe()
	it.reservation = nil
	if p.pools != nil {
		p.refreshSoon()
	}
	s.conclude(it)
	if p.none.has(u) {
		p.capacityBack()
	}
	p.fill()
}

func (s *sim) leaveTarget(it *item) {
	it.target.running--
	it.target.busy += s.measured(it.began)
}

// conclude decides what becomes of an item whose call is over: the end, another target, or another time.
func (s *sim) conclude(it *item) {
	kind := it.outcome.kind
	if kind == "" {
		s.end(it, succeeded)
		return
	}
	policy := kind.Policy()
	if lent := it.lent && capacity.FreeProbe(kind, int(it.tries)); !policy.Free && !lent {
		it.counted++
	}
	if it.tried == 0 || !kind.Yields(it.verdict.kind) {
		it.verdict = it.outcome
	}
	it.tried.add(it.target)
	if policy.Fallback && !s.spent(it) && it.process.admit(it) {
		return
	}
	s.retry(it)
}

// spent says that no attempt is left. Calls have as many as there are targets.
func (s *sim) spent(it *item) bool {
	g := it.tenant.group
	return g.Kind == Jobs && int(it.counted) >= g.MaxAttempts
}

// retry puts an item off whose targets all failed, if it may be tried again.
func (s *sim) retry(it *item) {
	g := it.tenant.group
	if g.Kind == Calls {
		s.end(it, failed)
		return
	}
	wait, again := queue.DefaultBackoff.Next(queue.Failure{
		Kind: it.verdict.kind, Tries: int(it.tries), Counted: int(it.counted), MaxAttempts: g.MaxAttempts,
		RetryAfter: it.verdict.retryAfter, Jitter: s.random.Float64(),
	})
	if !again {
		s.end(it, failed)
		return
	}
	g.retries++
	s.unclaim(it, 0)
	s.planItem(it, wait, due)
}

// unclaim ends a claim, and corrects what it was charged.
func (s *sim) unclaim(it *item, used int64) {
	p, g := it.process, it.tenant.group
	p.letGo(it)
	if g.Kind == Jobs {
		p.used = append(p.used, correction{it.tenant, used - it.charged})
		p.expected.Learn(it.model.name, it.estimate(), used)
	}
	it.process, it.target, it.tried = nil, nil, 0
	g.running--
	g.waiting++
}

// giveUp ends a wait for capacity.
func (s *sim) giveUp(it *item) {
	it.process.step(it)
	p := it.process
	if it.tries == 0 {
		s.end(it, refused)
	} else {
		s.retry(it)
	}
	p.fill()
}

// end is the end of an item.
func (s *sim) end(it *item, e ending) {
	g := it.tenant.group
	it.age++
	if it.process != nil {
		used := int64(0)
		if e == succeeded {
			used = it.tokens()
		}
		if it.tries == 0 { // it never left the line
			it.process.letGo(it)
		} else {
			s.unclaim(it, used)
		}
	}
	g.waiting--
	g.end(it, e, s.now)
	s.live--
	s.endedItems++
	it.tenant, it.model, it.process, it.target = nil, nil, nil, nil
	s.items = append(s.items, it)
}

// expire ends an item whose deadline passed in the queue.
func (s *sim) expire(it *item) { s.end(it, expired) }

// lose is what a killed process does to an item that it had.
func (s *sim) lose(it *item) {
	g, ran := it.tenant.group, it.target != nil && !it.waits
	if ran {
		s.leaveTarget(it)
	}
	started := it.tries > 0 && (ran || it.tried != 0)
	if started {
		g.running--
		g.waiting++
	}
	it.reservation, it.target, it.tried, it.process, it.waits = nil, nil, 0, nil, false
	if g.Kind == Jobs {
		s.measure.slots += s.measured(it.held)
	}
	if g.Kind == Calls {
		s.end(it, failed)
		return
	}
	s.planItem(it, s.Processes.LeaseTimeout, rescue)
}

// rescue puts an item of a dead process back: how often that happens does not count against it.
func (s *sim) rescue(it *item) { s.queue(it) }

// measured is how much of the time since a moment lies in the figures.
func (s *sim) measured(since time.Duration) time.Duration { return max(0, s.now-max(since, s.WarmUp)) }
