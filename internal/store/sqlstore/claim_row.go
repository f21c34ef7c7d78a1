package sqlstore

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"penstock"
	"penstock/internal/store"
)

// A claim is kept as one row for each job that it took items of, not as an index over items: it says what a
// process holds, for as long as any of it runs.

// claimKey names a claim's row.
type claimKey struct{ job, claim penstock.ID }

// heldClaim is what a claim took of one job.
type heldClaim struct {
	claimKey
	tenant penstock.TenantID
	ns     []int // indexes of the items
}

var (
	addClaim = insertInto("claims", `job_id text, id text, tenant_id text, process_id text, epoch bigint, open bigint, items text`, "")
	// A claim whose row is gone holds nothing: the database lost it, or somebody else released its items.
	releaseClaim = &Bulk{
		Strict: true,
		Types:  []ColumnType{Text, Text, Bigint},
		One:    `UPDATE claims SET open = open - $3 WHERE job_id = $1 AND id = $2`,
		Many: `UPDATE claims SET open = open - v.items FROM unnest($1::text[], $2::text[], $3::bigint[]) AS v(job_id, id, items)
			WHERE claims.job_id = v.job_id AND claims.id = v.id`,
	}
	closeClaim = &Bulk{
		Types: []ColumnType{Text, Text},
		One:   `DELETE FROM claims WHERE job_id = $1 AND id = $2 AND open <= 0`,
		Many: `DELETE FROM claims USING unnest($1::text[], $2::text[]) AS v(job_id, id)
			WHERE claims.job_id = v.job_id AND claims.id = v.id AND claims.open <= 0`,
	}
)

func (c heldClaim) insert(ctx context.Context, tx Tx, l store.Lease) error {
	ns, err := json.Marshal(c.ns)
	if err != nil {
		return fmt.Errorf("encoding a claim: %w", err)
	}
	return tx.Put(ctx, addClaim, c.job, c.claim, c.tenant, l.Process, l.Epoch, len(c.ns), string(ns))
}

// releaseClaims notes that items do not run any more. Their jobs are locked, so nobody waits here.
func releaseClaims(ctx context.Context, tx Tx, released map[claimKey]int64) error {
	keys := slices.SortedFunc(maps.Keys(released), func(a, b claimKey) int {
		return cmp.Or(cmp.Compare(a.job, b.job), cmp.Compare(a.claim, b.claim))
	})
	for _, k := range keys {
		if err := tx.Put(ctx, releaseClaim, k.job, k.claim, released[k]); err != nil {
			return err
		}
	}
	for _, k := range keys {
		if err := tx.Put(ctx, closeClaim, k.job, k.claim); err != nil {
			return err
		}
	}
	return nil
}

const claimColumns = `c.job_id, c.id, c.tenant_id, c.items`

func scanClaim(row Row) (c heldClaim, err error) {
	var ns []byte
	if err := row.Scan(&c.job, &c.claim, &c.tenant, &ns); err != nil {
		return c, err
	}
	return c, json.Unmarshal(ns, &c.ns)
}

// running is an item that a claim holds.
type running struct {
	claimKey
	tenant penstock.TenantID
	n      int
	item   penstock.ID
	row    *itemRow // nil as long as it has none
}

// fence is that of the claim: the first of an item that has no row.
func (r running) fence() int64 {
	if r.row == nil {
		return 1
	}
	return r.row.Fence
}

// itemsOf are the items of claims that still run under them, in the order of their ids. An item without a row
// left its line with the claim and did not end: it runs.
func itemsOf(ctx context.Context, tx Tx, claims []heldClaim) ([]running, error) {
	var all []running
	var ids []penstock.ID
	for _, c := range claims {
		for _, n := range c.ns {
			item := penstock.ItemID(c.job, n)
			ids = append(ids, item)
			all = append(all, running{claimKey: c.claimKey, tenant: c.tenant, n: n, item: item})
		}
	}
	rows, err := findRows(ctx, tx, ids)
	if err != nil {
		return nil, err
	}
	held := all[:0]
	for _, r := range all {
		if r.row = rows[r.item]; r.row == nil || (r.row.Status == penstock.StatusRunning && r.row.claim == r.claim) {
			held = append(held, r)
		}
	}
	slices.SortFunc(held, func(a, b running) int { return cmp.Compare(a.item, b.item) })
	return held, nil
}
