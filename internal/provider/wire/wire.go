// Package wire is the half of an adapter that is the same for every HTTP protocol: connections,
// headers, the phases of an exchange and their timeouts, bounded reading, the difference between an
// answer that ended and one that broke off, and errors that never contain our API key.
//
// The parts that differ between protocols come with each [Request]: where to send which bytes, and a
// [Reader] that parses the answer. The package does not choose targets, retry, count money or log.
//
// Invariants:
//   - The caller gets the upstream's answer byte for byte, except for parts that the Reader marks as
//     hidden.
//   - An answer without its protocol's terminator is truncated, even if it looks finished: a server
//     that died and a server that forgot the terminator look the same. Its usage is kept if reported.
//   - When a call ends early, for whatever reason, the connection under it is closed at once, so
//     that the upstream stops generating. After a complete answer the connection is used again.
//   - A caller's own credentials are never sent upstream, and no error contains ours.
//   - Nothing is unbounded: answers, events, error bodies, headers and messages have limits.
//
// A Client is safe for concurrent use and starts no goroutines of its own. A Reader and the answer it
// reads belong to one goroutine.
package wire

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"penstock"
	"penstock/internal/body"
	"penstock/internal/provider"
	"penstock/internal/sse"
)

// The defaults of a Config.
const (
	DefaultConnectTimeout      = 10 * time.Second
	DefaultMaxIdleConnsPerHost = 512
	DefaultConnectionRest      = time.Millisecond
	DefaultMaxAnswerBytes      = 64 << 20
	DefaultMaxErrorBytes       = 64 << 10
)

// Config says which upstream to call, and how.
type Config struct {
	// Name is what the configuration calls this provider. Errors of New mention it. Required.
	Name string
	// BaseURL is what an SDK of the protocol would be given: the URL that paths such as
	// "/chat/completions" are appended to, its version included. The default is the adapter's. A URL
	// without a path, such as http://127.0.0.1:11434, is taken for a server that has its API under /v1,
	// as they all do.
	BaseURL string
	// APIKey is sent in the way of the protocol. Empty for servers that want none.
	APIKey string
	// APIKeys are further keys, which take turns with APIKey. At most [MaxKeys] in all.
	APIKeys []string
	// RootCAs verify an upstream's TLS certificate; nil for the system's roots.
	RootCAs *x509.CertPool
	// WatchKeys is called with each change of a key's state when there are several keys; nil for none. It must not block.
	WatchKeys func(KeyChange)
	// ConnectTimeout bounds dialling and, apart from that, the TLS handshake of every new connection.
	// A call may ask for less. Default 10 s.
	ConnectTimeout time.Duration
	// MaxIdleConnsPerHost is how many unused connections are kept for the next calls. Default 512:
	// after a burst of streams, the next burst should not need as many handshakes.
	MaxIdleConnsPerHost int
	// ConnectionRest is how long a connection without TLS is not used after an answer: a second, unrequested answer right
	// after it must not reach the next call. A busy upstream needs one more connection for each call in that time. Default
	// 1 ms; negative for none.
	ConnectionRest time.Duration
	// MaxAnswerBytes bounds an answer, plain or streamed. Default 64 MiB.
	MaxAnswerBytes int
	// MaxErrorBytes bounds how much of an error's body is read. Default 64 KiB.
	MaxErrorBytes int
	// Hidden are further secrets, which are sent to the upstream and must not appear in errors.
	Hidden []string
	// Limits are the headers that report the upstream's limits. Default: those of [provider.DefaultLimitNames].
	Limits *provider.LimitHeaders
}

func (c Config) withDefaults() Config {
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = DefaultConnectTimeout
	}
	if c.MaxIdleConnsPerHost == 0 {
		c.MaxIdleConnsPerHost = DefaultMaxIdleConnsPerHost
	}
	if c.ConnectionRest == 0 {
		c.ConnectionRest = DefaultConnectionRest
	}
	if c.MaxAnswerBytes == 0 {
		c.MaxAnswerBytes = DefaultMaxAnswerBytes
	}
	if c.MaxErrorBytes == 0 {
		c.MaxErrorBytes = DefaultMaxErrorBytes
	}
	if c.Limits == nil {
		c.Limits = provider.DefaultLimitNames.Headers()
	}
	return c
}

// problems lists all invalid fields of c except its URL.
func (c Config) problems() (all []error) {
	if c.Name == "" {
		all = append(all, errors.New("name: is missing"))
	}
	if c.ConnectTimeout < 0 {
		all = append(all, fmt.Errorf("connect_timeout: %s is negative", c.ConnectTimeout))
	}
	for _, count := range []struct {
		name string
		n    int
	}{
		{"max_idle_conns_per_host", c.MaxIdleConnsPerHost},
		{"max_answer_bytes", c.MaxAnswerBytes},
		{"max_error_bytes", c.MaxErrorBytes},
	} {
		if count.n < 0 {
			all = append(all, fmt.Errorf("%s: %d is negative", count.name, count.n))
		}
	}
	secrets := c.secrets()
	for _, secret := range secrets {
		if strings.ContainsFunc(secret, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
			all = append(all, errors.New("api_key: contains a space, a line break or a character outside of ASCII; "+
				"check how it was copied"))
			break
		}
	}
	if len(secrets) > MaxKeys {
		all = append(all, fmt.Errorf("api_keys: %d are more than %d", len(secrets), MaxKeys))
	}
	return all
}

// secrets are APIKey and APIKeys.
func (c Config) secrets() []string {
	var all []string
	for _, secret := range append([]string{c.APIKey}, c.APIKeys...) {
		if secret != "" {
			all = append(all, secret)
		}
	}
	return all
}

