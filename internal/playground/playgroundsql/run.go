package playgroundsql

import (
	"context"
	"encoding/json"
	"strings"

	"penstock"
	"penstock/internal/audit"
	"penstock/internal/playground"
	"penstock/internal/store"
	"penstock/internal/store/sqldb"
)

const runColumns = `r.id, r.author_id, r.author, r.name, r.prompts, r.models, r.state, r.process_id, r.epoch, r.revision, r.seq,
	r.queued, r.running, r.succeeded, r.failed, r.stopped, r.interrupted, r.cost, r.created_at, r.finished_at,
	(SELECT COUNT(*) FROM playground_shares s WHERE s.tenant_id = r.tenant_id AND s.run_id = r.id AND s.kind = 'role'),
	(SELECT COUNT(*) FROM playground_shares s WHERE s.tenant_id = r.tenant_id AND s.run_id = r.id AND s.kind = 'snapshot' AND s.expires_at > $1)`

// scanRun reads a run. The first argument of its query is the time.
func scanRun(tenant penstock.TenantID) func(sqldb.Row) (playground.Run, error) {
	return func(row sqldb.Row) (r playground.Run, err error) {
		var prompts, models string
		var created, finished, roles, snapshots int64
		r.Tenant = tenant
		err = row.Scan(&r.ID, &r.Author.ID, &r.Author.Name, &r.Name, &prompts, &models, &r.State, &r.Owner.Process, &r.Owner.Epoch, &r.Revision, &r.Seq,
			&r.Counts.Queued, &r.Counts.Running, &r.Counts.Succeeded, &r.Counts.Failed, &r.Counts.Stopped, &r.Counts.Interrupted, &r.Cost, &created, &finished, &roles, &snapshots)
		if err != nil {
			return r, err
		}
		r.CreatedAt, r.FinishedAt, r.Shared = sqldb.FromMicros(created), sqldb.FromMicros(finished), playground.Private
		switch {
		case roles > 0:
			r.Shared = playground.SharedRole
		case snapshots > 0:
			r.Shared = playground.SharedSnapshot
		}
		if err := json.Unmarshal([]byte(prompts), &r.Prompts); err != nil {
			return r, err
		}
		return r, json.Unmarshal([]byte(models), &r.Models)
	}
}

// locking is how a run is read.
type locking string

const (
	plain  locking = ""
	locked locking = " /*pg FOR UPDATE */"
)

// find reads a run. Codes: not_found.
func find(ctx context.Context, tx sqldb.Tx, k rowKey, how locking) (playground.Run, error) {
	r, ok, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT `+runColumns+` FROM playground_runs r WHERE r.tenant_id = $2 AND r.id = $3`+string(how),
		sqldb.Micros(tx.Now()), k.tenant, k.id), scanRun(k.tenant))
	if err == nil && !ok {
		err = playground.NotFound(k.id)
	}
	return r, err
}

// Run implements playground.Runs.
func (s *Store) Run(ctx context.Context, tenant penstock.TenantID, id penstock.ID) (r playground.Run, err error) {
	err = s.db.Read(ctx, func(tx sqldb.Tx) error {
		if r, err = find(ctx, tx, rowKey{tenant, id}, plain); err != nil || r.Shared != playground.SharedRole {
			return err
		}
		r.Roles, err = sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT role FROM playground_shares WHERE tenant_id = $1 AND run_id = $2 AND kind = 'role' ORDER BY id`,
			tenant, id), sqldb.ScanOne[penstock.Role])
		return err
	})
	return r, err
}

// words are what a search finds a run by.
func words(r playground.Run) string {
	all := append([]string{r.Name}, r.Prompts...)
	return strings.ToLower(sqldb.Storable(strings.Join(append(all, r.Models...), "\n")))
}

func list(all []string) string {
	if len(all) == 0 {
		return "[]"
	}
	text, err := json.Marshal(all)
	if err != nil { // strings can be encoded
		return "[]"
	}
	return sqldb.Storable(string(text))
}

