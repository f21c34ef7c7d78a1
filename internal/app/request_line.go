package app

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxLines is how many lines wait for a slow terminal before further ones are dropped.
const maxLines = 256

// requestLines prints a line for each request to the API, for a person at a terminal. Requests never wait for the
// terminal.
type requestLines struct {
	out   io.Writer
	lines chan string
}

func newRequestLines(out io.Writer) *requestLines {
	return &requestLines{out: out, lines: make(chan string, maxLines)}
}

// run prints lines until ctx ends.
func (l *requestLines) run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case line := <-l.lines:
			_, _ = io.WriteString(l.out, line) // a closed terminal must not stop the server
		}
	}
}

// watch prints a line when a request ends. Health checks are left out.
func (l *requestLines) watch(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/healthz" || r.URL.Path == "/readyz" {
			next.ServeHTTP(w, r)
			return
		}
		began := time.Now()
		seen := &seenResponse{ResponseWriter: w, status: http.StatusOK}
		defer func() {
			select {
			case l.lines <- lineOf(r, seen, began):
			default:
			}
		}()
		next.ServeHTTP(seen, r)
	})
}

// seenResponse remembers the status of an answer.
type seenResponse struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements http.ResponseWriter.
func (w *seenResponse) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *seenResponse) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// lineOf is one line: time, method, path, status, duration, target and id. Nothing of the body is shown.
func lineOf(r *http.Request, w *seenResponse, began time.Time) string {
	path := r.URL.EscapedPath()
	if len(path) > 80 {
		path = path[:80] + "…"
	}
	if strings.ContainsFunc(path, func(c rune) bool { return c < ' ' || c > '~' && c != '…' }) {
		path = strconv.QuoteToASCII(path) // a path must not control the terminal
	}
	line := fmt.Sprintf("%s  %-6s %s  %d  %v", began.Format(time.TimeOnly), r.Method, path, w.status, time.Since(began).Round(time.Millisecond))
	for _, name := range []string{"X-Penstock-Target", "X-Request-Id"} {
		if value := w.Header().Get(name); value != "" {
			line += "  " + value
		}
	}
	return line + "\n"
}