// Client calls one upstream.
type Client struct {
	cfg     Config
	urls    map[penstock.Endpoint]*url.URL
	carrier carrier
	keys    *keyring
	secrets *redactor
}

// New returns a client for the upstream that cfg describes, at which the given endpoints are called. It
// does not contact it.
func New(cfg Config, endpoints ...penstock.Endpoint) (*Client, error) {
	cfg = cfg.withDefaults()
	problems := cfg.problems()
	urls := make(map[penstock.Endpoint]*url.URL, len(endpoints))
	for _, endpoint := range endpoints {
		u, err := endpointURL(cfg.BaseURL, endpoint)
		if err != nil {
			problems = append(problems, fmt.Errorf("base_url: %w", err))
			break // the others would say the same
		}
		urls[endpoint] = u
	}
	if len(problems) > 0 {
		return nil, fmt.Errorf("provider %q: %w", cfg.Name, errors.Join(problems...))
	}
	return &Client{cfg: cfg, urls: urls, carrier: newCarrier(cfg), keys: newKeyring(cfg), secrets: newRedactor(append(cfg.secrets(), cfg.Hidden...))}, nil
}

// CloseIdleConnections closes the pooled connections that no call is using. Call it when the
// provider goes out of use; calls that are under way are not disturbed.
func (c *Client) CloseIdleConnections() { c.carrier.CloseIdleConnections() }

// Speaks reports whether the client was made for an endpoint.
func (c *Client) Speaks(e penstock.Endpoint) bool { return c.urls[e] != nil }

// Request is a call in the form of its protocol.
type Request struct {
	// URL is the address of the call if it is not the one made of the base URL and the endpoint.
	URL string
	// Body is what the upstream gets. It must not change before the answer is there.
	Body body.Pieces
	// SetHeader adds the protocol's own headers, credentials among them, to those that are there: the
	// caller's, without credentials, and those that every protocol has. The key is "" if there is none.
	SetHeader func(h http.Header, apiKey string)
	// Reader parses the answer.
	Reader Reader
	// Framing is that of streams that are not server-sent events; nil for none.
	Framing *Framing
	// Wanted names a good answer in errors, such as "a chat completion".
	Wanted string
}

// Framing is how a protocol puts events into a stream, where they are not server-sent events.
type Framing struct {
	// Type is the content type of such a stream.
	Type string
	// Events returns the events of a stream as server-sent events, which callers and the Reader get. Each Read returns at most one event,
	// and reads no more than that event. A [FramingError] says that the stream breaks its protocol.
	Events func(stream io.Reader) io.Reader
}

// FramingError says that a stream is not in its framing.
type FramingError struct{ Err error }

func (e *FramingError) Error() string { return "the framing of the stream is broken: " + e.Err.Error() }

func (e *FramingError) Unwrap() error { return e.Err }

// Reader parses one answer of a protocol. The arguments of its methods are valid during the call only.
type Reader interface {
	// Plain reads an answer in one piece. An error says that it is not one.
	Plain(body []byte) (Part, error)
	// Event reads an event of a stream that has data. An error says that it is none of the protocol.
	Event(ev sse.Event) (Part, error)
	// Usage is the usage that was reported so far, and whether that is all of it.
	Usage() (penstock.Usage, Reported)
	// Complaint reads an error: the body of a bad status, or what Plain or Event called failed.
	Complaint(status int, body []byte) Complaint
}

// Reported says how much of its usage an upstream has reported.
type Reported int

const (
	ReportedPart    Reported = iota // not all of it, or nothing
	ReportedAll                     // all of it
	ReportedInvalid                 // invalid counts: they count as not reported, and the attempt notes it
)

// setUsage copies the usage that a reader has read into an answer's metadata.
func setUsage(meta *provider.Meta, r Reader) {
	var reported Reported
	meta.Usage, reported = r.Usage()
	meta.UsageKnown, meta.UsageInvalid = reported == ReportedAll, reported == ReportedInvalid
}

// Part is the result of parsing a part of an answer.
type Part struct {
	Text   string // generated text, if any
	Failed bool   // it is an error in place of an answer
	Last   bool   // the protocol's terminator: the answer is complete
	Alive  bool   // it only keeps the connection open, and says nothing about the answer to come
	Hidden bool   // Penstock requested it and not the caller, who must not see it
	// SearchUnits are those that a plain answer reports, 0 for none.
	SearchUnits int64
}

// Complaint is the result of parsing an error.
type Complaint struct {
	Kind    provider.Kind
	Message string // in the upstream's words, "" when it has none
	Body    []byte // the error as a caller of the dialect knows it, nil if it has not that form
	// Quota is the limit that a refusal names.
	Quota provider.Quota
}

// endpointURL is where an endpoint of the server at base is found.
func endpointURL(base string, endpoint penstock.Endpoint) (*url.URL, error) {
	u, err := url.Parse(base)
	if err != nil {
		return nil, errors.New("is not a URL")
	}
	path := strings.TrimRight(u.Path, "/")
	suffix := strings.TrimPrefix(string(endpoint), "/v1")
	switch {
	case (u.Scheme != "http" && u.Scheme != "https") || u.Host == "":
		return nil, errors.New("must start with http:// or https:// and name a host")
	case u.User != nil:
		return nil, errors.New("must not hold credentials: use api_key")
	case u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("must not have a query or a fragment")
	case strings.HasSuffix(path, suffix):
		return nil, fmt.Errorf("must end before %s, which is appended to it", suffix)
	case path == "":
		path = "/v1"
	}
	return url.Parse(u.Scheme + "://" + u.Host + path + suffix)
}
