package body

import (
	"bytes"
	"iter"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// ImageTokens is more than any upstream takes an image for, however large it is. One that is given by its
// address has tokens that its bytes in the body say nothing about.
const ImageTokens = 16 << 10

// Images counts the images in the body of a call, in any dialect. A text that is no JSON has those that come before
// the fault.
func Images(text []byte) (n int64) {
	if !mentions(text, "image", "input_image") {
		return 0
	}
	for kind := range kinds(text) {
		if slices.Contains([]string{"image_url", "input_image", "image"}, kind) {
			n++
		}
	}
	return n
}

// mentions says whether a string of a text may begin with a word, which it nearly never does, without a look at the
// structure. Any letter may be escaped.
func mentions(text []byte, words ...string) bool {
	if bytes.Contains(text, []byte(`\u`)) {
		return true
	}
	for {
		quote := bytes.IndexByte(text, '"')
		if quote < 0 {
			return false
		}
		text = text[quote+1:]
		for _, word := range words {
			// The first letter tells nearly all of them apart, in a fraction of the time.
			if len(text) >= len(word) && text[0] == word[0] && string(text[:len(word)]) == word {
				return true
			}
		}
	}
}

// kinds are the values of all members of the name type, at any depth: by it parts of messages and tools say what they are.
func kinds(text []byte) iter.Seq[string] {
	return func(yield func(string) bool) {
		dec := jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
		for {
			token, err := dec.ReadToken()
			if err != nil { // io.EOF at the end
				return
			}
			kind, length := dec.StackIndex(dec.StackDepth())
			// In an object names and values alternate: behind a name the length is odd.
			if token.Kind() != '"' || kind != '{' || length%2 == 0 || token.String() != "type" || dec.PeekKind() != '"' {
				continue
			}
			value, err := dec.ReadToken()
			if err != nil || !yield(value.String()) {
				return
			}
		}
	}
}
