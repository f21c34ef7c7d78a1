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
func (s *Store) ClaimItems(ctx context.Context, l store.Lease, w store.Want) ([]store.Claimed, error) {
	if w.Limit <= 0 {
		return nil, nil
	}
	if err := s.wakeItems(ctx); err != nil {
		return nil, err
	}
	got, err := s.claim(ctx, l, w)
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

// claimResult is what one transaction of claiming came to.
type claimResult struct {
	taken []candidate
	busy  bool // there may be more, but other claims hold it
}

func (s *Store) claim(ctx context.Context, l store.Lease, w store.Want) (got claimResult, err error) {
	err = s.write(ctx, "claim", func(tx Tx) error {
		if err := requireLease(ctx, tx, l); err != nil {
			return err
		}
		if err := correct(ctx, tx, w.Corrections); err != nil {
			return err
		}
		got, err = s.claimLanes(ctx, tx, l, w)
		return err
	})
	return got, err
}

// requireLease fails with conflict unless the lease is current.
func requireLease(ctx context.Context, tx Tx, l store.Lease) error {
	expires, ok, err := queryOne(ctx, tx, sqlf(`SELECT expires_at FROM leases WHERE process_id = $1 AND epoch = $2`,
		l.Process, l.Epoch), func(row Row) (n int64, err error) { return n, row.Scan(&n) })
	if err != nil {
		return err
	}
	if !ok || expires <= micros(tx.Now()) {
		return leaseLost(l)
	}
	return nil
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
	jobs, err := lockJobs(ctx, tx, jobIDs)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, p := range c.picks {
		if j := jobs.byID[p.job]; j != nil && j.CancelRequestedAt.IsZero() {
			ids = append(ids, string(p.item))
		}
	}
	rows, err := startItems(ctx, tx, c, ids)
	if err != nil {
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

// startItems puts queued items under a lease, with a higher fence. It returns those that were still
// queued: their jobs are locked, but the picking was not.
func startItems(ctx context.Context, tx Tx, c claimOf, ids []string) (map[penstock.ID]candidate, error) {
	running, err := penstock.StatusQueued.Next(penstock.TransitionClaim)
	if err != nil {
		return nil, err
	}
	rows := make(map[penstock.ID]candidate, len(ids))
	err = tx.QueryIn(ctx, IDQuery{SQL: `UPDATE items SET status = $2, process_id = $3, epoch = $4, claim_id = $5, fence = fence + 1
		WHERE id = /*pg ANY */($1) AND status = 'queued'
		RETURNING id, job_id, tenant_id, n, model, lane, fence, tries, attempts, estimate_tokens, input_bytes, reserved_nano_usd,
			crashes, input_tokens, cached_input_tokens, output_tokens, cost_nano_usd, claim_id, input, input_blob, not_before`,
		IDs: ids, Args: []any{running, c.lease.Process, c.lease.Epoch, c.id}}, func(row Row) error {
		var c candidate
		err := row.Scan(&c.Item, &c.Job, &c.Tenant, &c.Index, &c.Model, &c.Lane, &c.Fence, &c.Tries, &c.Attempts,
			&c.Estimate, &c.InputBytes, &c.Reserved,
			&c.Spent.Crashes, &c.Spent.Usage.InputTokens, &c.Spent.Usage.CachedInputTokens, &c.Spent.Usage.OutputTokens, &c.Spent.Cost,
			&c.Claim, &c.input.inline, &c.input.blob, &c.notBefore)
		if err != nil {
			return fmt.Errorf("scanning a claimed item: %w", err)
		}
		rows[c.Item] = c
		return nil
	})
	return rows, err
}

// describe adds what an attempt needs to know of the job.
func describe(c candidate, j *penstock.Job, now time.Time) candidate {
	c.Endpoint, c.Resolved, c.TraceParent = j.Endpoint, j.Resolved, j.TraceParent
	c.MaxAttempts, c.ItemTimeout, c.TimeLeft = j.MaxAttempts, j.ItemTimeout, j.Deadline.Sub(now)
	c.Age, c.QueuedFor = now.Sub(j.CreatedAt), now.Sub(fromMicros(c.notBefore))
	return c
}
