//go:build noui

package console

import (
	"net/http"
	"strings"
	"testing"
)

// TestNoUI holds that a binary with the tag noui has no files, and says so.
func TestNoUI(t *testing.T) {
	t.Parallel()
	h, err := New("", api)
	if err != nil {
		t.Fatal(err)
	}
	if w := ask(t, h, "GET /", asBrowser...); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "noui") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
