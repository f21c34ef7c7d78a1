package coedit

import (
	"context"
	"strings"
	"sync"
	"time"

	"penstock"
)

// Person is an editor that is connected, with its cursor.
type Person struct {
	Client       string
	Tag          string // of the author
	Name         string
	Text         string // "" while the cursor is in none
	Version      int64  // of the text that the positions apply to
	Anchor, Head int    // of the selection; the cursor is at the head
}

// Sighting is the cursor of an editor.
type Sighting struct {
	Prompt string
	Person
}

// People is the storage of the people that edit drafts.
type People interface {
	// Sight stores the cursor of an editor for PresenceExpiry, mapped to the current version of its text. Codes: not_found (draft),
	// conflict (too many people).
	Sight(ctx context.Context, tenant penstock.TenantID, s Sighting) error
	// Keep shows an editor for another PresenceExpiry, if it is shown.
	Keep(ctx context.Context, tenant penstock.TenantID, s Sighting) error
	// Forget stops showing an editor.
	Forget(ctx context.Context, tenant penstock.TenantID, s Sighting) error
}

// displayName is the name beside a cursor.
func displayName(caller penstock.Principal) string {
	name := caller.Key
	if caller.Person != nil && caller.Person.Name != "" {
		name = caller.Person.Name
	}
	if len(name) > MaxNameBytes {
		name = strings.ToValidUTF8(name[:MaxNameBytes], "")
	}
	return name
}

// Sight stores the cursor of one of the caller's editors. Codes: invalid_request, not_found, conflict, rate_limited.
func (s *Service) Sight(ctx context.Context, caller penstock.Principal, at Sighting) error {
	if err := checkClient(caller, at.Client); err != nil {
		return err
	}
	if at.Anchor < 0 || at.Head < 0 || at.Version < 0 {
		return penstock.InvalidParam("anchor", "anchor, head and version must not be negative.")
	}
	if err := s.pace.take(at.Client, s.Clock()); err != nil {
		return err
	}
	at.Tag, at.Name = Tag(caller.Tenant.ID, caller.Author()), displayName(caller)
	if err := s.People.Sight(ctx, caller.Tenant.ID, at); err != nil {
		return err
	}
	s.Changed(caller.Tenant.ID, at.Prompt)
	return nil
}

// pace bounds the writes of each editor on a process. The zero value is ready.
type pace struct {
	mu   sync.Mutex
	left map[string]allowance
}

// allowance is how often an editor may write, as of a time.
type allowance struct {
	n  float64
	at time.Time
}

// take counts a write. Codes: rate_limited.
func (p *pace) take(client string, now time.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	a, known := p.left[client]
	if !known {
		if len(p.left) >= maxPaced || p.left == nil {
			p.left = map[string]allowance{} // everybody may burst again, which is harmless
		}
		a = allowance{maxBurst, now}
	}
	a = allowance{min(maxBurst, a.n+maxRate*max(0, now.Sub(a.at).Seconds())), now}
	if a.n < 1 {
		p.left[client] = a
		return penstock.Errorf(penstock.CodeRateLimited, "An editor may write %d times a second; wait, and send more updates at once.", maxRate)
	}
	a.n--
	p.left[client] = a
	return nil
}
