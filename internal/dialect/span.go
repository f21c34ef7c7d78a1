package dialect

import (
	"iter"

	"github.com/go-json-experiment/json/jsontext"

	"penstock/internal/body"
)

// SpanKind is what a span of a request holds.
type SpanKind uint8

// The kinds of spans.
const (
	SpanText       SpanKind = iota // words
	SpanArguments                  // arguments of a tool that the model called before: a string of JSON, or an object
	SpanReasoning                  // thoughts of the model
	SpanDefinition                 // a tool that the model may call: the whole object
	SpanImage                      // an image: its address, or its data
	SpanFile                       // a document: its address, its data or its id
	SpanAudio                      // a sound: its data, its address or its id
	SpanOther                      // any other string in content, such as that of a kind of part that is not known
)

// Role is who a span is from.
type Role string

// The roles. Roles of a format that mean the same are one: developer is system, and function is tool.
const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool" // results of tools: text that neither the caller nor the model wrote
	RoleNone      Role = ""     // of definitions, and of messages that do not say
)

// Span is a place in the body of a request where content stands.
type Span struct {
	Kind SpanKind
	Role Role
	// Message is the number of the message or item that it is in, -1 for one beside the messages.
	Message int
	// At is where the value stands in the body: a string with its quotes, or an object.
	At body.Span
}

// Value is the content of a span: the text of a string, or the JSON of an object.
func (inf *Inference) Value(p Span) string {
	raw := inf.Object.Text[p.At.Start:p.At.End]
	if raw[0] != '"' {
		return string(raw)
	}
	text, _ := jsontext.AppendUnquote(nil, raw) // the body was scanned
	return string(text)
}

// Replace is the body with other text in the place of some spans. Spans that are objects keep their value if the text is no JSON.
func (inf *Inference) Replace(spans []Span, texts []string) []byte {
	edits := make([]body.Edit, 0, len(spans))
	for i, p := range spans {
		text := texts[i]
		if inf.Object.Text[p.At.Start] == '"' {
			quoted, _ := jsontext.AppendQuote(nil, text) // invalid UTF-8 is replaced
			text = string(quoted)
		} else if !jsontext.Value(text).IsValid() {
			continue
		}
		edits = append(edits, body.Edit{At: p.At, Text: text})
	}
	return body.Apply(inf.Object.Text, edits...)
}

// Spans are the spans of the body, in their order. They are found anew for each call: most requests are never asked for them.
func (inf *Inference) Spans() iter.Seq[Span] {
	return func(yield func(Span) bool) {
		w := spanWalker{Cursor: body.NewCursor(inf.Object.Text), yield: yield}
		for name := range w.Members {
			w.top(string(name))
			if w.done {
				return
			}
		}
	}
}

// spanWalker finds the spans of a body.
type spanWalker struct {
	body.Cursor
	yield func(Span) bool
	done  bool
}

// where is what is known of the place of a value.
type where struct {
	role    Role
	kind    SpanKind
	message int
	depth   int
}

// maxSpanDepth bounds how deep spans are looked for. A deeper value is one span.
const maxSpanDepth = 64

// top reads a member of the body.
func (w *spanWalker) top(name string) {
	switch name {
	case "messages", "input", "instructions", "contents":
		w.messages(name)
	case "system":
		w.content(where{RoleSystem, SpanText, -1, 0})
	case "prompt", "suffix", "query", "documents":
		w.content(where{RoleUser, SpanText, -1, 0})
	case "prediction":
		w.content(where{RoleAssistant, SpanText, -1, 0})
	case "tools", "functions":
		w.each(func(int) { w.found(where{kind: SpanDefinition, message: -1}) })
	default:
		w.Skip()
	}
}

// each calls read for each element of a list. A value that is not a list counts as its only element.
func (w *spanWalker) each(read func(n int)) {
	if w.Kind() != '[' {
		read(0)
		return
	}
	for n := range w.Elements {
		if w.done {
			w.Skip()
			continue
		}
		read(n)
	}
}

// messages reads a list of messages or items, or a text instead of it.
func (w *spanWalker) messages(name string) {
	role := RoleUser
	if name == "instructions" {
		role = RoleSystem
	}
	w.each(func(n int) {
		at := where{role, SpanText, n, 0}
		if w.Kind() == '{' {
			at.role = w.roleOf(role)
		}
		w.content(at)
	})
}

