package sqlstore

import (
	"context"
	"slices"

	"penstock"
	"penstock/internal/outbox"
	"penstock/internal/store"
)

// startable says whether the items of a submission may begin at once: the lease of its starter is current, and
// nothing in the lane waits that they would overtake.
func startable(ctx context.Context, tx Tx, tenant penstock.TenantID, sub store.Submission) (s starting, ok bool, err error) {
	held := func(item store.NewItem) bool { return item.StartIn > 0 }
	if sub.Starter == nil || len(sub.Items) == 0 || len(sub.Items) > inputGroupItems || slices.ContainsFunc(sub.Items, held) {
		return s, false, nil
	}
	s.lease, s.targets = *sub.Starter, sub.StartTargets
	// One statement, since this is on the way of an accept.
	facts, _, err := queryOne(ctx, tx, sqlf(`SELECT COALESCE((SELECT expires_at FROM leases WHERE process_id = $1 AND epoch = $2), 0),
			CASE WHEN EXISTS (SELECT 1 FROM shares WHERE lane = $3 AND active = 1) THEN 1 ELSE 0 END,
			`+outbox.HasSubscriber("$4", "$5"),
		sub.Starter.Process, sub.Starter.Epoch, sub.Job.Lane, tenant, sub.Job.ID),
		func(row Row) (f struct{ expires, waiting, subscribed int64 }, err error) {
			return f, row.Scan(&f.expires, &f.waiting, &f.subscribed)
		})
	s.subscribed = facts.subscribed > 0
	return s, err == nil && facts.waiting == 0 && facts.expires > micros(tx.Now()), err
}

// starting is a submission that begins at once.
type starting struct {
	submittedItems
	lease      store.Lease
	targets    []string // where calls were reserved for its items, if that is known
	subscribed bool     // its events have a receiver
}

// start inserts a job as it is after its first claim, which took all of its items. The tenant is charged nothing: where
// nobody waits, nobody is given less.
func (s *Store) start(ctx context.Context, tx Tx, j penstock.Job, sub starting) ([]*store.Claimed, error) {
	j.Seq, j.StartedAt, j.StartedSeq, j.StartedItems = 2, tx.Now(), 2, j.Counts.Total // job.queued and job.started
	if err := insertJob(ctx, tx, j); err != nil {
		return nil, err
	}
	held := newClaimRows(newClaims(&s.ids, tx.Now()))
	moved, key := backlog{}, backlogKey{j.Lane, j.Tenant, j.Model}
	var claimed []*store.Claimed
	job := claimedJob(&j, tx.Now())
	for _, b := range sub.inputGroups {
		if err := b.insert(ctx, tx, j.ID); err != nil {
			return nil, err
		}
		for i, f := range b.facts {
			n := b.first + i
			moved.add(key, stock{drainedItems: 1, drainedTokens: f.estimate})
			c := &store.Claimed{
				ClaimedJob: job, QueuedFor: job.Age, Item: penstock.ItemID(j.ID, n), Job: j.ID, Tenant: j.Tenant, Index: n, CustomID: f.customID, Fence: 1, Body: sub.items[n].Body,
				Estimate: f.estimate, InputBytes: f.inputBytes, Reserved: f.reserved,
			}
			if n < len(sub.targets) {
				c.Call.Target = sub.targets[n]
			}
			held.take(&j, c, keptInGroup)
			claimed = append(claimed, c)
		}
	}
	if err := held.insert(ctx, tx, sub.lease); err != nil {
		return nil, err
	}
	err := book(ctx, tx, penstock.LedgerEntry{
		Key: reserveKey(j.ID), Tenant: j.Tenant, Kind: penstock.EntryReserve, Subject: j.ID, Job: j.ID, Reserved: sub.reserved(), Origin: j.Origin(0),
	})
	if err != nil {
		return nil, err
	}
	if sub.subscribed {
		if err := publishStarted(ctx, tx, []penstock.ID{j.ID}); err != nil {
			return nil, err
		}
	}
	return claimed, saveArrived(ctx, tx, &j, moved)
}
