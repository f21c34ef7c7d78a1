package promptsql

import (
	"context"

	"penstock"
	"penstock/internal/audit"
	"penstock/internal/outbox"
	"penstock/internal/prompt"
	"penstock/internal/prompt/content"
	"penstock/internal/store/sqldb"
)

const versionColumns = `n, sha256, parent, author_id, author, message, created_at, deleted_at`

func scanVersion(p row) func(sqldb.Row) (prompt.Version, error) {
	return func(r sqldb.Row) (v prompt.Version, err error) {
		v.Tenant, v.Name, v.Kind = p.Tenant, p.Name, p.Kind
		var created, deleted int64
		err = r.Scan(&v.N, &v.SHA256, &v.Parent, &v.Author.ID, &v.Author.Name, &v.Message, &created, &deleted)
		v.CreatedAt, v.DeletedAt = sqldb.FromMicros(created), sqldb.FromMicros(deleted)
		return v, err
	}
}

// findVersion reads a version without its content. Codes: not_found, gone.
func findVersion(ctx context.Context, tx sqldb.Reader, p row, n int64) (prompt.Version, error) {
	return versionBy(ctx, tx, p, versionQuery{n, ``})
}

// versionQuery is a version that is read, and how its row is locked.
type versionQuery struct {
	n    int64
	lock string
}

// The locks of a version.
const (
	shared = ` /*pg FOR SHARE */`
	alone  = ` /*pg FOR UPDATE */`
)

func versionBy(ctx context.Context, tx sqldb.Reader, p row, q versionQuery) (prompt.Version, error) {
	v, ok, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT `+versionColumns+` FROM prompt_versions WHERE tenant_id = $1 AND prompt_id = $2 AND n = $3`+q.lock, p.Tenant, p.ID, q.n), scanVersion(p))
	key := prompt.VersionKey{Name: p.Name, N: q.n}
	switch {
	case err != nil:
	case !ok:
		err = prompt.NoVersion(key, p.Latest)
	case !v.DeletedAt.IsZero():
		err = prompt.Deleted(key)
	}
	return v, err
}

// referencesOf reads the exact versions that a version includes.
func referencesOf(ctx context.Context, tx sqldb.Reader, p row, n int64) ([]content.Resolved, error) {
	return sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT r.written, t.name, r.to_n FROM prompt_references r JOIN prompts t ON t.id = r.to_prompt
		WHERE r.tenant_id = $1 AND r.prompt_id = $2 AND r.n = $3 ORDER BY r.written`, p.Tenant, p.ID, n), func(r sqldb.Row) (out content.Resolved, err error) {
		return out, r.Scan(&out.Written, &out.Name, &out.Version)
	})
}

// Version implements prompt.Versions and prompt.Heads.
func (s *Store) Version(ctx context.Context, tenant penstock.TenantID, k prompt.VersionKey) (v prompt.Version, err error) {
	var text []byte
	err = s.db.Read(ctx, func(tx sqldb.Tx) error {
		p, err := find(ctx, tx, tenant, k.Name)
		if err != nil {
			return err
		}
		if v, err = findVersion(ctx, tx, p, k.N); err != nil {
			return err
		}
		if v.References, err = referencesOf(ctx, tx, p, k.N); err != nil {
			return err
		}
		text, _, err = sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT content FROM prompt_versions WHERE tenant_id = $1 AND prompt_id = $2 AND n = $3`, tenant, p.ID, k.N), sqldb.ScanOne[[]byte])
		return err
	})
	if err != nil {
		return v, err
	}
	v.Content, err = s.open(owner(tenant, k.Name, v.SHA256), text)
	return v, sqldb.PublicError(err)
}

// ListVersions implements prompt.Versions.
func (s *Store) ListVersions(ctx context.Context, tenant penstock.TenantID, page prompt.VersionPage) (all []prompt.Version, err error) {
	err = s.db.Read(ctx, func(tx sqldb.Tx) error {
		p, err := find(ctx, tx, tenant, page.Name)
		if err != nil {
			return err
		}
		before := page.Before
		if before == 0 {
			before = p.lastVersion + 1
		}
		all, err = sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT `+versionColumns+` FROM prompt_versions WHERE tenant_id = $1 AND prompt_id = $2 AND n < $3
			ORDER BY n DESC LIMIT $4`, tenant, p.ID, before, page.Limit), scanVersion(p))
		return err
	})
	return all, err
}

