// Package request runs a synchronous call as a whole: admission, limits, cache, reservation, attempt, settlement and record.
//
// It decodes and encodes nothing. The caller hands it an [Order] whose body was read by its dialect, and a [Sink] for the answer.
// Package api is one such caller; any other Go code may be another.
//
// Invariants:
//   - One handle, [Running], owns all that a call holds: the permit and the limit hold of its principal, its reservation, its place
//     among the records, and the capacity of its target. It gives all of them back on every path, panics included, and settles
//     each of them once.
//   - A call that went upstream has a record. The record is on stable storage before the sink may send the end of the answer.
//   - The order and the task that is made of it do not change while the call runs.
//
// A Service is safe for concurrent use. A Running belongs to one goroutine. The package starts no goroutines; package cache
// starts one for each call whose answer it may keep.
package request

import (
	"context"
	"net/http"
	"time"

	"penstock"
	"penstock/internal/admit"
	"penstock/internal/attempt"
	"penstock/internal/budget"
	"penstock/internal/cache"
	"penstock/internal/capacity"
	"penstock/internal/config"
	"penstock/internal/dialect"
	"penstock/internal/provider"
	"penstock/internal/store"
	"penstock/internal/telemetry"
)

// capacityWait is how long a synchronous call waits for a target with capacity before it is refused.
const capacityWait = 2 * time.Second

// Admission decides whether a call may run. It answers from memory.
type Admission interface {
	// Permit takes the permits of a principal's tenant and key, nil where neither is limited. Codes: rate_limited, overloaded.
	Permit(ctx context.Context, principal *penstock.Principal) (*capacity.LimitHold, error)
	// Request admits a call. Codes: those of admit.Service.Request.
	Request(ctx context.Context, principal penstock.Principal, o admit.RequestOrder) (admit.Admitted, error)
}

// Budgets sets money aside.
type Budgets interface {
	// Reserve sets the most aside that a call can cost. Codes: budget_exceeded, overloaded.
	Reserve(ctx context.Context, d budget.Demand) (budget.Reservation, error)
}

// Recorder keeps the records of calls.
type Recorder interface {
	// Place takes a place for a record. Codes: overloaded.
	Place() error
	// Add hands over the record of a call that has a place.
	Add(penstock.Request)
	// Leave gives back the place of a call that has no record.
	Leave()
	// Request finds a record. Codes: not_found.
	Request(ctx context.Context, tenant penstock.TenantID, id penstock.ID) (penstock.Request, error)
}

// Deps are what a Service works with.
type Deps struct {
	Config   *config.Live
	Admit    Admission
	Budgets  Budgets
	Runner   *attempt.Runner
	Recorder Recorder
	Cache    *cache.Cache // nil for none
	// Sealer seals the variables of prompts before they are recorded; nil to record none.
	Sealer Sealer
	// Status is the status code that the caller of a call sees when the call fails with a code before its answer begins.
	Status  func(penstock.Code) int
	Metrics *telemetry.Metrics
	Clock   func() time.Time
}

// Service runs synchronous calls.
type Service struct {
	Deps
	ids penstock.IDs
}

// New returns a service.
func New(d Deps) *Service { return &Service{Deps: d} }

// Permit is a call's place under the concurrency of its tenant and key. A nil Permit is that of a principal without such limits.
type Permit = capacity.LimitHold

// Permit takes a permit before the body of a call is read, so that a principal at its limit gets no memory for another body. The
// permit goes into the Order, or is left. Codes: rate_limited, overloaded.
func (s *Service) Permit(ctx context.Context, principal *penstock.Principal) (*Permit, error) {
	return s.Admit.Permit(ctx, principal)
}

