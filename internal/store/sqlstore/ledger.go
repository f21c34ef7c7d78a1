package sqlstore

import (
	"context"
	"fmt"
	"strconv"

	"penstock"
	"penstock/internal/store"
)

// The keys of ledger entries say what is booked. A key can be booked once, whoever tries again.
func reserveKey(job penstock.ID) string     { return "job:" + string(job) }
func settleKey(item penstock.ID) string     { return "item:" + string(item) }
func requestKey(request penstock.ID) string { return "request:" + string(request) }

const forfeitPrefix = "forfeit:"

func holdKey(h lostHold) string {
	return "hold:" + string(h.budget) + ":" + h.lease.Process + ":" + strconv.FormatInt(h.lease.Epoch, 10)
}

func forfeitKey(subject penstock.ID, fence int64) string {
	return forfeitPrefix + string(subject) + ":" + strconv.FormatInt(fence, 10)
}

var (
	entryColumns = `key text, tenant_id text, kind text, subject_id text, job_id text, target text,
	reserved_nano_usd bigint, cost_nano_usd bigint, price_version text, created_at bigint,
	key_name text, model text, lane text, tags text, budgets text, ` + usageColumns
	addEntry     = insertInto("ledger", entryColumns, "")
	addEntryOnce = insertInto("ledger", entryColumns, "ON CONFLICT (key) DO NOTHING")
)

// book appends an entry whose key cannot be booked yet: if it is, the transaction fails.
func book(ctx context.Context, tx Tx, e penstock.LedgerEntry) error { return put(ctx, tx, addEntry, e) }

// bookOnce appends an entry unless its key is booked already.
func bookOnce(ctx context.Context, tx Tx, e penstock.LedgerEntry) error {
	return put(ctx, tx, addEntryOnce, e)
}

func put(ctx context.Context, tx Tx, how *Bulk, e penstock.LedgerEntry) error {
	tags, err := encodeTags(e.Origin.Tags)
	if err != nil {
		return err
	}
	return tx.Put(ctx, how, withUsage(e.Usage, e.Key, e.Tenant, e.Kind, e.Subject, e.Job, e.Target, e.Reserved, e.Cost,
		e.PriceVersion, micros(tx.Now()), e.Origin.Key, e.Origin.Model, e.Origin.Lane, tags, budgetList(e.Origin.Budgets))...)
}

// JobEntries implements store.Ledger.
func (s *Store) JobEntries(ctx context.Context, tenant penstock.TenantID, job penstock.ID) (es []penstock.LedgerEntry, err error) {
	err = s.read(ctx, func(tx Tx) error {
		j, err := findJob(ctx, tx, tenant, job)
		if err != nil {
			return err
		}
		// The keys of a job's items are two ranges, since the ids of its items are one.
		first, last := penstock.ItemID(job, 0), penstock.ItemID(job, j.Counts.Total-1)
		es, err = queryAll(ctx, tx, sqlf(`SELECT key, tenant_id, kind, subject_id, job_id, target, reserved_nano_usd, cost_nano_usd,
				price_version, created_at, `+usageNames+`
			FROM ledger WHERE key = $1 OR key BETWEEN $2 AND $3 OR key BETWEEN $4 AND $5 ORDER BY created_at, key`,
			reserveKey(job), settleKey(first), settleKey(last), forfeitPrefix+string(first), forfeitPrefix+string(last)+";"), scanEntry) // ";" is next to ":"
		return err
	})
	return es, err
}

func scanEntry(row Row) (penstock.LedgerEntry, error) {
	var e penstock.LedgerEntry
	var created int64
	err := row.Scan(intoUsage(&e.Usage, &e.Key, &e.Tenant, &e.Kind, &e.Subject, &e.Job, &e.Target, &e.Reserved, &e.Cost,
		&e.PriceVersion, &created)...)
	e.CreatedAt = fromMicros(created)
	return e, err
}

