// Package identitysql stores people, members, sessions and one-time links: it implements the stores of package identity over
// package sqldb.
//
// It owns the tables people, members, sessions, sign_in_links and identity, and their migrations. Every change that sessions
// depend on raises the version of the one row of identity, in the same transaction.
package identitysql

import (
	"context"
	"embed"
	"errors"

	"penstock/internal/audit"
	"penstock/internal/identity"
	"penstock/internal/rest"
	"penstock/internal/store"
	"penstock/internal/store/sqldb"
)

//go:embed migrations/*.sql
var files embed.FS

// Migrations are the steps of the package's tables.
func Migrations() sqldb.Source { return sqldb.Source{Owner: "identity", Files: files} }

// Store is the storage of people. It is safe for concurrent use.
type Store struct {
	db    *sqldb.DB
	audit audit.Writer
}

var (
	_ identity.Sessions = (*Store)(nil)
	_ identity.People   = (*Store)(nil)
	_ identity.Auditor  = (*Store)(nil)
)

// New returns a store on a database whose schema is up to date.
func New(db *sqldb.DB) *Store { return &Store{db: db} }

// raise raises the version, so that every process reads again.
func raise(ctx context.Context, tx sqldb.Tx) (int64, error) {
	version, _, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`UPDATE identity SET version = version + 1 WHERE id = 1 RETURNING version`), sqldb.ScanOne[int64])
	return version, err
}

// errDryRun undoes the change of a dry run.
var errDryRun = errors.New("a dry run keeps nothing")

// kept ends a change: a dry run is undone.
func kept(err error, c store.Condition) error {
	if err == nil && c.DryRun {
		return errDryRun
	}
	return err
}

func tried(err error) error {
	if errors.Is(err, errDryRun) {
		return nil
	}
	return err
}

// Reveal implements identity.Auditor.
func (s *Store) Reveal(ctx context.Context, r rest.Reveal) error {
	return s.db.Write(ctx, "reveal", func(tx sqldb.Tx) error {
		return s.audit.Write(ctx, tx, audit.Entry{
			Tenant: r.Tenant, Actor: r.Actor, Action: identity.ActionReveal, Subject: sqldb.Storable(r.Subject), After: map[string]any{"route": r.Route},
		})
	})
}
