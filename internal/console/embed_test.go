//go:build !noui

package console

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// maxEmbedded bounds the files in the binary.
const maxEmbedded = 3 << 20

// TestFiles holds that the embedded files are complete: each can be read, and the index names only files that are there.
func TestFiles(t *testing.T) {
	t.Parallel()
	h, err := newHandler(embedded(), "", api)
	if err != nil {
		t.Fatal(err)
	}
	if len(h.files) == 0 {
		t.Fatal("the pages are not built; run make web")
	}
	size := len(h.index)
	for path, f := range h.files {
		size += len(f.packed) + len(f.plain)
		if !strings.HasPrefix(path, "/assets/") {
			continue
		}
		if w := ask(t, h, "GET "+path); w.Code != http.StatusOK || w.Body.Len() == 0 || w.Header().Get("Content-Type") == "" {
			t.Errorf("%s: %d, %d bytes, %v", path, w.Code, w.Body.Len(), w.Header())
		}
	}
	if size > maxEmbedded {
		t.Errorf("the embedded files have %d bytes, want at most %d", size, maxEmbedded)
	}
	for _, named := range regexp.MustCompile(`(?:src|href)="\./([^"]+)"`).FindAllSubmatch(h.index, -1) {
		if _, ok := h.files["/"+string(named[1])]; !ok {
			t.Errorf("the index names %s, which is not there", named[1])
		}
	}
	if inline := regexp.MustCompile(`<script(?:\s[^>]*)?>[^<]|<style|\son[a-z]+=`).Find(h.index); inline != nil {
		t.Errorf("the index has an inline script or style: %s", inline)
	}
}
