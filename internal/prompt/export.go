package prompt

import (
	"context"
	"slices"

	"penstock"
	"penstock/internal/prompt/content"
	"penstock/internal/prompt/promptfile"
)

// Bounds of an export.
const (
	// MaxExportedBytes bounds the contents of one prompt that are in memory. Older versions are left out, which is a problem of the
	// export.
	MaxExportedBytes = 64 << 20
	exportPage       = 100
)

// ExportOrder selects prompts.
type ExportOrder struct {
	Format promptfile.Format
	Prefix string
	// Versions are "all", or the label of the version that is exported, such as latest. "" means what the format can have.
	Versions string
}

// AllVersions are all versions of a prompt.
const AllVersions = "all"

// Export writes prompts in a format, in the order of their names, and gives each to visit. Prompts without versions have no content
// to export. An archived prompt is only in the format json. Codes: invalid_request, and those of visit.
func (s *Service) Export(ctx context.Context, tenant penstock.TenantID, o ExportOrder, visit func(promptfile.Written) error) error {
	if !slices.Contains(promptfile.Formats, o.Format) {
		_, err := promptfile.Write(o.Format, promptfile.Stored{})
		return err
	}
	switch {
	case o.Versions == "" && o.Format.AllVersions():
		o.Versions = AllVersions
	case o.Versions == "":
		o.Versions = content.LabelLatest
	case o.Versions == AllVersions && !o.Format.AllVersions():
		return penstock.InvalidParam("versions", "A file of the format %s has one version; give a label.", o.Format)
	}
	x := exporting{s, o, visit}
	page := Page{Prefix: o.Prefix, Limit: exportPage, Archived: o.Format == promptfile.JSON}
	for {
		found, err := s.Prompts.List(ctx, tenant, page)
		if err != nil {
			return err
		}
		for _, p := range found.Prompts {
			if err := x.prompt(ctx, p); err != nil {
				return err
			}
		}
		if page.After = found.Next; found.Next == "" {
			return nil
		}
	}
}

// exporting is an export that is under way.
type exporting struct {
	*Service
	ExportOrder
	visit func(promptfile.Written) error
}

func (x exporting) prompt(ctx context.Context, p Prompt) error {
	aliases, err := x.Imports.Aliases(ctx, p.Tenant, p.Name)
	if err != nil {
		return err
	}
	out := promptfile.Stored{ID: ViewPrompt.Format(p.ID), Name: p.Name, Kind: p.Kind, Archived: !p.ArchivedAt.IsZero(), Labels: map[string]int64{}}
	for _, a := range aliases {
		out.Aliases = append(out.Aliases, promptfile.StoredAlias{ID: a.Alias, Versions: a.Versions})
	}
	for _, l := range p.Labels {
		if l.Label != content.LabelLatest {
			out.Labels[l.Label] = l.Version
		}
	}
	left, err := x.versions(ctx, p, &out)
	if err != nil || len(out.Versions) == 0 {
		return err
	}
	written, err := promptfile.Write(x.Format, out)
	if err != nil {
		return err
	}
	if left > 0 {
		written.Problems = append(written.Problems, promptfile.Problem{Path: p.Name, Severity: promptfile.SeverityWarning,
			Message: "The prompt has more bytes than one export holds: older versions are left out."})
	}
	return x.visit(written)
}

// versions reads the versions of a prompt, oldest first. It returns how many were left out.
func (x exporting) versions(ctx context.Context, p Prompt, out *promptfile.Stored) (left int, err error) {
	only := int64(0)
	if x.ExportOrder.Versions != AllVersions {
		i := slices.IndexFunc(p.Labels, func(l Label) bool { return l.Label == x.ExportOrder.Versions })
		if i < 0 {
			return 0, nil
		}
		only = p.Labels[i].Version
	}
	bytes := 0
	for page := (VersionPage{Name: p.Name, Limit: exportPage}); ; {
		found, err := x.ListVersions(ctx, p.Tenant, page)
		if err != nil {
			return 0, err
		}
		for _, v := range found {
			page.Before = v.N
			if only != 0 && v.N != only {
				continue
			}
			if bytes > MaxExportedBytes {
				left++
				continue
			}
			stored, size, err := x.version(ctx, v)
			if err != nil {
				return 0, err
			}
			bytes += size
			out.Versions = append(out.Versions, stored)
		}
		if len(found) < exportPage || only != 0 && len(out.Versions) > 0 {
			slices.Reverse(out.Versions)
			return left, nil
		}
	}
}

func (x exporting) version(ctx context.Context, v Version) (promptfile.StoredVersion, int, error) {
	out := promptfile.StoredVersion{N: v.N, SHA256: v.SHA256, Parent: v.Parent, Author: v.Author.Name, Message: v.Message, CreatedAt: v.CreatedAt, Deleted: !v.DeletedAt.IsZero()}
	if out.Deleted {
		return out, 0, nil
	}
	whole, err := x.Version(ctx, v.Tenant, VersionKey{v.Name, v.N})
	if penstock.ErrorCode(err) == penstock.CodeGone { // deleted meanwhile
		out.Deleted = true
		return out, 0, nil
	}
	if err != nil {
		return out, 0, err
	}
	out.Content, out.References = whole.Content, whole.References
	text, err := whole.Content.Encode()
	return out, len(text), err
}
