// Package admin is the HTTP API of operators: tenants and keys, pauses, the configuration, usage, budgets, the audit,
// load, metrics and profiles. It decodes calls, calls the services, and encodes their answers.
//
// Its routes are rows of a table of package rest, like those of package api. The table gives routing, roles, OpenAPI,
// spans, metrics, errors and recovery, and the row of each change names the action that the audit records. Package
// admin decides which calls need no admin key (calls over loopback, and calls with the metrics key) and which host
// names it answers for. It has its own listener.
package admin

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"penstock"
	"penstock/internal/audit"
	"penstock/internal/backlog"
	"penstock/internal/config"
	"penstock/internal/control"
	"penstock/internal/directory"
	"penstock/internal/identity"
	"penstock/internal/live"
	"penstock/internal/reload"
	"penstock/internal/rest"
	"penstock/internal/rollup"
	"penstock/internal/store"
	"penstock/internal/telemetry"
	"penstock/internal/usage"
)

// TenantReader reads tenants.
type TenantReader interface {
	ListTenants(ctx context.Context, f store.TenantFilter) ([]store.TenantRecord, error)
	TenantIDs(ctx context.Context, p store.TenantPage) ([]penstock.TenantID, error)
}

// KeyReader reads keys.
type KeyReader interface {
	ListKeys(ctx context.Context, f store.KeyFilter) ([]store.APIKey, error)
}

// ControlReader reads pauses.
type ControlReader interface {
	ListControls(ctx context.Context) ([]store.Control, error)
}

// AuditReader reads the audit.
type AuditReader interface {
	Search(ctx context.Context, f audit.Filter) ([]audit.Record, error)
}

// BalanceReader reads budgets.
type BalanceReader interface {
	Balances(ctx context.Context, tenant penstock.TenantID, accounts []store.Account) ([]store.Balance, error)
}

// Deps are the services behind the admin API.
type Deps struct {
	Config    *config.Live
	Operators *directory.Operators
	// Credentials are what operators may present on the admin listener instead of a key; nil for nothing.
	Credentials rest.Credentials
	// Identity has the people who sign in; nil if nobody can.
	Identity  *identity.Service
	Directory *directory.Directory
	Editor    *directory.Editor
	Tenants   TenantReader
	Keys      KeyReader
	Controls  ControlReader
	Switch    *control.Switch
	Paused    *control.View
	Audit     AuditReader
	Balances  BalanceReader
	Usage     usage.Reporter
	Reloader  *reload.Reloader
	Load      func() backlog.LoadReport
	// Shares reports the lanes with the tenants that have work in them.
	Shares func(weight func(penstock.TenantID) int) []backlog.LaneShares
	// Processes returns the processes that hold a lease.
	Processes func(context.Context) ([]store.Process, error)
	Live      *live.Hub
	Overviews *rollup.Overviews
	Daily     *usage.Daily
	// Recent returns the recent attempts of each target.
	Recent   func(context.Context) (map[string]rollup.TargetFigures, error)
	Ready    func(context.Context) error // whether this process can take work
	Draining <-chan struct{}             // closed when it is about to stop: streams end
	Hosts    []string                    // the host names of the admin API, besides IP addresses and localhost
	// MetricsKey is the key that reads metrics and nothing else; zero for none.
	MetricsKey config.Secret
	Documents  rest.Documents
	Metrics    *telemetry.Metrics
	Tracer     *telemetry.Tracer
	Log        *slog.Logger
	Clock      func() time.Time
}

// Server answers operators. It is safe for concurrent use.
type Server struct {
	Deps
	table     *rest.Server
	people    *rest.Server // the same rows, for people on the public listener
	forecasts sync.Mutex   // held while a forecast runs
}

// New returns a server.
func New(d Deps) (*Server, error) {
	s := &Server{Deps: d}
	c := rest.Config{
		Routes: routes, Realm: "penstock admin", Begin: func() rest.Exchange { return &call{Server: s} }, Reveals: reveals(d.Identity),
		Metrics: d.Metrics, Tracer: d.Tracer, Log: d.Log, Clock: d.Clock,
	}
	var err error
	if s.table, err = rest.New(c); err != nil {
		return nil, err
	}
	c.Begin = func() rest.Exchange { return &personCall{call{Server: s}} }
	s.people, err = rest.New(c)
	return s, err
}

// reveals is who records reads of payloads.
func reveals(s *identity.Service) rest.Revealing {
	if s == nil {
		return nil
	}
	return s
}

// Handler serves every route to callers that use one of its own names.
func (s *Server) Handler() http.Handler {
	return &ownHosts{server: s, next: s.table.Handler()}
}

// ForPeople serves the routes below [PathPrefix] to people who signed in, on the public listener. All other calls go to next,
// which answers as if there were no admin API: keys, and callers without a session, do not learn of it.
func (s *Server) ForPeople(next http.Handler) http.Handler {
	return &forPeople{server: s, table: s.people.Handler(), next: next}
}

// forPeople is a type and not a function because streams wait below it: see [rest.EndAfterChunks].
type forPeople struct {
	server      *Server
	table, next http.Handler
}

func (h *forPeople) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h.isFor(r) {
		h.table.ServeHTTP(w, r)
		return
	}
	h.next.ServeHTTP(w, r)
}

// isFor reports whether a call is one of a person to the admin API.
//
//go:noinline
func (h *forPeople) isFor(r *http.Request) bool {
	people := h.server.Identity
	return people != nil && strings.HasPrefix(r.URL.Path, PathPrefix) && people.Carries(r, rest.PresentedKey(r))
}

// PathPrefix begins the paths of the admin API that people can call on the public listener. Metrics and profiles are elsewhere.
const PathPrefix = "/admin/v1/"

// call is one call of an operator being answered.
type call struct {
	rest.Call
	*Server
}

// Authenticate implements rest.Exchange.
func (c *call) Authenticate() (penstock.Principal, error) {
	key := rest.PresentedKey(c.R)
	if p, present, err := c.Credentials.Principal(c.R, key); present {
		return p, err
	}
	return c.Operators.Authenticate(key, c.R.RemoteAddr)
}

// Finish implements rest.Exchange.
func (c *call) Finish() {}

// Cause implements rest.Exchange.
func (c *call) Cause(err error) error { return err }

// Close implements rest.Exchange.
func (c *call) Close() {}

// personCall is a call of a person on the public listener.
type personCall struct{ call }

// Authenticate implements rest.Exchange.
func (c *personCall) Authenticate() (penstock.Principal, error) {
	p, _, err := c.Identity.Principal(c.R, "")
	return p, err
}

// The resources. Each answers the calls on some routes.
type (
	tenants  struct{ *call }
	keys     struct{ *call }
	controls struct{ *call }
	reports  struct{ *call }
	process  struct{ *call }
	members  struct{ *call }
)

// on makes the handler of a route from a method of a resource.
func on[R ~struct{ *call }](serve func(R) error) func(*rest.Call) error {
	return func(c *rest.Call) error { return serve(R{callOf(c)}) }
}

// callOf returns the call of an exchange.
func callOf(c *rest.Call) *call {
	if p, ok := c.Of.(*personCall); ok {
		return &p.call
	}
	return c.Of.(*call)
}
