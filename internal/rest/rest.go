// Package rest is the route table that the public API and the admin API share. A row describes a route completely:
// method, path, scope or roles, parameters, shapes, versions, the action for the audit, and the handler. The rows give
// routing, authorization, the OpenAPI document, spans, metrics, error answers, the recovery of panics and the list of
// deprecations. Only this package maps codes to HTTP statuses.
//
// Package rest knows no service. A surface (package api, package admin) brings its rows, and an [Exchange] for each
// call: the principal, and the data that the handlers of the surface share.
//
// A [Server] is safe for concurrent use. A [Call] belongs to the goroutine that serves it.
package rest

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path"
	"runtime/debug"
	"strings"
	"time"

	"penstock"
	"penstock/internal/telemetry"
)

// Exchange is the part of a call that a surface adds. Its type embeds [Call].
type Exchange interface {
	// Base returns the call: embedding Call implements it.
	Base() *Call
	// Authenticate returns the principal. It is called once, unless the route is open. Codes: invalid_key,
	// rate_limited.
	Authenticate() (penstock.Principal, error)
	// Finish does the work that must run after the handler has returned, such as forwarding a stream, so that few stack
	// frames are below it.
	Finish()
	// Cause returns the error that explains err better, or err.
	Cause(err error) error
	// Close releases the resources that the surface holds for the call, also after a panic.
	Close()
}

// Config is the configuration of a surface.
type Config struct {
	Routes  []Route
	Shapes  *Shapes // of older versions; nil for none
	Realm   string  // that a 401 names
	Begin   func() Exchange
	Reveals Revealing // nil to record no reveals
	Metrics *telemetry.Metrics
	Tracer  *telemetry.Tracer
	Log     *slog.Logger
	Clock   func() time.Time
}

// Server serves the rows of a surface.
type Server struct {
	Config
	ids penstock.IDs
}

// New checks the rows. A row of a route that changes something must name its action in the audit, or the reason for
// none.
func New(c Config) (*Server, error) {
	for i := range c.Routes {
		if err := c.Routes[i].check(); err != nil {
			return nil, err
		}
	}
	return &Server{Config: c}, nil
}

// Handler serves every route.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	nowhere := Route{Path: "/", Open: true, AnyQuery: true, Serve: func(c *Call) error { return noRoute(mux, c.R) }}
	for i := range s.Routes { // an unknown path is answered in the dialect of its neighbours
		if s.Routes[i].WordsFor != nil {
			nowhere.WordsFor = s.Routes[i].WordsFor
		}
	}
	mux.Handle("/", s.endpoint(&nowhere))
	grouped := families(s.Routes)
	for pattern, rows := range grouped {
		mux.Handle(pattern, s.newFamily(rows, s.endpoint(&nowhere)))
	}
	for i := range s.Routes {
		rt := &s.Routes[i]
		head, _, wild := strings.Cut(rt.Path, wildEnd)
		switch {
		case rt.Method == "": // any method
			mux.Handle(rt.Path, s.endpoint(rt))
		case !wild || grouped[rt.Method+" "+head+wildEnd] == nil:
			mux.Handle(rt.Method+" "+rt.Path, s.endpoint(rt))
		}
	}
	return mux
}

func (s *Server) endpoint(rt *Route) http.Handler {
	return &endpoint{server: s, route: rt, span: rt.Method + " " + rt.Path, deprecation: s.deprecationsOf(rt)}
}

// noRoute names a method that the path has, if there is one. It names the route and not the path: a word of the path, such as the
// operation of another server, may be in the place of an id.
func noRoute(mux *http.ServeMux, r *http.Request) error {
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		other := r.Clone(r.Context())
		other.Method = method
		if _, pattern := mux.Handler(other); pattern != "/" && method != r.Method {
			_, route, _ := strings.Cut(pattern, " ")
			return penstock.Errorf(penstock.CodeNotFound, "There is no endpoint %s %s; %s %s exists.", r.Method, Clip(r.URL.Path), method, route)
		}
	}
	near := nearPath(mux, r)
	hint := ""
	switch near {
	case "":
		return penstock.Errorf(penstock.CodeNotFound, "There is no endpoint %s %s; GET /openapi.json lists the endpoints.", r.Method, r.URL.Path)
	case "/v1" + r.URL.Path:
		hint = " End the base URL of this client with /v1."
	case strings.TrimPrefix(r.URL.Path, "/v1"):
		hint = " Leave /v1 out of the base URL of this client."
	}
	return penstock.Errorf(penstock.CodeNotFound, "There is no endpoint %s %s; did you mean %s?%s", r.Method, Clip(r.URL.Path), Clip(near), hint)
}

