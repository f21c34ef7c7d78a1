package directory

import (
	"context"
	"log/slog"
	"time"

	"penstock"
	"penstock/internal/config"
	"penstock/internal/store"
)

// The bounds of a rotation's overlap.
const (
	DefaultOverlap = 24 * time.Hour
	maxOverlap     = 90 * 24 * time.Hour
)

// TenantStore keeps the tenants of operators. Every change is audited.
type TenantStore interface {
	CreateTenant(ctx context.Context, t store.NewTenant) (store.TenantRecord, error)
	ChangeTenant(ctx context.Context, c store.TenantChange) (store.TenantRecord, error)
	DeleteTenant(ctx context.Context, c store.TenantChange) (store.TenantRecord, error)
}

// KeyStore keeps the keys of operators. Every change is audited.
type KeyStore interface {
	CreateKey(ctx context.Context, k store.NewKey) (store.APIKey, error)
	ChangeKey(ctx context.Context, c store.KeyChange) (store.APIKey, error)
	RotateKey(ctx context.Context, r store.KeyRotation) (store.APIKey, error)
	RevokeKey(ctx context.Context, r store.KeyRevocation) (store.APIKey, error)
}

// EditorDeps are what an editor works with.
type EditorDeps struct {
	Config    *config.Live
	Tenants   TenantStore
	Keys      KeyStore
	Directory *Directory
	Announce  func() // makes the other processes refresh their directories
	Log       *slog.Logger
	Clock     func() time.Time
}

// Editor changes tenants and keys. When a method returns, this process knows the change, and soon all others do. It is
// safe for concurrent use.
type Editor struct {
	EditorDeps
	ids penstock.IDs
}

// NewEditor returns an editor.
func NewEditor(d EditorDeps) *Editor { return &Editor{EditorDeps: d} }

// TenantEdit edits a tenant before it is checked and stored.
type TenantEdit func(*store.TenantRecord) error

// CreateTenant makes a tenant. Codes: invalid_request, conflict, managed_by_file.
func (e *Editor) CreateTenant(ctx context.Context, id penstock.TenantID, edit TenantEdit, c store.Condition) (store.TenantRecord, error) {
	t := store.TenantRecord{Enabled: true, Tenant: penstock.Tenant{ID: id, Weight: 1, Lanes: penstock.Lanes}}
	if err := e.checked(edit)(&t); err != nil {
		return t, err
	}
	_, declared := e.Config.Current().Tenants[t.ID]
	t, err := e.Tenants.CreateTenant(ctx, store.NewTenant{Tenant: t.Tenant, Enabled: t.Enabled, Adopt: !declared, Condition: c})
	return t, e.tenantChanged(ctx, t, c, err)
}

// ChangeTenant edits a tenant. Codes: invalid_request, not_found, conflict, managed_by_file.
func (e *Editor) ChangeTenant(ctx context.Context, id penstock.TenantID, edit TenantEdit, c store.Condition) (store.TenantRecord, error) {
	t, err := e.Tenants.ChangeTenant(ctx, store.TenantChange{ID: id, Condition: c, Apply: e.checked(edit)})
	return t, e.tenantChanged(ctx, t, c, err)
}

// DeleteTenant disables a tenant for good. Codes: not_found, conflict, managed_by_file.
func (e *Editor) DeleteTenant(ctx context.Context, id penstock.TenantID, c store.Condition) (store.TenantRecord, error) {
	t, err := e.Tenants.DeleteTenant(ctx, store.TenantChange{ID: id, Condition: c})
	return t, e.tenantChanged(ctx, t, c, err)
}

// checked checks an edited tenant against the rules of the configuration.
func (e *Editor) checked(edit TenantEdit) TenantEdit {
	return func(t *store.TenantRecord) error {
		if err := edit(t); err != nil {
			return err
		}
		return e.Config.Current().CheckTenant(t.Tenant)
	}
}

func (e *Editor) tenantChanged(ctx context.Context, t store.TenantRecord, c store.Condition, err error) error {
	if err == nil && !c.DryRun {
		e.publish(ctx)
		e.Log.InfoContext(ctx, "tenant changed", "tenant", t.ID, "enabled", t.Enabled, "actor", c.Actor)
	}
	return err
}

