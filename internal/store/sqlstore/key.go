package sqlstore

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"penstock"
	"penstock/internal/audit"
	"penstock/internal/store"
	"penstock/internal/store/sqldb"
)

const keyColumns = `id, tenant_id, name, hash, prefix, scopes, created_at, expires_at, revoked_at, last_used_at, replaced_by, version, settings`

func scanKey(row sqldb.Row) (k store.APIKey, err error) {
	var hash []byte
	var scopes, settings string
	var created, expires, revoked, used int64
	err = row.Scan(&k.ID, &k.Tenant, &k.Name, &hash, &k.Prefix, &scopes, &created, &expires, &revoked, &used, &k.ReplacedBy, &k.Version, &settings)
	if err != nil {
		return k, err
	}
	if settings != "" {
		var a allowance
		if err := json.Unmarshal([]byte(settings), &a); err != nil {
			return k, fmt.Errorf("decoding settings of key %s: %w", k.ID, err)
		}
		k.Limits, k.Budgets = a.limits(), a.Budgets
	}
	if copy(k.Hash[:], hash) != len(k.Hash) {
		return k, fmt.Errorf("key %s has a hash of %d bytes", k.ID, len(hash))
	}
	for _, scope := range strings.Fields(scopes) {
		k.Scopes = append(k.Scopes, penstock.Scope(scope))
	}
	k.CreatedAt, k.ExpiresAt, k.RevokedAt, k.LastUsedAt = sqldb.FromMicros(created), sqldb.FromMicros(expires), sqldb.FromMicros(revoked), sqldb.FromMicros(used)
	return k, nil
}

