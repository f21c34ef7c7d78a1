package sqlstore

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"penstock"
	"penstock/internal/store/promptrow"
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

// insertRequests writes calls, statement by statement, so that the rows of each can travel together.
func insertRequests(ctx context.Context, tx sqldb.Tx, rs []penstock.Request, t heldAmounts) error {
	var others []*penstock.Request
	for i := range rs {
		r := &rs[i]
		if !plain(r) {
			others = append(others, r)
			continue
		}
		if err := insertPlain(ctx, tx, r, &r.Attempts[0]); err != nil {
			return err
		}
	}
	if err := insertTags(ctx, tx, rs); err != nil {
		return err
	}
	for i := range rs {
		a := attached{rs[i].Tenant, rs[i].ID, rs[i].Files}
		if err := a.insert(ctx, tx); err != nil {
			return err
		}
		if err := (truncated{rs[i].Tenant, rs[i].ID, rs[i].Truncated}).insert(ctx, tx); err != nil {
			return err
		}
		if p := rs[i].Prompt; p != nil {
			if err := (promptrow.Use{Tenant: rs[i].Tenant, Subject: rs[i].ID, PromptCall: *p}).Insert(ctx, tx); err != nil {
				return err
			}
		}
	}
	if err := insertOthers(ctx, tx, others); err != nil {
		return err
	}
	for i := range rs {
		if err := settleRequest(ctx, tx, &rs[i], t); err != nil {
			return err
		}
	}
	return nil
}

