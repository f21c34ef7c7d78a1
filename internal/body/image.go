package body

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// ImageTokens is more than any upstream takes an image for, however large it is. One that is given by its
// address has tokens that its bytes in the body say nothing about.
const ImageTokens = 16 << 10

// Images counts the images in the body of a call, in any dialect: a part of a message says what it is in
// its type. A text that is no JSON has those that come before the fault.
func Images(text []byte) int64 {
	if !bytes.Contains(text, []byte("image")) && !bytes.Contains(text, []byte(`\u`)) {
		return 0 // nearly always, and found out without a look at the structure; any letter may be escaped
	}
	var n int64
	types := []string{"image_url", "input_image", "image"}
	dec := jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for {
		token, err := dec.ReadToken()
		if err != nil { // io.EOF at the end
			return n
		}
		kind, length := dec.StackIndex(dec.StackDepth())
		// In an object names and values alternate: behind a name the length is odd.
		if token.Kind() != '"' || kind != '{' || length%2 == 0 || token.String() != "type" {
			continue
		}
		if dec.PeekKind() != '"' {
			continue
		}
		value, err := dec.ReadToken()
		if err != nil {
			return n
		}
		if slices.Contains(types, value.String()) {
			n++
		}
	}
}
