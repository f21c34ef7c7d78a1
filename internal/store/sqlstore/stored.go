package sqlstore

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"penstock"
	"penstock/internal/store"
	"penstock/internal/store/sqldb"
)

// storedStripes is how many rows the sums of a tenant are divided into.
const storedStripes = 16

// storedKey names a stripe of a tenant's sums.
type storedKey struct {
	tenant penstock.TenantID
	stripe byte
}

// stored collects the changes of a transaction to the amounts that tenants have stored. Like backlog it is written after
// the rows that it counts, and in the same order by every transaction, so that no two transactions wait for each other.
type stored map[storedKey]store.Stored

// keyOf is the stripe of a job or a file. Ids that follow each other differ in their last characters.
func (s stored) keyOf(tenant penstock.TenantID, id penstock.ID) storedKey {
	k := storedKey{tenant: tenant}
	for i := range len(id) {
		k.stripe += id[i]
	}
	k.stripe %= storedStripes
	return k
}

// job adds to the bytes of a job.
func (s stored) job(tenant penstock.TenantID, id penstock.ID, bytes int64) {
	k := s.keyOf(tenant, id)
	v := s[k]
	v.JobBytes += bytes
	s[k] = v
}

// file counts a file that was added or, with negative bytes, removed.
func (s stored) file(tenant penstock.TenantID, id penstock.ID, bytes int64) {
	k := s.keyOf(tenant, id)
	v := s[k]
	v.FileBytes += bytes
	s[k] = v
}

var moveStored = sqldb.InsertInto("stored", "tenant_id text, stripe bigint, job_bytes bigint, file_bytes bigint",
	`ON CONFLICT (tenant_id, stripe) DO UPDATE SET job_bytes = stored.job_bytes + excluded.job_bytes, file_bytes = stored.file_bytes + excluded.file_bytes`)

func (s stored) save(ctx context.Context, tx sqldb.Tx) error {
	order := func(x, y storedKey) int {
		return cmp.Or(cmp.Compare(x.tenant, y.tenant), cmp.Compare(x.stripe, y.stripe))
	}
	for _, k := range slices.SortedFunc(maps.Keys(s), order) {
		v := s[k]
		if v == (store.Stored{}) {
			continue
		}
		if err := tx.Put(ctx, moveStored, k.tenant, int64(k.stripe), v.JobBytes, v.FileBytes); err != nil {
			return err
		}
	}
	return nil
}

const sumStored = `COALESCE(SUM(job_bytes), 0) /*pg ::bigint */, COALESCE(SUM(file_bytes), 0) /*pg ::bigint */ FROM stored`

// Stored implements store.Storage.
func (s *Store) Stored(ctx context.Context, tenant penstock.TenantID) (sum store.Stored, err error) {
	err = s.read(ctx, func(tx sqldb.Tx) error {
		sum, err = storedOf(ctx, tx, tenant)
		return err
	})
	return sum, err
}

func storedOf(ctx context.Context, tx sqldb.Tx, tenant penstock.TenantID) (sum store.Stored, err error) {
	return sum, tx.Ask(ctx, askStored(tenant, &sum))
}

// askStored is storedOf as a question.
func askStored(tenant penstock.TenantID, sum *store.Stored) sqldb.Question {
	return sqldb.Ask(sqldb.SQL(`SELECT `+sumStored+` WHERE tenant_id = $1`, tenant),
		func(row sqldb.Row) error { return row.Scan(&sum.JobBytes, &sum.FileBytes) })
}

// StoredByTenant implements store.Storage.
func (s *Store) StoredByTenant(ctx context.Context) (all map[penstock.TenantID]store.Stored, err error) {
	err = s.read(ctx, func(tx sqldb.Tx) error {
		all = map[penstock.TenantID]store.Stored{}
		_, err := sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT tenant_id, `+sumStored+` GROUP BY tenant_id`), func(row sqldb.Row) (v store.Stored, err error) {
			var tenant penstock.TenantID
			err = row.Scan(&tenant, &v.JobBytes, &v.FileBytes)
			all[tenant] = v
			return v, err
		})
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
