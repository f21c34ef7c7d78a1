package sqlite_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"penstock"
	"penstock/internal/blob"
	"penstock/internal/blob/dir"
	"penstock/internal/payload"
	"penstock/internal/store"
	"penstock/internal/store/schema"
	"penstock/internal/store/sqldb"
	"penstock/internal/store/sqlite"
	"penstock/internal/store/sqlstore"
)

// rig is a store whose parts a test can reach behind its back.
type rig struct {
	*sqlstore.Store
	t      *testing.T
	engine *sqlite.Engine
	codec  *payload.Codec
	blobs  *blobRecorder
	ids    penstock.IDs
}

// blobRecorder is the blob directory, with deletions that can be made to fail.
type blobRecorder struct {
	blob.Store
	root     string
	onDelete func(name string) error
}

func (s *blobRecorder) Delete(ctx context.Context, name string) error {
	if s.onDelete != nil {
		if err := s.onDelete(name); err != nil {
			return err
		}
	}
	return s.Store.Delete(ctx, name)
}

// names lists every blob.
func (h *rig) names() []string {
	h.t.Helper()
	page, err := h.blobs.List(h.t.Context(), blob.Query{OlderThan: time.Now().Add(time.Hour), Limit: blob.MaxListLimit})
	if err != nil {
		h.t.Fatal(err)
	}
	var names []string
	for _, b := range page {
		names = append(names, b.Name)
	}
	return names
}

func newRig(t *testing.T) *rig {
	t.Helper()
	home := t.TempDir()
	engine, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(home, "penstock.db")})
	if err != nil {
		t.Fatal(err)
	}
	keys, err := payload.LoadOrCreate(filepath.Join(home, "keyset.json"))
	if err != nil {
		t.Fatal(err)
	}
	codec, err := payload.New(keys)
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(home, "blobs")
	directory, err := dir.New(root)
	if err != nil {
		t.Fatal(err)
	}
	h := &rig{t: t, engine: engine, codec: codec, blobs: &blobRecorder{Store: directory, root: root}}
	db, err := schema.Open(t.Context(), engine)
	if err != nil {
		t.Fatal(err)
	}
	if h.Store, err = sqlstore.New(t.Context(), db, codec, h.blobs); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

// bulky does not fit a row.
func bulky() []byte {
	var text []byte
	for len(text) < 3*store.InlinePayloadBytes {
		text = append(text, rand.Text()...)
	}
	return text
}

// submit accepts a job of n items with the given body.
func (h *rig) submit(n int, body []byte) (penstock.ID, error) {
	sub := store.Submission{
		Job: penstock.Job{ID: h.ids.New(time.Now()), Key: "app", Endpoint: penstock.EndpointChat, Model: "fast",
			Lane: penstock.LaneStandard, MaxAttempts: 4, ItemTimeout: time.Minute},
		DeadlineIn: time.Hour,
	}
	for range n {
		sub.Items = append(sub.Items, store.NewItem{Body: body, Reserved: 5})
	}
	_, err := h.SubmitJob(h.t.Context(), "acme", sub)
	return sub.Job.ID, err
}

// claim claims all there is and says how it will end.
func (h *rig) claim(result []byte) []store.Finish {
	h.t.Helper()
	lease, err := h.AcquireLease(h.t.Context(), "local", time.Hour)
	if err != nil {
		h.t.Fatal(err)
	}
	claims, err := h.ClaimItems(h.t.Context(), lease, store.Want{Lanes: penstock.Lanes, Limit: 1000})
	if err != nil {
		h.t.Fatal(err)
	}
	var group []store.Finish
	for _, c := range claims {
		group = append(group, store.Finish{
			Item: c.Item, Job: c.Job, Tenant: c.Tenant, Fence: c.Fence, Transition: penstock.TransitionSucceed, Counted: 1,
			Attempts: []penstock.Attempt{{ID: h.ids.New(time.Now()), Subject: c.Item, Fence: c.Fence, Target: "a"}},
			Target:   "a", StatusCode: 200, Result: result, Cost: 3,
		})
	}
	return group
}

