package sqlstore

import (
	"context"
	"fmt"
	"strconv"

	"penstock"
	"penstock/internal/store"
	"penstock/internal/store/sqldb"
	"penstock/internal/store/usagerow"
)

// endedSums are the items that ended, those with a row and those in result groups, as far as they can be added up.
const endedSums = `(SELECT job_id, tenant_id, status, 1 AS outcomes, cost_nano_usd, reserved_nano_usd, ` + usagerow.Names + ` FROM items
		WHERE status NOT IN ('queued', 'running')
	UNION ALL SELECT job_id, tenant_id, 'succeeded', items, cost_nano_usd, reserved_nano_usd, ` + usagerow.Names + ` FROM result_groups)`

// How far the time of a call and that of its settlement may lie apart, in microseconds: the clocks of a process and of the
// database differ, and a process keeps what it could not write for as long as the database is away.
const (
	bookedEarly = `3600000000`
	bookedLate  = `86400000000`
)

// named selects the entries that have key, model and lane: entries of early versions do not.
const named = `l.lane <> ''`

// audits are the rules of the ledger. Each query returns the subjects that break a rule.
var audits = []struct{ problem, sql string }{
	{"job's settlements differ from its outcomes", `SELECT j.id FROM jobs j
		LEFT JOIN (SELECT job_id, SUM(outcomes) AS outcomes, SUM(cost_nano_usd) AS cost, SUM(reserved_nano_usd) AS reserved,
				` + usagerow.Each(`SUM(%s) AS %s`, `, `) + `
			FROM ` + endedSums + ` e GROUP BY job_id) i ON i.job_id = j.id
		LEFT JOIN (SELECT job_id, SUM(outcomes) AS outcomes, SUM(cost_nano_usd) AS cost, SUM(reserved_nano_usd) AS reserved,
				` + usagerow.Each(`SUM(%s) AS %s`, `, `) + `
			FROM ledger WHERE kind IN ('settle', 'release') GROUP BY job_id) l ON l.job_id = j.id
		WHERE COALESCE(i.outcomes, 0) <> COALESCE(l.outcomes, 0) OR COALESCE(i.cost, 0) <> COALESCE(l.cost, 0)
			OR COALESCE(i.reserved, 0) <> COALESCE(l.reserved, 0)
			OR ` + usagerow.Each(`COALESCE(i.%s, 0) <> COALESCE(l.%s, 0)`, ` OR `) + ` LIMIT $1`},
	{"job ended without having freed what it reserved", `SELECT j.id FROM jobs j
		LEFT JOIN (SELECT job_id, SUM(reserved_nano_usd) AS reserved FROM ledger WHERE kind = 'reserve' GROUP BY job_id) l ON l.job_id = j.id
		LEFT JOIN (SELECT job_id, SUM(reserved_nano_usd) AS reserved FROM ledger WHERE kind IN ('settle', 'release') GROUP BY job_id) f
			ON f.job_id = j.id
		WHERE l.job_id IS NULL OR (j.finished_at > 0 AND l.reserved <> COALESCE(f.reserved, 0)) LIMIT $1`},
	{"job's cost differs from the sum of its items", `SELECT j.id FROM jobs j
		LEFT JOIN (SELECT job_id, SUM(cost_nano_usd) AS cost FROM (SELECT job_id, cost_nano_usd FROM items
			UNION ALL SELECT job_id, cost_nano_usd FROM result_groups) c GROUP BY job_id) i ON i.job_id = j.id
		WHERE j.cost_nano_usd <> COALESCE(i.cost, 0) LIMIT $1`},
	{"job's counts differ from its items", `SELECT j.id FROM jobs j LEFT JOIN (
			SELECT job_id,
				SUM(CASE WHEN status = 'succeeded' THEN outcomes ELSE 0 END) AS succeeded,
				SUM(CASE WHEN status = 'failed' THEN outcomes ELSE 0 END) AS failed,
				SUM(CASE WHEN status = 'cancelled' THEN outcomes ELSE 0 END) AS cancelled,
				SUM(CASE WHEN status = 'expired' THEN outcomes ELSE 0 END) AS expired
			FROM ` + endedSums + ` e GROUP BY job_id) c ON c.job_id = j.id
		WHERE j.succeeded <> COALESCE(c.succeeded, 0) OR j.failed <> COALESCE(c.failed, 0)
			OR j.cancelled <> COALESCE(c.cancelled, 0) OR j.expired <> COALESCE(c.expired, 0) LIMIT $1`},
	// Every item is in exactly one place: in a line, under a claim, or ended.
	{"job's items are lost, or in two places", `SELECT j.id FROM jobs j
		LEFT JOIN (SELECT job_id, SUM(last_n - first_n + 1) AS items FROM ready GROUP BY job_id) r ON r.job_id = j.id
		LEFT JOIN (SELECT job_id, COUNT(*) AS items FROM items WHERE status = 'queued' AND parked = 1 GROUP BY job_id) p ON p.job_id = j.id
		LEFT JOIN (SELECT job_id, SUM(open) AS items FROM claims GROUP BY job_id) c ON c.job_id = j.id
		LEFT JOIN (SELECT job_id, SUM(outcomes) AS items FROM ` + endedSums + ` o GROUP BY job_id) e ON e.job_id = j.id
		WHERE j.split <> COALESCE(r.items, 0) + COALESCE(p.items, 0) + COALESCE(c.items, 0) + COALESCE(e.items, 0) LIMIT $1`},
	{"job's event numbers have gaps or repeat", `SELECT j.id FROM jobs j JOIN (
			SELECT job_id, SUM(last - first + 1) AS entries, MIN(first) AS first, MAX(last) AS last,
				SUM(CASE WHEN next <= last THEN 1 ELSE 0 END) AS repeated
			FROM (SELECT job_id, first, last, LEAD(first) OVER (PARTITION BY job_id ORDER BY first) AS next FROM (
				SELECT job_id, seq AS first, seq AS last FROM items WHERE seq > 0
				UNION ALL SELECT job_id, last_seq - items + 1, last_seq FROM result_groups
				UNION ALL SELECT job_id, seq, seq FROM events
				UNION ALL SELECT id, 1, 1 FROM jobs
				UNION ALL SELECT id, started_seq, started_seq FROM jobs WHERE started_seq > 0
				UNION ALL SELECT id, seq, seq FROM jobs WHERE finished_at > 0) log) ordered
			GROUP BY job_id) e ON e.job_id = j.id
		WHERE e.repeated > 0 OR e.first <> 1 OR e.last <> j.seq
			OR (e.entries <> j.seq AND j.log NOT IN ('purging', 'purged')) LIMIT $1`},
	{"backlog differs from what is queued", `SELECT b.tenant_id || '/' || b.lane || '/' || b.model FROM backlogs b
		LEFT JOIN (SELECT lane, tenant_id, model, SUM(last_n - first_n + 1) AS ready FROM ready GROUP BY lane, tenant_id, model) r
			ON r.lane = b.lane AND r.tenant_id = b.tenant_id AND r.model = b.model
		LEFT JOIN (SELECT j.lane, j.tenant_id, j.model, COUNT(*) AS parked FROM items i JOIN jobs j ON j.id = i.job_id
			WHERE i.status = 'queued' AND i.parked = 1 GROUP BY j.lane, j.tenant_id, j.model) p
			ON p.lane = b.lane AND p.tenant_id = b.tenant_id AND p.model = b.model
		WHERE b.ready <> COALESCE(r.ready, 0) OR b.parked <> COALESCE(p.parked, 0)
			OR (b.ready = 0 AND b.parked = 0 AND (b.tokens <> 0 OR b.bytes <> 0)) LIMIT $1`},
	{"ready range is of a backlog that is not there", `SELECT r.job_id FROM ready r
		LEFT JOIN backlogs b ON b.lane = r.lane AND b.tenant_id = r.tenant_id AND b.model = r.model WHERE b.model IS NULL LIMIT $1`},
	{"queued item does not stand in its line", `SELECT i.id FROM items i
		LEFT JOIN ready r ON r.item_id = i.id LEFT JOIN parked p ON p.not_before = i.not_before AND p.item_id = i.id
		LEFT JOIN suspects s ON s.item_id = i.id
		WHERE i.status = 'queued' AND ((i.parked = 0 AND r.item_id IS NULL) OR (i.parked = 1 AND COALESCE(p.item_id, s.item_id) IS NULL)
			OR (i.crashes >= ` + strconv.Itoa(store.SuspectCrashes) + ` AND s.item_id IS NULL)) LIMIT $1`},
	{"item is in a queue but is not queued", `SELECT l.item_id FROM (SELECT item_id FROM ready WHERE item_id <> '' UNION ALL SELECT item_id FROM parked UNION ALL SELECT item_id FROM suspects) l
		LEFT JOIN items i ON i.id = l.item_id GROUP BY l.item_id HAVING COUNT(*) > 1 OR MAX(COALESCE(i.status, '')) <> 'queued' LIMIT $1`},
	{"item is in a queue but has a row", `SELECT i.id FROM ready r JOIN items i ON i.job_id = r.job_id AND i.n BETWEEN r.first_n AND r.last_n
		WHERE r.item_id = '' LIMIT $1`},
	{"item runs without a claim", `SELECT i.id FROM items i LEFT JOIN claims c ON c.job_id = i.job_id AND c.id = i.claim_id
		WHERE i.status = 'running' AND c.id IS NULL LIMIT $1`},
	{"item is ready but its tenant counts as idle", `SELECT r.job_id FROM ready r
		LEFT JOIN shares s ON s.lane = r.lane AND s.tenant_id = r.tenant_id WHERE COALESCE(s.active, 0) = 0 LIMIT $1`},
	{"request is recorded without a settlement", `SELECT r.id FROM requests r LEFT JOIN ledger l ON l.key = 'request:' || r.id
		WHERE l.key IS NULL LIMIT $1`},
	{"request's settlement differs from its record", `SELECT r.id FROM requests r JOIN ledger l ON l.key = 'request:' || r.id
		WHERE l.tenant_id <> r.tenant_id OR l.subject_id <> r.id OR l.job_id <> '' OR l.outcomes <> 1 OR l.target <> r.target
			OR l.cost_nano_usd <> r.cost_nano_usd OR l.reserved_nano_usd <> 0 OR ` + usagerow.Each(`l.%s <> r.%s`, ` OR `) + `
			OR (` + named + ` AND (l.key_name <> r.key_name OR l.model <> r.model OR l.lane <> 'realtime'
				OR l.price_version <> CASE WHEN r.attempt_id <> '' THEN r.price_version
					ELSE COALESCE((SELECT a.price_version FROM attempts a WHERE a.subject_id = r.id ORDER BY a.number DESC LIMIT 1), '') END))
		LIMIT $1`},
	{"request is settled long before or after it ended", `SELECT r.id FROM requests r JOIN ledger l ON l.key = 'request:' || r.id
		WHERE l.created_at < r.finished_at - ` + bookedEarly + ` OR l.created_at > r.finished_at + ` + bookedLate + ` LIMIT $1`},
	{"request's forfeit differs from its settlement", `SELECT l.subject_id FROM ledger l JOIN ledger s ON s.key = 'request:' || l.subject_id
		WHERE l.kind = 'forfeit' AND l.job_id = '' AND (l.tenant_id <> s.tenant_id OR l.target <> s.target OR l.price_version <> s.price_version
			OR l.created_at <> s.created_at) LIMIT $1`},
	// The commit that ends an item with unknown usage also writes its forfeit entry. Other forfeit entries are from stale
	// claims, and may have any target.
	{"item's forfeit has another target, price or time than its end", `SELECT l.key FROM ledger l
		JOIN items i ON i.id = l.subject_id AND l.key = 'forfeit:' || i.id || ':' || i.fence
		WHERE l.kind = 'forfeit' AND i.seq > 0 AND i.last_attempt LIKE '%"UsageKnown":false%'
			AND (l.target <> i.target OR l.price_version <> i.price_version OR l.created_at <> i.finished_at) LIMIT $1`},
	{"job's reservation names a target or price, or another time than its own", `SELECT l.key FROM ledger l JOIN jobs j ON j.id = l.job_id
		WHERE l.kind = 'reserve' AND (l.target <> '' OR l.price_version <> '' OR (l.key = 'job:' || j.id AND l.created_at <> j.created_at)) LIMIT $1`},
	{"job's settlement is under another key than its own", `SELECT l.key FROM ledger l
		WHERE l.kind IN ('settle', 'release') AND l.job_id <> '' AND ` + named + ` AND l.key NOT LIKE 'settle:' || l.job_id || ':%' LIMIT $1`},
	{"request is settled under another key than its own", `SELECT l.key FROM ledger l
		WHERE l.kind IN ('settle', 'release') AND l.job_id = '' AND l.key <> 'request:' || l.subject_id LIMIT $1`},
	{"entry is of another kind than its key", `SELECT l.key FROM ledger l
		WHERE (l.kind = 'reserve') <> (l.key LIKE 'job:%') OR (l.kind = 'forfeit') <> (l.key LIKE 'forfeit:%' OR l.key LIKE 'allowance:%') LIMIT $1`},
	{"entry of a job has another tenant, key, model, lane or tags", `SELECT l.key FROM ledger l JOIN jobs j ON j.id = l.job_id
		WHERE l.tenant_id <> j.tenant_id
			OR (` + named + ` AND (l.key_name <> j.key_name OR l.model <> j.model OR l.lane <> j.lane OR l.tags <> j.tags)) LIMIT $1`},
	// What is missing must be what was deleted, in number and in cost, tenant by tenant.
	{"settlements without what they settle differ from what was deleted", `SELECT tenant_id || ' ' || kind FROM (
			SELECT tenant_id, kind, subjects, cost_nano_usd FROM forgotten
			UNION ALL SELECT l.tenant_id, 'item', -l.outcomes, -l.cost_nano_usd FROM ledger l
			WHERE l.kind IN ('settle', 'release') AND l.job_id <> '' AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.id = l.job_id)
			UNION ALL SELECT i.tenant_id, 'item', i.outcomes, i.cost_nano_usd FROM ` + endedSums + ` i WHERE NOT EXISTS (SELECT 1 FROM jobs j WHERE j.id = i.job_id)
			UNION ALL SELECT l.tenant_id, 'request', -l.outcomes, -l.cost_nano_usd FROM ledger l
			WHERE l.kind IN ('settle', 'release') AND l.job_id = '' AND NOT EXISTS (SELECT 1 FROM requests r WHERE r.id = l.subject_id)) missing
		GROUP BY tenant_id, kind HAVING SUM(subjects) <> 0 OR SUM(cost_nano_usd) <> 0 LIMIT $1`},
}

