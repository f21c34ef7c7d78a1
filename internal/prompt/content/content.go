// Package content is the content of prompts: messages with templates, configuration, and the schema of the variables.
//
// It owns the rules for all of them, their canonical form and its hash, the rendering into messages, and the differences between
// two contents. It stores nothing and knows no tenant: package prompt finds the versions that a content refers to.
//
// The way of a content: [Parse] checks it and parses its templates, [Parsed.Link] adds the partials that its references name, and
// [Compiled.Render] makes messages of it.
//
// Invariants:
//   - Values are data: package template never parses them, and messages in values are checked and copied.
//   - A Compiled is immutable and safe for concurrent use. The same content and variables give the same bytes.
//   - Everything is bounded by the constants below: the size of a content, of its partials, of variables and of the result.
package content

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"penstock"
)

// Bounds of a content, and of the work to render one.
const (
	MaxBytes       = 256 << 10 // of a content, as JSON
	MaxMessages    = 256
	MaxParts       = 64 // of one message
	MaxToolCalls   = 64 // of one message
	MaxConfigBytes = 64 << 10
	MaxTools       = 128
	MaxSchemaBytes = 64 << 10
	MaxSchemaNodes = 1000 // with every reference inside the schema replaced by its target
	MaxModelBytes  = 256

	MaxReferences      = 32      // of one content
	MaxReferenceDepth  = 8       // of contents that refer to each other
	MaxLinkedContents  = 256     // that one content reaches, each as often as it is reached
	MaxLinkedBytes     = 1 << 20 // of all of them
	MaxRenderedBytes   = 4 << 20
	MaxRenderSteps     = 100_000 // parts of templates, and rounds of loops
	MaxVariableNodes   = 20_000  // values inside the variables
	MaxVariableDepth   = 32
	MaxPlaceholderList = 1000 // messages that placeholders add
)

// Kind is the form of a prompt. It never changes.
type Kind string

// The kinds.
const (
	KindText Kind = "text" // one template; the only kind that others can include
	KindChat Kind = "chat" // messages with roles
)

// Kinds lists every kind.
var Kinds = []Kind{KindText, KindChat}

// Content is what a version fixes.
type Content struct {
	Kind        Kind            `json:"kind"`
	Text        string          `json:"text,omitempty"`     // of a text prompt: a template
	Messages    []Message       `json:"messages,omitempty"` // of a chat prompt
	Config      Config          `json:"config,omitempty"`
	InputSchema json.RawMessage `json:"input_schema,omitempty"` // of the variables; nil for the derived schema
}

// Message is a message of a chat prompt, or a rendered message. The texts of a prompt's message are templates.
type Message struct {
	Role       string     `json:"role,omitempty"`
	Name       string     `json:"name,omitempty"`
	Content    Body       `json:"content,omitzero"`
	ToolCalls  []ToolCall `json:"tool_calls,omitempty"` // of an assistant's message, as they are
	ToolCallID string     `json:"tool_call_id,omitempty"`
	// Placeholder names a variable with a list of messages, which stand in the place of this one. Nothing else is set then.
	Placeholder string `json:"placeholder,omitempty"`
}

// Body is the content of a message: a text, or parts.
type Body struct {
	Text  string
	Parts []Part // nil for a text
}

// Part is a part of a message: a text, or an image.
type Part struct {
	Type     string    `json:"type"`
	Text     string    `json:"text,omitempty"`
	ImageURL *ImageURL `json:"image_url,omitempty"`
}

// The types of parts.
const (
	PartText  = "text"
	PartImage = "image_url"
)

// ImageURL is an image, by a link or a data URL.
type ImageURL struct {
	URL    string `json:"url"`
	Detail string `json:"detail,omitempty"`
}

// ToolCall is a call of a tool in an example.
type ToolCall struct {
	ID       string   `json:"id"`
	Type     string   `json:"type"`
	Function Function `json:"function"`
}

