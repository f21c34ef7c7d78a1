package storetest

import (
	"slices"
	"strings"
	"time"

	"penstock"
	"penstock/internal/store"
)

func fileCases() []testCase {
	return []testCase{
		{"a file reads back as it was kept", fileRoundTrip},
		{"listed by age, page by page, by purpose", fileList},
		{"a deleted file is gone, and the audit says who did it", fileDelete},
		{"a taken id is refused", fileTakenID},
		{"files go when they expire or were kept long enough", filePurge},
		{"a file that lines name stays until they are read", fileNamedByLines},
		{"a job over lines that name no file of the tenant is refused", fileNamedInVain},
		{"the files in bodies of calls and items are known, and go with them", fileAttached},
	}
}

// file is one of acme's; its blob is a name alone.
func (r *rig) file() store.File {
	return store.File{
		ID: r.newID(), Tenant: acme, Key: "app", Purpose: store.PurposeBatch, Name: "größe\x00.jsonl", Bytes: 1234,
		Blob: strings.Repeat("ab", 16), BlobBytes: 777, IndexAt: 700, Lines: 12, Tokens: 900, Endpoint: penstock.EndpointChat,
		ErrorCount: 2, Errors: []store.LineError{
			{Line: 3, Code: "missing_body", Message: "body is missing.", Param: "body"}, {Line: 7, Code: "empty_line", Message: "The line is empty."},
		},
	}
}

func (r *rig) keep(f store.File) store.File {
	r.t.Helper()
	kept, err := r.s.CreateFile(r.t.Context(), f.Tenant, f)
	r.must("create file", err)
	return kept
}

func fileRoundTrip(r *rig) {
	f := r.file()
	f.ExpiresAt = r.clock.Now().Add(time.Hour)
	kept := r.keep(f)
	f.CreatedAt, f.Name = r.clock.Now().Truncate(time.Microsecond), "größe\uFFFD.jsonl" // not every engine takes a zero byte
	r.wantSame("created file", kept, f)
	got, err := r.s.File(r.t.Context(), acme, f.ID)
	r.must("read file", err)
	r.wantSame("file", got, f)
	brief := r.file()
	brief.Life = time.Hour
	r.clock.Advance(time.Second)
	if short := r.keep(brief); !short.ExpiresAt.Equal(short.CreatedAt.Add(time.Hour)) {
		r.t.Errorf("a file of one hour was created at %v and ends at %v", short.CreatedAt, short.ExpiresAt)
	}
	_, err = r.s.File(r.t.Context(), acme, r.newID())
	r.wantCode("read a file that is not there", err, penstock.CodeNotFound)
}

func (r *rig) listFiles(p store.FilePage) (ids []penstock.ID) {
	r.t.Helper()
	files, err := r.s.ListFiles(r.t.Context(), acme, p)
	r.must("list files", err)
	for _, f := range files {
		ids = append(ids, f.ID)
		if f.Errors != nil {
			r.t.Errorf("the list carries the line errors of %s", f.ID)
		}
	}
	return ids
}

func fileList(r *rig) {
	var all []penstock.ID
	for i := range 5 {
		f := r.file()
		if i == 2 {
			f.Purpose = store.PurposeBatchOutput
		}
		all = append(all, r.keep(f).ID)
	}
	r.wantSame("oldest first", r.listFiles(store.FilePage{Direction: store.Ascending, Limit: everything}), all)
	r.wantSame("second page, oldest first", r.listFiles(store.FilePage{Direction: store.Ascending, After: all[1], Limit: 2}), all[2:4])
	r.wantSame("outputs", r.listFiles(store.FilePage{Purpose: store.PurposeBatchOutput, Limit: everything}), all[2:3])
	slices.Reverse(all)
	r.wantSame("newest first", r.listFiles(store.FilePage{Limit: everything}), all)
	r.wantSame("last page", r.listFiles(store.FilePage{Direction: store.Descending, After: all[2], Limit: 10}), all[3:])
}

