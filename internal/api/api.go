// Package api is the HTTP surface: it decodes what callers send, calls the services behind it, and
// encodes what they answer. It owns status codes, headers, envelopes and the bounds of what it reads;
// it decides nothing about work itself.
//
// Every route is a row of one table, from which the OpenAPI document is made too. Handlers return
// errors; one place turns them into answers.
package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"sync/atomic"
	"time"

	"penstock"
	"penstock/internal/admit"
	"penstock/internal/config"
	"penstock/internal/deliver"
	"penstock/internal/directory"
	"penstock/internal/file"
	"penstock/internal/inflight"
	"penstock/internal/request"
	"penstock/internal/sign"
	"penstock/internal/store"
	"penstock/internal/telemetry"
	"penstock/internal/token"
	"penstock/internal/usage"
	"penstock/internal/webhook"
)

// DeadLetters is what can be read of dead letters.
type DeadLetters interface {
	DeadLetters(ctx context.Context, tenant penstock.TenantID, p store.DeadLetterPage) ([]store.DeadLetter, error)
	DeadLetterGroups(ctx context.Context, tenant penstock.TenantID, p store.DeadLetterGroupPage) ([]store.DeadLetterGroup, error)
}

// Deleter forgets a job.
type Deleter interface {
	DeleteJob(ctx context.Context, tenant penstock.TenantID, d store.Deletion) error
}

// Batches is what can be read of batches, and how one is kept that cannot run.
type Batches interface {
	Batch(ctx context.Context, tenant penstock.TenantID, job penstock.ID) (store.Batch, error)
	WantResults(ctx context.Context, tenant penstock.TenantID, job penstock.ID) (store.Batch, error)
	ListBatches(ctx context.Context, tenant penstock.TenantID, p store.BatchPage) ([]store.Batch, error)
	RefuseBatch(ctx context.Context, tenant penstock.TenantID, b store.Batch) (store.Batch, error)
}

// Deps are the services behind the surface.
type Deps struct {
	Config      *config.Live
	Usage       usage.Reporter
	Admit       *admit.Service
	Requests    *request.Service
	Jobs        store.Jobs
	Inputs      store.Inputs
	DeadLetters DeadLetters
	Deleter     Deleter
	Webhooks    *webhook.Service
	Backlog     Estimator
	// WaitingOn says why queued items of a job do not start, beside what operators and budgets hold back; may be nil.
	WaitingOn func(j penstock.Job) penstock.Reason
	Files     *file.Service
	Storage   store.Storage
	Batches   Batches
	Links     *sign.Signer
	Reader    *deliver.Reader
	Bodies    *inflight.Pool // the memory of bodies that callers send; nil for no bounds
	Keys      Keys           // ends what stays open when its key ends; nil for nobody
	// Strangers slows down those who guess keys; may be nil.
	Strangers *directory.Throttle
	// Cancelled is told of jobs that were asked to stop.
	Cancelled func(job penstock.ID)
	Ready     func(context.Context) error // whether this process can take work
	Refusing  func() error                // why it takes no new jobs though it is ready, nil if it does
	// RefusingUploads says why it takes no files, nil if it does. An upload asks again while it comes in.
	RefusingUploads func(context.Context) error
	Draining        <-chan struct{} // closed when it is about to stop: readers who wait are let go
	Metrics         *telemetry.Metrics
	Tracer          *telemetry.Tracer
	Log             *slog.Logger
	Clock           func() time.Time
}

// Server answers HTTP calls. It is safe for concurrent use.
type Server struct {
	Deps
	ids     penstock.IDs
	tokens  token.Counter
	openAPI []byte
	uploads uploads
	opened  openCalls
}

// New returns a server.
func New(d Deps) (*Server, error) {
	doc, err := OpenAPI()
	if err != nil {
		return nil, err
	}
	return &Server{Deps: d, openAPI: doc}, nil
}

// Handler serves every route.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	for _, rt := range routes {
		mux.Handle(rt.Method+" "+rt.Path, &endpoint{s, &rt})
	}
	nowhere := route{Path: "/", open: true, anyQuery: true, shared: true, serve: func(c *call) error { return noRoute(mux, c.r) }}
	mux.Handle("/", &endpoint{s, &nowhere})
	return mux
}

