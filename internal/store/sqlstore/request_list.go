package sqlstore

import (
	"context"
	"fmt"
	"strings"
	"time"

	"penstock"
	"penstock/internal/store"
	"penstock/internal/store/sqldb"
)

// ListRequests implements store.Requests. An index leads to calls by tenant and time, and to those with a tag, a subject or a
// status other than succeeded. The other filters look at what the index found, of which each list reads a bounded part.
func (s *Store) ListRequests(ctx context.Context, tenant penstock.TenantID, f store.RequestFilter) (page store.RequestPage, err error) {
	q := newRequestQuery(tenant, f)
	err = s.read(ctx, func(tx sqldb.Tx) error {
		page.Requests, err = sqldb.QueryAll(ctx, tx, q.page(f.Limit+1), scanRequest) // one more shows whether another page follows
		if err != nil {
			return err
		}
		if len(page.Requests) > f.Limit {
			page.Requests = page.Requests[:f.Limit]
			page.Next = page.Requests[f.Limit-1].ID
			return nil
		}
		if len(q.looks) == 0 {
			return nil
		}
		page.Next, _, err = sqldb.QueryOne(ctx, tx, q.lastRead(), sqldb.ScanOne[penstock.ID])
		return err
	})
	return page, err
}

// requestQuery finds calls. One index finds them; all other conditions are compared with the calls that it found, so that the
// number of records that are read is bounded.
type requestQuery struct {
	byTag     bool     // the index is that of tags
	found     []string // conditions that the index answers
	foundArgs int      // of args, the first ones
	looks     []string // conditions on the rows that it found
	args      []any
}

func newRequestQuery(tenant penstock.TenantID, f store.RequestFilter) *requestQuery {
	bySubject := f.Subject != ""
	byTag := f.TagKey != "" && !bySubject
	byStatus := f.Status != "" && f.Status != penstock.StatusSucceeded && !bySubject && !byTag
	q := &requestQuery{byTag: byTag}
	q.add(&q.found, "tenant_id = $%d", tenant)
	switch { // the second condition of subject and status is that of the index
	case bySubject:
		q.add(&q.found, "subject = $%d AND subject <> ''", sqldb.Storable(f.Subject))
	case byTag:
		q.add(&q.found, "name = $%d AND value = $%d", sqldb.Storable(f.TagKey), sqldb.Storable(f.TagValue))
	case byStatus:
		q.add(&q.found, "status = $%d AND status <> 'succeeded'", f.Status)
	}
	if f.After != "" {
		q.add(&q.found, q.id()+" < $%d", f.After)
	}
	if !f.CreatedAfter.IsZero() {
		q.add(&q.found, q.id()+" >= $%d", penstock.FirstID(f.CreatedAfter.Add(time.Millisecond)))
	}
	if !f.CreatedUntil.IsZero() {
		q.add(&q.found, q.id()+" < $%d", penstock.FirstID(f.CreatedUntil.Add(time.Millisecond)))
	}
	q.foundArgs = len(q.args)
	if f.Status != "" && !byStatus {
		q.add(&q.looks, "status = $%d", f.Status)
	}
	for column, value := range map[string]string{"model": f.Model, "target": f.Target, "key_name": f.Key, "error_code": string(f.Code)} {
		if value != "" {
			q.add(&q.looks, column+" = $%d", sqldb.Storable(value))
		}
	}
	if f.MinCost > 0 {
		q.add(&q.looks, "cost_nano_usd >= $%d", f.MinCost)
	}
	if f.TagKey != "" && !byTag {
		q.add(&q.looks, "EXISTS (SELECT 1 FROM request_tags t WHERE t.tenant_id = $1 AND t.name = $%d AND t.value = $%d AND t.request_id = found.id)",
			sqldb.Storable(f.TagKey), sqldb.Storable(f.TagValue))
	}
	if f.Prompt.Name != "" {
		q.add(&q.looks, "EXISTS (SELECT 1 FROM prompt_uses p WHERE p.subject_id = found.id AND p.tenant_id = $1 AND p.prompt = $%d AND (p.version = $%d OR $%d = 0))",
			f.Prompt.Name, f.Prompt.Version, f.Prompt.Version)
	}
	return q
}

// add adds a condition with the numbers of its arguments.
func (q *requestQuery) add(to *[]string, condition string, args ...any) {
	numbers := make([]any, len(args))
	for i := range args {
		q.args = append(q.args, args[i])
		numbers[i] = len(q.args)
	}
	*to = append(*to, fmt.Sprintf(condition, numbers...))
}

// read selects a column, or all, of the rows that the index finds, newest first.
func (q *requestQuery) read(column string) string {
	table := "requests"
	if q.byTag {
		table = "request_tags"
	}
	return fmt.Sprintf("SELECT %s FROM %s WHERE %s ORDER BY %s DESC", column, table, strings.Join(q.found, " AND "), q.id())
}

// id is the column that the index orders by.
func (q *requestQuery) id() string {
	if q.byTag {
		return "request_id"
	}
	return "id"
}

// page selects the calls, newest first. A call and its tags are deleted together, so every tag has its call.
func (q *requestQuery) page(limit int) sqldb.Query {
	most, where := limit, ""
	if len(q.looks) > 0 {
		most, where = store.MaxRequestScan, " WHERE "+strings.Join(q.looks, " AND ")
	}
	found := fmt.Sprintf("%s LIMIT %d", q.read("*"), most)
	if q.byTag {
		found = fmt.Sprintf("SELECT r.* FROM (%s LIMIT %d) AS tagged JOIN requests r ON r.id = tagged.request_id", q.read("request_id"), most)
	}
	return sqldb.Query{SQL: fmt.Sprintf("SELECT %s FROM (%s) AS found%s ORDER BY id DESC LIMIT %d", requestColumns, found, where, limit), Args: q.args}
}

// lastRead selects the last call that a list has read, if it could not read all of them.
func (q *requestQuery) lastRead() sqldb.Query {
	return sqldb.Query{SQL: fmt.Sprintf("%s LIMIT 1 OFFSET %d", q.read(q.id()), store.MaxRequestScan-1), Args: q.args[:q.foundArgs]}
}
