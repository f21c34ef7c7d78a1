package sqlstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"penstock"
	"penstock/internal/audit"
	"penstock/internal/store"
	"penstock/internal/store/sqldb"
)

// errDryRun undoes the change of a dry run.
var errDryRun = errors.New("a dry run keeps nothing")

// change runs a change of the directory under its next version, and keeps it unless it is a dry run. Holding the
// one row of the directory makes such changes follow each other, so that what they count and compare stays true.
func (s *Store) change(ctx context.Context, name string, c store.Condition, fn func(tx sqldb.Tx, version int64) error) error {
	err := s.write(ctx, name, func(tx sqldb.Tx) error {
		version, err := nextVersion(ctx, tx)
		if err != nil {
			return err
		}
		return kept(fn(tx, version), c)
	})
	return tried(err)
}

// kept ends a change: a dry run is undone.
func kept(err error, c store.Condition) error {
	if err == nil && c.DryRun {
		return errDryRun
	}
	return err
}

func tried(err error) error {
	if errors.Is(err, errDryRun) {
		return nil
	}
	return err
}

func nextVersion(ctx context.Context, tx sqldb.Tx) (int64, error) {
	version, _, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`UPDATE directory SET version = version + 1 WHERE id = 1 RETURNING version`),
		func(row sqldb.Row) (n int64, err error) { return n, row.Scan(&n) })
	return version, err
}

// tenantSettings is what the settings column holds.
type tenantSettings struct {
	Lanes     []penstock.Lane    `json:"lanes"`
	Regions   []string           `json:"regions,omitempty"`
	Models    []string           `json:"models,omitempty"`
	Retention *retentionSettings `json:"retention,omitempty"`
	allowance
	ModelLimits    map[string]penstock.Limits `json:"model_limits,omitempty"`
	EnqueuedTokens int64                      `json:"enqueued_tokens,omitempty"`
	MediaHosts     []string                   `json:"media_hosts,omitempty"`
	StoredBytes    int64                      `json:"stored_bytes,omitempty"`
}

// allowance is what a tenant or a key may use and spend.
type allowance struct {
	Limits  *penstock.Limits  `json:"limits,omitempty"`
	Budgets []penstock.Budget `json:"budgets,omitempty"`
}

func allow(l penstock.Limits, budgets []penstock.Budget) allowance {
	a := allowance{Budgets: budgets}
	if !l.None() {
		a.Limits = &l
	}
	return a
}

func (a allowance) limits() penstock.Limits {
	if a.Limits == nil {
		return penstock.Limits{}
	}
	return *a.Limits
}

type retentionSettings struct {
	Results     time.Duration `json:"results_ns"`
	Events      time.Duration `json:"events_ns"`
	Idempotency time.Duration `json:"idempotency_ns"`
	Files       time.Duration `json:"files_ns"`
}

func encodeSettings(t penstock.Tenant) (string, error) {
	settings := tenantSettings{Lanes: t.Lanes, Regions: t.Regions, Models: t.Models, allowance: allow(t.Limits, t.Budgets),
		ModelLimits: t.ModelLimits, EnqueuedTokens: t.EnqueuedTokens, StoredBytes: t.StoredBytes, MediaHosts: t.MediaHosts}
	if t.Retention != (penstock.Retention{}) {
		kept := retentionSettings(t.Retention)
		settings.Retention = &kept
	}
	text, err := json.Marshal(settings)
	if err != nil {
		return "", fmt.Errorf("encoding settings of tenant %s: %w", t.ID, err)
	}
	return string(text), nil
}

const tenantColumns = `id, source, weight, settings, tier, enabled, version, created_at, updated_at`

