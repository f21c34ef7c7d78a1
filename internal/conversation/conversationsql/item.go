package conversationsql

import (
	"context"
	"fmt"

	"penstock"
	"penstock/internal/conversation"
	"penstock/internal/store/sqldb"
	"penstock/internal/store/storedrow"
)

// growth are items that a conversation grows by.
type growth struct {
	tenant penstock.TenantID
	id     penstock.ID
	items  []conversation.Item
	most   int64 // the most items that the conversation may have afterwards, 0 for any number
	sums   storedrow.Changes
}

var insertItem = sqldb.InsertInto("conversation_items", "conversation_id text, seq bigint, tenant_id text, id text, body bytea, bytes bigint", "")

// grow adds items at the end of a conversation, and returns them with their ids. The update of the conversation's row makes turns
// that end at the same time follow each other. Codes: not_found, invalid_request (it is full).
func (s *Store) grow(ctx context.Context, tx sqldb.Tx, g growth) ([]conversation.Item, error) {
	var bytes int64
	for i := range g.items {
		bytes += int64(len(g.items[i].Body))
	}
	n := int64(len(g.items))
	next, found, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`UPDATE conversations SET next_seq = next_seq + $1, items = items + $1, bytes = bytes + $2, updated_at = $3
		WHERE tenant_id = $4 AND id = $5 RETURNING next_seq, items`, n, bytes, sqldb.Micros(tx.Now()), g.tenant, g.id),
		func(row sqldb.Row) (v [2]int64, err error) { return v, row.Scan(&v[0], &v[1]) })
	switch {
	case err != nil:
		return nil, err
	case !found:
		return nil, penstock.NotFound(conversation.ViewConversation, g.id)
	case g.most > 0 && next[1] > g.most:
		return nil, penstock.InvalidParam("items", "Conversation %s may have %d items; delete some, or begin another conversation.",
			conversation.ViewConversation.Format(g.id), g.most)
	}
	g.sums.Job(g.tenant, g.id, bytes)
	taken, err := s.taken(ctx, tx, g)
	if err != nil {
		return nil, err
	}
	added := make([]conversation.Item, len(g.items))
	for i, item := range g.items {
		seq := next[0] - n + int64(i)
		item.ID = sqldb.Storable(item.ID)
		if taken[item.ID] { // an id names one item of a conversation
			item.ID = fmt.Sprintf("%s_%d", item.ID, seq)
		}
		taken[item.ID] = true
		sealed, err := s.codec.Seal(itemOwner(g.tenant, g.id, seq), item.Body)
		if err != nil {
			return nil, err
		}
		if err := tx.Put(ctx, insertItem, g.id, seq, g.tenant, item.ID, sealed, int64(len(item.Body))); err != nil {
			return nil, err
		}
		added[i] = item
	}
	return added, nil
}

// taken are those ids of new items that items of the conversation have already.
func (s *Store) taken(ctx context.Context, tx sqldb.Tx, g growth) (map[string]bool, error) {
	ids := make([]string, len(g.items))
	for i := range g.items {
		ids[i] = sqldb.Storable(g.items[i].ID)
	}
	taken := map[string]bool{}
	err := tx.QueryIn(ctx, sqldb.IDQuery{IDs: ids, Args: []any{g.tenant, g.id},
		SQL: `SELECT id FROM conversation_items WHERE id = /*pg ANY */($1) AND tenant_id = $2 AND conversation_id = $3`},
		func(row sqldb.Row) error {
			var id string
			err := row.Scan(&id)
			taken[id] = true
			return err
		})
	return taken, err
}

// add adds items for a caller, within all bounds.
func (s *Store) add(ctx context.Context, tx sqldb.Tx, tenant penstock.TenantID, a conversation.Addition) ([]conversation.Item, error) {
	var bytes int64
	for i := range a.Items {
		bytes += int64(len(a.Items[i].Body))
	}
	if err := fits(ctx, tx, tenant, stored{a.StoredLimit, bytes}); err != nil {
		return nil, err
	}
	sums := storedrow.Changes{}
	added, err := s.grow(ctx, tx, growth{tenant: tenant, id: a.Conversation, items: a.Items, most: conversation.MaxItems, sums: sums})
	if err != nil {
		return nil, err
	}
	return added, sums.Save(ctx, tx)
}

// AddItems implements conversation.Items.
func (s *Store) AddItems(ctx context.Context, tenant penstock.TenantID, a conversation.Addition) (added []conversation.Item, err error) {
	err = s.db.Write(ctx, "add_items", func(tx sqldb.Tx) error {
		added, err = s.add(ctx, tx, tenant, a)
		return err
	})
	return added, err
}

