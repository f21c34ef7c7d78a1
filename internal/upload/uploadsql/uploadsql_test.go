package uploadsql_test

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"penstock"
	"penstock/internal/blob"
	"penstock/internal/blob/dir"
	"penstock/internal/file"
	"penstock/internal/store"
	"penstock/internal/store/postgres/pgtest"
	"penstock/internal/store/schema/schematest"
	"penstock/internal/store/sqldb"
	"penstock/internal/store/sqlstore"
	"penstock/internal/store/storedrow"
	"penstock/internal/upload"
	"penstock/internal/upload/uploadsql"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

const acme, umbra penstock.TenantID = "acme", "umbra"

const content = "%PDF-1.7\n0123456789"

var limits = file.Limits{MaxBytes: 1 << 20, MaxMediaBytes: 1 << 20, MaxLineBytes: 1 << 10, MaxJSONDepth: 8}

// rig is a service on one engine.
type rig struct {
	*testing.T
	*upload.Service
	store *uploadsql.Store
	db    *sqldb.DB
	blobs *dir.Store
}

func onEngines(t *testing.T, test func(r *rig)) {
	t.Helper()
	schematest.OnEngines(t, func(t *testing.T, db *sqldb.DB) {
		r := &rig{T: t, db: db, store: uploadsql.New(db)}
		codec := schematest.Codec(t)
		var err error
		r.blobs, err = dir.New(t.TempDir())
		r.must("make a directory", err)
		rows, err := sqlstore.New(t.Context(), db, codec, r.blobs)
		r.must("make a store", err)
		files, err := file.New(file.Deps{Files: rows, Blobs: r.blobs, Codec: codec, Clock: time.Now,
			Windows: func(penstock.TenantID) penstock.Retention { return penstock.Retention{Files: 24 * time.Hour} }})
		r.must("make files", err)
		r.Service, err = upload.New(upload.Deps{Uploads: r.store, Parts: r.store, Files: files, Clock: time.Now})
		r.must("make the service", err)
		test(r)
	})
}

func (r *rig) must(what string, err error) {
	r.Helper()
	if err != nil {
		r.Fatalf("%s: %v", what, err)
	}
}

func (r *rig) wantCode(what string, err error, code penstock.Code) {
	r.Helper()
	if penstock.ErrorCode(err) != code {
		r.Errorf("%s: %v, want %s", what, err, code)
	}
}

func (r *rig) begin() upload.Upload {
	r.Helper()
	u, err := r.Create(r.Context(), upload.Upload{Tenant: acme, Key: "app", Name: "a.pdf", Purpose: store.PurposeUserData, Bytes: int64(len(content))}, limits)
	r.must("create", err)
	return u
}

func (r *rig) part(u upload.Upload, text string) penstock.ID {
	r.Helper()
	p, err := r.Add(r.Context(), u, strings.NewReader(text), 0)
	r.must("add a part", err)
	return p.Content.ID
}

// stored is the bytes that the tenant's quota counts, and blobs how many blobs there are.
func (r *rig) stored() int64 {
	r.Helper()
	var sum store.Stored
	_, err := r.db.Ask(r.Context(), storedrow.Ask(acme, &sum))
	r.must("read what is stored", err)
	return sum.Bytes()
}

func (r *rig) blobCount() int {
	r.Helper()
	all, err := r.blobs.List(r.Context(), blob.Query{OlderThan: time.Now().Add(time.Hour), Limit: 1000})
	r.must("list blobs", err)
	return len(all)
}

