package edit

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"penstock"
	"penstock/internal/body"
)

// track is one text of a stream while its deltas pass. A copy of a track is a snapshot of it: was and now only grow.
type track struct {
	key
	was, now []byte // all of it so far; only of responses, which repeat it
	repeats  bool
	closed   bool
}

// end says that nothing more of a text comes.
func (t *track) end() Delta {
	return Delta{Kind: t.kind, Choice: t.choice, Block: t.block, Member: t.member, Last: true}
}

// add notes a delta.
func (t *track) add(was, now string) {
	if t.repeats {
		t.was = append(t.was, was...)
		t.now = append(t.now, now...)
	}
}

// track finds or begins the text that a spot is a delta of. The pointer is valid until the next call.
func (e *Editor) track(s *spot) *track {
	for i := range e.open {
		if t := &e.open[i]; t.key == s.key {
			return t
		}
	}
	e.open = append(e.open, track{key: s.key, repeats: e.endpoint == penstock.EndpointResponses})
	return &e.open[len(e.open)-1]
}

// ending says which texts an event ends: those of a choice that has a reason to finish, of a block that stops, and of a part of a
// response that is done. A text ends once.
func (e *Editor) ending() func(*track) bool {
	w := &e.walker
	switch {
	case len(w.finished) > 0:
		return func(t *track) bool { return !t.closed && slices.Contains(w.finished, t.choice) }
	case string(w.kind) == "content_block_stop":
		return func(t *track) bool { return !t.closed && t.block == w.index }
	case w.repeats && bytes.HasSuffix(w.kind, []byte(".done")) && len(w.spots) > 0:
		return func(t *track) bool { return !t.closed && t.key == w.spots[0].key }
	}
	return nil
}

// end asks for what is left of the texts that an event ends and that it has no delta of.
func (e *Editor) end(data []byte, ends func(*track) bool, f Func) (before []Inserted) {
	for i := range e.open {
		t := &e.open[i]
		if !ends(t) {
			continue
		}
		t.closed = true
		if now := f(t.end()); now != "" {
			if one, ok := e.insert(data, t, now); ok {
				t.add("", now)
				before = append(before, one)
			}
		}
	}
	// Texts of responses are kept: later events repeat them.
	e.open = slices.DeleteFunc(e.open, func(t track) bool { return t.closed && !t.repeats })
	return before
}

// rest asks for what is left at the end of a stream whose upstream gave no reason to finish.
func (e *Editor) rest(f Func) []Inserted {
	chunk := `{"object":"chat.completion.chunk"}`
	if e.endpoint == penstock.EndpointCompletions {
		chunk = `{"object":"text_completion"}`
	}
	return e.end([]byte(chunk), func(t *track) bool { return !t.closed && !t.repeats }, f)
}

// repeated edits the texts of an event that were streamed before: they become what their deltas became. A text that is not what its
// deltas were is new to the function.
func (e *Editor) repeated(data []byte, f Func) (edits []body.Edit) {
	for i := range e.walker.spots {
		s := &e.walker.spots[i]
		was := s.text(data)
		if was == "" {
			continue
		}
		if now, ok := e.became(s, was); ok {
			edits = e.replace(edits, s, was, now)
			continue
		}
		edits = e.replace(edits, s, was, f(s.delta(was, wholeText)))
	}
	return edits
}

// became is what the deltas of a text became, if there were any and they were that text.
func (e *Editor) became(s *spot, was string) (string, bool) {
	for i := range e.open {
		if t := &e.open[i]; t.key == s.key && string(t.was) == was {
			return string(t.now), true
		}
	}
	return "", false
}

// insert is the event that carries text which is returned when nothing more of it comes. ok is false where the format has no place
// for it, and the text is withheld.
func (e *Editor) insert(data []byte, t *track, text string) (one Inserted, ok bool) {
	if t.kind == Other {
		return Inserted{}, false
	}
	switch e.endpoint {
	case penstock.EndpointMessages:
		return insertedBlock(t, text), true
	case penstock.EndpointResponses:
		return e.insertedPart(data, text), true
	}
	o, err := body.Scan(data)
	if err != nil { // a name that stands twice
		return Inserted{}, false
	}
	edits := []body.Edit{o.Replace("choices", e.insertedChoice(t, text))}
	if o.Value("usage").Found() {
		edits = append(edits, o.Replace("usage", "null"))
	}
	return Inserted{Data: body.Apply(data, edits...)}, true
}

// insertedChoice is the list of choices of a chunk that carries one text.
func (e *Editor) insertedChoice(t *track, text string) string {
	if e.endpoint == penstock.EndpointCompletions {
		return fmt.Sprintf(`[{"index":%d,"text":%s,"logprobs":null,"finish_reason":null}]`, t.choice, quote(text))
	}
	delta := fmt.Sprintf(`{%q:%s}`, chatMember(t), quote(text))
	if t.kind == Arguments {
		delta = fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":{"arguments":%s}}]}`, t.block, quote(text))
	}
	return fmt.Sprintf(`[{"index":%d,"delta":%s,"logprobs":null,"finish_reason":null}]`, t.choice, delta)
}

// chatMember is the member of a chat's delta that carries a text.
func chatMember(t *track) string {
	switch {
	case t.kind == Reasoning && (t.member == "reasoning" || t.member == "thinking"):
		return t.member
	case t.kind == Reasoning:
		return "reasoning_content"
	case t.member == "refusal":
		return t.member
	}
	return "content"
}

// insertedBlock is an event of a message that carries one text.
func insertedBlock(t *track, text string) Inserted {
	kind, member := "text_delta", "text"
	switch t.kind {
	case Arguments:
		kind, member = "input_json_delta", "partial_json"
	case Reasoning:
		kind, member = "thinking_delta", "thinking"
	}
	return Inserted{[]byte("content_block_delta"),
		fmt.Appendf(nil, `{"type":"content_block_delta","index":%d,"delta":{"type":%q,%q:%s}}`, t.block, kind, member, quote(text))}
}

// insertedPart is an event of a response that carries one text, made of the event that ends it.
func (e *Editor) insertedPart(data []byte, text string) Inserted {
	kind := strings.TrimSuffix(string(e.walker.kind), ".done") + ".delta"
	out := fmt.Appendf(nil, `{"type":%s,"delta":%s`, quote(kind), quote(text))
	o, err := body.Scan(data)
	if err != nil {
		return Inserted{[]byte(kind), append(out, '}')}
	}
	for _, name := range []string{"item_id", "output_index", "content_index", "summary_index"} {
		if raw := o.Raw(name); raw != nil {
			out = fmt.Appendf(out, `,%q:%s`, name, raw)
		}
	}
	if raw := o.Raw("sequence_number"); raw != nil {
		out = fmt.Appendf(out, `,"sequence_number":%s`, renumber(raw, e.added))
		e.added++
	}
	return Inserted{[]byte(kind), append(out, '}')}
}

// renumber is a number that is higher by the events that were put in.
func renumber(raw []byte, by int64) string {
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		return string(raw)
	}
	return strconv.FormatInt(n+by, 10)
}