// noRoute tells what would have worked instead, if anything would.
func noRoute(mux *http.ServeMux, r *http.Request) error {
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPatch, http.MethodDelete} {
		other := r.Clone(r.Context())
		other.Method = method
		if _, pattern := mux.Handler(other); pattern != "/" && method != r.Method {
			return penstock.Errorf(penstock.CodeNotFound, "%s %s does not exist; %s does.", r.Method, r.URL.Path, method)
		}
	}
	return penstock.Errorf(penstock.CodeNotFound, "There is no %s %s; GET /openapi.json lists what there is.", r.Method, r.URL.Path)
}

// headerRequestID names the call on every answer, in canonical form.
const headerRequestID = "X-Request-Id"

// headerNoSniff keeps browsers from taking an answer for a page, whatever an upstream wrote into it. In canonical form, and its
// value is shared by all answers.
const headerNoSniff = "X-Content-Type-Options"

var noSniff = []string{"nosniff"}

// call is one HTTP call being answered.
type call struct {
	*Server
	route   *route
	began   time.Time
	span    telemetry.Span
	w       *response
	r       *http.Request
	id      penstock.ID
	caller  penstock.Caller
	words   *wording
	model   string                  // that the call is for, "" while that is not known
	final   bool                    // the answer will never change: sending the call again is in vain
	memory  inflight.Account        // of its body
	permit  *request.Permit         // nil without limits; a synchronous call that was started took it over
	cancel  context.CancelCauseFunc // ends it with its key; nil while that is not watched
	ends    func()                  // gives up what a call that stays open holds, nil for nothing
	running *request.Running        // the synchronous call that its handler started, nil for none
	err     error                   // why it was not answered
}

// endpoint serves a route.
type endpoint struct {
	server *Server
	route  *route
}

// ServeHTTP is the one way into every handler: ids, trace, authentication, recovery, errors, metrics.
//
// A stream waits for its events below this, thousands at a time, so what lies between is few and small functions. What
// leads to an answer has returned by then: see [request.Running].
func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := e.server.receive(w, r, e.route)
	defer c.close() // also when the answer is aborted by a panic
	if c.err = c.run(); c.err != nil {
		c.err = cmp.Or(c.keyEnded(), c.err) // which explains the other one
		c.fail(c.err)
	}
}

// receive gives a call its id, and begins its trace.
func (s *Server) receive(w http.ResponseWriter, r *http.Request, rt *route) *call {
	began := s.Clock()
	c := &call{Server: s, route: rt, began: began, w: newResponse(w, r), id: s.ids.New(began), words: wordingFor(rt, r)}
	ctx := telemetry.WithIDs(telemetry.Extract(r.Context(), r.Header), telemetry.IDs{Request: c.id})
	ctx, c.span = s.Tracer.StartServer(ctx, rt.Method+" "+rt.Path)
	c.r = r.WithContext(ctx)
	shown := []string{penstock.ViewRequest.Format(c.id)}
	c.w.Header()[headerRequestID], c.w.Header()[headerNoSniff] = shown, noSniff
	if c.words.requestID != "" {
		c.w.Header()[c.words.requestID] = shown
	}
	return c
}

// close gives back what a panic left behind, and tells traces and metrics of a call that is over.
func (c *call) close() {
	c.running.Close(c.r.Context())
	c.permit.Leave()
	c.memory.Close()
	if c.ends != nil {
		c.ends()
	}
	c.unwatch() // behind what waits for the context to end
	c.span.Set(telemetry.Int("http.response.status_code", int64(c.w.status)), telemetry.String("http.route", c.route.Path))
	if c.w.status >= http.StatusInternalServerError {
		c.span.Fail(string(penstock.ErrorCode(c.err)))
	}
	c.span.End(nil)
	c.Metrics.HTTPRequest(c.route.Path, c.r.Method, c.w.status, c.Clock().Sub(c.began))
}

// run authenticates the caller, calls the handler, and finishes the synchronous call that the handler started. A panic becomes
// an error like any other.
func (c *call) run() (err error) {
	defer c.rescue(&err)
	if err := c.handle(); err != nil || c.running == nil {
		return err
	}
	if c.running.Streaming() {
		c.memory.Close() // nothing needs the body any more
	}
	c.running.Finish(c.r.Context())
	return nil
}

func (c *call) handle() error {
	if !c.route.open {
		if err := c.admit(c.route.Scope); err != nil {
			return err
		}
	}
	if err := c.route.checkQuery(c.r.URL.RawQuery); err != nil {
		return err
	}
	return c.route.serve(c)
}

