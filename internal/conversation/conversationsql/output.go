package conversationsql

import (
	"context"
	"maps"
	"slices"

	"penstock"
	"penstock/internal/conversation"
	"penstock/internal/store/sqldb"
)

// sealedItem is an item of a conversation as its row has it.
type sealedItem struct {
	conversation penstock.ID
	seq          int64
	id           string
	body         []byte
}

// Outputs implements conversation.Responses.
func (s *Store) Outputs(ctx context.Context, tenant penstock.TenantID, ids []string) (out conversation.Outputs, err error) {
	if len(ids) == 0 {
		return out, nil
	}
	var items []sealedItem
	var objects map[penstock.ID][]byte
	err = s.db.Read(ctx, func(tx sqldb.Tx) error {
		if out.Positions, err = positions(ctx, tx, tenant, ids); err != nil {
			return err
		}
		if objects, err = outputObjects(ctx, tx, tenant, out.Positions); err != nil {
			return err
		}
		items, err = itemsByID(ctx, tx, tenant, ids)
		return err
	})
	if err != nil {
		return out, err
	}
	out.Items, out.Objects = make(map[string][]byte, len(items)), make(map[penstock.ID][]byte, len(objects))
	for _, i := range items {
		if out.Items[i.id], err = s.open(itemOwner(tenant, i.conversation, i.seq), i.body); err != nil {
			return out, sqldb.PublicError(err)
		}
	}
	for id, object := range objects {
		if out.Objects[id], err = s.open(responseOwner(tenant, id, partObject), object); err != nil {
			return out, sqldb.PublicError(err)
		}
	}
	return out, nil
}

func positions(ctx context.Context, tx sqldb.Tx, tenant penstock.TenantID, ids []string) (map[string]conversation.Position, error) {
	all := map[string]conversation.Position{}
	err := tx.QueryIn(ctx, sqldb.IDQuery{IDs: ids, Args: []any{tenant},
		SQL: `SELECT id, response_id, position FROM response_items WHERE id = /*pg ANY */($1) AND tenant_id = $2`},
		func(row sqldb.Row) error {
			var id string
			var p conversation.Position
			err := row.Scan(&id, &p.Response, &p.Index)
			all[id] = p
			return err
		})
	return all, err
}

// outputObjects are the responses that have the items at these positions.
func outputObjects(ctx context.Context, tx sqldb.Tx, tenant penstock.TenantID, at map[string]conversation.Position) (map[penstock.ID][]byte, error) {
	all := map[penstock.ID][]byte{}
	for _, p := range at {
		all[p.Response] = nil
	}
	from := sqldb.Strings(slices.Collect(maps.Keys(all)))
	clear(all)
	if len(from) == 0 {
		return all, nil
	}
	err := tx.QueryIn(ctx, sqldb.IDQuery{IDs: from, Args: []any{tenant}, SQL: `SELECT id, object FROM responses WHERE id = /*pg ANY */($1) AND tenant_id = $2`},
		func(row sqldb.Row) error {
			var id penstock.ID
			var object []byte
			err := row.Scan(&id, &object)
			all[id] = object
			return err
		})
	return all, err
}

func itemsByID(ctx context.Context, tx sqldb.Tx, tenant penstock.TenantID, ids []string) (all []sealedItem, err error) {
	err = tx.QueryIn(ctx, sqldb.IDQuery{IDs: ids, Args: []any{tenant},
		SQL: `SELECT conversation_id, seq, id, body FROM conversation_items WHERE id = /*pg ANY */($1) AND tenant_id = $2 ORDER BY conversation_id, seq`},
		func(row sqldb.Row) error {
			i, err := scanItem(row)
			all = append(all, i)
			return err
		})
	return all, err
}

func scanItem(row sqldb.Row) (i sealedItem, err error) {
	return i, row.Scan(&i.conversation, &i.seq, &i.id, &i.body)
}