// finished is a job of n items whose inputs and results are all blobs.
func (h *rig) finished(n int) penstock.ID {
	h.t.Helper()
	id, err := h.submit(n, bulky())
	if err != nil {
		h.t.Fatal(err)
	}
	if _, err := h.FinishItems(h.t.Context(), h.claim(bulky())); err != nil {
		h.t.Fatal(err)
	}
	return id
}

func (h *rig) verify() []string {
	h.t.Helper()
	report, err := h.VerifyLedger(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	return report.Problems
}

// damage changes the database in a way that no method of the store does.
func (h *rig) damage(sql string) {
	h.t.Helper()
	if err := h.engine.Write(h.t.Context(), func(tx sqldb.Tx) error { return tx.Do(h.t.Context(), sql) }); err != nil {
		h.t.Fatal(err)
	}
}

// findsDamage changes what is sound behind the store's back, and holds that the audit names the problem.
func (h *rig) findsDamage(sql, problem string) {
	h.t.Helper()
	if problems := h.verify(); len(problems) > 0 {
		h.t.Fatalf("before the damage: %v", problems)
	}
	h.damage(sql)
	if problems := h.verify(); !slices.ContainsFunc(problems, func(p string) bool { return strings.HasPrefix(p, problem) }) {
		h.t.Errorf("the audit finds %v", problems)
	}
}

// sweepBlobs takes every blob for old enough.
func (h *rig) sweepBlobs() int {
	h.t.Helper()
	removed, page := 0, store.BlobPage{StoredBefore: time.Now().Add(time.Hour), Limit: 3}
	for {
		done, err := h.PurgeBlobs(h.t.Context(), page)
		if err != nil {
			h.t.Fatal(err)
		}
		removed += done.Removed
		if !done.More {
			return removed
		}
		page.After = done.Next
	}
}

// TestDeleteTakesBlobsAfterRows holds that a deleted job leaves no blob, that blobs go only once nothing
// names them any more, and that those of other jobs stay.
func TestDeleteTakesBlobsAfterRows(t *testing.T) {
	t.Parallel()
	h := newRig(t)
	stays, goes := h.finished(2), h.finished(3)
	before := h.names()
	h.blobs.onDelete = func(name string) error {
		if _, err := h.Item(t.Context(), "acme", penstock.ItemID(goes, 0)); penstock.ErrorCode(err) != penstock.CodeNotFound {
			t.Errorf("blob %s goes while a row may name it (%v)", name, err)
		}
		return nil
	}
	if err := h.DeleteJob(t.Context(), "acme", store.Deletion{Job: goes}); err != nil {
		t.Fatal(err)
	}
	if after := h.names(); len(before) != 10 || len(after) != 4 {
		t.Errorf("%d blobs before the deletion, %d after, want 10 and 4", len(before), len(after))
	}
	for n := range 2 {
		if item, err := h.Item(t.Context(), "acme", penstock.ItemID(stays, n)); err != nil || len(item.Result) == 0 {
			t.Errorf("item %d of the other job: %v", n, err)
		}
	}
}

// TestSweepFindsWhatACrashLeft holds that a process that dies between the rows and the blobs, in either
// direction, leaves orphans that are swept, and never a row whose blob is gone.
func TestSweepFindsWhatACrashLeft(t *testing.T) {
	t.Parallel()
	h := newRig(t)
	stays, goes := h.finished(2), h.finished(2)
	h.blobs.onDelete = func(string) error { return errors.New("the process died") }
	if err := h.DeleteJob(t.Context(), "acme", store.Deletion{Job: goes}); err != nil {
		t.Fatal(err)
	}
	h.blobs.onDelete = nil
	unborn := blob.NewName() // its transaction never came
	if _, err := h.blobs.Put(t.Context(), unborn, strings.NewReader("x")); err != nil {
		t.Fatal(err)
	}
	if n := len(h.names()); n != 9 {
		t.Fatalf("%d blobs before the sweep, want 9", n)
	}
	young, err := h.PurgeBlobs(t.Context(), store.BlobPage{StoredBefore: time.Now().Add(-time.Hour), Limit: 100})
	if err != nil || young.Removed != 0 {
		t.Errorf("blobs within their grace: %+v, %v", young, err)
	}
	if n := h.sweepBlobs(); n != 5 {
		t.Errorf("%d orphans were removed, want 5", n)
	}
	if names := h.names(); len(names) != 4 || slices.Contains(names, unborn) {
		t.Errorf("%d blobs are left, want 4", len(names))
	}
	for n := range 2 {
		if item, err := h.Item(t.Context(), "acme", penstock.ItemID(stays, n)); err != nil || len(item.Result) == 0 {
			t.Errorf("item %d of the job that stays: %v", n, err)
		}
	}
	if problems := h.verify(); len(problems) > 0 {
		t.Error(problems)
	}
}

// TestSweepSparesOlderBlobs holds that a new database on an old data directory does not take the blobs of
// the one before it for orphans.
func TestSweepSparesOlderBlobs(t *testing.T) {
	t.Parallel()
	h := newRig(t)
	name := blob.NewName()
	if _, err := h.blobs.Put(t.Context(), name, strings.NewReader("x")); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-24 * time.Hour)
	if err := os.Chtimes(filepath.Join(h.blobs.root, name[:2], name), old, old); err != nil {
		t.Fatal(err)
	}
	if n := h.sweepBlobs(); n != 0 || len(h.names()) != 1 {
		t.Errorf("%d blobs of an older database were removed", n)
	}
}