func fileDelete(r *rig) {
	f := r.keep(r.file())
	r.must("delete", r.s.DeleteFile(r.t.Context(), acme, store.FileDeletion{File: f.ID, Actor: "app"}))
	_, err := r.s.File(r.t.Context(), acme, f.ID)
	r.wantCode("read a deleted file", err, penstock.CodeNotFound)
	err = r.s.DeleteFile(r.t.Context(), acme, store.FileDeletion{File: f.ID, Actor: "app"})
	r.wantCode("delete it again", err, penstock.CodeNotFound)
	entries, err := r.s.AuditEntries(r.t.Context(), acme, store.AuditPage{Limit: everything})
	r.must("read the audit", err)
	if len(entries) != 1 || entries[0].Action != store.ActionDeleteFile || entries[0].Actor != "app" || entries[0].Subject != penstock.ViewFile.Format(f.ID) {
		r.t.Errorf("the audit has %+v", entries)
	}
}

func fileTakenID(r *rig) {
	mine := r.keep(r.file())
	theirs := r.file()
	theirs.ID, theirs.Name = mine.ID, "theirs"
	_, err := r.s.CreateFile(r.t.Context(), umbra, theirs)
	r.wantCode("create under a taken id", err, penstock.CodeConflict)
	got, err := r.s.File(r.t.Context(), acme, mine.ID)
	r.must("read file", err)
	r.wantSame("the file whose id was taken", got, mine)
}

func filePurge(r *rig) {
	const kept = 10 * time.Hour
	old := r.keep(r.file())
	brief := r.file()
	brief.ExpiresAt = r.clock.Now().Add(6 * time.Hour)
	r.keep(brief)
	r.clock.Advance(5 * time.Hour)
	young := r.keep(r.file())
	purge := func(limit int) store.Purged {
		r.t.Helper()
		done, err := r.s.PurgeFiles(r.t.Context(), acme, store.Purge{Kept: kept, Limit: limit})
		r.must("purge files", err)
		return done
	}
	r.wantSame("nothing is due", purge(10), store.Purged{})
	r.clock.Advance(2 * time.Hour)
	r.wantSame("one has expired", purge(10), store.Purged{Removed: 1, Overdue: time.Hour})
	r.wantSame("what is left", r.listFiles(store.FilePage{Direction: store.Ascending, Limit: everything}), []penstock.ID{old.ID, young.ID})
	r.clock.Advance(20 * time.Hour)
	if done := purge(1); done.Removed != 1 || !done.More {
		r.t.Errorf("a step of one removed %+v", done)
	}
	r.wantSame("the oldest goes first", r.listFiles(store.FilePage{Limit: everything}), []penstock.ID{young.ID})
}

func askCreateFile(r *rig, h owned, tenant penstock.TenantID) (bool, error) {
	f := r.file()
	f.Tenant = acme // the call decides whose it is
	kept, err := r.s.CreateFile(r.t.Context(), tenant, f)
	return kept.Tenant == acme, err
}

func askFile(r *rig, h owned, tenant penstock.TenantID) (bool, error) {
	f, err := r.s.File(r.t.Context(), tenant, h.file.ID)
	return f.ID != "", err
}

func askListFiles(r *rig, h owned, tenant penstock.TenantID) (bool, error) {
	files, err := r.s.ListFiles(r.t.Context(), tenant, store.FilePage{Limit: everything})
	return slices.ContainsFunc(files, func(f store.File) bool { return f.Tenant == acme }), err
}

func askDeleteFile(r *rig, h owned, tenant penstock.TenantID) (bool, error) {
	err := r.s.DeleteFile(r.t.Context(), tenant, store.FileDeletion{File: h.spareFile.ID})
	return err == nil, err
}

func askPurgeFiles(r *rig, _ owned, tenant penstock.TenantID) (bool, error) {
	done, err := r.s.PurgeFiles(r.t.Context(), tenant, store.Purge{Kept: oldAge, Limit: everything})
	return done.Removed > 0, err
}

// media is a file that requests may name.
func (r *rig) media(tenant penstock.TenantID) store.File {
	f := r.file()
	f.Tenant, f.Purpose, f.MediaType, f.SHA256 = tenant, store.PurposeUserData, "application/pdf", strings.Repeat("0f", 32)
	f.Errors, f.ErrorCount, f.Lines = nil, 0, 0
	return r.keep(f)
}

