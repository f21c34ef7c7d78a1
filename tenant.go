package penstock

import (
	"slices"
	"time"
)

// TenantID names who pays. It is the name an operator chose, so that logs and metrics can be read.
type TenantID string

// Scope is one thing that a key may do.
type Scope string

// The scopes.
const (
	ScopeInference Scope = "inference"  // synchronous calls and model lists
	ScopeJobsWrite Scope = "jobs:write" // submit, cancel, retry, delete
	ScopeJobsRead  Scope = "jobs:read"  // jobs, items, results, events, dead letters
	ScopeWebhooks  Scope = "webhooks"   // endpoints, their secrets and what was delivered to them
	ScopeAdmin     Scope = "admin"      // the admin API: everything, for every tenant
)

// Scopes lists what a key may do unless it was made for less or more: everything but administration.
var Scopes = []Scope{ScopeInference, ScopeJobsWrite, ScopeJobsRead, ScopeWebhooks}

// AllScopes lists every scope.
var AllScopes = slices.Concat(Scopes, []Scope{ScopeAdmin})

// Tenant is who pays for inferences, and the wall that no work can see across.
type Tenant struct {
	ID        TenantID
	Weight    int    // share of the queue relative to other tenants, at least 1
	Lanes     []Lane // the lanes it may use
	Retention Retention
	Regions   []string // where its work may run; nil for anywhere
	Budgets   []Budget
	Models    []string // the models it may ask for; nil for any
	Tier      string   // the operator's own word for tenants of its kind; nothing depends on it
	// MediaHosts are the hosts that upstreams may fetch from because a body of the tenant says so; nil for the default.
	MediaHosts []string

	Limits      Limits
	ModelLimits map[string]Limits // of its calls for one model, by the name it asked for
	// EnqueuedTokens is how many tokens its queued items may have together, by their upper bounds; 0 for any number.
	EnqueuedTokens int64
	// StoredBytes is how many bytes its jobs and files may have stored together; 0 for any number.
	StoredBytes int64
}

// The words that MediaHosts may have instead of hosts.
const (
	MediaNone   = "none"   // no host at all
	MediaPublic = "public" // hosts that are not of a local network, judging by their names
	MediaAny    = "any"    // every host, and what is no host
)

// MayUse reports whether the tenant may ask for a configured model.
func (t Tenant) MayUse(model string) bool {
	return len(t.Models) == 0 || slices.Contains(t.Models, model)
}

// Retention is how long finished work is kept.
type Retention struct {
	Results     time.Duration // a job with all that belongs to it after its end, the record of a call
	Events      time.Duration // a job's log after its end; at most Results
	Idempotency time.Duration // an idempotency key, from the submit on
	Files       time.Duration // a file, from its upload on
}
