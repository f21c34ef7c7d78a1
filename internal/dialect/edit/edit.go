// Package edit reads and changes the answers of upstreams, plain and streamed, in the format of the endpoint that was called: chat
// completions, completions, messages, responses and embeddings. It is the place where filters of output sit.
//
// A caller hands the [Editor] each chunk of an answer with a function. The function gets every string that a model or an upstream
// wrote, as a [Delta], and returns the text that takes its place. A caller that needs all deltas of a chunk before it decides calls
// [Editor.Read] and then [Editor.Replace]. Names, ids, counts and encrypted data are not text and pass.
// A string that the package does not know is text of kind [Other]: so a member that an upstream adds does not get past a filter.
//
// Invariants:
//   - A function that returns each text as it is leaves every byte of the answer as it was.
//   - A changed chunk is valid in its format. Only the values that were changed differ, and what repeats them: log probabilities of
//     a changed text are removed, and the whole texts at the end of a response are those of its changed deltas.
//   - How a stream was cut into chunks, reads and lines does not matter: the same bytes give the same deltas and the same bytes.
//
// An Editor belongs to one answer and one goroutine.
package edit

import (
	"bytes"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"penstock"
	"penstock/internal/body"
	"penstock/internal/sse"
)

// Kind is what a text is to its model.
type Kind uint8

// The kinds of text.
const (
	Text      Kind = iota // words for the user, refusals and transcripts included
	Arguments             // arguments of a tool, JSON as text
	Reasoning             // thoughts of the model
	Other                 // any other string: an error's message, a result of a hosted tool, a member that is not known
)

// Delta is a piece of text in an answer. The pieces of one text have the same Kind, Choice, Block and Member, and come in
// their order.
type Delta struct {
	Kind   Kind
	Choice int // which of several answers, or which item of a response
	Block  int // which block of content, part or call of a tool in it
	// Member tells texts apart that stand side by side, such as two forms of one reasoning.
	Member string
	Text   string
	// Last says that no more of the text follows. A function that held some of it back must return it now, or it is withheld for
	// good. Text may be empty then.
	Last bool
}

// Func returns the text that takes the place of a delta's; "" withholds it.
type Func func(Delta) string

// maxEvent bounds one event of a stream that is edited.
const maxEvent = 64 << 20

// Editor edits one answer.
type Editor struct {
	endpoint penstock.Endpoint
	walker   walker
	open     []track // the texts of a stream that may go on
	added    int64   // events that were put into a stream of numbered events
	before   snapshot
}

// New returns the editor of an answer of an endpoint.
func New(endpoint penstock.Endpoint) *Editor { return &Editor{endpoint: endpoint} }

// Body edits a plain answer. A body that is no JSON object is one text of kind Other.
func (e *Editor) Body(text []byte, f Func) []byte {
	e.walker.strict = false
	return e.whole(text, f)
}

// Error edits the body or the message of an upstream's error. Upstreams put text of all kinds anywhere into their errors, so every
// string is text of kind Other.
func (e *Editor) Error(text []byte, f Func) []byte {
	e.walker.strict = true
	return e.whole(text, f)
}

func (e *Editor) whole(text []byte, f Func) []byte {
	if !e.walker.walk(text) {
		return other(text, f)
	}
	var edits []body.Edit
	for _, s := range e.walker.spots {
		if was := s.text(text); was != "" {
			edits = e.replace(edits, &s, was, f(s.delta(was, wholeText)))
		}
	}
	return apply(text, edits)
}

// Chunk edits a part of a stream that consists of whole events, framing included. It returns the same slice when nothing changed.
func (e *Editor) Chunk(wire []byte, f Func) []byte {
	if data, ok := onlyData(wire); ok { // nearly every chunk
		before, edited := e.Event(data, f)
		if len(before) == 0 && bytes.Equal(edited, data) {
			return wire
		}
		return appendFrame(nil, sse.Event{Type: typeOf(wire), Data: data, Raw: wire}, before, edited)
	}
	var out []byte // nil while nothing was changed
	events := sse.NewReader(bytes.NewReader(wire), maxEvent)
	for done := 0; ; {
		event, err := events.Next()
		if err != nil && (!errors.Is(err, io.ErrUnexpectedEOF) || len(event.Raw) == 0) {
			if out == nil {
				return wire
			}
			return append(out, wire[done:]...)
		}
		before, data := e.Event(event.Data, f)
		if out == nil && (before != nil || !bytes.Equal(data, event.Data)) {
			out = bytes.Clone(wire[:done])
		}
		done += len(event.Raw)
		if out != nil {
			out = appendFrame(out, event, before, data)
		}
		switch {
		case err == nil:
		case out == nil:
			return wire
		default:
			return out // the last event is not whole
		}
	}
}

