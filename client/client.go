// Package client is the Go client of Penstock's native API.
//
// It owns the way a call is made: the key, the bounds on answers, the retries, and how a broken stream is resumed.
// Bodies of inferences are sent unchanged, in any dialect.
//
// Invariants:
//   - Every call is safe to repeat. Reads change nothing, a second cancel changes nothing, and a submit always carries
//     an Idempotency-Key. So calls are retried after retryable errors, at most Config.MaxTries times, with full jitter,
//     and never earlier than the server asked for.
//   - Every iterator yields each element once and in order, over any number of broken connections. It never ends early
//     without an error.
//   - MaxAnswerBytes and MaxLineBytes bound the memory, and IdleTimeout bounds a silent connection. The context of a
//     call bounds its whole duration.
//
// An error that the server answered with is an [*Error], whose Code is one of a closed list.
//
// A Client is safe for concurrent use, starts no goroutines and needs no closing.
package client

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// DefaultURL is where `penstock dev` listens.
const DefaultURL = "http://127.0.0.1:8080"

// APIVersion is the version of the API that the client speaks. Every call asks for it, so a newer server answers in the shapes
// that this client knows, for as long as it serves the version.
const APIVersion = "2026-12-01"

// DefaultMaxTries lets a call outlast the restart of a server.
const DefaultMaxTries = 6

// Config says where Penstock is and who calls.
type Config struct {
	// URL is the base URL of the API, http or https. Zero: DefaultURL.
	URL string

	// APIKey is sent with every call. Zero: none is sent, which is enough for Health alone.
	APIKey string

	// HTTPClient makes the calls. Its Timeout should be 0, because it would also end streams; give calls
	// a context instead. Zero: a client over http.DefaultTransport.
	HTTPClient *http.Client

	// MaxTries is how often a call is made at the most, the first time included. Zero: DefaultMaxTries.
	// 1 means that nothing is retried and no stream is resumed.
	MaxTries int
}

// Client calls Penstock.
type Client struct {
	base     *url.URL
	apiKey   string
	http     *http.Client
	maxTries int
}

// New returns a client. It calls nothing yet.
func New(cfg Config) (*Client, error) {
	base, err := url.Parse(strings.TrimRight(cmp.Or(cfg.URL, DefaultURL), "/"))
	if err != nil { // such as host:port, which cannot be read as a URL
		return nil, fmt.Errorf("the URL of Penstock must look like %s: %w", DefaultURL, err)
	}
	if base.Scheme != "http" && base.Scheme != "https" || base.Host == "" {
		return nil, fmt.Errorf("the URL of Penstock must look like %s, not %q", DefaultURL, cfg.URL)
	}
	if cfg.MaxTries < 0 {
		return nil, fmt.Errorf("MaxTries is %d; it must be at least 1, or 0 for the default", cfg.MaxTries)
	}
	c := &Client{base: base, apiKey: cfg.APIKey, http: cfg.HTTPClient, maxTries: cmp.Or(cfg.MaxTries, DefaultMaxTries)}
	if c.http == nil {
		c.http = new(http.Client)
	}
	return c, nil
}
