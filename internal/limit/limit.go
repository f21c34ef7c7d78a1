// Package limit holds callers to their limits: those of their tenant, of their key, and of their tenant's
// calls for one model. A call needs capacity under all of them, and takes it of all or of none.
//
// It owns the scopes that limit a call together, the words of a refusal, and the state of a caller. The arithmetic, and
// how processes share a limit, is package capacity's: the same that keeps targets within theirs.
//
// Invariants:
//   - A caller without limits costs nothing and touches nothing.
//   - Nothing here asks the database. Where a process has withdrawn none of a limit yet, a call waits for the
//     visit that package capacity makes, MaxWait at the most.
//   - A call waits for its turn only if it would pass within the wait of the limit that is short. The number of waiting calls
//     is bounded, of a tenant and of the process. A wait ends when its caller leaves.
//
// A [Limiter] is safe for concurrent use.
package limit

import (
	"context"
	"sync"
	"time"

	"penstock"
	"penstock/internal/capacity"
)

const (
	// MaxWait bounds how long a call waits until it is known whether its limits allow it.
	MaxWait = time.Second
	// MaxWaiting is how many calls may wait for their turn in a process, MaxWaitingOfTenant how many of one tenant. Those
	// past it are refused at once. A call that waits costs its connection and its body, and takes nothing that is limited.
	MaxWaiting         = 8192
	MaxWaitingOfTenant = 1024
	// busyRetry is the Retry-After of a call that has to wait for another call to end, at an unknown time.
	busyRetry = time.Second
)

// Metrics count what limits refuse and how long calls wait for them; may be nil.
type Metrics interface {
	LimitRefused(tenant, scope, resource string)
	LimitWaited(tenant string, waited time.Duration)
}

// Limiter knows how callers stand.
type Limiter struct {
	tracker *capacity.Tracker
	metrics Metrics

	mu       sync.Mutex
	waiting  int
	ofTenant map[penstock.TenantID]int // of those that wait
}

// New returns a limiter over a tracker that nothing else uses.
func New(tracker *capacity.Tracker, m Metrics) *Limiter {
	return &Limiter{tracker: tracker, metrics: m, ofTenant: make(map[penstock.TenantID]int)}
}

// maxScopes is how many can limit a call: its tenant, its key, and its model by each of its names.
const maxScopes = 4

// scopes adds those that a caller's calls for a model are limited with, if anything limits them. A model is limited by
// the name that was asked for and by that of the model which answers for it, or a fallback would be a way around.
func scopes(all []capacity.LimitScope, c *penstock.Principal, model penstock.ModelNames) []capacity.LimitScope {
	add := func(kind capacity.Kind, of string, l penstock.Limits) {
		if !l.None() {
			all = append(all, capacity.LimitScope{Name: capacity.Name{Kind: kind, Tenant: c.Tenant.ID, Of: of}, Holder: c.Key, Limits: l})
		}
	}
	add(capacity.KindTenant, "", c.Tenant.Limits)
	add(capacity.KindKey, c.Key, c.Limits)
	if len(c.Tenant.ModelLimits) > 0 {
		add(capacity.KindModel, model.Asked, c.Tenant.ModelLimits[model.Asked])
		if model.Answers != model.Asked {
			add(capacity.KindModel, model.Answers, c.Tenant.ModelLimits[model.Answers])
		}
	}
	return all
}

// Admit takes a limit hold for a call. It is nil when nothing limits the caller. Codes: rate_limited, overloaded
// (what is left of a limit cannot be found out).
func (b *Limiter) Admit(ctx context.Context, c *penstock.Principal, model penstock.ModelNames, u capacity.Use) (*capacity.LimitHold, error) {
	var few [maxScopes]capacity.LimitScope
	all := scopes(few[:0], c, model)
	if len(all) == 0 {
		return nil, nil
	}
	if limitHold, ok := b.tracker.Admit(all, u); ok {
		return limitHold, nil
	}
	return b.queue(ctx, all, u, model.Asked)
}

// Spend books what an item of a caller's job used. It was admitted when its job was; it counts for the day of its
// tenant, key and model.
func (b *Limiter) Spend(c *penstock.Principal, model penstock.ModelNames, u penstock.Usage) {
	var few [maxScopes]capacity.LimitScope
	if all := scopes(few[:0], c, model); len(all) > 0 {
		b.tracker.Spend(all, u)
	}
}

// MaxLimitStates is how many limits per time a call can have.
const MaxLimitStates = maxScopes * 4

// AppendLimitStates adds how a caller stands with all limits per time that its calls for a model have; no names leave
// those of models out.
func (b *Limiter) AppendLimitStates(all []capacity.LimitState, c *penstock.Principal, model penstock.ModelNames) []capacity.LimitState {
	var few [maxScopes]capacity.LimitScope
	if limited := scopes(few[:0], c, model); len(limited) > 0 {
		return b.tracker.AppendLimitStates(all, limited)
	}
	return all
}
