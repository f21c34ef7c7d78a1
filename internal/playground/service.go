package playground

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"penstock"
	"penstock/internal/dialect"
	"penstock/internal/request"
	"penstock/internal/signal"
	"penstock/internal/store"
)

// Calls makes synchronous calls.
type Calls interface {
	// Permit takes the permits of a principal. Codes: rate_limited, overloaded.
	Permit(ctx context.Context, principal *penstock.Principal) (*request.Permit, error)
	// Call runs a call as a whole and returns its record. Codes: those of request.Service.Start.
	Call(ctx context.Context, principal penstock.Principal, order request.Order, sink request.Sink) (penstock.Request, error)
}

// Balances reads budgets.
type Balances interface {
	Balances(ctx context.Context, tenant penstock.TenantID, accounts []store.Account) ([]store.Balance, error)
}

// Limits are the bounds of an installation, as configured now.
type Limits struct {
	Process int // cells that run at the same time in a process
	Tenant  int // cells of one tenant that run at the same time in a process
	// Daily is the most that one person may spend in a day; 0 for any amount.
	Daily penstock.NanoUSD
}

// Deps are what a Service works with.
type Deps struct {
	Runs     Runs
	Cells    Cells
	Progress Progress
	Shares   Shares
	Prompts  Prompts
	Calls    Calls
	Balances Balances
	// Quote is the most that one call can use. Codes: invalid_request, model_not_found.
	Quote func(tenant penstock.Tenant, inf dialect.Inference) (Quote, error)
	// Tokens counts the tokens of a body.
	Tokens func(body []byte) int64
	// Limits are those of a tenant.
	Limits func(tenant penstock.TenantID) Limits
	Lease  func() store.Lease // of this process
	// Leased waits until this process has a lease, or ctx ends.
	Leased func(ctx context.Context) error
	// Changed is notified with runs that changed, Stops when another process asked to stop cells.
	Changed *signal.Topic[penstock.ID]
	Stops   *signal.Topic[signal.None]
	Grace   time.Duration // how long cells may go on after a stop of the process
	Log     *slog.Logger
	Clock   func() time.Time
}

// Service is the playground.
type Service struct {
	*runner
	ids penstock.IDs
}

// New returns a service. [Service.Run] keeps it going.
func New(d Deps) *Service { return &Service{runner: newRunner(d)} }

// runner runs the cells of runs.
type runner struct {
	Deps
	ids penstock.IDs // of calls

	mu       sync.Mutex
	active   map[penstock.ID]*live
	order    []*live // active runs, in the order of their turns
	inUse    int     // cells with a goroutine
	byTenant map[penstock.TenantID]int
	stopping bool
	failing  bool          // the last write failed: no more cells start
	dirty    chan struct{} // holds one signal at the most
	cells    sync.WaitGroup
	saving   sync.Mutex // one write at a time
}

func newRunner(d Deps) *runner {
	return &runner{Deps: d, active: map[penstock.ID]*live{}, byTenant: map[penstock.TenantID]int{}, dirty: make(chan struct{}, 1)}
}

// NotFound is the error for a run that does not exist, is not shared with the reader, or belongs to another tenant.
func NotFound(id penstock.ID) *penstock.Error {
	return penstock.Errorf(penstock.CodeNotFound, "There is no run %s.", ViewRun.Format(id))
}

// NoShare is the error for a share that does not exist, has expired, or is not for the reader.
func NoShare(id penstock.ID) *penstock.Error {
	return penstock.Errorf(penstock.CodeNotFound, "There is no share %s.", ViewShare.Format(id))
}

// Order is a run that a caller wants.
type Order struct {
	Name  string
	Setup Setup
	Watch Watch
}

// Watch calls end when the credential of the caller ends, until stop is called; nil to not watch.
type Watch func(end func(why error)) (stop func())

