package sqlstore

import (
	"context"
	"slices"

	"penstock"
	"penstock/internal/store"
	"penstock/internal/store/promptrow"
	"penstock/internal/store/sqldb"
)

// attached are the files in the body of an item or a call.
type attached struct {
	tenant  penstock.TenantID
	subject penstock.ID
	files   []penstock.AttachedFile
}

var addAttached = sqldb.InsertInto("attached_files", "subject_id text, position bigint, tenant_id text, path text, file_id text, media_type text, bytes bigint, sha256 text",
	"ON CONFLICT (subject_id, position) DO NOTHING")

func (a attached) insert(ctx context.Context, tx sqldb.Tx) error {
	for i, f := range a.files {
		if err := tx.Put(ctx, addAttached, string(a.subject), int64(i), string(a.tenant), sqldb.Storable(f.Path), string(f.File), f.MediaType, f.Bytes, f.SHA256); err != nil {
			return err
		}
	}
	return nil
}

// insertItemFiles writes the files of items of a tenant's job.
func insertItemFiles(ctx context.Context, tx sqldb.Tx, tenant penstock.TenantID, s store.Split) error {
	for i := range s.Items {
		a := attached{tenant, penstock.ItemID(s.Job, s.From+i), s.Items[i].Files}
		if err := a.insert(ctx, tx); err != nil {
			return err
		}
	}
	return nil
}

// copyItemFiles writes the files of items that run the bodies of earlier items again, in the same order.
func copyItemFiles(ctx context.Context, tx sqldb.Tx, j penstock.Job, earlier []penstock.ID) error {
	at := make(map[penstock.ID]int, len(earlier))
	for i, id := range earlier {
		at[id] = i
	}
	var found []attached
	q := sqldb.IDQuery{SQL: `SELECT subject_id, path, file_id, media_type, bytes, sha256 FROM attached_files
		WHERE subject_id = /*pg ANY */($1) AND tenant_id = $2 ORDER BY subject_id, position`, IDs: sqldb.Strings(earlier), Args: []any{j.Tenant}}
	err := tx.QueryIn(ctx, q, func(row sqldb.Row) error {
		var subject penstock.ID
		var f penstock.AttachedFile
		if err := row.Scan(&subject, &f.Path, &f.File, &f.MediaType, &f.Bytes, &f.SHA256); err != nil {
			return err
		}
		if subject = penstock.ItemID(j.ID, at[subject]); len(found) == 0 || found[len(found)-1].subject != subject {
			found = append(found, attached{tenant: j.Tenant, subject: subject})
		}
		last := &found[len(found)-1]
		last.files = append(last.files, f)
		return nil
	})
	for _, a := range found {
		if err == nil {
			err = a.insert(ctx, tx)
		}
	}
	return err
}

// remarkable says whether the body of one of the items has a file, was shortened, or has a prompt that not all items have: rows
// besides those of the items say so.
func remarkable(sub store.Submission) bool {
	shared := sub.Job.Resolved.PromptOf() != nil
	return slices.ContainsFunc(sub.Items, func(item store.NewItem) bool {
		return len(item.Files) > 0 || item.Truncated != nil || item.Prompt != nil && !shared
	})
}

// insertItemRemarks writes the files and the prompts of items of a job, and what was dropped of their inputs.
func insertItemRemarks(ctx context.Context, tx sqldb.Tx, j penstock.Job, s store.Split) error {
	if err := insertItemFiles(ctx, tx, j.Tenant, s); err != nil {
		return err
	}
	if err := insertItemTruncations(ctx, tx, j.Tenant, s); err != nil {
		return err
	}
	return insertItemPrompts(ctx, tx, j, s)
}

// insertItemPrompts writes the prompts in the inputs of items, unless the job names the prompt of all of them.
func insertItemPrompts(ctx context.Context, tx sqldb.Tx, j penstock.Job, s store.Split) error {
	if j.Resolved.PromptOf() != nil {
		return nil
	}
	for i := range s.Items {
		if p := s.Items[i].Prompt; p != nil {
			u := promptrow.Use{Tenant: j.Tenant, Subject: penstock.ItemID(s.Job, s.From+i), PromptCall: penstock.PromptCall{PromptUse: *p}}
			if err := u.Insert(ctx, tx); err != nil {
				return err
			}
		}
	}
	return nil
}

// findItemPrompt returns the prompt in the input of an item, nil for none.
func findItemPrompt(ctx context.Context, tx sqldb.Tx, j *penstock.Job, item penstock.ID) (*penstock.PromptUse, error) {
	if use := j.Resolved.PromptOf(); use != nil {
		return use, nil
	}
	if len(j.Resolved.Prompts) == 0 {
		return nil, nil
	}
	found, err := promptrow.Find(ctx, tx, j.Tenant, item)
	if found == nil {
		return nil, err
	}
	return &found.PromptUse, err
}

// findAttached returns the files in the body of an item or a call.
func findAttached(ctx context.Context, tx sqldb.Tx, tenant penstock.TenantID, subject penstock.ID) ([]penstock.AttachedFile, error) {
	return sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT path, file_id, media_type, bytes, sha256 FROM attached_files
		WHERE subject_id = $1 AND tenant_id = $2 ORDER BY position`, subject, tenant), func(row sqldb.Row) (f penstock.AttachedFile, err error) {
		return f, row.Scan(&f.Path, &f.File, &f.MediaType, &f.Bytes, &f.SHA256)
	})
}
