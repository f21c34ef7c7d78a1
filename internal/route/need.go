package route

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"penstock"
	"penstock/internal/body"
)

// Needs is what a call asks of a target.
type Needs struct {
	Capabilities  penstock.Capabilities
	ContextTokens int64 // an estimate of its input, what is in images left out
}

// lacks says why a target cannot serve, "" when it can.
func (n Needs) lacks(t *penstock.Target) string {
	if missing := n.Capabilities & t.Lacks; missing != 0 {
		return "lacks " + joined(missing.List())
	}
	if t.ContextTokens > 0 && n.ContextTokens > t.ContextTokens {
		return fmt.Sprintf("takes %d tokens, not about %d", t.ContextTokens, n.ContextTokens)
	}
	return ""
}

// Picky says whether any target cannot serve every call: only then is it worth finding out what one needs.
func Picky(targets []*penstock.Target) bool {
	return slices.ContainsFunc(targets, func(t *penstock.Target) bool { return t.Lacks != 0 || t.ContextTokens > 0 })
}

// NeedsOf reads what the body of a call asks for, in any dialect. A body that is no JSON object needs nothing: its
// upstream says better what is wrong with it.
func NeedsOf(text []byte) Needs {
	object, err := body.Scan(text)
	if err != nil {
		return Needs{}
	}
	var list []penstock.Capability
	if given(object.Raw("tools")) || given(object.Raw("functions")) {
		list = append(list, penstock.CapabilityTools)
	}
	for _, name := range []string{"response_format", "output_format", "output_config", "text"} {
		if hasWord(object.Raw(name), "json_schema") {
			list = append(list, penstock.CapabilityJSONSchema)
		}
	}
	if streams, err := object.Bool("stream"); err == nil && streams {
		list = append(list, penstock.CapabilityStreaming)
	}
	for _, name := range []string{"messages", "input"} {
		raw := object.Raw(name)
		// A part of OpenAI's says what it is in one word; one of Anthropic's is an image with a source.
		if hasWord(raw, "image_url") || hasWord(raw, "input_image") || (hasWord(raw, "image") && hasWord(raw, "source")) {
			list = append(list, penstock.CapabilityVision)
		}
	}
	return Needs{penstock.NewCapabilities(list...), penstock.InputTokens(textBytes(text))}
}

// given says that a list has something in it.
func given(list []byte) bool {
	inside, isList := bytes.CutPrefix(bytes.TrimSpace(list), []byte("["))
	return isList && len(bytes.TrimSpace(inside)) > 1
}

// hasWord says whether a word is a name or a whole string in some JSON. Quotes inside strings are escaped, so
// it is not found in what people write.
func hasWord(text []byte, word string) bool { return bytes.Contains(text, []byte(`"`+word+`"`)) }

// shortBlob is the least length of a string that may be data rather than words.
const shortBlob = 1 << 10

// textBytes is the size of a body without its data: strings that are long and have neither a space nor an
// escape are images, which are no tokens by the byte.
func textBytes(text []byte) int64 {
	size := int64(len(text))
	for {
		from := bytes.IndexByte(text, '"')
		if from < 0 {
			return size
		}
		text = text[from+1:]
		to := bytes.IndexByte(text, '"')
		for to > 0 && escaped(text[:to]) {
			next := bytes.IndexByte(text[to+1:], '"')
			if next < 0 {
				return size
			}
			to += 1 + next
		}
		if to < 0 {
			return size
		}
		if to >= shortBlob && !bytes.ContainsAny(text[:to], " \\") {
			size -= int64(to)
		}
		text = text[to+1:]
	}
}

// escaped says that what follows is not the end of a string: an odd number of backslashes is before it.
func escaped(s []byte) bool {
	n := 0
	for n < len(s) && s[len(s)-1-n] == '\\' {
		n++
	}
	return n%2 == 1
}

func joined[T ~string](list []T) string {
	words := make([]string, len(list))
	for i, w := range list {
		words[i] = string(w)
	}
	return strings.Join(words, ", ")
}

// Serves says whether a target can serve the call of a query.
func (q *Query) Serves(t *penstock.Target) bool { return q.Needs.lacks(t) == "" }
