package playgroundtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"penstock"
	"penstock/internal/playground"
	"penstock/internal/store"
	"penstock/internal/store/sqldb"
)

// done is a run that has ended.
func (r *rig) done(questions ...string) playground.Opened {
	r.Helper()
	made := r.create(setup(questions...))
	return r.await(made.ID, "the end", ended)
}

func roles(r *rig) {
	o := r.done("secret words")
	ctx := r.Context()
	key := penstock.Principal{Kind: penstock.PrincipalKey, Tenant: penstock.Tenant{ID: acme}, Key: "app", Scopes: penstock.Scopes}
	strangers := map[string]penstock.Principal{"bob": bob, "eve": eve, "a key": key, "umbra": person(umbra, "ada", penstock.RoleAdmin), "an admin": person(acme, "amy", penstock.RoleAdmin)}
	for name, who := range strangers {
		_, err := r.Open(ctx, who, o.ID)
		r.wantCode(name+" opens a private run", err, penstock.CodeNotFound)
		if all, err := r.List(ctx, who, playground.Page{Limit: 10}); err != nil || len(all) > 0 {
			r.Errorf("%s lists %v, %v", name, all, err)
		}
	}
	_, err := r.Share(ctx, bob, playground.ShareOrder{Run: o.ID, Kind: playground.ShareRole, Role: penstock.RoleDeveloper})
	r.wantCode("a stranger shares", err, penstock.CodeNotFound)
	share, err := r.Share(ctx, ada, playground.ShareOrder{Run: o.ID, Kind: playground.ShareRole, Role: penstock.RoleDeveloper})
	r.must("share", err)
	again, err := r.Share(ctx, ada, playground.ShareOrder{Run: o.ID, Kind: playground.ShareRole, Role: penstock.RoleDeveloper})
	if r.must("share again", err); again.ID != share.ID {
		r.Errorf("a second share with the role is %s, the first %s", again.ID, share.ID)
	}
	for name, who := range strangers {
		want := penstock.Code(penstock.CodeNotFound)
		if name == "bob" || name == "an admin" {
			want = ""
		}
		got, err := r.Open(ctx, who, o.ID)
		r.wantCode(name+" opens a shared run", err, want)
		_, _, err = r.OpenShare(ctx, who, share.ID)
		r.wantCode(name+" opens the share", err, want)
		all, err := r.List(ctx, who, playground.Page{Author: playground.AuthorOthers, Limit: 10})
		if err != nil || (len(all) == 1) != (want == "") || want == "" && (got.Mine || got.Shared != playground.SharedRole) {
			r.Errorf("%s lists %v and opened %+v, %v", name, all, got.Run, err)
		}
	}
	for name, err := range map[string]error{
		"delete": r.Delete(ctx, bob, o.ID), "rename": second(r.Rename(ctx, bob, playground.Rename{ID: o.ID, Name: "x"})),
		"stop": second(r.Stop(ctx, bob, playground.StopOrder{ID: o.ID, Column: playground.AllColumns})), "resume": second(r.Resume(ctx, bob, o.ID, nil)),
		"list shares": second(r.ListShares(ctx, bob, o.ID)),
	} {
		r.wantCode("another reader: "+name, err, penstock.CodeScopeMissing)
	}
	r.wantCode("another reader: unshare", r.Unshare(ctx, bob, share.ID), penstock.CodeNotFound)
	viewer, err := r.Share(ctx, ada, playground.ShareOrder{Run: o.ID, Kind: playground.ShareRole, Role: penstock.RoleViewer})
	r.must("share with viewers", err)
	_, _, err = r.OpenShare(ctx, eve, viewer.ID)
	r.must("a viewer opens", err)
	all, err := r.ListShares(ctx, ada, o.ID)
	if err != nil || len(all) != 2 {
		r.Errorf("the shares are %v, %v", all, err)
	}
	r.must("unshare", r.Unshare(ctx, ada, viewer.ID))
	_, err = r.Open(ctx, eve, o.ID)
	r.wantCode("a viewer after the end of the share", err, penstock.CodeNotFound)
	for _, wrong := range []playground.ShareOrder{{Run: o.ID, Kind: "x"}, {Run: o.ID, Kind: playground.ShareRole, Role: "x"}, {Run: o.ID, Kind: playground.ShareSnapshot, Lifetime: time.Minute},
		{Run: o.ID, Kind: playground.ShareSnapshot, Lifetime: time.Hour, Role: penstock.RoleViewer}, {Run: o.ID, Kind: playground.ShareSnapshot, Lifetime: 91 * 24 * time.Hour}} {
		_, err := r.Share(ctx, ada, wrong)
		r.wantCode(fmt.Sprintf("share %+v", wrong), err, penstock.CodeInvalidRequest)
	}
}

