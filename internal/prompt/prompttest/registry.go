package prompttest

import (
	"penstock"
	"penstock/internal/prompt"
	"penstock/internal/prompt/content"
)

func listing(r *rig) {
	for _, name := range []string{"a", "support/answer", "support/refund", "support/eu/answer", "support/us/answer", "support-old", "zeta"} {
		r.save(name, "x")
	}
	r.move("support/answer", "production", 1)
	names := func(p prompt.Page) (all []string, l prompt.Listing) {
		r.Helper()
		l, err := r.List(r.Context(), acme, p)
		r.must("list", err)
		for _, one := range l.Prompts {
			all = append(all, one.Name)
		}
		return all, l
	}
	all, l := names(prompt.Page{Limit: everything})
	r.wantSame("all", all, []string{"a", "support-old", "support/answer", "support/eu/answer", "support/refund", "support/us/answer", "zeta"})
	if labels := l.Prompts[2].Labels; len(labels) != 2 || labels[0].Label != content.LabelLatest || labels[1].Label != "production" {
		r.Errorf("labels of support/answer: %+v", labels)
	}
	all, _ = names(prompt.Page{Prefix: "support/", Limit: everything})
	r.wantSame("prefix", all, []string{"support/answer", "support/eu/answer", "support/refund", "support/us/answer"})
	top, folder, empty := "", "support/", "nowhere/"
	all, l = names(prompt.Page{Folder: &top, Limit: everything})
	r.wantSame("the top", [][]string{all, l.Folders}, [][]string{{"a", "support-old", "zeta"}, {"support/"}})
	all, l = names(prompt.Page{Folder: &folder, Limit: everything})
	r.wantSame("a folder", [][]string{all, l.Folders}, [][]string{{"support/answer", "support/refund"}, {"support/eu/", "support/us/"}})
	_, l = names(prompt.Page{Folder: &empty, Limit: everything})
	r.wantSame("an empty folder", l, prompt.Listing{})
	for _, page := range []prompt.Page{{Limit: 2}, {Folder: &folder, Limit: 1}, {Folder: &top, Limit: 3}, {Prefix: "support", Limit: 1}} {
		var found, folders []string
		for range 20 {
			one, l := names(page)
			found, folders = append(found, one...), append(folders, l.Folders...)
			if len(one)+len(l.Folders) > page.Limit {
				r.Errorf("a page of %d has %v and %v", page.Limit, one, l.Folders)
			}
			if page.After = l.Next; l.Next == "" {
				break
			}
		}
		whole := page
		whole.After, whole.Limit = "", everything
		want, l := names(whole)
		r.wantSame("by pages", [][]string{found, folders}, [][]string{want, l.Folders})
	}
}

func auditAndEvents(r *rig) {
	r.subscribe()
	r.save("p", "a")
	r.save("p", "b")
	r.move("p", "production", 1)
	r.must("delete", r.DeleteVersion(r.Context(), app, prompt.VersionKey{Name: "p", N: 2}))
	_, err := r.RequestMove(r.Context(), app, prompt.LabelMove{Name: "p", Label: "canary", Version: 1})
	r.must("request", err)
	for sql, want := range map[string]int64{
		`SELECT COUNT(*) FROM audit WHERE tenant_id = 'acme' AND actor = 'app' AND action = 'prompt.create'`: 1,
		`SELECT COUNT(*) FROM audit WHERE tenant_id = 'acme' AND action = 'prompt.version.create'`:           2,
		`SELECT COUNT(*) FROM audit WHERE tenant_id = 'acme' AND action = 'prompt.label.move'`:               1,
		`SELECT COUNT(*) FROM audit WHERE tenant_id = 'acme' AND action = 'prompt.version.delete'`:           1,
		`SELECT COUNT(*) FROM deliveries WHERE type = 'prompt.version.created'`:                              2,
		`SELECT COUNT(*) FROM deliveries WHERE type = 'prompt.label.moved'`:                                  1,
		`SELECT COUNT(*) FROM deliveries WHERE type = 'prompt.label.requested'`:                              1,
	} {
		if n := r.count(sql); n != want {
			r.Errorf("%s: %d, want %d", sql, n, want)
		}
	}
	before := r.count(`SELECT (SELECT COUNT(*) FROM audit) + (SELECT COUNT(*) FROM deliveries)`)
	wrong := int64(7)
	_, err = r.MoveLabel(r.Context(), app, prompt.LabelMove{Name: "p", Label: "production", Version: 1, Expect: &wrong})
	r.wantCode("a move that fails", err, penstock.CodeConflict)
	if after := r.count(`SELECT (SELECT COUNT(*) FROM audit) + (SELECT COUNT(*) FROM deliveries)`); after != before {
		r.Errorf("a failed move left %d entries", after-before)
	}
}

