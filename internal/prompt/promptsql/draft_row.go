package promptsql

import (
	"context"
	"encoding/json"
	"fmt"

	"penstock"
	"penstock/internal/prompt"
	"penstock/internal/prompt/coedit"
	"penstock/internal/store/sqldb"
)

// draft is a draft with its prompt and its counters.
type draft struct {
	prompt.Draft
	p            row
	shape        coedit.Shape
	bytes        int64 // that the quota counts: content, log and comments
	logUpdates   int64
	logBytes     int64
	logTrimmed   int64
	comments     int64
	commentBytes int64
}

const draftColumns = `revision, base_version, content, bytes, updated_by, updated_at, texts, texts_revision, structure, log_updates, log_bytes, log_trimmed, comments, comment_bytes`

// draftOf reads the draft of a prompt. Codes: not_found.
func (c Coedit) draftOf(ctx context.Context, tx sqldb.Reader, p row) (d draft, err error) {
	d.p = p
	if p.Draft == 0 {
		return d, noDraft(p.Name)
	}
	var text []byte
	var texts string
	var textsRevision int64
	_, ok, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT `+draftColumns+` FROM prompt_drafts WHERE tenant_id = $1 AND prompt_id = $2`, p.Tenant, p.ID), func(r sqldb.Row) (int, error) {
		var updated int64
		err := r.Scan(&d.Revision, &d.Base, &text, &d.bytes, &d.UpdatedBy, &updated, &texts, &textsRevision, &d.shape.Structure, &d.logUpdates, &d.logBytes, &d.logTrimmed, &d.comments, &d.commentBytes)
		d.UpdatedAt = sqldb.FromMicros(updated)
		return 0, err
	})
	if err != nil {
		return d, err
	}
	if !ok {
		return d, noDraft(p.Name)
	}
	if d.Content, err = c.s.open(owner(p.Tenant, p.Name, partDraft), text); err != nil {
		return d, err
	}
	if textsRevision != d.Revision { // written by a process that does not know texts
		d.shape = coedit.NewShape(d.Content, d.Revision)
		return d, nil
	}
	if err := json.Unmarshal([]byte(texts), &d.shape.Texts); err != nil || len(d.shape.Texts) != len(d.Content.Texts()) {
		return d, fmt.Errorf("the draft of prompt %s has %d texts and the names %q: %w", p.ID, len(d.Content.Texts()), texts, err)
	}
	return d, nil
}

// saveDraft writes a draft that was read or made in this transaction, and counts its bytes. Codes: too_large, quota_exceeded.
func (c Coedit) saveDraft(ctx context.Context, tx sqldb.Tx, d *draft, stored int64) error {
	p := d.p
	kept, err := c.s.seal(owner(p.Tenant, p.Name, partDraft), d.Content)
	if err != nil {
		return err
	}
	if kept.bytes > prompt.MaxDraftBytes {
		return prompt.DraftTooLarge(kept.bytes)
	}
	texts, err := json.Marshal(d.shape.Texts)
	if err != nil {
		return err
	}
	was := d.bytes
	d.bytes = kept.bytes + d.logBytes + d.commentBytes
	err = tx.Do(ctx, `INSERT INTO prompt_drafts (tenant_id, prompt_id, `+draftColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
		ON CONFLICT (tenant_id, prompt_id) DO UPDATE SET revision = excluded.revision, base_version = excluded.base_version, content = excluded.content, bytes = excluded.bytes,
			updated_by = excluded.updated_by, updated_at = excluded.updated_at, texts = excluded.texts, texts_revision = excluded.texts_revision, structure = excluded.structure,
			log_updates = excluded.log_updates, log_bytes = excluded.log_bytes, log_trimmed = excluded.log_trimmed, comments = excluded.comments, comment_bytes = excluded.comment_bytes`,
		p.Tenant, p.ID, d.Revision, d.Base, kept.text, d.bytes, d.UpdatedBy, sqldb.Micros(d.UpdatedAt), string(texts), d.Revision, d.shape.Structure,
		d.logUpdates, d.logBytes, d.logTrimmed, d.comments, d.commentBytes)
	if err != nil {
		return err
	}
	if d.Revision != p.drafts {
		if err := tx.Do(ctx, `UPDATE prompts SET drafts = $3 WHERE tenant_id = $1 AND name = $2`, p.Tenant, p.Name, d.Revision); err != nil {
			return err
		}
	}
	if d.bytes == was {
		return nil
	}
	return grow(ctx, tx, p, growth{stored, d.bytes - was})
}

// version is the version of a text, 0 for a text that was removed.
func (d *draft) version(text string) int64 {
	version, err := d.shape.Version(text)
	if err != nil {
		return 0
	}
	return version
}

// clearDraft removes everything that belongs to a draft but the draft itself.
func clearDraft(ctx context.Context, tx sqldb.Tx, p row) error {
	for _, table := range []string{"prompt_draft_updates", "prompt_draft_comments", "prompt_draft_people"} {
		if err := tx.Do(ctx, `DELETE FROM `+table+` WHERE tenant_id = $1 AND prompt_id = $2`, p.Tenant, p.ID); err != nil {
			return err
		}
	}
	return nil
}

// findDraft reads the draft of a prompt by its name. Codes: not_found.
func (c Coedit) findDraft(ctx context.Context, tx sqldb.Reader, tenant penstock.TenantID, name string) (draft, error) {
	p, err := find(ctx, tx, tenant, name)
	if err != nil {
		return draft{}, err
	}
	return c.draftOf(ctx, tx, p)
}

// changeDraft locks a prompt that is in use and reads its draft. Codes: not_found, conflict.
func (c Coedit) changeDraft(ctx context.Context, tx sqldb.Reader, tenant penstock.TenantID, name string) (draft, error) {
	p, err := change(ctx, tx, tenant, name)
	if err != nil {
		return draft{}, err
	}
	return c.draftOf(ctx, tx, p)
}