// Function is the function that a tool call calls.
type Function struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// Roles lists the roles of messages.
var Roles = []string{"system", "developer", "user", "assistant", "tool"}

// MarshalJSON writes a string or a list, without the escapes that protect HTML: an encoder that wants them adds them.
func (b Body) MarshalJSON() ([]byte, error) {
	var value any = b.Text
	if b.Parts != nil {
		value = b.Parts
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	err := enc.Encode(value)
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), err
}

// UnmarshalJSON reads a string, a list or null.
func (b *Body) UnmarshalJSON(text []byte) error {
	*b = Body{}
	if trimmed := bytes.TrimSpace(text); len(trimmed) > 0 && trimmed[0] == '[' {
		b.Parts = []Part{}
		return strictly(text, &b.Parts)
	}
	return json.Unmarshal(text, &b.Text)
}

// IsZero reports whether there is no content.
func (b Body) IsZero() bool { return b.Text == "" && b.Parts == nil }

// strictly decodes JSON and refuses unknown members.
func strictly(text []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	return dec.Decode(into)
}

// Encode writes a content as it is stored.
func (c Content) Encode() ([]byte, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("encoding a prompt: %w", err)
	}
	return text, nil
}

// Decode undoes Encode.
func Decode(text []byte) (c Content, err error) {
	if err := json.Unmarshal(text, &c); err != nil {
		return c, fmt.Errorf("decoding a prompt: %w", err)
	}
	return c, nil
}

// Resolved is a reference with the version that it meant when it was resolved.
type Resolved struct {
	Written string `json:"written"` // in the template
	Name    string `json:"name"`
	Version int64  `json:"version"`
}

// Hash identifies a content with the versions that it refers to: SHA-256 of its canonical JSON, in hexadecimal. The order of
// members and white space do not count.
func (c Content) Hash(references []Resolved) (string, error) {
	references = slices.Clone(references)
	slices.SortFunc(references, func(x, y Resolved) int { return bytes.Compare([]byte(x.Written), []byte(y.Written)) })
	text, err := canonical(struct {
		Content
		References []Resolved `json:"references,omitempty"`
	}{c, references})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

// canonical is JSON with sorted names and no white space. Numbers keep their digits.
func canonical(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encoding a prompt: %w", err)
	}
	var plain any
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&plain); err != nil {
		return nil, fmt.Errorf("reading an encoded prompt: %w", err)
	}
	return json.Marshal(plain)
}

// check refuses a content whose shape is wrong, and compacts what is kept as JSON. Codes: invalid_request.
func (c *Content) check() error {
	switch c.Kind {
	case KindText:
		if len(c.Messages) > 0 {
			return penstock.InvalidParam("messages", "A prompt of kind text has text, not messages; use kind chat for messages.")
		}
		if c.Text == "" {
			return penstock.InvalidParam("text", "text must not be empty.")
		}
	case KindChat:
		if c.Text != "" {
			return penstock.InvalidParam("text", "A prompt of kind chat has messages, not text; use kind text for a single text.")
		}
		if len(c.Messages) == 0 || len(c.Messages) > MaxMessages {
			return penstock.InvalidParam("messages", "messages must have 1 to %d messages.", MaxMessages)
		}
	default:
		return penstock.InvalidParam("kind", "kind must be text or chat.")
	}
	for i := range c.Messages {
		if err := c.Messages[i].check(fmt.Sprintf("messages[%d]", i)); err != nil {
			return err
		}
	}
	if err := c.Config.check(); err != nil {
		return err
	}
	text, err := c.Encode()
	if err != nil {
		return err
	}
	if len(text) > MaxBytes {
		return penstock.Errorf(penstock.CodeTooLarge, "The prompt has %d bytes; %d are the most. Move parts of it into prompts of kind text and include these as partials.", len(text), MaxBytes)
	}
	return nil
}
