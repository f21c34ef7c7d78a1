package penstock

import "time"

// TenantID names who pays. It is the name an operator chose, so that logs and metrics can be read.
type TenantID string

// Scope is one thing that a key may do.
type Scope string

// The scopes.
const (
	ScopeInference Scope = "inference"  // synchronous calls and model lists
	ScopeJobsWrite Scope = "jobs:write" // submit, cancel, retry, delete
	ScopeJobsRead  Scope = "jobs:read"  // jobs, items, results, events, dead letters
)

// Scopes lists every scope.
var Scopes = []Scope{ScopeInference, ScopeJobsWrite, ScopeJobsRead}

// Tenant is who pays for inferences, and the wall that no work can see across.
type Tenant struct {
	ID        TenantID
	Weight    int    // share of the queue relative to other tenants, at least 1
	Lanes     []Lane // the lanes it may use
	Retention Retention
	Regions   []string // where its work may run; nil for anywhere
	Budgets   []Budget
}

// Retention is how long finished work is kept.
type Retention struct {
	Results     time.Duration // a job with all that belongs to it after its end, the record of a call
	Events      time.Duration // a job's log after its end; at most Results
	Idempotency time.Duration // an idempotency key, from the submit on
}

// Caller is an authenticated key in use: the tenant it belongs to and what it may do.
type Caller struct {
	Tenant Tenant
	Key    string // the key's name, never its secret
	Scopes []Scope
}
