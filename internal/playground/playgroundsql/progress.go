package playgroundsql

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"penstock"
	"penstock/internal/playground"
	"penstock/internal/store"
	"penstock/internal/store/sqldb"
	"penstock/internal/store/storedrow"
)

// sealedStep is a step whose texts are sealed.
type sealedStep struct {
	playground.Step
	texts [][]byte // of the cells: a chunk of an open one, nil for none, and else the result
	bytes []int64  // of results
}

func (s *Store) sealStep(step playground.Step) (out sealedStep, err error) {
	k := rowKey{step.Tenant, step.Run}
	out = sealedStep{step, make([][]byte, len(step.Cells)), make([]int64, len(step.Cells))}
	for i := range step.Cells {
		c := &step.Cells[i]
		switch {
		case !c.State.Open():
			out.texts[i], out.bytes[i], err = s.sealJSON(k.owner(partResult(c.N, c.Attempt)), c.Result)
		case len(c.Pieces) > 0:
			out.texts[i], _, err = s.sealJSON(k.owner(partChunk(c.N, c.Seq)), c.Pieces)
		}
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

// SaveSteps implements playground.Progress.
func (s *Store) SaveSteps(ctx context.Context, l store.Lease, steps []playground.Step) (lost []penstock.ID, err error) {
	sealed := make([]sealedStep, len(steps))
	relaxed := true
	for i := range steps {
		if sealed[i], err = s.sealStep(steps[i]); err != nil {
			return nil, err
		}
		relaxed = relaxed && !slices.ContainsFunc(steps[i].Cells, func(c playground.Changed) bool { return !c.State.Open() })
	}
	slices.SortFunc(sealed, func(a, b sealedStep) int {
		return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Run, b.Run))
	})
	err = s.db.Write(ctx, "playground_step", func(tx sqldb.Tx) error {
		lost = nil
		if relaxed { // nobody was promised text that has just arrived
			tx.Relax()
		}
		stored := storedrow.Changes{}
		for i := range sealed {
			owned, err := saveRun(ctx, tx, l, &sealed[i])
			if err != nil {
				return err
			}
			if !owned {
				lost = append(lost, sealed[i].Run)
				continue
			}
			if err := saveCells(ctx, tx, &sealed[i]); err != nil {
				return err
			}
			for _, n := range sealed[i].bytes {
				stored.Job(sealed[i].Tenant, sealed[i].Run, n)
			}
		}
		return stored.Save(ctx, tx)
	})
	return lost, err
}

// saveRun writes the run of a step, and reports whether the lease still owns it.
func saveRun(ctx context.Context, tx sqldb.Tx, l store.Lease, step *sealedStep) (bool, error) {
	n, bytes := step.Counts, int64(0)
	for _, b := range step.bytes {
		bytes += b
	}
	state, owner := n.State(), l
	if state != playground.RunRunning {
		owner = store.Lease{}
	}
	changed, err := tx.Exec(ctx, `UPDATE playground_runs SET state = $5, process_id = $6, epoch = $7, seq = $8, queued = $9, running = $10, succeeded = $11, failed = $12,
			stopped = $13, interrupted = $14, cost = $15, finished_at = $16, bytes = bytes + $17
		WHERE tenant_id = $1 AND id = $2 AND process_id = $3 AND epoch = $4 AND state = 'running'`,
		step.Tenant, step.Run, l.Process, l.Epoch, string(state), owner.Process, owner.Epoch, step.Seq, n.Queued, n.Running, n.Succeeded, n.Failed, n.Stopped, n.Interrupted,
		int64(step.Cost), sqldb.Micros(step.FinishedAt), bytes)
	return changed > 0, err
}

var addChunk = sqldb.InsertInto("playground_chunks", "tenant_id text, run_id text, n bigint, seq bigint, body bytea", "")

