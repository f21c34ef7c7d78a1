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
		p, err := s.create(ctx, tx, tenant, creation{n.ID, n.Name, n.Kind, n.Actor})
		if err != nil {
			return err
		}
		im := &importing{Store: s, NewImport: n, p: p, out: prompt.Imported{New: p.ID == n.ID}}
		if err := im.run(ctx, tx, kept); err != nil {
			return err
		}
		out = im.out
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

// importing is an import in its transaction.
type importing struct {
	*Store
	prompt.NewImport
	p   row // locked; its counters follow the changes
	out prompt.Imported
}

func (im *importing) run(ctx context.Context, tx sqldb.Tx, kept []sealed) error {
	if im.Base != nil && *im.Base != im.p.Latest {
		return moved(im.p, *im.Base)
	}
	for i, v := range im.Versions {
		if err := im.version(ctx, tx, sealedVersion{v, kept[i]}); err != nil {
			return err
		}
	}
	if err := im.labels(ctx, tx); err != nil {
		return err
	}
	return im.aliases(ctx, tx)
}

// version adds a version, unless one with its content exists.
func (im *importing) version(ctx context.Context, tx sqldb.Tx, v sealedVersion) error {
	p := im.p
	found, there, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT `+versionColumns+` FROM prompt_versions
		WHERE tenant_id = $1 AND prompt_id = $2 AND sha256 = $3 AND deleted_at = 0`, p.Tenant, p.ID, v.SHA256), scanVersion(p))
	if err != nil {
		return err
	}
	if there {
		im.out.Versions = append(im.out.Versions, prompt.ImportedVersion{N: found.N})
		return nil
	}
	if im.Trial {
		v.References = nil // what they name may be a part of the same trial
	}
	saved, err := im.addVersion(ctx, tx, p, v)
	if err != nil {
		return err
	}
	im.p.lastVersion, im.p.Latest = saved.N, saved.N
	im.out.Versions = append(im.out.Versions, prompt.ImportedVersion{N: saved.N, Created: true})
	return nil
}

// labels sets the labels of an import. A label that names another version stays, unless the import moves labels.
func (im *importing) labels(ctx context.Context, tx sqldb.Tx) error {
	for _, l := range im.Labels {
		was, there, err := labelOf(ctx, tx, im.p, l.Label)
		if err != nil {
			return err
		}
		to := im.out.Versions[l.Index].N
		switch {
		case there && was.Version == to:
			continue
		case there && im.Existing != prompt.MoveLabels:
			im.out.Kept = append(im.out.Kept, was)
			continue
		}
		set, err := im.move(ctx, tx, im.p, step{LabelMove: prompt.LabelMove{Name: im.p.Name, Label: l.Label, Version: to, Reason: im.Reason, Actor: im.Actor}, was: was})
		if err != nil {
			return err
		}
		im.p.moves = set.Revision
		im.out.Moved = append(im.out.Moved, set)
	}
	return nil
}

// aliases adds the aliases of an import. The change of the prompt makes every process read them.
func (im *importing) aliases(ctx context.Context, tx sqldb.Tx) error {
	for _, a := range im.NewImport.Aliases {
		add := aliasChange{prompt.Alias{Alias: a.Alias, Versions: map[string]int64{}}, im.Actor}
		for written, index := range a.Versions {
			add.Versions[written] = im.out.Versions[index].N
		}
		changed, err := im.addAlias(ctx, tx, im.p, add)
		if err != nil {
			return err
		}
		if changed {
			im.out.Aliases = append(im.out.Aliases, a.Alias)
		}
	}
	if len(im.out.Aliases) == 0 {
		return nil
	}
	return tx.Do(ctx, `UPDATE prompts SET changes = changes + 1 WHERE tenant_id = $1 AND name = $2`, im.p.Tenant, im.p.Name)
}
