package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Prompts makes calls about prompts.
type Prompts struct{ Client *Client }

// Prompt is a prompt without its contents.
type Prompt struct {
	ID         string        `json:"id"`
	Name       string        `json:"name"`
	Kind       string        `json:"kind"`
	Latest     int64         `json:"latest"` // the newest version, 0 for none
	Versions   int64         `json:"versions"`
	Labels     []PromptLabel `json:"labels"`
	Draft      string        `json:"draft"` // the ETag of the draft, "" for none
	CreatedBy  string        `json:"created_by"`
	CreatedAt  time.Time     `json:"created_at"`
	UpdatedAt  time.Time     `json:"updated_at"`
	ArchivedAt time.Time     `json:"archived_at"`

	// Raw is the object as the server sent it, with all that this version does not know of.
	Raw json.RawMessage `json:"-"`
}

// UnmarshalJSON keeps the text in Raw.
func (p *Prompt) UnmarshalJSON(text []byte) error {
	type plain Prompt
	return keepRaw(text, (*plain)(p), &p.Raw)
}

// PromptLabel names a version of a prompt.
type PromptLabel struct {
	Label     string    `json:"label"`
	Version   int64     `json:"version"`
	UpdatedBy string    `json:"updated_by"`
	UpdatedAt time.Time `json:"updated_at"`
	ETag      string    `json:"etag"` // for IfMatch; "" for latest

	// Raw is the object as the server sent it, with all that this version does not know of.
	Raw json.RawMessage `json:"-"`
}

// UnmarshalJSON keeps the text in Raw.
func (l *PromptLabel) UnmarshalJSON(text []byte) error {
	type plain PromptLabel
	return keepRaw(text, (*plain)(l), &l.Raw)
}

// PromptContent is what a version or a draft contains.
type PromptContent struct {
	Kind        string          `json:"kind"`                   // text or chat
	Text        string          `json:"text,omitempty"`         // of kind text: a template
	Messages    json.RawMessage `json:"messages,omitempty"`     // of kind chat: messages with templates
	Config      json.RawMessage `json:"config,omitempty"`       // model, parameters, tools, response_format
	InputSchema json.RawMessage `json:"input_schema,omitempty"` // of the variables
}

// PromptOrder is a version to be saved.
type PromptOrder struct {
	PromptContent
	Message string `json:"message,omitempty"`
	Parent  int64  `json:"parent,omitempty"`
}

// PromptVersion is an immutable state of a prompt. In lists it has no content.
type PromptVersion struct {
	PromptContent
	// VariablesSchema is InputSchema, or the schema that is derived from the templates and those that they include.
	VariablesSchema json.RawMessage   `json:"variables_schema"`
	Name            string            `json:"name"`
	Version         int64             `json:"version"`
	SHA256          string            `json:"sha256"`
	Parent          int64             `json:"parent"`
	Author          string            `json:"author"`
	Message         string            `json:"message"`
	References      []PromptReference `json:"references"`
	CreatedAt       time.Time         `json:"created_at"`
	DeletedAt       time.Time         `json:"deleted_at"`

	// Raw is the object as the server sent it, with all that this version does not know of.
	Raw json.RawMessage `json:"-"`
}

// UnmarshalJSON keeps the text in Raw.
func (v *PromptVersion) UnmarshalJSON(text []byte) error {
	type plain PromptVersion
	return keepRaw(text, (*plain)(v), &v.Raw)
}

// PromptReference is a prompt that a version includes.
type PromptReference struct {
	Written string `json:"written"`
	Name    string `json:"name"`
	Version int64  `json:"version"`
}

// PromptDraft is the working copy of a prompt.
type PromptDraft struct {
	PromptContent
	// VariablesSchema is InputSchema, or the derived schema; null while there is a problem.
	VariablesSchema json.RawMessage `json:"variables_schema"`
	Name            string          `json:"name"`
	Base            int64           `json:"base"`
	Problem         *PromptProblem  `json:"problem"` // why it cannot be saved; nil if it can
	UpdatedBy       string          `json:"updated_by"`
	UpdatedAt       time.Time       `json:"updated_at"`
	ETag            string          `json:"etag"` // for IfMatch

	// Raw is the object as the server sent it, with all that this version does not know of.
	Raw json.RawMessage `json:"-"`
}

