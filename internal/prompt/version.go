package prompt

import (
	"context"

	"penstock"
	"penstock/internal/prompt/content"
)

// Order is a version that a caller saves.
type Order struct {
	Name    string
	Content content.Content
	Message string
	Parent  int64 // the version that it was made from; 0 for the newest
}

// Save adds a version. If a version of the prompt has the same content already, it returns that version and false. Codes:
// invalid_request, too_large, conflict, quota_exceeded.
func (s *Service) Save(ctx context.Context, caller penstock.Principal, o Order) (Version, bool, error) {
	if err := content.CheckName(o.Name); err != nil {
		return Version{}, false, err
	}
	if err := checkReason("message", o.Message); err != nil {
		return Version{}, false, err
	}
	parsed, references, err := s.resolve(ctx, caller.Tenant.ID, o.Content)
	if err != nil {
		return Version{}, false, err
	}
	sum, err := parsed.Content.Hash(references)
	if err != nil {
		return Version{}, false, penstock.Internal(err)
	}
	v, created, err := s.Versions.SaveVersion(ctx, caller.Tenant.ID, NewVersion{
		ID: s.ids.New(s.Clock()), Name: o.Name, Content: parsed.Content, SHA256: sum, References: references, Parent: o.Parent,
		Author: caller.Author(), Message: o.Message, Stored: caller.Tenant.StoredBytes,
	})
	if err != nil || !created {
		return v, false, err
	}
	return v, true, s.changed(ctx, caller.Tenant.ID, o.Name)
}

func checkReason(param, text string) error {
	if len(text) > MaxMessageBytes {
		return penstock.InvalidParam(param, "%s must have at most %d bytes.", param, MaxMessageBytes)
	}
	return nil
}

// resolve parses a content and finds the versions that it refers to. It links them, so that a content that cannot be rendered is
// an error now. Codes: invalid_request, too_large.
func (s *Service) resolve(ctx context.Context, tenant penstock.TenantID, c content.Content) (*content.Parsed, []content.Resolved, error) {
	parsed, err := content.Parse(c)
	if err != nil {
		return nil, nil, err
	}
	_, references, err := s.link(ctx, tenant, parsed)
	return parsed, references, err
}

func (s *Service) link(ctx context.Context, tenant penstock.TenantID, parsed *content.Parsed) (*content.Compiled, []content.Resolved, error) {
	var references []content.Resolved
	parts := map[string]*content.Compiled{}
	for i, r := range parsed.References {
		found, err := s.Resolver.Resolve(ctx, tenant, r)
		if code := penstock.ErrorCode(err); code == penstock.CodeNotFound || code == penstock.CodeGone || code == penstock.CodeConflict {
			return nil, nil, penstock.InvalidParam(parsed.Where(), "{{> %s}}: %s", parsed.Written[i], penstock.AsError(err).Message)
		}
		if err != nil {
			return nil, nil, err
		}
		parts[parsed.Written[i]] = found.Content
		references = append(references, content.Resolved{Written: parsed.Written[i], Name: found.Name, Version: found.Version})
	}
	compiled, err := parsed.Link(parts)
	return compiled, references, err
}

// Version finds a version. Codes: not_found, gone.
func (s *Service) Version(ctx context.Context, tenant penstock.TenantID, k VersionKey) (Version, error) {
	return s.Versions.Version(ctx, tenant, k)
}

// VersionSchema is the schema of the variables of a version: its own, or the derived one. Codes: not_found, gone.
func (s *Service) VersionSchema(ctx context.Context, tenant penstock.TenantID, k VersionKey) ([]byte, error) {
	found, err := s.Resolver.find(ctx, tenant, content.Reference{Name: k.Name, Version: k.N})
	if err != nil {
		return nil, err
	}
	return found.Content.Schema(), nil
}

// ListVersions returns versions without contents, newest first. Codes: not_found.
func (s *Service) ListVersions(ctx context.Context, tenant penstock.TenantID, p VersionPage) ([]Version, error) {
	return s.Versions.ListVersions(ctx, tenant, p)
}

// DeleteVersion removes the content of a version. Codes: not_found, gone, conflict.
func (s *Service) DeleteVersion(ctx context.Context, caller penstock.Principal, k VersionKey) error {
	if err := s.Versions.DeleteVersion(ctx, caller.Tenant.ID, VersionRemoval{k, caller.Author()}); err != nil {
		return err
	}
	return s.changed(ctx, caller.Tenant.ID, k.Name)
}

