package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"penstock"
	"penstock/internal/blob"
	"penstock/internal/payload"
	"penstock/internal/store"
)

// candidate is a claimed item whose input is still sealed.
type candidate struct {
	store.Claimed
	input     placed
	notBefore int64
}

// ClaimItems implements store.Queue.
func (s *Store) ClaimItems(ctx context.Context, l store.Lease, want store.Want) ([]store.Claimed, error) {
	if want.Limit <= 0 {
		return nil, nil
	}
	w := wanted{Want: want}
	got, err := s.claim(ctx, l, w)
	if err == nil && got.due {
		w.woken, w.Corrections = true, nil
		if err = s.wakeItems(ctx); err == nil {
			got, err = s.claim(ctx, l, w)
		}
	}
	for tries := 1; err == nil && len(got.taken) == 0 && got.busy && tries < claimTries; tries++ {
		// Other processes hold every share, each for the length of a transaction.
		w.Corrections = nil
		pause := time.NewTimer(claimPause)
		select {
		case <-pause.C:
			got, err = s.claim(ctx, l, w)
		case <-ctx.Done():
			pause.Stop()
			return nil, hide(ctx.Err())
		}
	}
	if err != nil {
		return nil, err
	}
	taken := got.taken
	claimed := make([]store.Claimed, 0, len(taken))
	for _, c := range taken {
		// An input that cannot be opened must not hold up the others: it goes out without a body.
		c.Body, c.BodyErr = s.open(ctx, owner(c.Tenant, c.Item, partInput), c.input)
		if errors.Is(c.BodyErr, blob.ErrNotFound) || errors.Is(c.BodyErr, payload.ErrTampered) {
			c.BodyErr = &penstock.Error{Code: penstock.CodeGone, Message: "The input is gone.", Err: c.BodyErr}
		}
		claimed = append(claimed, c.Claimed)
	}
	return claimed, nil
}

const (
	// claimTries is how often a claim looks again that found every share held by others.
	claimTries = 5
	// claimPause is how long it waits in between: about as long as a claim takes.
	claimPause = 3 * time.Millisecond
)

// wanted is what a claim asks for.
type wanted struct {
	store.Want
	woken bool // whoever was due was woken just now
}

// claimResult is what one transaction of claiming came to.
type claimResult struct {
	taken []candidate
	busy  bool // there may be more, but other claims hold it
	due   bool // parked items must be woken first; nothing was taken
}

func (s *Store) claim(ctx context.Context, l store.Lease, w wanted) (got claimResult, err error) {
	err = s.write(ctx, "claim", func(tx Tx) error {
		got = claimResult{}
		if err := correct(ctx, tx, w.Corrections); err != nil {
			return err
		}
		o, err := survey(ctx, tx, l, w.Lanes)
		if err != nil {
			return err
		}
		if got.due = o.due && !w.woken; got.due {
			return nil
		}
		want := w.Want
		want.Lanes = o.lanes
		got, err = s.claimLanes(ctx, tx, l, want)
		return err
	})
	return got, err
}

// outlook is what a claim finds out before it picks.
type outlook struct {
	lanes []penstock.Lane // in which somebody has work
	due   bool            // parked items wait to be woken
}

// survey fails with conflict unless the lease is current.
func survey(ctx context.Context, tx Tx, l store.Lease, lanes []penstock.Lane) (o outlook, err error) {
	var expires int64
	questions := []Question{
		ask(sqlf(`SELECT expires_at FROM leases WHERE process_id = $1 AND epoch = $2`, l.Process, l.Epoch),
			func(row Row) error { return row.Scan(&expires) }),
		ask(sqlf(`SELECT 1 FROM parked WHERE not_before <= $1 LIMIT 1`, micros(tx.Now())), func(Row) error { o.due = true; return nil }),
	}
	for _, lane := range lanes {
		questions = append(questions, ask(sqlf(`SELECT 1 FROM shares WHERE lane = $1 AND active = 1 LIMIT 1`, lane),
			func(Row) error { o.lanes = append(o.lanes, lane); return nil }))
	}
	if err := tx.Ask(ctx, questions...); err != nil {
		return o, err
	}
	if expires <= micros(tx.Now()) {
		return o, leaseLost(l)
	}
	return o, nil
}

// claimLanes takes due items, lane by lane. Shares are saved late: by then the jobs are locked, and a
// finish that queues an item again, which locks its job first, never waits for a claim that waits for it.
func (s *Store) claimLanes(ctx context.Context, tx Tx, l store.Lease, w store.Want) (got claimResult, err error) {
	moved := backlog{}
	var picks []picked
	for _, lane := range w.Lanes {
		if len(picks) == w.Limit {
			break
		}
		c := &laneClaim{lane: lane, limit: w.Limit - len(picks), want: w}
		if err := pickInLane(ctx, tx, c); err != nil {
			return got, err
		}
		picks = append(picks, c.picks...)
		got.busy = got.busy || c.busy
	}
	if len(picks) > 0 {
		if got.taken, err = take(ctx, tx, claimOf{s.ids.New(tx.Now()), l, picks, moved}); err != nil {
			return got, err
		}
	}
	return got, moved.save(ctx, tx)
}

