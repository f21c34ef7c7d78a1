package dialect

import (
	"bytes"

	"penstock"
)

// Needs are the capabilities that the body asks of a target, in any format.
func (inf *Inference) Needs() penstock.Capabilities {
	var list []penstock.Capability
	inf.eachNeed(func(c penstock.Capability, _ string) { list = append(list, c) })
	return penstock.NewCapabilities(list...)
}

// NeedMember is the first member of the body that asks for a capability, "" if none does.
func (inf *Inference) NeedMember(wanted penstock.Capability) (member string) {
	inf.eachNeed(func(c penstock.Capability, name string) {
		if c == wanted && member == "" {
			member = name
		}
	})
	return member
}

// eachNeed calls f with each capability that the body asks for, and the member that does.
func (inf *Inference) eachNeed(f func(c penstock.Capability, member string)) {
	o := inf.Object
	for _, name := range []string{"tools", "functions"} {
		if given(o.Raw(name)) {
			f(penstock.CapabilityTools, name)
		}
	}
	for _, name := range inf.formatMembers() {
		if hasWord(o.Raw(name), "json_schema") {
			f(penstock.CapabilityJSONSchema, name)
		}
	}
	if streams, err := o.Bool("stream"); err == nil && streams {
		f(penstock.CapabilityStreaming, "stream")
	}
	for _, name := range []string{"messages", "input"} {
		raw := o.Raw(name)
		// A part of OpenAI's says what it is in one word; one of Anthropic's is an image with a source.
		if hasWord(raw, "image_url") || hasWord(raw, "input_image") || (hasWord(raw, "image") && hasWord(raw, "source")) {
			f(penstock.CapabilityVision, name)
		}
	}
	if inf.Ranking.Documents > 0 {
		f(penstock.CapabilityRerank, "model") // every call of the endpoint needs it
	}
}

// formatMembers are the members in which an endpoint is asked for a form of the answer. The member of another endpoint is a stray: the
// upstream does not read it.
func (inf *Inference) formatMembers() []string {
	if inf.Format == nil {
		return []string{"response_format", "output_format", "output_config", "text"}
	}
	switch inf.Format.Endpoint {
	case penstock.EndpointResponses:
		return []string{"text"}
	case penstock.EndpointMessages:
		return []string{"output_format", "output_config"}
	}
	return []string{"response_format"}
}

// ContextTokens is how many tokens the context of a target has to hold at least. Documents to rank are read one by one, and those that
// are too long are cut by the upstream.
func (inf *Inference) ContextTokens() int64 {
	if inf.Ranking.Documents > 0 {
		return 0
	}
	return penstock.InputTokens(inf.TextBytes())
}

// TextBytes is the size of the body without its data.
func (inf *Inference) TextBytes() int64 { return textBytes(inf.Object.Text) }

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
