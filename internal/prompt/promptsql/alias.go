package promptsql

import (
	"context"

	"penstock"
	"penstock/internal/audit"
	"penstock/internal/prompt"
	"penstock/internal/store/sqldb"
)

// aliasesOf reads the aliases of a prompt with their versions, in order.
func aliasesOf(ctx context.Context, tx sqldb.Reader, p row) (all []prompt.Alias, err error) {
	type line struct {
		alias   string
		written *string
		n       *int64
	}
	lines, err := sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT a.alias, v.written, v.n FROM prompt_aliases a LEFT JOIN prompt_alias_versions v ON v.tenant_id = a.tenant_id AND v.alias = a.alias
		WHERE a.tenant_id = $1 AND a.prompt_id = $2 ORDER BY a.alias, v.written`, p.Tenant, p.ID), func(r sqldb.Row) (l line, err error) {
		return l, r.Scan(&l.alias, &l.written, &l.n)
	})
	for _, l := range lines {
		if len(all) == 0 || all[len(all)-1].Alias != l.alias {
			all = append(all, prompt.Alias{Alias: l.alias, Versions: map[string]int64{}})
		}
		if l.written != nil && l.n != nil {
			all[len(all)-1].Versions[*l.written] = *l.n
		}
	}
	return all, err
}

// NameOf implements prompt.Heads.
func (s *Store) NameOf(ctx context.Context, tenant penstock.TenantID, id string) (name string, err error) {
	if prompt.CheckAlias(id) != nil { // no prompt can have it, and PostgreSQL refuses some bytes
		return "", prompt.NoPrompt(sqldb.Storable(id))
	}
	err = s.db.Read(ctx, func(tx sqldb.Tx) error {
		var there bool
		name, there, err = nameOf(ctx, tx, tenant, id)
		if err == nil && !there {
			err = prompt.NoPrompt(id)
		}
		return err
	})
	return name, err
}

// nameOf finds a prompt by its own id, or else by an alias.
func nameOf(ctx context.Context, tx sqldb.Reader, tenant penstock.TenantID, id string) (name string, there bool, err error) {
	if own, err := prompt.ViewPrompt.Parse(id); err == nil {
		name, there, err = sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT name FROM prompts WHERE tenant_id = $1 AND id = $2`, tenant, own), sqldb.ScanOne[string])
		if err != nil || there {
			return name, there, err
		}
	}
	return sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT p.name FROM prompt_aliases a JOIN prompts p ON p.tenant_id = a.tenant_id AND p.id = a.prompt_id
		WHERE a.tenant_id = $1 AND a.alias = $2`, tenant, id), sqldb.ScanOne[string])
}

// Aliases implements prompt.Aliases.
func (s *Store) Aliases(ctx context.Context, tenant penstock.TenantID, name string) (all []prompt.Alias, err error) {
	err = s.db.Read(ctx, func(tx sqldb.Tx) error {
		p, err := find(ctx, tx, tenant, name)
		if err == nil {
			all, err = aliasesOf(ctx, tx, p)
		}
		return err
	})
	return all, err
}

// addAlias adds an alias and its versions to a prompt. It reports whether anything changed. The prompt is locked. Codes: conflict.
func (s *Store) addAlias(ctx context.Context, tx sqldb.Tx, p row, add aliasChange) (changed bool, err error) {
	of, there, err := nameOf(ctx, tx, p.Tenant, add.Alias.Alias)
	if err != nil {
		return false, err
	}
	if there && of != p.Name {
		return false, penstock.Errorf(penstock.CodeConflict, "The id %s belongs to the prompt %s already; import it under this name.", add.Alias.Alias, of)
	}
	if own, err := prompt.ViewPrompt.Parse(add.Alias.Alias); err == nil && own == p.ID {
		return false, nil // its own id
	}
	if !there {
		n, _, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT COUNT(*) FROM prompt_aliases WHERE tenant_id = $1 AND prompt_id = $2`, p.Tenant, p.ID), sqldb.ScanOne[int64])
		if err != nil {
			return false, err
		}
		if n >= prompt.MaxAliases {
			return false, penstock.Errorf(penstock.CodeConflict, "The prompt %s has %d ids of other registries, which is the most.", p.Name, n)
		}
		made, err := tx.Exec(ctx, `INSERT INTO prompt_aliases (tenant_id, alias, prompt_id, created_by, created_at) VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT (tenant_id, alias) DO NOTHING`, p.Tenant, add.Alias.Alias, p.ID, name(add.actor), sqldb.Micros(tx.Now()))
		if err != nil {
			return false, err
		}
		if made == 0 { // another import was faster
			return false, penstock.Stale("The id " + add.Alias.Alias)
		}
		changed = true
	}
	for written, n := range add.Versions {
		put, err := tx.Exec(ctx, `INSERT INTO prompt_alias_versions (tenant_id, alias, written, n) VALUES ($1, $2, $3, $4)
			ON CONFLICT (tenant_id, alias, written) DO UPDATE SET n = excluded.n WHERE prompt_alias_versions.n <> excluded.n`, p.Tenant, add.Alias.Alias, written, n)
		if err != nil {
			return false, err
		}
		changed = changed || put > 0
	}
	if !changed {
		return false, nil
	}
	return true, s.note(ctx, tx, add.actor, audit.Entry{Tenant: p.Tenant, Action: prompt.ActionAddAlias, Subject: p.Name, After: map[string]any{"id": add.Alias.Alias}})
}

// aliasChange is an alias that somebody adds.
type aliasChange struct {
	prompt.Alias
	actor penstock.Author
}
