// Package attach finds the ids of files in the bodies of inferences, in all dialects, and writes the parts that have the content of
// the files instead. It only reads and writes bytes: package attachment reads the files.
package attach

import (
	"bytes"
	"fmt"

	"penstock"
	"penstock/internal/body"
)

// Kind is the kind of part that names a file.
type Kind string

// The kinds: OpenAI's of responses and of chats, and Anthropic's.
const (
	InputFile  Kind = "input_file"
	InputImage Kind = "input_image"
	ChatFile   Kind = "file"
	Document   Kind = "document"
	Image      Kind = "image"
)

// Reference is a part of a body that names a file of this server. Ids that another server gave are not references: their parts
// are for the upstream.
type Reference struct {
	Kind Kind
	File penstock.ID
	Path string    // of the member with the id, such as messages[0].content[1].file.file_id
	At   body.Span // of the part
}

// maxDepth is how deep parts are followed inside of parts: a document in the result of a tool, and its content.
const maxDepth = 4

// Find returns the references of a body, in their order. The values that a caller may fill freely, such as the input of a tool,
// are not looked at. A text that is not JSON has none.
func Find(text []byte) []Reference {
	if !bytes.Contains(text, []byte(`file_id`)) {
		return nil
	}
	f := finder{Cursor: body.NewCursor(text)}
	if f.Kind() != '{' {
		return nil
	}
	for name := range f.Members {
		switch at := string(name); at {
		case "messages", "input":
			f.list(at, f.turn)
		case "system":
			f.list(at, func(path string) { f.part(path, 0) })
		default:
			f.Skip()
		}
	}
	if f.End() != nil {
		return nil
	}
	return f.found
}

type finder struct {
	body.Cursor
	found []Reference
}

// list visits the objects of a list. Any other value is passed over.
func (f *finder) list(path string, visit func(path string)) {
	if f.Kind() != '[' {
		f.Skip()
		return
	}
	for n := range f.Elements {
		if f.Kind() == '{' {
			visit(fmt.Sprintf("%s[%d]", path, n))
		} else {
			f.Skip()
		}
	}
}

// turn looks at a message, or at an item of a response.
func (f *finder) turn(path string) {
	for name := range f.Members {
		switch string(name) {
		case "content", "output":
			f.list(path+"."+string(name), func(path string) { f.part(path, 0) })
		default:
			f.Skip()
		}
	}
}

// part looks for an id in a part of a message or of an item.
func (f *finder) part(path string, depth int) {
	start := f.Offset()
	var kind string
	ids := map[string]string{} // by the member that holds it
	for name := range f.Members {
		switch at := string(name); {
		case at == "type" && f.Kind() == '"':
			kind = f.String()
		case at == "file_id" && f.Kind() == '"':
			ids[at] = f.String()
		case (at == "file" || at == "source") && f.Kind() == '{':
			ids[at] = f.holder(path+"."+at, depth)
		case at == "content" && depth < maxDepth:
			f.list(path+".content", func(path string) { f.part(path, depth+1) })
		default:
			f.Skip()
		}
	}
	end := f.Offset()
	holder, ok := holders[Kind(kind)]
	if !ok {
		return
	}
	id, err := penstock.ViewFile.Parse(ids[holder])
	if err != nil {
		return
	}
	at := path + ".file_id"
	if holder != "file_id" {
		at = path + "." + holder + ".file_id"
	}
	f.found = append(f.found, Reference{Kind: Kind(kind), File: id, Path: at, At: body.Span{Start: start, End: end}})
}

// holders are the members of parts that hold an id.
var holders = map[Kind]string{InputFile: "file_id", InputImage: "file_id", ChatFile: "file", Document: "source", Image: "source"}

// holder reads the id in an object that describes a file, "" for one that has none. The content of a document's source may name
// further files.
func (f *finder) holder(path string, depth int) (id string) {
	for name := range f.Members {
		switch at := string(name); {
		case at == "file_id" && f.Kind() == '"':
			id = f.String()
		case at == "content" && depth < maxDepth:
			f.list(path+".content", func(path string) { f.part(path, depth+1) })
		default:
			f.Skip()
		}
	}
	return id
}
