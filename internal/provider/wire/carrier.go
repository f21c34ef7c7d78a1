package wire

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"time"

	"penstock/internal/http1"
)

const (
	// maxHeaderBytes bounds the headers of an answer.
	maxHeaderBytes = 64 << 10
	// idleTimeout is how long an unused connection is kept.
	idleTimeout = 90 * time.Second
)

// carrier sends requests to the upstream. It has no timeouts for answers: those differ from call to call, and watchdogs
// enforce them.
type carrier interface {
	// post sends a body and returns when the headers of an answer are there. The end of ctx also ends the answer.
	post(ctx context.Context, p *outgoing) (*http.Response, error)
	CloseIdleConnections()
}

// outgoing is a request that a carrier sends.
type outgoing struct {
	to     *url.URL
	header http.Header
	body   *upload
	// phases learns when a connection is begun and is ready. When a pooled connection turns out to be dead before anything was
	// sent, the carrier starts over, and so do the phases. It also learns that bytes of the answer's body are about to be waited for, and
	// perhaps also if they need not be.
	phases http1.Phases
}

// newCarrier makes the pool of connections of one provider.
func newCarrier(cfg Config) carrier {
	dialer := &net.Dialer{Timeout: cfg.ConnectTimeout, KeepAlive: 30 * time.Second}
	own := http1.Config{
		Dial: dialer.DialContext, MaxIdle: cfg.MaxIdleConnsPerHost, IdleTimeout: idleTimeout, Rest: cfg.ConnectionRest, MaxHeaderBytes: maxHeaderBytes,
	}
	base, err := url.Parse(cfg.BaseURL)
	if err != nil || isProxied(base) {
		return newPooled(cfg, dialer)
	}
	if base.Scheme == "http" {
		return direct{http1.New(own)}
	}
	s := &secured{cfg: cfg, dialer: dialer, pooled: newPooled(cfg, dialer)}
	own.Dial, s.pooled.DialTLSContext = s.dialHTTP1, s.dialHTTP2
	s.direct = direct{http1.New(own)}
	return s
}

func newPooled(cfg Config, dialer *net.Dialer) *pooled {
	return &pooled{&http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            dialer.DialContext,
		TLSClientConfig:        &tls.Config{RootCAs: cfg.RootCAs},
		TLSHandshakeTimeout:    cfg.ConnectTimeout,
		MaxIdleConnsPerHost:    cfg.MaxIdleConnsPerHost,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: maxHeaderBytes,
		ForceAttemptHTTP2:      true,
		// Many streams share one HTTP/2 connection. If the server is gone without closing it, all of
		// them hang until their own timeouts, unless a ping detects it.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 15 * time.Second},
	}}
}

// isProxied reports whether a server is reached through a proxy.
func isProxied(base *url.URL) bool {
	proxy, err := http.ProxyFromEnvironment(&http.Request{URL: base})
	return proxy != nil || err != nil
}

// direct sends without TLS, on the goroutine of the call: for self-hosted servers, where the model answers quickly and the
// gateway's share of the latency is largest.
type direct struct{ *http1.Client }

func (d direct) post(ctx context.Context, p *outgoing) (*http.Response, error) {
	defer p.body.close() // it was sent by the time that Post returns
	return d.Post(ctx, http1.Request{
		URL: p.to, Header: p.header, Body: p.body.pieces, Phases: p.phases,
	})
}

// pooled sends with net/http: with TLS, HTTP/2 and proxies.
type pooled struct{ *http.Transport }

// post sends by the transport and not by a client: there are no redirects to follow, no cookies to keep, and errors
// need no URL in front of them. The URL is shared by all calls of an endpoint, which http.NewRequest would parse again
// for each of them; nothing below changes it. The body can be read again, so that a call survives a pooled connection
// that turns out to be dead.
func (t *pooled) post(ctx context.Context, p *outgoing) (*http.Response, error) {
	phases := p.phases
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { phases.Connecting() },
		GotConn: func(httptrace.GotConnInfo) { phases.Connected() },
	})
	req := blank.WithContext(ctx)
	req.Method, req.URL, req.Host, req.Proto, req.ProtoMajor, req.ProtoMinor = http.MethodPost, p.to, p.to.Host, "HTTP/1.1", 1, 1
	req.Header, req.Body, req.GetBody, req.ContentLength = p.header, p.body.open(), p.body.reopen, http1.Length(p.body.pieces)
	resp, err := t.RoundTrip(req)
	p.body.answered()
	if err != nil {
		return nil, err
	}
	resp.Request = nil
	resp.Body = &download{resp.Body, phases}
	return resp, nil
}

// download is the body of an answer. Whether its bytes have arrived already is not known.
type download struct {
	io.ReadCloser
	phases http1.Phases
}

func (d *download) Read(p []byte) (int, error) {
	if err := d.phases.Waiting(); err != nil {
		return 0, err
	}
	return d.ReadCloser.Read(p)
}

// blank is the template of requests: a stream would otherwise keep space for a second request on its stack.
var blank http.Request
