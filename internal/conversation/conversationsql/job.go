package conversationsql

import (
	"context"

	"penstock"
	"penstock/internal/conversation"
	"penstock/internal/store/sqldb"
	"penstock/internal/store/storedrow"
)

// touch locks the row of a conversation. All transactions that change a conversation lock it first, so they follow each other.
func touch(ctx context.Context, tx sqldb.Tx, tenant penstock.TenantID, id penstock.ID) (found bool, err error) {
	_, found, err = sqldb.QueryOne(ctx, tx, sqldb.SQL(`UPDATE conversations SET updated_at = $1 WHERE tenant_id = $2 AND id = $3 RETURNING id`,
		sqldb.Micros(tx.Now()), tenant, id), sqldb.ScanOne[penstock.ID])
	return found, err
}

// AddJobTurn implements conversation.Jobs.
func (s *Store) AddJobTurn(ctx context.Context, tenant penstock.TenantID, t conversation.JobTurn) error {
	return s.db.Write(ctx, "add_job_turn", func(tx sqldb.Tx) error {
		found, err := touch(ctx, tx, tenant, t.Conversation)
		if err != nil {
			return err
		}
		if !found {
			return penstock.NotFound(conversation.ViewConversation, t.Conversation)
		}
		open, _, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT COUNT(*) FROM conversation_jobs WHERE conversation_id = $1 AND settled = 0 AND tenant_id = $2`,
			t.Conversation, tenant), sqldb.ScanOne[int64])
		if err != nil {
			return err
		}
		if open >= conversation.MaxOpenJobs {
			return &penstock.Error{Code: penstock.CodeConflict, Param: "conversation", Message: "Too many responses of the conversation have not ended; wait until some have."}
		}
		return tx.Do(ctx, `INSERT INTO conversation_jobs (tenant_id, job_id, conversation_id, own) VALUES ($1, $2, $3, $4)`,
			tenant, t.Job, t.Conversation, int64(t.Own))
	})
}

// RemoveJobTurn implements conversation.Jobs.
func (s *Store) RemoveJobTurn(ctx context.Context, tenant penstock.TenantID, job penstock.ID) error {
	return s.db.Write(ctx, "remove_job_turn", func(tx sqldb.Tx) error {
		return tx.Do(ctx, `DELETE FROM conversation_jobs WHERE tenant_id = $1 AND job_id = $2 AND settled = 0`, tenant, job)
	})
}

// OpenJobTurns implements conversation.Jobs.
func (s *Store) OpenJobTurns(ctx context.Context, tenant penstock.TenantID, id penstock.ID) (open []conversation.JobTurn, err error) {
	err = s.db.Read(ctx, func(tx sqldb.Tx) error {
		open, err = sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT job_id, own FROM conversation_jobs
			WHERE conversation_id = $1 AND settled = 0 AND tenant_id = $2 ORDER BY job_id LIMIT $3`, id, tenant, conversation.MaxOpenJobs),
			func(row sqldb.Row) (t conversation.JobTurn, err error) {
				t.Conversation = id
				return t, row.Scan(&t.Job, &t.Own)
			})
		return err
	})
	return open, err
}

// SettleJobTurn implements conversation.Jobs.
func (s *Store) SettleJobTurn(ctx context.Context, tenant penstock.TenantID, t conversation.JobTurn, items []conversation.Item) error {
	return s.db.Write(ctx, "settle_job_turn", func(tx sqldb.Tx) error {
		kept, err := touch(ctx, tx, tenant, t.Conversation)
		if err != nil {
			return err
		}
		_, open, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`UPDATE conversation_jobs SET settled = 1
			WHERE tenant_id = $1 AND job_id = $2 AND conversation_id = $3 AND settled = 0 RETURNING job_id`, tenant, t.Job, t.Conversation), sqldb.ScanOne[penstock.ID])
		if err != nil || !open || !kept || len(items) == 0 {
			return err
		}
		// The quota does not count here: the answer was accepted, made and paid for.
		sums := storedrow.Changes{}
		if _, err := s.grow(ctx, tx, growth{tenant: tenant, id: t.Conversation, items: items, sums: sums}); err != nil {
			return err
		}
		return sums.Save(ctx, tx)
	})
}

// purgeJobTurns removes settled turns of jobs that are older than p.Kept. They are kept that long, so that a repeated settlement finds
// them.
func (s *Store) purgeJobTurns(ctx context.Context, tenant penstock.TenantID, p conversation.Purge) error {
	find := func(tx sqldb.Tx, limit int) ([]penstock.ID, error) {
		return sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT job_id FROM conversation_jobs WHERE tenant_id = $1 AND job_id < $2 AND settled = 1 ORDER BY job_id LIMIT $3`,
			tenant, penstock.FirstID(tx.Now().Add(-p.Kept)), limit), sqldb.ScanOne[penstock.ID])
	}
	var found []penstock.ID
	err := s.db.Read(ctx, func(tx sqldb.Tx) (err error) {
		found, err = find(tx, 1)
		return err
	})
	if err != nil || len(found) == 0 {
		return err
	}
	return s.db.Write(ctx, "purge_job_turns", func(tx sqldb.Tx) (err error) {
		if found, err = find(tx, p.Limit); err != nil {
			return err
		}
		return tx.QueryIn(ctx, sqldb.IDQuery{IDs: sqldb.Strings(found), Args: []any{tenant},
			SQL: `DELETE FROM conversation_jobs WHERE job_id = /*pg ANY */($1) AND tenant_id = $2 RETURNING job_id`},
			func(row sqldb.Row) error { return row.Scan(new(string)) })
	})
}