func second[T any](_ T, err error) error { return err }

func snapshots(r *rig) {
	ctx := r.Context()
	o := r.done("secret words")
	share, err := r.Share(ctx, ada, playground.ShareOrder{Run: o.ID, Kind: playground.ShareSnapshot, Lifetime: time.Hour})
	r.must("share", err)
	_, err = r.Mark(ctx, ada, playground.NewMark{Run: o.ID, Mark: playground.Mark{Rating: 1}})
	r.must("mark", err)
	_, err = r.Rename(ctx, ada, playground.Rename{ID: o.ID, Name: "later"})
	r.must("rename", err)
	for name, who := range map[string]penstock.Principal{"ada": ada, "bob": bob, "eve": eve} {
		got, copied, err := r.OpenShare(ctx, who, share.ID)
		if r.must(name+" opens", err); got.Run != o.ID || copied.Name != "" || len(copied.Cells[0].Marks) != 0 || copied.Cells[0].Result.Output.Text != "secret words " || copied.Mine != (name == "ada") || len(copied.Setup.Columns) != 1 {
			r.Errorf("%s sees %+v", name, copied)
		}
		if name != "ada" {
			_, err = r.Open(ctx, who, o.ID)
			r.wantCode(name+" opens the live run", err, penstock.CodeNotFound)
		}
	}
	_, _, err = r.OpenShare(ctx, person(umbra, "bob", penstock.RoleAdmin), share.ID)
	r.wantCode("another tenant opens", err, penstock.CodeNotFound)
	_, _, err = r.OpenShare(ctx, person(acme, "out"), share.ID)
	r.wantCode("somebody without a role opens", err, penstock.CodeNotFound)
	before := r.storedBytes()
	r.expire(share.ID)
	_, _, err = r.OpenShare(ctx, bob, share.ID)
	r.wantCode("an expired snapshot", err, penstock.CodeNotFound)
	if got, err := r.Open(ctx, ada, o.ID); err != nil || got.Shared != playground.Private {
		r.Errorf("the run is shared as %s, %v", got.Shared, err)
	}
	if n, err := r.s.PurgeShares(ctx, 10); err != nil || n > 1 {
		r.Errorf("%d snapshots were removed, %v", n, err)
	}
	if n := r.rows("playground_shares"); n != 0 || r.storedBytes() >= before {
		r.Errorf("%d shares are left; stored %d bytes before and %d after", n, before, r.storedBytes())
	}
	other, err := r.Share(ctx, ada, playground.ShareOrder{Run: o.ID, Kind: playground.ShareSnapshot, Lifetime: time.Hour})
	r.must("share", err)
	r.must("delete", r.Delete(ctx, ada, o.ID))
	_, _, err = r.OpenShare(ctx, ada, other.ID)
	r.wantCode("the snapshot of a deleted run", err, penstock.CodeNotFound)
}

// expire puts the end of a share into the past.
func (r *rig) expire(id penstock.ID) {
	r.Helper()
	r.must("expire", r.db.Write(r.Context(), "expire", func(tx sqldb.Tx) error {
		return tx.Do(r.Context(), `UPDATE playground_shares SET expires_at = 1 WHERE id = $1`, id)
	}))
}

