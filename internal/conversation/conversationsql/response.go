package conversationsql

import (
	"cmp"
	"context"
	"slices"

	"penstock"
	"penstock/internal/audit"
	"penstock/internal/conversation"
	"penstock/internal/store/sqldb"
	"penstock/internal/store/storedrow"
)

// sealedTurn is a turn with its sealed parts. Sealing takes time, so it is done before the transaction begins.
type sealedTurn struct {
	conversation.Turn
	input, object []byte
}

func (s *Store) sealTurns(turns []conversation.Turn) ([]sealedTurn, error) {
	all := make([]sealedTurn, len(turns))
	for i, t := range turns {
		all[i].Turn = t
		if !t.Kept {
			continue
		}
		var err error
		if all[i].input, err = s.codec.Seal(responseOwner(t.Tenant, t.ID, partInput), t.Input); err != nil {
			return nil, err
		}
		if all[i].object, err = s.codec.Seal(responseOwner(t.Tenant, t.ID, partObject), t.Object); err != nil {
			return nil, err
		}
	}
	return all, nil
}

var (
	insertResponse = sqldb.InsertInto("responses", "id text, tenant_id text, input bytea, object bytea, bytes bigint, created_at bigint", "")
	insertOutput   = sqldb.InsertInto("response_items", "tenant_id text, id text, response_id text, position bigint",
		`ON CONFLICT (tenant_id, id) DO UPDATE SET response_id = excluded.response_id, position = excluded.position`)
)

// SaveTurns implements conversation.Responses.
func (s *Store) SaveTurns(ctx context.Context, turns []conversation.Turn) error {
	sealed, err := s.sealTurns(turns)
	if err != nil {
		return sqldb.PublicError(err)
	}
	// Transactions of several processes lock the conversations that they share in one order.
	slices.SortStableFunc(sealed, func(a, b sealedTurn) int { return cmp.Compare(a.Conversation, b.Conversation) })
	return s.db.Write(ctx, "save_turns", func(tx sqldb.Tx) error {
		sums := storedrow.Changes{}
		for i := range sealed {
			if err := s.saveTurn(ctx, tx, &sealed[i], sums); err != nil {
				return err
			}
		}
		return sums.Save(ctx, tx)
	})
}

func (s *Store) saveTurn(ctx context.Context, tx sqldb.Tx, t *sealedTurn, sums storedrow.Changes) error {
	bytes := int64(len(t.Input) + len(t.Object))
	if err := fits(ctx, tx, t.Tenant, stored{t.StoredLimit, bytes}); err != nil {
		return err
	}
	if t.Conversation != "" {
		// A conversation that is gone does not grow: its caller has the answer, and deleted the rest.
		_, err := s.grow(ctx, tx, growth{tenant: t.Tenant, id: t.Conversation, items: t.Items, sums: sums})
		if err != nil && penstock.ErrorCode(err) != penstock.CodeNotFound {
			return err
		}
	}
	if !t.Kept {
		return nil
	}
	if err := tx.Put(ctx, insertResponse, t.ID, t.Tenant, t.input, t.object, bytes, sqldb.Micros(tx.Now())); err != nil {
		return err
	}
	sums.Job(t.Tenant, t.ID, bytes)
	seen := map[string]bool{}
	for at, id := range t.Output {
		if id = sqldb.Storable(id); id == "" || seen[id] {
			continue
		}
		seen[id] = true
		if err := tx.Put(ctx, insertOutput, t.Tenant, id, t.ID, int64(at)); err != nil {
			return err
		}
	}
	return nil
}

