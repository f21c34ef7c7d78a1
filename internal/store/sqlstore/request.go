package sqlstore

import (
	"context"
	"slices"

	"penstock"
	"penstock/internal/store/sqldb"
	"penstock/internal/store/usagerow"
)

// RecordRequests implements store.Requests.
func (s *Store) RecordRequests(ctx context.Context, rs []penstock.Request) error {
	return s.write(ctx, "record", func(tx sqldb.Tx) error {
		recorded, err := recordedRequests(ctx, tx, rs)
		if err != nil {
			return err
		}
		rs := slices.DeleteFunc(slices.Clone(rs), func(r penstock.Request) bool { return recorded[r.ID] })
		heldAmounts, err := lockHeld(ctx, tx, rs)
		if err != nil {
			return err
		}
		if err := insertRequests(ctx, tx, rs, heldAmounts); err != nil {
			return err
		}
		return heldAmounts.save(ctx, tx)
	})
}

// insertRequests writes calls, table by table, so that the rows of each can travel together.
func insertRequests(ctx context.Context, tx sqldb.Tx, rs []penstock.Request, t heldAmounts) error {
	for i := range rs {
		if err := insertRequest(ctx, tx, &rs[i]); err != nil {
			return err
		}
	}
	for i := range rs {
		for _, a := range rs[i].Attempts {
			if err := insertAttempt(ctx, tx, rs[i].Tenant, a); err != nil {
				return err
			}
		}
	}
	for i := range rs {
		if err := settleRequest(ctx, tx, &rs[i], t); err != nil {
			return err
		}
	}
	return nil
}

// recordedRequests returns the calls that were recorded before.
func recordedRequests(ctx context.Context, tx sqldb.Tx, rs []penstock.Request) (map[penstock.ID]bool, error) {
	ids := make([]string, len(rs))
	for i, r := range rs {
		ids[i] = string(r.ID)
	}
	recorded := make(map[penstock.ID]bool)
	err := tx.QueryIn(ctx, sqldb.IDQuery{SQL: `SELECT id FROM requests WHERE id = /*pg ANY */($1)`, IDs: ids}, func(row sqldb.Row) error {
		var id penstock.ID
		err := row.Scan(&id)
		recorded[id] = true
		return err
	})
	return recorded, err
}

var addRequest = usagerow.InsertInto("requests", `id text, tenant_id text, key_name text, endpoint text, model text, stream bigint,
	status text, status_code bigint, error_code text, error_message text, target text, cost_nano_usd bigint, started_at bigint,
	first_token_at bigint, finished_at bigint, `, "ON CONFLICT (id) DO NOTHING")

func insertRequest(ctx context.Context, tx sqldb.Tx, r *penstock.Request) error {
	return addRequest.Put(ctx, tx, r.Usage, r.ID, r.Tenant, r.Key, r.Endpoint, r.Model, truth(r.Stream).column(), r.Status,
		r.StatusCode, r.ErrorCode, sqldb.Storable(r.Error), r.Target, r.Cost, sqldb.Micros(r.StartedAt), sqldb.Micros(r.FirstTokenAt), sqldb.Micros(r.FinishedAt))
}

// settleRequest records the cost of a call once, and separately the amount that may have been spent without a report.
func settleRequest(ctx context.Context, tx sqldb.Tx, r *penstock.Request, t heldAmounts) error {
	charged, err := t.charge(ctx, tx, *r)
	if err != nil {
		return err
	}
	entry := penstock.LedgerEntry{
		Key: requestKey(r.ID), Tenant: r.Tenant, Kind: penstock.EntrySettle, Subject: r.ID, Outcomes: 1, Target: r.Target,
		Cost: r.Cost, Usage: r.Usage, Origin: penstock.Origin{Key: r.Key, Model: r.Model, Lane: penstock.LaneRealtime, Budgets: charged},
	}
	if n := len(r.Attempts); n > 0 {
		entry.PriceVersion = r.Attempts[n-1].PriceVersion
	}
	if err := bookOnce(ctx, tx, entry); err != nil || r.Forfeit == 0 {
		return err
	}
	entry.Key, entry.Kind = forfeitKey(r.ID, 0), penstock.EntryForfeit
	entry.Cost, entry.Usage = r.Forfeit, penstock.Usage{}
	return bookOnce(ctx, tx, entry)
}

// Request implements store.Requests.
func (s *Store) Request(ctx context.Context, tenant penstock.TenantID, id penstock.ID) (r penstock.Request, err error) {
	err = s.read(ctx, func(tx sqldb.Tx) error {
		found, ok, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT id, tenant_id, key_name, endpoint, model, stream, status, status_code,
				error_code, error_message, target, cost_nano_usd, started_at, first_token_at, finished_at, `+usagerow.Names+`
			FROM requests WHERE id = $1 AND tenant_id = $2`, id, tenant), scanRequest)
		if err != nil {
			return err
		}
		if !ok {
			return notFound(penstock.ViewRequest, id)
		}
		r = found
		r.Attempts, err = findAttempts(ctx, tx, tenant, id)
		return err
	})
	return r, err
}

func scanRequest(row sqldb.Row) (penstock.Request, error) {
	var r penstock.Request
	var stream, started, first, finished int64
	err := row.Scan(usagerow.Dest(&r.Usage, &r.ID, &r.Tenant, &r.Key, &r.Endpoint, &r.Model, &stream, &r.Status, &r.StatusCode,
		&r.ErrorCode, &r.Error, &r.Target, &r.Cost, &started, &first, &finished)...)
	r.Stream = stream != 0
	r.StartedAt, r.FirstTokenAt, r.FinishedAt = sqldb.FromMicros(started), sqldb.FromMicros(first), sqldb.FromMicros(finished)
	return r, err
}