func saveCells(ctx context.Context, tx sqldb.Tx, step *sealedStep) error {
	for i := range step.Cells {
		c, text := &step.Cells[i], step.texts[i]
		ended := !c.State.Open()
		if !ended && text != nil {
			if err := tx.Put(ctx, addChunk, string(step.Tenant), string(step.Run), int64(c.N), c.Seq, text); err != nil {
				return err
			}
		}
		if ended {
			if err := tx.Do(ctx, `DELETE FROM playground_chunks WHERE tenant_id = $1 AND run_id = $2 AND n = $3`, step.Tenant, step.Run, c.N); err != nil {
				return err
			}
		} else {
			text = []byte{}
		}
		m := c.Metrics
		err := tx.Do(ctx, `UPDATE playground_cells SET state = $4, seq = $5, target = $6, request_ids = $7, schema_valid = $8, first_token_us = $9, duration_us = $10,
				input_tokens = $11, output_tokens = $12, cost = $13, result = $14, bytes = $15
			WHERE tenant_id = $1 AND run_id = $2 AND n = $3`,
			step.Tenant, step.Run, c.N, string(c.State), c.Seq, sqldb.Storable(c.Target), strings.Join(sqldb.Strings(c.Requests), ","), validity(c.SchemaValid),
			m.FirstToken.Microseconds(), m.Duration.Microseconds(), m.InputTokens, m.OutputTokens, int64(m.Cost), text, step.bytes[i])
		if err != nil {
			return err
		}
	}
	return nil
}

// validity is how a column has whether an answer has its form.
func validity(valid *bool) int64 {
	switch {
	case valid == nil:
		return 0
	case *valid:
		return 1
	}
	return -1
}

// RequestStop implements playground.Progress.
func (s *Store) RequestStop(ctx context.Context, tenant penstock.TenantID, o playground.StopOrder) error {
	word := "*"
	if o.Column != playground.AllColumns {
		word = strconv.Itoa(o.Column)
	}
	return s.db.Write(ctx, "playground_stop", func(tx sqldb.Tx) error {
		r, err := find(ctx, tx, rowKey{tenant, o.ID}, locked)
		if err != nil || r.State != playground.RunRunning {
			return err
		}
		stops, _, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT stops FROM playground_runs WHERE tenant_id = $1 AND id = $2`, tenant, o.ID), sqldb.ScanOne[string])
		if err != nil || slices.Contains(strings.Split(stops, ","), word) {
			return err
		}
		return tx.Do(ctx, `UPDATE playground_runs SET stops = $3 WHERE tenant_id = $1 AND id = $2`, tenant, o.ID, strings.TrimPrefix(stops+","+word, ","))
	})
}

// Owned implements playground.Progress.
func (s *Store) Owned(ctx context.Context, l store.Lease) (all []playground.OwnedRun, err error) {
	err = s.db.Read(ctx, func(tx sqldb.Tx) error {
		all, err = sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT id, stops FROM playground_runs WHERE process_id = $1 AND epoch = $2 AND state = 'running'`, l.Process, l.Epoch),
			func(row sqldb.Row) (o playground.OwnedRun, err error) {
				var stops string
				err = row.Scan(&o.ID, &stops)
				for word := range strings.SplitSeq(stops, ",") {
					if word == "*" {
						o.Stops = append(o.Stops, playground.AllColumns)
					} else if n, err := strconv.Atoi(word); err == nil {
						o.Stops = append(o.Stops, n)
					}
				}
				return o, err
			})
		return err
	})
	return all, err
}

// Resume implements playground.Progress.
func (s *Store) Resume(ctx context.Context, tenant penstock.TenantID, o playground.Resumption) (opened playground.Opened, err error) {
	k := rowKey{tenant, o.ID}
	var found read
	err = s.db.Write(ctx, "playground_resume", func(tx sqldb.Tx) error {
		r, err := find(ctx, tx, k, locked)
		if err != nil {
			return err
		}
		if r.State == playground.RunRunning {
			return penstock.Errorf(penstock.CodeConflict, "The run %s runs; stop it first, or wait until it ends.", playground.ViewRun.Format(o.ID))
		}
		if r.Seq, err = requeue(ctx, tx, k, r.Seq); err != nil {
			return err
		}
		err = tx.Do(ctx, `UPDATE playground_runs SET state = 'running', process_id = $3, epoch = $4, seq = $5, stops = '', finished_at = 0,
				queued = queued + failed + stopped + interrupted, failed = 0, stopped = 0, interrupted = 0
			WHERE tenant_id = $1 AND id = $2`, tenant, o.ID, o.Lease.Process, o.Lease.Epoch, r.Seq)
		if err != nil {
			return err
		}
		found, err = readAll(ctx, tx, k)
		return err
	})
	if err != nil {
		return opened, err
	}
	return s.opened(k, found)
}