// TestOneFile holds that many completions at once, with the same parts, make one file, that what is not needed any more is removed, and
// that the quota counts the file alone.
func TestOneFile(t *testing.T) {
	t.Parallel()
	onEngines(t, func(r *rig) {
		u := r.begin()
		second, _, first := r.part(u, content[9:]), r.part(u, "not listed"), r.part(u, content[:9])
		sum := md5.Sum([]byte(content))
		done := upload.Completion{Upload: u.ID, Parts: []penstock.ID{first, second}, MD5: hex.EncodeToString(sum[:]), Limits: limits}
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				ended, f, err := r.Complete(r.Context(), acme, done)
				if err != nil || ended.Status != upload.Completed || f.ID != u.File || f.Bytes != int64(len(content)) || f.MediaType != "application/pdf" {
					r.Errorf("completed %+v, %+v, %v", ended, f, err)
				}
			})
		}
		all.Wait()
		if r.stored() != int64(len(content)) || r.blobCount() != 1 {
			r.Errorf("%d bytes and %d blobs are stored", r.stored(), r.blobCount())
		}
		_, err := r.Cancel(r.Context(), acme, u.ID)
		r.wantCode("cancel it afterwards", err, penstock.CodeConflict)
		_, err = r.Add(r.Context(), upload.Upload{ID: u.ID, Tenant: acme, Status: upload.Pending}, strings.NewReader("late"), 0)
		r.wantCode("add a part afterwards", err, penstock.CodeConflict)
		done.Parts = []penstock.ID{second, first}
		_, _, err = r.Complete(r.Context(), acme, done)
		r.wantCode("complete it with another order", err, penstock.CodeConflict)
	})
}

// ending is a store in which another call acts before each end of an upload.
type ending struct {
	*uploadsql.Store
	before func()
}

func (e ending) EndUpload(ctx context.Context, tenant penstock.TenantID, id penstock.ID, as upload.Status) (upload.Upload, []upload.Part, error) {
	e.before()
	return e.Store.EndUpload(ctx, tenant, id, as)
}

// TestEndDuringCompletion holds that a completion whose upload is cancelled meanwhile leaves no file, and that a completion that
// began in time makes a file though the upload expires meanwhile.
func TestEndDuringCompletion(t *testing.T) {
	t.Parallel()
	onEngines(t, func(r *rig) {
		complete := func(before func(u upload.Upload)) (upload.Upload, error) {
			u := r.begin()
			c := upload.Completion{Upload: u.ID, Parts: []penstock.ID{r.part(u, content)}, Limits: limits}
			s, err := upload.New(upload.Deps{Uploads: ending{r.store, func() { before(u) }}, Parts: r.store, Files: r.Files, Clock: time.Now})
			r.must("make a service", err)
			ended, _, err := s.Complete(r.Context(), acme, c)
			return ended, err
		}
		ended, err := complete(func(u upload.Upload) {
			_, err := r.Cancel(r.Context(), acme, u.ID)
			r.must("cancel", err)
		})
		r.wantCode("a cancelled upload", err, penstock.CodeConflict)
		if ended.Status != upload.Cancelled || r.stored() != 0 || r.blobCount() != 0 {
			r.Errorf("it is %s; %d bytes and %d blobs are left", ended.Status, r.stored(), r.blobCount())
		}
		ended, err = complete(func(u upload.Upload) {
			r.must("expire", r.db.Write(r.Context(), "test", func(tx sqldb.Tx) error {
				return tx.Do(r.Context(), `UPDATE uploads SET expires_at = $2 WHERE id = $1`, u.ID, sqldb.Micros(tx.Now().Add(-time.Minute)))
			}))
			_, err := r.Purge(r.Context(), acme, store.Purge{Kept: time.Hour, Limit: 100})
			r.must("purge", err)
			_, err = r.Cancel(r.Context(), acme, u.ID)
			r.wantCode("cancel an expired upload", err, penstock.CodeConflict)
		})
		if err != nil || ended.Status != upload.Completed || r.stored() != int64(len(content)) || r.blobCount() != 1 {
			r.Errorf("it is %s, %v; %d bytes and %d blobs are left", ended.Status, err, r.stored(), r.blobCount())
		}
	})
}

