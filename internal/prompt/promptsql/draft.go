package promptsql

import (
	"context"

	"penstock"
	"penstock/internal/prompt"
	"penstock/internal/prompt/coedit"
	"penstock/internal/store/sqldb"
)

// Draft implements prompt.Drafts.
func (s *Store) Draft(ctx context.Context, tenant penstock.TenantID, name string) (d prompt.Draft, err error) {
	err = s.db.Read(ctx, func(tx sqldb.Tx) error {
		found, err := s.Coedit().findDraft(ctx, tx, tenant, name)
		d = found.Draft
		return err
	})
	return d, err
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

// PutDraft implements prompt.Drafts. People who edit the draft see the differences as edits.
func (s *Store) PutDraft(ctx context.Context, tenant penstock.TenantID, n prompt.NewDraft) (out prompt.Draft, err error) {
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
		d, edits, err := s.Coedit().replaced(ctx, tx, p, n)
		if err != nil {
			return err
		}
		d.Base, d.Content, d.UpdatedBy, d.UpdatedAt = n.Base, n.Content, name(n.Actor), tx.Now()
		if err := s.Coedit().appendLog(ctx, tx, &d, logged{edits, n.Actor}); err != nil {
			return err
		}
		d.Revision = max(d.Revision, p.drafts+1)
		if err := s.Coedit().saveDraft(ctx, tx, &d, n.Stored); err != nil {
			return err
		}
		out = d.Draft
		return nil
	})
	return out, err
}

// replaced is the draft of a prompt with the names of the texts of a new content, and the edits that lead there. The draft may be
// new.
func (c Coedit) replaced(ctx context.Context, tx sqldb.Tx, p row, n prompt.NewDraft) (d draft, edits []coedit.Edit, err error) {
	revision := p.drafts + 1
	if p.Draft == 0 {
		d = draft{p: p, shape: coedit.NewShape(n.Content, revision), logTrimmed: revision}
		d.Revision = p.drafts
		return d, nil, clearDraft(ctx, tx, p)
	}
	if d, err = c.draftOf(ctx, tx, p); err != nil {
		return d, nil, err
	}
	shape, edits, err := d.shape.Follow(d.Content, n.Content, revision)
	if err == nil && d.Base != n.Base {
		shape.Structure = revision
	}
	d.shape, d.Revision = shape, p.drafts
	return d, edits, err
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
		if err := clearDraft(ctx, tx, p); err != nil {
			return err
		}
		if err := tx.Do(ctx, `DELETE FROM prompt_drafts WHERE tenant_id = $1 AND prompt_id = $2`, tenant, p.ID); err != nil {
			return err
		}
		return grow(ctx, tx, p, growth{bytes: -was})
	})
}
