package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"penstock/internal/store"
	"penstock/internal/store/sqldb"
)

// poolRow is a row of pools.
type poolRow struct {
	level     int64
	filledAt  int64
	restUntil int64
	kept      string
}

// Withdraw implements store.Pools. Rows are locked by ascending name, so two withdrawals never wait for each
// other, and no long computation runs while they are locked.
func (s *Store) Withdraw(ctx context.Context, l store.Lease, w store.Withdrawal) (a store.Allotment, err error) {
	err = s.write(ctx, "withdraw", func(tx sqldb.Tx) error {
		v := poolDraw{lease: l, withdrawal: w}
		a, err = v.run(ctx, tx)
		return err
	})
	return a, err
}

// poolDraw is one withdrawal in its transaction.
type poolDraw struct {
	lease      store.Lease
	withdrawal store.Withdrawal
	pools      map[string]poolRow
}

func (v *poolDraw) run(ctx context.Context, tx sqldb.Tx) (a store.Allotment, err error) {
	if err := v.lock(ctx, tx); err != nil {
		return a, err
	}
	a.Rates = make([]store.RateGrant, len(v.withdrawal.Rates))
	for i, d := range v.withdrawal.Rates {
		if a.Rates[i], err = v.rate(ctx, tx, d); err != nil {
			return a, err
		}
	}
	if len(v.withdrawal.Permits) == 0 {
		return a, nil
	}
	left, err := v.leaseLeft(ctx, tx)
	if err != nil {
		return a, err
	}
	a.Permits = make([]store.PermitGrant, len(v.withdrawal.Permits))
	for i, d := range v.withdrawal.Permits {
		if a.Permits[i], err = v.permits(ctx, tx, d, left); err != nil {
			return a, err
		}
	}
	return a, nil
}

// lock makes the rows that are missing and locks all of them.
func (v *poolDraw) lock(ctx context.Context, tx sqldb.Tx) error {
	v.pools = make(map[string]poolRow)
	for _, d := range v.withdrawal.Rates {
		v.pools[d.Pool] = poolRow{}
	}
	for _, d := range v.withdrawal.Permits {
		v.pools[d.Pool] = poolRow{}
	}
	names := slices.Sorted(maps.Keys(v.pools))
	for _, name := range names {
		if err := tx.Do(ctx, `INSERT INTO pools (name) VALUES ($1) ON CONFLICT (name) DO NOTHING`, name); err != nil {
			return err
		}
	}
	return tx.QueryIn(ctx, sqldb.IDQuery{IDs: names, SQL: `SELECT name, level, filled_at, rest_until, kept FROM pools
			WHERE name = /*pg ANY */($1) ORDER BY name /*pg FOR UPDATE */`}, func(row sqldb.Row) error {
		var name string
		var p poolRow
		err := row.Scan(&name, &p.level, &p.filledAt, &p.restUntil, &p.kept)
		v.pools[name] = p
		return err
	})
}

// rate withdraws from one allowance.
func (v *poolDraw) rate(ctx context.Context, tx sqldb.Tx, d store.RateDraw) (store.RateGrant, error) {
	row := v.pools[d.Pool]
	p := store.Pool{Terms: d.Terms, PerMinute: d.PerMinute, Level: row.level, At: sqldb.FromMicros(row.filledAt)}
	if row.kept != "" {
		if err := json.Unmarshal([]byte(row.kept), &p.Kept); err != nil {
			return store.RateGrant{}, fmt.Errorf("reading what pool %s keeps: %w", d.Pool, err)
		}
	}
	g := p.Serve(tx.Now(), d)
	row.level, row.filledAt, row.kept = p.Level, sqldb.Micros(p.At), ""
	if p.Kept != nil {
		text, err := json.Marshal(p.Kept)
		if err != nil {
			return g, fmt.Errorf("encoding what pool %s keeps: %w", d.Pool, err)
		}
		row.kept = string(text)
	}
	v.pools[d.Pool] = row
	return g, tx.Do(ctx, `UPDATE pools SET level = $2, filled_at = $3, kept = $4 WHERE name = $1`, d.Pool, row.level, row.filledAt, row.kept)
}

