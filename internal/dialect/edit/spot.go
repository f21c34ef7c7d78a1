package edit

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"penstock/internal/body"
)

// spot is a place in an answer where text stands.
type spot struct {
	key
	at  body.Span
	raw bool // the text is a JSON value and not a string
}

// key tells the texts of an answer apart.
type key struct {
	kind          Kind
	choice, block int
	member        string // "" in events of responses, which name one text by several members
}

// extent says how much of a text a delta is.
type extent bool

const (
	someText  extent = false
	wholeText extent = true // or the rest of it
)

// delta is a text at the spot.
func (s *spot) delta(text string, much extent) Delta {
	return Delta{Kind: s.kind, Choice: s.choice, Block: s.block, Member: s.member, Text: text, Last: bool(much)}
}

// text is the text at a spot.
func (s *spot) text(of []byte) string {
	raw := of[s.at.Start:s.at.End]
	if s.raw {
		return string(raw)
	}
	if inner := raw[1 : len(raw)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return string(inner)
	}
	text, _ := jsontext.AppendUnquote(nil, raw) // the walk has found it to be valid
	return string(text)
}

// encode returns the JSON value of a text. Arguments that an answer has as an object must stay an object: other text is withheld.
func (s *spot) encode(text string) string {
	if !s.raw {
		return quote(text)
	}
	if value := jsontext.Value(text); value.Kind() == '{' && value.IsValid() && bytes.IndexByte(value, '\n') < 0 {
		return text
	}
	return "{}"
}

// class is what the value of a member is.
type class uint8

const (
	unknown   class = iota // strings in it are text of kind Other
	ignored                // no text: names, ids, counts, encrypted or binary data, and what the caller itself sent
	ofText                 // text, or a list of blocks that hold it
	ofInput                // arguments
	ofThought              // reasoning
	ofDelta                // text whose kind the type of the event says
	ofLogprobs
	ofType
	ofFinish
	ofIndex // the number of what the object is
	ofOutputIndex
	ofBlockIndex
	ofSummaryIndex
	ofSequence
)

// classes are those of members by their names, in all formats.
var classes = map[string]class{
	"content": ofText, "text": ofText, "refusal": ofText, "transcript": ofText, "completion": ofText,
	"arguments": ofInput, "partial_json": ofInput, "input": ofInput, "code": ofInput,
	"reasoning_content": ofThought, "reasoning": ofThought, "thinking": ofThought, "summary": ofThought,
	"delta": ofDelta, "logprobs": ofLogprobs, "type": ofType, "finish_reason": ofFinish,
	"index": ofIndex, "output_index": ofOutputIndex, "content_index": ofBlockIndex, "summary_index": ofSummaryIndex, "sequence_number": ofSequence,

	"id": ignored, "object": ignored, "model": ignored, "role": ignored, "stop_reason": ignored, "native_finish_reason": ignored, "system_fingerprint": ignored,
	"service_tier": ignored, "status": ignored, "item_id": ignored, "call_id": ignored, "tool_use_id": ignored, "name": ignored, "server_label": ignored, "usage": ignored, "obfuscation": ignored, "phase": ignored,
	"signature": ignored, "encrypted_content": ignored, "data": ignored, "b64_json": ignored, "partial_image_b64": ignored, "embedding": ignored,
	"media_type": ignored, "format": ignored, "request_id": ignored,
	// A response repeats the request that it answers.
	"instructions": ignored, "tools": ignored, "tool_choice": ignored, "metadata": ignored, "user": ignored, "prompt": ignored, "safety_identifier": ignored,
	"prompt_cache_key": ignored, "previous_response_id": ignored, "truncation": ignored, "verbosity": ignored,
}

// listNames are members that hold lists of what is numbered.
var listNames = []string{"choices", "output", "tool_calls", "message", "item", "part", "response", "reasoning_details", "annotations"}