// UnmarshalJSON keeps the text in Raw.
func (d *PromptDraft) UnmarshalJSON(text []byte) error {
	type plain PromptDraft
	return keepRaw(text, (*plain)(d), &d.Raw)
}

// PromptProblem says why a draft cannot be saved.
type PromptProblem struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Param   string `json:"param"`
}

// PromptMove is an entry in the history of labels.
type PromptMove struct {
	Seq        int64     `json:"seq"`
	Label      string    `json:"label"`
	From       int64     `json:"from"` // 0 for none
	To         int64     `json:"to"`   // 0 for none
	By         string    `json:"by"`
	ApprovedBy string    `json:"approved_by"`
	Reason     string    `json:"reason"`
	At         time.Time `json:"at"`

	// Raw is the object as the server sent it, with all that this version does not know of.
	Raw json.RawMessage `json:"-"`
}

// UnmarshalJSON keeps the text in Raw.
func (m *PromptMove) UnmarshalJSON(text []byte) error {
	type plain PromptMove
	return keepRaw(text, (*plain)(m), &m.Raw)
}

// PromptMoveOrder moves a label.
type PromptMoveOrder struct {
	Version int64  `json:"version"`
	Expect  *int64 `json:"expect,omitempty"` // the version that the label must name, 0 for none; nil for any
	Reason  string `json:"reason,omitempty"`
}

// PromptRequest asks for the move of a protected label.
type PromptRequest struct {
	ID          string    `json:"id"`
	Name        string    `json:"name"`
	Label       string    `json:"label"`
	Version     int64     `json:"version"`
	From        int64     `json:"from"`
	Reason      string    `json:"reason"`
	State       string    `json:"state"`
	RequestedBy string    `json:"requested_by"`
	CreatedAt   time.Time `json:"created_at"`
	DecidedBy   string    `json:"decided_by"`
	Note        string    `json:"note"`

	// Raw is the object as the server sent it, with all that this version does not know of.
	Raw json.RawMessage `json:"-"`
}

// UnmarshalJSON keeps the text in Raw.
func (r *PromptRequest) UnmarshalJSON(text []byte) error {
	type plain PromptRequest
	return keepRaw(text, (*plain)(r), &r.Raw)
}

// PromptRender asks for a rendering. Without a label, a version or the draft it is the version of production.
type PromptRender struct {
	Label     string         `json:"label,omitempty"`
	Version   int64          `json:"version,omitempty"`
	Draft     bool           `json:"draft,omitempty"`
	Variables map[string]any `json:"variables,omitempty"`
	Model     string         `json:"model,omitempty"`
	Endpoint  string         `json:"endpoint,omitempty"`
}

// RenderedPrompt is a rendered prompt.
type RenderedPrompt struct {
	Name        string          `json:"name"`
	Version     int64           `json:"version"` // 0 for the draft
	SHA256      string          `json:"sha256"`
	Messages    json.RawMessage `json:"messages"`
	Body        json.RawMessage `json:"body"` // of a call to Endpoint
	Endpoint    string          `json:"endpoint"`
	InputTokens int64           `json:"input_tokens"`
	Model       string          `json:"model"`
	AtMost      *struct {
		Tokens  int64  `json:"tokens"`
		CostUSD string `json:"cost_usd"`
	} `json:"at_most"` // nil without a model

	// Raw is the object as the server sent it, with all that this version does not know of.
	Raw json.RawMessage `json:"-"`
}

// UnmarshalJSON keeps the text in Raw.
func (r *RenderedPrompt) UnmarshalJSON(text []byte) error {
	type plain RenderedPrompt
	return keepRaw(text, (*plain)(r), &r.Raw)
}

// PromptFilter selects prompts.
type PromptFilter struct {
	Prefix   string
	Archived bool // archived ones too
}

// promptPath is the path of a prompt, or of a part of it. The slashes of a name stay. Dots alone would lead to another path, so they
// are escaped; the server refuses such names.
func promptPath(name string, rest ...string) string {
	path := "/v1/prompts"
	for _, segment := range append(strings.Split(name, "/"), rest...) {
		escaped := url.PathEscape(segment)
		if segment == "." || segment == ".." {
			escaped = strings.ReplaceAll(segment, ".", "%2E")
		}
		path += "/" + escaped
	}
	return path
}