// TestSharedChoice holds that a completion that fails takes its choice of parts back only if no other call made the same choice: that
// call may still write the file.
func TestSharedChoice(t *testing.T) {
	t.Parallel()
	onEngines(t, func(r *rig) {
		u, ctx := r.begin(), r.Context()
		r.must("choose", r.store.Choose(ctx, acme, u.ID, "a"))
		r.must("release", r.store.Release(ctx, acme, u.ID, "a"))
		r.must("choose others", r.store.Choose(ctx, acme, u.ID, "b"))
		for range 2 {
			r.must("choose the same", r.store.Choose(ctx, acme, u.ID, "b"))
		}
		r.must("release", r.store.Release(ctx, acme, u.ID, "b"))
		r.wantCode("choose others while a call may write the file", r.store.Choose(ctx, acme, u.ID, "a"), penstock.CodeConflict)
	})
}

// TestRefusedCompletions holds that a completion that is refused changes nothing.
func TestRefusedCompletions(t *testing.T) {
	t.Parallel()
	onEngines(t, func(r *rig) {
		u := r.begin()
		first, second := r.part(u, content[:9]), r.part(u, content[9:])
		other := r.part(r.begin(), content[9:])
		for what, c := range map[string]upload.Completion{
			"a part is missing": {Parts: []penstock.ID{first}},
			"a part twice":      {Parts: []penstock.ID{first, first}},
			"a part of another": {Parts: []penstock.ID{first, other}},
			"a wrong checksum":  {Parts: []penstock.ID{first, second}, MD5: strings.Repeat("0", 32)},
			"in an order that is of no type that requests hold": {Parts: []penstock.ID{first, second}, Limits: file.Limits{MaxBytes: 1 << 20, MaxMediaBytes: 1}},
		} {
			c.Upload = u.ID
			if c.Limits.MaxBytes == 0 {
				c.Limits = limits
			}
			_, _, err := r.Complete(r.Context(), acme, c)
			if code := penstock.ErrorCode(err); code != penstock.CodeInvalidRequest && code != penstock.CodeTooLarge {
				r.Errorf("%s: %v", what, err)
			}
		}
		r.must("choose", r.store.Choose(r.Context(), acme, u.ID, "others"))
		_, _, err := r.Complete(r.Context(), acme, upload.Completion{Upload: u.ID, Parts: []penstock.ID{first, second}, Limits: limits})
		r.wantCode("while another completes it with other parts", err, penstock.CodeConflict)
		r.must("release", r.store.Release(r.Context(), acme, u.ID, "others"))
		if _, _, err := r.Complete(r.Context(), acme, upload.Completion{Upload: u.ID, Parts: []penstock.ID{first, second}, Limits: limits}); err != nil {
			r.Error(err)
		}
	})
}

// TestBounds holds that uploads, their parts and their bytes are bounded.
func TestBounds(t *testing.T) {
	t.Parallel()
	onEngines(t, func(r *rig) {
		u := r.begin()
		_, err := r.Add(r.Context(), u, strings.NewReader("x"), 1) // a quota of one byte
		r.must("add a byte", err)
		_, err = r.Add(r.Context(), u, strings.NewReader("x"), 1)
		r.wantCode("beyond the quota", err, penstock.CodeQuotaExceeded)
		_, err = r.Add(r.Context(), u, strings.NewReader(""), 0)
		r.wantCode("an empty part", err, penstock.CodeInvalidRequest)
		for range 2 {
			r.part(u, content)
		}
		_, err = r.Add(r.Context(), u, strings.NewReader(content), 0)
		r.wantCode("more bytes than three times those of the file", err, penstock.CodeTooLarge)
		r.must("fill", r.db.Write(r.Context(), "test", func(tx sqldb.Tx) error {
			return tx.Do(r.Context(), `UPDATE uploads SET part_bytes = $1`, u.MaxBytes())
		}))
		_, err = r.Add(r.Context(), u, strings.NewReader("x"), 0)
		r.wantCode("more bytes than it may have", err, penstock.CodeTooLarge)
		r.must("fill", r.db.Write(r.Context(), "test", func(tx sqldb.Tx) error {
			return tx.Do(r.Context(), `UPDATE uploads SET part_bytes = 0, parts = $1`, upload.MaxParts)
		}))
		_, err = r.Add(r.Context(), u, strings.NewReader("x"), 0)
		r.wantCode("more parts than it may have", err, penstock.CodeTooLarge)
		for range upload.MaxPending - 1 {
			r.begin()
		}
		_, err = r.Create(r.Context(), u, limits)
		r.wantCode("more uploads than a tenant may have", err, penstock.CodeRateLimited)
		if r.blobCount() != 3 {
			r.Errorf("%d blobs are left", r.blobCount())
		}
	})
}

