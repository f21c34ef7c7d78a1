package promptsql

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"penstock"
	"penstock/internal/payload"
	"penstock/internal/prompt/changeset"
	"penstock/internal/prompt/coedit"
	"penstock/internal/store/sqldb"
)

// Coedit is the storage of drafts that several people edit. It writes drafts as Store does.
type Coedit struct{ s *Store }

var (
	_ coedit.Store    = Coedit{}
	_ coedit.Log      = Coedit{}
	_ coedit.Comments = Coedit{}
	_ coedit.People   = Coedit{}
)

// Coedit is the part of the store for drafts that several people edit.
func (s *Store) Coedit() Coedit { return Coedit{s} }

// logged are edits with their author.
type logged struct {
	edits  []coedit.Edit
	author penstock.Author
}

// entry is the sealed part of an update in the log.
type entry struct {
	Changes changeset.Set `json:"changes"`
	Inverse changeset.Set `json:"inverse"`
}

func ownerOfUpdate(p row, revision int64) payload.Owner {
	return owner(p.Tenant, p.Name, "update/"+strconv.FormatInt(revision, 10))
}

// appendLog adds edits to the log of a draft, moves comments and cursors, and removes the oldest updates that are too many. It
// changes the revision and the counters of the draft, which the caller saves.
func (c Coedit) appendLog(ctx context.Context, tx sqldb.Tx, d *draft, l logged) error {
	p := d.p
	for _, e := range l.edits {
		plain, err := json.Marshal(entry{e.Changes, e.Inverse})
		if err != nil {
			return err
		}
		d.Revision++
		sealed, err := c.s.codec.Seal(ownerOfUpdate(p, d.Revision), plain)
		if err != nil {
			return err
		}
		d.logUpdates++
		d.logBytes += int64(len(plain))
		err = tx.Do(ctx, `INSERT INTO prompt_draft_updates (tenant_id, prompt_id, revision, text_id, version, client, author_id, author, changes, bytes, created_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`, p.Tenant, p.ID, d.Revision, e.Text, e.Version, e.Client,
			sqldb.Storable(l.author.ID), name(l.author), sealed, int64(len(plain)), sqldb.Micros(tx.Now()))
		if err != nil {
			return err
		}
	}
	if len(l.edits) == 0 {
		return nil
	}
	if err := moveMarks(ctx, tx, p, l.edits); err != nil {
		return err
	}
	return trimLog(ctx, tx, d)
}

// trimLog removes the oldest quarter of a log that is too long.
func trimLog(ctx context.Context, tx sqldb.Tx, d *draft) error {
	p := d.p
	for d.logUpdates > 1 && (d.logUpdates > coedit.MaxLogUpdates || d.logBytes > coedit.MaxLogBytes) {
		type size struct{ revision, bytes int64 }
		oldest, err := sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT revision, bytes FROM prompt_draft_updates WHERE tenant_id = $1 AND prompt_id = $2 ORDER BY revision LIMIT $3`,
			p.Tenant, p.ID, max(1, d.logUpdates/4)), func(r sqldb.Row) (out size, err error) { return out, r.Scan(&out.revision, &out.bytes) })
		if err != nil {
			return err
		}
		if len(oldest) == 0 {
			return fmt.Errorf("the log of the draft of prompt %s is empty, but %d updates are counted", p.ID, d.logUpdates)
		}
		for _, u := range oldest {
			d.logUpdates--
			d.logBytes -= u.bytes
			d.logTrimmed = u.revision
		}
		if err := tx.Do(ctx, `DELETE FROM prompt_draft_updates WHERE tenant_id = $1 AND prompt_id = $2 AND revision <= $3`, p.Tenant, p.ID, d.logTrimmed); err != nil {
			return err
		}
	}
	return nil
}

const updateColumns = `revision, text_id, version, client, author_id, author, changes, created_at`

// updateRow is an update with its inverse.
type updateRow struct {
	coedit.Update
	inverse changeset.Set
}

func (c Coedit) scanUpdate(p row) func(sqldb.Row) (updateRow, error) {
	return func(r sqldb.Row) (u updateRow, err error) {
		var sealed []byte
		var at int64
		if err := r.Scan(&u.Revision, &u.Text, &u.Version, &u.Client, &u.Author.ID, &u.Author.Name, &sealed, &at); err != nil {
			return u, err
		}
		u.At = sqldb.FromMicros(at)
		plain, err := c.s.codec.Open(ownerOfUpdate(p, u.Revision), sealed)
		if err != nil {
			return u, fmt.Errorf("opening an update of a draft: %w", err)
		}
		var e entry
		if err := json.Unmarshal(plain, &e); err != nil {
			return u, fmt.Errorf("reading an update of a draft: %w", err)
		}
		u.Changes, u.inverse = e.Changes, e.Inverse
		return u, nil
	}
}

// missed reads the updates of a text behind a version, one more than MaxBehind at the most. Codes: not_found, gone.
func (c Coedit) missed(ctx context.Context, tx sqldb.Reader, d draft, k coedit.TextKey) ([]coedit.Update, error) {
	p := d.p
	head, err := d.shape.Version(k.Text)
	if err != nil {
		return nil, err
	}
	if k.Version == head {
		return nil, nil
	}
	found, err := sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT `+updateColumns+` FROM prompt_draft_updates WHERE tenant_id = $1 AND prompt_id = $2 AND text_id = $3 AND version > $4
		ORDER BY version LIMIT $5`, p.Tenant, p.ID, k.Text, k.Version, coedit.MaxBehind+1), c.scanUpdate(p))
	if err != nil {
		return nil, err
	}
	if k.Version > head || len(found) == 0 || found[0].Version != k.Version+1 {
		return nil, logGone(k.Version)
	}
	out := make([]coedit.Update, len(found))
	for i, u := range found {
		out[i] = u.Update
	}
	return out, nil
}