// List yields prompts in the order of their names.
func (p Prompts) List(ctx context.Context, f PromptFilter) iter.Seq2[*Prompt, error] {
	query := url.Values{"prefix": {f.Prefix}}
	if f.Archived {
		query.Set("archived", "true")
	}
	return list[Prompt]{path: "/v1/prompts", query: query, id: func(one *Prompt) string { return one.Name }}.all(ctx, p.Client)
}

// PromptFolder is what is right inside a folder of prompts.
type PromptFolder struct {
	Prompts []*Prompt
	Folders []string // each ends with a slash
}

// Folder reads a folder, "" for the top.
func (p Prompts) Folder(ctx context.Context, folder string) (*PromptFolder, error) {
	out := &PromptFolder{}
	query := url.Values{"folder": {folder}, "limit": {strconv.Itoa(MaxPageSize)}}
	for {
		got, _, err := fetch[struct {
			page[Prompt]
			Folders []string `json:"folders"`
		}](ctx, p.Client, call{method: http.MethodGet, path: "/v1/prompts", query: query})
		if err != nil {
			return nil, err
		}
		out.Prompts, out.Folders = append(out.Prompts, got.Data...), append(out.Folders, got.Folders...)
		if !got.HasMore {
			return out, nil
		}
		query.Set("after", got.NextAfter)
	}
}

// Read reads a prompt. Codes: not_found.
func (p Prompts) Read(ctx context.Context, name string) (*Prompt, error) {
	found, _, err := fetch[Prompt](ctx, p.Client, call{method: http.MethodGet, path: promptPath(name)})
	return found, err
}

// Save saves a version. A version with the same content is returned as it is. Codes: invalid_request, conflict.
func (p Prompts) Save(ctx context.Context, name string, o PromptOrder) (*PromptVersion, error) {
	return act[PromptVersion](ctx, p.Client, promptPath(name, "versions"), o)
}

// Versions yields versions without contents, newest first.
func (p Prompts) Versions(ctx context.Context, name string) iter.Seq2[*PromptVersion, error] {
	return list[PromptVersion]{path: promptPath(name, "versions"), id: func(v *PromptVersion) string { return strconv.FormatInt(v.Version, 10) }}.all(ctx, p.Client)
}

// Version reads a version. Codes: not_found, gone.
func (p Prompts) Version(ctx context.Context, name string, version int64) (*PromptVersion, error) {
	v, _, err := fetch[PromptVersion](ctx, p.Client, call{method: http.MethodGet, path: promptPath(name, "versions", strconv.FormatInt(version, 10))})
	return v, err
}

// DeleteVersion deletes the content of a version. Codes: not_found, gone, conflict.
func (p Prompts) DeleteVersion(ctx context.Context, name string, version int64) error {
	_, err := p.Client.do(ctx, call{method: http.MethodDelete, path: promptPath(name, "versions", strconv.FormatInt(version, 10))})
	return err
}

// Diff compares two versions, each a number, a label or draft. Codes: not_found.
func (p Prompts) Diff(ctx context.Context, name, from, to string) (json.RawMessage, error) {
	got, err := p.Client.do(ctx, call{method: http.MethodGet, path: promptPath(name, "diff"), query: url.Values{"from": {from}, "to": {to}}})
	return got.body, err
}

// Label reads a label. Codes: not_found.
func (p Prompts) Label(ctx context.Context, name, label string) (*PromptLabel, error) {
	l, _, err := fetch[PromptLabel](ctx, p.Client, call{method: http.MethodGet, path: promptPath(name, "labels", label)})
	return l, err
}

// MoveLabel moves a label. Codes: not_found, conflict, scope_missing.
func (p Prompts) MoveLabel(ctx context.Context, name, label string, o PromptMoveOrder, options ...ChangeOption) (*PromptLabel, error) {
	body, err := encode(o)
	if err != nil {
		return nil, err
	}
	l, _, err := fetch[PromptLabel](ctx, p.Client, call{method: http.MethodPut, path: promptPath(name, "labels", label), body: body, header: changeHeader(options)})
	return l, err
}

