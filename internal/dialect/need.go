package dialect

import (
	"bytes"

	"penstock"
)

// Needs are the capabilities that the body asks of a target, in any format.
func (inf *Inference) Needs() penstock.Capabilities {
	o := inf.Object
	var list []penstock.Capability
	if given(o.Raw("tools")) || given(o.Raw("functions")) {
		list = append(list, penstock.CapabilityTools)
	}
	for _, name := range []string{"response_format", "output_format", "output_config", "text"} {
		if hasWord(o.Raw(name), "json_schema") {
			list = append(list, penstock.CapabilityJSONSchema)
		}
	}
	if streams, err := o.Bool("stream"); err == nil && streams {
		list = append(list, penstock.CapabilityStreaming)
	}
	for _, name := range []string{"messages", "input"} {
		raw := o.Raw(name)
		// A part of OpenAI's says what it is in one word; one of Anthropic's is an image with a source.
		if hasWord(raw, "image_url") || hasWord(raw, "input_image") || (hasWord(raw, "image") && hasWord(raw, "source")) {
			list = append(list, penstock.CapabilityVision)
		}
	}
	if inf.Ranking.Documents > 0 {
		list = append(list, penstock.CapabilityRerank)
	}
	return penstock.NewCapabilities(list...)
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
