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

// secured carries with TLS. HTTP/2 is net/http's. HTTP/1.1 is not: its transport hands a connection to the next call before
// it checks whether the server sent anything unasked, and that call gets the answer of another one. The server says in the handshake
// which of them it speaks; it is asked before the first call, and again when it answers otherwise.
type secured struct {
	cfg    Config
	dialer *net.Dialer
	direct direct
	pooled *pooled

	speaks atomic.Int32             // a version
	first  atomic.Pointer[tls.Conn] // the connection that told it, until it is used; nil for none
}

func (s *secured) post(ctx context.Context, p *outgoing) (*http.Response, error) {
	speaks, err := s.version(ctx, p)
	if err != nil {
		return nil, err
	}
	if speaks == version1 {
		return s.direct.post(ctx, p)
	}
	resp, err := s.pooled.post(ctx, p)
	if err == nil && resp.ProtoMajor < 2 {
		s.speaks.Store(int32(versionUnknown))
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

// version finds out what the server speaks, by a handshake if that is not known. Calls that come before it is known ask each for
// itself: one that waited for another would share its bad luck.
func (s *secured) version(ctx context.Context, p *outgoing) (version, error) {
	if known := version(s.speaks.Load()); known != versionUnknown {
		return known, nil
	}
	p.connecting()
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
	s.speaks.Store(int32(found))
	return found, nil
}

// dialHTTP1 makes a connection on which HTTP/1.1 is spoken.
func (s *secured) dialHTTP1(ctx context.Context, _, address string) (net.Conn, error) {
	if conn := s.first.Swap(nil); conn != nil {
		if conn.ConnectionState().NegotiatedProtocol != "h2" {
			return conn, nil
		}
		_ = conn.Close() // another call found that the server speaks HTTP/2 by now
	}
	return s.dial(ctx, address, []string{"http/1.1"})
}

// dialHTTP2 makes a connection for net/http, on which HTTP/2 is spoken if the server still does.
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
