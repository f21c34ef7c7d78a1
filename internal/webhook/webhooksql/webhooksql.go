// Package webhooksql stores the endpoints of tenants and reads the outbox: it implements webhook.Endpoints and
// webhook.Outbox over package sqldb.
//
// It owns the tables webhooks, webhook_secrets, receivers and deliveries, and their migrations. Package outbox writes
// deliveries in the transactions of others. Secrets are sealed before a transaction begins and opened after it ended.
//
// Order of locks: a receiver's row comes before its endpoint's, and a delivery's before both.
package webhooksql

import (
	"embed"

	"penstock"
	"penstock/internal/audit"
	"penstock/internal/payload"
	"penstock/internal/store/sqldb"
	"penstock/internal/webhook"
)

//go:embed migrations/*.sql
var files embed.FS

// Migrations are the steps of the package's tables.
func Migrations() sqldb.Source { return sqldb.Source{Owner: "webhook", Files: files} }

// Store is the storage of webhooks. It is safe for concurrent use.
type Store struct {
	db    *sqldb.DB
	codec *payload.Codec
	audit audit.Writer
}

var (
	_ webhook.Endpoints = (*Store)(nil)
	_ webhook.Outbox    = (*Store)(nil)
)

// New returns a store on a database whose schema is up to date.
func New(db *sqldb.DB, codec *payload.Codec) *Store { return &Store{db: db, codec: codec} }

// sealSecret binds a secret to its endpoint; the tenant's own secret has none.
func (s *Store) sealSecret(tenant penstock.TenantID, endpoint penstock.ID, secret []byte) ([]byte, error) {
	sealed, err := s.codec.Seal(secretOwner(tenant, endpoint), secret)
	return sealed, sqldb.PublicError(err)
}

func secretOwner(tenant penstock.TenantID, endpoint penstock.ID) payload.Owner {
	return payload.Owner{Tenant: string(tenant), ID: "webhook/" + string(endpoint), Part: "secret"}
}