// rule is a rule of the ledger. It reports the entries that break it.
type rule struct {
	about string
	run   func(context.Context, sqldb.Tx) ([]string, error)
}

// allRules are the rules of the ledger.
func allRules() []rule {
	all := []rule{{"amounts are possible", auditAmounts}}
	for _, a := range audits {
		all = append(all, rule{"no " + a.problem, func(ctx context.Context, tx sqldb.Tx) ([]string, error) {
			return sqldb.QueryAll(ctx, tx, sqldb.SQL(a.sql, store.MaxLedgerProblems), func(row sqldb.Row) (string, error) {
				var id string
				err := row.Scan(&id)
				return a.problem + ": " + id, err
			})
		}})
	}
	return append(all, rule{"result groups add up", auditResultGroups}, rule{"entries agree with outcomes", auditOutcomes}, rule{"budgets add up", auditBudgets})
}

// VerifyLedger implements store.Ledger. Each rule is checked in its own transaction: a row with impossible numbers that makes
// a rule fail ends that rule only, and the failure is reported as a problem.
func (s *Store) VerifyLedger(ctx context.Context) (report store.LedgerReport, err error) {
	for _, count := range []struct {
		sql  string
		into *int64
	}{
		{`SELECT 0, COUNT(*) FROM ledger`, &report.Entries},
		{`SELECT COALESCE(SUM(outcomes >> 32), 0) /*pg ::bigint */, COALESCE(SUM(outcomes & 4294967295), 0) /*pg ::bigint */ FROM ` + endedSums + ` e`, &report.Items},
		{`SELECT 0, COUNT(*) FROM requests`, &report.Requests},
	} {
		if *count.into, err = s.countWide(ctx, count.sql); err != nil {
			return report, err
		}
	}
	for _, a := range allRules() {
		var wrong []string
		err := s.read(ctx, func(tx sqldb.Tx) (err error) {
			defer func() {
				if p := recover(); p != nil { // rows that cannot be may break what relies on them
					err = fmt.Errorf("panic: %v", p)
				}
			}()
			wrong, err = a.run(ctx, tx)
			return err
		})
		if failure := penstock.AsError(err); err != nil && failure.Code != penstock.CodeInternal {
			return report, fmt.Errorf("checking that %s: %w", a.about, err)
		} else if err != nil {
			wrong = append(wrong, fmt.Sprintf("it could not be checked that %s: %v", a.about, failure.Err))
		}
		left := store.MaxLedgerProblems - len(report.Problems)
		report.Problems = append(report.Problems, wrong[:min(left, len(wrong))]...)
	}
	return report, nil
}