// TestClaimWithoutBits holds that a claim of a release which kept no bits, and had any number of items in a row, ends
// like others: each item once.
func TestClaimWithoutBits(t *testing.T) {
	t.Parallel()
	const items = 70
	h := newRig(t)
	job, err := h.submit(items, []byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	group := h.claim([]byte("{}"))
	var ns []int
	for n := range items {
		ns = append(ns, n)
	}
	list, err := json.Marshal(ns)
	if err != nil {
		t.Fatal(err)
	}
	h.damage(`DELETE FROM claims WHERE id <> (SELECT MIN(id) FROM claims)`)
	h.damage(fmt.Sprintf(`UPDATE claims SET open = %d, items = '%s'`, items, list))
	for _, part := range [][]store.Finish{group[:10], group[5:], group} {
		if _, err := h.FinishItems(t.Context(), part); err != nil {
			t.Fatal(err)
		}
	}
	if problems := h.verify(); len(problems) > 0 {
		t.Error(problems)
	}
	if j, err := h.Job(t.Context(), "acme", job); err != nil || j.Counts.Succeeded != items {
		t.Errorf("counts %+v, %v; want all of %d succeeded", j.Counts, err, items)
	}
}

// TestAuditSeesIntoResultGroups holds that the books are wrong once a result group tells something else than its row, or than
// what is elsewhere.
func TestAuditSeesIntoResultGroups(t *testing.T) {
	t.Parallel()
	const differs, twice = "result group differs from what it says it is: ", "item is in a result group and elsewhere: "
	for name, damage := range map[string]struct{ sql, problem string }{
		"another cost":          {`UPDATE result_groups SET cost_nano_usd = cost_nano_usd + 1`, "job's settlements differ from its outcomes"},
		"another reservation":   {`UPDATE result_groups SET reserved_nano_usd = reserved_nano_usd - 1`, differs},
		"other tokens":          {`UPDATE result_groups SET output_tokens = output_tokens + 1`, differs},
		"more items":            {`UPDATE result_groups SET items = items + 1`, differs},
		"other indexes":         {`UPDATE result_groups SET min_n = min_n + 1`, differs},
		"a result cut off":      {`UPDATE result_groups SET results = substr(results, 1, length(results) - 1)`, differs},
		"facts cut off":         {`UPDATE result_groups SET facts = substr(facts, 1, length(facts) - 1)`, differs},
		"facts of another kind": {`UPDATE result_groups SET facts = x'07' || substr(facts, 2)`, differs},
		"a result group lost":   {`DELETE FROM result_groups`, "job's items are lost, or in two places"},
		"a number used twice":   {`UPDATE result_groups SET last_seq = last_seq + 1`, "job's event numbers have gaps or repeat"},
		"a row beside it": {`INSERT INTO items (id, job_id, tenant_id, n, custom_id, status, estimate_tokens, input_bytes, reserved_nano_usd)
			SELECT '{item 1}', job_id, tenant_id, 1, '', 'succeeded', 0, 0, 0 FROM result_groups`, twice},
		"still in line": {`INSERT INTO ready SELECT lane, tenant_id, model, deadline, id, 1, 1, 0, '', 0, 0 FROM jobs`, twice},
		"still claimed": {`INSERT INTO claims (id, job_id, tenant_id, process_id, epoch, open, items) SELECT 'x', id, tenant_id, 'p', 1, 1, '[2]' FROM jobs`, twice},
		"ended under its claim": {`INSERT INTO claims (id, job_id, tenant_id, process_id, epoch, open, items, ended)
			SELECT 'x', id, tenant_id, 'p', 1, 1, '[2]', 1 FROM jobs`, "job's items are lost, or in two places"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newRig(t)
			job, err := h.submit(3, []byte("{}"))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := h.FinishItems(t.Context(), h.claim([]byte("{}"))); err != nil {
				t.Fatal(err)
			}
			h.findsDamage(strings.ReplaceAll(damage.sql, "{item 1}", string(penstock.ItemID(job, 1))), damage.problem)
		})
	}
}

