package body

import (
	"bytes"
	"iter"

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
		if isImage(kind) {
			n++
		}
	}
	return n
}

// Images counts the images in the object. The scan of an object by its shape has counted them on its way.
func (o Object) Images() int64 {
	if o.depth > 0 {
		return o.images
	}
	return Images(o.Text)
}

// HasFileID reports whether a member of the object, at any depth, is named file_id. The scan of an object by its shape has looked
// on its way. For other objects, a string that begins with file_id is enough.
func (o Object) HasFileID() bool {
	if o.depth > 0 {
		return o.fileID
	}
	return mentions(o.Text, "file_id")
}

// Media counts the members of the object, at any depth, that hold the data of an image or a document, or its address. The scan of an
// object by its shape has counted them on its way. For other objects, every string that ends like such a name counts.
func (o Object) Media() int64 {
	if o.depth > 0 {
		return o.media
	}
	return int64(bytes.Count(o.Text, []byte(`url"`)) + bytes.Count(o.Text, []byte(`data"`)))
}

// note counts a member if it is the kind of an image or holds media, and notes that it is named file_id. The value of the member comes next.
func (c *Cursor) note(name []byte) {
	switch string(name) {
	case "type":
		if c.nextIsImage() {
			c.images++
		}
	case "file_id":
		c.fileID = true
	case "url", "image_url", "data", "file_data":
		c.media++
	}
}

// nextIsImage says whether the value that comes next is the kind of an image. Any character of it may be escaped.
func (c *Cursor) nextIsImage() bool {
	// The first character tells nearly all kinds apart, in a fraction of the time.
	if c.Kind() != '"' || c.at+1 == len(c.text) || (c.text[c.at+1] != 'i' && c.text[c.at+1] != '\\') {
		return false
	}
	ahead := Cursor{text: c.text, at: c.at}
	raw := ahead.quoted()
	kind := unquoted(raw)
	if ahead.escaped {
		kind, _ = jsontext.AppendUnquote(nil, raw)
	}
	return isImage(string(kind))
}

func isImage(kind string) bool {
	return kind == "image_url" || kind == "input_image" || kind == "image"
}

// mentions says whether a string of a text may begin with a word, which it nearly never does, without a look at the
// structure. Any character may be escaped.
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
			// The first character tells nearly all of them apart, in a fraction of the time.
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
