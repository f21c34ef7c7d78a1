package microbatch

import (
	"bytes"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"penstock/internal/body"
)

const (
	// maxRest bounds the members of a body beside its inputs. They are compared with those of other bodies.
	maxRest = 4 << 10
	// bytesPerToken is the approximate length of a token of English.
	bytesPerToken = 4
	// Only bodies with inputs of similar length share a call: a server that pads inputs to the longest would waste
	// most of its work. The upper bound of each bucket is four times that of the one before.
	firstBucket  = 128 // tokens per input
	bucketGrowth = 4
	lastBucket   = 3
)

// Embedding is the parsed body of a call for embeddings.
type Embedding struct {
	Inputs int
	Tokens int64 // an estimate of those of all inputs, at least 1 for each
	Shape  Shape

	elements []byte // the inputs, as they stand in a list
}

// Shape is what bodies must have in common to share a call.
type Shape struct {
	Rest   string // all members except the inputs and the model
	Texts  bool   // the inputs are texts and not lists of tokens: an upstream takes no mixture
	Bucket int    // how long they are
}

// Read parses the body of a call for embeddings. It reports false for a body that must be sent alone: because it is
// unusual, or because the upstream would refuse it anyway.
func Read(text []byte) (Embedding, bool) {
	object, err := body.Scan(text)
	if err != nil {
		return Embedding{}, false
	}
	e, ok := readInput(object.Raw("input"))
	if !ok {
		return Embedding{}, false
	}
	if e.Shape.Rest, ok = restOf(object); !ok {
		return Embedding{}, false
	}
	length := e.Tokens / int64(e.Inputs)
	for reach := int64(firstBucket); e.Shape.Bucket < lastBucket && length > reach; reach *= bucketGrowth {
		e.Shape.Bucket++
	}
	return e, true
}

// restOf writes the members of a body that are neither its inputs nor its model, in the order of their names.
func restOf(object body.Object) (string, bool) {
	var all []string
	size := 0
	for _, m := range object.Members {
		if m.Name == "input" || m.Name == "model" {
			continue
		}
		name, err := jsontext.AppendQuote(nil, m.Name)
		if err != nil {
			return "", false
		}
		one := "," + string(name) + ":" + string(object.Text[m.Value.Start:m.Value.End])
		if size += len(one); size > maxRest {
			return "", false
		}
		all = append(all, one)
	}
	slices.Sort(all)
	return strings.Join(all, ""), true
}

// readInput reads a text, a list of texts, a list of tokens, or a list of such lists.
func readInput(raw []byte) (Embedding, bool) {
	if len(raw) == 0 {
		return Embedding{}, false
	}
	switch raw[0] {
	case '"':
		e := Embedding{Inputs: 1, Tokens: textTokens(raw), Shape: Shape{Texts: true}, elements: raw}
		return e, len(raw) > len(`""`)
	case '[':
		return readList(raw)
	}
	return Embedding{}, false
}

func readList(raw []byte) (Embedding, bool) {
	var e Embedding
	dec := jsontext.NewDecoder(bytes.NewBuffer(raw))
	if _, err := dec.ReadToken(); err != nil {
		return e, false
	}
	of := dec.PeekKind()
	for ; dec.PeekKind() == of && of != ']'; e.Inputs++ {
		element, err := dec.ReadValue()
		if err != nil {
			return e, false
		}
		switch of {
		case '"':
			if len(element) == len(`""`) {
				return e, false
			}
			e.Tokens += textTokens(element)
		case '[':
			n := bytes.Count(element, []byte(",")) + 1
			if inner := bytes.TrimSpace(element[1 : len(element)-1]); len(inner) == 0 || bytes.ContainsAny(inner, `"[{`) {
				return e, false
			}
			e.Tokens += int64(n)
		case '0':
			e.Tokens++
		default:
			return e, false
		}
	}
	if e.Inputs == 0 || dec.PeekKind() != ']' {
		return e, false
	}
	e.Shape.Texts = of == '"'
	e.elements = bytes.TrimSpace(raw[1 : len(raw)-1])
	if of == '0' { // the tokens of one input
		e.Inputs, e.elements = 1, raw
	}
	return e, true
}

// textTokens estimates the tokens of a text as it stands in JSON.
func textTokens(quoted []byte) int64 { return int64(len(quoted)+bytesPerToken-1) / bytesPerToken }

// Merge makes one body of several of one shape. It names no model: the sender sets it.
func Merge(all []Embedding) []byte {
	size := len(`{"input":[]}`) + len(all[0].Shape.Rest)
	for i := range all {
		size += len(all[i].elements) + 1
	}
	text := append(make([]byte, 0, size), `{"input":[`...)
	for i := range all {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, all[i].elements...)
	}
	text = append(text, ']')
	text = append(text, all[0].Shape.Rest...)
	return append(text, '}')
}