func (r *rig) number(sql string, args ...any) (n int64) {
	r.Helper()
	r.must(sql, r.db.Read(r.Context(), func(tx sqldb.Tx) (err error) {
		n, _, err = sqldb.QueryOne(r.Context(), tx, sqldb.SQL(sql, args...), sqldb.ScanOne[int64])
		return err
	}))
	return n
}

func (r *rig) rows(table string) int64 { r.Helper(); return r.number(`SELECT COUNT(*) FROM ` + table) }

func (r *rig) storedBytes() int64 {
	r.Helper()
	return r.number(`SELECT COALESCE(SUM(job_bytes), 0) /*pg ::bigint */ FROM stored WHERE tenant_id = $1`, acme)
}

var tables = []string{"playground_runs", "playground_cells", "playground_inputs", "playground_chunks", "playground_marks", "playground_shares"}

func marks(r *rig) {
	ctx := r.Context()
	o := r.done("a", "b")
	_, err := r.Mark(ctx, bob, playground.NewMark{Run: o.ID, Mark: playground.Mark{Rating: 1}})
	r.wantCode("a stranger marks", err, penstock.CodeNotFound)
	_, err = r.Share(ctx, ada, playground.ShareOrder{Run: o.ID, Kind: playground.ShareRole, Role: penstock.RoleDeveloper})
	r.must("share", err)
	for _, m := range []struct {
		who  penstock.Principal
		cell int
		mark playground.Mark
	}{{bob, 1, playground.Mark{Rating: -1, Comment: "long", Correction: "short"}}, {ada, 1, playground.Mark{Rating: 1}}, {bob, 1, playground.Mark{Comment: "better"}}, {bob, 0, playground.Mark{Rating: 1}}, {bob, 0, playground.Mark{}}} {
		_, err := r.Mark(ctx, m.who, playground.NewMark{Run: o.ID, Cell: m.cell, Mark: m.mark})
		r.must("mark", err)
	}
	got, err := r.Open(ctx, ada, o.ID)
	r.must("open", err)
	if n := len(got.Cells[0].Marks); n != 0 {
		r.Errorf("a mark that was taken back is still there: %v", got.Cells[0].Marks)
	}
	var seen []string
	for _, m := range got.Cells[1].Marks {
		seen = append(seen, fmt.Sprintf("%s %d %s%s", m.Author.Name, m.Rating, m.Comment, m.Correction))
	}
	if slices.Sort(seen); !slices.Equal(seen, []string{"person:ada 1 ", "person:bob 0 better"}) {
		r.Errorf("the marks are %q", seen)
	}
	_, err = r.Mark(ctx, ada, playground.NewMark{Run: o.ID, Cell: 2, Mark: playground.Mark{Rating: 1}})
	r.wantCode("a cell that does not exist", err, penstock.CodeNotFound)
	for _, m := range []playground.Mark{{Rating: 2}, {Comment: strings.Repeat("x", playground.MaxCommentBytes+1)}, {Correction: strings.Repeat("x", playground.MaxCorrectionBytes+1)}} {
		_, err = r.Mark(ctx, ada, playground.NewMark{Run: o.ID, Mark: m})
		r.wantCode("a wrong mark", err, penstock.CodeInvalidRequest)
	}
}

