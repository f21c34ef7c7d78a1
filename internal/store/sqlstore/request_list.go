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
	from      string
	found     []string // conditions that the index answers
	foundArgs int      // of args, the first ones
	looks     []string // conditions on the rows that it found
	args      []any
}

func newRequestQuery(tenant penstock.TenantID, f store.RequestFilter) *requestQuery {
	q := &requestQuery{from: "requests r"}
	q.add(&q.found, "r.tenant_id = $%d", tenant)
	bySubject := f.Subject != ""
	byTag := f.TagKey != "" && !bySubject
	byStatus := f.Status != "" && f.Status != penstock.StatusSucceeded && !bySubject && !byTag
	switch { // the second condition of subject and status is that of the index
	case bySubject:
		q.add(&q.found, "r.subject = $%d AND r.subject <> ''", sqldb.Storable(f.Subject))
	case byTag:
		q.from = "request_tags t JOIN requests r ON r.id = t.request_id"
		q.found[0] = "r.tenant_id = $1 AND t.tenant_id = $1"
		q.add(&q.found, "t.name = $%d AND t.value = $%d", sqldb.Storable(f.TagKey), sqldb.Storable(f.TagValue))
	case byStatus:
		q.add(&q.found, "r.status = $%d AND r.status <> 'succeeded'", f.Status)
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

// id is the column that the index orders by.
func (q *requestQuery) id() string {
	if q.from != "requests r" {
		return "t.request_id"
	}
	return "r.id"
}

// page selects the calls, newest first.
func (q *requestQuery) page(limit int) sqldb.Query {
	most := limit
	if len(q.looks) > 0 {
		most = store.MaxRequestScan
	}
	inner := fmt.Sprintf(`SELECT r.* FROM %s WHERE %s ORDER BY %s DESC LIMIT %d`, q.from, strings.Join(q.found, " AND "), q.id(), most)
	where := ""
	if len(q.looks) > 0 {
		where = " WHERE " + strings.Join(q.looks, " AND ")
	}
	return sqldb.Query{SQL: fmt.Sprintf(`SELECT %s FROM (%s) AS found%s ORDER BY id DESC LIMIT %d`, requestColumns, inner, where, limit), Args: q.args}
}

// lastRead selects the last call that a list has read, if it could not read all of them.
func (q *requestQuery) lastRead() sqldb.Query {
	return sqldb.Query{
		SQL:  fmt.Sprintf(`SELECT %s FROM %s WHERE %s ORDER BY 1 DESC LIMIT 1 OFFSET %d`, q.id(), q.from, strings.Join(q.found, " AND "), store.MaxRequestScan-1),
		Args: q.args[:q.foundArgs],
	}
}
