package api

import (
	"net/http"
	"reflect"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"penstock"
	"penstock/internal/prompt"
	"penstock/internal/prompt/content"
	"penstock/internal/rest"
)

// prompts answers the calls on prompts.
type prompts struct{ *call }

// promptMessage is a message of a prompt.
type promptMessage struct {
	Role        string           `json:"role,omitzero" about:"system, developer, user, assistant or tool."`
	Content     promptBody       `json:"content,omitzero" about:"A template, or parts with templates."`
	Name        string           `json:"name,omitzero"`
	ToolCalls   []promptToolCall `json:"tool_calls,omitzero" about:"Of an assistant's message in an example."`
	ToolCallID  string           `json:"tool_call_id,omitzero" about:"Of a message with the role tool."`
	Placeholder string           `json:"placeholder,omitzero" about:"The name of a variable with a list of messages, which stand in the place of this one. A placeholder has no other members."`
}

// promptBody is the content of a message.
type promptBody struct {
	text  string
	parts []promptPart
}

type promptPart struct {
	Type     string       `json:"type" required:"true" about:"text or image_url."`
	Text     string       `json:"text,omitzero"`
	ImageURL *promptImage `json:"image_url,omitzero"`
}

type promptImage struct {
	URL    string `json:"url" required:"true" about:"A link or a data URL; a template."`
	Detail string `json:"detail,omitzero"`
}

type promptToolCall struct {
	ID       string         `json:"id" required:"true"`
	Type     string         `json:"type" required:"true"`
	Function promptFunction `json:"function" required:"true"`
}

type promptFunction struct {
	Name      string `json:"name" required:"true"`
	Arguments string `json:"arguments" required:"true"`
}

// Forms implements rest.Forms.
func (promptBody) Forms() []any { return []any{"", []promptPart{}} }

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (b *promptBody) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	switch kind := dec.PeekKind(); kind {
	case '"', 'n':
		return json.UnmarshalDecode(dec, &b.text)
	case '[', 0: // 0 is broken JSON
		b.parts = []promptPart{}
		return json.UnmarshalDecode(dec, &b.parts)
	default:
		return &json.SemanticError{GoType: reflect.TypeFor[promptBody](), JSONKind: kind}
	}
}

// MarshalJSONTo implements json.MarshalerTo.
func (b promptBody) MarshalJSONTo(enc *jsontext.Encoder) error {
	if b.parts != nil {
		return json.MarshalEncode(enc, b.parts)
	}
	return json.MarshalEncode(enc, b.text)
}

// IsZero is for omitzero.
func (b promptBody) IsZero() bool { return b.text == "" && b.parts == nil }

// promptContent is the content of a version or a draft, as it is sent.
type promptContent struct {
	Kind        content.Kind              `json:"kind" required:"true" about:"text or chat; the same for all versions of a prompt."`
	Text        string                    `json:"text,omitzero" about:"Of kind text: a template."`
	Messages    []promptMessage           `json:"messages,omitzero" about:"Of kind chat."`
	Config      map[string]jsontext.Value `json:"config,omitzero" about:"Members of a chat completion beside its messages: model, parameters, tools, response_format. No templates."`
	InputSchema jsontext.Value            `json:"input_schema,omitzero" about:"The JSON Schema of the variables. Without it, every variable of the templates is a required string, list or object; one that an if asks for may be absent."`
}

// promptView is a prompt.
type promptView struct {
	ID         string            `json:"id"`
	Object     string            `json:"object"`
	Name       string            `json:"name"`
	Kind       content.Kind      `json:"kind"`
	Latest     *int64            `json:"latest" about:"The newest version; null for none."`
	Versions   int64             `json:"versions" about:"How many versions there are."`
	Labels     []promptLabelView `json:"labels"`
	Draft      *string           `json:"draft" about:"The ETag of the draft; null for none."`
	CreatedBy  string            `json:"created_by"`
	CreatedAt  time.Time         `json:"created_at"`
	UpdatedAt  time.Time         `json:"updated_at" about:"When the last version was saved, or the last label moved."`
	ArchivedAt *time.Time        `json:"archived_at"`
}