// CreateRun implements playground.Runs.
func (s *Store) CreateRun(ctx context.Context, tenant penstock.TenantID, n playground.NewRun) (r playground.Run, err error) {
	k := rowKey{tenant, n.ID}
	setup, err := s.seal(k.owner(partSetup), n.Setup)
	if err != nil {
		return r, err
	}
	bytes, bodies := int64(len(n.Setup)), make([][]byte, len(n.Inputs))
	for i, in := range n.Inputs {
		bytes += int64(len(in.Body))
		if bodies[i], err = s.seal(k.owner(partInput(playground.CellPlace{Column: in.Column, Row: in.Row})), in.Body); err != nil {
			return r, err
		}
	}
	err = s.db.Write(ctx, "playground_run_create", func(tx sqldb.Tx) error {
		count, _, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT COUNT(*) FROM playground_runs WHERE tenant_id = $1 AND author_id = $2`, tenant, n.Author.ID), sqldb.ScanOne[int64])
		if err != nil {
			return err
		}
		if count >= playground.MaxRuns {
			return penstock.Errorf(penstock.CodeConflict, "You have %d runs, which is the most; delete some first.", count)
		}
		r = n.Run
		r.CreatedAt, r.Revision, r.Author.Name, r.Name = tx.Now(), 1, name(n.Author), sqldb.Storable(n.Name)
		err = tx.Do(ctx, `INSERT INTO playground_runs (tenant_id, id, author_id, author, name, words, prompts, models, state, process_id, epoch, revision, seq,
				queued, running, succeeded, failed, stopped, interrupted, cost, setup, bytes, created_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 1, $12, $13, 0, 0, 0, 0, 0, 0, $14, 0, $15)`,
			tenant, n.ID, sqldb.Storable(n.Author.ID), r.Author.Name, r.Name, words(r), list(n.Prompts), list(n.Models), string(n.State), n.Owner.Process, n.Owner.Epoch,
			n.Seq, n.Counts.Queued, setup, sqldb.Micros(r.CreatedAt))
		if err != nil {
			return err
		}
		for i, in := range n.Inputs {
			if err := tx.Put(ctx, addInput, string(tenant), string(n.ID), int64(in.Column), int64(in.Row), bodies[i]); err != nil {
				return err
			}
		}
		if err := addCells(ctx, tx, k, n.Cells); err != nil {
			return err
		}
		if err := grow(ctx, tx, k, growth{n.Stored, bytes}); err != nil {
			return err
		}
		return s.note(ctx, tx, n.Author, audit.Entry{Tenant: tenant, Action: playground.ActionCreate, Subject: playground.ViewRun.Format(n.ID),
			After: map[string]any{"cells": len(n.Cells), "prompts": n.Prompts, "models": n.Models}})
	})
	return r, err
}

var addInput = sqldb.InsertInto("playground_inputs", "tenant_id text, run_id text, col bigint, line bigint, body bytea", "")

// ListRuns implements playground.Runs.
func (s *Store) ListRuns(ctx context.Context, tenant penstock.TenantID, p playground.Page) (all []playground.Run, err error) {
	roles := ","
	for _, role := range p.Roles {
		roles += string(role) + ","
	}
	mine := `r.author_id = $3`
	others := `(r.author_id <> $3 AND EXISTS (SELECT 1 FROM playground_shares s WHERE s.tenant_id = r.tenant_id AND s.run_id = r.id AND s.kind = 'role'
		AND $4 LIKE '%,' || s.role || ',%'))`
	which := map[playground.Authorship]string{playground.AuthorMe: `(` + mine + ` AND $4 <> '')`, playground.AuthorOthers: others, "": `(` + mine + ` OR ` + others + `)`}[p.Author]
	before := p.Before
	if before == "" {
		before = "~" // behind every id
	}
	err = s.db.Read(ctx, func(tx sqldb.Tx) error {
		all, err = sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT `+runColumns+` FROM playground_runs r WHERE r.tenant_id = $2 AND `+which+` AND r.id < $5
			AND ($6 = '' OR r.words LIKE $6 ESCAPE '\') ORDER BY r.id DESC LIMIT $7`,
			sqldb.Micros(tx.Now()), tenant, p.Reader.ID, roles, before, pattern(p.Query), p.Limit), scanRun(tenant))
		return err
	})
	return all, err
}

