package sqlstore

import (
	"context"
	"fmt"
	"time"

	"penstock"
	"penstock/internal/store"
)

// candidate is a queued item that a claim has locked.
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
	var taken []candidate
	err := s.write(ctx, "claim", func(tx Tx) error {
		if err := requireLease(ctx, tx, l); err != nil {
			return err
		}
		due, err := dueItems(ctx, tx, w)
		if err != nil || len(due) == 0 {
			taken = nil
			return err
		}
		taken, err = take(ctx, tx, l, due)
		return err
	})
	if err != nil {
		return nil, err
	}
	claimed := make([]store.Claimed, 0, len(taken))
	for _, c := range taken {
		// An input that cannot be opened must not hold up the others: it goes out without a body,
		// and the worker fails the item.
		c.Body, err = s.open(ctx, owner(c.Tenant, c.Item, partInput), c.input)
		if err != nil {
			c.BodyErr = err
		}
		claimed = append(claimed, c.Claimed)
	}
	return claimed, nil
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

// dueItems locks queued items that may start, in the order they should.
func dueItems(ctx context.Context, tx Tx, w store.Want) ([]candidate, error) {
	var due []candidate
	for _, lane := range w.Lanes {
		if len(due) == w.Limit {
			break
		}
		more, err := queryAll(ctx, tx, sqlf(`SELECT i.id, i.job_id, i.tenant_id, i.n, i.model, i.lane, i.fence, i.tries, i.attempts,
				i.estimate_tokens, i.reserved_nano_usd, i.input, i.input_blob, i.not_before
			FROM items i
			WHERE i.status = 'queued' AND i.lane = $1 AND i.not_before <= $2 AND i.deadline > $2
				AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.id = i.job_id AND j.cancel_requested_at > 0)
			ORDER BY i.deadline, i.id LIMIT $3 /*pg FOR UPDATE OF i SKIP LOCKED */`,
			lane, micros(tx.Now()), w.Limit-len(due)), scanCandidate)
		if err != nil {
			return nil, err
		}
		due = append(due, more...)
	}
	return due, nil
}

func scanCandidate(row Row) (candidate, error) {
	var c candidate
	err := row.Scan(&c.Item, &c.Job, &c.Tenant, &c.Index, &c.Model, &c.Lane, &c.Fence, &c.Tries, &c.Attempts,
		&c.Estimate, &c.Reserved, &c.input.inline, &c.input.blob, &c.notBefore)
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
		if err := jobs.start(ctx, tx, j); err != nil {
			return nil, err
		}
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
