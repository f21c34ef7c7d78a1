package store

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"penstock"
)

// Cause is what made an item fail.
type Cause struct {
	Code    penstock.Code
	Kind    string // of the last upstream error, "" for none
	Target  string // that was asked last, "" for none
	Status  int    // the upstream's, 0 for none
	Message string // as the caller sees it; an upstream may have written it
}

// Fingerprint is the same for failures of the same cause: code/kind/target/status/message. The message is a short hash of its
// normalised form, see [NormalMessage].
func (c Cause) Fingerprint() string {
	sum := sha256.Sum256([]byte(NormalMessage(c.Message)))
	return fmt.Sprintf("%s/%s/%s/%d/%s", c.Code, c.Kind, c.Target, c.Status, hex.EncodeToString(sum[:4]))
}

// FingerprintHas reports whether a fingerprint is of failures with a code.
func FingerprintHas(fingerprint string, code penstock.Code) bool {
	return strings.HasPrefix(fingerprint, string(code)+"/")
}

// Only the beginning of a message is read, and less of it is kept: the words that distinguish causes come first.
const (
	maxMessageRead = 1 << 10
	maxMessageKept = 160
	// longWord is the length from which a word is taken for an id or a token, not for a word of a language.
	longWord = 32
	// hexWord is the length from which a word of hexadecimal digits is taken for an id.
	hexWord = 8
)

// variable replaces every part of a message that differs from call to call.
const variable = "#"

// NormalMessage is a message in lower case, without numbers, ids, quoted values, times and punctuation. Its length is
// bounded, however long the upstream's message is.
func NormalMessage(message string) string {
	rest := message[:min(len(message), maxMessageRead)]
	var out strings.Builder
	last := ""
	for rest != "" && out.Len() < maxMessageKept {
		var word string
		if word, rest = nextWord(rest); word == "" || word == variable && last == variable {
			continue
		}
		if last != "" {
			out.WriteByte(' ')
		}
		out.WriteString(word)
		last = word
	}
	kept := out.String()
	return strings.ToValidUTF8(kept[:min(len(kept), maxMessageKept)], "")
}

// nextWord takes the next word, number or quoted value off a text; "" for something that does not count.
func nextWord(text string) (word, rest string) {
	r, size := utf8.DecodeRuneInString(text)
	if closing, ok := quotes[r]; ok {
		if end := strings.IndexRune(text[size:], closing); end >= 0 {
			return variable, text[size+end+utf8.RuneLen(closing):]
		}
	}
	if !inWord(r) {
		return "", text[size:]
	}
	end := strings.IndexFunc(text, func(r rune) bool { return !inWord(r) && r != '\'' && r != '’' })
	if end < 0 {
		end = len(text)
	}
	word = strings.ToLower(text[:end])
	if varies(word) {
		word = variable
	}
	return word, text[end:]
}

// quotes are the marks that a value can stand in. Between words, an apostrophe opens one; within a word it is part of it.
var quotes = map[rune]rune{'"': '"', '\'': '\'', '`': '`', '“': '”', '‘': '’', '«': '»'}

func inWord(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '-' || r == '@' || unicode.IsMark(r)
}

// varies says that a word is a number, a time, an id or an address rather than a word.
func varies(word string) bool {
	return len(word) >= longWord || strings.ContainsFunc(word, unicode.IsDigit) || strings.Contains(word, "@") ||
		len(word) >= hexWord && strings.Trim(word, "abcdef-") == ""
}
