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

// requestQuery finds calls.
type requestQuery struct {
	from  string
	found []string // conditions that an index answers
	looks []string // conditions on the rows that it found
	args  []any
}

func newRequestQuery(tenant penstock.TenantID, f store.RequestFilter) *requestQuery {
	q := &requestQuery{from: "requests r"}
	q.add(&q.found, "r.tenant_id = $%d", tenant)
	if f.TagKey != "" {
		q.from = "request_tags t JOIN requests r ON r.id = t.request_id"
		q.found[0] = "r.tenant_id = $1 AND t.tenant_id = $1"
		q.add(&q.found, "t.name = $%d", sqldb.Storable(f.TagKey))
		q.add(&q.found, "t.value = $%d", sqldb.Storable(f.TagValue))
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
	// The second condition of both is that of the index.
	if f.Subject != "" {
		q.add(&q.found, "r.subject = $%d AND r.subject <> ''", sqldb.Storable(f.Subject))
	}
	if f.Status != "" && f.Status != penstock.StatusSucceeded {
		q.add(&q.found, "r.status = $%d AND r.status <> 'succeeded'", f.Status)
	} else if f.Status != "" {
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
	return q
}

func (q *requestQuery) add(to *[]string, condition string, arg any) {
	q.args = append(q.args, arg)
	*to = append(*to, fmt.Sprintf(condition, len(q.args)))
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

// lastRead selects the last call that a list has read, if it could not read all of them. It needs the first arguments only, which are
// those of the conditions for the index.
func (q *requestQuery) lastRead() sqldb.Query {
	return sqldb.Query{
		SQL:  fmt.Sprintf(`SELECT %s FROM %s WHERE %s ORDER BY 1 DESC LIMIT 1 OFFSET %d`, q.id(), q.from, strings.Join(q.found, " AND "), store.MaxRequestScan-1),
		Args: q.args[:len(q.args)-len(q.looks)],
	}
}