// promptPageView is a page of prompts.
type promptPageView struct {
	rest.CursorPage[promptView]
	Folders []string `json:"folders" about:"With folder: the folders inside it. Each ends with a slash."`
}

// promptLabelView is a label.
type promptLabelView struct {
	Object    string    `json:"object"`
	Label     string    `json:"label"`
	Version   int64     `json:"version"`
	UpdatedBy *string   `json:"updated_by" about:"null for latest, which is automatic."`
	UpdatedAt time.Time `json:"updated_at"`
	ETag      *string   `json:"etag" about:"For If-Match; null for latest."`
}

func newPromptLabelView(l prompt.Label) promptLabelView {
	v := promptLabelView{Object: "prompt.label", Label: l.Label, Version: l.Version, UpdatedBy: text(l.UpdatedBy), UpdatedAt: stamp(l.UpdatedAt)}
	if l.Revision > 0 {
		v.ETag = text(rest.ETag(l.Revision))
	}
	return v
}

func newPromptView(p prompt.Prompt) promptView {
	v := promptView{
		ID: prompt.ViewPrompt.Format(p.ID), Object: "prompt", Name: p.Name, Kind: p.Kind, Latest: number(p.Latest), Versions: p.Versions, Labels: []promptLabelView{},
		CreatedBy: p.CreatedBy, CreatedAt: stamp(p.CreatedAt), UpdatedAt: stamp(p.UpdatedAt), ArchivedAt: optional(p.ArchivedAt),
	}
	if p.Draft > 0 {
		v.Draft = text(rest.ETag(p.Draft))
	}
	for _, l := range p.Labels {
		v.Labels = append(v.Labels, newPromptLabelView(l))
	}
	return v
}

// number is null for 0.
func number(n int64) *int64 {
	if n == 0 {
		return nil
	}
	return &n
}

// content makes a content of what was sent.
func (in promptContent) content() content.Content {
	c := content.Content{Kind: in.Kind, Text: in.Text, InputSchema: []byte(in.InputSchema)}
	for _, m := range in.Messages {
		one := content.Message{Role: m.Role, Name: m.Name, ToolCallID: m.ToolCallID, Placeholder: m.Placeholder, Content: content.Body{Text: m.Content.text}}
		if m.Content.parts != nil {
			one.Content.Parts = []content.Part{}
		}
		for _, p := range m.Content.parts {
			part := content.Part{Type: p.Type, Text: p.Text}
			if p.ImageURL != nil {
				part.ImageURL = &content.ImageURL{URL: p.ImageURL.URL, Detail: p.ImageURL.Detail}
			}
			one.Content.Parts = append(one.Content.Parts, part)
		}
		for _, t := range m.ToolCalls {
			one.ToolCalls = append(one.ToolCalls, content.ToolCall{ID: t.ID, Type: t.Type, Function: content.Function(t.Function)})
		}
		c.Messages = append(c.Messages, one)
	}
	if len(in.Config) > 0 {
		c.Config = content.Config{}
		for name, value := range in.Config {
			c.Config[name] = []byte(value)
		}
	}
	return c
}

// newPromptContent shows a content.
func newPromptContent(c content.Content) promptContent {
	out := promptContent{Kind: c.Kind, Text: c.Text, Messages: newPromptMessages(c.Messages), Config: newPromptConfig(c.Config), InputSchema: jsontext.Value(c.InputSchema)}
	return out
}

func newPromptConfig(c content.Config) map[string]jsontext.Value {
	out := map[string]jsontext.Value{}
	for name, value := range c {
		out[name] = jsontext.Value(value)
	}
	return out
}