// ListItems implements conversation.Items.
func (s *Store) ListItems(ctx context.Context, tenant penstock.TenantID, p conversation.ItemPage) (all []conversation.Item, err error) {
	var rows []sealedItem
	err = s.db.Read(ctx, func(tx sqldb.Tx) error {
		if _, err := find(ctx, tx, tenant, p.Conversation); err != nil {
			return err
		}
		after := int64(-1)
		if p.After != "" {
			last, err := findItem(ctx, tx, tenant, conversation.ItemKey{Conversation: p.Conversation, Item: p.After})
			if err != nil {
				return err
			}
			after = last.seq
		}
		rows, err = sqldb.QueryAll(ctx, tx, pageQuery(tenant, p, after), scanItem)
		return err
	})
	if err != nil {
		return nil, err
	}
	all = make([]conversation.Item, len(rows))
	for i, row := range rows {
		if all[i], err = s.item(tenant, row); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// pageQuery selects the rows of a page. after is the place of the last item of the page before, -1 for the first page.
func pageQuery(tenant penstock.TenantID, p conversation.ItemPage, after int64) sqldb.Query {
	const rows = `SELECT conversation_id, seq, id, body FROM conversation_items WHERE conversation_id = $1 AND tenant_id = $2 AND `
	switch {
	case p.Newest && after < 0:
		return sqldb.SQL(rows+`seq > $3 ORDER BY seq DESC LIMIT $4`, p.Conversation, tenant, after, p.Limit)
	case p.Newest:
		return sqldb.SQL(rows+`seq < $3 ORDER BY seq DESC LIMIT $4`, p.Conversation, tenant, after, p.Limit)
	}
	return sqldb.SQL(rows+`seq > $3 ORDER BY seq LIMIT $4`, p.Conversation, tenant, after, p.Limit)
}

func findItem(ctx context.Context, tx sqldb.Reader, tenant penstock.TenantID, k conversation.ItemKey) (sealedItem, error) {
	row, found, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT conversation_id, seq, id, body FROM conversation_items
		WHERE tenant_id = $1 AND id = $2 AND conversation_id = $3`, tenant, sqldb.Storable(k.Item), k.Conversation), scanItem)
	if err == nil && !found {
		err = errNoItem(k)
	}
	return row, err
}

func errNoItem(k conversation.ItemKey) error {
	return penstock.Errorf(penstock.CodeNotFound, "Conversation %s has no such item.", conversation.ViewConversation.Format(k.Conversation))
}

// item opens a row.
func (s *Store) item(tenant penstock.TenantID, row sealedItem) (conversation.Item, error) {
	text, err := s.open(itemOwner(tenant, row.conversation, row.seq), row.body)
	return conversation.Item{ID: row.id, Body: text}, sqldb.PublicError(err)
}

// Item implements conversation.Items.
func (s *Store) Item(ctx context.Context, tenant penstock.TenantID, k conversation.ItemKey) (conversation.Item, error) {
	var row sealedItem
	err := s.db.Read(ctx, func(tx sqldb.Tx) (err error) {
		row, err = findItem(ctx, tx, tenant, k)
		return err
	})
	if err != nil {
		return conversation.Item{}, err
	}
	return s.item(tenant, row)
}

// DeleteItem implements conversation.Items.
func (s *Store) DeleteItem(ctx context.Context, tenant penstock.TenantID, k conversation.ItemKey) (c conversation.Conversation, err error) {
	err = s.db.Write(ctx, "delete_item", func(tx sqldb.Tx) error {
		row, err := findItem(ctx, tx, tenant, k)
		if err != nil {
			return err
		}
		bytes, found, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`DELETE FROM conversation_items WHERE conversation_id = $1 AND seq = $2 AND tenant_id = $3 RETURNING bytes`,
			row.conversation, row.seq, tenant), sqldb.ScanOne[int64])
		if err != nil {
			return err
		}
		if !found { // another call deleted it meanwhile
			return errNoItem(k)
		}
		c, _, err = sqldb.QueryOne(ctx, tx, sqldb.SQL(`UPDATE conversations SET items = items - 1, bytes = bytes - $1, updated_at = $2
			WHERE tenant_id = $3 AND id = $4 RETURNING `+columns, bytes, sqldb.Micros(tx.Now()), tenant, k.Conversation), scanConversation)
		if err != nil {
			return err
		}
		sums := storedrow.Changes{}
		sums.Job(tenant, k.Conversation, -bytes)
		return sums.Save(ctx, tx)
	})
	return c, err
}
