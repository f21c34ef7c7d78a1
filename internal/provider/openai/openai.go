// Package openai calls upstreams that speak OpenAI's chat completions protocol: OpenAI itself and
// the many servers that are compatible with it.
//
// It owns the wire: the URL, the headers, the two patches to the body (the model's name, and usage
// in streams), the framing of answers, the timeouts of each phase and the classification of every
// failure. It does not choose targets, try again, count money or log.
//
// Invariants:
//   - What the caller sent is what the upstream gets, but for the bytes of the model's name and of
//     stream_options; what the upstream answers is what the caller gets, but for a usage chunk that
//     we asked for and the caller did not.
//   - An answer without the protocol's terminator is truncated, even if it looks finished: a server
//     that died and one that omits "[DONE]" cannot be told apart. Its usage is kept if it was told.
//   - When a call ends early, for whatever reason, the connection under it is closed at once, so
//     that the upstream stops generating. After a complete answer the connection is used again.
//   - No error says our API key, whatever the upstream echoes.
//   - Nothing is unbounded: answers, events, error bodies, headers and messages have limits.
//
// A Provider is safe for concurrent use and starts no goroutines of its own. An answer belongs to
// one goroutine.
package openai

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"penstock"
	"penstock/internal/provider"
)

// The defaults of a Config.
const (
	DefaultBaseURL             = "https://api.openai.com/v1"
	DefaultConnectTimeout      = 10 * time.Second
	DefaultMaxIdleConnsPerHost = 512
	DefaultMaxAnswerBytes      = 64 << 20
	DefaultMaxErrorBytes       = 64 << 10
)

// Config says which upstream to call, and how.
type Config struct {
	// Name is what the configuration calls this provider. Errors of New mention it. Required.
	Name string
	// BaseURL is what an OpenAI SDK would be given: the URL that "/chat/completions" is appended to,
	// such as https://api.openai.com/v1, which is the default. A URL without a path, such as
	// http://127.0.0.1:11434, is taken for a server that has its API under /v1, as they all do.
	BaseURL string
	// APIKey is sent as a bearer token. Empty for servers that want none.
	APIKey string
	// ConnectTimeout bounds dialling and, apart from that, the TLS handshake of every new connection.
	// A call may ask for less. Default 10 s.
	ConnectTimeout time.Duration
	// MaxIdleConnsPerHost is how many unused connections are kept for the next calls. Default 512:
	// a burst of streams should not be paid for with as many handshakes at its next turn.
	MaxIdleConnsPerHost int
	// MaxAnswerBytes bounds an answer, plain or streamed. Default 64 MiB.
	MaxAnswerBytes int
	// MaxErrorBytes bounds how much of an error's body is read. Default 64 KiB.
	MaxErrorBytes int
}

func (c Config) withDefaults() Config {
	if c.BaseURL == "" {
		c.BaseURL = DefaultBaseURL
	}
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = DefaultConnectTimeout
	}
	if c.MaxIdleConnsPerHost == 0 {
		c.MaxIdleConnsPerHost = DefaultMaxIdleConnsPerHost
	}
	if c.MaxAnswerBytes == 0 {
		c.MaxAnswerBytes = DefaultMaxAnswerBytes
	}
	if c.MaxErrorBytes == 0 {
		c.MaxErrorBytes = DefaultMaxErrorBytes
	}
	return c
}

// problems says everything that is wrong with c.
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
	if strings.ContainsFunc(c.APIKey, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		all = append(all, errors.New("api_key: contains a space, a line break or a character outside of ASCII; "+
			"check how it was copied"))
	}
	return all
}

// Provider calls one OpenAI-compatible upstream.
type Provider struct {
	cfg       Config
	chatURL   string
	transport *http.Transport
}

var _ provider.Provider = (*Provider)(nil)

// New returns a provider for the upstream that cfg describes. It does not contact it.
func New(cfg Config) (*Provider, error) {
	cfg = cfg.withDefaults()
	problems := cfg.problems()
	chatURL, err := endpointURL(cfg.BaseURL, penstock.EndpointChat)
	if err != nil {
		problems = append(problems, fmt.Errorf("base_url: %w", err))
	}
	if len(problems) > 0 {
		return nil, fmt.Errorf("provider %q: %w", cfg.Name, errors.Join(problems...))
	}
	return &Provider{cfg: cfg, chatURL: chatURL, transport: newTransport(cfg)}, nil
}

// CloseIdleConnections closes the pooled connections that no call is using. Call it when the
// provider goes out of use; calls that are under way are not disturbed.
func (p *Provider) CloseIdleConnections() { p.transport.CloseIdleConnections() }

// Speaks implements [provider.Provider].
func (p *Provider) Speaks(e penstock.Endpoint) bool { return e == penstock.EndpointChat }

// Call implements [provider.Provider].
func (p *Provider) Call(ctx context.Context, call provider.Call) (provider.Answer, error) {
	ex, err := p.send(ctx, call)
	if err != nil {
		return nil, err
	}
	answer, err := p.receive(ex, call)
	if err != nil {
		ex.close()
		return nil, err
	}
	return answer, nil
}

// endpointURL is where an endpoint of the server at base is found.
func endpointURL(base string, endpoint penstock.Endpoint) (string, error) {
	u, err := url.Parse(base)
	if err != nil {
		return "", errors.New("is not a URL")
	}
	path := strings.TrimRight(u.Path, "/")
	suffix := strings.TrimPrefix(string(endpoint), "/v1")
	switch {
	case (u.Scheme != "http" && u.Scheme != "https") || u.Host == "":
		return "", errors.New("must start with http:// or https:// and name a host")
	case u.User != nil:
		return "", errors.New("must not hold credentials: use api_key")
	case u.RawQuery != "" || u.Fragment != "":
		return "", errors.New("must not have a query or a fragment")
	case strings.HasSuffix(path, suffix):
		return "", fmt.Errorf("must end before %s, which is appended to it", suffix)
	case path == "":
		path = "/v1"
	}
	return u.Scheme + "://" + u.Host + path + suffix, nil
}

// maxHeaderBytes bounds the headers of an answer.
const maxHeaderBytes = 64 << 10

// newTransport makes the pool of connections of one provider. It has no timeouts of its own for
// answers: those differ from call to call, and watchdogs keep them.
func newTransport(cfg Config) *http.Transport {
	dialer := &net.Dialer{Timeout: cfg.ConnectTimeout, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            dialer.DialContext,
		TLSHandshakeTimeout:    cfg.ConnectTimeout,
		MaxIdleConnsPerHost:    cfg.MaxIdleConnsPerHost,
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: maxHeaderBytes,
		ForceAttemptHTTP2:      true,
		// Many streams share one HTTP/2 connection. If the other end is gone without a word, all
		// of them hang until their own timeouts, unless something asks.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 15 * time.Second},
	}
}
