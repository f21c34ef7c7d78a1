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
	"penstock/internal/identity/certificate"
	"penstock/internal/rest"
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
	adminTLS, err := certificate.NewTLS(certificate.ListenerDeps{Settings: p.Admin.TLS, At: "admin.tls", Log: a.log, Clock: time.Now})
	if err != nil {
		return nil, err
	}
	if a.api == nil {
		p.TLS = config.TLS{}
	}
	apiTLS, err := certificate.NewTLS(certificate.ListenerDeps{Settings: p.TLS, At: "tls", Log: a.log, Clock: time.Now})
	if err != nil {
		return nil, err
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
		adminHTTP: a.server(a.admin.Handler()), addresses: Addresses{Admin: scheme(adminTLS) + admin.Addr().String(), AdminInUse: inUse},
	}
	d.adminHTTP.TLSConfig = adminTLS
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
	d.apiServer.TLSConfig, d.addresses.API = apiTLS, scheme(apiTLS)+d.api.Addr().String()
	return d, nil
}

func scheme(c *tls.Config) string {
	if c == nil {
		return "http://"
	}
	return "https://"
}

func (a *app) server(h http.Handler) *http.Server {
	return &http.Server{
		Handler: rest.EndAfterChunks(h), ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(a.log.Handler(), slog.LevelDebug),
	}
}

// serveAPI serves until ctx ends, then lets calls finish within the grace period.
func (d *listeners) serveAPI(ctx context.Context) error {
	return Serve(ctx, d.apiServer, d.api, d.grace)
}

// serveAdmin serves until ctx ends. Its last calls may be cut.
func (d *listeners) serveAdmin(ctx context.Context) error {
	return Serve(ctx, d.adminHTTP, d.admin, time.Second)
}

// Serve serves until ctx ends. Calls that are open then have the grace to end.
func Serve(ctx context.Context, s *http.Server, l net.Listener, grace time.Duration) error {
	failed := make(chan error, 1)
	go func() {
		if s.TLSConfig != nil {
			failed <- s.ServeTLS(l, "", "")
			return
		}
		failed <- s.Serve(l)
	}()
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