// onlyData is the data of a chunk that is one event with one line of data and at most a type.
func onlyData(wire []byte) (data []byte, ok bool) {
	rest := wire
	if bytes.HasPrefix(rest, []byte("event: ")) {
		if _, rest, ok = bytes.Cut(rest, []byte("\n")); !ok {
			return nil, false
		}
	}
	rest, isData := bytes.CutPrefix(rest, []byte("data: "))
	data, ended := bytes.CutSuffix(rest, []byte("\n\n"))
	return data, isData && ended && bytes.IndexByte(data, '\n') < 0 && bytes.IndexByte(wire, '\r') < 0
}

// typeOf is the type of such a chunk.
func typeOf(wire []byte) []byte {
	line, _, _ := bytes.Cut(wire, []byte("\n"))
	kind, _ := bytes.CutPrefix(line, []byte("event: "))
	if len(kind) == len(line) {
		return nil
	}
	return kind
}

// appendFrame appends an event that was edited, behind those that are sent before it.
func appendFrame(out []byte, event sse.Event, before []Inserted, data []byte) []byte {
	for _, one := range before {
		out = sse.AppendEvent(out, sse.Event{Type: one.Type, Data: one.Data})
	}
	if bytes.Equal(data, event.Data) {
		return append(out, event.Raw...)
	}
	return sse.AppendEvent(out, sse.Event{Type: event.Type, ID: event.ID, Data: data})
}

// Reader edits a stream that comes in pieces of any size.
func (e *Editor) Reader(from io.Reader, f Func) io.Reader {
	return &reader{editor: e, events: sse.NewReader(from, maxEvent), f: f}
}

type reader struct {
	editor *Editor
	events *sse.Reader
	f      Func
	rest   []byte
	err    error
}

func (r *reader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		var event sse.Event
		if event, r.err = r.events.Next(); len(event.Raw) > 0 {
			before, data := r.editor.Event(event.Data, r.f)
			r.rest = appendFrame(nil, event, before, data)
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// Inserted is an event that is sent before another one, because a function returned text after the last delta of it had passed.
type Inserted struct{ Type, Data []byte }

// done ends the streams of OpenAI's older endpoints.
var done = []byte("[DONE]")

// Event edits the data of one event. The events before it, if any, are to be sent first.
func (e *Editor) Event(data []byte, f Func) (before []Inserted, edited []byte) {
	switch trimmed := bytes.TrimSpace(data); {
	case len(trimmed) == 0:
		return nil, data
	case bytes.Equal(trimmed, done):
		return e.rest(f), data
	}
	e.walker.strict = false
	if !e.walker.walk(data) {
		return nil, other(data, f)
	}
	ends := e.ending()
	var edits []body.Edit
	if !e.walker.repeats {
		edits = e.deltas(data, ends, f)
	}
	if ends != nil {
		before = e.end(data, ends, f)
	}
	if e.walker.repeats { // after what ends here
		edits = e.repeated(data, f)
	}
	if at := e.walker.sequence; e.added > 0 && at.Found() {
		edits = append(edits, body.Edit{At: at, Text: renumber(data[at.Start:at.End], e.added)})
	}
	return before, apply(data, edits)
}

// deltas edits the texts of an event that were not streamed before.
func (e *Editor) deltas(data []byte, ends func(*track) bool, f Func) (edits []body.Edit) {
	for i := range e.walker.spots {
		s := &e.walker.spots[i]
		was := s.text(data)
		if was == "" {
			continue
		}
		t, much := e.track(s), someText
		if ends != nil && ends(t) {
			t.closed, much = true, wholeText
		}
		now := f(s.delta(was, much))
		t.add(was, now)
		edits = e.replace(edits, s, was, now)
	}
	return edits
}

// replace adds the edit that puts a text in the place of another, and removes the log probabilities that repeat it.
func (e *Editor) replace(edits []body.Edit, s *spot, was, now string) []body.Edit {
	if now == was {
		return edits
	}
	edits = append(edits, body.Edit{At: s.at, Text: s.encode(now)})
	for i := range e.walker.logprobs {
		l := &e.walker.logprobs[i]
		if l.gone || l.choice != s.choice {
			continue
		}
		l.gone = true
		none := "null"
		if l.isList {
			none = "[]"
		}
		edits = append(edits, body.Edit{At: l.at, Text: none})
	}
	return edits
}

// other edits data that is no JSON.
func other(text []byte, f Func) []byte {
	was := string(text)
	if now := f(Delta{Kind: Other, Text: was, Last: true}); now != was {
		return []byte(now)
	}
	return text
}

// apply makes edits; without any, the text is the same slice.
func apply(text []byte, edits []body.Edit) []byte {
	if len(edits) == 0 {
		return text
	}
	return body.Apply(text, edits...)
}

// quote is a text as a JSON string.
func quote(text string) string {
	quoted, _ := jsontext.AppendQuote(nil, text) // invalid UTF-8 is replaced
	return string(quoted)
}
