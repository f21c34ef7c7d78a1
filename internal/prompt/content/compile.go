package content

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"penstock"
	"penstock/internal/prompt/template"
)

// Parsed is a checked content with its templates, before its partials are known.
type Parsed struct {
	Content    Content
	References []Reference // that its templates name, in the order of their first use
	Written    []string    // the references as they are written
	Size       int         // of the content as JSON

	templates []*template.Template // in the order of [Content.templates]
}

// place is a template inside a content.
type place struct {
	where string
	text  *string
}

// templates lists the templates of a content.
func (c *Content) templates() []place {
	if c.Kind == KindText {
		return []place{{"text", &c.Text}}
	}
	var all []place
	for i := range c.Messages {
		m, where := &c.Messages[i], fmt.Sprintf("messages[%d].content", i)
		if m.Content.Parts == nil {
			all = append(all, place{where, &m.Content.Text})
		}
		for j := range m.Content.Parts {
			p, at := &m.Content.Parts[j], fmt.Sprintf("%s[%d]", where, j)
			if p.Type == PartImage {
				all = append(all, place{at + ".image_url.url", &p.ImageURL.URL})
			} else {
				all = append(all, place{at + ".text", &p.Text})
			}
		}
	}
	return all
}

// clone copies what a rendering changes.
func (c Content) clone() Content {
	c.Messages = slices.Clone(c.Messages)
	for i := range c.Messages {
		m := &c.Messages[i]
		m.Content.Parts = slices.Clone(m.Content.Parts)
		for j := range m.Content.Parts {
			if image := m.Content.Parts[j].ImageURL; image != nil {
				copied := *image
				m.Content.Parts[j].ImageURL = &copied
			}
		}
	}
	c.Config = maps.Clone(c.Config)
	return c
}

