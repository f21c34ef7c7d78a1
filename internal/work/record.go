package work

import (
	"context"
	"time"

	"penstock"
	"penstock/internal/store"
	"penstock/internal/telemetry"
)

// MaxFinishGroup is how many ends are recorded in one transaction at the most.
const MaxFinishGroup = 128

// recordRetry is how long the recorder waits before it tries a group again.
const recordRetry = 200 * time.Millisecond

// finished is a claim that ended in this process and is not recorded yet.
type finished struct {
	store.Finish
	claimed store.Claimed
	took    time.Duration
}

// record commits ends in groups until the channel is closed: what gathered during one commit is the
// next group. It outlives the items, so that finished work is kept during a shutdown.
func (p *Pool) record(ctx context.Context) {
	for first := range p.finishes {
		group := []finished{first}
		for len(group) < MaxFinishGroup {
			select {
			case next, ok := <-p.finishes:
				if ok {
					group = append(group, next)
					continue
				}
			default:
			}
			break
		}
		p.recordGroup(ctx, group)
		p.giveSlots(len(group))
		p.Metrics.SlotsInUse(len(p.slots))
	}
}

// recordGroup does not give up while the lease lasts: the results are paid for. Past that, others
// have taken the items over, and the results would be refused.
func (p *Pool) recordGroup(ctx context.Context, group []finished) {
	finishes := make([]store.Finish, len(group))
	for i, f := range group {
		finishes[i] = f.Finish
	}
	began := p.Clock()
	for {
		verdicts, err := p.finish(ctx, finishes)
		if err == nil {
			p.Metrics.FinishGroup(len(group), p.Clock().Sub(began))
			p.report(ctx, group, verdicts)
			return
		}
		if p.Clock().Sub(began) > p.LeaseTimeout {
			p.Log.ErrorContext(ctx, "could not record results; the items will run again", "items", len(group), "error", err)
			return
		}
		p.Log.WarnContext(ctx, "recording results", "items", len(group), "error", err)
		pause := time.NewTimer(recordRetry)
		<-pause.C
	}
}

func (p *Pool) finish(ctx context.Context, group []store.Finish) ([]store.Verdict, error) {
	ctx, cancel := context.WithTimeout(ctx, p.LeaseTimeout)
	defer cancel()
	return p.Store.FinishItems(ctx, group)
}

// report tells readers, metrics and logs what became of a group.
func (p *Pool) report(ctx context.Context, group []finished, verdicts []store.Verdict) {
	changed := make([]penstock.ID, 0, len(group))
	again := false
	for i, f := range group {
		v := verdicts[i]
		itemCtx := telemetry.WithIDs(ctx, telemetry.IDs{Tenant: f.Tenant, Job: f.Job, Item: f.Item})
		switch {
		case !v.Won:
			p.Log.WarnContext(itemCtx, "discarded a stale result", "fence", f.Fence, "status", v.Status)
		case v.Status == penstock.StatusQueued:
			again = again || f.RetryIn == 0
			p.Log.InfoContext(itemCtx, "item will be tried again", "kind", f.ErrorKind, "in", f.RetryIn)
		default:
			changed = append(changed, f.Job)
			p.Metrics.ItemFinished(telemetry.ItemObservation{
				Model: f.claimed.Model, Lane: f.claimed.Lane, Status: v.Status, Wait: f.claimed.QueuedFor, Total: f.claimed.Age + f.took,
			})
			p.Log.DebugContext(itemCtx, "item ended", "status", v.Status, "target", f.Target, "took", f.took)
		}
	}
	p.Announce.Announce(changed...)
	if again {
		p.Bell.Ring()
	}
}
