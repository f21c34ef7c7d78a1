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

// candidate is a queued item that a claim has locked.
type candidate struct {
	store.Claimed
	input     placed
	notBefore int64
	deadline  int64
}

// ClaimItems implements store.Queue.
func (s *Store) ClaimItems(ctx context.Context, l store.Lease, w store.Want) ([]store.Claimed, error) {
	if w.Limit <= 0 {
		return nil, nil
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
		got, err = claimLanes(ctx, tx, l, w)
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

// claimLanes takes due items, lane by lane. Shares are saved last: by then the jobs are locked, and a
// finish that queues an item again, which locks its job first, never waits for a claim that waits for it.
func claimLanes(ctx context.Context, tx Tx, l store.Lease, w store.Want) (got claimResult, err error) {
	var lanes []*laneClaim
	var due []candidate
	for _, lane := range w.Lanes {
		if len(due) == w.Limit {
			break
		}
		c, err := dueInLane(ctx, tx, lane, w.Limit-len(due))
		if err != nil {
			return got, err
		}
		lanes, due = append(lanes, c), append(due, c.due...)
		got.busy = got.busy || c.busy
	}
	if len(due) > 0 {
		if got.taken, err = take(ctx, tx, l, due); err != nil {
			return got, err
		}
	}
	for _, c := range lanes {
		if err := c.save(ctx, tx); err != nil {
			return got, err
		}
	}
	return got, nil
}

func scanCandidate(row Row) (candidate, error) {
	var c candidate
	err := row.Scan(&c.Item, &c.Job, &c.Tenant, &c.Index, &c.Model, &c.Lane, &c.Fence, &c.Tries, &c.Attempts,
		&c.Estimate, &c.Reserved, &c.input.inline, &c.input.blob, &c.notBefore, &c.deadline)
	if err != nil {
		return c, fmt.Errorf("scanning queued item: %w", err)
	}
	return c, nil
}

// take marks locked candidates as running. A job that was asked to stop in the meantime keeps its
// items queued, for CancelItems.
func take(ctx context.Context, tx Tx, l store.Lease, due []candidate) ([]candidate, error) {
	ids := make([]penstock.ID, len(due))
	for i, c := range due {
		ids[i] = c.Job
	}
	jobs, err := lockJobs(ctx, tx, ids)
	if err != nil {
		return nil, err
	}
	taken := due[:0]
	for _, c := range due {
		j := jobs[c.Job]
		if j == nil || !j.CancelRequestedAt.IsZero() {
			continue
		}
		jobs.start(tx, j)
		next, err := penstock.StatusQueued.Next(penstock.TransitionClaim)
		if err != nil {
			return nil, err
		}
		j.Counts.Move(penstock.StatusQueued, next)
		c.Fence++
		err = tx.Do(ctx, `UPDATE items SET status = $2, process_id = $3, epoch = $4, fence = $5 WHERE id = $1`,
			c.Item, next, l.Process, l.Epoch, c.Fence)
		if err != nil {
			return nil, err
		}
		taken = append(taken, describe(c, j, tx.Now()))
	}
	_, err = jobs.save(ctx, tx)
	return taken, err
}

// describe adds what an attempt needs to know of the job.
func describe(c candidate, j *penstock.Job, now time.Time) candidate {
	c.Endpoint, c.Resolved, c.TraceParent = j.Endpoint, j.Resolved, j.TraceParent
	c.MaxAttempts, c.ItemTimeout, c.TimeLeft = j.MaxAttempts, j.ItemTimeout, j.Deadline.Sub(now)
	c.Age, c.QueuedFor = now.Sub(j.CreatedAt), now.Sub(fromMicros(c.notBefore))
	return c
}