// DrawnKey is a new key with its secret.
type DrawnKey struct {
	store.APIKey
	Secret string
}

func (e *Editor) draw(now time.Time) DrawnKey {
	secret := NewSecret()
	digest, ok := config.Digest(secret)
	if !ok {
		panic("directory: a drawn secret is not within the bounds of secrets")
	}
	return DrawnKey{store.APIKey{ID: e.ids.New(now), Hash: digest, Prefix: secret[:recognizable]}, secret}
}

// CreateKey makes a key: tenant, name, scopes, expiry and bounds are taken from k, the secret is random. Codes:
// invalid_request, not_found, conflict.
func (e *Editor) CreateKey(ctx context.Context, k store.APIKey, c store.Condition) (DrawnKey, error) {
	for _, declared := range e.Config.Current().KeysOf(k.Tenant) {
		if declared.Name == k.Name {
			return DrawnKey{}, penstock.Errorf(penstock.CodeConflict, "The configuration file gives tenant %s a key %q; choose another name.", k.Tenant, k.Name)
		}
	}
	key := e.draw(e.Clock())
	k.ID, k.Hash, k.Prefix = key.ID, key.Hash, key.Prefix
	var err error
	key.APIKey, err = e.Keys.CreateKey(ctx, store.NewKey{Key: k, Condition: c})
	return key, e.keyChanged(ctx, key.APIKey, c, err)
}

// Rotation replaces a key. The old key works for Overlap, and the new key until ExpiresAt, if that is not zero.
type Rotation struct {
	Key       penstock.ID
	Overlap   time.Duration
	ExpiresAt time.Time
}

// RotateKey replaces a key. Codes: invalid_request, not_found, conflict.
func (e *Editor) RotateKey(ctx context.Context, r Rotation, c store.Condition) (DrawnKey, error) {
	if r.Overlap < 0 || r.Overlap > maxOverlap {
		return DrawnKey{}, penstock.InvalidParam("overlap", "overlap must be from 0s to %v.", maxOverlap)
	}
	key := e.draw(e.Clock())
	key.ExpiresAt = r.ExpiresAt
	var err error
	key.APIKey, err = e.Keys.RotateKey(ctx, store.KeyRotation{ID: r.Key, Next: key.APIKey, Overlap: r.Overlap, Condition: c})
	return key, e.keyChanged(ctx, key.APIKey, c, err)
}

// ChangeKey edits the limits and the budget of a key. Codes: invalid_request, not_found, conflict.
func (e *Editor) ChangeKey(ctx context.Context, id penstock.ID, edit func(*store.APIKey) error, c store.Condition) (store.APIKey, error) {
	k, err := e.Keys.ChangeKey(ctx, store.KeyChange{ID: id, Condition: c, Apply: edit})
	return k, e.keyChanged(ctx, k, c, err)
}

// RevokeKey ends a key. Codes: not_found, conflict.
func (e *Editor) RevokeKey(ctx context.Context, id penstock.ID, c store.Condition) (store.APIKey, error) {
	k, err := e.Keys.RevokeKey(ctx, store.KeyRevocation{ID: id, Condition: c})
	return k, e.keyChanged(ctx, k, c, err)
}

func (e *Editor) keyChanged(ctx context.Context, k store.APIKey, c store.Condition, err error) error {
	if err == nil && !c.DryRun {
		e.publish(ctx)
		e.Log.InfoContext(ctx, "key changed", "tenant", k.Tenant, "key", penstock.ViewKey.Format(k.ID), "revoked", !k.RevokedAt.IsZero(), "actor", c.Actor)
	}
	return err
}

// publish makes every process refresh, this one before it returns. The change is already committed: if the refresh
// fails, all processes find the change by polling.
func (e *Editor) publish(ctx context.Context) {
	e.Announce()
	if err := e.Directory.Refresh(ctx); err != nil {
		e.Log.WarnContext(ctx, "refreshing tenants and keys after a change; polling will find it", "error", err)
	}
}