// Create renders and checks all cells of a run, stores it and starts it. Codes: invalid_request, too_large, conflict, rate_limited,
// quota_exceeded, overloaded.
func (s *Service) Create(ctx context.Context, caller penstock.Principal, o Order) (Opened, error) {
	if err := checkName(o.Name); err != nil {
		return Opened{}, err
	}
	p, err := s.plan(ctx, caller, o.Setup)
	if err != nil {
		return Opened{}, err
	}
	author := caller.Author()
	if err := s.mayStart(ctx, author); err != nil {
		return Opened{}, err
	}
	n := NewRun{
		Run: Run{ID: s.ids.New(s.Clock()), Tenant: caller.Tenant.ID, Name: o.Name, State: RunRunning, Author: author, Models: p.models, Prompts: p.prompts,
			Counts: CountCells(p.cells), Seq: int64(len(p.cells)), Owner: s.Lease(), Shared: Private},
		Setup: p.text, Cells: p.cells, Stored: caller.Tenant.StoredBytes,
	}
	for row := range p.setup.Rows {
		for column := range p.setup.Columns {
			n.Inputs = append(n.Inputs, Input{column, row, p.inputs[CellPlace{column, row}]})
		}
	}
	run, err := s.Runs.CreateRun(ctx, caller.Tenant.ID, n)
	if err != nil {
		return Opened{}, err
	}
	run.Mine = true
	opened := Opened{Run: run, Setup: p.setup, Cells: p.cells}
	s.start(newLive(opened, caller), o.Watch)
	return opened, nil
}

func checkName(name string) error {
	if len(name) > MaxNameBytes {
		return penstock.InvalidParam("name", "name must have at most %d bytes.", MaxNameBytes)
	}
	return nil
}

// leaseWait is how long a run waits for the lease of a process that has just started.
const leaseWait = 2 * time.Second

