package conversationsql

import (
	"context"
	"encoding/json"
	"fmt"

	"penstock"
	"penstock/internal/audit"
	"penstock/internal/conversation"
	"penstock/internal/store/sqldb"
)

const columns = `id, tenant_id, metadata, items, created_at, updated_at`

func scanConversation(row sqldb.Row) (c conversation.Conversation, err error) {
	var metadata string
	var created, updated int64
	if err := row.Scan(&c.ID, &c.Tenant, &metadata, &c.Items, &created, &updated); err != nil {
		return c, err
	}
	c.CreatedAt, c.UpdatedAt = sqldb.FromMicros(created), sqldb.FromMicros(updated)
	return c, json.Unmarshal([]byte(metadata), &c.Metadata)
}

// metadataText is metadata as its column has it.
func metadataText(m map[string]string) (string, error) {
	if m == nil {
		m = map[string]string{}
	}
	text, err := json.Marshal(m)
	if err != nil {
		return "", fmt.Errorf("encoding metadata: %w", err)
	}
	return sqldb.Storable(string(text)), nil
}

// Create implements conversation.Conversations.
func (s *Store) Create(ctx context.Context, c conversation.Conversation, add conversation.Addition) (conversation.Conversation, error) {
	metadata, err := metadataText(c.Metadata)
	if err != nil {
		return c, sqldb.PublicError(err)
	}
	err = s.db.Write(ctx, "create_conversation", func(tx sqldb.Tx) error {
		c.CreatedAt, c.UpdatedAt, c.Items = tx.Now(), tx.Now(), int64(len(add.Items))
		err := tx.Do(ctx, `INSERT INTO conversations (id, tenant_id, metadata, created_at, updated_at) VALUES ($1, $2, $3, $4, $4)`,
			c.ID, c.Tenant, metadata, sqldb.Micros(c.CreatedAt))
		if err != nil || len(add.Items) == 0 {
			return err
		}
		_, err = s.add(ctx, tx, c.Tenant, add)
		return err
	})
	return c, err
}

// Conversation implements conversation.Conversations.
func (s *Store) Conversation(ctx context.Context, tenant penstock.TenantID, id penstock.ID) (c conversation.Conversation, err error) {
	err = s.db.Read(ctx, func(tx sqldb.Tx) error {
		c, err = find(ctx, tx, tenant, id)
		return err
	})
	return c, err
}

func find(ctx context.Context, tx sqldb.Reader, tenant penstock.TenantID, id penstock.ID) (conversation.Conversation, error) {
	c, found, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT `+columns+` FROM conversations WHERE tenant_id = $1 AND id = $2`, tenant, id), scanConversation)
	if err == nil && !found {
		err = penstock.NotFound(conversation.ViewConversation, id)
	}
	return c, err
}

// Update implements conversation.Conversations.
func (s *Store) Update(ctx context.Context, c conversation.Conversation) (updated conversation.Conversation, err error) {
	metadata, err := metadataText(c.Metadata)
	if err != nil {
		return c, sqldb.PublicError(err)
	}
	err = s.db.Write(ctx, "update_conversation", func(tx sqldb.Tx) error {
		var found bool
		updated, found, err = sqldb.QueryOne(ctx, tx, sqldb.SQL(`UPDATE conversations SET metadata = $1, updated_at = $2 WHERE tenant_id = $3 AND id = $4 RETURNING `+columns,
			metadata, sqldb.Micros(tx.Now()), c.Tenant, c.ID), scanConversation)
		if err == nil && !found {
			err = penstock.NotFound(conversation.ViewConversation, c.ID)
		}
		return err
	})
	return updated, err
}

// Delete implements conversation.Conversations.
func (s *Store) Delete(ctx context.Context, tenant penstock.TenantID, r conversation.Removal) error {
	return s.db.Write(ctx, "delete_conversation", func(tx sqldb.Tx) error {
		removed, err := removeConversations(ctx, tx, tenant, []penstock.ID{r.ID})
		if err != nil {
			return err
		}
		if removed == 0 {
			return penstock.NotFound(conversation.ViewConversation, r.ID)
		}
		return s.audit.Write(ctx, tx, audit.Entry{Tenant: tenant, Actor: r.Actor, Action: conversation.ActionDeleteConversation,
			Subject: conversation.ViewConversation.Format(r.ID)})
	})
}

// removeConversations removes conversations of a tenant with their items.
func removeConversations(ctx context.Context, tx sqldb.Tx, tenant penstock.TenantID, ids []penstock.ID) (removed int, err error) {
	return remove(ctx, tx, removal{tenant: tenant, ids: ids,
		owners: `DELETE FROM conversations WHERE id = /*pg ANY */($1) AND tenant_id = $2 RETURNING id, bytes`,
		parts: []string{`DELETE FROM conversation_items WHERE conversation_id = /*pg ANY */($1) AND tenant_id = $2 RETURNING id`,
			`DELETE FROM conversation_jobs WHERE conversation_id = /*pg ANY */($1) AND tenant_id = $2 RETURNING job_id`},
	})
}

// PurgeConversations implements conversation.Conversations.
func (s *Store) PurgeConversations(ctx context.Context, tenant penstock.TenantID, p conversation.Purge) (done conversation.Purged, err error) {
	if err := s.purgeJobTurns(ctx, tenant, p); err != nil {
		return done, err
	}
	type aged struct {
		id      penstock.ID
		updated int64
	}
	find := func(tx sqldb.Tx, limit int) ([]aged, error) {
		return sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT id, updated_at FROM conversations WHERE tenant_id = $1 AND updated_at < $2 ORDER BY updated_at, id LIMIT $3`,
			tenant, sqldb.Micros(tx.Now().Add(-p.Kept)), limit), func(row sqldb.Row) (a aged, err error) { return a, row.Scan(&a.id, &a.updated) })
	}
	var oldest []aged
	err = s.db.Read(ctx, func(tx sqldb.Tx) error {
		if oldest, err = find(tx, 1); err == nil && len(oldest) > 0 {
			done.Overdue = tx.Now().Sub(sqldb.FromMicros(oldest[0].updated).Add(p.Kept))
		}
		return err
	})
	if err != nil || len(oldest) == 0 {
		return done, err
	}
	// A conversation has up to MaxItems items, so a step removes few of them.
	limit := max(1, p.Limit/20)
	err = s.db.Write(ctx, "purge_conversations", func(tx sqldb.Tx) error {
		found, err := find(tx, limit)
		if err != nil {
			return err
		}
		ids := make([]penstock.ID, len(found))
		for i := range found {
			ids[i] = found[i].id
		}
		done.More = len(found) == limit
		done.Removed, err = removeConversations(ctx, tx, tenant, ids)
		return err
	})
	return done, err
}