func newPromptMessages(messages []content.Message) []promptMessage {
	var all []promptMessage
	for _, m := range messages {
		one := promptMessage{Role: m.Role, Name: m.Name, ToolCallID: m.ToolCallID, Placeholder: m.Placeholder, Content: promptBody{text: m.Content.Text}}
		if m.Content.Parts != nil {
			one.Content.parts = []promptPart{}
		}
		for _, p := range m.Content.Parts {
			part := promptPart{Type: p.Type, Text: p.Text}
			if p.ImageURL != nil {
				part.ImageURL = &promptImage{p.ImageURL.URL, p.ImageURL.Detail}
			}
			one.Content.parts = append(one.Content.parts, part)
		}
		for _, t := range m.ToolCalls {
			one.ToolCalls = append(one.ToolCalls, promptToolCall{t.ID, t.Type, promptFunction(t.Function)})
		}
		all = append(all, one)
	}
	return all
}

// promptName is the name in the path.
func (c prompts) promptName() string { return c.R.PathValue("name") }

func (c prompts) list() error {
	limit, err := c.PageLimit(pageSize)
	if err != nil {
		return err
	}
	q := c.R.URL.Query()
	p := prompt.Page{Prefix: q.Get("prefix"), After: q.Get("after"), Limit: limit}
	if p.Archived, err = c.QueryBool("archived"); err != nil {
		return err
	}
	if q.Has("folder") {
		folder := q.Get("folder")
		if folder != "" && folder[len(folder)-1] != '/' {
			folder += "/"
		}
		if p.Prefix != "" {
			return penstock.InvalidParam("prefix", "prefix and folder cannot be used together.")
		}
		p.Folder = &folder
	}
	found, err := c.Prompts.List(c.R.Context(), c.Principal.Tenant.ID, p)
	if err != nil {
		return err
	}
	out := promptPageView{Folders: append([]string{}, found.Folders...)}
	var data []promptView
	for _, one := range found.Prompts {
		data = append(data, newPromptView(one))
	}
	out.CursorPage = rest.NewCursorPage(data, found.Next)
	return c.JSON(http.StatusOK, out)
}

func (c prompts) read() error {
	p, err := c.Prompts.Prompt(c.R.Context(), c.Principal.Tenant.ID, c.promptName())
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, newPromptView(p))
}

// exists refuses a call about a prompt that does not exist, before anything else of the call is judged. Codes: not_found.
func (c prompts) exists() error {
	_, err := c.Prompts.Prompt(c.R.Context(), c.Principal.Tenant.ID, c.promptName())
	return err
}

func (c prompts) archive() error {
	p, err := c.Prompts.Archive(c.R.Context(), c.Principal, c.promptName())
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, newPromptView(p))
}

func (c prompts) restore() error {
	p, err := c.Prompts.Restore(c.R.Context(), c.Principal, c.promptName())
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, newPromptView(p))
}

// decode reads the body of a call.
func (c prompts) decode(into any) error {
	body, err := c.readBody()
	if err == nil {
		err = rest.Decode(body, into)
	}
	return err
}

// cursor reads the number behind which a page begins, 0 for the first page. Codes: invalid_request.
func (c prompts) cursor() (int64, error) {
	after := c.R.URL.Query().Get("after")
	if after == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(after, 10, 64)
	if err != nil || n < 1 {
		return 0, penstock.InvalidParam("after", "after must be the next_after of the previous page.")
	}
	return n, nil
}

// numbered makes a page whose cursor is a number. One more than limit was read.
func numbered[T, V any](found []T, limit int, view func(T) V, cursor func(T) int64) rest.CursorPage[V] {
	next := ""
	if len(found) > limit {
		found = found[:limit]
		next = strconv.FormatInt(cursor(found[limit-1]), 10)
	}
	var data []V
	for _, one := range found {
		data = append(data, view(one))
	}
	return rest.NewCursorPage(data, next)
}
