package promptsql

import (
	"context"
	"fmt"

	"penstock"
	"penstock/internal/audit"
	"penstock/internal/prompt"
	"penstock/internal/store/promptrow"
	"penstock/internal/store/sqldb"
)

// usesOf reads what names a version; with n 0, any version of the prompt.
func usesOf(ctx context.Context, tx sqldb.Reader, p row, n int64) (u prompt.Uses, err error) {
	labels, err := labelsOf(ctx, tx, p)
	if err != nil {
		return u, err
	}
	for _, l := range labels {
		if n == 0 || l.Version == n {
			u.Labels = append(u.Labels, l)
		}
	}
	u.Dependants, err = sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT f.name, r.n, r.to_n FROM prompt_references r JOIN prompts f ON f.id = r.prompt_id
		WHERE r.tenant_id = $1 AND r.to_prompt = $2 AND (r.to_n = $3 OR $3 = 0) ORDER BY f.name, r.n DESC, r.written LIMIT $4`,
		p.Tenant, p.ID, n, prompt.MaxListedUses+1), func(r sqldb.Row) (d prompt.Dependant, err error) {
		return d, r.Scan(&d.Name, &d.Version, &d.Of)
	})
	if len(u.Dependants) > prompt.MaxListedUses {
		u.Dependants, u.More = u.Dependants[:prompt.MaxListedUses], true
	}
	if err != nil {
		return u, err
	}
	counts, err := promptrow.Count(ctx, tx, promptrow.Version{Tenant: p.Tenant, Name: p.Name, N: n, Most: prompt.MaxCountedUses})
	u.OpenJobs, u.Jobs, u.Requests = counts.OpenJobs, counts.Jobs, counts.Requests
	return u, err
}

// Uses implements prompt.Versions.
func (s *Store) Uses(ctx context.Context, tenant penstock.TenantID, k prompt.VersionKey) (u prompt.Uses, err error) {
	err = s.db.Read(ctx, func(tx sqldb.Tx) error {
		p, err := find(ctx, tx, tenant, k.Name)
		if err != nil {
			return err
		}
		if k.N > 0 {
			if _, err := findVersion(ctx, tx, p, k.N); err != nil {
				return err
			}
		}
		u, err = usesOf(ctx, tx, p, k.N)
		return err
	})
	return u, err
}

// DeleteVersion implements prompt.Versions.
func (s *Store) DeleteVersion(ctx context.Context, tenant penstock.TenantID, d prompt.VersionRemoval) error {
	return s.db.Write(ctx, "prompt_version_delete", func(tx sqldb.Tx) error {
		p, err := lock(ctx, tx, tenant, d.Name)
		if err != nil {
			return err
		}
		v, err := versionBy(ctx, tx, p, versionQuery{d.N, alone})
		if err != nil {
			return err
		}
		u, err := usesOf(ctx, tx, p, d.N)
		if err != nil {
			return err
		}
		if err := unused(d.VersionKey, u); err != nil {
			return err
		}
		if err := removeVersion(ctx, tx, p, d.N); err != nil {
			return err
		}
		return s.note(ctx, tx, d.Actor, audit.Entry{Tenant: tenant, Action: prompt.ActionDeleteVersion, Subject: d.Name, Before: map[string]any{"version": d.N, "sha256": v.SHA256}})
	})
}

// unused refuses to delete a version that is named. Codes: conflict.
func unused(k prompt.VersionKey, u prompt.Uses) error {
	switch {
	case len(u.Labels) > 0:
		return penstock.Errorf(penstock.CodeConflict, "Version %d of the prompt %s has the label %s; move the label first.", k.N, k.Name, u.Labels[0].Label)
	case len(u.Dependants) > 0:
		return penstock.Errorf(penstock.CodeConflict, "Version %d of the prompt %s is included by version %d of %s; delete that version first.",
			k.N, k.Name, u.Dependants[0].Version, u.Dependants[0].Name)
	case u.OpenJobs > 0:
		return penstock.Errorf(penstock.CodeConflict, "Version %d of the prompt %s is used by unfinished work (%s); wait until it ends, or cancel it.",
			k.N, k.Name, atLeast(u.OpenJobs))
	}
	return nil
}

// atLeast is a number of jobs that were counted up to a bound.
func atLeast(jobs int64) string {
	switch {
	case jobs >= prompt.MaxCountedUses:
		return fmt.Sprintf("at least %d jobs", jobs)
	case jobs == 1:
		return "1 job"
	}
	return fmt.Sprintf("%d jobs", jobs)
}

// removeVersion removes the content of a version and what it refers to.
func removeVersion(ctx context.Context, tx sqldb.Tx, p row, n int64) error {
	bytes, _, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT bytes FROM prompt_versions WHERE tenant_id = $1 AND prompt_id = $2 AND n = $3`, p.Tenant, p.ID, n), sqldb.ScanOne[int64])
	if err != nil {
		return err
	}
	removed, err := tx.Exec(ctx, `UPDATE prompt_versions SET content = $4, bytes = 0, deleted_at = $5 WHERE tenant_id = $1 AND prompt_id = $2 AND n = $3`,
		p.Tenant, p.ID, n, []byte{}, sqldb.Micros(tx.Now()))
	if err == nil && removed != 1 {
		err = fmt.Errorf("deleting version %d of prompt %s: %d rows", n, p.ID, removed)
	}
	if err != nil {
		return err
	}
	if err := tx.Do(ctx, `DELETE FROM prompt_references WHERE tenant_id = $1 AND prompt_id = $2 AND n = $3`, p.Tenant, p.ID, n); err != nil {
		return err
	}
	err = tx.Do(ctx, `UPDATE prompts SET versions = versions - 1, deleted = deleted + 1, changes = changes + 1,
		latest = (SELECT COALESCE(MAX(v.n), 0) FROM prompt_versions v WHERE v.tenant_id = $1 AND v.prompt_id = $3 AND v.deleted_at = 0)
		WHERE tenant_id = $1 AND name = $2`, p.Tenant, p.Name, p.ID)
	if err != nil {
		return err
	}
	return grow(ctx, tx, p, growth{bytes: -bytes})
}