// mayStart refuses more runs than a person or this process may run at once. Codes: rate_limited, overloaded.
func (s *runner) mayStart(ctx context.Context, author penstock.Author) error {
	ctx, cancel := context.WithTimeout(ctx, leaseWait)
	defer cancel()
	if err := s.Leased(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	mine := 0
	for _, r := range s.order {
		if r.author == author.ID {
			mine++
		}
	}
	switch {
	case s.stopping || s.Lease() == (store.Lease{}):
		return &penstock.Error{Code: penstock.CodeOverloaded, Message: "This server is starting or stopping; try again.", RetryAfter: time.Second}
	case mine >= MaxActiveRuns:
		return &penstock.Error{Code: penstock.CodeRateLimited, Message: "You have too many runs that run; wait until one ends, or stop one.", RetryAfter: time.Second}
	case len(s.order) >= MaxProcessRuns:
		return &penstock.Error{Code: penstock.CodeOverloaded, Message: "This server has too many runs that run; try again.", RetryAfter: time.Second}
	}
	return nil
}

// see finds a run that the reader may see. Codes: not_found.
func (s *Service) see(ctx context.Context, reader penstock.Principal, id penstock.ID) (Run, error) {
	r, err := s.Runs.Run(ctx, reader.Tenant.ID, id)
	if err != nil {
		return r, err
	}
	r.Mine = r.Author.ID == reader.Author().ID
	if !r.Mine && !sharedWith(reader, r.Roles) {
		return Run{}, NotFound(id)
	}
	return r, nil
}

// sharedWith reports whether a person has one of the roles that a run is shared with.
func sharedWith(reader penstock.Principal, roles []penstock.Role) bool {
	for _, role := range roles {
		if reader.Person != nil && penstock.HasRole(rolesOf(reader), role) {
			return true
		}
	}
	return false
}

// rolesOf are the roles of a reader, for shares: everybody in a tenant counts as a viewer.
func rolesOf(reader penstock.Principal) []penstock.Role {
	if reader.Person == nil || len(reader.Roles) == 0 {
		return nil
	}
	return append([]penstock.Role{penstock.RoleViewer}, reader.Roles...)
}

// own finds a run of the caller. A run that is shared with the caller is not the caller's. Codes: not_found, scope_missing.
func (s *Service) own(ctx context.Context, caller penstock.Principal, id penstock.ID) (Run, error) {
	r, err := s.see(ctx, caller, id)
	if err == nil && !r.Mine {
		err = penstock.Errorf(penstock.CodeScopeMissing, "The run %s belongs to %s; only its author can change it.", ViewRun.Format(id), r.Author.Name)
	}
	return r, err
}

// Summary finds a run without its cells. Codes: not_found.
func (s *Service) Summary(ctx context.Context, reader penstock.Principal, id penstock.ID) (Run, error) {
	return s.see(ctx, reader, id)
}

// Open finds a run with all of its cells. Codes: not_found.
func (s *Service) Open(ctx context.Context, reader penstock.Principal, id penstock.ID) (Opened, error) {
	r, err := s.see(ctx, reader, id)
	if err != nil {
		return Opened{}, err
	}
	o, err := s.Cells.Open(ctx, reader.Tenant.ID, id)
	o.Mine, o.Roles = r.Mine, r.Roles
	return o, err
}

// List returns runs that the reader may see, newest first.
func (s *Service) List(ctx context.Context, reader penstock.Principal, p Page) ([]Run, error) {
	if len(p.Query) > MaxQueryBytes {
		return nil, penstock.InvalidParam("query", "query must have at most %d bytes.", MaxQueryBytes)
	}
	p.Reader, p.Roles, p.Query = reader.Author(), rolesOf(reader), strings.ToLower(p.Query)
	if penstock.HasRole(p.Roles, penstock.RoleAdmin) {
		p.Roles = penstock.Roles
	}
	all, err := s.Runs.ListRuns(ctx, reader.Tenant.ID, p)
	for i := range all {
		all[i].Mine = all[i].Author.ID == p.Reader.ID
	}
	return all, err
}

// Rename changes the name of a run of the caller. Codes: not_found, scope_missing, invalid_request, conflict.
func (s *Service) Rename(ctx context.Context, caller penstock.Principal, r Rename) (Opened, error) {
	if err := checkName(r.Name); err != nil {
		return Opened{}, err
	}
	if _, err := s.own(ctx, caller, r.ID); err != nil {
		return Opened{}, err
	}
	if _, err := s.Runs.RenameRun(ctx, caller.Tenant.ID, r); err != nil {
		return Opened{}, err
	}
	return s.Open(ctx, caller, r.ID)
}

// Delete stops the cells of a run of the caller and removes all of it. Codes: not_found, scope_missing.
func (s *Service) Delete(ctx context.Context, caller penstock.Principal, id penstock.ID) error {
	if _, err := s.own(ctx, caller, id); err != nil {
		return err
	}
	s.drop(id)
	err := s.Runs.DeleteRun(ctx, caller.Tenant.ID, Removal{id, caller.Author()})
	s.Stops.Notify()
	s.Changed.Publish(id)
	return err
}

// Stop stops the cells of a column, or of all columns. Their text stays. Codes: not_found, scope_missing, invalid_request.
func (s *Service) Stop(ctx context.Context, caller penstock.Principal, o StopOrder) (Opened, error) {
	if _, err := s.own(ctx, caller, o.ID); err != nil {
		return Opened{}, err
	}
	if o.Column < AllColumns || o.Column >= MaxColumns {
		return Opened{}, penstock.InvalidParam("column", "column must be the number of a column, from 0, or null for all.")
	}
	if s.stopWith(o, errStopped()) {
		s.save(ctx)
	} else if err := s.Progress.RequestStop(ctx, caller.Tenant.ID, o); err != nil {
		return Opened{}, err
	} else {
		s.Stops.Notify()
	}
	return s.Open(ctx, caller, o.ID)
}

// Resume runs the cells of a run again that were interrupted or stopped, or failed, with the same input. Codes: not_found,
// scope_missing, conflict, rate_limited, overloaded.
func (s *Service) Resume(ctx context.Context, caller penstock.Principal, id penstock.ID, w Watch) (Opened, error) {
	if _, err := s.own(ctx, caller, id); err != nil {
		return Opened{}, err
	}
	if err := s.mayStart(ctx, caller.Author()); err != nil {
		return Opened{}, err
	}
	o, err := s.Progress.Resume(ctx, caller.Tenant.ID, Resumption{ID: id, Lease: s.Lease()})
	if err != nil {
		return o, err
	}
	o.Mine = true
	s.start(newLive(o, caller), w)
	s.Changed.Publish(id)
	return o, nil
}

// Mark stores the reader's judgement of a cell. Codes: not_found, invalid_request, conflict, quota_exceeded.
func (s *Service) Mark(ctx context.Context, reader penstock.Principal, m NewMark) (Mark, error) {
	if _, err := s.see(ctx, reader, m.Run); err != nil {
		return Mark{}, err
	}
	switch {
	case m.Rating < -1 || m.Rating > 1:
		return Mark{}, penstock.InvalidParam("rating", "rating must be 1, -1 or null.")
	case len(m.Comment) > MaxCommentBytes:
		return Mark{}, penstock.InvalidParam("comment", "comment must have at most %d bytes.", MaxCommentBytes)
	case len(m.Correction) > MaxCorrectionBytes:
		return Mark{}, penstock.InvalidParam("correction", "correction must have at most %d bytes.", MaxCorrectionBytes)
	}
	m.Author, m.Stored = reader.Author(), reader.Tenant.StoredBytes
	return s.Cells.SetMark(ctx, reader.Tenant.ID, m)
}
