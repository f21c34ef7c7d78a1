package prompt

import (
	"context"
	"time"

	"penstock"
)

// RequestState is the state of a request.
type RequestState string

// The states of a request. Only an open request changes.
const (
	RequestOpen     RequestState = "open"
	RequestApproved RequestState = "approved"
	RequestRejected RequestState = "rejected"
)

// RequestStates lists every state of a request.
var RequestStates = []RequestState{RequestOpen, RequestApproved, RequestRejected}

// Request asks for the move of a protected label.
type Request struct {
	ID        penstock.ID
	Prompt    string
	Label     string
	Version   int64
	From      int64 // the version that the label named, 0 for none
	Revision  int64 // of the label at the time, 0 for none: an approval applies to this state only
	Reason    string
	State     RequestState
	By        penstock.Author
	At        time.Time
	DecidedBy string
	DecidedAt time.Time // zero while it is open
	Note      string    // of the one who decided
}

// NewRequest is a request to be stored.
type NewRequest struct {
	ID   penstock.ID
	Move LabelMove
}

// Decision approves or rejects a request.
type Decision struct {
	ID    penstock.ID
	Name  string // of the prompt
	State RequestState
	Note  string
	Actor penstock.Author
	Asked Stamp // of the label's protection when it was asked about the decision
}

// RequestPage selects requests of a prompt, newest first.
type RequestPage struct {
	Name   string
	State  RequestState // "" for all
	Before penstock.ID
	Limit  int
}

// Requests is the storage of requests to move labels.
type Requests interface {
	// AddRequest stores a request. Codes: not_found (prompt or version), gone, conflict (archived, too many are open).
	AddRequest(ctx context.Context, tenant penstock.TenantID, r NewRequest) (Request, error)
	// Request finds a request of a prompt. Codes: not_found.
	Request(ctx context.Context, tenant penstock.TenantID, name string, id penstock.ID) (Request, error)
	// ListRequests returns requests of a prompt. Codes: not_found.
	ListRequests(ctx context.Context, tenant penstock.TenantID, p RequestPage) ([]Request, error)
	// DecideRequest ends an open request. An approval also moves the label, in the same transaction. Codes: not_found, gone, conflict
	// (it is not open, the label was moved since, or another protection than the one that was asked).
	DecideRequest(ctx context.Context, tenant penstock.TenantID, d Decision) (Request, error)
}

// RequestMove asks for the move of a protected label. Codes: invalid_request, not_found, gone, conflict.
func (s *Service) RequestMove(ctx context.Context, caller penstock.Principal, m LabelMove) (Request, error) {
	if err := checkMovable(m.Label); err != nil {
		return Request{}, err
	}
	if err := checkReason("reason", m.Reason); err != nil {
		return Request{}, err
	}
	if m.Version < 1 {
		return Request{}, penstock.InvalidParam("version", "version must be the number of a version.")
	}
	m.Actor = caller.Author()
	r, err := s.Requests.AddRequest(ctx, caller.Tenant.ID, NewRequest{ID: s.ids.New(s.Clock()), Move: m})
	if err == nil {
		s.Published()
	}
	return r, err
}

// ListRequests returns requests of a prompt, newest first. Codes: not_found.
func (s *Service) ListRequests(ctx context.Context, tenant penstock.TenantID, p RequestPage) ([]Request, error) {
	return s.Requests.ListRequests(ctx, tenant, p)
}

// Approve moves the label as requested. The caller needs a role of the label's protection, and neither wrote the version nor asked
// for the move. Codes: not_found, scope_missing, gone, conflict.
func (s *Service) Approve(ctx context.Context, caller penstock.Principal, d Decision) (Request, error) {
	tenant := caller.Tenant.ID
	r, err := s.Requests.Request(ctx, tenant, d.Name, d.ID)
	if err != nil {
		return r, err
	}
	rule, err := s.ruleOf(ctx, tenant, r.Prompt, r.Label)
	if err != nil {
		return r, err
	}
	actor := caller.Author()
	if rule.applies {
		if err := rule.allow(&caller); err != nil {
			return r, err
		}
	}
	if rule.applies && rule.Approval {
		v, err := s.Versions.Version(ctx, tenant, VersionKey{r.Prompt, r.Version})
		if err != nil {
			return r, err
		}
		if actor.ID == r.By.ID || actor.ID == v.Author.ID {
			return r, penstock.Errorf(penstock.CodeConflict, "The request needs the approval of somebody who neither asked for it nor wrote version %d.", r.Version)
		}
	}
	if rule.applies {
		if err := s.gate(ctx, &caller, LabelMove{Name: r.Prompt, Label: r.Label, Version: r.Version}); err != nil {
			return r, err
		}
	}
	d.State, d.Actor, d.Asked = RequestApproved, actor, rule.Stamp()
	if r, err = s.decide(ctx, tenant, d); err != nil {
		return r, err
	}
	return r, s.changed(ctx, tenant, r.Prompt)
}

// Reject ends a request without a move. The caller needs a role of the label's protection, or asked for the move. Codes: not_found,
// scope_missing, conflict.
func (s *Service) Reject(ctx context.Context, caller penstock.Principal, d Decision) (Request, error) {
	tenant := caller.Tenant.ID
	r, err := s.Requests.Request(ctx, tenant, d.Name, d.ID)
	if err != nil {
		return r, err
	}
	rule, err := s.ruleOf(ctx, tenant, r.Prompt, r.Label)
	if err != nil {
		return r, err
	}
	d.State, d.Actor, d.Asked = RequestRejected, caller.Author(), rule.Stamp()
	if rule.applies && d.Actor.ID != r.By.ID {
		if err := rule.allow(&caller); err != nil {
			return r, err
		}
	}
	return s.decide(ctx, tenant, d)
}

func (s *Service) decide(ctx context.Context, tenant penstock.TenantID, d Decision) (Request, error) {
	if err := checkReason("note", d.Note); err != nil {
		return Request{}, err
	}
	return s.Requests.DecideRequest(ctx, tenant, d)
}
