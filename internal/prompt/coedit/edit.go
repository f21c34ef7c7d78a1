package coedit

import (
	"context"

	"penstock"
	"penstock/internal/prompt"
	"penstock/internal/prompt/changeset"
	"penstock/internal/prompt/content"
)

// Open finds a draft with its texts, comments and people. Codes: not_found.
func (s *Service) Open(ctx context.Context, tenant penstock.TenantID, name string) (Draft, error) {
	return s.Store.Shared(ctx, tenant, name)
}

// Edits are updates that a caller sends.
type Edits struct {
	Name, Text, Client string
	Version            int64
	Updates            []changeset.Set
}

// Submit accepts the updates of an editor. It returns the updates of the text behind the version that the editor knows, its own
// included. Codes: not_found, gone, invalid_request, too_large, conflict, quota_exceeded, rate_limited.
func (s *Service) Submit(ctx context.Context, caller penstock.Principal, e Edits) ([]Update, error) {
	if err := checkClient(caller, e.Client); err != nil {
		return nil, err
	}
	if len(e.Updates) == 0 || len(e.Updates) > MaxSubmission {
		return nil, penstock.InvalidParam("updates", "updates must have 1 to %d updates.", MaxSubmission)
	}
	if e.Version < 0 {
		return nil, penstock.InvalidParam("version", "version must be the version of the text that the first update applies to.")
	}
	if err := s.pace.take(e.Client, s.Clock()); err != nil {
		return nil, err
	}
	updates, err := s.Store.Submit(ctx, caller.Tenant.ID, Submission{
		Name: e.Name, Text: e.Text, Client: e.Client, Version: e.Version, Updates: e.Updates, Author: caller.Author(), Stored: caller.Tenant.StoredBytes,
	})
	if err != nil {
		return nil, err
	}
	s.Changed(caller.Tenant.ID, e.Name)
	return updates, nil
}

// Changed wakes the streams of a draft, on every process.
func (s *Service) Changed(tenant penstock.TenantID, name string) {
	s.Changes.Publish(key(tenant, name))
}

// Structure is a structure that a caller stores.
type Structure struct {
	Name        string
	Content     content.Content
	Texts       []string
	Base        int64
	IfStructure int64
}

// PutStructure replaces the structure of a draft: roles and order of messages, config, schema. Texts that it names stay as they are.
// Codes: not_found, invalid_request, conflict, too_large, quota_exceeded.
func (s *Service) PutStructure(ctx context.Context, caller penstock.Principal, in Structure) (Draft, error) {
	if in.IfStructure == 0 {
		return Draft{}, penstock.InvalidParam("If-Match", "If-Match must be the ETag of the structure that you changed.")
	}
	d, err := s.Store.PutStructure(ctx, caller.Tenant.ID, StructureOrder{
		NewDraft: prompt.NewDraft{Name: in.Name, Content: in.Content, Base: in.Base, Actor: caller.Author(), Stored: caller.Tenant.StoredBytes},
		Texts:    in.Texts, IfStructure: in.IfStructure,
	})
	if err != nil {
		return Draft{}, err
	}
	s.Changed(caller.Tenant.ID, in.Name)
	return d, nil
}

// History returns updates of a draft, newest first. Codes: not_found.
func (s *Service) History(ctx context.Context, tenant penstock.TenantID, p LogPage) ([]Update, error) {
	return s.Log.Updates(ctx, tenant, p)
}

// TextAt returns a text of a draft as it was at a version. Codes: not_found, gone.
func (s *Service) TextAt(ctx context.Context, tenant penstock.TenantID, k TextKey) (string, error) {
	return s.Log.TextAt(ctx, tenant, k)
}
