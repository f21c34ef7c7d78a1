package playground

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"penstock"
)

// ShareOrder shares a run of the caller.
type ShareOrder struct {
	Run      penstock.ID
	Kind     ShareKind
	Role     penstock.Role // of a share with a role
	Lifetime time.Duration // of a snapshot
}

// Share shares a run with a role, or makes a snapshot of it. Codes: not_found, scope_missing, invalid_request, too_large, conflict,
// quota_exceeded.
func (s *Service) Share(ctx context.Context, caller penstock.Principal, o ShareOrder) (Share, error) {
	if err := o.check(); err != nil {
		return Share{}, err
	}
	if _, err := s.own(ctx, caller, o.Run); err != nil {
		return Share{}, err
	}
	now := s.Clock()
	n := NewShare{
		Share:  Share{ID: s.ids.New(now), Tenant: caller.Tenant.ID, Run: o.Run, Kind: o.Kind, Role: o.Role, CreatedBy: caller.Author()},
		Stored: caller.Tenant.StoredBytes,
	}
	if o.Kind == ShareSnapshot {
		opened, err := s.Open(ctx, caller, o.Run)
		if err != nil {
			return Share{}, err
		}
		if n.Snapshot, err = encodeSnapshot(opened); err != nil {
			return Share{}, err
		}
		n.ExpiresAt = now.Add(o.Lifetime)
	}
	return s.Shares.AddShare(ctx, caller.Tenant.ID, n)
}

func (o *ShareOrder) check() error {
	switch o.Kind {
	case ShareRole:
		if !slices.Contains(penstock.Roles, o.Role) {
			return penstock.InvalidParam("role", "role must be one of %v.", penstock.Roles)
		}
		if o.Lifetime != 0 {
			return penstock.InvalidParam("expires_in", "A share with a role does not expire; delete it to end it.")
		}
	case ShareSnapshot:
		if o.Role != "" {
			return penstock.InvalidParam("role", "A snapshot is for everyone in the tenant who has its link; it has no role.")
		}
		if o.Lifetime < MinSnapshotLifetime || o.Lifetime > MaxSnapshotLifetime {
			return penstock.InvalidParam("expires_in", "expires_in must be from %v to %v.", MinSnapshotLifetime, MaxSnapshotLifetime)
		}
	default:
		return penstock.InvalidParam("kind", "kind must be role or snapshot.")
	}
	return nil
}

// encodeSnapshot writes a run as a snapshot keeps it. Codes: too_large.
func encodeSnapshot(o Opened) ([]byte, error) {
	o.Roles = nil
	text, err := json.Marshal(o)
	if err != nil {
		return nil, penstock.Internal(fmt.Errorf("encoding a snapshot: %w", err))
	}
	if len(text) > MaxSnapshotBytes {
		return nil, penstock.Errorf(penstock.CodeTooLarge, "The run has %d bytes; a snapshot has at most %d. Share the run with a role instead.", len(text), MaxSnapshotBytes)
	}
	return text, nil
}

// OpenShare finds a share and the run as it is shared: the live run, or the snapshot. Codes: not_found.
func (s *Service) OpenShare(ctx context.Context, reader penstock.Principal, id penstock.ID) (Share, Opened, error) {
	share, snapshot, err := s.Shares.Share(ctx, reader.Tenant.ID, id)
	if err != nil {
		return share, Opened{}, err
	}
	mine := share.CreatedBy.ID == reader.Author().ID
	if share.Kind == ShareRole {
		if !mine && !sharedWith(reader, []penstock.Role{share.Role}) {
			return Share{}, Opened{}, NoShare(id)
		}
		o, err := s.Open(ctx, reader, share.Run)
		if penstock.ErrorCode(err) == penstock.CodeNotFound {
			err = NoShare(id)
		}
		return share, o, err
	}
	if !mine && len(rolesOf(reader)) == 0 {
		return Share{}, Opened{}, NoShare(id)
	}
	var o Opened
	if err := json.Unmarshal(snapshot, &o); err != nil {
		return share, o, penstock.Internal(fmt.Errorf("decoding a snapshot: %w", err))
	}
	o.Mine = mine
	return share, o, nil
}

// ListShares returns the shares of a run of the caller. Codes: not_found, scope_missing.
func (s *Service) ListShares(ctx context.Context, caller penstock.Principal, run penstock.ID) ([]Share, error) {
	if _, err := s.own(ctx, caller, run); err != nil {
		return nil, err
	}
	return s.Shares.ListShares(ctx, caller.Tenant.ID, run)
}

// Unshare removes a share of a run of the caller. Codes: not_found.
func (s *Service) Unshare(ctx context.Context, caller penstock.Principal, id penstock.ID) error {
	share, _, err := s.Shares.Share(ctx, caller.Tenant.ID, id)
	if err != nil {
		return err
	}
	if share.CreatedBy.ID != caller.Author().ID { // only authors share
		return NoShare(id)
	}
	if err := s.Shares.RemoveShare(ctx, caller.Tenant.ID, ShareRemoval{id, caller.Author()}); err != nil {
		return err
	}
	s.Changed.Publish(share.Run) // readers who may not see it any more are ended
	return nil
}

// Line is a cell as it is exported.
type Line struct {
	Run       Run
	Cell      Cell
	Variables json.RawMessage
	Messages  json.RawMessage
	Config    map[string]json.RawMessage
}

// Lines returns a function that makes the exported line of each cell of a run, with the input that was sent. Codes: not_found.
func (s *Service) Lines(ctx context.Context, reader penstock.Principal, id penstock.ID) (o Opened, line func(Cell) (Line, error), err error) {
	if o, err = s.Open(ctx, reader, id); err != nil {
		return o, nil, err
	}
	return o, func(c Cell) (Line, error) {
		text, err := s.Cells.Input(ctx, reader.Tenant.ID, id, CellPlace{c.Column, c.Row})
		if err != nil {
			return Line{}, err
		}
		l := Line{Run: o.Run, Cell: c, Variables: o.Setup.Rows[c.Row]}
		if err := json.Unmarshal(text, &l.Config); err != nil {
			return l, penstock.Internal(fmt.Errorf("decoding a rendered body: %w", err))
		}
		l.Messages = l.Config["messages"]
		for _, name := range []string{"messages", "stream", "stream_options"} {
			delete(l.Config, name)
		}
		return l, nil
	}, nil
}