// pattern is the pattern that finds a text anywhere; "" for every text.
func pattern(text string) string {
	if text == "" {
		return ""
	}
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(sqldb.Storable(text)) + "%"
}

// RenameRun implements playground.Runs.
func (s *Store) RenameRun(ctx context.Context, tenant penstock.TenantID, c playground.Rename) (r playground.Run, err error) {
	err = s.db.Write(ctx, "playground_run_rename", func(tx sqldb.Tx) error {
		if r, err = find(ctx, tx, rowKey{tenant, c.ID}, locked); err != nil {
			return err
		}
		if c.IfRevision != 0 && c.IfRevision != r.Revision {
			return penstock.Stale("The run")
		}
		r.Name, r.Revision = sqldb.Storable(c.Name), r.Revision+1
		return tx.Do(ctx, `UPDATE playground_runs SET name = $3, words = $4, revision = $5 WHERE tenant_id = $1 AND id = $2`, tenant, c.ID, r.Name, words(r), r.Revision)
	})
	return r, err
}

// DeleteRun implements playground.Runs.
func (s *Store) DeleteRun(ctx context.Context, tenant penstock.TenantID, d playground.Removal) error {
	return s.db.Write(ctx, "playground_run_delete", func(tx sqldb.Tx) error {
		r, err := find(ctx, tx, rowKey{tenant, d.ID}, locked)
		if err != nil {
			return err
		}
		if err := remove(ctx, tx, rowKey{tenant, d.ID}); err != nil {
			return err
		}
		return s.note(ctx, tx, d.Actor, audit.Entry{Tenant: tenant, Action: playground.ActionDelete, Subject: playground.ViewRun.Format(d.ID),
			Before: map[string]any{"author": r.Author.ID, "prompts": r.Prompts, "models": r.Models}})
	})
}

// remove removes a run with all that belongs to it.
func remove(ctx context.Context, tx sqldb.Tx, k rowKey) error {
	bytes, _, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT bytes FROM playground_runs WHERE tenant_id = $1 AND id = $2`, k.tenant, k.id), sqldb.ScanOne[int64])
	if err != nil {
		return err
	}
	if err := grow(ctx, tx, k, growth{bytes: -bytes}); err != nil {
		return err
	}
	for _, table := range []string{"playground_shares", "playground_marks", "playground_chunks", "playground_cells", "playground_inputs"} {
		if err := tx.Do(ctx, `DELETE FROM `+table+` WHERE tenant_id = $1 AND run_id = $2`, k.tenant, k.id); err != nil {
			return err
		}
	}
	return tx.Do(ctx, `DELETE FROM playground_runs WHERE tenant_id = $1 AND id = $2`, k.tenant, k.id)
}

// PurgeRuns removes runs of a tenant that ended, and are older than the retention time. The id of a run has the time of its creation.
func (s *Store) PurgeRuns(ctx context.Context, tenant penstock.TenantID, p store.Purge) (done store.Purged, err error) {
	limit := min(p.Limit, maxPurged)
	query := func(tx sqldb.Tx, most int) ([]penstock.ID, error) {
		return sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT id FROM playground_runs WHERE tenant_id = $1 AND id < $2 AND state <> $3 ORDER BY id LIMIT $4`,
			tenant, penstock.FirstID(tx.Now().Add(-p.Kept)), string(playground.RunRunning), most), sqldb.ScanOne[penstock.ID])
	}
	var oldest []penstock.ID
	err = s.db.Read(ctx, func(tx sqldb.Tx) error {
		if oldest, err = query(tx, 1); err == nil && len(oldest) > 0 {
			done.Overdue = tx.Now().Sub(oldest[0].Time().Add(p.Kept))
		}
		return err
	})
	if err != nil || len(oldest) == 0 {
		return done, err
	}
	err = s.db.Write(ctx, "purge_playground_runs", func(tx sqldb.Tx) error {
		found, err := query(tx, limit)
		if err != nil {
			return err
		}
		done.Removed, done.More = len(found), len(found) == limit
		for _, id := range found {
			if err := remove(ctx, tx, rowKey{tenant, id}); err != nil {
				return err
			}
		}
		return nil
	})
	return done, err
}

// maxPurged bounds the runs that one step removes: each has up to 400 cells.
const maxPurged = 10
