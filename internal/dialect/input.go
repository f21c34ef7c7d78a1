package dialect

import "penstock"

const (
	// attachmentBytes is the length from which on text without a gap is no language: base64 of a picture or a
	// document.
	attachmentBytes = 1024
	// attachmentTokens is the size of a common picture in tokens. It does not depend on the bytes.
	attachmentTokens = 1024
)

// EstimateInput is how many tokens a body is likely to be: a token for each four bytes, but a bounded
// number for what is attached to it.
//
// Every stream is estimated when it begins, so it looks at few bytes: what is attached is so long that it cannot
// lie between two looks.
func EstimateInput(body []byte) int64 {
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
	return penstock.InputTokens(int64(text)) + attachments*attachmentTokens
}

func isBase64(b byte) bool {
	switch {
	case 'a' <= b && b <= 'z', 'A' <= b && b <= 'Z', '0' <= b && b <= '9':
		return true
	}
	return b == '+' || b == '/' || b == '=' || b == '-' || b == '_'
}