func listing(r *rig) {
	ctx := r.Context()
	var ids []penstock.ID
	for _, name := range []string{"First 100%", "second_run", ""} {
		o, err := r.Create(ctx, ada, playground.Order{Name: name, Setup: setup("x")})
		r.must("create", err)
		ids = append(ids, o.ID)
	}
	page, err := r.List(ctx, ada, playground.Page{Limit: 2})
	if err != nil || len(page) != 2 || page[0].ID != ids[2] || page[1].ID != ids[1] || !page[0].Mine {
		r.Errorf("the first page is %v, %v", page, err)
	}
	page, err = r.List(ctx, ada, playground.Page{Limit: 2, Before: ids[1]})
	if err != nil || len(page) != 1 || page[0].ID != ids[0] {
		r.Errorf("the second page is %v, %v", page, err)
	}
	for query, want := range map[string]int{"first": 1, "100%": 1, "1%0": 0, "d_r": 1, "t_1": 0, "FAST": 3, "nothing": 0, `\`: 0} {
		found, err := r.List(ctx, ada, playground.Page{Limit: 10, Query: query, Author: playground.AuthorMe})
		if err != nil || len(found) != want {
			r.Errorf("%q finds %d runs, want %d (%v)", query, len(found), want, err)
		}
	}
	renamed, err := r.Rename(ctx, ada, playground.Rename{ID: ids[2], Name: "Third", IfRevision: 1})
	if r.must("rename", err); renamed.Name != "Third" || renamed.Revision != 2 {
		r.Errorf("renamed to %+v", renamed.Run)
	}
	_, err = r.Rename(ctx, ada, playground.Rename{ID: ids[2], Name: "x", IfRevision: 1})
	r.wantCode("a stale name", err, penstock.CodeConflict)
	if found, err := r.List(ctx, ada, playground.Page{Limit: 10, Query: "third"}); err != nil || len(found) != 1 {
		r.Errorf("the new name finds %v, %v", found, err)
	}
	_, err = r.Create(ctx, ada, playground.Order{Name: strings.Repeat("x", playground.MaxNameBytes+1), Setup: setup("x")})
	r.wantCode("a long name", err, penstock.CodeInvalidRequest)
}

func deletion(r *rig) {
	ctx := r.Context()
	made := r.create(setup("a [hold] b", "c"))
	r.await(made.ID, "the hold", func(o playground.Opened) bool { return holding("a ", "c ")(o) && o.Counts.Succeeded == 1 })
	_, err := r.Mark(ctx, ada, playground.NewMark{Run: made.ID, Mark: playground.Mark{Comment: "x"}})
	r.must("mark", err)
	for _, order := range []playground.ShareOrder{{Run: made.ID, Kind: playground.ShareSnapshot, Lifetime: time.Hour}, {Run: made.ID, Kind: playground.ShareRole, Role: penstock.RoleViewer}} {
		_, err = r.Share(ctx, ada, order)
		r.must("share", err)
	}
	r.wantCode("a stranger deletes", r.Delete(ctx, person(umbra, "ada", penstock.RoleAdmin), made.ID), penstock.CodeNotFound)
	r.must("delete", r.Delete(ctx, ada, made.ID))
	_, err = r.Open(ctx, ada, made.ID)
	r.wantCode("open", err, penstock.CodeNotFound)
	r.wantCode("delete again", r.Delete(ctx, ada, made.ID), penstock.CodeNotFound)
	r.stop() // waits for the cell, which was cancelled: nothing of it is written
	r.wantEmpty()
}

func (r *rig) wantEmpty() {
	r.Helper()
	for _, table := range tables {
		if n := r.rows(table); n != 0 {
			r.Errorf("%s has %d rows", table, n)
		}
	}
	if n := r.storedBytes(); n != 0 {
		r.Errorf("%d bytes are counted", n)
	}
}

func retention(r *rig) {
	ctx := r.Context()
	o := r.done("a")
	running := r.create(setup("b [hold]"))
	r.await(running.ID, "the hold", holding("b "))
	for _, tt := range []struct {
		tenant penstock.TenantID
		kept   time.Duration
		want   int
	}{{acme, time.Hour, 0}, {umbra, -time.Hour, 0}, {acme, -time.Hour, 1}, {acme, -time.Hour, 0}} {
		done, err := r.s.PurgeRuns(ctx, tt.tenant, store.Purge{Kept: tt.kept, Limit: 100})
		if err != nil || done.Removed != tt.want || (done.Overdue > 0) != (tt.want > 0) {
			r.Errorf("purge of %s after %v: %+v, %v", tt.tenant, tt.kept, done, err)
		}
	}
	_, err := r.Open(ctx, ada, o.ID)
	r.wantCode("a purged run", err, penstock.CodeNotFound)
	_, err = r.Open(ctx, ada, running.ID)
	r.must("a run that runs stays", err)
	r.model.free()
	r.await(running.ID, "the end", ended)
	_, err = r.s.PurgeRuns(ctx, acme, store.Purge{Kept: -time.Hour, Limit: 100})
	r.must("purge", err)
	r.wantEmpty()
}

func quota(r *rig) {
	limited := ada
	limited.Tenant.StoredBytes = 2000
	_, err := r.Create(r.Context(), limited, playground.Order{Setup: setup(strings.Repeat("x ", 1000))})
	r.wantCode("a run beyond the quota", err, penstock.CodeQuotaExceeded)
	r.wantEmpty()
	o, err := r.Create(r.Context(), limited, playground.Order{Setup: setup("some words")})
	r.must("a run within the quota", err)
	r.await(o.ID, "the end", ended)
	if n, run := r.storedBytes(), r.number(`SELECT bytes FROM playground_runs`); n == 0 || n != run {
		r.Errorf("the tenant has %d bytes, the run %d", n, run)
	}
	_, err = r.Mark(r.Context(), limited, playground.NewMark{Run: o.ID, Mark: playground.Mark{Comment: strings.Repeat("x", 3000)}})
	r.wantCode("a comment beyond the quota", err, penstock.CodeQuotaExceeded)
}

// isolation calls every method of the store for acme's objects on behalf of another tenant, and then of acme.
func isolation(r *rig) {
	ctx := r.Context()
	o := r.done("secret words [fail]")
	share, err := r.Share(ctx, ada, playground.ShareOrder{Run: o.ID, Kind: playground.ShareSnapshot, Lifetime: time.Hour})
	r.must("share", err)
	by := penstock.Author{ID: "x", Name: "x", Audit: "x"}
	var ids penstock.IDs
	probes := []struct {
		name string
		ask  func(tenant penstock.TenantID) error
	}{
		{"Run", func(t penstock.TenantID) error { return second(r.s.Run(ctx, t, o.ID)) }},
		{"Open", func(t penstock.TenantID) error { return second(r.s.Open(ctx, t, o.ID)) }},
		{"Input", func(t penstock.TenantID) error { return second(r.s.Input(ctx, t, o.ID, playground.CellPlace{})) }},
		{"Changes", func(t penstock.TenantID) error { return second(r.s.Changes(ctx, t, o.ID, 0)) }},
		{"RenameRun", func(t penstock.TenantID) error {
			return second(r.s.RenameRun(ctx, t, playground.Rename{ID: o.ID, Name: "x"}))
		}},
		{"SetMark", func(t penstock.TenantID) error {
			return second(r.s.SetMark(ctx, t, playground.NewMark{Run: o.ID, Mark: playground.Mark{Rating: 1, Author: by}}))
		}},
		{"RequestStop", func(t penstock.TenantID) error {
			return r.s.RequestStop(ctx, t, playground.StopOrder{ID: o.ID, Column: playground.AllColumns})
		}},
		{"AddShare", func(t penstock.TenantID) error {
			return second(r.s.AddShare(ctx, t, playground.NewShare{Share: playground.Share{ID: ids.New(time.Now()), Run: o.ID, Kind: playground.ShareRole, Role: penstock.RoleViewer, CreatedBy: by}}))
		}},
		{"Share", func(t penstock.TenantID) error { _, _, err := r.s.Share(ctx, t, share.ID); return err }},
		{"Resume", func(t penstock.TenantID) error {
			return second(r.s.Resume(ctx, t, playground.Resumption{ID: o.ID, Lease: store.Lease{Process: "nobody", Epoch: 1}}))
		}},
		{"RemoveShare", func(t penstock.TenantID) error {
			return r.s.RemoveShare(ctx, t, playground.ShareRemoval{ID: share.ID, Actor: by})
		}},
		{"DeleteRun", func(t penstock.TenantID) error { return r.s.DeleteRun(ctx, t, playground.Removal{ID: o.ID, Actor: by}) }},
	}
	for _, p := range probes {
		r.wantCode(p.name+" for umbra", p.ask(umbra), penstock.CodeNotFound)
	}
	page := playground.Page{Reader: ada.Author(), Roles: penstock.Roles, Limit: 10}
	if all, err := r.s.ListRuns(ctx, umbra, page); err != nil || len(all) > 0 {
		r.Errorf("umbra lists %v, %v", all, err)
	}
	if all, err := r.s.ListShares(ctx, umbra, o.ID); err != nil || len(all) > 0 {
		r.Errorf("umbra lists the shares %v, %v", all, err)
	}
	if all, err := r.s.ListRuns(ctx, acme, page); err != nil || len(all) != 1 {
		r.Errorf("acme lists %v, %v", all, err)
	}
	for _, p := range probes {
		r.must(p.name+" for acme", p.ask(acme))
	}
}

func audited(r *rig) {
	ctx := r.Context()
	o := r.done("a")
	share, err := r.Share(ctx, ada, playground.ShareOrder{Run: o.ID, Kind: playground.ShareRole, Role: penstock.RoleViewer})
	r.must("share", err)
	r.must("unshare", r.Unshare(ctx, ada, share.ID))
	r.must("delete", r.Delete(ctx, ada, o.ID))
	var got []string
	r.must("audit", r.db.Read(ctx, func(tx sqldb.Tx) (err error) {
		got, err = sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT action || ' ' || actor || ' ' || subject FROM audit WHERE tenant_id = $1 ORDER BY id`, acme), sqldb.ScanOne[string])
		return err
	}))
	who := " ada (session ses_01JQ00000000000000000SES00) " + playground.ViewRun.Format(o.ID)
	if want := []string{playground.ActionCreate + who, playground.ActionShare + who, playground.ActionRemoveShare + who, playground.ActionDelete + who}; !slices.Equal(got, want) {
		r.Errorf("the audit has %q, want %q", got, want)
	}
}

