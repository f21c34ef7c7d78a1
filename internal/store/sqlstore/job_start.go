package sqlstore

import (
	"context"
	"slices"

	"penstock"
	"penstock/internal/store"
	"penstock/internal/store/itemstore"
	"penstock/internal/store/sqldb"
)

// mayStart reports whether the items of a submission may begin at once if its starter's lease is current and nothing waits in
// its lane.
func mayStart(sub store.Submission) bool {
	held := func(item store.NewItem) bool { return item.StartIn > 0 }
	return sub.Starter != nil && len(sub.Items) > 0 && len(sub.Items) <= itemstore.MaxInputGroup && !slices.ContainsFunc(sub.Items, held)
}

// starting is a submission that begins at once.
type starting struct {
	submittedItems
	lease   store.Lease
	targets []string // where calls were reserved for its items, if that is known
	moved   backlog
}

// start inserts a job as it is after its first claim, which took all of its items. The tenant's share is not charged: where
// no tenant waits, no tenant is given less. The caller saves the backlog and publishes the webhook events.
func (s *Store) start(ctx context.Context, tx sqldb.Tx, j penstock.Job, sub starting) ([]*store.Claimed, error) {
	j.Seq, j.StartedAt, j.StartedSeq, j.StartedItems = 2, tx.Now(), 2, j.Counts.Total // job.queued and job.started
	if err := insertJob(ctx, tx, j); err != nil {
		return nil, err
	}
	held := newClaimRows(newClaims(&s.ids, tx.Now()))
	taken := held.of(&j)
	key := backlogKey{j.Lane, j.Tenant, j.Model}
	var claimed []*store.Claimed
	job := claimedJob(&j, tx.Now())
	var items itemstore.Writer
	for i := range sub.inputGroups {
		g := &sub.inputGroups[i]
		if err := items.Accept(ctx, tx, j.ID, g); err != nil {
			return nil, err
		}
		for i := range g.Facts {
			f, n := &g.Facts[i], g.First+i
			sub.moved.add(key, stock{drainedItems: 1, drainedTokens: f.Estimate})
			c := &store.Claimed{
				ClaimedJob: job, QueuedFor: job.Age, Item: penstock.ItemID(j.ID, n), Job: j.ID, Tenant: j.Tenant, Index: n, CustomID: f.CustomID, Fence: 1, Body: sub.items[n].Body,
				Estimate: f.Estimate, InputBytes: f.InputBytes, Reserved: f.Reserved,
			}
			if n < len(sub.targets) {
				c.Call.Target = sub.targets[n]
			}
			taken.take(c, keptInGroup)
			claimed = append(claimed, c)
		}
	}
	if err := held.insert(ctx, tx, sub.lease); err != nil {
		return nil, err
	}
	return claimed, book(ctx, tx, penstock.LedgerEntry{
		Key: reserveKey(j.ID), Tenant: j.Tenant, Kind: penstock.EntryReserve, Subject: j.ID, Job: j.ID, Reserved: sub.reserved(), Origin: j.Origin(0),
	})
}
