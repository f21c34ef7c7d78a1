package attach

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"penstock"
	"penstock/internal/body"
)

// The types of content that a body can hold.
const (
	PDF  = "application/pdf"
	Text = "text/plain"
)

// MediaTypes lists every type of content, images first.
var MediaTypes = []string{"image/png", "image/jpeg", "image/webp", "image/gif", PDF, Text}

// IsImage says whether a type is that of an image.
func IsImage(mediaType string) bool { return strings.HasPrefix(mediaType, "image/") }

// Content is the content of a file.
type Content struct {
	MediaType string
	Name      string // of the file
	Bytes     int64
}

// Part is a part with the content of a file in it. The content stands between Head and Tail: in base64, or as the inside of a JSON
// string if it is text.
type Part struct {
	At         body.Span // of the part that it replaces
	Head, Tail string
	Content
}

// New returns the part that has the content instead of the id. Codes: invalid_request (the part cannot hold such content).
func New(text []byte, r Reference, c Content) (Part, error) {
	o, err := body.Scan(text[r.At.Start:r.At.End])
	if err != nil {
		return Part{}, penstock.InvalidParam(r.Path, "%s: the part %v.", r.Path, err)
	}
	b := builder{reference: r, content: c, part: o}
	p := Part{At: r.At, Content: c}
	switch {
	case r.Kind == InputImage || r.Kind == Image:
		err = b.image(&p)
	case IsImage(c.MediaType):
		err = b.imageAsFile(&p)
	default:
		err = b.document(&p)
	}
	return p, err
}

// Length is the most bytes that the part has.
func (p Part) Length() int64 {
	n := int64(len(p.Head) + len(p.Tail))
	if p.MediaType == Text {
		return n + 2*p.Bytes // a character of a text is escaped with one more
	}
	return n + int64(base64.StdEncoding.EncodedLen(int(p.Bytes)))
}

// Append appends the part to a text, with the content that a reader has. It has capacity for the part.
func (p Part) Append(to []byte, content io.Reader) ([]byte, error) {
	to = append(to, p.Head...)
	var err error
	if p.MediaType == Text {
		to, err = appendText(to, content)
	} else {
		to, err = appendBase64(to, content)
	}
	return append(to, p.Tail...), err
}

// pieceBytes is how much of a text is read at a time.
const pieceBytes = 32 << 10

// appendText reads in pieces, so that a text takes no memory beside its place in the body.
func appendText(to []byte, content io.Reader) ([]byte, error) {
	piece, kept := make([]byte, pieceBytes), 0
	for {
		n, err := content.Read(piece[kept:])
		text, ended := piece[:kept+n], errors.Is(err, io.EOF)
		if err != nil && !ended {
			return to, err
		}
		whole := len(text)
		if !ended {
			whole = WholeCharacters(text)
		}
		if to, err = appendInside(to, text[:whole]); ended || err != nil {
			return to, err
		}
		kept = copy(piece, text[whole:])
	}
}

// appendInside appends a text as the inside of a string.
func appendInside(to, text []byte) ([]byte, error) {
	at := len(to) - 1
	last := to[at] // the text goes on within a string: its opening quote takes this place for a moment
	quoted, err := jsontext.AppendQuote(to[:at], text)
	if err != nil {
		return to, fmt.Errorf("quoting a text: %w", err)
	}
	quoted[at] = last
	return quoted[:len(quoted)-1], nil
}

// WholeCharacters is the length of a text without the start of a character that continues in the next bytes.
func WholeCharacters(text []byte) int {
	for i := 1; i <= min(utf8.UTFMax-1, len(text)); i++ {
		if b := text[len(text)-i]; utf8.RuneStart(b) {
			if !utf8.FullRune(text[len(text)-i:]) {
				return len(text) - i
			}
			break
		}
	}
	return len(text)
}

func appendBase64(to []byte, content io.Reader) ([]byte, error) {
	w := writer{to}
	e := base64.NewEncoder(base64.StdEncoding, &w)
	if _, err := io.Copy(e, content); err != nil {
		return w.to, err
	}
	return w.to, e.Close()
}

type writer struct{ to []byte }

func (w *writer) Write(p []byte) (int, error) {
	w.to = append(w.to, p...)
	return len(p), nil
}

// builder makes a part.
type builder struct {
	reference Reference
	content   Content
	part      body.Object
}

