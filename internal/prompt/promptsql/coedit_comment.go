package promptsql

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"penstock"
	"penstock/internal/payload"
	"penstock/internal/prompt/changeset"
	"penstock/internal/prompt/coedit"
	"penstock/internal/store/sqldb"
)

// remark is the sealed part of a comment.
type remark struct {
	Body  string `json:"body"`
	Quote string `json:"quote,omitempty"`
}

func ownerOfComment(p row, id penstock.ID) payload.Owner {
	return owner(p.Tenant, p.Name, "comment/"+string(id))
}

const commentColumns = `id, parent, text_id, from_at, to_at, body, author_id, author, created_at, edited_at, resolved_by, resolved_at`

func (c Coedit) scanComment(p row) func(sqldb.Row) (coedit.Comment, error) {
	return func(r sqldb.Row) (one coedit.Comment, err error) {
		var sealed []byte
		var created, edited, resolved int64
		if err := r.Scan(&one.ID, &one.Parent, &one.Text, &one.From, &one.To, &sealed, &one.Author.ID, &one.Author.Name, &created, &edited, &one.ResolvedBy, &resolved); err != nil {
			return one, err
		}
		one.CreatedAt, one.EditedAt, one.ResolvedAt = sqldb.FromMicros(created), sqldb.FromMicros(edited), sqldb.FromMicros(resolved)
		plain, err := c.s.codec.Open(ownerOfComment(p, one.ID), sealed)
		if err != nil {
			return one, fmt.Errorf("opening a comment: %w", err)
		}
		var content remark
		if err := json.Unmarshal(plain, &content); err != nil {
			return one, fmt.Errorf("reading a comment: %w", err)
		}
		one.Body, one.Quote = content.Body, content.Quote
		return one, nil
	}
}

// commentsOf reads the comments of a draft, oldest first.
func (c Coedit) commentsOf(ctx context.Context, tx sqldb.Reader, d draft) ([]coedit.Comment, error) {
	p := d.p
	all, err := sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT `+commentColumns+` FROM prompt_draft_comments WHERE tenant_id = $1 AND prompt_id = $2 ORDER BY id`, p.Tenant, p.ID), c.scanComment(p))
	for i := range all {
		all[i].Version = d.version(all[i].Text)
	}
	return all, err
}

// comment reads one comment. Codes: not_found.
func (c Coedit) comment(ctx context.Context, tx sqldb.Reader, p row, id penstock.ID) (coedit.Comment, error) {
	one, ok, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT `+commentColumns+` FROM prompt_draft_comments WHERE tenant_id = $1 AND prompt_id = $2 AND id = $3`, p.Tenant, p.ID, id), c.scanComment(p))
	if err == nil && !ok {
		err = penstock.NotFound(coedit.ViewComment, id)
	}
	return one, err
}

// writeComment stores a comment, new or changed. It returns its bytes.
func (c Coedit) writeComment(ctx context.Context, tx sqldb.Tx, p row, one coedit.Comment) (int64, error) {
	plain, err := json.Marshal(remark{one.Body, one.Quote})
	if err != nil {
		return 0, err
	}
	sealed, err := c.s.codec.Seal(ownerOfComment(p, one.ID), plain)
	if err != nil {
		return 0, err
	}
	return int64(len(plain)), tx.Do(ctx, `INSERT INTO prompt_draft_comments (tenant_id, prompt_id, id, parent, text_id, from_at, to_at, body, bytes, author_id, author, created_at, edited_at, resolved_by, resolved_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
		ON CONFLICT (tenant_id, prompt_id, id) DO UPDATE SET body = excluded.body, bytes = excluded.bytes, edited_at = excluded.edited_at, resolved_by = excluded.resolved_by, resolved_at = excluded.resolved_at`,
		p.Tenant, p.ID, one.ID, one.Parent, one.Text, one.From, one.To, sealed, int64(len(plain)), sqldb.Storable(one.Author.ID), one.Author.Name,
		sqldb.Micros(one.CreatedAt), sqldb.Micros(one.EditedAt), one.ResolvedBy, sqldb.Micros(one.ResolvedAt))
}