// countWide is a count that the query returns in the halves of a wide sum.
func (s *Store) countWide(ctx context.Context, sql string) (n int64, err error) {
	err = s.read(ctx, func(tx sqldb.Tx) error {
		w, _, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(sql), func(row sqldb.Row) (w sqldb.Wide, err error) { return w, row.Scan(&w.Upper, &w.Lower) })
		n = w.Total()
		return err
	})
	return n, err
}

// The largest amounts of an entry, an outcome or a record. Sums over many items stay below them too.
const (
	mostTokens = `9007199254740992`    // 2⁵³
	mostCost   = `4611686018427387904` // 2⁶²
)

// auditAmounts reports rows with impossible amounts: below zero, or larger than anything that can be booked together.
func auditAmounts(ctx context.Context, tx sqldb.Tx) (problems []string, err error) {
	impossible := `cost_nano_usd < 0 OR cost_nano_usd > ` + mostCost + ` OR ` + usagerow.Each(`%s < 0 OR %s > `+mostTokens, ` OR `)
	for _, of := range []struct{ what, sql string }{
		{"entry's", `SELECT key FROM ledger WHERE outcomes < 0 OR outcomes > ` + mostTokens + ` OR reserved_nano_usd < 0 OR ` + impossible},
		{"request's", `SELECT id FROM requests WHERE ` + impossible},
		{"item's", `SELECT id FROM items WHERE reserved_nano_usd < 0 OR ` + impossible},
		{"job's", `SELECT id FROM jobs WHERE total < 0 OR ` + impossible},
		{"result group's", `SELECT job_id FROM result_groups WHERE reserved_nano_usd < 0 OR ` + impossible},
	} {
		found, err := sqldb.QueryAll(ctx, tx, sqldb.SQL(of.sql+` LIMIT $1`, store.MaxLedgerProblems), func(row sqldb.Row) (id string, err error) { return id, row.Scan(&id) })
		if err != nil {
			return problems, err
		}
		for _, id := range found {
			problems = append(problems, of.what+" amounts are impossible: "+id)
		}
	}
	return problems, nil
}