// audits are the rules of the books. Each query returns the subjects that break one.
var audits = []struct{ problem, sql string }{
	{"item ended without a settlement", `SELECT i.id FROM items i LEFT JOIN ledger l ON l.key = 'item:' || i.id
		WHERE i.status NOT IN ('queued', 'running') AND l.key IS NULL LIMIT $1`},
	{"item is settled but has not ended", `SELECT i.id FROM items i JOIN ledger l ON l.key = 'item:' || i.id
		WHERE i.status IN ('queued', 'running') LIMIT $1`},
	{"settlement differs from the item's cost or reservation", `SELECT i.id FROM items i JOIN ledger l ON l.key = 'item:' || i.id
		WHERE l.cost_nano_usd <> i.cost_nano_usd OR l.reserved_nano_usd <> i.reserved_nano_usd LIMIT $1`},
	{"job reserved other than its items did", `SELECT j.id FROM jobs j LEFT JOIN ledger l ON l.key = 'job:' || j.id
		JOIN (SELECT job_id, SUM(reserved_nano_usd) AS reserved FROM items GROUP BY job_id) i ON i.job_id = j.id
		WHERE COALESCE(l.reserved_nano_usd, -1) <> i.reserved LIMIT $1`},
	{"job's cost differs from the sum of its items", `SELECT j.id FROM jobs j
		JOIN (SELECT job_id, SUM(cost_nano_usd) AS cost FROM items GROUP BY job_id) i ON i.job_id = j.id
		WHERE j.cost_nano_usd <> i.cost LIMIT $1`},
	{"job's counts differ from its items", `SELECT j.id FROM jobs j JOIN (
			SELECT job_id, COUNT(*) AS total,
				SUM(CASE WHEN status = 'queued' THEN 1 ELSE 0 END) AS queued,
				SUM(CASE WHEN status = 'running' THEN 1 ELSE 0 END) AS running,
				SUM(CASE WHEN status = 'succeeded' THEN 1 ELSE 0 END) AS succeeded,
				SUM(CASE WHEN status = 'failed' THEN 1 ELSE 0 END) AS failed,
				SUM(CASE WHEN status = 'cancelled' THEN 1 ELSE 0 END) AS cancelled,
				SUM(CASE WHEN status = 'expired' THEN 1 ELSE 0 END) AS expired
			FROM items GROUP BY job_id) c ON c.job_id = j.id
		WHERE j.total <> c.total OR j.queued <> c.queued OR j.running <> c.running OR j.succeeded <> c.succeeded
			OR j.failed <> c.failed OR j.cancelled <> c.cancelled OR j.expired <> c.expired LIMIT $1`},
	{"job's event numbers have gaps or repeat", `SELECT j.id FROM jobs j JOIN (
			SELECT job_id, COUNT(*) AS entries, COUNT(DISTINCT seq) AS numbers, MIN(seq) AS first, MAX(seq) AS last
			FROM (SELECT job_id, seq FROM items WHERE seq > 0
				UNION ALL SELECT id, 1 FROM jobs
				UNION ALL SELECT id, started_seq FROM jobs WHERE started_seq > 0
				UNION ALL SELECT id, seq FROM jobs WHERE finished_at > 0) log
			GROUP BY job_id) e ON e.job_id = j.id
		WHERE e.entries <> j.seq OR e.numbers <> j.seq OR e.first <> 1 OR e.last <> j.seq LIMIT $1`},
	{"backlog differs from what is queued", `SELECT b.tenant_id || '/' || b.lane || '/' || b.model FROM backlogs b
		LEFT JOIN (SELECT lane, tenant_id, model, SUM(1 - parked) AS ready, SUM(parked) AS parked,
				SUM(estimate_tokens) AS tokens, SUM(input_bytes) AS bytes
			FROM items WHERE status = 'queued' GROUP BY lane, tenant_id, model) q
			ON q.lane = b.lane AND q.tenant_id = b.tenant_id AND q.model = b.model
		WHERE b.ready <> COALESCE(q.ready, 0) OR b.parked <> COALESCE(q.parked, 0)
			OR b.tokens <> COALESCE(q.tokens, 0) OR b.bytes <> COALESCE(q.bytes, 0) LIMIT $1`},
	{"queued item does not stand in its line", `SELECT i.id FROM items i
		LEFT JOIN ready r ON r.lane = i.lane AND r.tenant_id = i.tenant_id AND r.model = i.model AND r.deadline = i.deadline AND r.item_id = i.id
		LEFT JOIN parked p ON p.not_before = i.not_before AND p.item_id = i.id
		WHERE i.status = 'queued' AND ((i.parked = 0 AND r.item_id IS NULL) OR (i.parked = 1 AND p.item_id IS NULL)) LIMIT $1`},
	{"item stands in line but is not queued", `SELECT l.item_id FROM (SELECT item_id FROM ready UNION ALL SELECT item_id FROM parked) l
		LEFT JOIN items i ON i.id = l.item_id GROUP BY l.item_id HAVING COUNT(*) > 1 OR MAX(COALESCE(i.status, '')) <> 'queued' LIMIT $1`},
	{"claim differs from what runs under it", `SELECT c.id FROM claims c LEFT JOIN (
			SELECT claim_id, COUNT(*) AS running FROM items WHERE status = 'running' GROUP BY claim_id) i ON i.claim_id = c.id
		WHERE c.open <> COALESCE(i.running, 0) LIMIT $1`},
	{"item runs without a claim", `SELECT i.id FROM items i LEFT JOIN claims c ON c.id = i.claim_id
		WHERE i.status = 'running' AND c.id IS NULL LIMIT $1`},
	{"item is ready but its tenant counts as idle", `SELECT i.id FROM items i
		LEFT JOIN shares s ON s.lane = i.lane AND s.tenant_id = i.tenant_id
		LEFT JOIN backlogs b ON b.lane = i.lane AND b.tenant_id = i.tenant_id AND b.model = i.model
		WHERE i.status = 'queued' AND i.parked = 0 AND (COALESCE(s.active, 0) = 0 OR b.model IS NULL) LIMIT $1`},
	{"request is recorded without a settlement", `SELECT r.id FROM requests r LEFT JOIN ledger l ON l.key = 'request:' || r.id
		WHERE l.key IS NULL OR l.cost_nano_usd <> r.cost_nano_usd LIMIT $1`},
	{"budget's settled differs from what was booked against it", `SELECT b.id FROM budgets b WHERE b.settled_nano_usd <>
		COALESCE((SELECT SUM(l.cost_nano_usd) FROM ledger l WHERE l.kind IN ('settle', 'forfeit') AND l.budgets LIKE '%' || b.id || '%'), 0)
		+ COALESCE((SELECT SUM(i.cost_nano_usd) FROM jobs j JOIN items i ON i.job_id = j.id
			WHERE j.budgets LIKE '%' || b.id || '%' AND i.status IN ('queued', 'running')), 0) LIMIT $1`},
	{"budget's held differs from what is set aside", `SELECT b.id FROM budgets b WHERE b.held_nano_usd <>
		COALESCE((SELECT SUM(h.amount_nano_usd) FROM holds h WHERE h.budget_id = b.id), 0)
		+ COALESCE((SELECT SUM(i.reserved_nano_usd) FROM jobs j JOIN items i ON i.job_id = j.id
			WHERE j.budgets LIKE '%' || b.id || '%' AND i.status IN ('queued', 'running')), 0) LIMIT $1`},
	// What is missing must be what was deleted, in number and in cost, tenant by tenant.
	{"settlements without what they settle differ from what was deleted", `SELECT tenant_id || ' ' || kind FROM (
			SELECT tenant_id, kind, subjects, cost_nano_usd FROM forgotten
			UNION ALL SELECT l.tenant_id, CASE WHEN l.job_id = '' THEN 'request' ELSE 'item' END, -1, -l.cost_nano_usd
			FROM ledger l WHERE l.kind IN ('settle', 'release')
				AND NOT EXISTS (SELECT 1 FROM items i WHERE i.id = l.subject_id)
				AND NOT EXISTS (SELECT 1 FROM requests r WHERE r.id = l.subject_id)) missing
		GROUP BY tenant_id, kind HAVING SUM(subjects) <> 0 OR SUM(cost_nano_usd) <> 0 LIMIT $1`},
}

// VerifyLedger implements store.Ledger.
func (s *Store) VerifyLedger(ctx context.Context) (report store.LedgerReport, err error) {
	err = s.read(ctx, func(tx Tx) error {
		report = store.LedgerReport{}
		counts, _, err := queryOne(ctx, tx, sqlf(`SELECT (SELECT COUNT(*) FROM ledger),
				(SELECT COUNT(*) FROM items WHERE status NOT IN ('queued', 'running')), (SELECT COUNT(*) FROM requests)`),
			func(row Row) (r store.LedgerReport, err error) { return r, row.Scan(&r.Entries, &r.Items, &r.Requests) })
		if err != nil {
			return err
		}
		report = counts
		for _, a := range audits {
			left := store.MaxLedgerProblems - len(report.Problems)
			broken, err := queryAll(ctx, tx, sqlf(a.sql, left), func(row Row) (id string, err error) { return id, row.Scan(&id) })
			if err != nil {
				return fmt.Errorf("checking that no %s: %w", a.problem, err)
			}
			for _, id := range broken {
				report.Problems = append(report.Problems, a.problem+": "+id)
			}
		}
		return nil
	})
	return report, err
}
