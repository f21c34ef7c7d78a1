// Package dial opens connections to addresses that third parties chose, such as the receivers of webhooks,
// without letting them reach what only this machine can reach.
//
// It owns the decision which addresses may be connected to, and an HTTP transport that cannot bypass it. The
// decision is made for the resolved address, at the time of the connection: a name that first resolves to an
// allowed address and later to another is refused then. The transport follows no proxy of the
// environment; following redirects is up to the client above it, and [Client] follows none.
//
// A Policy is immutable, and everything here is safe for concurrent use.
package dial

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"
)

// Policy is which addresses may be connected to. The zero value allows public ones, by https alone.
type Policy struct {
	// Allow are networks that may be connected to although they are not public, and by plain http too. An
	// address that serves a cloud's metadata must be listed itself: a wider network does not allow it.
	Allow []netip.Prefix
	// PlainHTTP allows http without TLS to public addresses.
	PlainHTTP bool
}

// Refusal is why an address is not connected to. Its text is for the operator; [Refusal.Public] is for the tenant that chose the
// host.
type Refusal struct {
	Host   string // as it was asked for, "" when only the address is known
	Addr   netip.Addr
	Reason string
}

func (r *Refusal) Error() string {
	if r.Host != "" && r.Host != r.Addr.String() {
		return fmt.Sprintf("%s resolves to %s, which %s", r.Host, r.Addr, r.Reason)
	}
	return fmt.Sprintf("%s %s", r.Addr, r.Reason)
}

// plainReason is why plain http is refused.
const plainReason = "is public: plain http is refused there, use https"

// Public is the refusal without the facts that only our resolver knows: the address of a name, and its network.
func (r *Refusal) Public() string {
	switch {
	case r.Host == "", r.Host == r.Addr.String():
		return r.Error() // the address was chosen itself
	case r.Reason == plainReason:
		return r.Host + " " + plainReason
	}
	return r.Host + " does not lead to a public address"
}

// Check says whether an address may be connected to over TLS; nil, or a *Refusal.
func (p Policy) Check(addr netip.Addr) error {
	addr = addr.Unmap().WithZone("")
	if p.allows(addr) {
		return nil
	}
	if reason := private(addr); reason != "" {
		return &Refusal{Addr: addr, Reason: reason}
	}
	return nil
}

// CheckPlain says whether an address may be connected to without TLS.
func (p Policy) CheckPlain(addr netip.Addr) error {
	if err := p.Check(addr); err != nil {
		return err
	}
	if addr = addr.Unmap().WithZone(""); !p.PlainHTTP && !p.allows(addr) {
		return &Refusal{Addr: addr, Reason: plainReason}
	}
	return nil
}

// allows says whether an address was opened by name of its network.
func (p Policy) allows(addr netip.Addr) bool {
	metadata := isMetadata(addr)
	for _, network := range p.Allow {
		if network.Contains(addr) && (!metadata || network.IsSingleIP()) {
			return true
		}
	}
	return false
}

// Bounds of a connection. How long a whole call may take is its context's to say.
const (
	connectTimeout = 5 * time.Second
	tlsTimeout     = 5 * time.Second
	idleTimeout    = 30 * time.Second
	maxIdle        = 64
	maxIdlePerHost = 2
	maxHeaderBytes = 16 << 10
)

// Client returns a client that connects as the policy says and follows no redirect. A nil resolver is the
// system's.
func (p Policy) Client(resolver *net.Resolver) *http.Client {
	return &http.Client{
		Transport: &transport{
			secure: p.transport(resolver, p.Check),
			plain:  p.transport(resolver, p.CheckPlain),
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// transport keeps connections with TLS apart from those without, since other addresses are open to them.
type transport struct{ secure, plain *http.Transport }

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme == "https" {
		return t.secure.RoundTrip(r)
	}
	return t.plain.RoundTrip(r)
}

// CloseIdleConnections closes unused connections, for http.Client.
func (t *transport) CloseIdleConnections() {
	t.secure.CloseIdleConnections()
	t.plain.CloseIdleConnections()
}

func (p Policy) transport(resolver *net.Resolver, check func(netip.Addr) error) *http.Transport {
	dialer := &net.Dialer{
		Timeout: connectTimeout, Resolver: resolver,
		// Called with each resolved address, after the last lookup and before the first packet.
		ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
			at, err := netip.ParseAddrPort(address)
			if err != nil {
				return fmt.Errorf("reading the address to connect to: %w", err)
			}
			return check(at.Addr())
		},
	}
	return &http.Transport{
		Proxy: nil, // a proxy would connect without the check
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, network, address)
			return conn, named(err, address)
		},
		ForceAttemptHTTP2: true, TLSHandshakeTimeout: tlsTimeout, IdleConnTimeout: idleTimeout,
		MaxIdleConns: maxIdle, MaxIdleConnsPerHost: maxIdlePerHost, MaxResponseHeaderBytes: maxHeaderBytes,
		DisableCompression: true, // a small compressed answer could expand to a very large one
	}
}

// named adds to a refusal which host it was that resolved to the address.
func named(err error, address string) error {
	refusal, ok := errors.AsType[*Refusal](err)
	if !ok {
		return err
	}
	host, _, splitErr := net.SplitHostPort(address)
	if splitErr != nil {
		return err
	}
	return &Refusal{Host: host, Addr: refusal.Addr, Reason: refusal.Reason}
}