// requeue queues the cells of a run that can run again, and returns the number of the last change. What earlier attempts cost stays
// on the cell. Codes: conflict.
func requeue(ctx context.Context, tx sqldb.Tx, k rowKey, seq int64) (int64, error) {
	type again struct {
		n     int
		bytes int64
	}
	cells, err := sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT n, bytes FROM playground_cells WHERE tenant_id = $1 AND run_id = $2 AND state IN ('interrupted', 'stopped', 'failed') ORDER BY n`,
		k.tenant, k.id), func(row sqldb.Row) (a again, err error) { return a, row.Scan(&a.n, &a.bytes) })
	if err != nil {
		return seq, err
	}
	if len(cells) == 0 {
		return seq, penstock.Errorf(penstock.CodeConflict, "No cell of the run %s was interrupted or stopped, or failed: there is nothing to resume.", playground.ViewRun.Format(k.id))
	}
	freed := int64(0)
	for _, c := range cells {
		seq++
		freed += c.bytes
		err := tx.Do(ctx, `UPDATE playground_cells SET state = 'queued', attempt = attempt + 1, seq = $4, target = '', request_ids = '', schema_valid = 0, first_token_us = 0,
				duration_us = 0, input_tokens = 0, output_tokens = 0, result = $5, bytes = 0
			WHERE tenant_id = $1 AND run_id = $2 AND n = $3`, k.tenant, k.id, c.n, seq, []byte{})
		if err != nil {
			return seq, err
		}
		if err := tx.Do(ctx, `DELETE FROM playground_chunks WHERE tenant_id = $1 AND run_id = $2 AND n = $3`, k.tenant, k.id, c.n); err != nil {
			return seq, err
		}
	}
	return seq, grow(ctx, tx, k, growth{bytes: -freed})
}

// Interrupt implements playground.Progress.
func (s *Store) Interrupt(ctx context.Context, limit int) (ended []penstock.ID, err error) {
	query := func(tx sqldb.Tx) ([]rowKey, error) {
		return sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT r.tenant_id, r.id FROM playground_runs r WHERE r.state = 'running' AND NOT EXISTS
				(SELECT 1 FROM leases l WHERE l.process_id = r.process_id AND l.epoch = r.epoch AND l.expires_at > $1)
			ORDER BY r.tenant_id, r.id LIMIT $2`, sqldb.Micros(tx.Now()), limit), func(row sqldb.Row) (k rowKey, err error) { return k, row.Scan(&k.tenant, &k.id) })
	}
	var found []rowKey
	err = s.db.Read(ctx, func(tx sqldb.Tx) error {
		found, err = query(tx)
		return err
	})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	err = s.db.Write(ctx, "playground_interrupt", func(tx sqldb.Tx) error {
		ended = nil
		again, err := query(tx)
		if err != nil {
			return err
		}
		for _, k := range again {
			done, err := interrupt(ctx, tx, k)
			if err != nil {
				return err
			}
			if done {
				ended = append(ended, k.id)
			}
		}
		return nil
	})
	return ended, err
}

// interrupt ends a run, unless another process was faster.
func interrupt(ctx context.Context, tx sqldb.Tx, k rowKey) (bool, error) {
	r, err := find(ctx, tx, k, locked)
	if penstock.ErrorCode(err) == penstock.CodeNotFound || err == nil && r.State != playground.RunRunning {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	cells, err := sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT n FROM playground_cells WHERE tenant_id = $1 AND run_id = $2 AND state IN ('queued', 'running') ORDER BY n`, k.tenant, k.id), sqldb.ScanOne[int64])
	if err != nil {
		return false, err
	}
	seq := r.Seq
	for _, n := range cells {
		seq++
		if err := tx.Do(ctx, `UPDATE playground_cells SET state = 'interrupted', seq = $4 WHERE tenant_id = $1 AND run_id = $2 AND n = $3`, k.tenant, k.id, n, seq); err != nil {
			return false, err
		}
	}
	counts := r.Counts
	counts.Queued, counts.Running, counts.Interrupted = 0, 0, counts.Interrupted+len(cells)
	return true, tx.Do(ctx, `UPDATE playground_runs SET state = $3, process_id = '', epoch = 0, seq = $4, queued = 0, running = 0, interrupted = $5, finished_at = $6
		WHERE tenant_id = $1 AND id = $2`, k.tenant, k.id, string(counts.State()), seq, counts.Interrupted, sqldb.Micros(tx.Now()))
}