// names are the names that are known, so that none of them is copied out of an answer.
var names = func() map[string]string {
	all := map[string]string{}
	for name := range classes {
		all[name] = name
	}
	for _, name := range listNames {
		all[name] = name
	}
	return all
}()

// nameOf is a name as a string.
func nameOf(name []byte) string {
	if known, ok := names[string(name)]; ok {
		return known
	}
	return string(name)
}

// logprobs are log probabilities of the tokens of a choice.
type logprobs struct {
	at     body.Span
	choice int
	isList bool
	gone   bool
}

// walker finds the spots of an answer, in one pass.
type walker struct {
	body.Cursor
	text     []byte
	spots    []spot
	logprobs []logprobs
	finished []int // the choices that the event ends
	strict   bool  // every string is text

	kind     []byte    // the type of the event
	index    int       // of the event, -1 for none
	repeats  bool      // its texts were streamed before
	sequence body.Span // its number in the stream
}

// firstSummary is the block of the first summary of a reasoning, which has blocks of content beside it.
const firstSummary = 1 << 20

// unset is a number that is not known yet.
const unset = -1

// place is where a value stands: in which choice and block, as far as that is known.
type place struct {
	choice, block int
	within        string // the list that it is an element of, "" for none
	depth         int
}

// maxDepth bounds how deep text is looked for.
const maxDepth = 200

// walk finds the spots of a text. It reports whether the text is a JSON object.
func (w *walker) walk(text []byte) bool {
	*w = walker{Cursor: body.NewCursor(text), text: text, spots: w.spots[:0], logprobs: w.logprobs[:0], finished: w.finished[:0], strict: w.strict, index: unset}
	if w.Kind() != '{' {
		return false
	}
	w.object(place{choice: unset, block: unset})
	isResponse := bytes.HasPrefix(w.kind, []byte("response."))
	for i := range w.spots {
		s := &w.spots[i]
		s.choice, s.block = max(s.choice, 0), max(s.block, 0)
		if isResponse {
			s.member = ""
		}
	}
	for i := range w.logprobs {
		w.logprobs[i].choice = max(w.logprobs[i].choice, 0)
	}
	w.repeats = isResponse && !bytes.HasSuffix(w.kind, []byte(".delta"))
	return w.End() == nil
}

// object reads an object. Its type and its number may stand behind its texts, so they are filled in at its end.
func (w *walker) object(p place) {
	if p.depth > maxDepth {
		w.Skip()
		return
	}
	first, firstLog, number := len(w.spots), len(w.logprobs), unset
	var kind []byte
	finish := false
	for name := range w.Members {
		c := classes[string(name)]
		if w.strict {
			c = unknown
		}
		switch c {
		case ofType:
			raw := w.Raw()
			if len(raw) > 1 && raw[0] == '"' {
				kind = raw[1 : len(raw)-1]
			}
		case ofIndex, ofOutputIndex, ofBlockIndex, ofSummaryIndex:
			w.number(c, &p, &number)
		case ofFinish:
			finish = string(w.Raw()) != "null"
		case ofSequence:
			w.sequence = w.span()
		case ofLogprobs:
			isList := w.Kind() == '['
			if at := w.span(); string(w.text[at.Start:at.End]) != "null" {
				w.logprobs = append(w.logprobs, logprobs{at: at, choice: p.choice, isList: isList})
			}
		case ignored:
			w.Skip()
		default:
			w.member(name, c, p)
		}
	}
	if p.depth == 0 {
		w.kind, w.index = kind, number
	}
	w.settle(first, firstLog, p, number)
	w.classify(w.spots[first:], kind)
	if finish && p.within == "choices" {
		w.finished = append(w.finished, max(number, p.choice, 0))
	}
}

// number reads the number of an object, or of the place of an event's text.
func (w *walker) number(c class, p *place, own *int) {
	if k := w.Kind(); k < '0' || k > '9' {
		w.Skip()
		return
	}
	raw := w.Raw()
	n := 0
	for _, digit := range raw {
		if digit < '0' || digit > '9' || n > 1<<20 {
			return
		}
		n = n*10 + int(digit-'0')
	}
	switch c {
	case ofIndex:
		*own = n
	case ofOutputIndex:
		p.choice = n
	case ofBlockIndex:
		p.block = n
	case ofSummaryIndex:
		p.block = firstSummary + n
	}
}