// TestAbandonedUploads holds that the parts of an upload that expired are removed, and later the upload.
func TestAbandonedUploads(t *testing.T) {
	t.Parallel()
	onEngines(t, func(r *rig) {
		u := r.begin()
		id := r.part(u, content)
		age := func(by time.Duration) {
			r.must("age", r.db.Write(r.Context(), "test", func(tx sqldb.Tx) error {
				return tx.Do(r.Context(), `UPDATE uploads SET expires_at = $1`, sqldb.Micros(tx.Now().Add(-by)))
			}))
		}
		purge := store.Purge{Kept: time.Hour, Limit: 100}
		if done, err := r.Purge(r.Context(), acme, purge); err != nil || done.Removed != 0 {
			r.Errorf("purged %+v, %v", done, err)
		}
		age(time.Minute)
		_, _, err := r.Complete(r.Context(), acme, upload.Completion{Upload: u.ID, Parts: []penstock.ID{id}, Limits: limits})
		r.wantCode("complete an expired upload", err, penstock.CodeConflict)
		if done, err := r.Purge(r.Context(), acme, purge); err != nil || done.Removed != 1 || r.stored() != 0 || r.blobCount() != 0 {
			r.Errorf("purged %+v, %v; %d bytes and %d blobs are left", done, err, r.stored(), r.blobCount())
		}
		if got, err := r.Upload(r.Context(), acme, u.ID); err != nil || got.Status != upload.Expired {
			r.Errorf("read %+v, %v", got, err)
		}
		age(2 * time.Hour)
		if done, err := r.Purge(r.Context(), acme, purge); err != nil || done.Removed != 1 {
			r.Errorf("purged %+v, %v", done, err)
		}
		_, err = r.Upload(r.Context(), acme, u.ID)
		r.wantCode("read it in the end", err, penstock.CodeNotFound)
	})
}

// TestOtherTenants holds that no method finds the upload of another tenant.
func TestOtherTenants(t *testing.T) {
	t.Parallel()
	onEngines(t, func(r *rig) {
		u := r.begin()
		r.part(u, content)
		ctx := r.Context()
		_, err := r.Upload(ctx, umbra, u.ID)
		r.wantCode("read", err, penstock.CodeNotFound)
		_, err = r.store.AddPart(ctx, umbra, upload.Part{Upload: u.ID, Content: store.File{ID: "01JQ0000000000000000000000"}})
		r.wantCode("add", err, penstock.CodeNotFound)
		if parts, err := r.store.Parts(ctx, umbra, u.ID); err != nil || len(parts) != 0 {
			r.Errorf("parts: %v, %v", parts, err)
		}
		r.wantCode("choose", r.store.Choose(ctx, umbra, u.ID, "x"), penstock.CodeNotFound)
		r.must("choose", r.store.Choose(ctx, acme, u.ID, "x"))
		r.must("release", r.store.Release(ctx, umbra, u.ID, "x"))
		_, _, err = r.store.EndUpload(ctx, umbra, u.ID, upload.Cancelled)
		r.wantCode("end", err, penstock.CodeNotFound)
		if done, _, err := r.store.PurgeUploads(ctx, umbra, store.Purge{Kept: -time.Hour * 48, Limit: 100}); err != nil || done.Removed != 0 {
			r.Errorf("purge: %+v, %v", done, err)
		}
		if got, err := r.Upload(ctx, acme, u.ID); err != nil || got.Status != upload.Pending || got.Parts != 1 || got.Chosen != "x" {
			r.Errorf("it is %+v, %v", got, err)
		}
	})
}