// Order is a synchronous call that a principal asks for, decoded and not yet admitted.
type Order struct {
	ID        penstock.ID
	Endpoint  penstock.Endpoint
	Inference *dialect.Inference // the parsed body; the call reads it and does not change it
	Header    http.Header        // the headers of the caller that go on to upstreams of the same dialect; nil for none
	Free      bool               // nobody charges for it
	Cache     CacheMode
	Labels    penstock.Labels
	Overrides Overrides
	Try       store.Try // the number of the caller's try, if it is known
	Permit    *Permit   // Start takes it over, also when it fails
	Memory    Memory    // for the files that the body names; nil for no bounds
}

// Memory counts the bytes of bodies in memory.
type Memory interface {
	// Take counts bytes before they are allocated. Codes: rate_limited, overloaded.
	Take(n int64) error
}

// Overrides are what a caller decides about the routing of one call, within what its model allows. The zero value decides nothing.
type Overrides struct {
	Targets    []string // the only ones that may be tried; nil for all of the model
	MaxTargets int      // how many may be tried, the first included; 0 for all
}

// Sink receives the answer of a call. One that keeps chunks back while more of them arrive is an attempt.Flusher as well. Its methods are called by the goroutine that calls Start and Finish.
type Sink interface {
	// Admitted is called once the call is admitted.
	Admitted(Admittance)
	// Begin is called once, before the first chunk.
	Begin(Head) error
	// Chunk receives a part of the answer. The bytes are valid until it returns. A sink of a stream keeps the last chunk until End,
	// so that a caller who has all of a stream finds its record.
	Chunk(provider.Chunk) error
	// Fail is called once instead of, or after, Begin when the call failed. It reports whether the sink gave an answer of its own
	// instead of the error; only an answer that has not begun can be replaced. What it adds to a stream waits for End too.
	Fail(Failure) (answered bool)
	// End is called once, when the call is recorded, with the cost on its record.
	End(cost penstock.NanoUSD)
}

// Admittance is what is known of a call when it is admitted.
type Admittance struct {
	Waited    time.Duration        // under the limits of its principal
	Truncated *penstock.Truncation // of its input, because it was too long; nil for nothing
	Model     string               // the call's own, or that of its prompt
	Prompt    *penstock.PromptUse  // in its input; nil for none
}

// Head is what is known of an answer when it begins.
type Head struct {
	Target   string
	Meta     provider.Meta
	Unpriced bool // the target has no price
	// PriceSource is where the price of the target comes from; "" for the configuration.
	PriceSource string
	Warnings    []string // of soft budgets that are used up
	Cache       Source   // "" for a call that does not use the cache
}

// Failure is why a call failed.
type Failure struct {
	Err      *penstock.Error // for the caller
	Upstream []byte          // the words of the upstream, in the dialect of the caller; nil if there are none
	Target   string          // of the last attempt
	Begun    bool            // the answer had begun
	Final    bool            // the same call would fail again
	Left     bool            // the caller left: nobody reads an answer
	Unserved bool            // no target has the endpoint
	Cache    Source
}

// Request finds the record of a call. Codes: not_found.
func (s *Service) Request(ctx context.Context, tenant penstock.TenantID, id penstock.ID) (penstock.Request, error) {
	return s.Recorder.Request(ctx, tenant, id)
}

// Question asks which target a call would go to.
type Question struct {
	Model           string
	Lane            penstock.Lane
	Targets         []string
	Endpoint        penstock.Endpoint // "" for any: all targets are taken to serve it
	Body            []byte
	Stream          bool
	MaxOutputTokens int64
	OnOverflow      penstock.OnOverflow // of the model
}

// Explanation says which target a call would go to, and why.
type Explanation = attempt.Explanation

// Explain says which target a call would go to, without making the call. Codes: no_target_available.
func (s *Service) Explain(q Question) (Explanation, error) {
	return s.Runner.Explain(attempt.Task{
		Model: q.Model, Lane: q.Lane, Targets: q.Targets, Endpoint: q.Endpoint, Body: q.Body, Stream: q.Stream, MaxOutputTokens: q.MaxOutputTokens, OnOverflow: q.OnOverflow,
	})
}
