package sqlstore

import (
	"context"

	"penstock"
	"penstock/internal/store"
	"penstock/internal/store/sqldb"
	"penstock/internal/store/storedrow"
)

// stored collects the changes of a transaction to the amounts that tenants have stored. Like backlog it is written after
// the rows that it counts.
type stored = storedrow.Changes

// resultBytes are the bytes of results that end after each other in one job. They are added up before they are looked up.
type resultBytes struct {
	job   *penstock.Job
	bytes int64
}

func (b *resultBytes) add(g jobGroup, job *penstock.Job, bytes int64) {
	if b.job != job {
		b.addTo(g.stored)
		b.job = job
	}
	b.bytes += bytes
}

func (b *resultBytes) addTo(sums stored) {
	if b.bytes != 0 {
		sums.Job(b.job.Tenant, b.job.ID, b.bytes)
		b.bytes = 0
	}
}

// Stored implements store.Storage.
func (s *Store) Stored(ctx context.Context, tenant penstock.TenantID) (sum store.Stored, err error) {
	err = s.read(ctx, func(tx sqldb.Tx) error {
		sum, err = storedOf(ctx, tx, tenant)
		return err
	})
	return sum, err
}

func storedOf(ctx context.Context, tx sqldb.Tx, tenant penstock.TenantID) (sum store.Stored, err error) {
	return sum, tx.Ask(ctx, storedrow.Ask(tenant, &sum))
}

// StoredByTenant implements store.Storage.
func (s *Store) StoredByTenant(ctx context.Context) (all map[penstock.TenantID]store.Stored, err error) {
	err = s.read(ctx, func(tx sqldb.Tx) error {
		all, err = storedrow.ByTenant(ctx, tx)
		return err
	})
	return all, err
}

// refuseStored refuses what would take a tenant beyond its quota. Two transactions that do not see each other may both
// pass: the quota is a bound for what is begun, not for what is finished. Codes: quota_exceeded.
func refuseStored(ctx context.Context, tx sqldb.Tx, tenant penstock.TenantID, adding storedMore) error {
	if adding.limit == 0 {
		return nil
	}
	sum, err := storedOf(ctx, tx, tenant)
	if err != nil {
		return err
	}
	return sum.Refusal(tenant, adding.limit, adding.bytes)
}

// storedMore is the number of bytes to store, with the limit.
type storedMore struct {
	limit int64 // 0 for any amount
	bytes int64
}

// inputBytes are the bytes of the items' inputs.
func (s submittedItems) inputBytes() (sum int64) {
	for i := range s.items {
		sum += int64(len(s.items[i].Body))
	}
	return sum
}