// SaveVersion implements prompt.Versions.
func (s *Store) SaveVersion(ctx context.Context, tenant penstock.TenantID, n prompt.NewVersion) (v prompt.Version, created bool, err error) {
	kept, err := s.seal(owner(tenant, n.Name, n.SHA256), n.Content)
	if err != nil {
		return v, false, err
	}
	err = s.db.Write(ctx, "prompt_version_save", func(tx sqldb.Tx) error {
		created = false
		p, err := s.create(ctx, tx, tenant, creation{n.ID, n.Name, n.Content.Kind, n.Author})
		if err != nil {
			return err
		}
		found, there, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT `+versionColumns+` FROM prompt_versions
			WHERE tenant_id = $1 AND prompt_id = $2 AND sha256 = $3 AND deleted_at = 0`, tenant, p.ID, n.SHA256), scanVersion(p))
		if err != nil {
			return err
		}
		if there {
			v = found
			v.Content, v.References = n.Content, n.References // the hash is the same
			return nil
		}
		created = true
		v, err = s.addVersion(ctx, tx, p, sealedVersion{n, kept})
		return err
	})
	return v, created, err
}

// sealedVersion is a version to be saved, with its sealed content.
type sealedVersion struct {
	prompt.NewVersion
	kept sealed
}

func (s *Store) addVersion(ctx context.Context, tx sqldb.Tx, p row, n sealedVersion) (v prompt.Version, err error) {
	if p.lastVersion >= prompt.MaxVersions {
		return v, penstock.Errorf(penstock.CodeConflict, "The prompt %s has had %d versions, which is the most; go on with a prompt of another name.", p.Name, p.lastVersion)
	}
	if n.Parent > 0 {
		if _, err := findVersion(ctx, tx, p, n.Parent); err != nil {
			return v, penstock.InvalidParam("parent", "parent: %s", penstock.AsError(err).Message)
		}
	} else {
		n.Parent = p.Latest
	}
	number := p.lastVersion + 1
	if n.Number > number && n.Number <= prompt.MaxVersions {
		number = n.Number
	}
	v = prompt.Version{
		Tenant: p.Tenant, Name: p.Name, Kind: p.Kind, N: number, SHA256: n.SHA256, Parent: n.Parent, Author: n.Author,
		Message: sqldb.Storable(n.Message), Content: n.Content, References: n.References, CreatedAt: tx.Now(),
	}
	v.Author.Name = name(n.Author)
	err = tx.Do(ctx, `INSERT INTO prompt_versions (tenant_id, prompt_id, n, sha256, parent, author_id, author, message, content, bytes, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
		p.Tenant, p.ID, v.N, v.SHA256, v.Parent, sqldb.Storable(v.Author.ID), v.Author.Name, v.Message, n.kept.text, n.kept.bytes, sqldb.Micros(v.CreatedAt))
	if err != nil {
		return v, err
	}
	if err := addReferences(ctx, tx, p, v); err != nil {
		return v, err
	}
	err = tx.Do(ctx, `UPDATE prompts SET last_version = $3, latest = $3, versions = versions + 1, changes = changes + 1, updated_at = $4 WHERE tenant_id = $1 AND name = $2`,
		p.Tenant, p.Name, v.N, sqldb.Micros(tx.Now()))
	if err != nil {
		return v, err
	}
	if err := grow(ctx, tx, p, growth{n.Stored, n.kept.bytes}); err != nil {
		return v, err
	}
	err = s.note(ctx, tx, n.Author, audit.Entry{Tenant: p.Tenant, Action: prompt.ActionSaveVersion, Subject: p.Name,
		After: map[string]any{"version": v.N, "sha256": v.SHA256, "parent": v.Parent}})
	if err != nil {
		return v, err
	}
	return v, outbox.Publish(ctx, tx, outbox.Event{Tenant: p.Tenant, Type: penstock.EventPromptVersionCreated,
		Data: map[string]any{"prompt": p.Name, "prompt_id": prompt.ViewPrompt.Format(p.ID), "version": v.N, "sha256": v.SHA256, "author": v.Author.Name}})
}

// addReferences adds the references of a version. The versions are locked for sharing, so that none is deleted meanwhile. Codes:
// invalid_request.
func addReferences(ctx context.Context, tx sqldb.Tx, p row, v prompt.Version) error {
	for _, ref := range v.References {
		to, err := find(ctx, tx, p.Tenant, ref.Name)
		if err == nil {
			_, err = versionBy(ctx, tx, to, versionQuery{ref.Version, shared})
		}
		if code := penstock.ErrorCode(err); code == penstock.CodeNotFound || code == penstock.CodeGone {
			return penstock.InvalidParam("messages", "{{> %s}}: %s", ref.Written, penstock.AsError(err).Message)
		}
		if err != nil {
			return err
		}
		err = tx.Do(ctx, `INSERT INTO prompt_references (tenant_id, prompt_id, n, written, to_prompt, to_n) VALUES ($1, $2, $3, $4, $5, $6)`,
			p.Tenant, p.ID, v.N, ref.Written, to.ID, ref.Version)
		if err != nil {
			return err
		}
	}
	return nil
}
