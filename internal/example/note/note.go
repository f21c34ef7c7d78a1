// Package note is the worked example of docs/how-to/add-a-capability.md: texts that a tenant stores. Only its tests run
// it.
//
// It owns the rules of notes. Package notesql stores them. A Service is safe for concurrent use.
package note

import (
	"context"
	"strings"
	"time"

	"penstock"
)

const (
	// MaxTextBytes bounds the text of a note.
	MaxTextBytes = 4096
	// ViewNote is the prefix of the ids of notes.
	ViewNote penstock.View = "note"
	// EventCreated is published for every new note.
	EventCreated penstock.EventType = "note.created"
	// ActionCreate and ActionDelete are the audited actions.
	ActionCreate, ActionDelete = "note.create", "note.delete"
)

// Note is a text that a tenant wrote down.
type Note struct {
	ID        penstock.ID
	Tenant    penstock.TenantID
	Text      string
	CreatedAt time.Time
}

// Page selects notes.
type Page struct {
	After penstock.ID
	Limit int
}

// Store is what the service asks of storage. Methods answer not_found for a note of another tenant.
type Store interface {
	// Create adds a note, with an audit entry and an event.
	Create(ctx context.Context, n Note, actor string) (Note, error)
	// Note returns one note. Codes: not_found.
	Note(ctx context.Context, tenant penstock.TenantID, id penstock.ID) (Note, error)
	// List returns notes, oldest first, with ids above p.After, at most p.Limit.
	List(ctx context.Context, tenant penstock.TenantID, p Page) ([]Note, error)
	// Delete removes a note, with an audit entry. Codes: not_found.
	Delete(ctx context.Context, tenant penstock.TenantID, id penstock.ID, actor string) error
}

// Service is what the API calls.
type Service struct {
	store Store
	wake  func() // wakes the webhook runner after a commit that published
	clock func() time.Time
	ids   penstock.IDs
}

// New returns a service.
func New(store Store, wake func(), clock func() time.Time) *Service {
	return &Service{store: store, wake: wake, clock: clock}
}

// Create adds a note. Codes: invalid_request.
func (s *Service) Create(ctx context.Context, caller penstock.Principal, text string) (Note, error) {
	if text = strings.TrimSpace(text); text == "" || len(text) > MaxTextBytes {
		return Note{}, penstock.InvalidParam("text", "text must have 1 to %d bytes.", MaxTextBytes)
	}
	defer s.wake()
	return s.store.Create(ctx, Note{ID: s.ids.New(s.clock()), Tenant: caller.Tenant.ID, Text: text}, caller.Key)
}

// Note returns one note. Codes: not_found.
func (s *Service) Note(ctx context.Context, caller penstock.Principal, id penstock.ID) (Note, error) {
	return s.store.Note(ctx, caller.Tenant.ID, id)
}

// List returns a page of notes, oldest first.
func (s *Service) List(ctx context.Context, caller penstock.Principal, p Page) ([]Note, error) {
	return s.store.List(ctx, caller.Tenant.ID, p)
}

// Delete removes a note. Codes: not_found.
func (s *Service) Delete(ctx context.Context, caller penstock.Principal, id penstock.ID) error {
	return s.store.Delete(ctx, caller.Tenant.ID, id, caller.Key)
}