func insertKey(ctx context.Context, tx sqldb.Tx, k store.APIKey) error {
	scopes := make([]string, len(k.Scopes))
	for i, scope := range k.Scopes {
		scopes[i] = string(scope)
	}
	settings, err := keySettings(k)
	if err != nil {
		return err
	}
	return tx.Do(ctx, `INSERT INTO api_keys (`+keyColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, 0, '', $9, $10)`,
		k.ID, k.Tenant, k.Name, k.Hash[:], k.Prefix, strings.Join(scopes, " "), sqldb.Micros(k.CreatedAt), sqldb.Micros(k.ExpiresAt), k.Version, settings)
}

// keySettings is what the settings column of a key holds.
func keySettings(k store.APIKey) (string, error) {
	if k.Limits.None() && len(k.Budgets) == 0 {
		return "", nil
	}
	text, err := json.Marshal(allow(k.Limits, k.Budgets))
	if err != nil {
		return "", fmt.Errorf("encoding settings of key %s: %w", k.ID, err)
	}
	return string(text), nil
}

// ended reports whether a key has expired or was revoked.
func ended(k store.APIKey, now time.Time) bool {
	return !k.RevokedAt.IsZero() || !k.ExpiresAt.IsZero() && !k.ExpiresAt.After(now)
}

// CreateKey implements store.Keys.
func (s *Store) CreateKey(ctx context.Context, n store.NewKey) (made store.APIKey, err error) {
	err = s.change(ctx, "key_create", n.Condition, func(tx sqldb.Tx, version int64) error {
		made = n.Key
		made.CreatedAt, made.Version = tx.Now(), version
		_, there, err := findTenant(ctx, tx, made.Tenant)
		if err == nil && !there {
			err = noTenant(made.Tenant)
		}
		if err != nil {
			return err
		}
		if err := forgetKeys(ctx, tx, made.Tenant); err != nil {
			return err
		}
		if err := checkKeys(ctx, tx, made); err != nil {
			return err
		}
		if err := insertKey(ctx, tx, made); err != nil {
			return err
		}
		return s.noteKey(ctx, tx, audit.Entry{Actor: n.Actor, Action: store.ActionCreateKey, After: keyFields(made)}, made)
	})
	return made, err
}

// forgetKeys removes keys of a tenant that ended long ago, so that endless rotation leaves few.
func forgetKeys(ctx context.Context, tx sqldb.Tx, tenant penstock.TenantID) error {
	return tx.Do(ctx, `DELETE FROM api_keys WHERE tenant_id = $1 AND (revoked_at BETWEEN 1 AND $2 OR expires_at BETWEEN 1 AND $2)`,
		tenant, sqldb.Micros(tx.Now().Add(-store.KeyMemory)))
}

// checkKeys compares a new key with the keys of its tenant.
func checkKeys(ctx context.Context, tx sqldb.Tx, k store.APIKey) error {
	now := sqldb.Micros(tx.Now())
	n, err := count(ctx, tx, sqldb.SQL(`SELECT COUNT(*) FROM api_keys WHERE tenant_id = $1 AND revoked_at = 0
		AND (expires_at = 0 OR expires_at > $2)`, k.Tenant, now))
	if err != nil {
		return err
	}
	if n >= store.MaxKeysPerTenant {
		return penstock.Errorf(penstock.CodeConflict, "Tenant %s has %d keys, the most it can have; revoke one first.", k.Tenant, n)
	}
	taken, err := count(ctx, tx, sqldb.SQL(`SELECT COUNT(*) FROM api_keys WHERE tenant_id = $1 AND name = $2 AND revoked_at = 0
		AND replaced_by = '' AND (expires_at = 0 OR expires_at > $3)`, k.Tenant, k.Name, now))
	if err == nil && taken > 0 {
		err = penstock.Errorf(penstock.CodeConflict, "Tenant %s has a key %q already; rotate that one, or choose another name.", k.Tenant, k.Name)
	}
	return err
}

// ChangeKey implements store.Keys. A key that was replaced and works on has the same name, and so the same limits.
func (s *Store) ChangeKey(ctx context.Context, c store.KeyChange) (now store.APIKey, err error) {
	err = s.change(ctx, "key_change", c.Condition, func(tx sqldb.Tx, version int64) error {
		was, err := findKey(ctx, tx, c.ID, c.Condition)
		if err != nil {
			return err
		}
		if ended(was, tx.Now()) {
			return penstock.Errorf(penstock.CodeConflict, "Key %s is not in use any more; create another one.", penstock.ViewKey.Format(was.ID))
		}
		edited := was
		if err := c.Apply(&edited); err != nil {
			return err
		}
		now = was
		now.Limits, now.Budgets, now.Version = edited.Limits, edited.Budgets, version
		settings, err := keySettings(now)
		if err != nil {
			return err
		}
		err = tx.Do(ctx, `UPDATE api_keys SET settings = $3, version = $4 WHERE tenant_id = $1 AND name = $2 AND revoked_at = 0`,
			now.Tenant, now.Name, settings, version)
		if err != nil {
			return err
		}
		return s.noteKey(ctx, tx, audit.Entry{Actor: c.Actor, Action: store.ActionChangeKey, Before: keyFields(was), After: keyFields(now)}, now)
	})
	return now, err
}

// RotateKey implements store.Keys.
func (s *Store) RotateKey(ctx context.Context, r store.KeyRotation) (made store.APIKey, err error) {
	err = s.change(ctx, "key_rotate", r.Condition, func(tx sqldb.Tx, version int64) error {
		old, err := findKey(ctx, tx, r.ID, r.Condition)
		if err != nil {
			return err
		}
		if ended(old, tx.Now()) || old.ReplacedBy != "" {
			return penstock.Errorf(penstock.CodeConflict, "Key %s is not in use any more; create another one.", penstock.ViewKey.Format(old.ID))
		}
		if err := forgetKeys(ctx, tx, old.Tenant); err != nil {
			return err
		}
		made = r.Next
		made.Tenant, made.Name, made.Scopes, made.CreatedAt, made.Version = old.Tenant, old.Name, old.Scopes, tx.Now(), version
		made.Limits, made.Budgets = old.Limits, old.Budgets
		if err := insertKey(ctx, tx, made); err != nil {
			return err
		}
		was := keyFields(old)
		old.ReplacedBy = made.ID
		if until := tx.Now().Add(r.Overlap); old.ExpiresAt.IsZero() || old.ExpiresAt.After(until) {
			old.ExpiresAt = until
		}
		err = tx.Do(ctx, `UPDATE api_keys SET replaced_by = $2, expires_at = $3, version = $4 WHERE id = $1`,
			old.ID, old.ReplacedBy, sqldb.Micros(old.ExpiresAt), version)
		if err != nil {
			return err
		}
		after := keyFields(made)
		after["replaces"], after["old_expires_at"] = penstock.ViewKey.Format(old.ID), old.ExpiresAt
		return s.noteKey(ctx, tx, audit.Entry{Actor: r.Actor, Action: store.ActionRotateKey, Before: was, After: after}, old)
	})
	return made, err
}

// RevokeKey implements store.Keys.
func (s *Store) RevokeKey(ctx context.Context, r store.KeyRevocation) (now store.APIKey, err error) {
	err = s.change(ctx, "key_revoke", r.Condition, func(tx sqldb.Tx, version int64) error {
		was, err := findKey(ctx, tx, r.ID, r.Condition)
		if now = was; err != nil || !was.RevokedAt.IsZero() {
			return err
		}
		now.RevokedAt, now.Version = tx.Now(), version
		if err := tx.Do(ctx, `UPDATE api_keys SET revoked_at = $2, version = $3 WHERE id = $1`, r.ID, sqldb.Micros(now.RevokedAt), version); err != nil {
			return err
		}
		return s.noteKey(ctx, tx, audit.Entry{Actor: r.Actor, Action: store.ActionRevokeKey, Before: keyFields(was), After: keyFields(now)}, now)
	})
	return now, err
}

func findKey(ctx context.Context, tx sqldb.Tx, id penstock.ID, c store.Condition) (store.APIKey, error) {
	k, there, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT `+keyColumns+` FROM api_keys WHERE id = $1`, id), scanKey)
	if err == nil && !there {
		err = penstock.Errorf(penstock.CodeNotFound, "There is no key %s.", penstock.ViewKey.Format(id))
	}
	if err != nil {
		return k, err
	}
	return k, checkVersion("Key "+penstock.ViewKey.Format(id), k.Version, c)
}