// refuse says that the part cannot hold the content.
func (b builder) refuse(format string, args ...any) error {
	r := b.reference
	return penstock.InvalidParam(r.Path, "%s: %s is %s. %s", r.Path, penstock.ViewFile.Format(r.File), b.content.MediaType, fmt.Sprintf(format, args...))
}

func (b builder) image(p *Part) error {
	if !IsImage(b.content.MediaType) {
		other := InputFile
		if b.reference.Kind == Image {
			other = Document
		}
		return b.refuse("A part of type %s needs an image; use the type %s.", b.reference.Kind, other)
	}
	if b.reference.Kind == Image {
		return b.source(p)
	}
	return b.data(p, "image_url")
}

// imageAsFile is an image in a part for documents. A chat has no other part that names a file.
func (b builder) imageAsFile(p *Part) error {
	switch b.reference.Kind {
	case ChatFile:
		p.Head, p.Tail = `{"type":"image_url","image_url":{"url":"data:`+b.content.MediaType+`;base64,`, `"}`+b.rest("type", "file")+`}`
		return nil
	case InputFile:
		return b.refuse("Use the type %s.", InputImage)
	}
	return b.refuse("Use the type %s.", Image)
}

// document is a PDF or a text. A text becomes a part of text in OpenAI's dialects: not every server reads texts in other forms, and
// filters see it.
func (b builder) document(p *Part) error {
	switch {
	case b.reference.Kind == Document:
		return b.source(p)
	case b.content.MediaType != Text && b.reference.Kind == InputFile:
		return b.data(p, "file_data")
	case b.content.MediaType != Text:
		file, err := body.Scan(b.part.Raw("file"))
		if err != nil {
			return penstock.InvalidParam(b.reference.Path, "%s: the file %v.", b.reference.Path, err)
		}
		inner := builder{b.reference, b.content, file}
		if err := inner.data(p, "file_data"); err != nil {
			return err
		}
		p.Head, p.Tail = `{"type":"file","file":`+p.Head, p.Tail+b.rest("type", "file")+`}`
		return nil
	}
	kind := "input_text"
	if b.reference.Kind == ChatFile {
		kind = "text"
	}
	title, err := json.Marshal("[File: " + b.content.Name + "]\n")
	if err != nil {
		return fmt.Errorf("quoting the name of a file: %w", err)
	}
	p.Head = `{"type":"` + kind + `","text":` + string(title[:len(title)-1])
	p.Tail = `"` + b.rest("type", "file", "file_id", "filename", "detail") + `}`
	return nil
}

// data is an object with a data URL instead of the id.
func (b builder) data(p *Part, member string) error {
	for _, other := range []string{"image_url", "file_data", "file_url"} {
		if raw := b.part.Raw(other); raw != nil && string(raw) != "null" {
			return penstock.InvalidParam(b.reference.Path, "%s is given together with %s; give one of the two.", b.reference.Path, other)
		}
	}
	p.Head = `{"` + member + `":"data:` + b.content.MediaType + `;base64,`
	p.Tail = `"` + b.rest("file_id", "image_url", "file_data", "file_url", "filename")
	if member == "file_data" {
		name := b.part.Raw("filename")
		if name == nil || string(name) == "null" {
			var err error
			if name, err = json.Marshal(b.content.Name); err != nil {
				return fmt.Errorf("quoting the name of a file: %w", err)
			}
		}
		p.Tail += `,"filename":` + string(name)
	}
	p.Tail += "}"
	return nil
}

// source is a part of Anthropic's with another source.
func (b builder) source(p *Part) error {
	kind := "base64"
	if b.content.MediaType == Text {
		kind = "text"
	}
	p.Head = `{"source":{"type":"` + kind + `","media_type":"` + b.content.MediaType + `","data":"`
	p.Tail = `"}` + b.rest("source") + `}`
	return nil
}

// rest are the members of the part that stay, each behind a comma.
func (b builder) rest(except ...string) string {
	var s strings.Builder
	for _, m := range b.part.Members {
		if slices.Contains(except, m.Name) {
			continue
		}
		name, _ := json.Marshal(m.Name) // it was read as a string
		fmt.Fprintf(&s, ",%s:%s", name, b.part.Raw(m.Name))
	}
	return s.String()
}
