package wire

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync/atomic"
)

// version is of HTTP, as far as it is known of a server.
type version int32

const (
	versionUnknown version = iota
	version1
	version2
)

// secured sends with TLS. net/http serves HTTP/2, but not HTTP/1.1: its transport hands a connection to the next call before
// it checks for unrequested bytes of the server, and that call would get the answer of another. The handshake negotiates the
// version: before the first call, and again when the server later negotiates another one.
type secured struct {
	cfg    Config
	dialer *net.Dialer
	direct direct
	pooled *pooled

	negotiated atomic.Int32             // a version
	first      atomic.Pointer[tls.Conn] // the connection of the handshake that negotiated it, until it is used; nil for none
}

func (s *secured) post(ctx context.Context, p *outgoing) (*http.Response, error) {
	negotiated, err := s.version(ctx, p)
	if err != nil {
		return nil, err
	}
	if negotiated == version1 {
		return s.direct.post(ctx, p)
	}
	resp, err := s.pooled.post(ctx, p)
	if err == nil && resp.ProtoMajor < 2 {
		s.negotiated.Store(int32(versionUnknown))
	}
	return resp, err
}

func (s *secured) CloseIdleConnections() {
	s.direct.CloseIdleConnections()
	s.pooled.CloseIdleConnections()
	s.keep(nil)
}

// keep has the next dial use a connection, instead of one that was kept before.
func (s *secured) keep(conn *tls.Conn) {
	if unused := s.first.Swap(conn); unused != nil {
		_ = unused.Close()
	}
}

// version is the server's HTTP version, by a handshake if it is not known. Calls that arrive before it is known each make
// their own handshake: a call that waited for another would fail with it.
func (s *secured) version(ctx context.Context, p *outgoing) (version, error) {
	if known := version(s.negotiated.Load()); known != versionUnknown {
		return known, nil
	}
	p.phases.Connecting()
	address := p.to.Host
	if p.to.Port() == "" {
		address = net.JoinHostPort(p.to.Hostname(), "443")
	}
	conn, err := s.dial(ctx, address, []string{"h2", "http/1.1"})
	if err != nil {
		return versionUnknown, err
	}
	found := version1
	if conn.ConnectionState().NegotiatedProtocol == "h2" {
		found = version2
	}
	s.keep(conn)
	s.negotiated.Store(int32(found))
	return found, nil
}

// dialHTTP1 opens a connection for HTTP/1.1.
func (s *secured) dialHTTP1(ctx context.Context, _, address string) (net.Conn, error) {
	if conn := s.first.Swap(nil); conn != nil {
		if conn.ConnectionState().NegotiatedProtocol != "h2" {
			return conn, nil
		}
		_ = conn.Close() // the server negotiates HTTP/2 by now, as another call found
	}
	return s.dial(ctx, address, []string{"http/1.1"})
}

// dialHTTP2 opens a connection for net/http, with HTTP/2 if the server still negotiates it.
func (s *secured) dialHTTP2(ctx context.Context, _, address string) (net.Conn, error) {
	if conn := s.first.Swap(nil); conn != nil {
		return conn, nil
	}
	return s.dial(ctx, address, []string{"h2", "http/1.1"})
}

func (s *secured) dial(ctx context.Context, address string, protocols []string) (*tls.Conn, error) {
	raw, err := s.dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		_ = raw.Close()
		return nil, err
	}
	conn := tls.Client(raw, &tls.Config{RootCAs: s.cfg.RootCAs, ServerName: host, NextProtos: protocols})
	ctx, cancel := context.WithTimeout(ctx, s.cfg.ConnectTimeout)
	defer cancel()
	if err := conn.HandshakeContext(ctx); err != nil {
		_ = raw.Close()
		return nil, err
	}
	return conn, nil
}