// naming is a job over a file whose lines name others.
func (r *rig) naming(named ...penstock.ID) store.Submission {
	f := r.file()
	f.References = named
	whole := r.submission(3)
	whole.Job.File = r.keep(f).ID
	return whole
}

func fileNamedByLines(r *rig) {
	inLines, inDefaults := r.media(acme), r.media(acme)
	whole := r.naming(inLines.ID)
	sub := whole
	sub.Items, sub.Lines, sub.Batch = nil, 3, &store.Batch{Kind: store.BatchNative, References: []penstock.ID{inDefaults.ID}}
	r.submit(sub)
	r.wantSame("listed", r.natives(), []penstock.ID{sub.Job.ID})
	r.split(whole, 0, 2)
	r.clock.Advance(100 * time.Hour)
	for _, f := range []store.File{inLines, inDefaults} {
		err := r.s.DeleteFile(r.t.Context(), acme, store.FileDeletion{File: f.ID, Actor: "app"})
		r.wantCode("delete a file that lines name", err, penstock.CodeConflict)
	}
	purge := func() int {
		done, err := r.s.PurgeFiles(r.t.Context(), acme, store.Purge{Kept: time.Hour, Limit: 10})
		r.must("purge files", err)
		return done.Removed
	}
	r.wantSame("purged while a line is unread", purge(), 0)
	r.split(whole, 2, 3)
	r.must("delete it when all lines are read", r.s.DeleteFile(r.t.Context(), acme, store.FileDeletion{File: inLines.ID, Actor: "app"}))
	r.wantSame("purged then", purge(), 2)
}

func fileNamedInVain(r *rig) {
	gone, theirs, expired := r.newID(), r.media(umbra).ID, r.media(acme)
	batch := r.keep(r.file()).ID
	brief := expired
	brief.ID, brief.ExpiresAt = r.newID(), r.clock.Now().Add(time.Minute)
	r.keep(brief)
	r.clock.Advance(time.Hour)
	for _, id := range []penstock.ID{gone, theirs, batch, brief.ID} {
		sub := r.naming(id)
		sub.Items, sub.Lines, sub.Batch = nil, 3, &store.Batch{Kind: store.BatchNative}
		_, err := r.s.SubmitJob(r.t.Context(), acme, sub)
		r.wantCode("submit a job whose lines name "+string(id), err, penstock.CodeNotFound)
		if !strings.Contains(penstock.AsError(err).Message, penstock.ViewFile.Format(id)) {
			r.t.Errorf("the refusal does not name the file: %v", err)
		}
	}
}

func fileAttached(r *rig) {
	files := []penstock.AttachedFile{
		{Path: "messages[0].content[1].file.file_id", File: r.newID(), MediaType: "application/pdf", Bytes: 7, SHA256: strings.Repeat("0f", 32)},
		{Path: "messages[0].content[2].file.file_id", File: r.newID(), MediaType: "image/png", Bytes: 8, SHA256: strings.Repeat("1e", 32)},
	}
	call := r.request()
	call.Files = files
	r.record(call)
	got, err := r.s.Request(r.t.Context(), acme, call.ID)
	r.must("read the call", err)
	r.wantSame("files of the call", got.Files, files)

	sub := r.submission(2)
	sub.Items[1].Files = files
	r.submit(sub)
	read := func(id penstock.ID) []penstock.AttachedFile {
		item, err := r.s.Item(r.t.Context(), acme, id)
		r.must("read the item", err)
		return item.Files
	}
	r.wantSame("files of the first item", read(penstock.ItemID(sub.Job.ID, 0)), []penstock.AttachedFile(nil))
	r.wantSame("files of the second item", read(penstock.ItemID(sub.Job.ID, 1)), files)

	whole := r.batch(2)
	whole.Items[0].Files = files[:1]
	r.split(whole, 0, 2)
	r.wantSame("files of a line", read(penstock.ItemID(whole.Job.ID, 0)), files[:1])
}
