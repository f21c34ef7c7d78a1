// Package api is the public HTTP API: it decodes requests, calls the services, and encodes their answers. It owns
// headers, envelopes and the bounds of request bodies. The services make all decisions about work.
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
	"penstock/internal/backlog"
	"penstock/internal/config"
	"penstock/internal/conversation"
	"penstock/internal/deliver"
	"penstock/internal/directory"
	"penstock/internal/file"
	"penstock/internal/identity"
	"penstock/internal/inflight"
	"penstock/internal/live"
	"penstock/internal/playground"
	"penstock/internal/prompt"
	"penstock/internal/request"
	"penstock/internal/rest"
	"penstock/internal/rollup"
	"penstock/internal/sign"
	"penstock/internal/store"
	"penstock/internal/telemetry"
	"penstock/internal/token"
	"penstock/internal/upload"
	"penstock/internal/usage"
	"penstock/internal/webhook"
)

// DeadLetters reads dead letters.
type DeadLetters interface {
	DeadLetters(ctx context.Context, tenant penstock.TenantID, p store.DeadLetterPage) ([]store.DeadLetter, penstock.ID, error)
	DeadLetterGroups(ctx context.Context, tenant penstock.TenantID, p store.DeadLetterGroupPage) ([]store.DeadLetterGroup, string, error)
}

// Deleter deletes a job.
type Deleter interface {
	DeleteJob(ctx context.Context, tenant penstock.TenantID, d store.Deletion) error
}

// Batches reads batches, and stores a batch that cannot run.
type Batches interface {
	Batch(ctx context.Context, tenant penstock.TenantID, job penstock.ID) (store.Batch, error)
	WantResults(ctx context.Context, tenant penstock.TenantID, job penstock.ID) (store.Batch, error)
	ListBatches(ctx context.Context, tenant penstock.TenantID, p store.BatchPage) ([]store.Batch, error)
	RefuseBatch(ctx context.Context, tenant penstock.TenantID, b store.Batch) (store.Batch, error)
}

// Deps are the services that the API calls.
type Deps struct {
	Config    *config.Live
	Usage     usage.Reporter
	Admit     *admit.Service
	Requests  *request.Service
	Records   store.RequestLists
	Jobs      store.Jobs
	Summaries store.JobSummaries
	// ItemSearches finds items by their custom ids.
	ItemSearches store.ItemSearches
	Inputs       store.Inputs
	DeadLetters  DeadLetters
	Deleter      Deleter
	Webhooks     *webhook.Service
	// Conversations keeps responses and conversations.
	Conversations *conversation.Service
	// Prompts is the registry of prompts.
	Prompts *prompt.Service
	// Playground runs prompts side by side.
	Playground *playground.Service
	Backlog    Estimator
	Live       *live.Hub
	// Queue reports the queue of a tenant.
	Queue     func(tenant penstock.TenantID) backlog.TenantReport
	Overviews *rollup.Overviews
	Daily     *usage.Daily
	// Balances reads budgets.
	Balances interface {
		Balances(ctx context.Context, tenant penstock.TenantID, accounts []store.Account) ([]store.Balance, error)
	}
	// TargetState is whether calls to a target may be made now.
	TargetState func(target string) backlog.TargetState
	// WaitingOn says why queued items of a job do not start, apart from pauses and budgets; may be nil.
	WaitingOn func(j penstock.Job) penstock.Reason
	Files     *file.Service
	Uploads   *upload.Service
	Storage   store.Storage
	Batches   Batches
	Links     *sign.Signer
	Reader    *deliver.Reader
	Bodies    *inflight.Pool // the memory of request bodies; nil for no bounds
	Origins   []string       // of web pages that may call the API from a browser
	Keys      Keys           // ends open calls when their key ends; nil for none
	// Credentials are what callers may present instead of a key; nil for nothing.
	Credentials rest.Credentials
	// People has the people who sign in; nil if nobody can.
	People *identity.Service
	// Features are what both APIs serve.
	Features []string
	// Throttle slows down callers that guess keys; may be nil.
	Throttle *directory.Throttle
	// Cancelled is called with jobs that were cancelled.
	Cancelled func(job penstock.ID)
	Ready     func(context.Context) error // whether this process can accept work
	Refusing  func() error                // why it accepts no new jobs though it is ready, nil if it does
	// RefusingUploads says why it accepts no files, nil if it does. An upload checks again while it is received.
	RefusingUploads func(context.Context) error
	// Documents describe the API, all surfaces together.
	Documents rest.Documents
	Draining  <-chan struct{} // closed when it is about to stop: waiting readers are answered
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
	var reveals rest.Revealing
	if d.People != nil {
		reveals = d.People
	}
	var err error
	s.table, err = rest.New(rest.Config{
		Routes: routes, Shapes: shapes, Realm: "penstock", Begin: func() rest.Exchange { return &call{Server: s} }, Reveals: reveals,
		Metrics: d.Metrics, Tracer: d.Tracer, Log: d.Log, Clock: d.Clock,
	})
	return s, err
}

// Handler serves every route.
func (s *Server) Handler() http.Handler {
	return cors(s.Origins, s.table.Handler())
}

// call is one HTTP call being answered.
type call struct {
	rest.Call
	*Server
	model   string                  // that the call is for, "" while it is unknown
	memory  inflight.Account        // of its body
	body    *buffer                 // that its body was read into, nil for none
	permit  *request.Permit         // nil without limits; a synchronous call takes it over when it starts
	cancel  context.CancelCauseFunc // ends it with its key; nil while the key is not watched
	timed   bool                    // its caller bounds its time
	ends    func()                  // releases what an open call holds, nil for nothing
	running *request.Running        // the synchronous call that its handler started, nil for none
	keeps   bool                    // its body is stored at its end, and takes memory until then
}

// Authenticate implements rest.Exchange.
func (c *call) Authenticate() (penstock.Principal, error) {
	p, err := c.authenticate()
	if err == nil {
		c.W.Begin = c.setLimitHeaders
	}
	return p, err
}

// authenticate identifies the caller. Codes: invalid_key, rate_limited.
func (c *call) authenticate() (penstock.Principal, error) {
	key := rest.PresentedKey(c.R)
	if p, present, err := c.Credentials.Principal(c.R, key); present {
		return p, err
	}
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
	if c.running.Streaming() && !c.keeps {
		c.releaseBody() // nothing needs it any more
	}
	c.running.Finish(c.R.Context())
}

// Cause implements rest.Exchange: a key that ended explains the error of a call that was open.
func (c *call) Cause(err error) error { return cmp.Or(c.keyEnded(), err) }

// Close implements rest.Exchange.
func (c *call) Close() {
	c.running.Close(c.R.Context())
	c.permit.Leave()
	c.releaseBody()
	if c.ends != nil {
		c.ends()
	}
	c.unwatch() // after everything that waits for the context to end
}

// waiting is the context of a call that only waits for an event: it also ends when the process is about to
// stop, because the caller can repeat the call at another process.
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
