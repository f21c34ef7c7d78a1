package store

import (
	"crypto/sha256"
	"time"

	"penstock"
)

// TenantSource says who may change a tenant.
type TenantSource string

// The sources.
const (
	SourceFile TenantSource = "file" // the configuration file alone
	SourceAPI  TenantSource = "api"  // operators, by the admin API
)

// TenantRecord is a tenant as it is stored. Zero fields of its retention mean the global default.
type TenantRecord struct {
	penstock.Tenant
	Source    TenantSource
	Enabled   bool  // its keys work
	Version   int64 // of its latest change; those of all tenants and keys are one sequence
	CreatedAt time.Time
	UpdatedAt time.Time
}

// APIKey is a stored key. The store has the hash of its secret, never the secret.
type APIKey struct {
	ID         penstock.ID
	Tenant     penstock.TenantID
	Name       string // unique among the keys of the tenant that are in use and not replaced
	Hash       KeyHash
	Prefix     string // enough of the secret to recognise it by
	Scopes     []penstock.Scope
	CreatedAt  time.Time
	ExpiresAt  time.Time // zero for never
	RevokedAt  time.Time // zero while it was not
	LastUsedAt time.Time // about; zero for never
	ReplacedBy penstock.ID
	Version    int64

	// Limits and Budgets are those of its name: keys of one tenant with one name have them together, also over a
	// rotation.
	Limits  penstock.Limits
	Budgets []penstock.Budget
}

// KeyHash is the SHA-256 of a key's secret.
type KeyHash [sha256.Size]byte

// Condition says who makes a change, and under which condition it is made.
type Condition struct {
	Actor     string
	IfVersion int64 // the version that it must have; 0 for any
	IfAbsent  bool  // the object must not exist yet; only controls have this condition
	DryRun    bool  // run the change, return its result, and roll back
}

// NewTenant is a tenant to be made.
type NewTenant struct {
	Tenant  penstock.Tenant
	Enabled bool
	// Adopt takes over a tenant that the configuration file once declared and that is not in it any more.
	Adopt bool
	Condition
}

// TenantChange changes a tenant.
type TenantChange struct {
	ID penstock.TenantID
	// Apply edits the tenant as it is. It may be called more than once, each time with a fresh copy, and its
	// error ends the change.
	Apply func(*TenantRecord) error
	Condition
}

// TenantFilter selects tenants, by id.
type TenantFilter struct {
	ID    penstock.TenantID // only this one
	Tier  string            // only those of this tier
	After penstock.TenantID
	Limit int
}

// NewKey is a key to be created. The store sets its version and all times except ExpiresAt.
type NewKey struct {
	Key APIKey
	Condition
}

// KeyRotation replaces a key by another with the same name, tenant and scopes.
type KeyRotation struct {
	ID      penstock.ID   // the key to replace
	Next    APIKey        // id, hash, prefix and expiry of the new key
	Overlap time.Duration // how long the old one still works, unless it ends sooner
	Condition
}

// KeyChange changes what a key may use and spend.
type KeyChange struct {
	ID penstock.ID
	// Apply edits the limits and budgets of the key as it is; what else it edits is not kept. It may be called more
	// than once, each time with a fresh copy, and its error ends the change.
	Apply func(*APIKey) error
	Condition
}

// KeyRevocation ends a key.
type KeyRevocation struct {
	ID penstock.ID
	Condition
}

// KeyFilter selects keys, in the order of their ids, oldest first.
type KeyFilter struct {
	ID     penstock.ID       // only this one
	Tenant penstock.TenantID // only those of this tenant
	After  penstock.ID
	Limit  int
}

// KeyUse says when a key was used.
type KeyUse struct {
	Key penstock.ID
	At  time.Time
}

// DirectoryMark is how far a reader has read the directory. The zero mark is its beginning.
type DirectoryMark struct {
	Tenants TenantMark
	Keys    KeyMark
}

// TenantMark is the last change of a tenant that is known.
type TenantMark struct {
	Version int64
	ID      penstock.TenantID
}

// KeyMark is the last change of a key that is known.
type KeyMark struct {
	Version int64
	ID      penstock.ID
}

// DirectoryChanges are the current state of the tenants and keys that changed after a mark.
type DirectoryChanges struct {
	Tenants []TenantRecord
	Keys    []APIKey
	Mark    DirectoryMark // where the next read begins
	More    bool          // there are further changes
}

// The bounds of the directory.
const (
	MaxTenants       = 100_000
	MaxKeysPerTenant = 1_000 // that are neither revoked nor expired
	// KeyMemory is how long an ended key can still be looked up. It is removed when its tenant gets another key.
	KeyMemory = 90 * 24 * time.Hour
)

// What the audit calls the changes of tenants and keys.
const (
	ActionCreateTenant = "tenant.create"
	ActionChangeTenant = "tenant.change"
	ActionDeleteTenant = "tenant.delete"
	ActionCreateKey    = "key.create"
	ActionChangeKey    = "key.change"
	ActionRotateKey    = "key.rotate"
	ActionRevokeKey    = "key.revoke"
)