func scanTenant(row sqldb.Row) (t store.TenantRecord, err error) {
	var text string
	var enabled, created, updated int64
	if err := row.Scan(&t.ID, &t.Source, &t.Weight, &text, &t.Tier, &enabled, &t.Version, &created, &updated); err != nil {
		return t, err
	}
	var settings tenantSettings
	if err := json.Unmarshal([]byte(text), &settings); err != nil {
		return t, fmt.Errorf("decoding settings of tenant %s: %w", t.ID, err)
	}
	t.Lanes, t.Regions, t.Models = settings.Lanes, settings.Regions, settings.Models
	t.Limits, t.Budgets, t.ModelLimits, t.EnqueuedTokens = settings.limits(), settings.Budgets, settings.ModelLimits, settings.EnqueuedTokens
	t.MediaHosts, t.StoredBytes = settings.MediaHosts, settings.StoredBytes
	if settings.Retention != nil {
		t.Retention = penstock.Retention(*settings.Retention)
	}
	t.Enabled, t.CreatedAt, t.UpdatedAt = enabled != 0, sqldb.FromMicros(created), sqldb.FromMicros(updated)
	return t, nil
}

func findTenant(ctx context.Context, tx sqldb.Tx, id penstock.TenantID) (store.TenantRecord, bool, error) {
	return sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT `+tenantColumns+` FROM tenants WHERE id = $1`, id), scanTenant)
}

// putTenant writes a tenant, over an existing one too.
func putTenant(ctx context.Context, tx sqldb.Tx, t store.TenantRecord) error {
	settings, err := encodeSettings(t.Tenant)
	if err != nil {
		return err
	}
	return tx.Do(ctx, `INSERT INTO tenants (`+tenantColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
		ON CONFLICT (id) DO UPDATE SET source = excluded.source, weight = excluded.weight, settings = excluded.settings,
			tier = excluded.tier, enabled = excluded.enabled, version = excluded.version, updated_at = excluded.updated_at`,
		t.ID, t.Source, t.Weight, settings, t.Tier, enabledColumn(t), t.Version, sqldb.Micros(t.CreatedAt), sqldb.Micros(t.UpdatedAt))
}

// enabledColumn is how both engines keep whether a tenant is enabled.
func enabledColumn(t store.TenantRecord) int64 {
	if t.Enabled {
		return 1
	}
	return 0
}

// CreateTenant implements store.Tenants.
func (s *Store) CreateTenant(ctx context.Context, n store.NewTenant) (made store.TenantRecord, err error) {
	err = s.change(ctx, "tenant_create", n.Condition, func(tx sqldb.Tx, version int64) error {
		made = store.TenantRecord{Tenant: n.Tenant, Source: store.SourceAPI, Enabled: n.Enabled, Version: version,
			CreatedAt: tx.Now(), UpdatedAt: tx.Now()}
		was, there, err := findTenant(ctx, tx, n.Tenant.ID)
		switch {
		case err != nil:
			return err
		case there && was.Source == store.SourceAPI:
			return penstock.Errorf(penstock.CodeConflict, "There is a tenant %s already; change that one.", n.Tenant.ID)
		case there && !n.Adopt:
			return managedByFile(n.Tenant.ID)
		case there:
			made.CreatedAt = was.CreatedAt
		default:
			if err := checkTenants(ctx, tx); err != nil {
				return err
			}
		}
		if err := putTenant(ctx, tx, made); err != nil {
			return err
		}
		return s.noteTenant(ctx, tx, audit.Entry{Actor: n.Actor, Action: store.ActionCreateTenant, After: tenantFields(made)}, n.Tenant.ID)
	})
	return made, err
}

func managedByFile(id penstock.TenantID) error {
	return penstock.Errorf(penstock.CodeManagedByFile, "Tenant %s is declared in the configuration file; change it there and reload.", id)
}

func checkTenants(ctx context.Context, tx sqldb.Tx) error {
	n, err := count(ctx, tx, sqldb.SQL(`SELECT COUNT(*) FROM tenants`))
	if err == nil && n >= store.MaxTenants {
		err = penstock.Errorf(penstock.CodeConflict, "There are %d tenants, the most there can be.", n)
	}
	return err
}

func count(ctx context.Context, tx sqldb.Tx, q sqldb.Query) (int64, error) {
	n, _, err := sqldb.QueryOne(ctx, tx, q, func(row sqldb.Row) (n int64, err error) { return n, row.Scan(&n) })
	return n, err
}

