package promptsql

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"penstock"
	"penstock/internal/prompt/coedit"
	"penstock/internal/store/sqldb"
)

// Shared implements coedit.Store.
func (c Coedit) Shared(ctx context.Context, tenant penstock.TenantID, name string) (out coedit.Draft, err error) {
	err = c.s.db.Read(ctx, func(tx sqldb.Tx) error {
		d, err := c.findDraft(ctx, tx, tenant, name)
		if err != nil {
			return err
		}
		out, err = c.shared(ctx, tx, d)
		return err
	})
	return out, err
}

func (c Coedit) shared(ctx context.Context, tx sqldb.Reader, d draft) (out coedit.Draft, err error) {
	out = coedit.Draft{Draft: d.Draft, Shape: d.shape}
	if out.Comments, err = c.commentsOf(ctx, tx, d); err != nil {
		return out, err
	}
	out.People, _, err = peopleOf(ctx, tx, d)
	return out, err
}

// Since implements coedit.Store.
func (c Coedit) Since(ctx context.Context, tenant penstock.TenantID, name string, at coedit.Position) (out coedit.Delta, err error) {
	err = c.s.db.Read(ctx, func(tx sqldb.Tx) error {
		d, err := c.findDraft(ctx, tx, tenant, name)
		if err != nil {
			return err
		}
		out = coedit.Delta{Position: coedit.Position{Revision: d.Revision, Structure: d.shape.Structure, Comments: d.comments + 1}}
		if at.Revision < d.logTrimmed && at.Revision != d.Revision || at.Revision > d.Revision {
			out.Reset = true
			return nil
		}
		if at.Revision < d.Revision {
			if err := c.updatesSince(ctx, tx, d, follower{at, &out}); err != nil || out.More {
				return err
			}
		}
		if at.Structure != d.shape.Structure && (at.Structure > 0 || d.shape.Structure > at.Revision) {
			out.Shape = &d.shape
		}
		return c.othersSince(ctx, tx, d, follower{at, &out})
	})
	return out, err
}

// maxDelta is how many updates a reader gets at once.
const maxDelta = 500

// follower is how far a reader is, and what it lacks.
type follower struct {
	at  coedit.Position
	out *coedit.Delta
}

// updatesSince reads the updates that a reader lacks. If there are more, the position is that of the last, and otherwise as before.
func (c Coedit) updatesSince(ctx context.Context, tx sqldb.Reader, d draft, f follower) error {
	p, out := d.p, f.out
	found, err := sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT `+updateColumns+` FROM prompt_draft_updates WHERE tenant_id = $1 AND prompt_id = $2 AND revision > $3
		ORDER BY revision LIMIT $4`, p.Tenant, p.ID, f.at.Revision, maxDelta+1), c.scanUpdate(p))
	if err != nil {
		return err
	}
	if out.More = len(found) > maxDelta; out.More {
		found = found[:maxDelta]
		out.Position = f.at
		out.Position.Revision = found[maxDelta-1].Revision
	}
	out.Updates = nil
	for _, u := range found {
		out.Updates = append(out.Updates, u.Update)
	}
	return nil
}

// othersSince reads comments and people, if they changed.
func (c Coedit) othersSince(ctx context.Context, tx sqldb.Reader, d draft, f follower) error {
	at, out := f.at, f.out
	if at.Comments != out.Position.Comments {
		comments, err := c.commentsOf(ctx, tx, d)
		if err != nil {
			return err
		}
		out.Comments = &comments
	}
	people, state, err := peopleOf(ctx, tx, d)
	if err != nil {
		return err
	}
	if out.Position.People = state; at.People != state {
		out.People = &people
	}
	return nil
}

// peopleOf reads the people of a draft, with a text that changes when one of them comes, leaves or moves the cursor.
func peopleOf(ctx context.Context, tx sqldb.Reader, d draft) (people []coedit.Person, state string, err error) {
	p := d.p
	var states []string
	people, err = sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT client, tag, name, text_id, anchor, head, changes FROM prompt_draft_people
		WHERE tenant_id = $1 AND prompt_id = $2 AND expires_at > $3 ORDER BY client`, p.Tenant, p.ID, sqldb.Micros(tx.Now())), func(r sqldb.Row) (one coedit.Person, err error) {
		var changes int64
		err = r.Scan(&one.Client, &one.Tag, &one.Name, &one.Text, &one.Anchor, &one.Head, &changes)
		one.Version = d.version(one.Text)
		states = append(states, fmt.Sprintf("%s/%d", one.Client, changes))
		return one, err
	})
	return people, "." + strings.Join(states, ","), err
}

// Updates implements coedit.Log.
func (c Coedit) Updates(ctx context.Context, tenant penstock.TenantID, page coedit.LogPage) (out []coedit.Update, err error) {
	before := page.Before
	if before == 0 {
		before = math.MaxInt64
	}
	err = c.s.db.Read(ctx, func(tx sqldb.Tx) error {
		d, err := c.findDraft(ctx, tx, tenant, page.Name)
		if err != nil {
			return err
		}
		found, err := sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT `+updateColumns+` FROM prompt_draft_updates WHERE tenant_id = $1 AND prompt_id = $2 AND revision < $3
			AND ($4 = '' OR text_id = $4) ORDER BY revision DESC LIMIT $5`, tenant, d.p.ID, before, sqldb.Storable(page.Text), page.Limit), c.scanUpdate(d.p))
		out = nil
		for _, u := range found {
			out = append(out, u.Update)
		}
		return err
	})
	return out, err
}

// TextAt implements coedit.Log. It undoes the updates behind the version, newest first.
func (c Coedit) TextAt(ctx context.Context, tenant penstock.TenantID, k coedit.TextKey) (text string, err error) {
	err = c.s.db.Read(ctx, func(tx sqldb.Tx) error {
		d, err := c.findDraft(ctx, tx, tenant, k.Name)
		if err != nil {
			return err
		}
		head, err := d.shape.Version(k.Text)
		if err != nil {
			return err
		}
		if k.Version > head {
			return penstock.Errorf(penstock.CodeNotFound, "The text has version %d; version %d does not exist yet.", head, k.Version)
		}
		i := slices.IndexFunc(d.shape.Texts, func(t coedit.Text) bool { return t.ID == k.Text })
		text = *d.Content.Texts()[i].Value
		undo, err := sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT `+updateColumns+` FROM prompt_draft_updates WHERE tenant_id = $1 AND prompt_id = $2 AND text_id = $3 AND version > $4
			ORDER BY version DESC`, tenant, d.p.ID, k.Text, k.Version), c.scanUpdate(d.p))
		if err != nil {
			return err
		}
		if int64(len(undo)) != head-k.Version {
			return logGone(k.Version)
		}
		for _, u := range undo {
			if text, err = u.inverse.Apply(text); err != nil {
				return fmt.Errorf("undoing version %d of a text: %w", u.Version, err)
			}
		}
		return nil
	})
	return text, err
}
