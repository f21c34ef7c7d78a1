package promptsql

import (
	"context"
	"strings"

	"penstock"
	"penstock/internal/audit"
	"penstock/internal/prompt"
	"penstock/internal/prompt/content"
	"penstock/internal/store/sqldb"
)

// row is a prompt with its counters.
type row struct {
	prompt.Prompt
	lastVersion, deleted, moves, drafts, changes int64
}

const columns = `p.id, p.tenant_id, p.name, p.kind, p.latest, p.versions, COALESCE(d.revision, 0), p.created_by, p.created_at, p.updated_at, p.archived_at,
	p.last_version, p.deleted, p.moves, p.drafts, p.changes`

const tables = ` FROM prompts p LEFT JOIN prompt_drafts d ON d.tenant_id = p.tenant_id AND d.prompt_id = p.id`

func scan(r sqldb.Row) (p row, err error) {
	var created, updated, archived int64
	err = r.Scan(&p.ID, &p.Tenant, &p.Name, &p.Kind, &p.Latest, &p.Versions, &p.Draft, &p.CreatedBy, &created, &updated, &archived,
		&p.lastVersion, &p.deleted, &p.moves, &p.drafts, &p.changes)
	p.CreatedAt, p.UpdatedAt, p.ArchivedAt = sqldb.FromMicros(created), sqldb.FromMicros(updated), sqldb.FromMicros(archived)
	return p, err
}

// find reads a prompt. Codes: not_found.
func find(ctx context.Context, tx sqldb.Reader, tenant penstock.TenantID, name string) (row, error) {
	return findBy(ctx, tx, sqldb.SQL(`SELECT `+columns+tables+` WHERE p.tenant_id = $1 AND p.name = $2`, tenant, name), name)
}

// lock reads a prompt for a change and locks it. Codes: not_found.
func lock(ctx context.Context, tx sqldb.Reader, tenant penstock.TenantID, name string) (row, error) {
	return findBy(ctx, tx, sqldb.SQL(`SELECT `+columns+tables+` WHERE p.tenant_id = $1 AND p.name = $2 /*pg FOR UPDATE OF p */`, tenant, name), name)
}

func findBy(ctx context.Context, tx sqldb.Reader, q sqldb.Query, name string) (row, error) {
	if content.CheckName(name) != nil { // no prompt can have it, and PostgreSQL refuses some bytes
		return row{}, prompt.NotFound(sqldb.Storable(name))
	}
	p, ok, err := sqldb.QueryOne(ctx, tx, q, scan)
	if err == nil && !ok {
		err = prompt.NotFound(name)
	}
	return p, err
}

// change locks a prompt that is in use. Codes: not_found, conflict.
func change(ctx context.Context, tx sqldb.Reader, tenant penstock.TenantID, name string) (row, error) {
	p, err := lock(ctx, tx, tenant, name)
	if err == nil && !p.ArchivedAt.IsZero() {
		err = penstock.Errorf(penstock.CodeConflict, "The prompt %s is archived; restore it first.", name)
	}
	return p, err
}

// creation is a prompt that is made if no prompt has its name.
type creation struct {
	id    penstock.ID
	name  string
	kind  content.Kind
	actor penstock.Author
}