// Parse checks a content and parses its templates. The content given is not changed. Codes: invalid_request, too_large.
func Parse(c Content) (*Parsed, error) {
	p := &Parsed{Content: c.clone()}
	if err := p.Content.check(); err != nil {
		return nil, err
	}
	var err error
	if p.Content.InputSchema, err = compactSchema(p.Content.InputSchema); err != nil {
		return nil, err
	}
	text, err := p.Content.Encode()
	if err != nil {
		return nil, err
	}
	p.Size = len(text)
	for _, at := range p.Content.templates() {
		t, err := template.Parse(*at.text)
		if err != nil {
			return nil, templateError(at.where, err)
		}
		p.templates = append(p.templates, t)
		if err := p.refer(at.where, t.Partials()); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func templateError(where string, err error) error {
	e := penstock.InvalidParam(where, "%s: %v.", where, err)
	e.Err = err
	return e
}

// refer adds the references of a template.
func (p *Parsed) refer(where string, partials []string) error {
	for _, written := range partials {
		if slices.Contains(p.Written, written) {
			continue
		}
		r, err := ParseReference(written)
		if err != nil {
			return penstock.InvalidParam(where, "%s: {{> %s}}: %s", where, clip(written), penstock.AsError(err).Message)
		}
		if len(p.Written) == MaxReferences {
			return penstock.InvalidParam(where, "The prompt includes more than %d other prompts.", MaxReferences)
		}
		p.Written, p.References = append(p.Written, written), append(p.References, r)
	}
	return nil
}

// Where is the field of the templates.
func (p *Parsed) Where() string {
	if p.Content.Kind == KindText {
		return "text"
	}
	return "messages"
}

// Compiled is a content that can be rendered.
type Compiled struct {
	Content  Content
	messages []compiledMessage
	schema   *inputSchema
	text     *template.Template // of a text prompt

	depth, contents, bytes int
}

// compiledMessage is a message with its templates: one of a text, or one for each part.
type compiledMessage struct {
	Message
	templates []*template.Template
}

// Bytes is about how much memory the content takes, with its partials.
func (c *Compiled) Bytes() int { return c.bytes }

// Schema is the schema of the variables: the content's own, or the derived schema.
func (c *Compiled) Schema() []byte { return c.schema.text }

// Variables are the names of the variables that the templates use, in order.
func (c *Compiled) Variables() []string { return slices.Sorted(maps.Keys(c.schema.used)) }

// Own are the variables of a row that several contents share: without those that only others have. A variable that none of them has
// stays, and is a mistake when the content is rendered.
func (c *Compiled) Own(row map[string]any, all []*Compiled) map[string]any {
	own := maps.Clone(row)
	maps.DeleteFunc(own, func(name string, _ any) bool {
		return !c.schema.known[name] && slices.ContainsFunc(all, func(other *Compiled) bool { return other.schema.known[name] })
	})
	return own
}

// Link adds the contents of the references, by their written form, and makes the schema of the variables. Codes: invalid_request,
// too_large.
func (p *Parsed) Link(parts map[string]*Compiled) (*Compiled, error) {
	c := &Compiled{Content: p.Content, contents: 1, bytes: p.Size}
	texts := map[string]*template.Template{}
	for _, written := range p.Written {
		part := parts[written]
		if part == nil {
			return nil, penstock.Internal(fmt.Errorf("linking a prompt: %s is missing", written))
		}
		if part.text == nil {
			return nil, penstock.InvalidParam(p.Where(), "{{> %s}} is a prompt of kind chat; only prompts of kind text can be included.", written)
		}
		texts[written] = part.text
		c.depth, c.contents, c.bytes = max(c.depth, part.depth+1), c.contents+part.contents, c.bytes+part.bytes
	}
	switch {
	case c.depth > MaxReferenceDepth:
		return nil, penstock.InvalidParam(p.Where(), "The prompt includes prompts that include others, more than %d deep.", MaxReferenceDepth)
	case c.contents > MaxLinkedContents || c.bytes > MaxLinkedBytes:
		return nil, penstock.Errorf(penstock.CodeTooLarge, "The prompt with all that it includes has more than %d prompts or %d bytes.", MaxLinkedContents, MaxLinkedBytes)
	}
	var root template.Use
	linked := make([]*template.Template, len(p.templates))
	for i, t := range p.templates {
		var err error
		if linked[i], err = t.Link(texts); err != nil {
			return nil, penstock.Internal(err)
		}
		linked[i].Uses(&root)
	}
	c.arrange(linked)
	var err error
	c.schema, err = newInputSchema(p.Content, &root)
	return c, err
}

// arrange gives every message its templates.
func (c *Compiled) arrange(linked []*template.Template) {
	if c.Content.Kind == KindText {
		c.text = linked[0]
		return
	}
	for _, m := range c.Content.Messages {
		n := 1
		if m.Content.Parts != nil {
			n = len(m.Content.Parts)
		}
		c.messages = append(c.messages, compiledMessage{m, linked[:n]})
		linked = linked[n:]
	}
}

// Rendered is a rendered prompt, in a form that every dialect can be written from: see package promptbody.
type Rendered struct {
	Messages []Message
	Config   Config // shared: it must not be changed
}

// Render makes messages of the content. Variables are as [ParseVariables] returns them. Codes: invalid_request, too_large.
func (c *Compiled) Render(variables map[string]any) (Rendered, error) {
	if err := c.schema.check(variables); err != nil {
		return Rendered{}, err
	}
	r := rendering{variables: variables, budget: template.Budget{Bytes: MaxRenderedBytes, Steps: MaxRenderSteps}}
	out := Rendered{Config: c.Content.Config}
	if c.text != nil {
		text, err := r.text(c.text)
		out.Messages = []Message{{Role: "user", Content: Body{Text: text}}}
		return out, err
	}
	for i := range c.messages {
		var err error
		if out.Messages, err = r.message(out.Messages, &c.messages[i]); err != nil {
			return Rendered{}, err
		}
	}
	if len(out.Messages) == 0 {
		return out, penstock.InvalidParam("variables", "The prompt has no messages with these variables: every placeholder is empty.")
	}
	return out, nil
}

// rendering is one use of a content.
type rendering struct {
	variables map[string]any
	budget    template.Budget
	listed    int // messages of placeholders
}

func (r *rendering) text(t *template.Template) (string, error) {
	text, err := t.Append(nil, r.variables, &r.budget)
	switch {
	case errors.Is(err, template.ErrBytes):
		return "", tooLarge(err)
	case errors.Is(err, template.ErrSteps):
		return "", &penstock.Error{Code: penstock.CodeTooLarge, Param: "variables", Err: err,
			Message: fmt.Sprintf("The rendering takes more than %d steps; shorten the lists in the variables.", MaxRenderSteps)}
	case err != nil:
		return "", penstock.Internal(err)
	}
	return strings.ToValidUTF8(string(text), "\uFFFD"), nil
}

func tooLarge(err error) error {
	return &penstock.Error{Code: penstock.CodeTooLarge, Param: "variables", Err: err,
		Message: fmt.Sprintf("The rendered prompt has more than %d bytes; shorten the variables.", MaxRenderedBytes)}
}

func (r *rendering) message(out []Message, m *compiledMessage) ([]Message, error) {
	if m.Placeholder != "" {
		return r.placeholder(out, m.Placeholder)
	}
	rendered := m.Message
	if rendered.Content.Parts == nil {
		text, err := r.text(m.templates[0])
		rendered.Content.Text = text
		return append(out, rendered), err
	}
	rendered.Content.Parts = slices.Clone(rendered.Content.Parts)
	for i := range rendered.Content.Parts {
		text, err := r.text(m.templates[i])
		if err != nil {
			return nil, err
		}
		if part := &rendered.Content.Parts[i]; part.Type == PartImage {
			part.ImageURL = &ImageURL{URL: text, Detail: part.ImageURL.Detail}
		} else {
			part.Text = text
		}
	}
	return append(out, rendered), nil
}
