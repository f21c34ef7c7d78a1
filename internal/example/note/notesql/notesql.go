// Package notesql stores notes: it implements note.Store over package sqldb.
//
// It owns the table notes and its migrations.
package notesql

import (
	"context"
	"embed"

	"penstock"
	"penstock/internal/audit"
	"penstock/internal/example/note"
	"penstock/internal/outbox"
	"penstock/internal/store/sqldb"
)

//go:embed migrations/*.sql
var files embed.FS

// Migrations are the steps of the package's table.
func Migrations() sqldb.Source { return sqldb.Source{Owner: "note", Files: files} }

// Store is the storage of notes. It is safe for concurrent use.
type Store struct {
	db    *sqldb.DB
	audit audit.Writer
}

var _ note.Store = (*Store)(nil)

// New returns a store on a database whose schema is up to date.
func New(db *sqldb.DB) *Store { return &Store{db: db} }

// Create implements note.Store. Note, audit entry and event are one transaction: all of them exist, or none.
func (s *Store) Create(ctx context.Context, n note.Note, actor string) (note.Note, error) {
	err := s.db.Write(ctx, "note_create", func(tx sqldb.Tx) error {
		n.CreatedAt = tx.Now()
		err := tx.Do(ctx, `INSERT INTO notes (id, tenant_id, text, created_at) VALUES ($1, $2, $3, $4)`,
			n.ID, n.Tenant, sqldb.Storable(n.Text), sqldb.Micros(n.CreatedAt))
		if err != nil {
			return err
		}
		id := note.ViewNote.Format(n.ID)
		if err := s.audit.Write(ctx, tx, audit.Entry{Tenant: n.Tenant, Actor: actor, Action: note.ActionCreate, Subject: id}); err != nil {
			return err
		}
		return outbox.Publish(ctx, tx, outbox.Event{Tenant: n.Tenant, Type: note.EventCreated, Data: map[string]string{"note_id": id}})
	})
	return n, err
}

const columns = `id, tenant_id, text, created_at`

func scan(row sqldb.Row) (n note.Note, err error) {
	var created int64
	err = row.Scan(&n.ID, &n.Tenant, &n.Text, &created)
	n.CreatedAt = sqldb.FromMicros(created)
	return n, err
}

// Note implements note.Store.
func (s *Store) Note(ctx context.Context, tenant penstock.TenantID, id penstock.ID) (n note.Note, err error) {
	err = s.db.Read(ctx, func(tx sqldb.Tx) error {
		var found bool
		n, found, err = sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT `+columns+` FROM notes WHERE tenant_id = $1 AND id = $2`, tenant, id), scan)
		if err == nil && !found {
			err = penstock.NotFound(note.ViewNote, id)
		}
		return err
	})
	return n, err
}

// List implements note.Store.
func (s *Store) List(ctx context.Context, tenant penstock.TenantID, p note.Page) (all []note.Note, err error) {
	err = s.db.Read(ctx, func(tx sqldb.Tx) error {
		all, err = sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT `+columns+` FROM notes WHERE tenant_id = $1 AND id > $2 ORDER BY id LIMIT $3`,
			tenant, p.After, p.Limit), scan)
		return err
	})
	return all, err
}

// Delete implements note.Store.
func (s *Store) Delete(ctx context.Context, tenant penstock.TenantID, id penstock.ID, actor string) error {
	return s.db.Write(ctx, "note_delete", func(tx sqldb.Tx) error {
		n, err := tx.Exec(ctx, `DELETE FROM notes WHERE tenant_id = $1 AND id = $2`, tenant, id)
		if err != nil {
			return err
		}
		if n == 0 {
			return penstock.NotFound(note.ViewNote, id)
		}
		return s.audit.Write(ctx, tx, audit.Entry{Tenant: tenant, Actor: actor, Action: note.ActionDelete, Subject: note.ViewNote.Format(id)})
	})
}
