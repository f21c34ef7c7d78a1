// Package promptrow reads and writes which prompts are in the inputs of items and synchronous calls, and which jobs name them: tables
// prompt_uses and job_prompts, which belong to package sqlstore. The registry of prompts counts the uses of a version through it, in the
// transaction that deletes the version.
package promptrow

import (
	"context"

	"penstock"
	"penstock/internal/store/sqldb"
)

// Use is the prompt in the input of an item or a call.
type Use struct {
	Tenant  penstock.TenantID
	Subject penstock.ID // the item or the call
	penstock.PromptCall
}

var addUse = sqldb.InsertInto("prompt_uses", "subject_id text, tenant_id text, prompt text, version bigint, sha256 text, label text, variables bytea",
	"ON CONFLICT (subject_id) DO NOTHING")

// Insert writes a use, unless the subject has one.
func (u Use) Insert(ctx context.Context, tx sqldb.Tx) error {
	return tx.Put(ctx, addUse, string(u.Subject), string(u.Tenant), u.Name, u.Version, u.SHA256, u.Label, u.Variables)
}

const columns = `prompt, version, sha256, label, variables`

func scan(row sqldb.Row, more ...any) (u penstock.PromptCall, err error) {
	err = row.Scan(append(more, &u.Name, &u.Version, &u.SHA256, &u.Label, &u.Variables)...)
	return u, err
}

// Find returns the prompt in the input of an item or a call, nil for none.
func Find(ctx context.Context, tx sqldb.Reader, tenant penstock.TenantID, subject penstock.ID) (*penstock.PromptCall, error) {
	found, ok, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT `+columns+` FROM prompt_uses WHERE subject_id = $1 AND tenant_id = $2`, subject, tenant),
		func(row sqldb.Row) (penstock.PromptCall, error) { return scan(row) })
	if err != nil || !ok {
		return nil, err
	}
	return &found, nil
}

// Copy writes the prompts of items that run the inputs of earlier items again, in the same order. An item whose prompt was rendered anew
// has a row already.
func Copy(ctx context.Context, tx sqldb.Tx, j penstock.Job, earlier []penstock.ID) error {
	at := make(map[penstock.ID]int, len(earlier))
	for i, id := range earlier {
		at[id] = i
	}
	var found []Use
	q := sqldb.IDQuery{SQL: `SELECT subject_id, ` + columns + ` FROM prompt_uses WHERE subject_id = /*pg ANY */($1) AND tenant_id = $2`,
		IDs: sqldb.Strings(earlier), Args: []any{j.Tenant}}
	err := tx.QueryIn(ctx, q, func(row sqldb.Row) error {
		var subject penstock.ID
		use, err := scan(row, &subject)
		found = append(found, Use{j.Tenant, penstock.ItemID(j.ID, at[subject]), use})
		return err
	})
	for _, u := range found {
		if err == nil {
			err = u.Insert(ctx, tx)
		}
	}
	return err
}

// Range is a range of items.
type Range struct{ From, To penstock.ID }

// RemoveItems removes the rows of a range of items.
func RemoveItems(ctx context.Context, tx sqldb.Tx, r Range) error {
	return tx.Do(ctx, `DELETE FROM prompt_uses WHERE subject_id >= $1 AND subject_id <= $2`, r.From, r.To)
}

// RemoveCalls removes the rows of calls, and with them the variables.
func RemoveCalls(ctx context.Context, tx sqldb.Tx, ids []penstock.ID) error {
	q := sqldb.IDQuery{SQL: `DELETE FROM prompt_uses WHERE subject_id = /*pg ANY */($1) RETURNING 1`, IDs: sqldb.Strings(ids)}
	return tx.QueryIn(ctx, q, func(sqldb.Row) error { return nil })
}