func quota(r *rig) {
	small := app
	small.Tenant.StoredBytes = 100
	_, _, err := r.Save(r.Context(), small, prompt.Order{Name: "p", Content: textOf("fits")})
	r.must("save within the quota", err)
	_, _, err = r.Save(r.Context(), small, prompt.Order{Name: "p", Content: textOf("this text does not fit into the one hundred bytes of the quota")})
	r.wantCode("save beyond the quota", err, penstock.CodeQuotaExceeded)
	_, err = r.PutDraft(r.Context(), small, prompt.DraftOrder{Name: "p", Content: textOf("this text does not fit into the one hundred bytes of the quota")})
	r.wantCode("a draft beyond the quota", err, penstock.CodeQuotaExceeded)
	_, err = r.PutDraft(r.Context(), app, prompt.DraftOrder{Name: "p", Content: textOf("a draft")})
	r.must("a draft", err)
	_, err = r.PutDraft(r.Context(), app, prompt.DraftOrder{Name: "p", Content: textOf("x")})
	r.must("a shorter draft", err)
	r.must("delete the draft", r.DeleteDraft(r.Context(), app, prompt.DraftRemoval{Name: "p"}))
	r.must("delete the version", r.DeleteVersion(r.Context(), app, prompt.VersionKey{Name: "p", N: 1}))
	if n := r.count(`SELECT COALESCE(SUM(job_bytes), 0) FROM stored WHERE tenant_id = 'acme'`); n != 0 {
		r.Errorf("%d bytes are counted after everything was deleted", n)
	}
}

// resolving: a resolver of another process sees a change after it compared its labels with the store.
func resolving(r *rig) {
	ctx := r.Context()
	r.save("p", "a")
	r.save("p", "b")
	r.move("p", "production", 1)
	far := r.resolver()
	resolve := func(ref content.Reference) (int64, penstock.Code) {
		ref.Name = "p"
		found, err := far.Resolve(ctx, acme, ref)
		if err != nil {
			return 0, penstock.ErrorCode(err)
		}
		return found.Version, ""
	}
	want := func(what string, ref content.Reference, version int64, code penstock.Code) {
		r.Helper()
		if n, got := resolve(ref); n != version || got != code {
			r.Errorf("%s: version %d, code %q; want %d, %q", what, n, got, version, code)
		}
	}
	want("the default label", content.Reference{}, 1, "")
	want("latest", content.Reference{Label: "latest"}, 2, "")
	want("a number", content.Reference{Version: 2}, 2, "")
	want("an unknown label", content.Reference{Label: "canary"}, 0, penstock.CodeNotFound)
	want("an unknown version", content.Reference{Version: 9}, 0, penstock.CodeNotFound)
	r.move("p", "production", 2)
	want("before it compared", content.Reference{}, 1, "")
	r.must("refresh", far.Refresh(ctx))
	want("after it compared", content.Reference{}, 2, "")
	r.move("p", "production", 1)
	r.must("delete", r.DeleteVersion(ctx, app, prompt.VersionKey{Name: "p", N: 2}))
	r.must("refresh", far.Refresh(ctx))
	want("a deleted version", content.Reference{Version: 2}, 0, penstock.CodeGone)
	want("latest after a deletion", content.Reference{Label: "latest"}, 1, "")
	if _, err := far.Resolve(ctx, umbra, content.Reference{Name: "p"}); penstock.ErrorCode(err) != penstock.CodeNotFound {
		r.Errorf("another tenant resolves acme's prompt: %v", err)
	}
}
