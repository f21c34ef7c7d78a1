package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	_ "modernc.org/sqlite" // registers the driver that Penstock uses

	"penstock"
	"penstock/bench/measure"
	"penstock/internal/payload"
	"penstock/internal/store/schema"
)

// rawGroup is how many items the raw loop takes through one transaction.
const rawGroup = 500

// rawInputGroup is how many of them it keeps together, as Penstock does, and rawPlaces how many one row of a claim holds.
const (
	rawInputGroup = 256
	rawPlaces     = 63
)

// rawLoop is the least that the same rows cost: Penstock's schema, driver and durability, prepared
// statements in groups, and nothing else. Payloads are sealed for the item that they belong to, since rows that are
// not would not be the same, unless copies of one are asked for. It knows what it has queued, so it never looks; it
// opens nothing, decides nothing, and no worker runs its items.
type rawLoop struct {
	dir  string
	db   *sql.DB
	conn *sql.Conn
	ids  penstock.IDs
	now  int64

	insertJob, insertInputGroup, admit, stock, book *sql.Stmt
	leave, openClaim, claimJob, charge              *sql.Stmt
	finishItems, finishClaim, closeClaim, finishJob *sql.Stmt

	codec         *payload.Codec
	copies        bool   // of one sealed payload, instead of sealing each
	prompt        []byte // of an item
	facts, ends   []byte // of an input group, of their real size
	input, result []byte // sealed, to be copied
	sealed        []byte // payloads of an input group, one behind the other
}

