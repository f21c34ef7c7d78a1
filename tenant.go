package penstock

import (
	"slices"
	"time"
)

// TenantID is the id of a tenant. An operator chose it, so that logs and metrics are readable.
type TenantID string

// Scope is a permission of a key.
type Scope string

// The scopes.
const (
	ScopeInference    Scope = "inference"     // synchronous calls and model lists
	ScopeJobsWrite    Scope = "jobs:write"    // submit, cancel, retry, delete
	ScopeJobsRead     Scope = "jobs:read"     // jobs, items, results, events, dead letters
	ScopeWebhooks     Scope = "webhooks"      // endpoints, their secrets and their deliveries
	ScopePromptsRead  Scope = "prompts:read"  // prompts, their versions, labels and histories; rendering
	ScopePromptsWrite Scope = "prompts:write" // drafts, versions, labels that are not protected, archiving
	ScopeAdmin        Scope = "admin"         // the admin API: everything, for every tenant
)

// Scopes lists the default scopes of a key: all except admin.
var Scopes = []Scope{ScopeInference, ScopeJobsWrite, ScopeJobsRead, ScopeWebhooks, ScopePromptsRead, ScopePromptsWrite}

// AllScopes lists every scope.
var AllScopes = slices.Concat(Scopes, []Scope{ScopeAdmin})

// Tenant is a customer that pays for inferences. Tenants cannot see each other's work.
type Tenant struct {
	ID        TenantID
	Weight    int    // share of the queue relative to other tenants, at least 1
	Lanes     []Lane // the lanes it may use
	Retention Retention
	Regions   []string // where its work may run; nil for anywhere
	Budgets   []Budget
	Models    []string // the models it may ask for; nil for any
	Tier      string   // the operator's own label for a kind of tenant; it has no effect
	// MediaHosts are the hosts that URLs in bodies of the tenant may name; nil for the default.
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
