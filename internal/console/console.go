// Package console serves the pages of the console: the files that `make web` builds from web/, embedded in the binary. The pages call the public
// routes of both APIs like any other client, so this package knows no service and holds no state.
//
// It owns the addresses of the pages, the headers of their answers (security, caching, compression) and the base path. Every request that is not for a
// page goes to the next handler.
//
// The build tag noui leaves the files out. Then, and when web/ was never built, pages answer with a text that says so.
package console

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"html"
	"io/fs"
	"net/http"
	"path"
	"strings"
)

// Handler serves the pages of the console.
type Handler struct {
	base  string // "" or "/penstock"
	next  http.Handler
	files map[string]file // by path below the base path
	index []byte
}

// file is a file under a name that changes with its content.
type file struct {
	packed []byte // gzip; nil for files that are compressed already
	plain  []byte // nil for packed files
	kind   string // the content type
}

// kinds are the content types of built files. Those of package mime depend on the files of the machine, and a container has none.
var kinds = map[string]string{
	".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml", ".woff2": "font/woff2",
}

// New reads the embedded files. basePath is "" or a path such as /penstock, under which a proxy serves Penstock. Requests that are not for a page go to
// next, without the base path.
func New(basePath string, next http.Handler) (http.Handler, error) {
	return newHandler(embedded(), basePath, next)
}

func newHandler(dist fs.FS, basePath string, next http.Handler) (*Handler, error) {
	h := &Handler{base: strings.TrimSuffix(basePath, "/"), next: next, files: map[string]file{}}
	err := fs.WalkDir(dist, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(dist, name)
		if err != nil {
			return err
		}
		h.add(name, data)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading the files of the console: %w", err)
	}
	if h.index == nil {
		h.index = []byte(placeholder)
	}
	h.index = bytes.Replace(h.index, []byte("<head>"), fmt.Appendf(nil, "<head>\n    <base href=\"%s/\" />", html.EscapeString(h.base)), 1)
	return h, nil
}

func (h *Handler) add(name string, data []byte) {
	if name == "index.html" {
		h.index = data
		return
	}
	plainName, packed := strings.CutSuffix(name, ".gz")
	f := file{kind: kinds[path.Ext(plainName)]}
	if packed {
		f.packed = data
	} else {
		f.plain = data
	}
	h.files["/"+plainName] = f
}

// ServeHTTP implements http.Handler. Streams wait below it, thousands at a time, so its frame is small: page is a function of its own.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h.base != "" {
		h.serveBelow(w, r)
	} else if !h.page(w, r) {
		h.next.ServeHTTP(w, r)
	}
}

// serveBelow serves a request below the base path.
//
//go:noinline
func (h *Handler) serveBelow(w http.ResponseWriter, r *http.Request) {
	if r = h.below(r); !h.page(w, r) {
		h.next.ServeHTTP(w, r)
	}
}

// page answers a request for a page or one of its files. It reports false for all other requests.
//
//go:noinline
func (h *Handler) page(w http.ResponseWriter, r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	if f, ok := h.files[r.URL.Path]; ok && strings.HasPrefix(r.URL.Path, "/assets/") {
		h.serveFile(w, r, f)
		return true
	}
	if !strings.Contains(r.Header.Get("Accept"), "text/html") || isAPI(r.URL.Path) {
		return false
	}
	h.serveIndex(w, r)
	return true
}

// below is the request without the base path. A proxy may have cut the path off already.
func (h *Handler) below(r *http.Request) *http.Request {
	rest, ok := strings.CutPrefix(r.URL.Path, h.base)
	if !ok || rest != "" && rest[0] != '/' {
		return r
	}
	inner := r.Clone(r.Context())
	inner.URL.Path = "/" + strings.TrimPrefix(rest, "/")
	inner.URL.RawPath = ""
	if raw, ok := strings.CutPrefix(r.URL.RawPath, h.base); ok && raw != "" {
		inner.URL.RawPath = raw
	}
	return inner
}

// apiPaths begin the paths of the two APIs. A browser that opens one gets the answer of the API.
var apiPaths = []string{"/v1/", "/v2/", "/admin/", "/auth/", "/healthz", "/readyz", "/metrics", "/openapi.json", "/assets/"}

func isAPI(p string) bool {
	for _, start := range apiPaths {
		if strings.HasPrefix(p, start) {
			return true
		}
	}
	return false
}

// pages begin the paths that the console has.
var pages = []string{"/t/", "/all/"}

// isPage reports whether the console has a page at a path, as far as the server can know: the page itself finds out whether the object exists.
func isPage(p string) bool {
	switch p {
	case "/", "/sign-in", "/all", "/docs":
		return true
	}
	for _, start := range pages {
		if strings.HasPrefix(p, start) {
			return true
		}
	}
	return false
}

func (h *Handler) serveIndex(w http.ResponseWriter, r *http.Request) {
	setSecurity(w.Header())
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	status := http.StatusOK
	if !isPage(r.URL.Path) {
		status = http.StatusNotFound
	}
	write(w, r, status, h.index)
}

func (h *Handler) serveFile(w http.ResponseWriter, r *http.Request, f file) {
	setSecurity(w.Header())
	w.Header().Set("Content-Type", f.kind)
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	w.Header().Set("Etag", `"`+path.Base(r.URL.Path)+`"`) // the name has the hash of the content
	if r.Header.Get("If-None-Match") == w.Header().Get("Etag") {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	data := f.plain
	if f.packed != nil {
		w.Header().Set("Vary", "Accept-Encoding")
		if acceptsGzip(r) {
			w.Header().Set("Content-Encoding", "gzip")
			data = f.packed
		} else {
			data = unpack(f.packed)
		}
	}
	write(w, r, http.StatusOK, data)
}

// write sends a whole body; for HEAD its length only.
func write(w http.ResponseWriter, r *http.Request, status int, data []byte) {
	w.Header().Set("Content-Length", fmt.Sprint(len(data)))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(data) // a caller that has gone needs no answer
	}
}

func acceptsGzip(r *http.Request) bool {
	for part := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, weight, _ := strings.Cut(strings.TrimSpace(part), ";")
		if (name == "gzip" || name == "*") && strings.ReplaceAll(weight, " ", "") != "q=0" {
			return true
		}
	}
	return false
}

// unpack decompresses an embedded file for the rare client without gzip.
func unpack(packed []byte) []byte {
	var plain bytes.Buffer
	reader, err := gzip.NewReader(bytes.NewReader(packed))
	if err == nil {
		_, err = plain.ReadFrom(reader)
	}
	if err != nil {
		panic("console: embedded file is not gzip: " + err.Error()) // TestFiles reads each of them
	}
	return plain.Bytes()
}
