// Package telemetry writes all logs, metrics and traces.
//
// It owns log keys, metric names and span attributes, their bounds, and the libraries: no other package imports
// Prometheus or OpenTelemetry. The callers decide what they report. The package has no global state, so one process can
// have several instances of everything.
//
// # Invariants
//
// Nothing here blocks or fails an inference. Recording methods return nothing and cannot panic on odd
// input; spans wait in a bounded queue and are dropped when it is full; a scrape waits a bounded time for
// the store.
//
// Payloads stay out. No function takes a body, the logger withholds bytes and structures (see
// [NewLogger]), and a failed span carries the error's code but never its text.
//
// Label values are bounded. Names that callers choose pass a [Labels] limiter, everything else is a
// closed list.
//
// # Correlation
//
// [WithIDs] puts the ids of the work at hand into a context. Each log record and each span made with that
// context carries them, under the same words.
//
// # Concurrency
//
// Everything is safe for concurrent use.
package telemetry

import (
	"context"

	"penstock"
)

// IDs says whose work a context is about. Empty fields are unknown.
type IDs struct {
	Request penstock.ID
	Job     penstock.ID
	Item    penstock.ID
	Attempt penstock.ID
	Tenant  penstock.TenantID
}

// maxIDs is the number of fields of IDs.
const maxIDs = 5

type idsKey struct{}

// WithIDs adds ids to those that ctx carries. Empty fields leave what is already there.
func WithIDs(ctx context.Context, ids IDs) context.Context {
	var before IDs
	if carried := idsFrom(ctx); carried != nil {
		before = *carried
	}
	merged := IDs{
		Request: or(ids.Request, before.Request),
		Job:     or(ids.Job, before.Job),
		Item:    or(ids.Item, before.Item),
		Attempt: or(ids.Attempt, before.Attempt),
		Tenant:  or(ids.Tenant, before.Tenant),
	}
	if merged == before {
		return ctx
	}
	return &idsContext{ctx, merged}
}

// SetTenant is WithIDs for the tenant of a call, in a context whose ids nothing else reads yet: it changes them, and does not wrap the
// context once more. A context without ids stays as it is.
func SetTenant(ctx context.Context, tenant penstock.TenantID) {
	if ids := idsFrom(ctx); ids != nil && tenant != "" {
		ids.Tenant = tenant
	}
}

// idsContext is a context with its ids.
type idsContext struct {
	context.Context
	ids IDs
}

func (c *idsContext) Value(key any) any {
	if key == (idsKey{}) {
		return &c.ids
	}
	return c.Context.Value(key)
}

func idsFrom(ctx context.Context) *IDs {
	ids, _ := ctx.Value(idsKey{}).(*IDs)
	return ids
}

// Tenant is whose work a context is about, "" when that is not known.
func Tenant(ctx context.Context) penstock.TenantID {
	if ids := idsFrom(ctx); ids != nil {
		return ids.Tenant
	}
	return ""
}

func or[S ~string](s, fallback S) S {
	if s != "" {
		return s
	}
	return fallback
}

// named is one id as logs and spans show it.
type named struct{ name, value string }

// appendTo appends the ids that are set. They are rendered here and not in WithIDs: every request sets
// ids, few ever log them.
func (ids *IDs) appendTo(list []named) []named {
	if ids == nil {
		return list
	}
	add := func(name string, view penstock.View, id penstock.ID) {
		if id != "" {
			list = append(list, named{name, view.Format(id)})
		}
	}
	add("request_id", penstock.ViewRequest, ids.Request)
	add("job_id", penstock.ViewJob, ids.Job)
	add("item_id", penstock.ViewItem, ids.Item)
	add("attempt_id", penstock.ViewAttempt, ids.Attempt)
	if ids.Tenant != "" {
		list = append(list, named{"tenant", string(ids.Tenant)})
	}
	return list
}
