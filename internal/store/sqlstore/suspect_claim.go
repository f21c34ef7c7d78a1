package sqlstore

import (
	"context"
	"errors"
	"slices"

	"penstock"
	"penstock/internal/store"
	"penstock/internal/store/sqldb"
)

const (
	// suspectPage is how many suspects of a tenant are looked at together.
	suspectPage = 32
	// suspectTenants is how many tenants one claim of suspects looks at; the next one goes on behind them.
	suspectTenants = 64
	// suspectLock names the lock of those that claim suspects, where several processes can.
	suspectLock = "7265340142"
)

// ClaimSuspects implements store.Queue. There are few suspects, and most of the time none: then it reads one row and writes
// nothing.
func (s *Store) ClaimSuspects(ctx context.Context, l store.Lease, want store.Want) ([]*store.Claimed, error) {
	if want.Limit <= 0 {
		return nil, nil
	}
	waiting := false
	err := s.read(ctx, func(tx sqldb.Tx) (err error) {
		_, waiting, err = sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT 1 FROM suspects LIMIT 1`), sqldb.ScanOne[int64])
		return err
	})
	if err != nil || !waiting {
		return nil, err
	}
	var got claimBatch
	for range claimTries {
		if got, err = s.claimSuspects(ctx, l, want); !errors.Is(err, sqldb.ErrMissed) {
			break
		}
	}
	if errors.Is(err, sqldb.ErrMissed) {
		return nil, nil // other processes take items faster than this one can claim them
	}
	if err != nil {
		return nil, err
	}
	for i, c := range got.items {
		opens, result := inputOwner(c.Tenant, c.Item), owner(c.Tenant, c.Item, partResult)
		sealed, err := s.sealed(ctx, opens, got.inputs[i])
		c.Sealed = &store.Sealed{Input: sealed, Opens: store.PayloadOwner(opens), Result: store.PayloadOwner(result)}
		c.BodyErr = unread(err)
	}
	return got.items, nil
}

// claimSuspects is one transaction of claiming. It is not relaxed: what a suspect did must not be forgotten.
func (s *Store) claimSuspects(ctx context.Context, l store.Lease, want store.Want) (got claimBatch, err error) {
	err = s.write(ctx, "claim_suspects", func(tx sqldb.Tx) error {
		got = claimBatch{}
		// One claim of suspects at a time: two would pick the same suspects and wait for each other. This lock is the first;
		// the locks after it are taken in the same order as everywhere: jobs, items, queues.
		if _, _, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT 1 /*pg FROM (SELECT pg_advisory_xact_lock(`+suspectLock+`)) l */`), sqldb.ScanOne[int64]); err != nil {
			return err
		}
		if _, err := survey(ctx, tx, l, nil); err != nil {
			return err
		}
		c := &suspectClaim{want: want, calls: store.NewCalls(want), uncharged: &share{}}
		if err := c.pick(ctx, tx); err != nil || len(c.picks) == 0 {
			return err
		}
		moved := backlog{}
		if got, err = take(ctx, tx, claimOf{newClaims(&s.ids, tx.Now()), l, c.picks, moved}); err != nil {
			return err
		}
		return moved.save(ctx, tx)
	})
	return got, err
}

// suspectClaim picks suspects, from one tenant after the other.
type suspectClaim struct {
	want      store.Want
	calls     *store.Calls
	picks     []picked
	uncharged *share // of all picks: tenants are charged later, for the actual usage
}

// pick takes one suspect of each tenant, beginning behind the tenant whose turn was last, then one more of each, until it has
// the wanted number or no tenant has more.
func (c *suspectClaim) pick(ctx context.Context, tx sqldb.Tx) error {
	var pages [][]pick
	wrapped, after := c.want.AfterTenant == "", c.want.AfterTenant
	for range suspectTenants {
		if len(c.picks) == c.want.Limit {
			return nil
		}
		tenant, found, err := c.nextTenant(ctx, tx, after)
		if err != nil {
			return err
		}
		if !found || (wrapped && c.want.AfterTenant != "" && tenant > c.want.AfterTenant) {
			if wrapped {
				break
			}
			wrapped, after = true, ""
			continue
		}
		after = tenant
		page, err := c.page(ctx, tx, tenant)
		if err != nil {
			return err
		}
		if page = c.takeFirst(page); len(page) > 0 {
			pages = append(pages, page)
		}
	}
	for len(pages) > 0 && len(c.picks) < c.want.Limit {
		page := pages[0]
		pages = pages[1:]
		if page = c.takeFirst(page); len(page) > 0 {
			pages = append(pages, page)
		}
	}
	return nil
}