func (c *call) rescue(err *error) {
	p := recover()
	if p == nil {
		return
	}
	if errors.Is(asError(p), http.ErrAbortHandler) {
		panic(p)
	}
	*err = penstock.Internal(fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
	if c.w.status != 0 {
		c.fail(*err)
		panic(http.ErrAbortHandler) // half an answer must not end like a whole one
	}
}

// admit finds out who calls, and whether they may. Codes: invalid_key, rate_limited, scope_missing.
func (c *call) admit(scope penstock.Scope) (err error) {
	if c.caller, err = c.authenticate(); err != nil {
		return err
	}
	c.r = c.r.WithContext(telemetry.WithIDs(c.r.Context(), telemetry.IDs{Tenant: c.caller.Tenant.ID}))
	c.w.begin = c.tellLimits
	if scope == "" {
		return nil
	}
	return admit.Require(c.caller, scope)
}

// authenticate finds out who calls. Codes: invalid_key, rate_limited.
func (c *call) authenticate() (penstock.Caller, error) {
	key := PresentedKey(c.r)
	if key == "" {
		return c.Admit.Authenticate(key)
	}
	pass, err := c.Strangers.Admit(c.r.RemoteAddr, key)
	if err != nil {
		return penstock.Caller{}, err
	}
	caller, err := c.Admit.Authenticate(key)
	if err != nil {
		pass.Wrong()
		return penstock.Caller{}, err
	}
	pass.Good()
	return caller, nil
}

// patient is the context of a call that only waits for something to happen: it also ends when the
// process is about to stop, since the caller can come back and wait elsewhere.
func (c *call) patient() (context.Context, context.CancelFunc) {
	c.endWithKey()
	ctx, cancel := context.WithCancel(c.r.Context())
	go func() {
		select {
		case <-c.Draining:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

func asError(p any) error {
	err, _ := p.(error)
	return err
}

// writeTimeout is how long a caller may take to receive what was written. One that stops reading must
// not keep a target's room, or anything else, for ever.
const writeTimeout = 30 * time.Second

// response remembers what was sent, and gives up on callers who do not read.
type response struct {
	http.ResponseWriter
	conn   *http.ResponseController
	begin  func()    // called once, before headers are sent; may be nil
	until  time.Time // what is written must be received by then
	strict bool      // a deadline that passes ends the answer, even if nothing is being written
	status int

	hurried atomic.Bool // its last deadline is set
}

func newResponse(w http.ResponseWriter, r *http.Request) *response {
	return &response{ResponseWriter: w, conn: http.NewResponseController(w), strict: r.ProtoMajor > 1}
}

func (w *response) WriteHeader(status int) {
	if w.begin != nil {
		w.begin()
		w.begin = nil
	}
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *response) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	w.extend()
	return w.ResponseWriter.Write(b)
}

// extend gives the caller at least half of writeTimeout for what is written next. The deadline of a stream that is silent
// may pass meanwhile, which harms nothing over HTTP/1.1; so a stream of many small events moves it once in a while,
// instead of twice for each of them.
func (w *response) extend() {
	now := time.Now()
	if w.until.Sub(now) > writeTimeout/2 {
		return
	}
	w.until = now.Add(writeTimeout)
	w.setDeadline(w.until)
}

// setDeadline moves the deadline of writes, unless the last one is set. A writer without deadlines has no slow reader.
func (w *response) setDeadline(until time.Time) {
	_ = w.conn.SetWriteDeadline(until)
	if w.hurried.Load() {
		_ = w.conn.SetWriteDeadline(time.Now().Add(lastWrite))
	}
}

// lastWrite is how long a caller has to receive the last of an answer that is ended.
const lastWrite = 250 * time.Millisecond

// hurry sets the last deadline. It may be called while another goroutine writes.
func (w *response) hurry() {
	w.hurried.Store(true)
	_ = w.conn.SetWriteDeadline(time.Now().Add(lastWrite))
}

// FlushError sends what was written. A stream may be silent for long afterwards.
func (w *response) FlushError() error {
	err := w.conn.Flush()
	if w.strict {
		w.until = time.Time{}
		w.setDeadline(w.until)
	}
	return err
}

// Unwrap lets http.ResponseController reach the connection.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }
