package dialect

import (
	"bytes"

	"penstock"
	"penstock/internal/body"
)

const (
	// attachmentBytes is the length from which on text without a gap is no language: base64 of a picture or a
	// document.
	attachmentBytes = 1024
	// attachmentTokens is the size of a common picture in tokens. It does not depend on the bytes.
	attachmentTokens = 1024
)

// LikelyInput is how many tokens a body is likely to be: a token for each four bytes, but a bounded
// number for its images and documents.
//
// Every stream is estimated when it begins, so it looks at few bytes: an image or a document is so long that it cannot
// lie between two of them.
func LikelyInput(body []byte, ranking Ranking) int64 {
	text, attachments := len(body), int64(0)
	for at := attachmentBytes - 1; at < len(body); at += attachmentBytes {
		start, end := at, at
		for end < len(body) && isBase64(body[end]) {
			end++
		}
		for end > at && start > 0 && isBase64(body[start-1]) {
			start--
		}
		if end-start >= attachmentBytes {
			text -= end - start
			attachments++
		}
		at = end
	}
	return penstock.InputTokens(int64(text)+ranking.Repeated()) + attachments*attachmentTokens
}

func isBase64(b byte) bool {
	switch {
	case 'a' <= b && b <= 'z', 'A' <= b && b <= 'Z', '0' <= b && b <= '9':
		return true
	}
	return b == '+' || b == '/' || b == '=' || b == '-' || b == '_'
}

// The bounds of the usage that an upstream may report: see [MostInput].
const (
	// UsageFactor is how often the bounds of a call may be exceeded: a token for each byte of input, and the output that was asked
	// for. Templates, the tools' own prompts and thinking that a server does not count as output stay far below it.
	UsageFactor = 4
	// UsageSlack is added for short calls: prompts that the upstream puts before the caller's, and thinking.
	UsageSlack = 64 << 10
	// OpenSlack is added where the length of the body does not bound the input or the output: documents and files, which are read by the
	// page, tools that the upstream runs, audio and video, and answers without a bound.
	OpenSlack = 4 << 20
)

// plainTypes are the types of parts of bodies, and of schemas in them, whose content is in the body.
var plainTypes = map[string]bool{
	"text": true, "input_text": true, "output_text": true, "message": true, "function": true, "function_call": true, "function_call_output": true,
	"tool_use": true, "tool_result": true, "thinking": true, "redacted_thinking": true, "reasoning": true, "ephemeral": true, "auto": true, "any": true,
	"tool": true, "none": true, "enabled": true, "disabled": true, "adaptive": true, "json_object": true, "json_schema": true, "custom": true, "grammar": true,
	"object": true, "string": true, "number": true, "integer": true, "boolean": true, "array": true, "null": true,
}

// MostInput is the most tokens of input that a body can be. It counts the bytes and the images of the body, and adds a bound for content that the body only
// refers to, and for documents to rank.
func MostInput(sent []byte, ranking Ranking) int64 {
	images, open := attachments(sent)
	most := UsageFactor*(int64(len(sent))+ranking.MostRepeated()) + images*body.ImageTokens + UsageSlack
	if open {
		most += OpenSlack
	}
	return min(most, penstock.MaxTokens-1)
}

// attachments counts the images among the types that a body names, and says whether one is of content of unknown length. It runs for
// every stream, so it does not parse the body: a text that is mistaken for a type only makes the bound larger.
func attachments(sent []byte) (images int64, open bool) {
	name := []byte(`"type"`)
	for {
		at := bytes.Index(sent, name)
		if at < 0 {
			return images, open
		}
		sent = bytes.TrimLeft(sent[at+len(name):], ": \t\r\n")
		value, quoted := bytes.CutPrefix(sent, []byte(`"`))
		end := bytes.IndexByte(value[:min(len(value), maxTypeBytes)], '"')
		switch {
		case !quoted || end < 0:
		case bytes.Contains(value[:end], []byte("image")):
			images++
		case !plainTypes[string(value[:end])]:
			open = true
		}
	}
}

// maxTypeBytes bounds the name of a type; longer ones are none that is known.
const maxTypeBytes = 64