// nextTenant is the tenant behind another that has a suspect which is due.
func (c *suspectClaim) nextTenant(ctx context.Context, tx sqldb.Tx, after penstock.TenantID) (penstock.TenantID, bool, error) {
	return sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT s.tenant_id FROM suspects s
		WHERE s.tenant_id > $1 AND s.not_before <= $2 AND s.deadline > $2 AND REPLACE($3, $4 || s.tenant_id || $4, '') = $3
		ORDER BY s.tenant_id LIMIT 1`, after, sqldb.Micros(tx.Now()), names(c.want.ExceptTenants), separator),
		func(row sqldb.Row) (id penstock.TenantID, err error) { return id, row.Scan(&id) })
}

// page reads the suspects of a tenant that may start, those first whose turn is first.
func (c *suspectClaim) page(ctx context.Context, tx sqldb.Tx, tenant penstock.TenantID) ([]pick, error) {
	return sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT j.lane, j.model, j.endpoint, s.deadline, i.job_id, i.n, i.id, i.estimate_tokens, i.input_bytes
		FROM suspects s JOIN items i ON i.id = s.item_id JOIN jobs j ON j.id = i.job_id
		WHERE s.tenant_id = $1 AND s.not_before <= $2 AND s.deadline > $2 AND j.cancel_requested_at = 0
			AND REPLACE($3, $6 || j.lane || $6, '') <> $3
			AND ($4 = '' OR REPLACE($4, $6 || j.model || $6, '') <> $4) AND REPLACE($5, $6 || j.model || $6, '') = $5
		ORDER BY s.urgency, s.deadline, s.item_id LIMIT $7`,
		tenant, sqldb.Micros(tx.Now()), names(c.want.Lanes), names(c.want.Models), names(c.want.ExceptModels), separator, suspectPage),
		func(row sqldb.Row) (pick, error) {
			r := &readyRange{suspect: true, backlogKey: backlogKey{tenant: tenant}}
			err := row.Scan(&r.lane, &r.model, &r.endpoint, &r.deadline, &r.job, &r.first, &r.item, &r.estimate, &r.inputBytes)
			r.last, r.inputGroup = r.first, r.first
			return pick{from: r, n: r.first, estimate: r.estimate, bytes: r.inputBytes}, err
		})
}

// takeFirst picks the first suspect of a page for which a call is left, and returns those that are left of the page. A suspect
// without a call takes the others along that need the same.
func (c *suspectClaim) takeFirst(page []pick) []pick {
	for len(page) > 0 {
		p := page[0]
		page = page[1:]
		r := p.from
		var ok bool
		p.call, _, ok = c.calls.Take(store.Candidate{
			Item: r.item, Tenant: r.tenant, Model: r.model, Lane: r.lane, Endpoint: r.endpoint, Estimate: p.estimate, InputBytes: p.bytes,
		})
		if ok {
			c.picks = append(c.picks, picked{p, c.uncharged})
			return page
		}
		page = slices.DeleteFunc(page, func(other pick) bool {
			return other.from.model == r.model && other.from.endpoint == r.endpoint
		})
	}
	return nil
}

// Suspects implements store.Load.
func (s *Store) Suspects(ctx context.Context) (n int64, err error) {
	err = s.read(ctx, func(tx sqldb.Tx) error {
		n, _, err = sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT COUNT(*) FROM (SELECT 1 AS one FROM suspects LIMIT $1) s`, store.MaxBacklogs), sqldb.ScanOne[int64])
		return err
	})
	return n, err
}
