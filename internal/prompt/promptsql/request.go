package promptsql

import (
	"context"

	"penstock"
	"penstock/internal/audit"
	"penstock/internal/outbox"
	"penstock/internal/prompt"
	"penstock/internal/store/sqldb"
)

const requestColumns = `id, label, version, from_version, revision, reason, state, author_id, author, created_at, decided_by, decided_at, note`

func scanRequest(p row) func(sqldb.Row) (prompt.Request, error) {
	return func(r sqldb.Row) (q prompt.Request, err error) {
		q.Prompt = p.Name
		var at, decided int64
		err = r.Scan(&q.ID, &q.Label, &q.Version, &q.From, &q.Revision, &q.Reason, &q.State, &q.By.ID, &q.By.Name, &at, &q.DecidedBy, &decided, &q.Note)
		q.At, q.DecidedAt = sqldb.FromMicros(at), sqldb.FromMicros(decided)
		return q, err
	}
}

func findRequest(ctx context.Context, tx sqldb.Reader, p row, id penstock.ID) (prompt.Request, error) {
	q, ok, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT `+requestColumns+` FROM prompt_label_requests WHERE tenant_id = $1 AND prompt_id = $2 AND id = $3`, p.Tenant, p.ID, id), scanRequest(p))
	if err == nil && !ok {
		err = penstock.NotFound(prompt.ViewRequest, id)
	}
	return q, err
}

// AddRequest implements prompt.Requests.
func (s *Store) AddRequest(ctx context.Context, tenant penstock.TenantID, n prompt.NewRequest) (q prompt.Request, err error) {
	m := n.Move
	err = s.db.Write(ctx, "prompt_label_request", func(tx sqldb.Tx) error {
		p, err := change(ctx, tx, tenant, m.Name)
		if err != nil {
			return err
		}
		if _, err := findVersion(ctx, tx, p, m.Version); err != nil {
			return err
		}
		open, _, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT COUNT(*) FROM prompt_label_requests WHERE tenant_id = $1 AND prompt_id = $2 AND state = $3`,
			tenant, p.ID, string(prompt.RequestOpen)), sqldb.ScanOne[int64])
		if err != nil {
			return err
		}
		if open >= prompt.MaxOpenRequests {
			return penstock.Errorf(penstock.CodeConflict, "The prompt %s has %d open requests, which is the most; decide about them first.", m.Name, open)
		}
		was, _, err := labelOf(ctx, tx, p, m.Label)
		if err != nil {
			return err
		}
		if err := conditions(m, was); err != nil {
			return err
		}
		if was.Version == m.Version {
			return penstock.Errorf(penstock.CodeConflict, "The label %s names version %d already.", m.Label, m.Version)
		}
		q = prompt.Request{ID: n.ID, Prompt: p.Name, Label: m.Label, Version: m.Version, From: was.Version, Revision: was.Revision,
			Reason: sqldb.Storable(m.Reason), State: prompt.RequestOpen, By: m.Actor, At: tx.Now()}
		q.By.Name = name(m.Actor)
		return s.insertRequest(ctx, tx, p, q)
	})
	return q, err
}

func (s *Store) insertRequest(ctx context.Context, tx sqldb.Tx, p row, q prompt.Request) error {
	err := tx.Do(ctx, `INSERT INTO prompt_label_requests (tenant_id, prompt_id, id, label, version, from_version, revision, reason, state, author_id, author, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`, p.Tenant, p.ID, q.ID, q.Label, q.Version, q.From, q.Revision, q.Reason, string(q.State),
		sqldb.Storable(q.By.ID), q.By.Name, sqldb.Micros(q.At))
	if err != nil {
		return err
	}
	shown := prompt.ViewRequest.Format(q.ID)
	err = s.note(ctx, tx, q.By, audit.Entry{Tenant: p.Tenant, Action: prompt.ActionRequestLabel, Subject: p.Name,
		After: map[string]any{"request": shown, "label": q.Label, "version": q.Version, "reason": q.Reason}})
	if err != nil {
		return err
	}
	return outbox.Publish(ctx, tx, outbox.Event{Tenant: p.Tenant, Type: penstock.EventPromptLabelRequested,
		Data: map[string]any{"prompt": p.Name, "prompt_id": prompt.ViewPrompt.Format(p.ID), "request_id": shown, "label": q.Label, "from": q.From, "to": q.Version, "requested_by": q.By.Name}})
}

