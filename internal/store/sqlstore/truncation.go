package sqlstore

import (
	"context"

	"penstock"
	"penstock/internal/store"
	"penstock/internal/store/sqldb"
)

var addTruncation = sqldb.InsertInto("truncations", "subject_id text, tenant_id text, policy text, turns bigint, tokens_before bigint, tokens_after bigint, context_tokens bigint",
	"ON CONFLICT (subject_id) DO NOTHING")

// truncated is what was dropped of the input of an item or a call; nil for nothing.
type truncated struct {
	tenant  penstock.TenantID
	subject penstock.ID
	what    *penstock.Truncation
}

func (t truncated) insert(ctx context.Context, tx sqldb.Tx) error {
	if t.what == nil {
		return nil
	}
	return tx.Put(ctx, addTruncation, string(t.subject), string(t.tenant), string(t.what.Policy), t.what.Turns, t.what.TokensBefore, t.what.TokensAfter, t.what.ContextTokens)
}

// insertItemTruncations writes what was dropped of items of a tenant's job.
func insertItemTruncations(ctx context.Context, tx sqldb.Tx, tenant penstock.TenantID, s store.Split) error {
	for i := range s.Items {
		if err := (truncated{tenant, penstock.ItemID(s.Job, s.From+i), s.Items[i].Truncated}).insert(ctx, tx); err != nil {
			return err
		}
	}
	return nil
}

// copyItemTruncations writes what was dropped of items that run the bodies of earlier items again, in the same order. An item that
// was shortened anew has a row already.
func copyItemTruncations(ctx context.Context, tx sqldb.Tx, j penstock.Job, earlier []penstock.ID) error {
	at := make(map[penstock.ID]int, len(earlier))
	for i, id := range earlier {
		at[id] = i
	}
	var found []truncated
	q := sqldb.IDQuery{SQL: `SELECT subject_id, ` + truncationColumns + ` FROM truncations
		WHERE subject_id = /*pg ANY */($1) AND tenant_id = $2`, IDs: sqldb.Strings(earlier), Args: []any{j.Tenant}}
	err := tx.QueryIn(ctx, q, func(row sqldb.Row) error {
		var subject penstock.ID
		var t penstock.Truncation
		if err := row.Scan(&subject, &t.Policy, &t.Turns, &t.TokensBefore, &t.TokensAfter, &t.ContextTokens); err != nil {
			return err
		}
		found = append(found, truncated{j.Tenant, penstock.ItemID(j.ID, at[subject]), &t})
		return nil
	})
	for _, t := range found {
		if err == nil {
			err = t.insert(ctx, tx)
		}
	}
	return err
}

const truncationColumns = `policy, turns, tokens_before, tokens_after, context_tokens`

// findTruncation returns what was dropped of the input of an item or a call, nil for nothing.
func findTruncation(ctx context.Context, tx sqldb.Tx, tenant penstock.TenantID, subject penstock.ID) (*penstock.Truncation, error) {
	found, ok, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT `+truncationColumns+` FROM truncations
		WHERE subject_id = $1 AND tenant_id = $2`, subject, tenant), func(row sqldb.Row) (t penstock.Truncation, err error) {
		return t, row.Scan(&t.Policy, &t.Turns, &t.TokensBefore, &t.TokensAfter, &t.ContextTokens)
	})
	if err != nil || !ok {
		return nil, err
	}
	return &found, nil
}
