package promptsql

import (
	"context"

	"penstock"
	"penstock/internal/prompt/changeset"
	"penstock/internal/prompt/coedit"
	"penstock/internal/store/sqldb"
)

// Sight implements coedit.People.
func (c Coedit) Sight(ctx context.Context, tenant penstock.TenantID, at coedit.Sighting) error {
	return c.s.db.Write(ctx, "prompt_draft_presence", func(tx sqldb.Tx) error {
		tx.Relax() // a lost cursor comes again
		// The lock keeps an update from moving cursors before this one is there to be moved.
		d, err := c.changeDraft(ctx, tx, tenant, at.Prompt)
		if err != nil {
			return err
		}
		p, one := d.p, c.current(ctx, tx, d, at.Person)
		now := sqldb.Micros(tx.Now())
		if err := tx.Do(ctx, `DELETE FROM prompt_draft_people WHERE tenant_id = $1 AND prompt_id = $2 AND expires_at <= $3`, tenant, p.ID, now); err != nil {
			return err
		}
		others, _, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT COUNT(*) FROM prompt_draft_people WHERE tenant_id = $1 AND prompt_id = $2 AND client <> $3`, tenant, p.ID, one.Client), sqldb.ScanOne[int64])
		if err != nil {
			return err
		}
		if others >= coedit.MaxPeople {
			return penstock.Errorf(penstock.CodeConflict, "%d editors are connected to this draft, which is the most that are shown.", others)
		}
		return tx.Do(ctx, `INSERT INTO prompt_draft_people (tenant_id, prompt_id, client, tag, name, text_id, anchor, head, changes, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 1, $9)
			ON CONFLICT (tenant_id, prompt_id, client) DO UPDATE SET name = excluded.name, text_id = excluded.text_id, anchor = excluded.anchor, head = excluded.head,
				changes = prompt_draft_people.changes + 1, expires_at = excluded.expires_at`,
			tenant, p.ID, one.Client, one.Tag, sqldb.Storable(one.Name), one.Text, one.Anchor, one.Head, sqldb.Micros(tx.Now().Add(coedit.PresenceExpiry)))
	})
}

// current maps a cursor to the current version of its text. A cursor in a text that is gone, or of a version that is too old, is in
// no text.
func (c Coedit) current(ctx context.Context, tx sqldb.Reader, d draft, one coedit.Person) coedit.Person {
	over, err := c.missed(ctx, tx, d, coedit.TextKey{Text: one.Text, Version: one.Version})
	if err != nil || len(over) > coedit.MaxBehind {
		one.Text, one.Anchor, one.Head = "", 0, 0
		return one
	}
	for _, u := range over {
		one.Anchor, one.Head = u.Changes.Position(one.Anchor, changeset.Right), u.Changes.Position(one.Head, changeset.Right)
	}
	length := lengthOf(d, one.Text)
	one.Anchor, one.Head = min(one.Anchor, length), min(one.Head, length)
	return one
}

// lengthOf is the length of a text of a draft.
func lengthOf(d draft, id string) int {
	for i, t := range d.Content.Texts() {
		if d.shape.Texts[i].ID == id {
			return changeset.Units(*t.Value)
		}
	}
	return 0
}

// Keep implements coedit.People.
func (c Coedit) Keep(ctx context.Context, tenant penstock.TenantID, at coedit.Sighting) error {
	return c.s.db.Write(ctx, "prompt_draft_presence", func(tx sqldb.Tx) error {
		tx.Relax()
		p, err := find(ctx, tx, tenant, at.Prompt)
		if err != nil {
			return err
		}
		return tx.Do(ctx, `UPDATE prompt_draft_people SET expires_at = $4 WHERE tenant_id = $1 AND prompt_id = $2 AND client = $3`,
			tenant, p.ID, at.Client, sqldb.Micros(tx.Now().Add(coedit.PresenceExpiry)))
	})
}

// Forget implements coedit.People.
func (c Coedit) Forget(ctx context.Context, tenant penstock.TenantID, at coedit.Sighting) error {
	return c.s.db.Write(ctx, "prompt_draft_presence", func(tx sqldb.Tx) error {
		tx.Relax()
		p, err := find(ctx, tx, tenant, at.Prompt)
		if err != nil {
			return err
		}
		return tx.Do(ctx, `DELETE FROM prompt_draft_people WHERE tenant_id = $1 AND prompt_id = $2 AND client = $3`, tenant, p.ID, at.Client)
	})
}

// moveMarks moves the comments and cursors of texts that were edited.
func moveMarks(ctx context.Context, tx sqldb.Tx, p row, edits []coedit.Edit) error {
	type marked struct {
		id string
		coedit.Mark
	}
	comments, err := sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT id, text_id, from_at, to_at FROM prompt_draft_comments WHERE tenant_id = $1 AND prompt_id = $2 AND parent = ''`, p.Tenant, p.ID),
		func(r sqldb.Row) (m marked, err error) { return m, r.Scan(&m.id, &m.Text, &m.From, &m.To) })
	if err != nil {
		return err
	}
	for _, m := range comments {
		if to := m.Moved(edits); to != m.Mark {
			if err := tx.Do(ctx, `UPDATE prompt_draft_comments SET from_at = $4, to_at = $5 WHERE tenant_id = $1 AND prompt_id = $2 AND id = $3`, p.Tenant, p.ID, m.id, to.From, to.To); err != nil {
				return err
			}
		}
	}
	return moveCursors(ctx, tx, p, edits)
}

func moveCursors(ctx context.Context, tx sqldb.Tx, p row, edits []coedit.Edit) error {
	people, err := sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT client, text_id, anchor, head FROM prompt_draft_people WHERE tenant_id = $1 AND prompt_id = $2`, p.Tenant, p.ID),
		func(r sqldb.Row) (one coedit.Person, err error) {
			return one, r.Scan(&one.Client, &one.Text, &one.Anchor, &one.Head)
		})
	if err != nil {
		return err
	}
	for _, one := range people {
		anchor, head := one.Anchor, one.Head
		for _, e := range edits {
			if e.Text == one.Text {
				anchor, head = e.Changes.Position(anchor, changeset.Right), e.Changes.Position(head, changeset.Right)
			}
		}
		if anchor == one.Anchor && head == one.Head {
			continue
		}
		if err := tx.Do(ctx, `UPDATE prompt_draft_people SET anchor = $4, head = $5 WHERE tenant_id = $1 AND prompt_id = $2 AND client = $3`, p.Tenant, p.ID, one.Client, anchor, head); err != nil {
			return err
		}
	}
	return nil
}
