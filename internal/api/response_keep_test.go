package api

import (
	"strings"
	"testing"
)

// A chunk may have several events. All of them are passed on, in order, and each response is changed.
func TestEachResponseOfAChunk(t *testing.T) {
	t.Parallel()
	const created, added, completed = "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"id\":\"up\"}}\n\n",
		": wait\n\nevent: response.output_item.added\ndata: {\"type\":\"response.output_item.added\"}\n\n",
		"event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"id\":\"up\"}}\n\n"
	own := func([]byte) []byte { return []byte(`{"id":"own"}`) }
	for name, tt := range map[string]struct {
		wire string
		all  bool
	}{
		"one event":         {created, true},
		"an event of parts": {added, false},
		"all at once":       {created + added + completed, false},
		"cut at its end":    {strings.TrimSuffix(created, "\n"), true},
		"nothing":           {"", true},
	} {
		got, all := eachResponse([]byte(tt.wire), own)
		want := strings.ReplaceAll(tt.wire, `"up"`, `"own"`)
		if strings.TrimRight(string(got), "\n") != strings.TrimRight(want, "\n") || all != tt.all {
			t.Errorf("%s: %v, %q, want %q", name, all, got, want)
		}
	}
}
