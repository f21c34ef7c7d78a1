package promptsql

import (
	"context"
	"slices"
	"strings"

	"penstock"
	"penstock/internal/audit"
	"penstock/internal/outbox"
	"penstock/internal/prompt"
	"penstock/internal/prompt/content"
	"penstock/internal/store/sqldb"
)

const labelColumns = `label, version, revision, updated_by, updated_at`

func scanLabel(r sqldb.Row) (l prompt.Label, err error) {
	var updated int64
	err = r.Scan(&l.Label, &l.Version, &l.Revision, &l.UpdatedBy, &updated)
	l.UpdatedAt = sqldb.FromMicros(updated)
	return l, err
}

// labelsOf reads the labels that were moved, without latest.
func labelsOf(ctx context.Context, tx sqldb.Reader, p row) ([]prompt.Label, error) {
	return sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT `+labelColumns+` FROM prompt_labels WHERE tenant_id = $1 AND prompt_id = $2 ORDER BY label`, p.Tenant, p.ID), scanLabel)
}

// withLatest sorts labels by their names, and puts latest in front.
func withLatest(p prompt.Prompt) []prompt.Label {
	slices.SortFunc(p.Labels, func(x, y prompt.Label) int { return strings.Compare(x.Label, y.Label) })
	if p.Latest == 0 {
		return p.Labels
	}
	return append([]prompt.Label{{Label: content.LabelLatest, Version: p.Latest, UpdatedAt: p.UpdatedAt}}, p.Labels...)
}

// MoveLabel implements prompt.Labels.
func (s *Store) MoveLabel(ctx context.Context, tenant penstock.TenantID, m prompt.LabelMove) (l prompt.Label, err error) {
	err = s.db.Write(ctx, "prompt_label_move", func(tx sqldb.Tx) error {
		p, err := change(ctx, tx, tenant, m.Name)
		if err != nil {
			return err
		}
		was, _, err := labelOf(ctx, tx, p, m.Label)
		if err != nil {
			return err
		}
		if err := conditions(m, was); err != nil {
			return err
		}
		if err := sameProtection(ctx, tx, tenant, protected{m.Label, m.Asked}); err != nil {
			return err
		}
		l, err = s.move(ctx, tx, p, step{LabelMove: m, was: was})
		return err
	})
	return l, err
}

// labelOf reads a label; false if the prompt does not have it.
func labelOf(ctx context.Context, tx sqldb.Reader, p row, label string) (prompt.Label, bool, error) {
	return sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT `+labelColumns+` FROM prompt_labels WHERE tenant_id = $1 AND prompt_id = $2 AND label = $3`, p.Tenant, p.ID, label), scanLabel)
}

// conditions refuses a move whose caller knows another state; the zero label is none. Codes: not_found, conflict.
func conditions(m prompt.LabelMove, was prompt.Label) error {
	switch {
	case m.Version == 0 && was.Version == 0:
		return penstock.Errorf(penstock.CodeNotFound, "The prompt %s has no label %s.", m.Name, m.Label)
	case m.IfRevision != 0 && m.IfRevision != was.Revision:
		return penstock.Stale("The label")
	case m.Expect != nil && *m.Expect != was.Version && was.Version == 0:
		return stale("The label %s of the prompt %s names no version, not version %d; read it again, then repeat the move if it still applies.", m.Label, m.Name, *m.Expect)
	case m.Expect != nil && *m.Expect != was.Version:
		return stale("The label %s of the prompt %s names version %d, not %d; read it again, then repeat the move if it still applies.", m.Label, m.Name, was.Version, *m.Expect)
	}
	return nil
}

func stale(format string, args ...any) error {
	e := penstock.Errorf(penstock.CodeConflict, format, args...)
	e.Param, e.Err = "expect", penstock.ErrStale
	return e
}

// step is a move whose conditions hold.
type step struct {
	prompt.LabelMove
	was        prompt.Label // zero if there was none
	approvedBy string
}