// Response implements conversation.Responses.
func (s *Store) Response(ctx context.Context, tenant penstock.TenantID, id penstock.ID) (r conversation.Response, err error) {
	var input, object []byte
	err = s.db.Read(ctx, func(tx sqldb.Tx) error {
		var found bool
		r, found, err = sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT input, object, created_at FROM responses WHERE tenant_id = $1 AND id = $2`, tenant, id),
			func(row sqldb.Row) (r conversation.Response, err error) {
				var created int64
				err = row.Scan(&input, &object, &created)
				r.ID, r.CreatedAt = id, sqldb.FromMicros(created)
				return r, err
			})
		if err == nil && !found {
			err = penstock.NotFound(penstock.ViewResponse, id)
		}
		return err
	})
	if err != nil {
		return r, err
	}
	if r.Input, err = s.open(responseOwner(tenant, id, partInput), input); err == nil {
		r.Object, err = s.open(responseOwner(tenant, id, partObject), object)
	}
	return r, sqldb.PublicError(err)
}

// DeleteResponse implements conversation.Responses.
func (s *Store) DeleteResponse(ctx context.Context, tenant penstock.TenantID, r conversation.Removal) error {
	return s.db.Write(ctx, "delete_response", func(tx sqldb.Tx) error {
		removed, err := removeResponses(ctx, tx, tenant, []penstock.ID{r.ID})
		if err != nil {
			return err
		}
		if removed == 0 {
			return penstock.NotFound(penstock.ViewResponse, r.ID)
		}
		return s.audit.Write(ctx, tx, audit.Entry{Tenant: tenant, Actor: r.Actor, Action: conversation.ActionDeleteResponse, Subject: penstock.ViewResponse.Format(r.ID)})
	})
}

// removeResponses removes responses of a tenant with the index of their items.
func removeResponses(ctx context.Context, tx sqldb.Tx, tenant penstock.TenantID, ids []penstock.ID) (removed int, err error) {
	return remove(ctx, tx, removal{tenant: tenant, ids: ids,
		owners: `DELETE FROM responses WHERE id = /*pg ANY */($1) AND tenant_id = $2 RETURNING id, bytes`,
		parts:  []string{`DELETE FROM response_items WHERE response_id = /*pg ANY */($1) AND tenant_id = $2 RETURNING id`},
	})
}

// removal is a removal of rows and of the rows that belong to them.
type removal struct {
	tenant penstock.TenantID
	ids    []penstock.ID
	owners string   // the statement that removes the rows and returns their ids and bytes
	parts  []string // the statements that remove the rows that belong to them, each returns one column of text
}

// remove removes rows with their parts, subtracts their bytes from the tenant's sum, and returns the number of removed rows, parts not counted.
func remove(ctx context.Context, tx sqldb.Tx, r removal) (removed int, err error) {
	sums := storedrow.Changes{}
	err = tx.QueryIn(ctx, sqldb.IDQuery{IDs: sqldb.Strings(r.ids), Args: []any{r.tenant}, SQL: r.owners}, func(row sqldb.Row) error {
		var id penstock.ID
		var bytes int64
		err := row.Scan(&id, &bytes)
		sums.Job(r.tenant, id, -bytes)
		removed++
		return err
	})
	if err != nil || removed == 0 {
		return removed, err
	}
	for _, parts := range r.parts {
		err = tx.QueryIn(ctx, sqldb.IDQuery{IDs: sqldb.Strings(r.ids), Args: []any{r.tenant}, SQL: parts}, func(row sqldb.Row) error { return row.Scan(new(string)) })
		if err != nil {
			return removed, err
		}
	}
	return removed, sums.Save(ctx, tx)
}

// PurgeResponses implements conversation.Responses. The id of a response has the time of its creation.
func (s *Store) PurgeResponses(ctx context.Context, tenant penstock.TenantID, p conversation.Purge) (done conversation.Purged, err error) {
	find := func(tx sqldb.Tx, limit int) ([]penstock.ID, error) {
		return sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT id FROM responses WHERE tenant_id = $1 AND id < $2 ORDER BY id LIMIT $3`,
			tenant, penstock.FirstID(tx.Now().Add(-p.Kept)), limit), sqldb.ScanOne[penstock.ID])
	}
	var oldest []penstock.ID
	err = s.db.Read(ctx, func(tx sqldb.Tx) error {
		if oldest, err = find(tx, 1); err == nil && len(oldest) > 0 {
			done.Overdue = tx.Now().Sub(oldest[0].Time().Add(p.Kept))
		}
		return err
	})
	if err != nil || len(oldest) == 0 {
		return done, err
	}
	err = s.db.Write(ctx, "purge_responses", func(tx sqldb.Tx) error {
		found, err := find(tx, p.Limit)
		if err != nil {
			return err
		}
		done.More = len(found) == p.Limit
		done.Removed, err = removeResponses(ctx, tx, tenant, found)
		return err
	})
	return done, err
}
