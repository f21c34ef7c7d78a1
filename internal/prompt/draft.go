package prompt

import (
	"context"

	"penstock"
	"penstock/internal/prompt/content"
)

// Draft finds the draft of a prompt. Codes: not_found.
func (s *Service) Draft(ctx context.Context, tenant penstock.TenantID, name string) (Draft, error) {
	return s.Drafts.Draft(ctx, tenant, name)
}

// DraftOrder replaces a draft.
type DraftOrder struct {
	Name       string
	Content    content.Content
	Base       int64
	IfRevision int64
	IfAbsent   bool
}

// PutDraft replaces the draft of a prompt, and creates the prompt if it does not exist. The draft may have mistakes that a version
// must not have; its kind and its size are checked. Codes: invalid_request, too_large, conflict, quota_exceeded.
func (s *Service) PutDraft(ctx context.Context, caller penstock.Principal, o DraftOrder) (Draft, error) {
	if err := content.CheckName(o.Name); err != nil {
		return Draft{}, err
	}
	if o.Content.Kind != content.KindText && o.Content.Kind != content.KindChat {
		return Draft{}, penstock.InvalidParam("kind", "kind must be text or chat.")
	}
	text, err := o.Content.Encode()
	if err != nil {
		return Draft{}, penstock.Internal(err)
	}
	if len(text) > MaxDraftBytes {
		return Draft{}, DraftTooLarge(int64(len(text)))
	}
	d, err := s.Drafts.PutDraft(ctx, caller.Tenant.ID, NewDraft{
		ID: s.ids.New(s.Clock()), Name: o.Name, Content: o.Content, Base: o.Base, IfRevision: o.IfRevision, IfAbsent: o.IfAbsent,
		Actor: caller.Author(), Stored: caller.Tenant.StoredBytes,
	})
	if err == nil {
		s.draftChanged(caller.Tenant.ID, o.Name)
	}
	return d, err
}

// draftChanged tells those who edit a draft that it was replaced or discarded.
func (d *Deps) draftChanged(tenant penstock.TenantID, name string) {
	if d.DraftChanged != nil {
		d.DraftChanged(tenant, name)
	}
}

// Schema is the schema of the variables of a content that is no version yet: its own schema, or the one derived from its templates
// and those that it includes. A content without a schema cannot be saved. Codes: invalid_request, too_large.
func (s *Service) Schema(ctx context.Context, tenant penstock.TenantID, c content.Content) ([]byte, error) {
	parsed, err := content.Parse(c)
	if err != nil {
		return nil, err
	}
	compiled, _, err := s.link(ctx, tenant, parsed)
	if err != nil {
		return nil, err
	}
	return compiled.Schema(), nil
}

// DeleteDraft discards the draft of a prompt. Codes: not_found, conflict.
func (s *Service) DeleteDraft(ctx context.Context, caller penstock.Principal, r DraftRemoval) error {
	err := s.Drafts.DeleteDraft(ctx, caller.Tenant.ID, r)
	if err == nil {
		s.draftChanged(caller.Tenant.ID, r.Name)
	}
	return err
}