// RemoveLabel removes a label. Codes: not_found, conflict, scope_missing.
func (p Prompts) RemoveLabel(ctx context.Context, name, label string, options ...ChangeOption) error {
	_, err := p.Client.do(ctx, call{method: http.MethodDelete, path: promptPath(name, "labels", label), header: changeHeader(options)})
	return err
}

// History yields the moves of labels, newest first; of one label, or with "" of all.
func (p Prompts) History(ctx context.Context, name, label string) iter.Seq2[*PromptMove, error] {
	return list[PromptMove]{path: promptPath(name, "history"), query: url.Values{"label": {label}}, id: func(m *PromptMove) string { return strconv.FormatInt(m.Seq, 10) }}.all(ctx, p.Client)
}

// Render renders a prompt without a call. Codes: invalid_request, not_found.
func (p Prompts) Render(ctx context.Context, name string, r PromptRender) (*RenderedPrompt, error) {
	return act[RenderedPrompt](ctx, p.Client, promptPath(name, "render"), r)
}

// Draft reads the draft of a prompt. Codes: not_found.
func (p Prompts) Draft(ctx context.Context, name string) (*PromptDraft, error) {
	d, _, err := fetch[PromptDraft](ctx, p.Client, call{method: http.MethodGet, path: promptPath(name, "draft")})
	return d, err
}

// PutDraft replaces the draft of a prompt. Codes: invalid_request, conflict.
func (p Prompts) PutDraft(ctx context.Context, name string, content PromptContent, options ...ChangeOption) (*PromptDraft, error) {
	body, err := encode(content)
	if err != nil {
		return nil, err
	}
	d, _, err := fetch[PromptDraft](ctx, p.Client, call{method: http.MethodPut, path: promptPath(name, "draft"), body: body, header: changeHeader(options)})
	return d, err
}

// DeleteDraft discards the draft of a prompt. Codes: not_found, conflict.
func (p Prompts) DeleteDraft(ctx context.Context, name string, options ...ChangeOption) error {
	_, err := p.Client.do(ctx, call{method: http.MethodDelete, path: promptPath(name, "draft"), header: changeHeader(options)})
	return err
}

// Archive takes a prompt out of use. Codes: not_found.
func (p Prompts) Archive(ctx context.Context, name string) (*Prompt, error) {
	found, _, err := fetch[Prompt](ctx, p.Client, call{method: http.MethodPost, path: promptPath(name, "archive")})
	return found, err
}

// Restore undoes Archive. Codes: not_found.
func (p Prompts) Restore(ctx context.Context, name string) (*Prompt, error) {
	found, _, err := fetch[Prompt](ctx, p.Client, call{method: http.MethodPost, path: promptPath(name, "restore")})
	return found, err
}

// Uses reads the labels and versions that name versions of a prompt; with 0, of any version. Codes: not_found.
func (p Prompts) Uses(ctx context.Context, name string, version int64) (json.RawMessage, error) {
	query := url.Values{}
	if version > 0 {
		query.Set("version", strconv.FormatInt(version, 10))
	}
	got, err := p.Client.do(ctx, call{method: http.MethodGet, path: promptPath(name, "uses"), query: query})
	return got.body, err
}

// RequestLabel asks for the move of a protected label. Codes: not_found, conflict.
func (p Prompts) RequestLabel(ctx context.Context, name, label string, o PromptMoveOrder) (*PromptRequest, error) {
	return act[PromptRequest](ctx, p.Client, promptPath(name, "labels", label, "requests"), o)
}

// Requests yields the requests to move labels of a prompt, newest first.
func (p Prompts) Requests(ctx context.Context, name string) iter.Seq2[*PromptRequest, error] {
	return list[PromptRequest]{path: promptPath(name, "requests"), id: func(r *PromptRequest) string { return r.ID }}.all(ctx, p.Client)
}

// PromptDecision is approve or reject.
type PromptDecision string

// The decisions.
const (
	ApprovePrompt PromptDecision = "approve"
	RejectPrompt  PromptDecision = "reject"
)

// Decide approves or rejects a request. Codes: not_found, conflict, scope_missing.
func (p Prompts) Decide(ctx context.Context, name, id string, d PromptDecision) (*PromptRequest, error) {
	r, _, err := fetch[PromptRequest](ctx, p.Client, call{method: http.MethodPost, path: promptPath(name, "requests", id, string(d))})
	return r, err
}