// TestAuditSeesWhatWasNotDeleted holds that the books are right after deletions, and wrong once a row goes
// that nobody deleted, or a deletion is counted twice.
func TestAuditSeesWhatWasNotDeleted(t *testing.T) {
	t.Parallel()
	const forgotten, living = "settlements without what they settle differ from what was deleted: acme item", "job's settlements differ from its outcomes"
	const entry = `key, tenant_id, kind, subject_id, job_id, target, reserved_nano_usd, cost_nano_usd,
		input_tokens, cached_input_tokens, output_tokens, price_version, created_at, outcomes`
	for name, damage := range map[string]struct{ sql, problem string }{
		"a lost item":           {`DELETE FROM items WHERE n = 1`, living},
		"another cost":          {`UPDATE items SET cost_nano_usd = cost_nano_usd + 1 WHERE n = 1`, living},
		"a job that came back":  {`UPDATE forgotten SET subjects = subjects - 1`, forgotten},
		"other costs":           {`UPDATE forgotten SET cost_nano_usd = cost_nano_usd + 1`, forgotten},
		"nothing is remembered": {`DELETE FROM forgotten`, forgotten},
		"a forged settlement": {`INSERT INTO ledger (` + entry + `) SELECT 'settle:forged', tenant_id, kind, 'forged', 'forged', target, 0, 0, 0, 0, 0, '', 0, 1
			FROM ledger WHERE kind = 'settle' LIMIT 1`, forgotten},
		"a settlement booked twice": {`INSERT INTO ledger (` + entry + `) SELECT key || '-again', tenant_id, kind, subject_id, job_id, target, reserved_nano_usd, cost_nano_usd,
			input_tokens, cached_input_tokens, output_tokens, price_version, created_at, outcomes FROM ledger
			WHERE kind = 'settle' AND job_id IN (SELECT id FROM jobs) LIMIT 1`, living},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newRig(t)
			h.finished(3)
			if err := h.DeleteJob(t.Context(), "acme", store.Deletion{Job: h.finished(2)}); err != nil {
				t.Fatal(err)
			}
			h.findsDamage(damage.sql, damage.problem)
		})
	}
}

// spy notes every statement that a store runs.
type spy struct {
	sqldb.Engine
	seen map[string]bool
}

func (s spy) Read(ctx context.Context, fn func(sqldb.Tx) error) error {
	return s.Engine.Read(ctx, func(tx sqldb.Tx) error { return fn(spyTx{tx, s.seen}) })
}

func (s spy) Write(ctx context.Context, fn func(sqldb.Tx) error) error {
	return s.Engine.Write(ctx, func(tx sqldb.Tx) error { return fn(spyTx{tx, s.seen}) })
}

