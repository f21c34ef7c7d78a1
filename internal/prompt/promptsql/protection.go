package promptsql

import (
	"context"
	"encoding/json"
	"fmt"

	"penstock"
	"penstock/internal/audit"
	"penstock/internal/prompt"
	"penstock/internal/store/sqldb"
)

const protectionColumns = `label, prompts, roles, approval, revision, updated_by, updated_at`

func scanProtection(r sqldb.Row) (p prompt.Protection, err error) {
	var prompts, roles string
	var approval, at int64
	if err := r.Scan(&p.Label, &prompts, &roles, &approval, &p.Revision, &p.By, &at); err != nil {
		return p, err
	}
	p.Approval, p.At = approval == 1, sqldb.FromMicros(at)
	if err := json.Unmarshal([]byte(prompts), &p.Prompts); err != nil {
		return p, fmt.Errorf("reading the prompts of a protection: %w", err)
	}
	if err := json.Unmarshal([]byte(roles), &p.Roles); err != nil {
		return p, fmt.Errorf("reading the roles of a protection: %w", err)
	}
	return p, nil
}

// Protections implements prompt.Protections.
func (s *Store) Protections(ctx context.Context, tenant penstock.TenantID) (all []prompt.Protection, err error) {
	err = s.db.Read(ctx, func(tx sqldb.Tx) error {
		all, err = sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT `+protectionColumns+` FROM prompt_protections WHERE tenant_id = $1 ORDER BY label`, tenant), scanProtection)
		return err
	})
	return all, err
}

func lockProtection(ctx context.Context, tx sqldb.Reader, tenant penstock.TenantID, label string) (prompt.Protection, bool, error) {
	return sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT `+protectionColumns+` FROM prompt_protections WHERE tenant_id = $1 AND label = $2 /*pg FOR UPDATE */`,
		tenant, sqldb.Storable(label)), scanProtection)
}

// protected is a label with the state of its protection that somebody asked.
type protected struct {
	label string
	asked prompt.Stamp
}

// sameProtection refuses a change that another state of the label's protection allowed. The state stays until the change is committed.
// Codes: conflict.
func sameProtection(ctx context.Context, tx sqldb.Reader, tenant penstock.TenantID, l protected) error {
	now, _, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT `+protectionColumns+` FROM prompt_protections WHERE tenant_id = $1 AND label = $2 /*pg FOR SHARE */`,
		tenant, sqldb.Storable(l.label)), scanProtection)
	if err != nil {
		return err
	}
	if s := now.Stamp(); s.Revision != l.asked.Revision || !s.At.Equal(l.asked.At) {
		return penstock.Stale("The protection of the label")
	}
	return nil
}

// SetProtection implements prompt.Protections.
func (s *Store) SetProtection(ctx context.Context, tenant penstock.TenantID, c prompt.ProtectionChange) (p prompt.Protection, err error) {
	prompts, err := json.Marshal(append([]string{}, c.Prompts...))
	if err != nil {
		return p, sqldb.PublicError(err)
	}
	roles, err := json.Marshal(c.Roles)
	if err != nil {
		return p, sqldb.PublicError(err)
	}
	err = s.db.Write(ctx, "prompt_protection_set", func(tx sqldb.Tx) error {
		was, there, err := lockProtection(ctx, tx, tenant, c.Label)
		if err != nil {
			return err
		}
		if c.If.Revision != 0 && c.If.Revision != was.Revision || c.If.Absent && there {
			return penstock.Stale("The protection")
		}
		if err := protectionCount(ctx, tx, tenant, was); err != nil {
			return err
		}
		p = c.Protection
		p.Revision, p.By, p.At = was.Revision+1, name(c.Actor), tx.Now()
		n, err := tx.Exec(ctx, `INSERT INTO prompt_protections (tenant_id, label, prompts, roles, approval, revision, updated_by, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
			ON CONFLICT (tenant_id, label) DO UPDATE SET prompts = excluded.prompts, roles = excluded.roles, approval = excluded.approval, revision = excluded.revision,
				updated_by = excluded.updated_by, updated_at = excluded.updated_at WHERE prompt_protections.revision = excluded.revision - 1`,
			tenant, c.Label, string(prompts), string(roles), number(c.Approval), p.Revision, p.By, sqldb.Micros(p.At))
		if err != nil {
			return err
		}
		if n == 0 { // another creator was faster
			return penstock.Stale("The protection")
		}
		return s.note(ctx, tx, c.Actor, audit.Entry{Tenant: tenant, Action: prompt.ActionSetProtection, Subject: c.Label, Before: fields(was), After: fields(p)})
	})
	return p, err
}

// protectionCount bounds the protections of a tenant. Codes: conflict.
func protectionCount(ctx context.Context, tx sqldb.Reader, tenant penstock.TenantID, was prompt.Protection) error {
	if was.Revision > 0 {
		return nil
	}
	n, _, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT COUNT(*) FROM prompt_protections WHERE tenant_id = $1`, tenant), sqldb.ScanOne[int64])
	if err == nil && n >= prompt.MaxProtections {
		err = penstock.Errorf(penstock.CodeConflict, "There are %d protections already, which is the most; remove one first.", n)
	}
	return err
}

// fields are what the audit shows of a protection, nil for none.
func fields(p prompt.Protection) map[string]any {
	if p.Revision == 0 {
		return nil
	}
	return map[string]any{"prompts": p.Prompts, "roles": p.Roles, "approval": p.Approval}
}

// number is a truth value as its column has it.
func number[B ~bool](b B) int64 {
	if b {
		return 1
	}
	return 0
}

// RemoveProtection implements prompt.Protections.
func (s *Store) RemoveProtection(ctx context.Context, tenant penstock.TenantID, c prompt.ProtectionChange) error {
	return s.db.Write(ctx, "prompt_protection_remove", func(tx sqldb.Tx) error {
		was, there, err := lockProtection(ctx, tx, tenant, c.Label)
		if err != nil {
			return err
		}
		if !there {
			return penstock.Errorf(penstock.CodeNotFound, "The label %s has no protection.", sqldb.Storable(c.Label))
		}
		if c.If.Revision != 0 && c.If.Revision != was.Revision {
			return penstock.Stale("The protection")
		}
		if err := tx.Do(ctx, `DELETE FROM prompt_protections WHERE tenant_id = $1 AND label = $2`, tenant, c.Label); err != nil {
			return err
		}
		return s.note(ctx, tx, c.Actor, audit.Entry{Tenant: tenant, Action: prompt.ActionRemoveProtection, Subject: c.Label, Before: fields(was)})
	})
}
