package console

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
)

const script = "console.log('a script of a page')"

// built is the output of a small build.
func built(t *testing.T) fs.FS {
	t.Helper()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write([]byte(script)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return fstest.MapFS{
		"index.html":             {Data: []byte("<!doctype html><html><head><title>Penstock</title></head></html>")},
		"README.md":              {Data: []byte("not for visitors")},
		"assets/index-abc.js.gz": {Data: packed.Bytes()},
		"assets/font-def.woff2":  {Data: []byte("wOF2")},
	}
}

// api answers with the path that it was asked for.
var api = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	w.WriteHeader(http.StatusTeapot)
	_, _ = fmt.Fprint(w, r.Method+" "+r.URL.Path)
})

func serving(t *testing.T, base string) http.Handler {
	t.Helper()
	h, err := newHandler(built(t), base, api)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// ask makes a call with headers as pairs of name and value.
func ask(t *testing.T, h http.Handler, target string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	method, path, _ := strings.Cut(target, " ")
	r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

var asBrowser = []string{"Accept", "text/html,application/xhtml+xml"}

// TestPages holds which requests get the page, a file, or the answer of the API.
func TestPages(t *testing.T) {
	t.Parallel()
	h := serving(t, "")
	for target, want := range map[string]int{
		"GET /":                      http.StatusOK,
		"HEAD /":                     http.StatusOK,
		"GET /sign-in":               http.StatusOK,
		"GET /t/acme/jobs/job_1":     http.StatusOK,
		"GET /all":                   http.StatusOK,
		"GET /all/usage":             http.StatusOK,
		"GET /nothing":               http.StatusNotFound,
		"GET /tenants":               http.StatusNotFound,
		"GET /README.md":             http.StatusNotFound, // the page, not the file
		"GET /index.html":            http.StatusNotFound,
		"GET /assets/index-abc.js":   http.StatusOK,
		"GET /assets/font-def.woff2": http.StatusOK,
		"GET /assets/gone.js":        http.StatusTeapot,
		"GET /assets/../README.md":   http.StatusTeapot,
		"GET /v1/jobs":               http.StatusTeapot,
		"GET /admin/v1/tenants":      http.StatusTeapot,
		"GET /auth/login":            http.StatusTeapot,
		"GET /openapi.json":          http.StatusTeapot,
		"POST /":                     http.StatusTeapot,
		"DELETE /t/acme/jobs":        http.StatusTeapot,
	} {
		if w := ask(t, h, target, asBrowser...); w.Code != want {
			t.Errorf("%s: %d, want %d", target, w.Code, want)
		}
	}
	for _, target := range []string{"GET /", "GET /t/acme/jobs", "GET /nothing"} {
		if w := ask(t, h, target, "Accept", "application/json"); w.Code != http.StatusTeapot {
			t.Errorf("%s of a program: %d", target, w.Code)
		}
	}
	if w := ask(t, h, "HEAD /", asBrowser...); w.Body.Len() != 0 || w.Header().Get("Content-Length") == "0" {
		t.Errorf("HEAD: %d bytes, Content-Length %s", w.Body.Len(), w.Header().Get("Content-Length"))
	}
}

// TestSecurityHeaders holds the headers of every answer of this package. The policy names this server only, and has no exceptions.
func TestSecurityHeaders(t *testing.T) {
	t.Parallel()
	h := serving(t, "")
	for _, target := range []string{"GET /", "GET /nothing", "GET /assets/index-abc.js", "GET /assets/font-def.woff2"} {
		got := ask(t, h, target, asBrowser...).Header()
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "same-origin",
			"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
		} {
			if got.Get(name) != want {
				t.Errorf("%s: %s is %q, want %q", target, name, got.Get(name), want)
			}
		}
		for _, directive := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "frame-ancestors 'none'", "base-uri 'self'", "form-action 'self'"} {
			if !strings.Contains(got.Get("Content-Security-Policy"), directive) {
				t.Errorf("%s: the policy lacks %s", target, directive)
			}
		}
	}
	allowed := regexp.MustCompile(`^[a-z-]+ '(self|none)'$`)
	for directive := range strings.SplitSeq(policy, ";") {
		if !allowed.MatchString(strings.TrimSpace(directive)) {
			t.Errorf("the policy has an exception: %s", directive)
		}
	}
}

