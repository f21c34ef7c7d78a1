package sqlstore

import (
	"context"
	"fmt"
	"strings"

	"penstock"
	"penstock/internal/store"
	"penstock/internal/store/sqldb"
)

// deadLetterQuery finds open dead letters for a list. An index leads to those of a job, a fingerprint or a code; the other
// conditions look at the rows that the index found, of which a list reads a bounded number.
type deadLetterQuery struct {
	found    []string // conditions that an index answers
	foundBy  []any    // their arguments
	looks    []string // conditions on the rows
	looksFor []any    // their arguments, behind those of the index
}

// byFingerprint is the column as the indexes have it: bytes are compared, on both engines.
const byFingerprint = `d.fingerprint /*pg COLLATE "C" */`

func newDeadLetterQuery(tenant penstock.TenantID, p store.DeadLetterPage) *deadLetterQuery {
	q, f := &deadLetterQuery{}, p.Filter
	q.find("d.tenant_id = $%d", tenant)
	after := p.After
	if f.Job != "" {
		after = max(after, f.Job)
		q.find("d.item_id <= $%d", penstock.ItemID(f.Job, lastItem))
	}
	q.find("d.item_id > $%d", after)
	switch {
	case f.Fingerprint != "":
		q.find(byFingerprint+" = $%d AND d.resolved_at = 0", sqldb.Storable(f.Fingerprint))
	case f.Code != "" && f.Job == "": // the index of codes has resolved ones as well
		q.find("d.error_code = $%d", sqldb.Storable(string(f.Code)))
		q.looks = append(q.looks, "d.resolved_at = 0")
	default:
		q.found = append(q.found, "d.resolved_at = 0")
	}
	for column, value := range map[string]string{"model": f.Model, "error_code": string(f.Code), "error_kind": f.Kind} {
		if value != "" {
			q.look("d."+column+" = $%d", sqldb.Storable(value))
		}
	}
	if !f.CreatedAfter.IsZero() {
		q.look("d.created_at > $%d", sqldb.Micros(f.CreatedAfter))
	}
	if !f.CreatedUntil.IsZero() {
		q.look("d.created_at <= $%d", sqldb.Micros(f.CreatedUntil))
	}
	return q
}

// find adds a condition that an index answers. All of them come before the conditions on rows.
func (q *deadLetterQuery) find(condition string, arg any) {
	q.foundBy = append(q.foundBy, arg)
	q.found = append(q.found, fmt.Sprintf(condition, len(q.foundBy)))
}

// look adds a condition on rows.
func (q *deadLetterQuery) look(condition string, arg any) {
	q.looksFor = append(q.looksFor, arg)
	q.looks = append(q.looks, fmt.Sprintf(condition, len(q.foundBy)+len(q.looksFor)))
}

// skipDeleted leaves out the rows of a large deleted job, which remain for a while. Mostly there are none, and the rows need
// not be compared.
func (q *deadLetterQuery) skipDeleted(ctx context.Context, tx sqldb.Tx) error {
	_, some, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT 1 FROM deleted_jobs LIMIT 1`), sqldb.ScanOne[int64])
	if some {
		q.looks = append(q.looks, "NOT EXISTS (SELECT 1 FROM deleted_jobs x WHERE x.job_id = d.job_id)")
	}
	return err
}

// args are all arguments.
func (q *deadLetterQuery) args() []any { return append(append([]any{}, q.foundBy...), q.looksFor...) }

func (q *deadLetterQuery) where() string {
	if len(q.looks) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(q.looks, " AND ")
}

// from is the rows that the index finds, in order.
func (q *deadLetterQuery) from() string {
	return `FROM dead_letters d WHERE ` + strings.Join(q.found, " AND ") + ` ORDER BY d.item_id`
}

// page selects dead letters. The page is found before its items are read. Materialized, or PostgreSQL would compare the columns
// before it bounds the rows.
func (q *deadLetterQuery) page(limit int) sqldb.Query {
	return sqldb.Query{Args: q.args(), SQL: fmt.Sprintf(`WITH found AS MATERIALIZED (SELECT d.* %s LIMIT %d),
			page AS MATERIALIZED (SELECT d.* FROM found d%s ORDER BY d.item_id LIMIT %d)
		SELECT %s FROM page d JOIN items i ON i.id = d.item_id ORDER BY d.item_id`, q.from(), q.most(limit), q.where(), limit, deadLetterColumns)}
}

// most is how many rows are read for a page.
func (q *deadLetterQuery) most(limit int) int {
	if len(q.looks) == 0 {
		return limit
	}
	return store.MaxDeadLetterScan
}

// lastRead selects the last row that was read for a page, if the page could not read all of them.
func (q *deadLetterQuery) lastRead() sqldb.Query {
	return sqldb.Query{Args: q.foundBy, SQL: fmt.Sprintf(`SELECT d.item_id %s LIMIT 1 OFFSET %d`, q.from(), store.MaxDeadLetterScan-1)}
}

// DeadLetters implements store.Retries.
func (s *Store) DeadLetters(ctx context.Context, tenant penstock.TenantID, p store.DeadLetterPage) (ds []store.DeadLetter, next penstock.ID, err error) {
	err = s.read(ctx, func(tx sqldb.Tx) error {
		next = ""
		q := newDeadLetterQuery(tenant, p)
		if err := q.skipDeleted(ctx, tx); err != nil {
			return err
		}
		if ds, err = sqldb.QueryAll(ctx, tx, q.page(p.Limit+1), scanDeadLetter); err != nil {
			return err
		}
		if len(ds) > p.Limit {
			ds = ds[:p.Limit]
			next = ds[len(ds)-1].Item
			return nil
		}
		if len(q.looks) == 0 {
			return nil
		}
		next, _, err = sqldb.QueryOne(ctx, tx, q.lastRead(), sqldb.ScanOne[penstock.ID])
		return err
	})
	return ds, next, err
}
