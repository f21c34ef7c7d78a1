// Package api is the HTTP surface: it decodes what callers send, calls the services behind it, and
// encodes what they answer. It owns status codes, headers, envelopes and the bounds of what it reads;
// it decides nothing about work itself.
//
// Every route is a row of a table of package rest, which gives routing, authorization, OpenAPI, spans, metrics, errors and
// recovery. Handlers are methods of a type per resource (jobs, files, webhooks …), each around the call that it answers.
package api

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"time"

	"penstock"
	"penstock/internal/admit"
	"penstock/internal/config"
	"penstock/internal/deliver"
	"penstock/internal/directory"
	"penstock/internal/file"
	"penstock/internal/inflight"
	"penstock/internal/request"
	"penstock/internal/rest"
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
	// Throttle slows down callers that guess keys; may be nil.
	Throttle *directory.Throttle
	// Cancelled is called with jobs that were asked to stop.
	Cancelled func(job penstock.ID)
	Ready     func(context.Context) error // whether this process can take work
	Refusing  func() error                // why it takes no new jobs though it is ready, nil if it does
	// RefusingUploads says why it takes no files, nil if it does. An upload asks again while it comes in.
	RefusingUploads func(context.Context) error
	// Documents describe the API, all surfaces together.
	Documents rest.Documents
	Draining  <-chan struct{} // closed when it is about to stop: readers who wait are let go
	Metrics   *telemetry.Metrics
	Tracer    *telemetry.Tracer
	Log       *slog.Logger
	Clock     func() time.Time
}

// Server answers HTTP calls. It is safe for concurrent use.
type Server struct {
	Deps
	table   *rest.Server
	ids     penstock.IDs
	tokens  token.Counter
	uploads uploads
	opened  openCalls
}

// New returns a server.
func New(d Deps) (*Server, error) {
	s := &Server{Deps: d}
	var err error
	s.table, err = rest.New(rest.Config{
		Routes: routes, Shapes: shapes, Realm: "penstock", Begin: func() rest.Exchange { return &call{Server: s} },
		Metrics: d.Metrics, Tracer: d.Tracer, Log: d.Log, Clock: d.Clock,
	})
	return s, err
}

// Handler serves every route.
func (s *Server) Handler() http.Handler { return s.table.Handler() }

// call is one HTTP call being answered.
type call struct {
	rest.Call
	*Server
	model   string                  // that the call is for, "" while that is not known
	memory  inflight.Account        // of its body
	permit  *request.Permit         // nil without limits; a synchronous call that was started took it over
	cancel  context.CancelCauseFunc // ends it with its key; nil while that is not watched
	ends    func()                  // gives up what a call that stays open holds, nil for nothing
	running *request.Running        // the synchronous call that its handler started, nil for none
}

// Authenticate implements rest.Exchange.
func (c *call) Authenticate() (penstock.Principal, error) {
	p, err := c.authenticate()
	if err == nil {
		c.W.Begin = c.setLimitHeaders
	}
	return p, err
}

// authenticate finds out who calls. Codes: invalid_key, rate_limited.
func (c *call) authenticate() (penstock.Principal, error) {
	key := rest.PresentedKey(c.R)
	if key == "" {
		return c.Admit.Authenticate(key)
	}
	pass, err := c.Throttle.Admit(c.R.RemoteAddr, key)
	if err != nil {
		return penstock.Principal{}, err
	}
	p, err := c.Admit.Authenticate(key)
	if err != nil {
		pass.Wrong()
		return penstock.Principal{}, err
	}
	pass.Good()
	return p, nil
}

// Finish implements rest.Exchange: it finishes the synchronous call that the handler started.
func (c *call) Finish() {
	if c.running == nil {
		return
	}
	if c.running.Streaming() {
		c.memory.Close() // nothing needs the body any more
	}
	c.running.Finish(c.R.Context())
}

// Cause implements rest.Exchange: a key that ended explains the error of a call that was open.
func (c *call) Cause(err error) error { return cmp.Or(c.keyEnded(), err) }

// Close implements rest.Exchange.
func (c *call) Close() {
	c.running.Close(c.R.Context())
	c.permit.Leave()
	c.memory.Close()
	if c.ends != nil {
		c.ends()
	}
	c.unwatch() // behind what waits for the context to end
}

// waiting is the context of a call that only waits for something to happen: it also ends when the
// process is about to stop, since the caller can come back and wait elsewhere.
func (c *call) waiting() (context.Context, context.CancelFunc) {
	c.endWithKey()
	ctx, cancel := context.WithCancel(c.R.Context())
	go func() {
		select {
		case <-c.Draining:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}