// nearPath corrects the usual mistakes in the base URL of an SDK, "" if none of them was made: /v1 is missing or given twice,
// the path ends with a slash, or the last word lacks its plural.
func nearPath(mux *http.ServeMux, r *http.Request) string {
	path := strings.TrimRight(path.Clean(r.URL.Path), "/")
	for _, near := range []string{path, "/v1" + path, strings.TrimPrefix(path, "/v1"), path + "s", strings.TrimPrefix(path, "/api"), strings.TrimPrefix(path, "/openai")} {
		other := r.Clone(r.Context())
		other.URL.Path, other.URL.RawPath = near, ""
		if _, pattern := mux.Handler(other); near != r.URL.Path && pattern != "/" && strings.HasPrefix(near, "/v1/") {
			return near
		}
	}
	return ""
}

// endpoint serves a route.
type endpoint struct {
	server      *Server
	route       *Route
	span        string               // its name in traces
	deprecation [maxVersions]*notice // by the index of the version that a call asks for
}

// ServeHTTP calls every handler: it adds ids, version, trace, authentication, recovery, errors and metrics.
//
// Thousands of streams wait for events inside ServeHTTP, so it has few and small stack frames. The functions that lead
// to an answer have returned by then: see [Exchange].Finish.
func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := e.server.Begin()
	c := x.Base()
	c.Of = x
	e.receive(c, w, r)
	defer c.close(x) // also when the answer is aborted by a panic
	if c.Err = c.run(x); c.Err != nil {
		c.Err = x.Cause(c.Err)
		c.Fail(c.Err)
	}
}

// receive gives a call its id and its version, and begins its trace.
func (e *endpoint) receive(c *Call, w http.ResponseWriter, r *http.Request) {
	s, rt := e.server, e.route
	c.server, c.route, c.began = s, rt, s.Clock()
	c.ID, c.W, c.Words = s.ids.New(c.began), NewResponse(w, r), rt.wording(r)
	ctx := telemetry.WithIDs(telemetry.Extract(r.Context(), r.Header), telemetry.IDs{Request: c.ID})
	ctx, c.Span = s.Tracer.StartServer(ctx, e.span)
	c.R = r.WithContext(ctx)
	h, shown := c.W.Header(), []string{penstock.ViewRequest.Format(c.ID)}
	h[headerRequestID], h[headerNoSniff] = shown, noSniff
	if c.Words.RequestID != "" {
		h[c.Words.RequestID] = shown
	}
	if c.version = versionOf(r.Header); c.version >= 0 {
		h[headerVersion] = Versions[c.version].header
		e.deprecation[c.version].set(h)
	}
}

// run authenticates the caller, calls the handler, and lets the exchange finish. A panic becomes an error.
func (c *Call) run(x Exchange) (err error) {
	defer c.rescue(&err)
	if err := c.handle(x); err != nil {
		return err
	}
	x.Finish()
	return nil
}

func (c *Call) handle(x Exchange) (err error) {
	if !c.route.Open && (c.route.Without == nil || !c.route.Without(c)) {
		if c.Principal, err = x.Authenticate(); err != nil {
			return err
		}
		telemetry.SetTenant(c.R.Context(), c.Principal.Tenant.ID) // receive made the context
		if err := c.authorize(); err != nil {
			return err
		}
	}
	if c.version < 0 {
		return unknownVersion(c.R.Header)
	}
	if err := c.route.CheckQuery(c.R.URL.RawQuery); err != nil {
		return err
	}
	return c.route.Serve(c)
}

func (c *Call) authorize() error {
	if c.Principal.Kind == penstock.PrincipalPerson {
		return c.authorizePerson()
	}
	return c.route.Authorize(&c.Principal)
}

func (c *Call) rescue(err *error) {
	p := recover()
	if p == nil {
		return
	}
	if cause, _ := p.(error); errors.Is(cause, http.ErrAbortHandler) {
		panic(p)
	}
	*err = penstock.Internal(fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
	if c.W.Status != 0 {
		c.Fail(*err)
		panic(http.ErrAbortHandler) // an incomplete answer must not end like a complete one
	}
}

// close releases the resources of the call, and reports the ended call to traces and metrics.
func (c *Call) close(x Exchange) {
	x.Close()
	c.Span.Set(telemetry.Int("http.response.status_code", int64(c.W.Status)), telemetry.String("http.route", c.route.Path))
	if c.W.Status >= http.StatusInternalServerError {
		c.Span.Fail(string(penstock.ErrorCode(c.Err)))
	}
	c.Span.End(nil)
	c.server.Metrics.HTTPRequest(c.route.Path, c.R.Method, c.W.Status, c.server.Clock().Sub(c.began))
}