func openRaw(ctx context.Context, dir string, l *rawLoop) (*rawLoop, error) {
	dir, err := os.MkdirTemp(dir, "penstock-bench-raw-")
	if err != nil {
		return nil, err
	}
	l.dir = dir
	if err := l.open(ctx); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

func (l *rawLoop) open(ctx context.Context) (err error) {
	const pragmas = "_txlock=immediate&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=foreign_keys(ON)" +
		"&_pragma=cache_size(-16384)&_pragma=wal_autocheckpoint(4000)&_pragma=temp_store(MEMORY)"
	if l.db, err = sql.Open("sqlite", "file:"+filepath.Join(l.dir, "raw.db")+"?"+pragmas); err != nil {
		return err
	}
	if l.conn, err = l.db.Conn(ctx); err != nil {
		return err
	}
	steps, err := schema.Plan()
	if err != nil {
		return err
	}
	for _, s := range steps {
		if _, err := l.conn.ExecContext(ctx, s.SQL); err != nil {
			return fmt.Errorf("migration %s: %w", s.Name, err)
		}
	}
	if _, err := l.conn.ExecContext(ctx, `INSERT INTO shares (lane, tenant_id, vtime, active) VALUES ('standard', 'bench', 0, 1)`); err != nil {
		return err
	}
	if err := l.seal(); err != nil {
		return err
	}
	return l.prepare(ctx)
}

func (l *rawLoop) seal() error {
	keys, err := payload.LoadOrCreate(filepath.Join(l.dir, "keyset.json"))
	if err != nil {
		return err
	}
	if l.codec, err = payload.New(keys); err != nil {
		return err
	}
	// What Penstock keeps of an item beside its input, and beside its result when it ended.
	const factBytes, endBytes = 12, 66
	l.facts, l.ends = make([]byte, rawInputGroup*factBytes), make([]byte, rawInputGroup*endBytes)
	l.prompt = prompt(label{tenant: "bench"}, promptWords)
	if l.input, err = l.codec.Seal(rawOwner("raw", "input"), l.prompt); err != nil {
		return err
	}
	l.result, err = l.codec.Seal(rawOwner("raw", "result"), []byte(answerBody))
	return err
}

func rawOwner(item penstock.ID, part string) payload.Owner {
	return payload.Owner{Tenant: "bench", ID: string(item), Part: part}
}

// inputs are the sealed inputs of items, until the next call.
func (l *rawLoop) inputs(items []penstock.ID) ([]byte, error) {
	return l.payloads(items, "input", l.prompt, l.input)
}

// results are the sealed results of items, until the next call.
func (l *rawLoop) results(items []penstock.ID) ([]byte, error) {
	return l.payloads(items, "result", []byte(answerBody), l.result)
}

func (l *rawLoop) payloads(items []penstock.ID, part string, plain, sealed []byte) (all []byte, err error) {
	l.sealed = l.sealed[:0]
	for _, item := range items {
		if !l.copies {
			if sealed, err = l.codec.Seal(rawOwner(item, part), plain); err != nil {
				return nil, err
			}
		}
		l.sealed = append(l.sealed, sealed...)
	}
	return l.sealed, nil
}

func (l *rawLoop) prepare(ctx context.Context) error {
	for _, p := range []struct {
		into **sql.Stmt
		text string
	}{
		{&l.insertJob, `INSERT INTO jobs (id, tenant_id, key_name, endpoint, model, lane, tags, status, total, seq, max_attempts, item_timeout, resolved, created_at, deadline)
			VALUES (?1, 'bench', 'bench', 'chat', 'noop', 'standard', '{}', 'queued', ?2, 1, 4, 600000000, ?3, ?4, ?4 + 86400000000)`},
		{&l.insertInputGroup, `INSERT INTO input_groups (job_id, first_n, facts, inputs) VALUES (?1, ?2, ?3, ?4)`},
		{&l.admit, `INSERT INTO ready (lane, tenant_id, model, deadline, job_id, last_n, first_n, input_group_n, item_id, estimate_tokens, input_bytes)
			VALUES ('standard', 'bench', 'noop', ?1 + 86400000000, ?2, ?3, ?4, ?4, '', 0, 0)`},
		{&l.leave, `DELETE FROM ready WHERE lane = 'standard' AND tenant_id = 'bench' AND model = 'noop' AND deadline = ?1 + 86400000000 AND job_id = ?2`},
		{&l.openClaim, `INSERT INTO claims (id, job_id, tenant_id, process_id, epoch, open, items) VALUES (?1, ?2, 'bench', 'bench', 1, ?3, ?4)`},
		{&l.finishClaim, `UPDATE claims SET open = open - ?3, ended = ended | ?4 WHERE job_id = ?1 AND id = ?2 AND (ended & ?4) = 0`},
		{&l.closeClaim, `DELETE FROM claims WHERE job_id = ?1 AND id = ?2 AND open <= 0`},
		{&l.claimJob, `UPDATE jobs SET status = 'running', seq = 2, started_at = ?2, started_seq = 2 WHERE id = ?1`},
		{&l.charge, `UPDATE shares SET vtime = vtime + ?1 WHERE lane = 'standard' AND tenant_id = 'bench'`},
		{&l.finishItems, `INSERT INTO result_groups (job_id, last_seq, tenant_id, min_n, max_n, items, finished_at, reserved_nano_usd, cost_nano_usd,
			input_tokens, cached_input_tokens, cache_write_tokens, output_tokens, reasoning_tokens,
			cache_write_1h_tokens, audio_input_tokens, audio_output_tokens, facts, results)
			VALUES (?1, ?2, 'bench', ?3, ?3 + ?4 - 1, ?4, ?5, 80000 * ?4, 15000 * ?4, 64 * ?4, 0, 0, 9 * ?4, 0, 0, 0, 0, ?6, ?7)`},
		{&l.finishJob, `UPDATE jobs SET status = 'succeeded', succeeded = ?2, input_tokens = 64 * ?2, output_tokens = 9 * ?2,
			cost_nano_usd = 15000 * ?2, seq = 3 + ?2, finished_at = ?3 WHERE id = ?1`},
		{&l.stock, `INSERT INTO backlogs (lane, tenant_id, model, ready, parked, tokens, bytes) VALUES ('standard', 'bench', 'noop', ?1, 0, ?1 * 320, ?1 * 256)
			ON CONFLICT (lane, tenant_id, model) DO UPDATE SET ready = ready + excluded.ready, tokens = tokens + excluded.tokens, bytes = bytes + excluded.bytes`},
		{&l.book, `INSERT INTO ledger (key, tenant_id, kind, subject_id, job_id, target, reserved_nano_usd, cost_nano_usd,
			input_tokens, cached_input_tokens, output_tokens, price_version, created_at, outcomes)
			VALUES (?1, 'bench', ?2, ?3, ?3, 'noop', 80000, 15000, 64, 0, 9, ?5, ?4, ?6)`},
	} {
		s, err := l.conn.PrepareContext(ctx, p.text)
		if err != nil {
			return fmt.Errorf("preparing %.40s: %w", p.text, err)
		}
		*p.into = s
	}
	return nil
}

// Hashes as long as those that attempts and settlements carry.
const (
	rawResolved = `{"config":"bench","model":"noop","policy":"ordered","targets":["noop"]}`
	rawHash     = "cfg_0123456789abcdef0123456789abcdef"
)

// measure runs the loop and returns how many items it took through their life after the warm-up.
func (l *rawLoop) measure(warm, round time.Duration) (result, error) {
	var r result
	var cpu time.Duration
	var allocs, files uint64
	began, counting := time.Now(), false
	for {
		if !counting && time.Since(began) >= warm {
			began, counting, r.items, cpu, allocs, files = time.Now(), true, 0, measure.CPU(), measure.Allocs(), measure.FileBytes()
		}
		if counting && time.Since(began) >= round {
			r.took, r.process, r.allocs, r.files = time.Since(began), measure.CPU()-cpu, measure.Allocs()-allocs, measure.FileBytes()-files
			return r, nil
		}
		if err := l.pass(); err != nil {
			return r, err
		}
		r.items += rawGroup
	}
}

// pass takes a job through its life, in three commits.
func (l *rawLoop) pass() error {
	l.now = time.Now().UnixMicro()
	job := l.ids.New(time.Now())
	items := make([]penstock.ID, rawGroup)
	for n := range items {
		items[n] = penstock.ItemID(job, n)
	}
	for _, step := range []func(penstock.ID, []penstock.ID) error{l.submit, l.claim, l.finish} {
		if _, err := l.conn.ExecContext(context.Background(), "BEGIN IMMEDIATE"); err != nil {
			return err
		}
		if err := step(job, items); err != nil {
			return err
		}
		if _, err := l.conn.ExecContext(context.Background(), "COMMIT"); err != nil {
			return err
		}
	}
	return nil
}

func (l *rawLoop) submit(job penstock.ID, items []penstock.ID) error {
	if err := execute(l.insertJob, job, len(items), rawResolved, l.now); err != nil {
		return err
	}
	for first := 0; first < len(items); first += rawInputGroup {
		n := min(rawInputGroup, len(items)-first)
		inputs, err := l.inputs(items[first : first+n])
		err = errors.Join(err,
			execute(l.insertInputGroup, job, first, l.facts[:len(l.facts)*n/rawInputGroup], inputs),
			execute(l.admit, l.now, job, first+n-1, first))
		if err != nil {
			return err
		}
	}
	return errors.Join(
		execute(l.stock, len(items)),
		execute(l.book, "job:"+string(job), "reserve", job, l.now, "", 0))
}

func (l *rawLoop) claim(job penstock.ID, items []penstock.ID) error {
	for first := 0; first < len(items); first += rawPlaces {
		ns := make([]int, min(rawPlaces, len(items)-first))
		for i := range ns {
			ns[i] = first + i
		}
		held, err := json.Marshal(ns)
		if err := errors.Join(err, execute(l.openClaim, items[first], job, len(ns), string(held))); err != nil {
			return err
		}
	}
	return errors.Join(
		execute(l.leave, l.now, job),
		execute(l.stock, -len(items)),
		execute(l.charge, len(items)*320),
		execute(l.claimJob, job, l.now))
}

func (l *rawLoop) finish(job penstock.ID, items []penstock.ID) error {
	for first := 0; first < len(items); first += rawInputGroup {
		n := min(rawInputGroup, len(items)-first)
		results, err := l.results(items[first : first+n])
		err = errors.Join(err, execute(l.finishItems, job, 2+first+n, first, n, l.now, l.ends[:len(l.ends)*n/rawInputGroup], results))
		if err != nil {
			return err
		}
	}
	for first := 0; first < len(items); first += rawPlaces {
		n := min(rawPlaces, len(items)-first)
		if err := errors.Join(execute(l.finishClaim, job, items[first], n, int64(1)<<n-1), execute(l.closeClaim, job, items[first])); err != nil {
			return err
		}
	}
	return errors.Join(
		execute(l.book, "settle:"+string(job)+":3", "settle", job, l.now, rawHash, len(items)),
		execute(l.finishJob, job, len(items), l.now))
}

func execute(s *sql.Stmt, args ...any) error {
	for i, a := range args {
		if id, ok := a.(penstock.ID); ok {
			args[i] = string(id)
		}
	}
	_, err := s.Exec(args...)
	return err
}

// Close removes every trace.
func (l *rawLoop) Close() error {
	var err error
	if l.conn != nil {
		err = l.conn.Close()
	}
	if l.db != nil {
		err = errors.Join(err, l.db.Close())
	}
	return errors.Join(err, os.RemoveAll(l.dir))
}

// written is what a database file holds for its finished items.
type written struct {
	rows    map[string]float64 // by table, for a thousand items
	bytes   float64            // of an item's input, result and attempt
	toFiles float64            // bytes that were written to files for an item, the log's and the checkpoints'
}

// like says whether a side has no less than another: the same bytes of each item, and rows in the same tables, more of
// them where its groups were smaller.
func (w written) like(raw written) bool {
	for table, n := range raw.rows {
		if w.rows[table] < n*0.9 {
			return false
		}
	}
	return w.bytes > raw.bytes*0.95 && w.bytes < raw.bytes*1.05
}

func (w written) String() string {
	var rows []string
	for _, table := range slices.Sorted(maps.Keys(w.rows)) {
		rows = append(rows, fmt.Sprintf("%s %.1f", table, w.rows[table]))
	}
	return fmt.Sprintf("%.0f bytes an item, %.0f written to files; rows for 1,000 items: %s", w.bytes, w.toFiles, strings.Join(rows, ", "))
}

// lastingTables have rows that stay for as long as a job does. Others have rows for what is not finished, of which some
// are left when Penstock's round ends, or one row however many items there are.
var lastingTables = []string{"jobs", "input_groups", "result_groups", "ledger"}

func writtenPerItem(ctx context.Context, path string) (w written, err error) {
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		return w, err
	}
	defer db.Close()
	var items int64
	err = db.QueryRowContext(ctx, `SELECT SUM(items) + (SELECT COUNT(*) FROM items WHERE status = 'succeeded'),
			SUM(LENGTH(facts) + LENGTH(results)) * 1.0 / SUM(items) +
			(SELECT SUM(LENGTH(inputs)) * 1.0 / (SELECT SUM(total) FROM jobs) FROM input_groups)
		FROM result_groups`).Scan(&items, &w.bytes)
	if err != nil {
		return w, err
	}
	w.rows = make(map[string]float64)
	for _, name := range lastingTables {
		var n int64
		if err := db.QueryRowContext(ctx, `SELECT COUNT(*) FROM `+name).Scan(&n); err != nil {
			return w, err
		}
		w.rows[name] = 1000 * float64(n) / float64(items)
	}
	return w, nil
}