// sealed looks for the words of a run in every column of every table.
func sealed(r *rig) {
	ctx := r.Context()
	s := playground.Setup{Columns: []playground.Column{inline("{{question}}")}, Rows: []json.RawMessage{json.RawMessage(`{"question":"zebra [hold] yak"}`)}, Trials: 1}
	made := r.create(s)
	r.await(made.ID, "the hold", holding("zebra "))
	_, err := r.Mark(ctx, ada, playground.NewMark{Run: made.ID, Mark: playground.Mark{Comment: "zebra", Correction: "yak"}})
	r.must("mark", err)
	_, err = r.Share(ctx, ada, playground.ShareOrder{Run: made.ID, Kind: playground.ShareSnapshot, Lifetime: time.Hour})
	r.must("share", err)
	look := func() {
		for query, where := range map[string]string{`SELECT setup FROM playground_runs`: "setup", `SELECT body FROM playground_inputs`: "input", `SELECT body FROM playground_chunks`: "chunk",
			`SELECT result FROM playground_cells`: "result", `SELECT body FROM playground_marks`: "mark", `SELECT body FROM playground_shares`: "snapshot"} {
			r.must(where, r.db.Read(ctx, func(tx sqldb.Tx) error {
				all, err := sqldb.QueryAll(ctx, tx, sqldb.SQL(query), sqldb.ScanOne[[]byte])
				for _, text := range all {
					if bytes.Contains(text, []byte("zebra")) || bytes.Contains(text, []byte("yak")) {
						r.Errorf("the %s is stored in plain text", where)
					}
				}
				return err
			}))
		}
	}
	look()
	r.model.free()
	r.await(made.ID, "the end", ended)
	look()
}
