// Package storedrow writes the sums of the bytes that tenants have stored: table stored, which belongs to package sqlstore. Any
// transaction that stores or removes payloads of a tenant changes the sums through it, so that one quota covers all of them.
package storedrow

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"penstock"
	"penstock/internal/store"
	"penstock/internal/store/sqldb"
)

// stripes is how many rows the sums of a tenant are divided into.
const stripes = 16

// Key names a stripe of a tenant's sums.
type Key struct {
	Tenant penstock.TenantID
	Stripe byte
}

// Changes collects the changes of a transaction to the amounts that tenants have stored. It is written after the rows that it
// counts, and in the same order by every transaction, so that no two transactions wait for each other.
type Changes map[Key]store.Stored

// keyOf is the stripe of an object. Ids that follow each other differ in their last characters.
func keyOf(tenant penstock.TenantID, id penstock.ID) Key {
	k := Key{Tenant: tenant}
	for i := range len(id) {
		k.Stripe += id[i]
	}
	k.Stripe %= stripes
	return k
}

// Job adds to the bytes of a job, a response or a conversation. Negative bytes are removed.
func (c Changes) Job(tenant penstock.TenantID, id penstock.ID, bytes int64) {
	k := keyOf(tenant, id)
	v := c[k]
	v.JobBytes += bytes
	c[k] = v
}

// File counts a file that was added or, with negative bytes, removed.
func (c Changes) File(tenant penstock.TenantID, id penstock.ID, bytes int64) {
	k := keyOf(tenant, id)
	v := c[k]
	v.FileBytes += bytes
	c[k] = v
}

var move = sqldb.InsertInto("stored", "tenant_id text, stripe bigint, job_bytes bigint, file_bytes bigint",
	`ON CONFLICT (tenant_id, stripe) DO UPDATE SET job_bytes = stored.job_bytes + excluded.job_bytes, file_bytes = stored.file_bytes + excluded.file_bytes`)

// Save writes the changes.
func (c Changes) Save(ctx context.Context, tx sqldb.Tx) error {
	order := func(x, y Key) int {
		return cmp.Or(cmp.Compare(x.Tenant, y.Tenant), cmp.Compare(x.Stripe, y.Stripe))
	}
	for _, k := range slices.SortedFunc(maps.Keys(c), order) {
		v := c[k]
		if v == (store.Stored{}) {
			continue
		}
		if err := tx.Put(ctx, move, k.Tenant, int64(k.Stripe), v.JobBytes, v.FileBytes); err != nil {
			return err
		}
	}
	return nil
}

const sum = `COALESCE(SUM(job_bytes), 0) /*pg ::bigint */, COALESCE(SUM(file_bytes), 0) /*pg ::bigint */ FROM stored`

// Ask is the question for the sum of a tenant.
func Ask(tenant penstock.TenantID, into *store.Stored) sqldb.Question {
	return sqldb.Ask(sqldb.SQL(`SELECT `+sum+` WHERE tenant_id = $1`, tenant),
		func(row sqldb.Row) error { return row.Scan(&into.JobBytes, &into.FileBytes) })
}

// ByTenant is the sum of every tenant that ever stored something.
func ByTenant(ctx context.Context, tx sqldb.Reader) (map[penstock.TenantID]store.Stored, error) {
	all := map[penstock.TenantID]store.Stored{}
	_, err := sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT tenant_id, `+sum+` GROUP BY tenant_id`), func(row sqldb.Row) (v store.Stored, err error) {
		var tenant penstock.TenantID
		err = row.Scan(&tenant, &v.JobBytes, &v.FileBytes)
		all[tenant] = v
		return v, err
	})
	return all, err
}
