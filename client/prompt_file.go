package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"
)

// PromptFile is a file with prompts.
type PromptFile struct {
	Path string `json:"path"` // in some formats the name of the prompt; the server reads no files
	Text string `json:"text"`
}

// PromptImportOrder are files to be imported.
type PromptImportOrder struct {
	Format        string       `json:"format,omitempty"` // json, dotprompt, promptfoo, openai, langfuse or directory; "" to find out
	Files         []PromptFile `json:"files"`
	Prefix        string       `json:"prefix,omitempty"`         // in front of every name
	Labels        string       `json:"labels,omitempty"`         // keep or move: what happens with labels that name another version
	AllowProblems bool         `json:"allow_problems,omitempty"` // constructs that cannot be translated stay as literal text
	DryRun        bool         `json:"dry_run,omitempty"`        // nothing is changed
}

// PromptFileProblem is a part of a file, or of a prompt, that is not carried over as it is.
type PromptFileProblem struct {
	Path      string `json:"path"`
	Line      int64  `json:"line"` // 0 for the whole file
	Construct string `json:"construct"`
	Message   string `json:"message"`
	Severity  string `json:"severity"` // error or warning
}

// PromptImport is the result of an import.
type PromptImport struct {
	Format   string              `json:"format"`
	DryRun   bool                `json:"dry_run"`
	Prompts  []PromptImportEntry `json:"prompts"`
	Problems []PromptFileProblem `json:"problems"` // of files, not of one prompt

	// Raw is the object as the server sent it, with all that this version does not know of.
	Raw json.RawMessage `json:"-"`
}

// UnmarshalJSON keeps the text in Raw.
func (i *PromptImport) UnmarshalJSON(text []byte) error {
	type plain PromptImport
	return keepRaw(text, (*plain)(i), &i.Raw)
}

// PromptImportEntry is the result of one prompt.
type PromptImportEntry struct {
	Name     string `json:"name"`
	State    string `json:"state"` // created, updated, unchanged or failed
	Versions []struct {
		Written string `json:"written"` // in the file
		Version int64  `json:"version"`
		Created bool   `json:"created"`
	} `json:"versions"`
	Labels   []string            `json:"labels"` // that were moved
	IDs      []string            `json:"ids"`    // of other registries, under which the prompt is now known
	Problems []PromptFileProblem `json:"problems"`
}

// PromptExportOptions select what is exported.
type PromptExportOptions struct {
	Format   string // "" for json
	Prefix   string
	Versions string // all, or a label; "" for what the format can have
}

// PromptExport is an export: files, or in the format json prompts.
type PromptExport struct {
	Format   string              `json:"format"`
	Files    []PromptFile        `json:"files"`
	Prompts  []json.RawMessage   `json:"prompts"`
	Problems []PromptFileProblem `json:"problems"`

	// Raw is the object as the server sent it, with all that this version does not know of.
	Raw json.RawMessage `json:"-"`
}

// UnmarshalJSON keeps the text in Raw.
func (e *PromptExport) UnmarshalJSON(text []byte) error {
	type plain PromptExport
	return keepRaw(text, (*plain)(e), &e.Raw)
}

// Import imports prompts from files. Prompts that failed are in the result. Codes: invalid_request, too_large.
func (p Prompts) Import(ctx context.Context, o PromptImportOrder) (*PromptImport, error) {
	return act[PromptImport](ctx, p.Client, "/v1/prompts/import", o)
}

// Export exports prompts. Codes: invalid_request.
func (p Prompts) Export(ctx context.Context, o PromptExportOptions) (*PromptExport, error) {
	query := url.Values{}
	for name, value := range map[string]string{"format": o.Format, "prefix": o.Prefix, "versions": o.Versions} {
		if value != "" {
			query.Set(name, value)
		}
	}
	e, _, err := fetch[PromptExport](ctx, p.Client, call{method: http.MethodGet, path: "/v1/prompts/export", query: query})
	return e, err
}

// PromptProtection makes moves of a label depend on a role, and on an approval.
type PromptProtection struct {
	Label     string    `json:"label"`
	Prompts   []string  `json:"prompts"` // names, and folders that end with a slash; empty for all
	Roles     []string  `json:"roles"`
	Approval  bool      `json:"approval"`
	UpdatedBy string    `json:"updated_by"`
	UpdatedAt time.Time `json:"updated_at"`
	ETag      string    `json:"etag"` // for IfMatch

	// Raw is the object as the server sent it, with all that this version does not know of.
	Raw json.RawMessage `json:"-"`
}

// UnmarshalJSON keeps the text in Raw.
func (p *PromptProtection) UnmarshalJSON(text []byte) error {
	type plain PromptProtection
	return keepRaw(text, (*plain)(p), &p.Raw)
}

// PromptProtectionOrder protects a label.
type PromptProtectionOrder struct {
	Prompts  []string `json:"prompts,omitempty"`
	Roles    []string `json:"roles,omitempty"`
	Approval bool     `json:"approval,omitempty"`
}

// Protections lists the protected labels of the tenant.
func (p Prompts) Protections(ctx context.Context) ([]*PromptProtection, error) {
	got, _, err := fetch[page[PromptProtection]](ctx, p.Client, call{method: http.MethodGet, path: "/v1/prompt_protections"})
	if err != nil {
		return nil, err
	}
	return got.Data, nil
}

// Protect protects a label, or replaces its protection. Codes: scope_missing, invalid_request, conflict.
func (p Prompts) Protect(ctx context.Context, label string, o PromptProtectionOrder, options ...ChangeOption) (*PromptProtection, error) {
	body, err := encode(o)
	if err != nil {
		return nil, err
	}
	protection, _, err := fetch[PromptProtection](ctx, p.Client, call{method: http.MethodPut, path: "/v1/prompt_protections/" + url.PathEscape(label), body: body, header: changeHeader(options)})
	return protection, err
}

// Unprotect removes the protection of a label. Codes: scope_missing, not_found, conflict.
func (p Prompts) Unprotect(ctx context.Context, label string, options ...ChangeOption) error {
	_, err := p.Client.do(ctx, call{method: http.MethodDelete, path: "/v1/prompt_protections/" + url.PathEscape(label), header: changeHeader(options)})
	return err
}
