package openai

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"penstock/internal/provider"
)

// patched is a body that is ready for the upstream.
type patched struct {
	body []byte
	// usageInjected: the upstream will tell usage in the stream although the caller did not ask.
	usageInjected bool
}

// patchBody makes the body that the upstream gets: the caller's bytes with the model replaced and,
// in a stream, usage asked for. Everything else keeps its bytes and its order, because a body that
// was parsed and written again no longer hits the upstream's prompt cache.
//
// A name that appears twice is rejected where we patch: which of the two counts differs from server
// to server, so that what was checked here could be something else there.
func patchBody(call provider.Call) (patched, error) {
	model, err := jsontext.AppendQuote(nil, call.UpstreamModel)
	if err != nil {
		return patched{}, &provider.Error{Kind: provider.KindInternal, Message: "the upstream model's name is not UTF-8", Err: err}
	}
	top, err := scanObject(call.Body, "model", "stream_options")
	if err != nil {
		return patched{}, rejectedBody("the body", err)
	}
	var edits []edit
	if at := top.values[0]; at.found() {
		edits = append(edits, edit{at, string(model)})
	} else {
		edits = append(edits, top.insertFirst(`"model":`+string(model)))
	}
	if !call.Stream {
		return patched{body: apply(call.Body, edits)}, nil
	}
	usage, err := askForUsage(call.Body, top)
	if err != nil {
		return patched{}, err
	}
	edits = append(edits, usage...)
	return patched{body: apply(call.Body, edits), usageInjected: len(usage) > 0}, nil
}

// askForUsage returns the edits that make a stream tell its usage, none if it does so already. A
// value of the wrong type is left for the upstream to complain about.
func askForUsage(body []byte, top object) ([]edit, error) {
	const includeUsage = `"include_usage":true`
	at := top.values[1]
	if !at.found() {
		// By now the object has a member before this one: the model, if nothing else.
		return []edit{{span{top.end, top.end}, `,"stream_options":{` + includeUsage + `}`}}, nil
	}
	value := body[at.start:at.end]
	if string(value) == "null" {
		return []edit{{at, "{" + includeUsage + "}"}}, nil
	}
	if value[0] != '{' {
		return nil, nil
	}
	options, err := scanObject(value, "include_usage")
	if err != nil {
		return nil, rejectedBody("stream_options", err)
	}
	asked := options.values[0]
	switch string(value[asked.start:asked.end]) {
	case "":
		return []edit{options.insertFirst(includeUsage).shifted(at.start)}, nil
	case "false", "null":
		return []edit{edit{asked, "true"}.shifted(at.start)}, nil
	default:
		return nil, nil
	}
}

func rejectedBody(what string, err error) *provider.Error {
	return &provider.Error{Kind: provider.KindRejected, Message: fmt.Sprintf("%s %v", what, err)}
}

// span is a range of bytes. No value starts at the first byte of an object, so the zero span says
// that there is none.
type span struct{ start, end int }

func (s span) found() bool { return s.end > 0 }

// edit replaces a range of bytes by a text.
type edit struct {
	at   span
	text string
}

func (e edit) shifted(by int) edit {
	return edit{span{e.at.start + by, e.at.end + by}, e.text}
}

// apply makes a new text; the old one is not touched. Edits at one place keep their order.
func apply(text []byte, edits []edit) []byte {
	slices.SortStableFunc(edits, func(a, b edit) int { return a.at.start - b.at.start })
	size := len(text)
	for _, e := range edits {
		size += len(e.text)
	}
	out := make([]byte, 0, size)
	done := 0
	for _, e := range edits {
		out = append(out, text[done:e.at.start]...)
		out = append(out, e.text...)
		done = e.at.end
	}
	return append(out, text[done:]...)
}

// object is where the parts of a JSON object stand in its text.
type object struct {
	start, end int    // just behind the opening brace, and at the closing one
	empty      bool   // it has no members
	values     []span // those of the names that were asked for
}

// insertFirst puts a member in front of all others.
func (o object) insertFirst(member string) edit {
	if !o.empty {
		member += ","
	}
	return edit{span{o.start, o.start}, member}
}

var errNotObject = errors.New("is not a JSON object")

// scanObject checks that text is one JSON object without repeated names and finds the values of
// some of its members. What is nested deeper is only checked for syntax.
func scanObject(text []byte, names ...string) (object, error) {
	// A Buffer lets the decoder work on the text itself instead of a copy.
	dec := jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true))
	open, err := dec.ReadToken()
	if err != nil {
		return object{}, notJSON(err)
	}
	if open.Kind() != '{' {
		return object{}, errNotObject
	}
	o := object{start: int(dec.InputOffset()), empty: dec.PeekKind() == '}', values: make([]span, len(names))}
	seen := make(map[string]struct{}, 16)
	for dec.PeekKind() != '}' {
		token, err := dec.ReadToken()
		if err != nil {
			return object{}, notJSON(err)
		}
		name := token.String()
		if _, twice := seen[name]; twice {
			return object{}, fmt.Errorf("names %.40q twice: servers disagree on which one counts", name)
		}
		seen[name] = struct{}{}
		value, err := dec.ReadValue()
		if err != nil {
			return object{}, notJSON(err)
		}
		if i := slices.Index(names, name); i >= 0 {
			end := int(dec.InputOffset())
			o.values[i] = span{end - len(value), end}
		}
	}
	if _, err := dec.ReadToken(); err != nil {
		return object{}, notJSON(err)
	}
	o.end = int(dec.InputOffset()) - 1
	if len(bytes.TrimLeft(text[o.end+1:], " \t\r\n")) > 0 {
		return object{}, fmt.Errorf("goes on after its JSON object ends at byte %d", o.end)
	}
	return o, nil
}

func notJSON(err error) error {
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return fmt.Errorf("is not valid JSON at byte %d: %w", syntax.ByteOffset, err)
	}
	return fmt.Errorf("is not valid JSON: %w", err)
}