// Uses finds the labels and versions that name a version, or with N 0 any version of the prompt. Codes: not_found.
func (s *Service) Uses(ctx context.Context, tenant penstock.TenantID, k VersionKey) (Uses, error) {
	return s.Versions.Uses(ctx, tenant, k)
}

// Side is a version or the draft of a prompt, for comparing and rendering.
type Side struct {
	content.Reference
	Draft bool // the draft instead of a version
}

// at returns the content of a side and its version, 0 for the draft. Codes: not_found, gone, conflict.
func (s *Service) at(ctx context.Context, tenant penstock.TenantID, side Side) (content.Content, int64, error) {
	if side.Draft {
		d, err := s.Drafts.Draft(ctx, tenant, side.Name)
		return d.Content, 0, err
	}
	found, err := s.Resolver.find(ctx, tenant, side.Reference)
	if err != nil {
		return content.Content{}, 0, err
	}
	return found.Content.Content, found.Version, nil
}

// Comparison is the difference between two sides of a prompt.
type Comparison struct {
	From, To   int64 // versions, 0 for the draft
	Diff       content.Diff
	References []ReferenceDiff
}

// ReferenceDiff is a partial whose version differs; 0 where it is not included, or where the draft includes it.
type ReferenceDiff struct {
	Written  string
	From, To int64
}

// Compare returns the difference between two sides of a prompt. Codes: not_found, gone, conflict.
func (s *Service) Compare(ctx context.Context, tenant penstock.TenantID, from, to Side) (c Comparison, err error) {
	var left, right content.Content
	if left, c.From, err = s.at(ctx, tenant, from); err != nil {
		return c, err
	}
	if right, c.To, err = s.at(ctx, tenant, to); err != nil {
		return c, err
	}
	c.Diff = content.Compare(left, right)
	if c.From > 0 && c.To > 0 {
		c.References, err = s.compareReferences(ctx, tenant, VersionKey{from.Name, c.From}, VersionKey{to.Name, c.To})
	}
	return c, err
}

func (s *Service) compareReferences(ctx context.Context, tenant penstock.TenantID, from, to VersionKey) (out []ReferenceDiff, err error) {
	left, err := s.Versions.Version(ctx, tenant, from)
	if err != nil {
		return nil, err
	}
	right, err := s.Versions.Version(ctx, tenant, to)
	if err != nil {
		return nil, err
	}
	was := map[string]int64{}
	for _, r := range left.References {
		was[r.Written] = r.Version
	}
	for _, r := range right.References {
		if was[r.Written] != r.Version {
			out = append(out, ReferenceDiff{r.Written, was[r.Written], r.Version})
		}
		delete(was, r.Written)
	}
	for _, r := range left.References {
		if version, gone := was[r.Written]; gone {
			out = append(out, ReferenceDiff{Written: r.Written, From: version})
		}
	}
	return out, nil
}

// Rendering is a prompt that was rendered.
type Rendering struct {
	Version  int64  // 0 for the draft
	SHA256   string // "" for the draft
	Rendered content.Rendered
	Schema   []byte // of the variables
}

// Render renders a version or the draft of a prompt. Codes: not_found, gone, conflict, invalid_request, too_large.
func (s *Service) Render(ctx context.Context, tenant penstock.TenantID, side Side, variables map[string]any) (Rendering, error) {
	if !side.Draft {
		found, err := s.Resolver.Resolve(ctx, tenant, side.Reference)
		if err != nil {
			return Rendering{}, err
		}
		rendered, err := found.Content.Render(variables)
		return Rendering{Version: found.Version, SHA256: found.SHA256, Rendered: rendered, Schema: found.Content.Schema()}, err
	}
	c, _, err := s.at(ctx, tenant, side)
	if err != nil {
		return Rendering{}, err
	}
	return s.RenderContent(ctx, tenant, c, variables)
}

// RenderContent renders a content that is not stored, for previews. Codes: invalid_request, too_large.
func (s *Service) RenderContent(ctx context.Context, tenant penstock.TenantID, c content.Content, variables map[string]any) (Rendering, error) {
	parsed, err := content.Parse(c)
	if err != nil {
		return Rendering{}, err
	}
	compiled, _, err := s.link(ctx, tenant, parsed)
	if err != nil {
		return Rendering{}, err
	}
	rendered, err := compiled.Render(variables)
	return Rendering{Rendered: rendered, Schema: compiled.Schema()}, err
}
