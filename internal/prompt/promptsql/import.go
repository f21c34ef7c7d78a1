package promptsql

import (
	"context"
	"errors"

	"penstock"
	"penstock/internal/prompt"
	"penstock/internal/store/sqldb"
)

// errTrial rolls the transaction of a trial back.
var errTrial = errors.New("the import is a trial")

// Import implements prompt.Imports.
func (s *Store) Import(ctx context.Context, tenant penstock.TenantID, n prompt.NewImport) (out prompt.Imported, err error) {
	kept := make([]sealed, len(n.Versions))
	for i, v := range n.Versions {
		if kept[i], err = s.seal(owner(tenant, n.Name, v.SHA256), v.Content); err != nil {
			return out, err
		}
	}
	err = s.db.Write(ctx, "prompt_import", func(tx sqldb.Tx) error {
		out = prompt.Imported{}
		p, err := s.create(ctx, tx, tenant, creation{n.ID, n.Name, n.Kind, n.Actor})
		if err != nil {
			return err
		}
		if n.Base != nil && *n.Base != p.Latest {
			return moved(p, *n.Base)
		}
		out.New = p.ID == n.ID
		for i, v := range n.Versions {
			if err := s.importVersion(ctx, tx, &p, importedVersion{n, sealedVersion{v, kept[i]}}, &out); err != nil {
				return err
			}
		}
		if err := s.importLabels(ctx, tx, &p, n, &out); err != nil {
			return err
		}
		if err := s.importAliases(ctx, tx, p, n, &out); err != nil {
			return err
		}
		if n.Trial {
			return errTrial
		}
		return nil
	})
	if n.Trial && errors.Is(err, errTrial) {
		err = nil
	}
	return out, err
}

// moved is the error for a prompt whose newest version is not the one that its importer knows.
func moved(p row, base int64) error {
	e := penstock.Errorf(penstock.CodeConflict, "The newest version of the prompt %s is %d, not %d: somebody saved meanwhile. Read it, then import again.", p.Name, p.Latest, base)
	e.Param, e.Err = "base", penstock.ErrStale
	return e
}

// importedVersion is a version of an import.
type importedVersion struct {
	of prompt.NewImport
	sealedVersion
}

// importVersion adds a version, unless one with its content exists. It keeps the counters of p right.
func (s *Store) importVersion(ctx context.Context, tx sqldb.Tx, p *row, v importedVersion, out *prompt.Imported) error {
	found, there, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT `+versionColumns+` FROM prompt_versions
		WHERE tenant_id = $1 AND prompt_id = $2 AND sha256 = $3 AND deleted_at = 0`, p.Tenant, p.ID, v.SHA256), scanVersion(*p))
	if err != nil {
		return err
	}
	if there {
		out.Versions = append(out.Versions, prompt.ImportedVersion{N: found.N})
		return nil
	}
	if v.of.Trial {
		v.References = nil // what they name may be a part of the same trial
	}
	saved, err := s.addVersion(ctx, tx, *p, v.sealedVersion)
	if err != nil {
		return err
	}
	p.lastVersion, p.Latest = saved.N, saved.N
	out.Versions = append(out.Versions, prompt.ImportedVersion{N: saved.N, Created: true})
	return nil
}

// importLabels sets the labels of an import. A label that names another version stays, unless the import moves labels.
func (s *Store) importLabels(ctx context.Context, tx sqldb.Tx, p *row, n prompt.NewImport, out *prompt.Imported) error {
	for _, l := range n.Labels {
		was, there, err := labelOf(ctx, tx, *p, l.Label)
		if err != nil {
			return err
		}
		to := out.Versions[l.Index].N
		switch {
		case there && was.Version == to:
			continue
		case there && n.Existing != prompt.MoveLabels:
			out.Kept = append(out.Kept, was)
			continue
		}
		set, err := s.move(ctx, tx, *p, step{LabelMove: prompt.LabelMove{Name: p.Name, Label: l.Label, Version: to, Reason: n.Reason, Actor: n.Actor}, was: was})
		if err != nil {
			return err
		}
		p.moves = set.Revision
		out.Moved = append(out.Moved, set)
	}
	return nil
}

// importAliases adds the aliases of an import. The change of the prompt makes every process read them.
func (s *Store) importAliases(ctx context.Context, tx sqldb.Tx, p row, n prompt.NewImport, out *prompt.Imported) error {
	for _, a := range n.Aliases {
		add := aliasChange{prompt.Alias{Alias: a.Alias, Versions: map[string]int64{}}, n.Actor}
		for written, index := range a.Versions {
			add.Versions[written] = out.Versions[index].N
		}
		changed, err := s.addAlias(ctx, tx, p, add)
		if err != nil {
			return err
		}
		if changed {
			out.Aliases = append(out.Aliases, a.Alias)
		}
	}
	if len(out.Aliases) == 0 {
		return nil
	}
	return tx.Do(ctx, `UPDATE prompts SET changes = changes + 1 WHERE tenant_id = $1 AND name = $2`, p.Tenant, p.Name)
}