// insertOthers writes calls that are not plain, and their attempts.
func insertOthers(ctx context.Context, tx sqldb.Tx, rs []*penstock.Request) error {
	for _, r := range rs {
		if err := insertRequest(ctx, tx, r); err != nil {
			return err
		}
	}
	for _, r := range rs {
		for _, a := range r.Attempts {
			if err := insertAttempt(ctx, tx, r.Tenant, a); err != nil {
				return err
			}
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

const (
	callColumns    = `id text, tenant_id text, key_name text, endpoint text, model text, stream bigint, `
	outcomeColumns = `status_code bigint, target text, cost_nano_usd bigint, started_at bigint, first_token_at bigint, finished_at bigint, `
	attemptColumns = `attempt_id text, reason text, config text, price_version text, attempt_started_at bigint, attempt_finished_at bigint, `
	labelColumns   = `tags text, subject text, `
)

var (
	addRequest = usagerow.InsertInto("requests", callColumns+`status text, error_code text, error_message text, `+outcomeColumns+labelColumns, "ON CONFLICT (id) DO NOTHING")
	// addPlain adds a plain call with its attempt.
	addPlain = usagerow.InsertInto("requests", callColumns+`status text = 'succeeded', error_code text = '', error_message text = '', `+outcomeColumns+
		attemptColumns, "ON CONFLICT (id) DO NOTHING")
	// addLabelled is addPlain for a call with labels. Calls without labels do not pay for the columns.
	addLabelled = usagerow.InsertInto("requests", callColumns+`status text = 'succeeded', error_code text = '', error_message text = '', `+outcomeColumns+
		attemptColumns+labelColumns, "ON CONFLICT (id) DO NOTHING")
)

// plain reports whether a call succeeded with its first attempt, as nearly all do. Its attempt is kept in its row.
func plain(r *penstock.Request) bool {
	if r.Status != penstock.StatusSucceeded || r.ErrorCode != "" || r.Error != "" || len(r.Attempts) != 1 || r.Attempts[0].ID == "" {
		return false
	}
	a := &r.Attempts[0]
	kept := plainAttempt(r)
	kept.ID, kept.Reason, kept.Config, kept.PriceVersion, kept.StartedAt, kept.FinishedAt = a.ID, a.Reason, a.Config, a.PriceVersion, a.StartedAt, a.FinishedAt
	return kept == *a
}

// plainAttempt is the attempt of a plain call, as far as the call has the same facts.
func plainAttempt(r *penstock.Request) penstock.Attempt {
	return penstock.Attempt{
		Subject: r.ID, Number: 1, Target: r.Target, StatusCode: r.StatusCode, Usage: r.Usage, UsageKnown: true, Cost: r.Cost, FirstTokenAt: r.FirstTokenAt,
	}
}

func insertRequest(ctx context.Context, tx sqldb.Tx, r *penstock.Request) error {
	tags, err := encodeTags(r.Tags)
	if err != nil {
		return err
	}
	return addRequest.Put(ctx, tx, r.Usage, r.ID, r.Tenant, r.Key, r.Endpoint, r.Model, truth(r.Stream).column(), r.Status, r.ErrorCode,
		sqldb.Storable(r.Error), r.StatusCode, r.Target, r.Cost, sqldb.Micros(r.StartedAt), sqldb.Micros(r.FirstTokenAt), sqldb.Micros(r.FinishedAt), tags, sqldb.Storable(r.Subject))
}

// insertPlain converts the types that have names of their own, which the engine would do by reflection.
func insertPlain(ctx context.Context, tx sqldb.Tx, r *penstock.Request, a *penstock.Attempt) error {
	if !r.Labels.None() {
		return insertLabelled(ctx, tx, r, a)
	}
	return addPlain.Put(ctx, tx, r.Usage, string(r.ID), string(r.Tenant), r.Key, string(r.Endpoint), r.Model, truth(r.Stream).column(),
		int64(r.StatusCode), r.Target, int64(r.Cost), sqldb.Micros(r.StartedAt), sqldb.Micros(r.FirstTokenAt), sqldb.Micros(r.FinishedAt),
		string(a.ID), a.Reason, a.Config, a.PriceVersion, sqldb.Micros(a.StartedAt), sqldb.Micros(a.FinishedAt))
}

// insertLabelled is insertPlain for a call with labels.
func insertLabelled(ctx context.Context, tx sqldb.Tx, r *penstock.Request, a *penstock.Attempt) error {
	tags, err := encodeTags(r.Tags)
	if err != nil {
		return err
	}
	return addLabelled.Put(ctx, tx, r.Usage, string(r.ID), string(r.Tenant), r.Key, string(r.Endpoint), r.Model, truth(r.Stream).column(),
		int64(r.StatusCode), r.Target, int64(r.Cost), sqldb.Micros(r.StartedAt), sqldb.Micros(r.FirstTokenAt), sqldb.Micros(r.FinishedAt),
		string(a.ID), a.Reason, a.Config, a.PriceVersion, sqldb.Micros(a.StartedAt), sqldb.Micros(a.FinishedAt), tags, sqldb.Storable(r.Subject))
}

var addRequestTag = sqldb.InsertInto("request_tags", "tenant_id text, name text, value text, request_id text", "ON CONFLICT (tenant_id, name, value, request_id) DO NOTHING")

// insertTags writes the rows by which calls are found by their tags.
func insertTags(ctx context.Context, tx sqldb.Tx, rs []penstock.Request) error {
	for i := range rs {
		r := &rs[i]
		for _, name := range slices.Sorted(maps.Keys(r.Tags)) {
			if err := tx.Put(ctx, addRequestTag, string(r.Tenant), sqldb.Storable(name), sqldb.Storable(r.Tags[name]), string(r.ID)); err != nil {
				return err
			}
		}
	}
	return nil
}

// addSettlement adds the ledger entry of a call, as bookOnce does. Every call has one, so the columns that are the same for all
// calls take no arguments.
var (
	addSettlement = usagerow.InsertInto("ledger", settlementColumns, "ON CONFLICT (key) DO NOTHING")
	// addTaggedSettlement is that of a call with tags, by which usage is reported.
	addTaggedSettlement = usagerow.InsertInto("ledger", settlementColumns+`tags text, `, "ON CONFLICT (key) DO NOTHING")
)

const settlementColumns = `key text, tenant_id text, kind text = 'settle', subject_id text, target text,
	reserved_nano_usd bigint = 0, cost_nano_usd bigint, price_version text, created_at bigint, outcomes bigint = 1,
	key_name text, model text, lane text = 'realtime', budgets text, `

// settleRequest records the cost of a call once, and separately the amount that may have been spent without a report.
func settleRequest(ctx context.Context, tx sqldb.Tx, r *penstock.Request, t heldAmounts) error {
	charged, err := t.charge(ctx, tx, *r)
	if err != nil {
		return err
	}
	price := ""
	if n := len(r.Attempts); n > 0 {
		price = r.Attempts[n-1].PriceVersion
	}
	if len(r.Tags) == 0 {
		err = addSettlement.Put(ctx, tx, r.Usage, requestKey(r.ID), string(r.Tenant), string(r.ID), r.Target, int64(r.Cost), price,
			sqldb.Micros(tx.Now()), r.Key, r.Model, budgetList(charged))
	} else {
		err = settleTagged(ctx, tx, r, requestPaid{price, charged})
	}
	if err != nil || r.Forfeit == 0 {
		return err
	}
	return bookOnce(ctx, tx, penstock.LedgerEntry{
		Key: forfeitKey(r.ID, 0), Tenant: r.Tenant, Kind: penstock.EntryForfeit, Subject: r.ID, Outcomes: 1, Target: r.Target, Cost: r.Forfeit, PriceVersion: price,
		Origin: penstock.Origin{Key: r.Key, Model: r.Model, Lane: penstock.LaneRealtime, Tags: r.Tags, Budgets: charged},
	})
}

// requestPaid is what the entry of a call has beside the call.
type requestPaid struct {
	price   string
	charged []penstock.ID
}

func settleTagged(ctx context.Context, tx sqldb.Tx, r *penstock.Request, s requestPaid) error {
	tags, err := encodeTags(r.Tags)
	if err != nil {
		return err
	}
	return addTaggedSettlement.Put(ctx, tx, r.Usage, requestKey(r.ID), string(r.Tenant), string(r.ID), r.Target, int64(r.Cost), s.price,
		sqldb.Micros(tx.Now()), r.Key, r.Model, budgetList(s.charged), tags)
}

// Request implements store.Requests.
func (s *Store) Request(ctx context.Context, tenant penstock.TenantID, id penstock.ID) (r penstock.Request, err error) {
	err = s.read(ctx, func(tx sqldb.Tx) error {
		found, ok, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT `+requestColumns+`
			FROM requests WHERE id = $1 AND tenant_id = $2`, id, tenant), scanRequest)
		if err != nil {
			return err
		}
		if !ok {
			return notFound(penstock.ViewRequest, id)
		}
		r = found
		if r.Attempts, err = findAttempts(ctx, tx, tenant, id); err != nil {
			return err
		}
		if r.Files, err = findAttached(ctx, tx, tenant, id); err != nil {
			return err
		}
		if r.Truncated, err = findTruncation(ctx, tx, tenant, id); err != nil {
			return err
		}
		r.Prompt, err = promptrow.Find(ctx, tx, tenant, id)
		return err
	})
	return r, err
}

var requestColumns = `id, tenant_id, key_name, endpoint, model, stream, status, status_code,
	error_code, error_message, target, cost_nano_usd, started_at, first_token_at, finished_at, tags, subject, ` + usagerow.Names

func scanRequest(row sqldb.Row) (penstock.Request, error) {
	var r penstock.Request
	var tags string
	var stream, started, first, finished int64
	err := row.Scan(usagerow.Dest(&r.Usage, &r.ID, &r.Tenant, &r.Key, &r.Endpoint, &r.Model, &stream, &r.Status, &r.StatusCode,
		&r.ErrorCode, &r.Error, &r.Target, &r.Cost, &started, &first, &finished, &tags, &r.Subject)...)
	if err == nil && tags != "{}" {
		err = json.Unmarshal([]byte(tags), &r.Tags)
	}
	r.Stream = stream != 0
	r.StartedAt, r.FirstTokenAt, r.FinishedAt = sqldb.FromMicros(started), sqldb.FromMicros(first), sqldb.FromMicros(finished)
	return r, err
}

// findPlain finds the attempt of a plain call.
func findPlain(ctx context.Context, tx sqldb.Tx, tenant penstock.TenantID, id penstock.ID) ([]penstock.Attempt, error) {
	return sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT target, status_code, cost_nano_usd, first_token_at, attempt_id, reason, config, price_version,
			attempt_started_at, attempt_finished_at, `+usagerow.Names+`
		FROM requests WHERE id = $1 AND tenant_id = $2 AND attempt_id <> ''`, id, tenant), func(row sqldb.Row) (penstock.Attempt, error) {
		r := penstock.Request{ID: id}
		var a penstock.Attempt
		var first, started, finished int64
		err := row.Scan(usagerow.Dest(&r.Usage, &r.Target, &r.StatusCode, &r.Cost, &first, &a.ID, &a.Reason, &a.Config, &a.PriceVersion, &started, &finished)...)
		r.FirstTokenAt = sqldb.FromMicros(first)
		kept := plainAttempt(&r)
		kept.ID, kept.Reason, kept.Config, kept.PriceVersion = a.ID, a.Reason, a.Config, a.PriceVersion
		kept.StartedAt, kept.FinishedAt = sqldb.FromMicros(started), sqldb.FromMicros(finished)
		return kept, err
	})
}