// AddComment implements coedit.Comments.
func (c Coedit) AddComment(ctx context.Context, tenant penstock.TenantID, n coedit.NewComment) (one coedit.Comment, err error) {
	err = c.s.db.Write(ctx, "prompt_draft_comment", func(tx sqldb.Tx) error {
		d, err := c.changeDraft(ctx, tx, tenant, n.Name)
		if err != nil {
			return err
		}
		p := d.p
		count, _, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT COUNT(*) FROM prompt_draft_comments WHERE tenant_id = $1 AND prompt_id = $2`, tenant, p.ID), sqldb.ScanOne[int64])
		if err != nil {
			return err
		}
		if count >= coedit.MaxComments {
			return penstock.Errorf(penstock.CodeConflict, "The draft has %d comments, which is the most; delete some first.", count)
		}
		if one, err = c.placed(ctx, tx, d, n); err != nil {
			return err
		}
		one.ID, one.Body, one.Author, one.CreatedAt = n.ID, n.Body, n.Author, tx.Now()
		one.Author.Name, one.Version = name(n.Author), d.version(one.Text)
		bytes, err := c.writeComment(ctx, tx, p, one)
		if err != nil {
			return err
		}
		d.comments++
		d.commentBytes += bytes
		return c.saveDraft(ctx, tx, &d, n.Stored)
	})
	return one, err
}

// placed is a comment at the place of a new one: that of its parent, or its range in the current version. Codes: not_found, gone,
// invalid_request.
func (c Coedit) placed(ctx context.Context, tx sqldb.Reader, d draft, n coedit.NewComment) (one coedit.Comment, err error) {
	if n.Parent != "" {
		parent, err := c.comment(ctx, tx, d.p, n.Parent)
		if err == nil && parent.Parent != "" {
			err = penstock.InvalidParam("parent", "parent must be a comment that is no reply.")
		}
		one.Parent, one.Mark = parent.ID, parent.Mark
		return one, err
	}
	over, err := c.missed(ctx, tx, d, coedit.TextKey{Text: n.Text, Version: n.Version})
	if err != nil {
		return one, err
	}
	if len(over) > coedit.MaxBehind {
		return one, logGone(n.Version)
	}
	edits := make([]coedit.Edit, len(over))
	for i, u := range over {
		edits[i] = coedit.Edit{Text: u.Text, Changes: u.Changes}
	}
	one.Mark = n.Mark.Moved(edits)
	one.Quote, err = quoteOf(d, one.Mark)
	return one, err
}

// quoteOf is the text that a comment is made on. Codes: invalid_request.
func quoteOf(d draft, m coedit.Mark) (string, error) {
	for i, t := range d.Content.Texts() {
		if d.shape.Texts[i].ID != m.Text {
			continue
		}
		if quote, ok := changeset.Slice(*t.Value, m.From, m.To); ok {
			if changeset.Units(quote) > coedit.MaxQuoteUnits {
				quote = strings.ToValidUTF8(quote[:coedit.MaxQuoteUnits], "") + "…"
			}
			return quote, nil
		}
	}
	return "", penstock.InvalidParam("to", "from and to must be positions in the text, between characters.")
}

// ChangeComment implements coedit.Comments.
func (c Coedit) ChangeComment(ctx context.Context, tenant penstock.TenantID, change coedit.CommentChange) (one coedit.Comment, err error) {
	err = c.s.db.Write(ctx, "prompt_draft_comment", func(tx sqldb.Tx) error {
		d, err := c.changeDraft(ctx, tx, tenant, change.Name)
		if err != nil {
			return err
		}
		p := d.p
		if one, err = c.comment(ctx, tx, p, change.ID); err != nil {
			return err
		}
		one.Version = d.version(one.Text)
		was, err := json.Marshal(remark{one.Body, one.Quote})
		if err != nil {
			return err
		}
		if change.Body != nil {
			if one.Author.ID != change.Actor.ID {
				return penstock.Errorf(penstock.CodeConflict, "Only %s can change this comment; reply to it instead.", one.Author.Name)
			}
			one.Body, one.EditedAt = *change.Body, tx.Now()
		}
		switch change.State {
		case coedit.CommentResolved:
			one.ResolvedBy, one.ResolvedAt = name(change.Actor), tx.Now()
		case coedit.CommentOpen:
			one.ResolvedBy, one.ResolvedAt = "", sqldb.FromMicros(0)
		}
		bytes, err := c.writeComment(ctx, tx, p, one)
		if err != nil {
			return err
		}
		d.comments++
		d.commentBytes += bytes - int64(len(was))
		return c.saveDraft(ctx, tx, &d, 0)
	})
	return one, err
}

// RemoveComment implements coedit.Comments.
func (c Coedit) RemoveComment(ctx context.Context, tenant penstock.TenantID, r coedit.CommentRemoval) error {
	return c.s.db.Write(ctx, "prompt_draft_comment", func(tx sqldb.Tx) error {
		d, err := c.changeDraft(ctx, tx, tenant, r.Name)
		if err != nil {
			return err
		}
		p := d.p
		one, err := c.comment(ctx, tx, p, r.ID)
		if err != nil {
			return err
		}
		if one.Author.ID != r.Actor.ID {
			return penstock.Errorf(penstock.CodeConflict, "Only %s can delete this comment; resolve it instead.", one.Author.Name)
		}
		bytes, _, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT COALESCE(SUM(bytes), 0) FROM prompt_draft_comments WHERE tenant_id = $1 AND prompt_id = $2 AND (id = $3 OR parent = $3)`, tenant, p.ID, one.ID), sqldb.ScanOne[int64])
		if err != nil {
			return err
		}
		if err := tx.Do(ctx, `DELETE FROM prompt_draft_comments WHERE tenant_id = $1 AND prompt_id = $2 AND (id = $3 OR parent = $3)`, tenant, p.ID, one.ID); err != nil {
			return err
		}
		d.comments++
		d.commentBytes -= bytes
		return c.saveDraft(ctx, tx, &d, 0)
	})
}