// TestCaching holds that browsers keep files, which have the hash of their content in their name, and never the index.
func TestCaching(t *testing.T) {
	t.Parallel()
	h := serving(t, "")
	if got := ask(t, h, "GET /", asBrowser...).Header().Get("Cache-Control"); got != "no-store" {
		t.Errorf("the index: %s", got)
	}
	w := ask(t, h, "GET /assets/index-abc.js")
	if got := w.Header().Get("Cache-Control"); got != "public, max-age=31536000, immutable" {
		t.Errorf("a file: %s", got)
	}
	again := ask(t, h, "GET /assets/index-abc.js", "If-None-Match", w.Header().Get("Etag"))
	if again.Code != http.StatusNotModified || again.Body.Len() != 0 {
		t.Errorf("a file that the browser has: %d, %d bytes", again.Code, again.Body.Len())
	}
}

// TestCompression holds that a client gets gzip only if it accepts it.
func TestCompression(t *testing.T) {
	t.Parallel()
	h := serving(t, "")
	for accept, packed := range map[string]bool{"gzip, deflate, br": true, "*": true, "gzip;q=0.5": true, "": false, "br": false, "gzip;q=0": false, "gzip; q=0": false} {
		w := ask(t, h, "GET /assets/index-abc.js", "Accept-Encoding", accept)
		if got := w.Header().Get("Content-Encoding") == "gzip"; got != packed || w.Header().Get("Vary") != "Accept-Encoding" {
			t.Errorf("%q: %v", accept, w.Header())
		}
		if !packed && w.Body.String() != script {
			t.Errorf("%q: %q", accept, w.Body)
		}
		if !strings.HasPrefix(w.Header().Get("Content-Type"), "text/javascript") || w.Header().Get("Content-Length") != fmt.Sprint(w.Body.Len()) {
			t.Errorf("%q: %v", accept, w.Header())
		}
	}
}

// TestBasePath holds that the pages work below a path, whether the proxy keeps the path or cuts it off.
func TestBasePath(t *testing.T) {
	t.Parallel()
	h := serving(t, "/llm")
	for target, want := range map[string]int{
		"GET /llm": http.StatusOK, "GET /llm/": http.StatusOK, "GET /": http.StatusOK, "GET /llm/t/acme": http.StatusOK, "GET /t/acme": http.StatusOK,
		"GET /llm/assets/index-abc.js": http.StatusOK, "GET /assets/index-abc.js": http.StatusOK, "GET /llmx/t/acme": http.StatusNotFound,
	} {
		w := ask(t, h, target, asBrowser...)
		if w.Code != want {
			t.Errorf("%s: %d, want %d", target, w.Code, want)
		}
		if strings.Contains(w.Body.String(), "<head>") && !strings.Contains(w.Body.String(), `<base href="/llm/" />`) {
			t.Errorf("%s: %s", target, w.Body)
		}
	}
	for target, want := range map[string]string{"GET /llm/v1/jobs": "GET /v1/jobs", "POST /llm/v1/jobs": "POST /v1/jobs", "GET /v1/jobs": "GET /v1/jobs", "GET /llmx": "GET /llmx"} {
		if w := ask(t, h, target); w.Body.String() != want {
			t.Errorf("%s became %s, want %s", target, w.Body, want)
		}
	}
	if w := ask(t, serving(t, `/"><script>`), "GET /", asBrowser...); strings.Contains(w.Body.String(), "<script>") {
		t.Errorf("the base path is not escaped: %s", w.Body)
	}
}

// TestWithoutPages holds the page of a binary without the built files.
func TestWithoutPages(t *testing.T) {
	t.Parallel()
	h, err := newHandler(fstest.MapFS{"README.md": {}}, "", api)
	if err != nil {
		t.Fatal(err)
	}
	w := ask(t, h, "GET /", asBrowser...)
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "make web") || w.Header().Get("Content-Security-Policy") != policy {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	if w := ask(t, h, "GET /v1/jobs"); w.Code != http.StatusTeapot {
		t.Errorf("the API: %d", w.Code)
	}
}
