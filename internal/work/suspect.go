package work

import (
	"context"

	"penstock"
	"penstock/internal/attempt"
	"penstock/internal/dialect/assemble"
	"penstock/internal/isolate"
	"penstock/internal/store"
)

// runSuspect runs a suspect in a child process, and returns the end of its claim. Only a crash of the child counts against
// the item, and the store counts it: this process may crash next.
func (p *Pool) runSuspect(ctx context.Context, c *granted, targets []string, f *store.Finish) {
	p.Metrics.SuspectsRunning(int(p.suspects.Add(1)))
	defer func() { p.Metrics.SuspectsRunning(int(p.suspects.Add(-1))) }()
	s := isolate.Suspect{
		Sealed: c.Sealed, Died: c.Spent.ChildDeaths,
		Task: &attempt.Task{
			Subject: c.Item, Fence: c.Fence, Owner: c.Tenant, Key: c.Key, Model: c.Model, Lane: c.Lane, Targets: targets, Endpoint: c.Endpoint,
			InputBytes: c.InputBytes, Bound: c.Reserved, Bounded: c.Resolved.Bounded, MaxAttempts: max(c.MaxAttempts-c.Attempts, 1), Tries: c.Tries,
			Timeout: c.ItemTimeout, Wait: min(capacityWait, c.ItemTimeout), MaxOutputTokens: max(0, c.Estimate-c.InputBytes), Choice: c.choice, OnOverflow: c.Resolved.OnOverflow,
		},
	}
	if _, streams := assemble.For(c.Endpoint); streams && p.deltaRecorder != nil && c.Stream != penstock.StreamNone {
		deltaWriter := p.deltaRecorder.begin(*c.Claimed)
		defer func() { f.Tail = tailOf(f, deltaWriter.end()) }()
		s.Stream, s.Say, s.Task.Stream = c.Stream, deltaWriter.add, true
	}
	a := p.Isolated.Answer(ctx, s)
	out := a.Outcome
	f.Attempts, f.Target, f.StatusCode, f.Counted = out.Attempts, out.Target, out.StatusCode, out.Counted
	f.Usage, f.Cost, f.Forfeit, f.PriceVersion = out.Usage, out.Cost, out.Forfeit, out.PriceVersion
	p.Used(c.Claimed, out.Usage)
	switch {
	case a.Died:
		f.Transition, f.ChildDied, f.ErrorKind = penstock.TransitionRetry, true, penstock.AttemptDied
	case out.Err == nil:
		f.Transition, f.Result, f.Sealed = penstock.TransitionSucceed, a.Result, true
	case penstock.ErrorCode(out.Err) == penstock.CodeGone:
		c.BodyErr = out.Err
		p.concludeUnread(f, c.Claimed)
	default:
		p.conclude(f, c.Claimed, failureOf(out.Err, context.Cause(ctx)))
	}
}

// Suspects is how many suspects run.
func (p *Pool) Suspects() int { return int(p.suspects.Load()) }