// create locks a prompt, which is made if it does not exist. A row that does not exist yet cannot be locked, so the insert
// decides between two creators. Codes: conflict.
func (s *Store) create(ctx context.Context, tx sqldb.Tx, tenant penstock.TenantID, c creation) (row, error) {
	p, err := change(ctx, tx, tenant, c.name)
	if penstock.ErrorCode(err) == penstock.CodeNotFound {
		n, _, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT COUNT(*) FROM prompts WHERE tenant_id = $1`, tenant), sqldb.ScanOne[int64])
		if err != nil {
			return p, err
		}
		if n >= prompt.MaxPrompts {
			return p, penstock.Errorf(penstock.CodeConflict, "There are %d prompts already, which is the most.", n)
		}
		made, err := tx.Exec(ctx, `INSERT INTO prompts (tenant_id, name, id, kind, created_by, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $6)
			ON CONFLICT (tenant_id, name) DO NOTHING`, tenant, c.name, c.id, string(c.kind), name(c.actor), sqldb.Micros(tx.Now()))
		if err != nil {
			return p, err
		}
		if made > 0 {
			err = s.note(ctx, tx, c.actor, audit.Entry{Tenant: tenant, Action: prompt.ActionCreate, Subject: c.name, After: map[string]any{"kind": c.kind}})
			if err != nil {
				return p, err
			}
		}
		p, err = change(ctx, tx, tenant, c.name)
		if err != nil {
			return p, err
		}
	} else if err != nil {
		return p, err
	}
	if p.Kind != c.kind {
		return p, penstock.Errorf(penstock.CodeConflict, "The prompt %s is of kind %s, which never changes; use another name for a prompt of kind %s.", c.name, p.Kind, c.kind)
	}
	return p, nil
}

// labelled adds the labels of prompts.
func labelled(ctx context.Context, tx sqldb.Reader, prompts []prompt.Prompt) error {
	at, ids := map[penstock.ID]int{}, make([]string, len(prompts))
	for i := range prompts {
		at[prompts[i].ID], ids[i] = i, string(prompts[i].ID)
		prompts[i].Labels = nil
	}
	if len(ids) == 0 {
		return nil
	}
	err := tx.QueryIn(ctx, sqldb.IDQuery{SQL: `SELECT prompt_id, ` + labelColumns + ` FROM prompt_labels WHERE prompt_id = /*pg ANY */($1)`, IDs: ids}, func(r sqldb.Row) error {
		var id penstock.ID
		l, err := scanLabel(prefixed{r, &id})
		if err == nil {
			p := &prompts[at[id]]
			p.Labels = append(p.Labels, l)
		}
		return err
	})
	if err != nil {
		return err
	}
	for i := range prompts {
		prompts[i].Labels = withLatest(prompts[i])
	}
	return nil
}

// prefixed scans one more column in front of others.
type prefixed struct {
	sqldb.Row
	first any
}

func (p prefixed) Scan(dest ...any) error { return p.Row.Scan(append([]any{p.first}, dest...)...) }

// Prompt implements prompt.Prompts.
func (s *Store) Prompt(ctx context.Context, tenant penstock.TenantID, name string) (p prompt.Prompt, err error) {
	err = s.db.Read(ctx, func(tx sqldb.Tx) error {
		found, err := find(ctx, tx, tenant, name)
		if err != nil {
			return err
		}
		one := []prompt.Prompt{found.Prompt}
		err = labelled(ctx, tx, one)
		p = one[0]
		return err
	})
	return p, err
}

// behind sorts after every name that begins with the text before it: names have no such character.
const behind = "~"

// List implements prompt.Prompts.
func (s *Store) List(ctx context.Context, tenant penstock.TenantID, p prompt.Page) (out prompt.Listing, err error) {
	prefix := p.Prefix
	if p.Folder != nil {
		prefix = *p.Folder
	}
	prefix, after := sqldb.Storable(prefix), sqldb.Storable(p.After)
	if strings.HasSuffix(after, "/") { // a folder: the page begins behind all that is in it
		after += behind
	}
	err = s.db.Read(ctx, func(tx sqldb.Tx) error {
		out = prompt.Listing{}
		w := walk{tenant: tenant, page: p, prefix: prefix, after: after}
		if err := w.run(ctx, tx, &out); err != nil {
			return err
		}
		return labelled(ctx, tx, out.Prompts)
	})
	return out, err
}

// walk collects a page of prompts and folders.
type walk struct {
	tenant        penstock.TenantID
	page          prompt.Page
	prefix, after string
}

func (w *walk) run(ctx context.Context, tx sqldb.Reader, out *prompt.Listing) error {
	for {
		left := w.page.Limit - len(out.Prompts) - len(out.Folders)
		archived := int64(0)
		if w.page.Archived {
			archived = 1
		}
		found, err := sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT `+columns+tables+` WHERE p.tenant_id = $1 AND p.name > $2 AND p.name >= $3 AND p.name < $4
			AND (p.archived_at = 0 OR $5 = 1) ORDER BY p.name LIMIT $6`, w.tenant, w.after, w.prefix, w.prefix+behind, archived, left+1), scan)
		if err != nil {
			return err
		}
		if !w.take(found, left, out) {
			return nil
		}
	}
}

// take adds prompts to the page. It reports whether a folder ended the step, so that the next step begins behind the folder.
func (w *walk) take(found []row, left int, out *prompt.Listing) bool {
	for i, p := range found {
		if i == left { // one more than the page takes
			return false
		}
		if w.page.Folder != nil {
			if inside, _, deeper := strings.Cut(p.Name[len(w.prefix):], "/"); deeper {
				folder := w.prefix + inside + "/"
				out.Folders, out.Next = append(out.Folders, folder), folder
				w.after = folder + behind
				return true
			}
		}
		out.Prompts, out.Next = append(out.Prompts, p.Prompt), p.Name
	}
	if len(found) <= left {
		out.Next = ""
	}
	return false
}

// Archive implements prompt.Prompts.
func (s *Store) Archive(ctx context.Context, tenant penstock.TenantID, a prompt.Archival) (p prompt.Prompt, err error) {
	err = s.db.Write(ctx, "prompt_archive", func(tx sqldb.Tx) error {
		found, err := lock(ctx, tx, tenant, a.Name)
		if err != nil {
			return err
		}
		if archived := !found.ArchivedAt.IsZero(); archived != (a.State == prompt.Archived) {
			at, action := int64(0), prompt.ActionRestore
			if a.State == prompt.Archived {
				at, action = sqldb.Micros(tx.Now()), prompt.ActionArchive
			}
			found.ArchivedAt = sqldb.FromMicros(at)
			if err := tx.Do(ctx, `UPDATE prompts SET archived_at = $3, changes = changes + 1 WHERE tenant_id = $1 AND name = $2`, tenant, a.Name, at); err != nil {
				return err
			}
			if err := s.note(ctx, tx, a.Actor, audit.Entry{Tenant: tenant, Action: action, Subject: a.Name}); err != nil {
				return err
			}
		}
		one := []prompt.Prompt{found.Prompt}
		err = labelled(ctx, tx, one)
		p = one[0]
		return err
	})
	return p, err
}
