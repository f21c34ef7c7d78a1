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
	"time"

	"penstock"
	"penstock/internal/room"
)

// MaxWait bounds how long a call waits until it is known whether its limits have room.
const MaxWait = time.Second

// busyRetry is told to whoever must wait for another call's end, which nobody knows.
const busyRetry = time.Second

// Metrics count what limits refuse; nil for nobody who counts.
type Metrics interface {
	LimitRefused(tenant, scope, resource string)
}

// Book knows how callers stand.
type Book struct {
	rooms   *room.Book
	metrics Metrics
}

// New returns a book over rooms that nobody else uses.
func New(rooms *room.Book, m Metrics) *Book { return &Book{rooms, m} }

// maxParties is how many can limit a call: its tenant, its key, and its model by each of its names.
const maxParties = 4

// parties adds those that a caller's calls for a model are limited with, if anything limits them. A model is limited by
// the name that was asked for and by that of the model which answers for it, or a fallback would be a way around.
func parties(all []room.Party, c *penstock.Caller, model penstock.ModelNames) []room.Party {
	add := func(kind room.Kind, of string, l penstock.Limits) {
		if !l.None() {
			all = append(all, room.Party{Name: room.Name{Kind: kind, Tenant: c.Tenant.ID, Of: of}, Limits: l})
		}
	}
	add(room.KindTenant, "", c.Tenant.Limits)
	add(room.KindKey, c.Key, c.Limits)
	if len(c.Tenant.ModelLimits) > 0 {
		add(room.KindModel, model.Asked, c.Tenant.ModelLimits[model.Asked])
		if model.Answers != model.Asked {
			add(room.KindModel, model.Answers, c.Tenant.ModelLimits[model.Answers])
		}
	}
	return all
}

// Enter takes room for a call. The stay is nil when nothing limits the caller. Codes: rate_limited, overloaded
// (what is left of a limit cannot be found out).
func (b *Book) Enter(ctx context.Context, c *penstock.Caller, model penstock.ModelNames, u room.Use) (*room.Stay, error) {
	var few [maxParties]room.Party
	all := parties(few[:0], c, model)
	if len(all) == 0 {
		return nil, nil
	}
	var patience <-chan time.Time
	for {
		stay, short := b.rooms.Enter(all, u)
		if short == nil {
			return stay, nil
		}
		if short.Retry == nil {
			return nil, b.refuse(model.Asked, all[short.Party].Name, short)
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
			return nil, b.refuse(model.Asked, all[short.Party].Name, short)
		case <-ctx.Done():
			return nil, unknown(ctx.Err())
		}
	}
}

// refuse counts a refusal and says it.
func (b *Book) refuse(asked string, p room.Name, s *room.Shortage) error {
	if b.metrics != nil {
		b.metrics.LimitRefused(string(p.Tenant), string(p.Kind), s.Resource)
	}
	return refusal(asked, p, s)
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
func refusal(asked string, p room.Name, s *room.Shortage) error {
	who := name(asked, p)
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
func name(asked string, p room.Name) string {
	switch {
	case p.Kind == room.KindKey:
		return fmt.Sprintf("Key %s of tenant %s", p.Of, p.Tenant)
	case p.Kind == room.KindModel && p.Of != asked:
		return fmt.Sprintf("Tenant %s with model %s, which answers for the name that was asked for,", p.Tenant, p.Of)
	case p.Kind == room.KindModel:
		return fmt.Sprintf("Tenant %s with model %s", p.Tenant, p.Of)
	}
	return fmt.Sprintf("Tenant %s", p.Tenant)
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
func (b *Book) Spend(c *penstock.Caller, model penstock.ModelNames, u penstock.Usage) {
	var few [maxParties]room.Party
	if all := parties(few[:0], c, model); len(all) > 0 {
		b.rooms.Spend(all, u)
	}
}

// MaxStandings is how many limits per time a call can have.
const MaxStandings = maxParties * 4

// AppendStandings adds how a caller stands with all limits per time that its calls for a model have; no names leave
// those of models out.
func (b *Book) AppendStandings(all []room.Standing, c *penstock.Caller, model penstock.ModelNames) []room.Standing {
	var few [maxParties]room.Party
	if limited := parties(few[:0], c, model); len(limited) > 0 {
		return b.rooms.AppendStandings(all, limited)
	}
	return all
}