type spyTx struct {
	sqldb.Tx
	seen map[string]bool
}

func (t spyTx) Do(ctx context.Context, sql string, args ...any) error {
	t.seen[sql] = true
	return t.Tx.Do(ctx, sql, args...)
}

func (t spyTx) Exec(ctx context.Context, sql string, args ...any) (int64, error) {
	t.seen[sql] = true
	return t.Tx.Exec(ctx, sql, args...)
}

func (t spyTx) Query(ctx context.Context, sql string, args ...any) (sqldb.Rows, error) {
	t.seen[sql] = true
	return t.Tx.Query(ctx, sql, args...)
}

func (t spyTx) QueryIn(ctx context.Context, q sqldb.IDQuery, scan func(sqldb.Row) error) error {
	t.seen[q.SQL] = true
	return t.Tx.QueryIn(ctx, q, scan)
}

// TestSweepScansNothing holds that every statement of a sweep finds its rows by an index, however much is
// kept.
func TestSweepScansNothing(t *testing.T) {
	t.Parallel()
	h := newRig(t)
	h.finished(2)
	call := penstock.Request{ID: h.ids.New(time.Now()), Tenant: "acme", Status: penstock.StatusSucceeded}
	if err := h.RecordRequests(t.Context(), []penstock.Request{call}); err != nil {
		t.Fatal(err)
	}
	h.damage(`INSERT INTO idempotency_keys (tenant_id, key, body_hash, job_id, created_at, expires_at) VALUES ('acme', 'k', '', '', 1, 2)`)
	s := spy{h.engine, map[string]bool{}}
	swept, err := sqlstore.New(t.Context(), sqldb.New(s), h.codec, h.blobs)
	if err != nil {
		t.Fatal(err)
	}
	clear(s.seen)
	soon := store.Purge{Kept: -time.Hour, Limit: 2}
	for name, step := range map[string]func() (store.Purged, error){
		"jobs":     func() (store.Purged, error) { return swept.PurgeJobs(t.Context(), "acme", soon) },
		"requests": func() (store.Purged, error) { return swept.PurgeRequests(t.Context(), "acme", soon) },
		"keys":     func() (store.Purged, error) { return swept.PurgeKeys(t.Context(), 2) },
	} {
		if done, err := step(); err != nil || done.Removed != 1 {
			t.Errorf("purging %s: %+v, %v", name, done, err)
		}
	}
	if done, err := swept.PurgeItems(t.Context(), 10); err != nil || done.Removed == 0 {
		t.Errorf("purging items: %+v, %v", done, err)
	}
	h.finished(1)
	if _, err := swept.PurgeBlobs(t.Context(), store.BlobPage{StoredBefore: time.Now().Add(time.Hour), Limit: 9}); err != nil {
		t.Error(err)
	}
	for sql := range s.seen {
		h.wantIndexed(sql)
	}
	if len(s.seen) < 12 {
		t.Errorf("a sweep ran only %d statements", len(s.seen))
	}
}

// wantIndexed demands that a statement reads neither a whole table nor sorts what it reads. Of the jobs that
// are being deleted there are few.
func (h *rig) wantIndexed(sql string) {
	h.t.Helper()
	text := "EXPLAIN QUERY PLAN " + sql
	err := h.engine.Read(h.t.Context(), func(tx sqldb.Tx) error {
		rows, err := tx.Query(h.t.Context(), text, make([]any, 8)...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var id, parent, unused int
			var detail string
			if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
				return err
			}
			if scans := strings.HasPrefix(detail, "SCAN") && detail != "SCAN deleted_jobs"; scans || strings.Contains(detail, "TEMP B-TREE") {
				h.t.Errorf("%s\n\tdoes: %s", sql, detail)
			}
		}
		return rows.Err()
	})
	if err != nil {
		h.t.Errorf("%s: %v", sql, err)
	}
}

