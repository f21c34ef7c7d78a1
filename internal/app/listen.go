package app

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"penstock/internal/config"
	"penstock/internal/console"
	"penstock/internal/socket"
)

// Bounds of the HTTP servers. Answers are not bounded in time: a stream may be long.
const (
	headerTimeout = 10 * time.Second
	idleTimeout   = 2 * time.Minute
	maxHeader     = 64 << 10
)

// listeners are the two listeners of a process. A worker has no api.
type listeners struct {
	api, admin           net.Listener
	apiServer, adminHTTP *http.Server
	lines                *requestLines // nil where none are printed
	grace                time.Duration
	addresses            Addresses
}

// listen opens the listeners. Nothing is served yet.
func (a *app) listen() (*listeners, error) {
	p := a.Config.Process
	var certificates []tls.Certificate
	if p.TLS != (config.TLS{}) && a.api != nil {
		cert, err := p.TLS.Certificate()
		if err != nil {
			return nil, err
		}
		certificates = []tls.Certificate{cert}
	}
	admin, err := net.Listen("tcp", p.AdminListen)
	inUse := ""
	if err != nil && a.AnyAdmin {
		inUse = p.AdminListen
		admin, err = net.Listen("tcp", "127.0.0.1:0")
	}
	if err != nil {
		return nil, fmt.Errorf("listening for administration (set admin_listen or PENSTOCK_ADMIN_LISTEN to another address): %w", err)
	}
	d := &listeners{
		admin: admin, grace: p.ShutdownGrace,
		adminHTTP: a.server(a.admin.Handler()), addresses: Addresses{Admin: "http://" + admin.Addr().String(), AdminInUse: inUse},
	}
	if a.api == nil {
		return d, nil
	}
	api, err := net.Listen("tcp", p.Listen)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("listening for the API (set listen or PENSTOCK_LISTEN to another address): %w", err), admin.Close())
	}
	d.api = socket.Listener{Listener: api}
	handler := a.admin.ForPeople(a.api.Handler())
	if a.Requests != nil {
		d.lines = newRequestLines(a.Requests)
		handler = d.lines.watch(handler)
	}
	if !p.Console.Disabled {
		if handler, err = console.New(p.ConsolePath(), handler); err != nil {
			return nil, errors.Join(err, admin.Close(), api.Close())
		}
	}
	d.apiServer = a.server(handler)
	d.addresses.API = "http://" + d.api.Addr().String()
	if certificates != nil {
		d.apiServer.TLSConfig = &tls.Config{Certificates: certificates, MinVersion: tls.VersionTLS12}
		d.addresses.API = "https://" + d.api.Addr().String()
	}
	return d, nil
}

func (a *app) server(h http.Handler) *http.Server {
	return &http.Server{
		Handler: &endAfterChunks{h}, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(a.log.Handler(), slog.LevelDebug),
	}
}

// endAfterChunks closes the connection after the answer to a request with a chunked body. Package net/http reads such a
// body correctly and hides a Content-Length beside it. A proxy before us may have obeyed that length: then the bytes that we
// would read as the next request are a part of this one. CONNECT is the same: a proxy that took it for a tunnel passes on
// bytes that are no request.
//
// It is a type and not a function because streams wait below it, thousands at a time: see package api.
type endAfterChunks struct{ next http.Handler }

func (h *endAfterChunks) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor == 1 && len(r.TransferEncoding) > 0 || r.Method == http.MethodConnect {
		w.Header().Set("Connection", "close")
	}
	h.next.ServeHTTP(w, r)
}

// serveAPI serves until ctx ends, then lets calls finish within the grace period.
func (d *listeners) serveAPI(ctx context.Context) error {
	serve := func() error { return d.apiServer.Serve(d.api) }
	if d.apiServer.TLSConfig != nil {
		serve = func() error { return d.apiServer.ServeTLS(d.api, "", "") }
	}
	return serveUntil(ctx, d.apiServer, serve, d.grace)
}

// serveAdmin serves until ctx ends. Its last calls may be cut.
func (d *listeners) serveAdmin(ctx context.Context) error {
	return serveUntil(ctx, d.adminHTTP, func() error { return d.adminHTTP.Serve(d.admin) }, time.Second)
}

func serveUntil(ctx context.Context, s *http.Server, serve func() error, grace time.Duration) error {
	failed := make(chan error, 1)
	go func() { failed <- serve() }()
	select {
	case err := <-failed:
		return fmt.Errorf("serving: %w", err)
	case <-ctx.Done():
	}
	graceCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if err := s.Shutdown(graceCtx); err != nil {
		_ = s.Close() // cuts what did not end in time
	}
	<-failed
	return nil
}
