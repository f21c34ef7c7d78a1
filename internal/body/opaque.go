package body

import "strings"

// opaque is what the kinds of parts and tools begin with whose tokens the bytes of a body say nothing about: documents,
// whose pages are read as images or lie elsewhere, and tools that the upstream runs itself, as often as it likes.
var opaque = []string{
	"document", "file", "input_file", "container_upload",
	"web_search", "web_fetch", "code_interpreter", "code_execution", "mcp",
}

// Opaque is the first thing in the body of a call that may cost more than its bytes tell, "" if there is none.
func Opaque(text []byte) string {
	if !mentions(text, opaque...) {
		return ""
	}
	for kind := range kinds(text) {
		for _, begins := range opaque {
			if strings.HasPrefix(kind, begins) {
				return kind
			}
		}
	}
	// A chat asks for a search by a member of its own.
	if object, err := Scan(text); err == nil && object.Raw("web_search_options") != nil {
		return "web_search_options"
	}
	return ""
}
