package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"penstock"
	"penstock/internal/audit"
	"penstock/internal/store"
	"penstock/internal/store/sqldb"
)

// SetControl implements store.Controls.
func (s *Store) SetControl(ctx context.Context, c store.Control, on store.Condition) (set store.Control, err error) {
	c.Reason, c.Actor = sqldb.Storable(c.Reason), sqldb.Storable(on.Actor)
	err = s.write(ctx, "control_set", func(tx sqldb.Tx) error {
		before, known, err := findControl(ctx, tx, c, on)
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
		// Of two operators who pause at once, each may have found none.
		n, err := tx.Exec(ctx, `INSERT INTO controls (kind, name, state, reason, actor, since) VALUES ($1, $2, $3, $4, $5, $6)
			ON CONFLICT (kind, name) DO UPDATE SET state = excluded.state, reason = excluded.reason, actor = excluded.actor WHERE NOT $7`,
			c.Kind, c.Name, c.State, c.Reason, c.Actor, sqldb.Micros(set.Since), on.IfAbsent)
		if err != nil {
			return err
		}
		if n == 0 {
			return penstock.Stale(controlName(c))
		}
		err = s.noteControl(ctx, tx, audit.Entry{Actor: c.Actor, Action: store.ActionSetControl, Before: controlFields(before), After: controlFields(set)}, c)
		return kept(err, on)
	})
	return set, tried(err)
}

// LiftControl implements store.Controls.
func (s *Store) LiftControl(ctx context.Context, c store.Control, on store.Condition) error {
	c.Actor = sqldb.Storable(on.Actor)
	return tried(s.write(ctx, "control_lift", func(tx sqldb.Tx) error {
		before, known, err := findControl(ctx, tx, c, on)
		if err != nil || !known {
			return err
		}
		if err := tx.Do(ctx, `DELETE FROM controls WHERE kind = $1 AND name = $2`, c.Kind, c.Name); err != nil {
			return err
		}
		return kept(s.noteControl(ctx, tx, audit.Entry{Actor: c.Actor, Action: store.ActionLiftControl, Before: controlFields(before)}, c), on)
	}))
}

const controlColumns = `kind, name, state, reason, actor, since`

// findControl reads the control that a change is for, and refuses another version. Codes: conflict.
func findControl(ctx context.Context, tx sqldb.Tx, c store.Control, on store.Condition) (store.Control, bool, error) {
	found, known, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT `+controlColumns+` FROM controls WHERE kind = $1 AND name = $2 /*pg FOR UPDATE */`, c.Kind, c.Name), scanControl)
	if err == nil && known && on.IfAbsent {
		err = penstock.Stale(controlName(c))
	}
	if err == nil {
		err = checkVersion(controlName(c), found.Version(), on)
	}
	return found, known, err
}

func controlName(c store.Control) string { return fmt.Sprintf("The pause of %s %s", c.Kind, c.Name) }

func scanControl(row sqldb.Row) (c store.Control, err error) {
	var since int64
	err = row.Scan(&c.Kind, &c.Name, &c.State, &c.Reason, &c.Actor, &since)
	c.Since = sqldb.FromMicros(since)
	return c, err
}

func checkControls(ctx context.Context, tx sqldb.Tx) error {
	n, _, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT COUNT(*) FROM controls`), func(row sqldb.Row) (n int64, err error) { return n, row.Scan(&n) })
	if err == nil && n >= store.MaxControls {
		err = penstock.Errorf(penstock.CodeConflict, "%d things are held back already; resume one first.", n)
	}
	return err
}

// noteControl completes and writes the audit entry of a change. An entry that concerns no tenant is of the
// operators.
func (s *Store) noteControl(ctx context.Context, tx sqldb.Tx, n audit.Entry, c store.Control) error {
	n.Tenant, n.Subject = store.AuditOfOperators, string(c.Kind)+"/"+c.Name
	if c.Kind == store.ControlTenant {
		n.Tenant = penstock.TenantID(c.Name)
	}
	return s.audit.Write(ctx, tx, n)
}

// controlFields are what the audit shows of a control, nil for one that is not there.
func controlFields(c store.Control) map[string]any {
	if c.Kind == "" {
		return nil
	}
	return map[string]any{"state": c.State, "reason": c.Reason, "since": c.Since}
}

// ListControls implements store.Controls. What runs is summed over claims, of which there
// are few. A model runs under every name that was resolved to it. Calls on targets are summed over heartbeats.
func (s *Store) ListControls(ctx context.Context) (all []store.Control, err error) {
	err = s.read(ctx, func(tx sqldb.Tx) error {
		all, err = sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT `+controlColumns+`, CASE kind WHEN 'target' THEN -1 ELSE
			(SELECT COALESCE(SUM(c.open), 0) FROM claims c JOIN jobs j ON j.id = c.job_id WHERE CASE controls.kind
				WHEN 'lane' THEN j.lane = controls.name WHEN 'tenant' THEN j.tenant_id = controls.name
				ELSE j.model = controls.name OR j.resolved LIKE '%"model":"' || controls.name || '"%' END) /*pg ::bigint */ END
			FROM controls ORDER BY kind, name LIMIT $1`, store.MaxControls), func(row sqldb.Row) (c store.Control, err error) {
			var since int64
			err = row.Scan(&c.Kind, &c.Name, &c.State, &c.Reason, &c.Actor, &since, &c.Running)
			c.Since = sqldb.FromMicros(since)
			return c, err
		})
		if err != nil || !slices.ContainsFunc(all, onTarget) {
			return err
		}
		reports, err := heartbeats(ctx, tx)
		for i := range all {
			if onTarget(all[i]) {
				all[i].Running = callsOn(all[i], reports)
			}
		}
		return err
	})
	return all, err
}

func onTarget(c store.Control) bool { return c.Kind == store.ControlTarget }

// heartbeat is the latest report of a live process.
type heartbeat struct {
	at    time.Time
	calls map[string]int64 // on targets that it knew to be paused
}

func heartbeats(ctx context.Context, tx sqldb.Tx) ([]heartbeat, error) {
	return sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT told_at, calls FROM leases WHERE expires_at > $1`, sqldb.Micros(tx.Now())), func(row sqldb.Row) (h heartbeat, err error) {
		var at int64
		var calls []byte
		if err := row.Scan(&at, &calls); err != nil {
			return h, err
		}
		h.at = sqldb.FromMicros(at)
		if len(calls) > 0 {
			err = json.Unmarshal(calls, &h.calls)
		}
		return h, err
	})
}

// callsOn is the number of open calls of all processes to a paused target, -1 until every process has reported that it knows
// of the pause.
func callsOn(c store.Control, reports []heartbeat) (sum int64) {
	for _, h := range reports {
		n, known := h.calls[c.Name]
		if !known || h.at.Before(c.Since.Add(store.Settled)) {
			return -1
		}
		sum += n
	}
	return sum
}
