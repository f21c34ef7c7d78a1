package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"penstock"
	"penstock/internal/store/sqldb"
)

// AllTenants selects the entries of all tenants, and those that concern no tenant.
const AllTenants penstock.TenantID = "*"

// Filter selects entries. An empty field selects everything, except that the tenant is required.
type Filter struct {
	Tenant  penstock.TenantID // or AllTenants
	Actor   string            // the whole name; of a person also without the session
	Action  string            // such as key.revoke, or key for all actions on keys
	Subject string            // the id of the object as callers see it
	From    time.Time         // the first moment
	Until   time.Time         // the first moment behind
	After   penstock.ID       // the last entry of the page before
	Limit   int
}

// Record is an entry as it was written.
type Record struct {
	ID        penstock.ID
	Tenant    penstock.TenantID
	Actor     string
	Action    string
	Subject   string
	Before    json.RawMessage
	After     json.RawMessage
	CreatedAt time.Time
}

// Reader reads entries.
type Reader struct{ db *sqldb.DB }

// NewReader returns a reader over a database with the whole schema.
func NewReader(db *sqldb.DB) *Reader { return &Reader{db} }

// Search returns the entries that a filter selects, newest first.
func (r *Reader) Search(ctx context.Context, f Filter) (all []Record, err error) {
	err = r.db.Read(ctx, func(tx sqldb.Tx) error {
		all, err = sqldb.QueryAll(ctx, tx, f.query(), scanRecord)
		return err
	})
	return all, err
}

func (f Filter) query() sqldb.Query {
	var q sqldb.Query
	where := []string{"1 = 1"}
	add := func(condition string, arg any) {
		q.Args = append(q.Args, arg)
		where = append(where, fmt.Sprintf(condition, len(q.Args)))
	}
	if f.Tenant != AllTenants {
		add("tenant_id = $%d", f.Tenant)
	}
	if f.Actor != "" {
		actor := sqldb.Storable(f.Actor)
		inSession := actor + " (session " + string(penstock.ViewSession) + "_" // as penstock.Person.Actor writes it
		q.Args = append(q.Args, actor, inSession)
		where = append(where, fmt.Sprintf("(actor = $%d OR substr(actor, 1, %d) = $%d)", len(q.Args)-1, utf8.RuneCountInString(inSession), len(q.Args)))
	}
	switch {
	case strings.Contains(f.Action, "."):
		add("action = $%d", sqldb.Storable(f.Action))
	case f.Action != "":
		add("action >= $%d", sqldb.Storable(f.Action)+".")
		add("action < $%d", sqldb.Storable(f.Action)+"/") // the character behind the point
	}
	if f.Subject != "" {
		add("subject = $%d", sqldb.Storable(f.Subject))
	}
	if !f.From.IsZero() {
		add("id >= $%d", penstock.FirstID(f.From))
	}
	if !f.Until.IsZero() {
		add("id < $%d", penstock.FirstID(f.Until))
	}
	if f.After != "" {
		add("id < $%d", f.After)
	}
	q.Args = append(q.Args, f.Limit)
	q.SQL = fmt.Sprintf(`SELECT id, tenant_id, actor, action, subject, before, after, created_at FROM audit WHERE %s ORDER BY id DESC LIMIT $%d`,
		strings.Join(where, " AND "), len(q.Args))
	return q
}

func scanRecord(row sqldb.Row) (e Record, err error) {
	var before, after string
	var created int64
	err = row.Scan(&e.ID, &e.Tenant, &e.Actor, &e.Action, &e.Subject, &before, &after, &created)
	e.Before, e.After, e.CreatedAt = json.RawMessage(before), json.RawMessage(after), sqldb.FromMicros(created)
	return e, err
}
