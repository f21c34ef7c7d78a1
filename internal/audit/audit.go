// Package audit records changes and their actors. An entry is written by the transaction that makes the change, so
// neither exists without the other.
//
// It owns the table audit and its migrations. It does not decide what is audited: every package that changes
// something on behalf of a person or a key writes its own entries.
package audit

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"

	"penstock"
	"penstock/internal/store/sqldb"
)

//go:embed migrations/*.sql
var files embed.FS

// Migrations are the steps of the package's table.
func Migrations() sqldb.Source { return sqldb.Source{Owner: "audit", Files: files} }

// Penstock is the actor of a change that the program made by itself.
const Penstock = "penstock"

// Entry is one change.
type Entry struct {
	Tenant  penstock.TenantID
	Actor   string // the name of the key or the operator
	Action  string // a noun and a verb, such as webhook.create
	Subject string // the id of the changed object as callers see it
	Before  map[string]any
	After   map[string]any
}

// Writer writes entries. The entries of one writer have ascending ids. The zero value is ready, and safe for concurrent
// use.
type Writer struct{ ids penstock.IDs }

// Write adds an entry to a transaction.
func (w *Writer) Write(ctx context.Context, tx sqldb.Tx, e Entry) error {
	before, err := json.Marshal(e.Before)
	if err != nil {
		return fmt.Errorf("encoding the state before the change: %w", err)
	}
	after, err := json.Marshal(e.After)
	if err != nil {
		return fmt.Errorf("encoding the state after the change: %w", err)
	}
	return tx.Do(ctx, `INSERT INTO audit (id, tenant_id, actor, action, subject, before, after, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		w.ids.New(tx.Now()), e.Tenant, sqldb.Storable(e.Actor), e.Action, e.Subject, string(before), string(after), sqldb.Micros(tx.Now()))
}