// claimOf is what a lease takes.
type claimOf struct {
	id    penstock.ID
	lease store.Lease
	picks []picked
	moved backlog
}

// take marks picked items as running. A job that was asked to stop in the meantime keeps its items
// queued, for CancelItems, and an item that ended meanwhile is left alone.
func take(ctx context.Context, tx Tx, c claimOf) ([]candidate, error) {
	jobIDs := make([]penstock.ID, len(c.picks))
	for i, p := range c.picks {
		jobIDs[i] = p.job
	}
	jobs, lock := lockingJobs(jobIDs)
	rows, start, err := c.starting()
	if err != nil {
		return nil, err
	}
	if err := tx.Ask(ctx, lock, start); err != nil {
		return nil, err
	}
	given := make(map[*share]int64)
	held := heldClaim{id: c.id}
	var taken []candidate
	for _, p := range c.picks {
		row, ok := rows[p.item]
		if !ok {
			continue
		}
		j := jobs.byID[p.job]
		jobs.start(tx, j)
		j.Counts.Move(penstock.StatusQueued, penstock.StatusRunning)
		c.moved.claim(backlogKey{p.lane, row.Tenant, row.Model}, p.pick)
		held.items = append(held.items, p.item)
		if err := tx.Put(ctx, leaveReady, p.lane, row.Tenant, row.Model, p.deadline, p.item); err != nil {
			return nil, err
		}
		given[p.share] += p.charge
		row.Charged = p.charge
		taken = append(taken, describe(row, j, tx.Now()))
	}
	if len(held.items) > 0 {
		if err := insertClaim(ctx, tx, c.lease, held); err != nil {
			return nil, err
		}
	}
	for _, p := range c.picks {
		if err := p.share.save(ctx, tx, p.lane, given[p.share]); err != nil {
			return nil, err
		}
		delete(given, p.share)
	}
	_, err = jobs.save(ctx, tx)
	return taken, err
}

// starting is the question by which picked items come under the lease, with a higher fence, and the rows
// that its answer fills: those that are still queued, of jobs that go on. It is asked once their jobs are
// locked; the picking was not.
func (c claimOf) starting() (map[penstock.ID]candidate, Question, error) {
	running, err := penstock.StatusQueued.Next(penstock.TransitionClaim)
	ids := make([]string, len(c.picks))
	for i, p := range c.picks {
		ids[i] = string(p.item)
	}
	rows := make(map[penstock.ID]candidate, len(ids))
	return rows, Question{
		IDQuery{IDs: ids, SQL: `UPDATE items SET status = $2, process_id = $3, epoch = $4, claim_id = $5, fence = fence + 1
			WHERE id = /*pg ANY */($1) AND status = 'queued'
				AND EXISTS (SELECT 1 FROM jobs j WHERE j.id = items.job_id AND j.cancel_requested_at = 0)
			RETURNING id, job_id, tenant_id, n, model, lane, fence, tries, attempts, estimate_tokens, input_bytes, reserved_nano_usd,
				crashes, cost_nano_usd, claim_id, input, input_blob, not_before, ` + usageNames,
			Args: []any{running, c.lease.Process, c.lease.Epoch, c.id}},
		func(row Row) error {
			r, err := scanCandidate(row)
			rows[r.Item] = r
			return err
		},
	}, err
}

func scanCandidate(row Row) (c candidate, err error) {
	spent := &c.Spent
	err = row.Scan(intoUsage(&spent.Usage, &c.Item, &c.Job, &c.Tenant, &c.Index, &c.Model, &c.Lane, &c.Fence, &c.Tries, &c.Attempts,
		&c.Estimate, &c.InputBytes, &c.Reserved,
		&spent.Crashes, &spent.Cost, &c.Claim, &c.input.inline, &c.input.blob, &c.notBefore)...)
	if err != nil {
		return c, fmt.Errorf("scanning a claimed item: %w", err)
	}
	return c, nil
}

// describe adds what an attempt needs to know of the job.
func describe(c candidate, j *penstock.Job, now time.Time) candidate {
	c.Endpoint, c.Resolved, c.TraceParent = j.Endpoint, j.Resolved, j.TraceParent
	c.MaxAttempts, c.ItemTimeout, c.TimeLeft = j.MaxAttempts, j.ItemTimeout, j.Deadline.Sub(now)
	c.Age, c.QueuedFor = now.Sub(j.CreatedAt), now.Sub(fromMicros(c.notBefore))
	return c
}
