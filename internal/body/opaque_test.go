package body

import "testing"

func TestOpaque(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ text, want string }{
		"a chat":                {`{"messages":[{"content":"read the document in the file"}]}`, ""},
		"a tool of the caller":  {`{"tools":[{"type":"function","function":{"name":"web_search","parameters":{"type":"object"}}}]}`, ""},
		"an image":              {`{"messages":[{"content":[{"type":"image_url","image_url":{"url":"https://x/file"}}]}]}`, ""},
		"a document by address": {`{"messages":[{"content":[{"type":"document","source":{"type":"url","url":"https://x"}}]}]}`, "document"},
		"a file of a chat":      {`{"messages":[{"content":[{"type":"file","file":{"file_id":"f"}}]}]}`, "file"},
		"a file of a response":  {`{"input":[{"content":[{"type":"input_file","file_id":"f"}]}]}`, "input_file"},
		"a search":              {`{"tools":[{"type":"web_search_20250305","name":"web_search"}]}`, "web_search_20250305"},
		"a search in files":     {`{"tools":[{"type":"file_search"}]}`, "file_search"},
		"a search of a chat":    {`{"web_search_options":{},"messages":[]}`, "web_search_options"},
		"code that is run":      {`{"tools":[{"type":"code_interpreter"}]}`, "code_interpreter"},
		"audio in a chat": {`{"modalities":["text","audio"],"audio":{"voice":"alloy","format":"wav","id":"x"},` +
			`"messages":[{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"UklG","format":"wav"}}]},{"role":"assistant","audio":null,"content":"x"}]}`, ""},
		"audio of before":  {`{"messages":[{"role":"user","content":"x"},{"role":"assistant","audio":{"id":"audio_1"}}]}`, "audio"},
		"audio by address": {`{"messages":[{"content":[{"type":"audio_url","audio_url":{"url":"https://x"}}]}]}`, "audio_url"},
		"escaped":          {`{"a":{"type":"\u0064ocument"}}`, "document"},
		"nothing":          {``, ""},
	} {
		if got := Opaque([]byte(tt.text)); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
