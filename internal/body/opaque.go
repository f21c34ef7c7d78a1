package body

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// opaque is what the kinds of parts and tools begin with whose tokens the bytes of a body say nothing about: documents,
// whose pages are read as images or lie elsewhere, audio that lies elsewhere, and tools that the upstream runs itself, as
// often as it likes. Audio that is in the body has more bytes than tokens.
var opaque = []string{
	"document", "file", "input_file", "container_upload", "audio",
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
	object, err := Scan(text)
	switch {
	case err != nil:
	case object.Raw("web_search_options") != nil: // a chat asks for a search by a member of its own
		return "web_search_options"
	case refersToAudio(object.Raw("messages")):
		return "audio"
	}
	return ""
}

// refersToAudio says whether a message of a chat is one that the model spoke before. It has the id of the audio alone.
func refersToAudio(messages []byte) bool {
	var all []struct {
		Audio struct {
			ID any `json:"id"`
		} `json:"audio"`
	}
	if err := json.Unmarshal(messages, &all, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); err != nil {
		return false // no upstream takes it for messages either
	}
	for _, m := range all {
		if m.Audio.ID != nil {
			return true
		}
	}
	return false
}
