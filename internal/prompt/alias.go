package prompt

import (
	"context"

	"penstock"
	"penstock/internal/prompt/content"
)

// NoPrompt is the error for an id that names no prompt.
func NoPrompt(id string) *penstock.Error {
	return penstock.Errorf(penstock.CodeNotFound, "There is no prompt with the id %s.", clip(id))
}

// NameOf finds the name of the prompt with an id: its own, or an alias. Codes: not_found.
func (s *Service) NameOf(ctx context.Context, tenant penstock.TenantID, id string) (string, error) {
	return s.Resolver.NameOf(ctx, tenant, id)
}

// NameOf finds the name of the prompt with an id: its own, or an alias. Names never change, so they are cached for ever, within a
// bound. Codes: not_found.
func (r *Resolver) NameOf(ctx context.Context, tenant penstock.TenantID, id string) (string, error) {
	key := promptKey{tenant, id}
	if name, ok := r.names.get(key); ok {
		return name, nil
	}
	name, err := r.Store.NameOf(ctx, tenant, id)
	if err != nil {
		return "", err
	}
	r.names.put(key, name, 1)
	return name, nil
}

// Identify makes a reference of an id and a version, as OpenAI's API writes them. The version is a number or a label, "" for
// [content.LabelDefault]. Codes: not_found, invalid_request.
func (r *Resolver) Identify(ctx context.Context, tenant penstock.TenantID, id, version string) (ref content.Reference, err error) {
	if ref.Name, err = r.NameOf(ctx, tenant, id); err != nil || version == "" {
		return ref, err
	}
	return ref, ref.Select(version)
}