// roleOf looks ahead for the role of a message, which may stand behind its content.
func (w *spanWalker) roleOf(otherwise Role) Role {
	ahead := w.Cursor
	kind := ""
	for name := range ahead.Members {
		switch string(name) {
		case "role":
			switch role := ahead.String(); role {
			case "developer", "system":
				return RoleSystem
			case "tool", "function", "ipython":
				return RoleTool
			case "assistant", "model":
				return RoleAssistant
			default:
				return RoleUser
			}
		case "type":
			kind = ahead.String()
		default:
			ahead.Skip()
		}
	}
	switch {
	case len(kind) > len("_output") && kind[len(kind)-len("_output"):] == "_output":
		return RoleTool
	case kind == "reasoning" || len(kind) > len("_call") && kind[len(kind)-len("_call"):] == "_call":
		return RoleAssistant
	}
	return otherwise
}

// found reports the value that comes next.
func (w *spanWalker) found(at where) {
	start := w.Offset()
	raw := w.Raw()
	if len(raw) == 0 || raw[0] == 'n' || w.done {
		return
	}
	w.done = !w.yield(Span{at.kind, at.role, at.message, body.Span{Start: start, End: start + len(raw)}})
}

// spanNames say what the strings of members are. Those that are passed are no content.
var spanNames = map[string]struct {
	kind   SpanKind
	passed bool
}{
	"text": {kind: SpanText}, "content": {kind: SpanText}, "refusal": {kind: SpanText}, "transcript": {kind: SpanText}, "title": {kind: SpanText}, "context": {kind: SpanText}, "output": {kind: SpanText},
	"thinking": {kind: SpanReasoning}, "reasoning": {kind: SpanReasoning}, "reasoning_content": {kind: SpanReasoning}, "summary": {kind: SpanReasoning},
	"arguments": {kind: SpanArguments}, "input": {kind: SpanArguments},
	"image_url": {kind: SpanImage}, "image": {kind: SpanImage}, "images": {kind: SpanImage},
	"file": {kind: SpanFile}, "file_data": {kind: SpanFile}, "file_url": {kind: SpanFile}, "file_id": {kind: SpanFile},
	"input_audio": {kind: SpanAudio}, "audio": {kind: SpanAudio}, "audio_url": {kind: SpanAudio},
	"type": {passed: true}, "role": {passed: true}, "id": {passed: true}, "tool_call_id": {passed: true}, "tool_use_id": {passed: true}, "call_id": {passed: true}, "cache_control": {passed: true},
	"signature": {passed: true}, "encrypted_content": {passed: true}, "detail": {passed: true}, "media_type": {passed: true}, "format": {passed: true}, "status": {passed: true}, "filename": {passed: true}, "name": {passed: true},
}

// content reads content: a string, a part, a message, or a list of them.
func (w *spanWalker) content(at where) {
	switch kind := w.Kind(); {
	case w.done:
		w.Skip()
	case kind == '"' || at.depth > maxSpanDepth:
		w.found(at)
	case kind == '[':
		at.depth++
		w.each(func(int) { w.content(at) })
	case kind == '{':
		at.depth++
		w.object(at)
	default:
		w.Skip()
	}
}

// object reads a part or a message. Its type says what its data is.
func (w *spanWalker) object(at where) {
	kind := w.typeOf()
	if kind == "tool_result" || kind == "search_result" {
		at.role = RoleTool
	}
	base := at.kind
	if media := mediaOf(kind); media != SpanOther {
		base = media
	}
	for name := range w.Members {
		inner := at
		switch known, ok := spanNames[string(name)]; {
		case known.passed:
			w.Skip()
			continue
		case ok && known.kind == SpanText && base == SpanReasoning:
			inner.kind = SpanReasoning
		case ok:
			inner.kind = known.kind
		case string(name) == "data" && kind == "text": // a document of words
			inner.kind = SpanText
		case base == SpanText:
			inner.kind = SpanOther
		default: // the address or the data of what the object is
			inner.kind = base
		}
		if inner.kind == SpanArguments && w.Kind() == '{' {
			w.found(inner)
			continue
		}
		w.content(inner)
	}
}

// typeOf looks ahead for the type of an object.
func (w *spanWalker) typeOf() string {
	ahead := w.Cursor
	for name := range ahead.Members {
		if string(name) == "type" && ahead.Kind() == '"' {
			return ahead.String()
		}
		ahead.Skip()
	}
	return ""
}

// mediaOf is the kind of what a type of part holds, SpanOther where its members say.
func mediaOf(kind string) SpanKind {
	switch kind {
	case "image", "image_url", "input_image":
		return SpanImage
	case "document", "file", "input_file":
		return SpanFile
	case "input_audio", "audio":
		return SpanAudio
	case "reasoning", "thinking", "reasoning_text", "summary_text":
		return SpanReasoning
	}
	return SpanOther
}
