// Package conversationsql stores kept responses and conversations: it implements the stores of package conversation over package
// sqldb.
//
// It owns the tables responses, response_items, conversations, conversation_items and conversation_jobs, and their migrations. Bodies are sealed
// for their row. Their bytes count towards the tenant's quota with those of jobs.
package conversationsql

import (
	"context"
	"embed"
	"fmt"

	"penstock"
	"penstock/internal/audit"
	"penstock/internal/conversation"
	"penstock/internal/payload"
	"penstock/internal/store"
	"penstock/internal/store/sqldb"
	"penstock/internal/store/storedrow"
)

//go:embed migrations/*.sql
var files embed.FS

// Migrations are the steps of the package's tables.
func Migrations() sqldb.Source { return sqldb.Source{Owner: "conversation", Files: files} }

// Store is the storage of responses and conversations. It is safe for concurrent use.
type Store struct {
	db    *sqldb.DB
	codec *payload.Codec
	audit audit.Writer
}

var (
	_ conversation.Responses     = (*Store)(nil)
	_ conversation.Conversations = (*Store)(nil)
	_ conversation.Items         = (*Store)(nil)
	_ conversation.Jobs          = (*Store)(nil)
)

// New returns a store on a database whose schema is up to date.
func New(db *sqldb.DB, codec *payload.Codec) *Store { return &Store{db: db, codec: codec} }

// The parts of sealed rows.
const partInput, partObject, partItem = "input", "object", "item"

func (s *Store) open(owner payload.Owner, sealed []byte) ([]byte, error) {
	plain, err := s.codec.Open(owner, sealed)
	if err != nil {
		return nil, fmt.Errorf("opening a stored response or conversation: %w", err)
	}
	return plain, nil
}

// responseOwner is the owner of a part of a response.
func responseOwner(tenant penstock.TenantID, id penstock.ID, part string) payload.Owner {
	return payload.Owner{Tenant: string(tenant), ID: string(id), Part: part}
}

// itemOwner is the owner of an item's body: its conversation and its place.
func itemOwner(tenant penstock.TenantID, id penstock.ID, seq int64) payload.Owner {
	return payload.Owner{Tenant: string(tenant), ID: string(id), Part: fmt.Sprintf("%s %d", partItem, seq)}
}

// fits refuses what would take a tenant beyond its quota. Codes: quota_exceeded.
func fits(ctx context.Context, tx sqldb.Tx, tenant penstock.TenantID, adding stored) error {
	if adding.limit == 0 {
		return nil
	}
	var sum store.Stored
	if err := tx.Ask(ctx, storedrow.Ask(tenant, &sum)); err != nil {
		return err
	}
	return sum.Refusal(tenant, adding.limit, adding.bytes)
}

// stored is how many bytes are to be stored, with the quota.
type stored struct{ limit, bytes int64 }