// leaseLeft is how long the lease of the withdrawal lasts, 0 when it is not current.
func (v *poolDraw) leaseLeft(ctx context.Context, tx sqldb.Tx) (time.Duration, error) {
	expires, _, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT expires_at FROM leases WHERE process_id = $1 AND epoch = $2`,
		v.lease.Process, v.lease.Epoch), func(row sqldb.Row) (n int64, err error) { return n, row.Scan(&n) })
	return max(0, sqldb.FromMicros(expires).Sub(tx.Now())), err
}

// permits divides one pool's permits and returns its rests.
func (v *poolDraw) permits(ctx context.Context, tx sqldb.Tx, d store.PermitDraw, left time.Duration) (store.PermitGrant, error) {
	rest, err := v.rest(ctx, tx, d)
	if err != nil {
		return store.PermitGrant{}, err
	}
	calls, err := v.calls(ctx, tx, d.Calls)
	if err != nil {
		return store.PermitGrant{}, err
	}
	g := store.PermitGrant{For: left, Calls: calls}
	if d.Cap > 0 && left > 0 {
		others, err := v.others(ctx, tx, d.Pool)
		if err != nil {
			return g, err
		}
		d.Cap = max(0, d.Cap-calls)
		g = store.AllotPermits(v.lease.Process, d, others)
		g.For, g.Calls = left, calls
		err = tx.Do(ctx, `INSERT INTO permits (pool, process_id, epoch, permits, want) VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT (pool, process_id) DO UPDATE SET epoch = excluded.epoch, permits = excluded.permits, want = excluded.want`,
			d.Pool, v.lease.Process, v.lease.Epoch, g.Permits, d.Want)
		if err != nil {
			return g, err
		}
	}
	rest.Answer(tx.Now(), &g)
	return g, nil
}

// rest is the rest of a pool and its limits, extended by the draw. The row of a pool of permits stores the rests of single
// limits in the column in which the row of an allowance stores places.
func (v *poolDraw) rest(ctx context.Context, tx sqldb.Tx, d store.PermitDraw) (store.PoolRest, error) {
	row := v.pools[d.Pool]
	r := store.PoolRest{Until: row.restUntil}
	if row.kept != "" {
		if err := json.Unmarshal([]byte(row.kept), &r); err != nil {
			return r, fmt.Errorf("reading which limits of pool %s rest: %w", d.Pool, err)
		}
	}
	if !r.Extend(tx.Now(), d) {
		return r, nil
	}
	row.restUntil, row.kept = r.Until, ""
	if len(r.Limits) > 0 {
		text, err := json.Marshal(r)
		if err != nil {
			return r, fmt.Errorf("encoding which limits of pool %s rest: %w", d.Pool, err)
		}
		row.kept = string(text)
	}
	v.pools[d.Pool] = row
	return r, tx.Do(ctx, `UPDATE pools SET rest_until = $2, kept = $3 WHERE name = $1`, d.Pool, row.restUntil, row.kept)
}

// calls is how many calls run as jobs.
func (v *poolDraw) calls(ctx context.Context, tx sqldb.Tx, c store.CallScope) (int, error) {
	if c.Tenant == "" {
		return 0, nil
	}
	n, _, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT COUNT(*) FROM jobs WHERE call_model <> '' AND finished_at = 0 AND tenant_id = $1
			AND ($2 = '' OR key_name = $2) AND ($3 = '' OR model = $3 OR call_model = $3)`, c.Tenant, c.Key, c.Model),
		func(row sqldb.Row) (n int, err error) { return n, row.Scan(&n) })
	return n, err
}

// others are the live processes that hold or want permits. Rows of dead processes are removed: an expired lease
// may be renewed, and must not restore permits that other processes hold by then.
func (v *poolDraw) others(ctx context.Context, tx sqldb.Tx, pool string) ([]store.PermitHolding, error) {
	err := tx.Do(ctx, `DELETE FROM permits WHERE pool = $1 AND process_id <> $2 AND NOT EXISTS (SELECT 1 FROM leases l
			WHERE l.process_id = permits.process_id AND l.epoch = permits.epoch AND l.expires_at > $3)`,
		pool, v.lease.Process, sqldb.Micros(tx.Now()))
	if err != nil {
		return nil, err
	}
	return sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT process_id, permits, want FROM permits WHERE pool = $1 AND process_id <> $2`,
		pool, v.lease.Process), func(row sqldb.Row) (h store.PermitHolding, err error) {
		return h, row.Scan(&h.Process, &h.Permits, &h.Want)
	})
}