// TestFullDisk fills the database for real. A submit that finds the disk full is refused whole, as is a finish;
// reading, deleting and a later finish work, and nothing is left half-written.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	h := newRig(t)
	done := h.finished(2)
	accepted, err := h.submit(20, bulky()[:store.InlinePayloadBytes/2])
	if err != nil {
		t.Fatal(err)
	}
	group := h.claim(bulky()[:store.InlinePayloadBytes/2])
	if err := h.engine.LimitPages(1); err != nil { // no more than there are
		t.Fatal(err)
	}
	blobs := h.names()

	h.wantRefused()
	fitted := 0
	for {
		if _, err := h.submit(20, bulky()); err != nil {
			break
		}
		fitted += 20
	}
	if after := h.names(); len(after) != len(blobs)+fitted {
		t.Errorf("%d blobs of accepted jobs became %d", len(blobs)+fitted, len(after))
	}
	if _, err := h.FinishItems(t.Context(), group); !errors.Is(err, penstock.ErrDiskFull) {
		t.Errorf("a finish on a full disk: %v, want %v", err, penstock.ErrDiskFull)
	}
	if job, err := h.Job(t.Context(), "acme", accepted); err != nil || job.Counts.Running != 20 {
		t.Errorf("after the refused finish the job has %+v, %v", job.Counts, err)
	}
	if problems := h.verify(); len(problems) > 0 {
		t.Error(problems)
	}

	if err := h.engine.LimitPages(0); err != nil {
		t.Fatal(err)
	}
	verdicts, err := h.FinishItems(t.Context(), group)
	if err != nil || !verdicts[0].Won {
		t.Errorf("the same finish with space: %v, %v", verdicts, err)
	}
	if err := h.DeleteJob(t.Context(), "acme", store.Deletion{Job: done}); err != nil {
		t.Error(err)
	}
	if slack, err := h.engine.Slack(t.Context()); err != nil || slack < 0 {
		t.Errorf("slack is %d, %v", slack, err)
	}
	if problems := h.verify(); len(problems) > 0 {
		t.Error(problems)
	}
}

// wantRefused submits to a full disk and demands that what is refused leaves no trace. The first few jobs may
// still fit into pages that are half empty.
func (h *rig) wantRefused() {
	h.t.Helper()
	refused := make([]penstock.ID, 0, 50)
	for range cap(refused) {
		id, err := h.submit(3, bulky()[:store.InlinePayloadBytes/2])
		if err == nil {
			continue
		}
		if e := penstock.AsError(err); e.Code != penstock.CodeOverloaded || !errors.Is(err, penstock.ErrDiskFull) || e.RetryAfter <= 0 {
			h.t.Fatalf("a submit on a full disk: %v, want overloaded", err)
		}
		refused = append(refused, id)
	}
	if len(refused) == 0 {
		h.t.Fatal("the disk was not full")
	}
	for _, id := range refused {
		_, jobErr := h.Job(h.t.Context(), "acme", id)
		_, itemErr := h.Item(h.t.Context(), "acme", penstock.ItemID(id, 0))
		if penstock.ErrorCode(jobErr) != penstock.CodeNotFound || penstock.ErrorCode(itemErr) != penstock.CodeNotFound {
			h.t.Errorf("a refused submit left something behind: %v, %v", jobErr, itemErr)
		}
	}
}

// TestSlackGrowsByDeletion holds that what deleted rows leave is seen.
func TestSlackGrowsByDeletion(t *testing.T) {
	t.Parallel()
	h := newRig(t)
	id, err := h.submit(50, bulky()[:store.InlinePayloadBytes/2])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.FinishItems(t.Context(), h.claim(nil)); err != nil {
		t.Fatal(err)
	}
	before, err := h.engine.Slack(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := h.DeleteJob(t.Context(), "acme", store.Deletion{Job: id}); err != nil {
		t.Fatal(err)
	}
	after, err := h.engine.Slack(t.Context())
	if grown := after - before; err != nil || grown < 50*store.InlinePayloadBytes/4 {
		t.Errorf("deleting 50 inputs of %d bytes left %d free bytes, %v", store.InlinePayloadBytes/2, grown, err)
	}
}
