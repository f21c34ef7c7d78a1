package prompt

import (
	"context"

	"penstock"
	"penstock/internal/prompt/content"
)

// Compile finds a version or the draft of a prompt, ready to be rendered many times. The hash of a draft is that of the version
// which would be saved of it; its number is 0. Codes: not_found, gone, conflict, invalid_request, too_large.
func (s *Service) Compile(ctx context.Context, tenant penstock.TenantID, side Side) (*Found, error) {
	if !side.Draft {
		return s.Resolver.Resolve(ctx, tenant, side.Reference)
	}
	d, err := s.Drafts.Draft(ctx, tenant, side.Name)
	if err != nil {
		return nil, err
	}
	found, err := s.CompileContent(ctx, tenant, d.Content)
	if err != nil {
		return nil, err
	}
	found.Name = side.Name
	return found, nil
}

// CompileContent makes a content that is not stored ready to be rendered many times. It has a hash, and neither a name nor a
// number. Codes: invalid_request, too_large.
func (s *Service) CompileContent(ctx context.Context, tenant penstock.TenantID, c content.Content) (*Found, error) {
	parsed, err := content.Parse(c)
	if err != nil {
		return nil, err
	}
	compiled, references, err := s.link(ctx, tenant, parsed)
	if err != nil {
		return nil, err
	}
	sum, err := parsed.Content.Hash(references)
	if err != nil {
		return nil, penstock.Internal(err)
	}
	return &Found{SHA256: sum, Content: compiled}, nil
}