// move writes a move with its history, its audit entry and its event. The prompt is locked. Codes: not_found, gone, conflict.
func (s *Store) move(ctx context.Context, tx sqldb.Tx, p row, m step) (l prompt.Label, err error) {
	if m.Version == m.was.Version {
		return m.was, nil
	}
	if m.Version > 0 {
		if _, err := findVersion(ctx, tx, p, m.Version); err != nil {
			return l, err
		}
	}
	l = prompt.Label{Label: m.Label, Version: m.Version, Revision: p.moves + 1, UpdatedBy: name(m.Actor), UpdatedAt: tx.Now()}
	if err := setLabel(ctx, tx, p, l); err != nil {
		return l, err
	}
	err = tx.Do(ctx, `INSERT INTO prompt_label_moves (tenant_id, prompt_id, seq, label, from_version, to_version, moved_by, approved_by, reason, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
		p.Tenant, p.ID, l.Revision, m.Label, m.was.Version, m.Version, l.UpdatedBy, m.approvedBy, sqldb.Storable(m.Reason), sqldb.Micros(tx.Now()))
	if err != nil {
		return l, err
	}
	err = tx.Do(ctx, `UPDATE prompts SET moves = $3, changes = changes + 1, updated_at = $4 WHERE tenant_id = $1 AND name = $2`, p.Tenant, p.Name, l.Revision, sqldb.Micros(tx.Now()))
	if err != nil {
		return l, err
	}
	action := prompt.ActionMoveLabel
	if m.Version == 0 {
		action = prompt.ActionRemoveLabel
	}
	err = s.note(ctx, tx, m.Actor, audit.Entry{Tenant: p.Tenant, Action: action, Subject: p.Name,
		Before: map[string]any{"label": m.Label, "version": m.was.Version}, After: map[string]any{"label": m.Label, "version": m.Version, "reason": m.Reason}})
	if err != nil {
		return l, err
	}
	return l, outbox.Publish(ctx, tx, outbox.Event{Tenant: p.Tenant, Type: penstock.EventPromptLabelMoved,
		Data: map[string]any{"prompt": p.Name, "prompt_id": prompt.ViewPrompt.Format(p.ID), "label": m.Label, "from": m.was.Version, "to": m.Version, "moved_by": l.UpdatedBy}})
}

// setLabel writes the row of a label, or removes it. Codes: conflict.
func setLabel(ctx context.Context, tx sqldb.Tx, p row, l prompt.Label) error {
	if l.Version == 0 {
		return tx.Do(ctx, `DELETE FROM prompt_labels WHERE tenant_id = $1 AND prompt_id = $2 AND label = $3`, p.Tenant, p.ID, l.Label)
	}
	n, _, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT COUNT(*) FROM prompt_labels WHERE tenant_id = $1 AND prompt_id = $2 AND label <> $3`, p.Tenant, p.ID, l.Label), sqldb.ScanOne[int64])
	if err != nil {
		return err
	}
	if n >= prompt.MaxLabels {
		return penstock.Errorf(penstock.CodeConflict, "The prompt %s has %d labels, which is the most; remove one first.", p.Name, n)
	}
	return tx.Do(ctx, `INSERT INTO prompt_labels (tenant_id, prompt_id, label, version, revision, updated_by, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7)
		ON CONFLICT (tenant_id, prompt_id, label) DO UPDATE SET version = excluded.version, revision = excluded.revision, updated_by = excluded.updated_by, updated_at = excluded.updated_at`,
		p.Tenant, p.ID, l.Label, l.Version, l.Revision, l.UpdatedBy, sqldb.Micros(l.UpdatedAt))
}

// History implements prompt.Labels.
func (s *Store) History(ctx context.Context, tenant penstock.TenantID, page prompt.HistoryPage) (all []prompt.Move, err error) {
	err = s.db.Read(ctx, func(tx sqldb.Tx) error {
		p, err := find(ctx, tx, tenant, page.Name)
		if err != nil {
			return err
		}
		before := page.Before
		if before == 0 {
			before = p.moves + 1
		}
		all, err = sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT seq, label, from_version, to_version, moved_by, approved_by, reason, created_at FROM prompt_label_moves
			WHERE tenant_id = $1 AND prompt_id = $2 AND seq < $3 AND (label = $4 OR $4 = '') ORDER BY seq DESC LIMIT $5`,
			tenant, p.ID, before, sqldb.Storable(page.Label), page.Limit), scanMove)
		return err
	})
	return all, err
}

func scanMove(r sqldb.Row) (m prompt.Move, err error) {
	var at int64
	err = r.Scan(&m.Seq, &m.Label, &m.From, &m.To, &m.By, &m.ApprovedBy, &m.Reason, &at)
	m.At = sqldb.FromMicros(at)
	return m, err
}