func logGone(version int64) error {
	return penstock.Errorf(penstock.CodeGone, "The log of the draft does not have the updates behind version %d of this text. Read the structure of the draft again.", version)
}

// Submit implements coedit.Store.
func (c Coedit) Submit(ctx context.Context, tenant penstock.TenantID, sub coedit.Submission) (out []coedit.Update, err error) {
	err = c.s.db.Write(ctx, "prompt_draft_update", func(tx sqldb.Tx) error {
		d, err := c.changeDraft(ctx, tx, tenant, sub.Name)
		if err != nil {
			return err
		}
		over, err := c.missed(ctx, tx, d, coedit.TextKey{Text: sub.Text, Version: sub.Version})
		if err != nil {
			return err
		}
		if len(over) > coedit.MaxBehind {
			out = over[:coedit.MaxBehind]
			return nil
		}
		d.Content = d.Content.Clone()
		edits, err := d.shape.Accept(&d.Content, sub, over)
		if err != nil {
			return err
		}
		out = over
		if len(edits) == 0 { // all of them were accepted before
			return nil
		}
		before := d.Revision
		if err := c.appendLog(ctx, tx, &d, logged{edits, sub.Author}); err != nil {
			return err
		}
		for i, e := range edits {
			out = append(out, coedit.Update{Revision: before + int64(i) + 1, Text: e.Text, Version: e.Version, Client: e.Client, Author: sub.Author, At: tx.Now(), Changes: e.Changes})
		}
		d.shape, d.UpdatedBy, d.UpdatedAt = d.shape.Applied(edits), name(sub.Author), tx.Now()
		return c.saveDraft(ctx, tx, &d, sub.Stored)
	})
	return out, err
}

// PutStructure implements coedit.Store.
func (c Coedit) PutStructure(ctx context.Context, tenant penstock.TenantID, o coedit.StructureOrder) (out coedit.Draft, err error) {
	err = c.s.db.Write(ctx, "prompt_draft_structure", func(tx sqldb.Tx) error {
		d, err := c.changeDraft(ctx, tx, tenant, o.Name)
		if err != nil {
			return err
		}
		if o.IfStructure != d.shape.Structure {
			return penstock.Stale("The structure of the draft")
		}
		if o.Content.Kind != d.p.Kind {
			return penstock.InvalidParam("kind", "kind must be %s: the kind of a prompt never changes.", d.p.Kind)
		}
		revision := d.p.drafts + 1
		if d.Content, d.shape, err = d.shape.Restructure(d.Content, o, revision); err != nil {
			return err
		}
		d.Revision, d.Base, d.UpdatedBy, d.UpdatedAt = revision, o.Base, name(o.Actor), tx.Now()
		if err := c.saveDraft(ctx, tx, &d, o.Stored); err != nil {
			return err
		}
		out, err = c.shared(ctx, tx, d)
		return err
	})
	return out, err
}
