// Package limit holds callers to their limits: those of their tenant, of their key, and of their tenant's
// calls for one model. A call needs room of all of them, and takes it of all or of none.
//
// It owns who is limited together, what a refused caller is told, and how a caller stands. The arithmetic, and
// how processes share a limit, is package room's: the same that keeps targets within theirs.
//
// Invariants:
//   - A caller without limits costs nothing and touches nothing.
//   - Nothing here asks the database. Where a process has withdrawn none of a limit yet, a call waits for the
//     visit that package room makes, MaxWait at the most.
//
// A [Book] is safe for concurrent use.
package limit

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"penstock"
	"penstock/internal/room"
)

// MaxWait bounds how long a call waits until it is known whether its limits have room.
const MaxWait = time.Second

// busyRetry is told to whoever must wait for another call's end, which nobody knows.
const busyRetry = time.Second

// Rooms keeps the limits.
type Rooms interface {
	Enter(parties []room.Party, u room.Use) (*room.Stay, *room.Shortage)
	Spend(parties []room.Party, u penstock.Usage)
	Standings(parties []room.Party) []room.Standing
}

// Metrics count what limits refuse; nil for nobody who counts.
type Metrics interface {
	LimitRefused(tenant, scope, resource string)
}

// Book knows how callers stand.
type Book struct {
	rooms   Rooms
	metrics Metrics
}

// New returns a book over rooms that nobody else uses.
func New(rooms Rooms, m Metrics) *Book { return &Book{rooms, m} }

// Parties are those that a caller's calls for a model are limited with; nil when nothing limits them.
func Parties(c *penstock.Caller, model string) []room.Party {
	modelLimits := c.Tenant.ModelLimits[model]
	if c.Tenant.Limits.None() && c.Limits.None() && modelLimits.None() {
		return nil
	}
	all := make([]room.Party, 0, 3)
	if l := c.Tenant.Limits; !l.None() {
		all = append(all, room.Party{Name: "tenant/" + string(c.Tenant.ID), Limits: l})
	}
	if l := c.Limits; !l.None() {
		all = append(all, room.Party{Name: "key/" + string(c.Tenant.ID) + "/" + c.Key, Limits: l})
	}
	if !modelLimits.None() {
		all = append(all, room.Party{Name: "model/" + string(c.Tenant.ID) + "/" + model, Limits: modelLimits})
	}
	return all
}

// Enter takes room for a call. The stay is nil when nothing limits the caller. Codes: rate_limited, overloaded
// (what is left of a limit cannot be found out).
func (b *Book) Enter(ctx context.Context, c *penstock.Caller, model string, u room.Use) (*room.Stay, error) {
	parties := Parties(c, model)
	if len(parties) == 0 {
		return nil, nil
	}
	var patience <-chan time.Time
	for {
		stay, short := b.rooms.Enter(parties, u)
		if short == nil {
			return stay, nil
		}
		if short.Retry == nil {
			return nil, b.refuse(c, model, parties[short.Party], short)
		}
		if short.Failed {
			return nil, unknown(nil)
		}
		if patience == nil {
			timer := time.NewTimer(MaxWait)
			defer timer.Stop()
			patience = timer.C
		}
		select {
		case <-short.Retry:
		case <-patience: // so many want it that there is nothing left for this one
			short.Wait = MaxWait
			return nil, b.refuse(c, model, parties[short.Party], short)
		case <-ctx.Done():
			return nil, unknown(ctx.Err())
		}
	}
}

// refuse counts a refusal and says it.
func (b *Book) refuse(c *penstock.Caller, model string, p room.Party, s *room.Shortage) error {
	if b.metrics != nil {
		b.metrics.LimitRefused(string(c.Tenant.ID), string(ScopeOf(p.Name)), s.Resource)
	}
	return refusal(c, model, p, s)
}

// unknown refuses a call whose limits could not be looked at: they hold when the database is away, too.
func unknown(cause error) error {
	return &penstock.Error{Code: penstock.CodeOverloaded, RetryAfter: time.Second, Err: cause,
		Message: "What is left of this key's limits could not be found out in time."}
}

// units are how limits are called in messages.
var units = map[string]string{
	"requests": "requests/min", "input_tokens": "input tokens/min", "output_tokens": "output tokens/min", "daily_tokens": "tokens/day",
}

// refusal says which limit refuses, how it stands, and when to come back.
func refusal(c *penstock.Caller, model string, p room.Party, s *room.Shortage) error {
	who := name(c, model, p)
	e := &penstock.Error{Code: penstock.CodeRateLimited, RetryAfter: s.Wait}
	if s.Resource == room.Seats {
		e.RetryAfter = busyRetry
		e.Message = fmt.Sprintf("%s runs %d of %d calls at a time; retry when one has ended, in %s.", who, s.Limit, s.Limit, spell(busyRetry))
		return e
	}
	e.Message = fmt.Sprintf("%s is at its limit of %d %s with %d left; retry in %s.", who, s.Limit, units[s.Resource], s.Left, spell(s.Wait))
	return e
}

// name is what a party is called in messages.
func name(c *penstock.Caller, model string, p room.Party) string {
	switch ScopeOf(p.Name) {
	case ScopeKey:
		return fmt.Sprintf("Key %s of tenant %s", c.Key, c.Tenant.ID)
	case ScopeModel:
		return fmt.Sprintf("Tenant %s with model %s", c.Tenant.ID, model)
	}
	return fmt.Sprintf("Tenant %s", c.Tenant.ID)
}

// spell writes a wait as people read it: 12 s, or 0.2 s.
func spell(d time.Duration) string {
	s := d.Seconds()
	if s >= 1 {
		return fmt.Sprintf("%.0f s", math.Ceil(s))
	}
	return fmt.Sprintf("%.1f s", max(0.1, math.Ceil(s*10)/10))
}

// Spend books what an item of a caller's job used. It was admitted when its job was; it counts for the day of its
// tenant, key and model.
func (b *Book) Spend(c penstock.Caller, model string, u penstock.Usage) {
	if parties := Parties(&c, model); len(parties) > 0 {
		b.rooms.Spend(parties, u)
	}
}

// Scope says who a limit is of.
type Scope string

// The scopes.
const (
	ScopeTenant Scope = "tenant"
	ScopeKey    Scope = "key"
	ScopeModel  Scope = "model"
)

// ScopeOf is who the party of a name is.
func ScopeOf(party string) Scope {
	switch party[0] {
	case 'k':
		return ScopeKey
	case 'm':
		return ScopeModel
	}
	return ScopeTenant
}

// TenantOf is the tenant of the party of a name. Names of tenants have no slash.
func TenantOf(party string) penstock.TenantID {
	_, rest, _ := strings.Cut(party, "/")
	tenant, _, _ := strings.Cut(rest, "/")
	return penstock.TenantID(tenant)
}

// Standing is how a caller stands with one limit.
type Standing struct {
	room.Standing
	Scope Scope
}

// Standings tell how a caller stands with all limits per time that its calls for a model have; model "" leaves
// those of models out.
func (b *Book) Standings(c *penstock.Caller, model string) []Standing {
	parties := Parties(c, model)
	if len(parties) == 0 {
		return nil
	}
	found := b.rooms.Standings(parties)
	all := make([]Standing, len(found))
	for i, s := range found {
		all[i] = Standing{s, ScopeOf(parties[s.Party].Name)}
	}
	return all
}
