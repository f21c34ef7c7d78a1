package promptsql

import (
	"context"

	"penstock"
	"penstock/internal/prompt"
	"penstock/internal/store/sqldb"
)

// Draft implements prompt.Drafts.
func (s *Store) Draft(ctx context.Context, tenant penstock.TenantID, name string) (d prompt.Draft, err error) {
	var text []byte
	err = s.db.Read(ctx, func(tx sqldb.Tx) error {
		p, err := find(ctx, tx, tenant, name)
		if err != nil {
			return err
		}
		if p.Draft == 0 {
			return noDraft(name)
		}
		_, _, err = sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT revision, base_version, content, updated_by, updated_at FROM prompt_drafts WHERE tenant_id = $1 AND prompt_id = $2`,
			tenant, p.ID), func(r sqldb.Row) (int, error) {
			var updated int64
			err := r.Scan(&d.Revision, &d.Base, &text, &d.UpdatedBy, &updated)
			d.UpdatedAt = sqldb.FromMicros(updated)
			return 0, err
		})
		return err
	})
	if err != nil {
		return d, err
	}
	d.Content, err = s.open(owner(tenant, name, partDraft), text)
	return d, sqldb.PublicError(err)
}

func noDraft(name string) error {
	return penstock.Errorf(penstock.CodeNotFound, "The prompt %s has no draft.", name)
}

// matches refuses a draft that is not in the state that its caller knows. Codes: conflict.
func (p row) matches(ifRevision int64) error {
	if ifRevision != 0 && ifRevision != p.Draft {
		return penstock.Stale("The draft")
	}
	return nil
}

// PutDraft implements prompt.Drafts.
func (s *Store) PutDraft(ctx context.Context, tenant penstock.TenantID, n prompt.NewDraft) (d prompt.Draft, err error) {
	kept, err := s.seal(owner(tenant, n.Name, partDraft), n.Content)
	if err != nil {
		return d, err
	}
	err = s.db.Write(ctx, "prompt_draft_put", func(tx sqldb.Tx) error {
		p, err := s.create(ctx, tx, tenant, creation{n.ID, n.Name, n.Content.Kind, n.Actor})
		if err != nil {
			return err
		}
		if err := p.matches(n.IfRevision); err != nil {
			return err
		}
		if n.IfAbsent && p.Draft != 0 {
			return penstock.Errorf(penstock.CodeConflict, "The prompt %s has a draft already; read it, then change it with If-Match.", n.Name)
		}
		was, _, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT bytes FROM prompt_drafts WHERE tenant_id = $1 AND prompt_id = $2`, tenant, p.ID), sqldb.ScanOne[int64])
		if err != nil {
			return err
		}
		d = prompt.Draft{Revision: p.drafts + 1, Base: n.Base, Content: n.Content, UpdatedBy: name(n.Actor), UpdatedAt: tx.Now()}
		err = tx.Do(ctx, `INSERT INTO prompt_drafts (tenant_id, prompt_id, revision, base_version, content, bytes, updated_by, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
			ON CONFLICT (tenant_id, prompt_id) DO UPDATE SET revision = excluded.revision, base_version = excluded.base_version, content = excluded.content,
				bytes = excluded.bytes, updated_by = excluded.updated_by, updated_at = excluded.updated_at`,
			tenant, p.ID, d.Revision, d.Base, kept.text, kept.bytes, d.UpdatedBy, sqldb.Micros(d.UpdatedAt))
		if err != nil {
			return err
		}
		if err := tx.Do(ctx, `UPDATE prompts SET drafts = $3 WHERE tenant_id = $1 AND name = $2`, tenant, n.Name, d.Revision); err != nil {
			return err
		}
		return grow(ctx, tx, p, growth{n.Stored, kept.bytes - was})
	})
	return d, err
}

// DeleteDraft implements prompt.Drafts.
func (s *Store) DeleteDraft(ctx context.Context, tenant penstock.TenantID, r prompt.DraftRemoval) error {
	return s.db.Write(ctx, "prompt_draft_delete", func(tx sqldb.Tx) error {
		p, err := lock(ctx, tx, tenant, r.Name)
		if err != nil {
			return err
		}
		if p.Draft == 0 {
			return noDraft(r.Name)
		}
		if err := p.matches(r.IfRevision); err != nil {
			return err
		}
		was, _, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT bytes FROM prompt_drafts WHERE tenant_id = $1 AND prompt_id = $2`, tenant, p.ID), sqldb.ScanOne[int64])
		if err != nil {
			return err
		}
		if err := tx.Do(ctx, `DELETE FROM prompt_drafts WHERE tenant_id = $1 AND prompt_id = $2`, tenant, p.ID); err != nil {
			return err
		}
		return grow(ctx, tx, p, growth{bytes: -was})
	})
}