// Request implements prompt.Requests.
func (s *Store) Request(ctx context.Context, tenant penstock.TenantID, name string, id penstock.ID) (q prompt.Request, err error) {
	err = s.db.Read(ctx, func(tx sqldb.Tx) error {
		p, err := find(ctx, tx, tenant, name)
		if err != nil {
			return err
		}
		q, err = findRequest(ctx, tx, p, id)
		return err
	})
	return q, err
}

// ListRequests implements prompt.Requests.
func (s *Store) ListRequests(ctx context.Context, tenant penstock.TenantID, page prompt.RequestPage) (all []prompt.Request, err error) {
	err = s.db.Read(ctx, func(tx sqldb.Tx) error {
		p, err := find(ctx, tx, tenant, page.Name)
		if err != nil {
			return err
		}
		all, err = sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT `+requestColumns+` FROM prompt_label_requests WHERE tenant_id = $1 AND prompt_id = $2
			AND (id < $3 OR $3 = '') AND (state = $4 OR $4 = '') ORDER BY id DESC LIMIT $5`, tenant, p.ID, string(page.Before), string(page.State), page.Limit), scanRequest(p))
		return err
	})
	return all, err
}

// DecideRequest implements prompt.Requests.
func (s *Store) DecideRequest(ctx context.Context, tenant penstock.TenantID, d prompt.Decision) (q prompt.Request, err error) {
	err = s.db.Write(ctx, "prompt_label_decide", func(tx sqldb.Tx) error {
		p, err := change(ctx, tx, tenant, d.Name)
		if err != nil {
			return err
		}
		if q, err = findRequest(ctx, tx, p, d.ID); err != nil {
			return err
		}
		if q.State != prompt.RequestOpen {
			return penstock.Errorf(penstock.CodeConflict, "The request was %s by %s.", q.State, q.DecidedBy)
		}
		if err := sameProtection(ctx, tx, tenant, protected{q.Label, d.Asked}); err != nil {
			return err
		}
		action := prompt.ActionRejectLabel
		if d.State == prompt.RequestApproved {
			action = prompt.ActionApproveLabel
			if err := s.approve(ctx, tx, p, approval{q, d.Actor}); err != nil {
				return err
			}
		}
		q.State, q.DecidedBy, q.DecidedAt, q.Note = d.State, name(d.Actor), tx.Now(), sqldb.Storable(d.Note)
		err = tx.Do(ctx, `UPDATE prompt_label_requests SET state = $4, decided_by = $5, decided_at = $6, note = $7 WHERE tenant_id = $1 AND prompt_id = $2 AND id = $3`,
			tenant, p.ID, q.ID, string(q.State), q.DecidedBy, sqldb.Micros(q.DecidedAt), q.Note)
		if err != nil {
			return err
		}
		return s.note(ctx, tx, d.Actor, audit.Entry{Tenant: tenant, Action: action, Subject: p.Name,
			After: map[string]any{"request": prompt.ViewRequest.Format(q.ID), "label": q.Label, "version": q.Version, "note": q.Note}})
	})
	return q, err
}

// approval is a request with the one who approves it.
type approval struct {
	prompt.Request
	approver penstock.Author
}

// approve moves the label of a request, if the label is as it was. Codes: conflict, gone.
func (s *Store) approve(ctx context.Context, tx sqldb.Tx, p row, q approval) error {
	was, _, err := labelOf(ctx, tx, p, q.Label)
	if err != nil {
		return err
	}
	if was.Revision != q.Revision {
		return penstock.Errorf(penstock.CodeConflict, "The label %s was moved after the request; reject the request and ask again.", q.Label)
	}
	actor := penstock.Author{ID: q.By.ID, Name: q.By.Name, Audit: q.approver.Audit}
	_, err = s.move(ctx, tx, p, step{
		LabelMove: prompt.LabelMove{Name: p.Name, Label: q.Label, Version: q.Version, Reason: q.Reason, Actor: actor}, was: was, approvedBy: name(q.approver),
	})
	return err
}