// ChangeTenant implements store.Tenants.
func (s *Store) ChangeTenant(ctx context.Context, c store.TenantChange) (now store.TenantRecord, err error) {
	err = s.change(ctx, "tenant_change", c.Condition, func(tx sqldb.Tx, version int64) error {
		was, err := changeable(ctx, tx, c)
		if err != nil {
			return err
		}
		now = was
		if err := c.Apply(&now); err != nil {
			return err
		}
		now.ID, now.Source, now.CreatedAt, now.Version, now.UpdatedAt = was.ID, was.Source, was.CreatedAt, version, tx.Now()
		if err := putTenant(ctx, tx, now); err != nil {
			return err
		}
		return s.noteTenant(ctx, tx, audit.Entry{Actor: c.Actor, Action: store.ActionChangeTenant,
			Before: tenantFields(was), After: tenantFields(now)}, c.ID)
	})
	return now, err
}

// DeleteTenant implements store.Tenants.
func (s *Store) DeleteTenant(ctx context.Context, c store.TenantChange) (now store.TenantRecord, err error) {
	err = s.change(ctx, "tenant_delete", c.Condition, func(tx sqldb.Tx, version int64) error {
		was, err := changeable(ctx, tx, c)
		if err != nil {
			return err
		}
		now = was
		now.Enabled, now.Version, now.UpdatedAt = false, version, tx.Now()
		if err := putTenant(ctx, tx, now); err != nil {
			return err
		}
		revoked, err := tx.Exec(ctx, `UPDATE api_keys SET revoked_at = $2, version = $3 WHERE tenant_id = $1 AND revoked_at = 0`,
			c.ID, sqldb.Micros(tx.Now()), version)
		if err != nil {
			return err
		}
		after := tenantFields(now)
		after["revoked_keys"] = revoked
		return s.noteTenant(ctx, tx, audit.Entry{Actor: c.Actor, Action: store.ActionDeleteTenant, Before: tenantFields(was), After: after}, c.ID)
	})
	return now, err
}

// changeable reads the tenant of a change, and refuses a change that is not allowed.
func changeable(ctx context.Context, tx sqldb.Tx, c store.TenantChange) (store.TenantRecord, error) {
	was, there, err := findTenant(ctx, tx, c.ID)
	switch {
	case err != nil:
		return was, err
	case !there:
		return was, noTenant(c.ID)
	case was.Source == store.SourceFile:
		return was, managedByFile(c.ID)
	}
	return was, checkVersion("Tenant "+string(c.ID), was.Version, c.Condition)
}

func noTenant(id penstock.TenantID) error {
	return penstock.Errorf(penstock.CodeNotFound, "There is no tenant %q.", id)
}

func checkVersion(what string, version int64, c store.Condition) error {
	if c.IfVersion != 0 && c.IfVersion != version {
		return penstock.Stale(what)
	}
	return nil
}

// ListTenants implements store.Tenants.
func (s *Store) ListTenants(ctx context.Context, f store.TenantFilter) (all []store.TenantRecord, err error) {
	err = s.read(ctx, func(tx sqldb.Tx) error {
		all, err = sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT `+tenantColumns+` FROM tenants
			WHERE id > $1 AND ($2 = '' OR id = $2) AND ($3 = '' OR tier = $3) ORDER BY id LIMIT $4`, f.After, f.ID, f.Tier, f.Limit), scanTenant)
		return err
	})
	return all, err
}

func (s *Store) noteTenant(ctx context.Context, tx sqldb.Tx, n audit.Entry, id penstock.TenantID) error {
	n.Tenant, n.Subject = id, "tenant/"+string(id)
	return s.audit.Write(ctx, tx, n)
}

// tenantFields are what the audit shows of a tenant.
func tenantFields(t store.TenantRecord) map[string]any {
	return map[string]any{
		"enabled": t.Enabled, "tier": t.Tier, "weight": t.Weight, "lanes": t.Lanes, "regions": t.Regions, "models": t.Models,
		"retention": map[string]string{"results": t.Retention.Results.String(), "events": t.Retention.Events.String(),
			"idempotency": t.Retention.Idempotency.String(), "files": t.Retention.Files.String()},
		"limits": t.Limits, "model_limits": t.ModelLimits, "enqueued_tokens": t.EnqueuedTokens, "stored_bytes": t.StoredBytes, "media_hosts": t.MediaHosts, "budgets": t.Budgets,
	}
}
