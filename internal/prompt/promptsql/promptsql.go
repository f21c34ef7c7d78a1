// Package promptsql stores prompts: it implements the stores of package prompt over package sqldb.
//
// It owns the tables prompts, prompt_drafts, prompt_draft_updates, prompt_draft_comments, prompt_draft_people, prompt_versions,
// prompt_references, prompt_labels, prompt_label_moves, prompt_label_requests, prompt_protections, prompt_aliases and
// prompt_alias_versions, and their migrations. Contents are sealed for their row. Their bytes count towards the tenant's quota with
// those of jobs.
//
// Order of locks: every change of a prompt locks the row of the prompt first, so that changes of one prompt follow each other. A
// version that another prompt includes is locked for sharing while the reference is added, and for itself while it is deleted.
package promptsql

import (
	"context"
	"embed"
	"fmt"

	"penstock"
	"penstock/internal/audit"
	"penstock/internal/payload"
	"penstock/internal/prompt"
	"penstock/internal/prompt/content"
	"penstock/internal/store"
	"penstock/internal/store/sqldb"
	"penstock/internal/store/storedrow"
)

//go:embed migrations/*.sql
var files embed.FS

// Migrations are the steps of the package's tables.
func Migrations() sqldb.Source { return sqldb.Source{Owner: "prompt", Files: files} }

// Store is the storage of prompts. It is safe for concurrent use.
type Store struct {
	db    *sqldb.DB
	codec *payload.Codec
	audit audit.Writer
}

var (
	_ prompt.Prompts     = (*Store)(nil)
	_ prompt.Drafts      = (*Store)(nil)
	_ prompt.Versions    = (*Store)(nil)
	_ prompt.Labels      = (*Store)(nil)
	_ prompt.Requests    = (*Store)(nil)
	_ prompt.Protections = (*Store)(nil)
	_ prompt.Imports     = (*Store)(nil)
	_ prompt.Heads       = (*Store)(nil)
)

// New returns a store on a database whose schema is up to date.
func New(db *sqldb.DB, codec *payload.Codec) *Store { return &Store{db: db, codec: codec} }

// owner binds a sealed content to its prompt and its part: the draft, or the hash of a version.
func owner(tenant penstock.TenantID, name, part string) payload.Owner {
	return payload.Owner{Tenant: string(tenant), ID: "prompt/" + name, Part: part}
}

const partDraft = "draft"

// sealed is a content as its row has it.
type sealed struct {
	text  []byte
	bytes int64 // before compression
}

func (s *Store) seal(o payload.Owner, c content.Content) (out sealed, err error) {
	plain, err := c.Encode()
	if err == nil {
		out.text, err = s.codec.Seal(o, plain)
	}
	out.bytes = int64(len(plain))
	return out, sqldb.PublicError(err)
}

func (s *Store) open(o payload.Owner, text []byte) (content.Content, error) {
	plain, err := s.codec.Open(o, text)
	if err != nil {
		return content.Content{}, fmt.Errorf("opening a stored prompt: %w", err)
	}
	return content.Decode(plain)
}

// grow changes the bytes that a tenant has stored. Codes: quota_exceeded.
func grow(ctx context.Context, tx sqldb.Tx, p row, by growth) error {
	if by.limit > 0 && by.bytes > 0 {
		var sum store.Stored
		if err := tx.Ask(ctx, storedrow.Ask(p.Tenant, &sum)); err != nil {
			return err
		}
		if err := sum.Refusal(p.Tenant, by.limit, by.bytes); err != nil {
			return err
		}
	}
	changes := storedrow.Changes{}
	changes.Job(p.Tenant, p.ID, by.bytes)
	return changes.Save(ctx, tx)
}

// growth is how many bytes are to be stored, with the quota.
type growth struct{ limit, bytes int64 }

// note writes the audit entry of a change.
func (s *Store) note(ctx context.Context, tx sqldb.Tx, by penstock.Author, e audit.Entry) error {
	e.Actor = by.Audit
	return s.audit.Write(ctx, tx, e)
}

// name shortens the name of an actor to what a column takes.
func name(a penstock.Author) string {
	return sqldb.Storable(a.Name[:min(len(a.Name), prompt.MaxActorNameBytes)])
}
