package sqlstore

import (
	"context"
	"fmt"
	"strings"

	"penstock"
	"penstock/internal/store"
	"penstock/internal/store/sqldb"
)

const (
	// groupRows is how many dead letters one list of groups counts.
	groupRows = 50_000
	// groupsRead is how many groups it looks at.
	groupsRead = 1000
)

// DeadLetterGroups implements store.Retries. It walks over the fingerprints in the index, and counts a bounded number of dead
// letters of each.
func (s *Store) DeadLetterGroups(ctx context.Context, tenant penstock.TenantID, p store.DeadLetterGroupPage) (gs []store.DeadLetterGroup, next string, err error) {
	err = s.read(ctx, func(tx sqldb.Tx) error {
		w := groupWalk{tx: tx, tenant: tenant, filter: p.Filter}
		gs, next, err = w.page(ctx, p)
		return err
	})
	return gs, next, err
}

// groupWalk is a walk over groups.
type groupWalk struct {
	tx     sqldb.Tx
	tenant penstock.TenantID
	filter store.DeadLetterFilter
	rows   int // counted so far
}

func (w *groupWalk) page(ctx context.Context, p store.DeadLetterGroupPage) (gs []store.DeadLetterGroup, next string, err error) {
	at := sqldb.Storable(p.After)
	for range groupsRead {
		fingerprint, found, err := w.after(ctx, at)
		if err != nil || !found {
			return gs, "", err
		}
		if len(gs) == p.Limit || w.rows >= groupRows {
			return gs, at, nil
		}
		at = fingerprint
		g, some, err := w.group(ctx, fingerprint)
		if err != nil {
			return nil, "", err
		}
		if some {
			gs = append(gs, g)
		}
	}
	return gs, at, nil
}

// after finds the next fingerprint that the filter allows.
func (w *groupWalk) after(ctx context.Context, fingerprint string) (string, bool, error) {
	if only := sqldb.Storable(w.filter.Fingerprint); only != "" {
		return only, only > fingerprint, nil
	}
	return sqldb.QueryOne(ctx, w.tx, sqldb.SQL(`SELECT d.fingerprint FROM dead_letters d WHERE d.tenant_id = $1 AND d.resolved_at = 0 AND `+byFingerprint+` > $2
		ORDER BY `+byFingerprint+` LIMIT 1`, w.tenant, fingerprint), sqldb.ScanOne[string])
}

// group counts the dead letters of a group; none if the filter selects none of them.
func (w *groupWalk) group(ctx context.Context, fingerprint string) (g store.DeadLetterGroup, some bool, err error) {
	f := w.filter
	f.Fingerprint = fingerprint
	q := newDeadLetterQuery(w.tenant, store.DeadLetterPage{Filter: f})
	if err := q.skipDeleted(ctx, w.tx); err != nil {
		return g, false, err
	}
	var one, other string
	var first, last int64
	var sample penstock.ID
	read := 0
	counted := sqldb.Query{Args: q.args(), SQL: fmt.Sprintf(`WITH found AS MATERIALIZED (SELECT %s %s DESC LIMIT %d)
		SELECT (SELECT COUNT(*) FROM found), COUNT(*), COALESCE(MIN(d.model), ''), COALESCE(MAX(d.model), ''), COALESCE(MIN(d.created_at), 0), COALESCE(MAX(d.created_at), 0),
			COALESCE(MAX(d.item_id), '') FROM found d%s`, q.columns(), q.from(), store.MaxGroupCount, q.where())}
	_, _, err = sqldb.QueryOne(ctx, w.tx, counted, func(row sqldb.Row) (struct{}, error) {
		return struct{}{}, row.Scan(&read, &g.Count, &one, &other, &first, &last, &sample)
	})
	if w.rows += read; q.columns() != groupColumns {
		w.rows += 9 * read // a row costs about ten times as much as an entry of the index
	}
	if err != nil || g.Count == 0 {
		return g, false, err
	}
	g.Fingerprint, g.AtLeast = fingerprint, read == store.MaxGroupCount
	g.FirstAt, g.LastAt = sqldb.FromMicros(first), sqldb.FromMicros(last)
	if one == other {
		g.Model = one
	}
	g.Sample, some, err = sqldb.QueryOne(ctx, w.tx, sqldb.SQL(`SELECT `+deadLetterColumns+` FROM dead_letters d JOIN items i ON i.id = d.item_id WHERE d.item_id = $1`, sample), scanDeadLetter)
	return g, some, err
}

// groupColumns are those that the index has.
const groupColumns = "d.item_id, d.created_at, d.model"

// columns are those that counting compares. Without conditions on others, the index has all of them.
func (q *deadLetterQuery) columns() string {
	columns := groupColumns
	for _, further := range []string{"error_code", "error_kind", "job_id"} {
		if strings.Contains(q.where(), "d."+further) {
			columns += ", d." + further
		}
	}
	return columns
}
