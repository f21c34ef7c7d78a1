package wire

import (
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
)

const (
	// redacted replaces a secret.
	redacted = "[redacted]"
	// minEncoded is the least length of an encoded form that is searched for: shorter forms occur in ordinary text.
	minEncoded = 8
	// minAnyCase is the least length of a secret that is also searched for in upper case and in lower case: a key of
	// hexadecimal digits works in either case, while "EMPTY" is written where no key is needed.
	minAnyCase = 16
	// maxBackslashes is how often JSON may have been put into JSON.
	maxBackslashes = 16
)

// redactor finds secrets in upstream answers, unchanged and in the forms in which an upstream may repeat them. Each
// character may be escaped as in JSON, URLs and HTML. The whole secret may be encoded as base64 or hexadecimal digits, or
// be in upper or lower case. The encoded forms may be escaped in the same way.
//
// It keeps keys out of answers that quote the request. It does not find a secret that an upstream disguises on purpose:
// an upstream that received the key has it.
type redactor struct {
	texts [256][]string // by their first byte, the longest first
}

func newRedactor(secrets []string) *redactor {
	r := &redactor{}
	for _, secret := range secrets {
		r.add(secret)
		forms := encodedForms(secret)
		if len(secret) >= minAnyCase {
			forms = append(forms, strings.ToLower(secret), strings.ToUpper(secret))
		}
		for _, form := range forms {
			if len(form) >= minEncoded {
				r.add(form)
			}
		}
	}
	for i := range r.texts {
		slices.SortFunc(r.texts[i], func(a, b string) int { return len(b) - len(a) })
	}
	return r
}

func (r *redactor) add(text string) {
	if first := text[0]; !slices.Contains(r.texts[first], text) {
		r.texts[first] = append(r.texts[first], text)
	}
}

// encodedForms are what is left of a secret in base64, wherever it stands in what was encoded, and in hexadecimal digits.
func encodedForms(secret string) []string {
	digits := hex.EncodeToString([]byte(secret))
	all := []string{digits, strings.ToUpper(digits)}
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 {
			text := encoding.EncodeToString([]byte(strings.Repeat("\x00", before) + secret))
			// The characters at both ends also depend on what is before and behind it.
			from, to := (before*8+5)/6, (before+len(secret))*8/6
			if from < to {
				all = append(all, text[from:to])
			}
		}
	}
	return all
}

// replace puts [redacted] in the place of every secret. It returns s itself if there is no secret in it.
func (r *redactor) replace(s string) string {
	var out strings.Builder
	from := 0
	for at := 0; at < len(s); {
		c, width := unescape(s[at:])
		length := 0
		for _, text := range r.texts[c] {
			if length = match(s[at:], text); length > 0 {
				break
			}
		}
		if length == 0 && width > 1 { // an escape may also be the text itself
			for _, text := range r.texts[s[at]] {
				if strings.HasPrefix(s[at:], text) {
					length = len(text)
					break
				}
			}
		}
		if length == 0 {
			at++
			continue
		}
		out.WriteString(s[from:at])
		out.WriteString(redacted)
		at += length
		from = at
	}
	if from == 0 {
		return s
	}
	out.WriteString(s[from:])
	return out.String()
}

// match is how much of s is text, whose characters may be escaped; 0 if s does not begin with it.
func match(s, text string) int {
	at := 0
	for i := range len(text) {
		if at >= len(s) {
			return 0
		}
		c, width := unescape(s[at:])
		if c != text[i] {
			if s[at] != text[i] {
				return 0
			}
			width = 1
		}
		at += width
	}
	return at
}

// unescape is the character that s begins with, and how much of s it takes.
func unescape(s string) (c byte, width int) {
	switch s[0] {
	case '\\':
		return unescapeJSON(s)
	case '%':
		if len(s) >= 3 {
			if n, ok := parse(s[1:3], 16); ok {
				return n, 3
			}
		}
	case '&':
		return unescapeHTML(s)
	}
	return s[0], 1
}

// unescapeJSON reads \u002f, \/ and the like. JSON that was put into JSON has several backslashes.
func unescapeJSON(s string) (c byte, width int) {
	n := 1
	for n < len(s) && n < maxBackslashes && s[n] == '\\' {
		n++
	}
	rest := s[n:]
	if len(rest) >= 5 && rest[0] == 'u' {
		if c, ok := parse(rest[1:5], 16); ok {
			return c, n + 5
		}
	}
	if rest != "" && (rest[0] == '/' || rest[0] == '"') {
		return rest[0], n + 1
	}
	return '\\', n
}

// entities are the characters of ASCII that have a name in HTML, as far as they are in use.
var entities = map[string]byte{
	"amp": '&', "lt": '<', "gt": '>', "quot": '"', "apos": '\'', "sol": '/', "plus": '+', "equals": '=', "period": '.', "lowbar": '_', "colon": ':', "num": '#',
}

// unescapeHTML reads &#47; &#x2f; and &amp;.
func unescapeHTML(s string) (c byte, width int) {
	const longest = len("&#x0000002f;")
	end := strings.IndexByte(s[:min(len(s), longest)], ';')
	if end < 2 {
		return s[0], 1
	}
	name := s[1:end]
	if c, ok := entities[name]; ok {
		return c, end + 1
	}
	if digits, ok := strings.CutPrefix(name, "#"); ok {
		base := 10
		if digits != "" && digits[0]|0x20 == 'x' {
			digits, base = digits[1:], 16
		}
		if c, ok := parse(digits, base); ok {
			return c, end + 1
		}
	}
	return s[0], 1
}

// parse reads the number of a character of ASCII.
func parse(digits string, base int) (byte, bool) {
	n, err := strconv.ParseUint(digits, base, 32)
	return byte(n), err == nil && n < 0x80
}
