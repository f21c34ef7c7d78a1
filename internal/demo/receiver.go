package demo

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
)

// The paths of the receiver, each with a temper of its own.
const (
	hookReliable = "/hooks/helpdesk" // takes every message
	hookFlaky    = "/hooks/erp"      // is away now and then
	hookBroken   = "/hooks/claims"   // answers 500: its owner has not noticed yet
)

const (
	maxHookBytes = 1 << 20
	// flakyEvery is how many messages the flaky path takes before it refuses one.
	flakyEvery = 3
)

// receiver is a receiver of webhooks that fails as real receivers do.
type receiver struct{ messages atomic.Int64 }

// ServeHTTP implements http.Handler.
func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	_, _ = io.Copy(io.Discard, http.MaxBytesReader(w, req.Body, maxHookBytes)) // only the path decides
	switch {
	case strings.HasPrefix(req.URL.Path, hookReliable):
		w.WriteHeader(http.StatusNoContent)
	case strings.HasPrefix(req.URL.Path, hookFlaky):
		if r.messages.Add(1)%flakyEvery == 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	case strings.HasPrefix(req.URL.Path, hookBroken):
		w.WriteHeader(http.StatusInternalServerError)
	default:
		http.NotFound(w, req)
	}
}