func (s *Store) noteKey(ctx context.Context, tx sqldb.Tx, n audit.Entry, k store.APIKey) error {
	n.Tenant, n.Subject = k.Tenant, "key/"+penstock.ViewKey.Format(k.ID)
	return s.audit.Write(ctx, tx, n)
}

// keyFields are what the audit shows of a key: neither its secret nor the hash of it.
func keyFields(k store.APIKey) map[string]any {
	fields := map[string]any{"id": penstock.ViewKey.Format(k.ID), "name": k.Name, "prefix": k.Prefix, "scopes": k.Scopes}
	for name, t := range map[string]time.Time{"expires_at": k.ExpiresAt, "revoked_at": k.RevokedAt} {
		if !t.IsZero() {
			fields[name] = t
		}
	}
	if !k.Limits.None() {
		fields["limits"] = k.Limits
	}
	if len(k.Budgets) > 0 {
		fields["budgets"] = k.Budgets
	}
	return fields
}

// ListKeys implements store.Keys.
func (s *Store) ListKeys(ctx context.Context, f store.KeyFilter) (all []store.APIKey, err error) {
	err = s.read(ctx, func(tx sqldb.Tx) error {
		all, err = sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT `+keyColumns+` FROM api_keys
			WHERE id > $1 AND ($2 = '' OR id = $2) AND ($3 = '' OR tenant_id = $3) ORDER BY id LIMIT $4`, f.After, f.ID, f.Tenant, f.Limit), scanKey)
		return err
	})
	return all, err
}

// TouchKeys implements store.Keys. All processes go through keys in the same order.
func (s *Store) TouchKeys(ctx context.Context, uses []store.KeyUse) error {
	if len(uses) == 0 {
		return nil
	}
	uses = slices.SortedFunc(slices.Values(uses), func(a, b store.KeyUse) int { return cmp.Compare(a.Key, b.Key) })
	return s.write(ctx, "key_touch", func(tx sqldb.Tx) error {
		for _, u := range uses {
			if err := tx.Do(ctx, `UPDATE api_keys SET last_used_at = $2 WHERE id = $1 AND last_used_at < $2`, u.Key, sqldb.Micros(u.At)); err != nil {
				return err
			}
		}
		return nil
	})
}

// DirectoryChanges implements store.Keys.
func (s *Store) DirectoryChanges(ctx context.Context, after store.DirectoryMark, limit int) (changes store.DirectoryChanges, err error) {
	err = s.read(ctx, func(tx sqldb.Tx) error {
		changes = store.DirectoryChanges{Mark: after}
		return tx.Ask(ctx,
			sqldb.Ask(sqldb.SQL(`SELECT `+tenantColumns+` FROM tenants WHERE (version, id) > ($1, $2) ORDER BY version, id LIMIT $3`,
				after.Tenants.Version, after.Tenants.ID, limit), func(row sqldb.Row) error {
				t, err := scanTenant(row)
				changes.Tenants = append(changes.Tenants, t)
				changes.Mark.Tenants = store.TenantMark{Version: t.Version, ID: t.ID}
				return err
			}),
			sqldb.Ask(sqldb.SQL(`SELECT `+keyColumns+` FROM api_keys WHERE (version, id) > ($1, $2) ORDER BY version, id LIMIT $3`,
				after.Keys.Version, after.Keys.ID, limit), func(row sqldb.Row) error {
				k, err := scanKey(row)
				changes.Keys = append(changes.Keys, k)
				changes.Mark.Keys = store.KeyMark{Version: k.Version, ID: k.ID}
				return err
			}))
	})
	changes.More = len(changes.Tenants) == limit || len(changes.Keys) == limit
	return changes, err
}
