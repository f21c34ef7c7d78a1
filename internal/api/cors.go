package api

import (
	"net/http"
	"slices"
	"strings"
)

// corsMaxAge is how long a browser may keep the answer to a preflight, in seconds.
const corsMaxAge = "600"

// maxPreflightBytes bounds the names of headers that a preflight asks for.
const maxPreflightBytes = 4 << 10

// corsMethods are the methods that the API has.
var corsMethods = strings.Join([]string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}, ", ")

// corsExposed are the headers of answers that a page may read, beside the few that all pages may.
var corsExposed = strings.Join([]string{
	"x-request-id", "request-id", "x-should-retry", "retry-after", "retry-after-ms", "location", "etag", "idempotency-replayed", "penstock-version",
	"x-penstock-target", "x-penstock-cost-usd", "x-penstock-cache", "x-penstock-unpriced", "x-penstock-budget-warning", "x-penstock-limit-wait-ms",
	"x-penstock-skipped-targets", "x-penstock-dropped-fields", "x-penstock-price-source", headerTruncated,
	"ratelimit", "ratelimit-policy", "deprecation", "sunset",
}, ", ")

// cors lets web pages of the listed origins call the API. Pages of other origins get the answers of a server that does not know
// CORS, which browsers keep from them. Credentials are never allowed: a page sends a key, and no cookie of the API exists.
func cors(origins []string, next http.Handler) http.Handler {
	if len(origins) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h["Vary"] = []string{"Origin"} // of every answer: whether it allows a page depends on the page
		origin := r.Header.Get("Origin")
		if origin == "" || !slices.Contains(origins, origin) {
			next.ServeHTTP(w, r)
			return
		}
		h["Access-Control-Allow-Origin"] = []string{origin}
		if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
			preflight(h, r)
			w.WriteHeader(http.StatusNoContent)
			return
		}
		h["Access-Control-Expose-Headers"] = []string{corsExposed}
		next.ServeHTTP(w, r)
	})
}

// preflight answers what a page of a listed origin may send. The headers of SDKs change, so it may send those that it asks for.
func preflight(h http.Header, r *http.Request) {
	h.Set("Access-Control-Allow-Methods", corsMethods)
	h.Set("Access-Control-Max-Age", corsMaxAge)
	if names := strings.Join(r.Header.Values("Access-Control-Request-Headers"), ", "); names != "" && len(names) <= maxPreflightBytes && headerNames(names) {
		h.Set("Access-Control-Allow-Headers", names)
	}
}

// headerNames reports whether a text lists names of headers and nothing else.
func headerNames(list string) bool {
	return !strings.ContainsFunc(list, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-_, ", r)
	})
}
