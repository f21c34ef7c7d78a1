package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"penstock"
	"penstock/internal/store"
)

// SetControl implements store.Controls.
func (s *Store) SetControl(ctx context.Context, c store.Control) (set store.Control, err error) {
	c.Reason, c.Actor = storable(c.Reason), storable(c.Actor)
	err = s.write(ctx, "control_set", func(tx Tx) error {
		before, known, err := findControl(ctx, tx, c)
		if err != nil {
			return err
		}
		set = c
		set.Since = tx.Now()
		if known {
			set.Since = before.Since
			if before.State == c.State && before.Reason == c.Reason {
				set = before
				return nil
			}
		} else if err := checkControls(ctx, tx); err != nil {
			return err
		}
		err = tx.Do(ctx, `INSERT INTO controls (kind, name, state, reason, actor, since) VALUES ($1, $2, $3, $4, $5, $6)
			ON CONFLICT (kind, name) DO UPDATE SET state = excluded.state, reason = excluded.reason, actor = excluded.actor`,
			c.Kind, c.Name, c.State, c.Reason, c.Actor, micros(set.Since))
		if err != nil {
			return err
		}
		return s.auditControl(ctx, tx, controlChange{action: "control.set", actor: c.Actor, before: before, after: set})
	})
	return set, err
}

// LiftControl implements store.Controls.
func (s *Store) LiftControl(ctx context.Context, c store.Control) error {
	c.Actor = storable(c.Actor)
	return s.write(ctx, "control_lift", func(tx Tx) error {
		before, known, err := findControl(ctx, tx, c)
		if err != nil || !known {
			return err
		}
		if err := tx.Do(ctx, `DELETE FROM controls WHERE kind = $1 AND name = $2`, c.Kind, c.Name); err != nil {
			return err
		}
		return s.auditControl(ctx, tx, controlChange{action: "control.lift", actor: c.Actor, before: before})
	})
}

const controlColumns = `kind, name, state, reason, actor, since`

func findControl(ctx context.Context, tx Tx, c store.Control) (store.Control, bool, error) {
	return queryOne(ctx, tx, sqlf(`SELECT `+controlColumns+` FROM controls WHERE kind = $1 AND name = $2 /*pg FOR UPDATE */`, c.Kind, c.Name), scanControl)
}

func scanControl(row Row) (c store.Control, err error) {
	var since int64
	err = row.Scan(&c.Kind, &c.Name, &c.State, &c.Reason, &c.Actor, &since)
	c.Since = fromMicros(since)
	return c, err
}

func checkControls(ctx context.Context, tx Tx) error {
	n, _, err := queryOne(ctx, tx, sqlf(`SELECT COUNT(*) FROM controls`), func(row Row) (n int64, err error) { return n, row.Scan(&n) })
	if err == nil && n >= store.MaxControls {
		err = penstock.Errorf(penstock.CodeConflict, "%d things are held back already; resume one first.", n)
	}
	return err
}

// controlChange is a change as the audit log tells it. A control that is not there is the zero one.
type controlChange struct {
	action, actor string
	before, after store.Control
}

func (s *Store) auditControl(ctx context.Context, tx Tx, change controlChange) error {
	subject := change.before
	if subject.Kind == "" {
		subject = change.after
	}
	tenant := ""
	if subject.Kind == store.ControlTenant {
		tenant = subject.Name
	}
	before, err := controlText(change.before)
	if err != nil {
		return err
	}
	after, err := controlText(change.after)
	if err != nil {
		return err
	}
	return tx.Do(ctx, `INSERT INTO audit (id, tenant_id, actor, action, subject, before, after, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		s.ids.New(tx.Now()), tenant, change.actor, change.action, string(subject.Kind)+"/"+subject.Name, before, after, micros(tx.Now()))
}

// controlText is a control in the audit log: "" for one that is not there.
func controlText(c store.Control) (string, error) {
	if c.Kind == "" {
		return "", nil
	}
	text, err := json.Marshal(struct {
		State  store.ControlState `json:"state"`
		Reason string             `json:"reason"`
		Since  time.Time          `json:"since"`
	}{c.State, c.Reason, c.Since})
	if err != nil {
		return "", fmt.Errorf("encoding a control: %w", err)
	}
	return string(text), nil
}

// ListControls implements store.Controls. What runs is summed over jobs with running items, of which there
// are few.
func (s *Store) ListControls(ctx context.Context) (all []store.Control, err error) {
	err = s.read(ctx, func(tx Tx) error {
		all, err = queryAll(ctx, tx, sqlf(`SELECT `+controlColumns+`, CASE kind WHEN 'target' THEN -1 ELSE
			(SELECT COALESCE(SUM(j.running), 0) FROM jobs j WHERE j.running > 0 AND controls.name =
				CASE controls.kind WHEN 'lane' THEN j.lane WHEN 'model' THEN j.model ELSE j.tenant_id END) /*pg ::bigint */ END
			FROM controls ORDER BY kind, name LIMIT $1`, store.MaxControls), func(row Row) (c store.Control, err error) {
			var since int64
			err = row.Scan(&c.Kind, &c.Name, &c.State, &c.Reason, &c.Actor, &since, &c.Running)
			c.Since = fromMicros(since)
			return c, err
		})
		return err
	})
	return all, err
}
