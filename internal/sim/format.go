package sim

import (
	"crypto/sha256"

	"github.com/go-json-experiment/json/jsontext"
)

// outputFormat is what a text must look like.
type outputFormat struct {
}

// say generates a text of a length, or the JSON that the request's format asks for.
func (c *call) say(digest [sha256.Size]byte, length int) (text, error) {
	words := script{digest: digest, length: length}.text()
	seen := c.prompt.media().words()
	if len(seen) == 0 {
		return words, nil
	}
	// After the digest, so that no two answers begin alike.
	return text{length: length, pieces: func(yield func(string) bool) {
		i := 0
		for word := range words.tokens() {
			if i > 0 && i <= len(seen) {
				word = " " + seen[i-1]
			}
			if !yield(word) {
				return
			}
			i++
		}
	}}, nil
}

// arguments are the arguments of a call.
func (t *tool) arguments(digest [sha256.Size]byte) (text, error) {
	return written("{}"), nil
}

// responseFormat is how the dialects ask for a format. OpenAI's chat completions have name and schema inside
// json_schema, the others beside the type.
type responseFormat struct {
	Type       string         `json:"type"`
	Schema     jsontext.Value `json:"schema"`
	JSONSchema struct {
		Schema jsontext.Value `json:"schema"`
	} `json:"json_schema"`
}

func (f *responseFormat) read(param string) (*outputFormat, error) { return nil, nil }