// settle fills in where the texts of an object stand, as far as its members say so.
func (w *walker) settle(first, firstLog int, p place, number int) {
	choice, block := p.choice, p.block
	switch {
	case number == unset:
	case p.within == "choices":
		choice = number
	case p.within == "tool_calls" || p.depth == 0:
		block = number
	}
	for i := first; i < len(w.spots); i++ {
		s := &w.spots[i]
		if s.choice == unset || p.within == "choices" {
			s.choice = choice
		}
		if s.block == unset || p.within == "tool_calls" {
			s.block = block
		}
	}
	for i := firstLog; i < len(w.logprobs); i++ {
		if l := &w.logprobs[i]; l.choice == unset || p.within == "choices" {
			l.choice = choice
		}
	}
}

// span passes over a value and returns where it stands.
func (w *walker) span() body.Span {
	start := w.Offset()
	return body.Span{Start: start, End: start + len(w.Raw())}
}

// member reads the value of a member that may hold text.
func (w *walker) member(name []byte, c class, p place) {
	switch kind := w.Kind(); {
	case kind == '"':
		w.spots = append(w.spots, spot{key: key{kindOf(c), p.choice, p.block, nameOf(name)}, at: w.span()})
	case kind == '{' && c == ofInput:
		w.spots = append(w.spots, spot{key: key{Arguments, p.choice, p.block, nameOf(name)}, at: w.span(), raw: true})
	case kind == '{' && c == ofThought:
		w.Skip() // a response repeats how much it was to think
	case kind == '{' || kind == '[':
		w.value(nameOf(name), p)
	default:
		w.Skip()
	}
}

// value reads a value of a member for the texts in it.
func (w *walker) value(name string, p place) {
	p.depth++
	switch w.Kind() {
	case '{':
		p.within = ""
		w.object(p)
	case '[':
		if p.depth > maxDepth {
			w.Skip()
			return
		}
		for n := range w.Elements {
			w.element(name, n, p)
		}
	}
}

// element reads an element of a list.
func (w *walker) element(name string, n int, p place) {
	p.within = name
	switch name {
	case "choices", "output":
		p.choice = n
	case "content", "tool_calls":
		p.block = n
	case "summary":
		p.block = firstSummary + n
	}
	switch w.Kind() {
	case '"':
		w.spots = append(w.spots, spot{key: key{kindOf(classes[name]), p.choice, p.block, name}, at: w.span()})
	case '{':
		w.object(p)
	case '[':
		w.value(name, p)
	default:
		w.Skip()
	}
}

func kindOf(c class) Kind {
	switch c {
	case ofText:
		return Text
	case ofInput:
		return Arguments
	case ofThought:
		return Reasoning
	}
	return Other
}

// classify says what texts are by the type of the object that they stand in.
func (w *walker) classify(spots []spot, kind []byte) {
	if len(kind) == 0 {
		return
	}
	thought := hasAny(kind, "reasoning", "thinking", "summary")
	for i := range spots {
		s := &spots[i]
		switch {
		case s.member == "delta":
			s.kind = deltaKind(kind)
		case thought && s.kind == Text:
			s.kind = Reasoning
		}
	}
}

// deltaKind is the kind of text that an event of a response carries.
func deltaKind(event []byte) Kind {
	switch {
	case hasAny(event, "reasoning", "thinking", "summary"):
		return Reasoning
	case hasAny(event, "arguments", "_input", "_code"):
		return Arguments
	case hasAny(event, "text", "refusal", "transcript"):
		return Text
	}
	return Other
}

func hasAny(text []byte, words ...string) bool {
	for _, word := range words {
		if bytes.Contains(text, []byte(word)) {
			return true
		}
	}
	return false
}
