package coedittest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"penstock"
	"penstock/internal/prompt"
	"penstock/internal/prompt/changeset"
	"penstock/internal/prompt/coedit"
)

func comments(r *rig) {
	r.put(textOf("Be kind and brief."))
	id := r.open().Texts[0].ID
	r.edit(ben, 0, `[[0,"> "],18]`)
	add := func(n coedit.NewComment) (coedit.Comment, error) {
		n.Name = "p"
		return r.AddComment(r.Context(), ada, n)
	}
	first, err := add(coedit.NewComment{Mark: coedit.Mark{Text: id, From: 3, To: 7}, Version: 0, Body: "always?"})
	r.must("comment", err)
	if first.Quote != "kind" || first.From != 5 || first.To != 9 {
		r.Errorf("the comment is %+v", first)
	}
	r.edit(ben, 1, `[5,[0,"very "],4,[0,"ly"],11]`) // at both of its ends
	reply, err := add(coedit.NewComment{Parent: first.ID, Body: "yes"})
	r.must("reply", err)
	_, err = add(coedit.NewComment{Parent: reply.ID, Body: "no"})
	r.wantCode("a reply to a reply", err, penstock.CodeInvalidRequest)
	_, err = add(coedit.NewComment{Mark: coedit.Mark{Text: id, From: 3, To: 99}, Version: 2, Body: "x"})
	r.wantCode("a range behind the text", err, penstock.CodeInvalidRequest)
	_, err = add(coedit.NewComment{Mark: coedit.Mark{Text: "t0-0", To: 1}, Body: "x"})
	r.wantCode("an unknown text", err, penstock.CodeNotFound)
	_, err = add(coedit.NewComment{Mark: coedit.Mark{Text: id}, Body: " "})
	r.wantCode("an empty comment", err, penstock.CodeInvalidRequest)
	d := r.open()
	if len(d.Comments) != 2 || d.Comments[0].From != 10 || d.Comments[0].To != 14 || d.Comments[0].Version != 2 || d.Comments[1].Parent != first.ID {
		r.Errorf("the comments are %+v", d.Comments)
	}
	r.edit(ben, 2, `[8,[8],11]`) // its text is gone
	if m := r.open().Comments[0]; m.From != 8 || m.To != 8 || m.Quote != "kind" {
		r.Errorf("the comment is %+v", m)
	}
	other := "changed"
	_, err = r.ChangeComment(r.Context(), ben, coedit.CommentChange{Name: "p", ID: first.ID, Body: &other})
	r.wantCode("the comment of another", err, penstock.CodeConflict)
	resolved, err := r.ChangeComment(r.Context(), ben, coedit.CommentChange{Name: "p", ID: first.ID, State: coedit.CommentResolved})
	if err != nil || resolved.ResolvedBy != "ben" || resolved.ResolvedAt.IsZero() {
		r.Errorf("resolved %+v, %v", resolved, err)
	}
	reopened, err := r.ChangeComment(r.Context(), ada, coedit.CommentChange{Name: "p", ID: first.ID, State: coedit.CommentOpen, Body: &other})
	if err != nil || reopened.ResolvedBy != "" || !reopened.ResolvedAt.IsZero() || reopened.Body != other || reopened.EditedAt.IsZero() {
		r.Errorf("reopened %+v, %v", reopened, err)
	}
	r.wantCode("delete the comment of another", r.RemoveComment(r.Context(), ben, coedit.CommentRemoval{Name: "p", ID: first.ID}), penstock.CodeConflict)
	r.must("delete", r.RemoveComment(r.Context(), ada, coedit.CommentRemoval{Name: "p", ID: first.ID}))
	if left := r.open().Comments; len(left) != 0 {
		r.Errorf("%+v are left", left)
	}
	if n := r.count(`SELECT comment_bytes FROM prompt_drafts`); n != 0 {
		r.Errorf("%d bytes of comments are counted", n)
	}
}

func people(r *rig) {
	r.put(textOf("0123456789"))
	id := r.open().Texts[0].ID
	r.edit(ben, 0, `[[0,"ab"],10]`)
	see := func(by penstock.Principal, p coedit.Person) error {
		p.Client = client(by)
		return r.Sight(r.Context(), by, coedit.Sighting{Prompt: "p", Person: p})
	}
	r.must("sight", see(ada, coedit.Person{Text: id, Version: 0, Anchor: 3, Head: 5}))
	r.must("sight", see(ben, coedit.Person{Text: "t0-0", Anchor: 3, Head: 5}))
	r.edit(ben, 1, `[6,[0,"xyz"],6]`)
	all := r.open().People
	if len(all) != 2 {
		r.Fatalf("people: %+v", all)
	}
	for _, p := range all {
		if p.Client == client(ada) && (p.Anchor != 5 || p.Head != 10 || p.Name != "ada" || p.Text != id || p.Version != 2) || p.Client == client(ben) && p.Text != "" {
			r.Errorf("one is %+v", p)
		}
	}
	r.wantCode("the editor of another", r.Sight(r.Context(), ada, coedit.Sighting{Prompt: "p", Person: coedit.Person{Client: client(ben)}}), penstock.CodeInvalidRequest)
	r.must("far behind the end", see(ada, coedit.Person{Text: id, Version: 2, Anchor: 1 << 20, Head: 1 << 20}))
	r.must("forget", r.s.People.Forget(r.Context(), acme, coedit.Sighting{Prompt: "p", Person: coedit.Person{Client: client(ben)}}))
	if all := r.open().People; len(all) != 1 || all[0].Head != 15 {
		r.Errorf("people: %+v", all)
	}
	for i := range coedit.MaxPeople - 1 {
		r.must("sight", see(key(acme, fmt.Sprintf("key%d", i)), coedit.Person{}))
	}
	r.wantCode("one too many", see(ben, coedit.Person{}), penstock.CodeConflict)
	r.must("one who is there", see(ada, coedit.Person{}))
}

func following(r *rig) {
	r.put(chatOf("one", "two"))
	d := r.open()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	deltas := make(chan coedit.Delta)
	ended := make(chan error)
	go func() {
		ended <- r.Follow(ctx, ada, coedit.Reader{Name: "p", Client: client(ada), After: coedit.Position{Revision: d.Revision}}, func(d coedit.Delta) error {
			select {
			case deltas <- d:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}()
	first := <-deltas
	if first.Comments == nil || first.People == nil || first.Shape != nil || len(first.Updates) != 0 {
		r.Errorf("the first delta is %+v", first)
	}
	var updates []coedit.Update
	await := func(what string, holds func(coedit.Delta) bool) {
		r.Helper()
		for d := range deltas {
			updates = append(updates, d.Updates...)
			if holds(d) {
				return
			}
		}
		r.Fatal(what)
	}
	r.must("sight", r.Sight(r.Context(), ada, coedit.Sighting{Prompt: "p", Person: coedit.Person{Client: client(ada)}}))
	await("people", func(d coedit.Delta) bool { return d.People != nil && len(*d.People) == 1 })
	r.edit(ben, 0, `[3,[0,"!"]]`, `[4,[0,"?"]]`)
	await("updates", func(d coedit.Delta) bool { return len(d.Updates) > 0 })
	r.put(chatOf("one!?", "two", "three"))
	await("structure", func(d coedit.Delta) bool { return d.Shape != nil && len(d.Shape.Texts) == 3 })
	r.edit(ben, 2, `[5,[0,"."]]`)
	await("an update", func(d coedit.Delta) bool { return len(d.Updates) > 0 })
	_, err := r.AddComment(r.Context(), ben, coedit.NewComment{Name: "p", Mark: coedit.Mark{Text: d.Texts[0].ID, To: 1}, Version: 3, Body: "x"})
	r.must("comment", err)
	await("a comment", func(d coedit.Delta) bool { return d.Comments != nil && len(*d.Comments) == 1 })
	if len(updates) != 3 || updates[0].Version != 1 || updates[2].Version != 3 {
		r.Errorf("the stream had %+v", updates)
	}
	cancel()
	if err := <-ended; err != nil && !errors.Is(err, context.Canceled) && penstock.ErrorCode(err) == penstock.CodeInternal {
		r.Errorf("the stream ended with %v", err)
	}
	if left := r.open().People; len(left) != 0 {
		r.Errorf("after the stream %+v are left", left)
	}
	behind, err := r.s.Shared.Since(r.Context(), acme, "p", coedit.Position{Revision: d.Revision})
	if err != nil || len(behind.Updates) != 3 || behind.Shape == nil || behind.More || behind.Reset {
		r.Errorf("a reader that comes back got %+v, %v", behind, err)
	}
}

func quota(r *rig) {
	r.put(textOf("some text"))
	r.edit(ada, 0, `[9,[0,"!"]]`)
	_, err := r.AddComment(r.Context(), ada, coedit.NewComment{Name: "p", Mark: coedit.Mark{Text: r.open().Texts[0].ID, To: 1}, Version: 1, Body: "a comment"})
	r.must("comment", err)
	if sum, want := r.count(`SELECT COALESCE(SUM(job_bytes), 0) FROM stored WHERE tenant_id = 'acme'`), r.count(`SELECT bytes FROM prompt_drafts`); sum != want || want < 80 {
		r.Errorf("%d bytes are counted, the draft has %d", sum, want)
	}
	small := ben
	small.Tenant.StoredBytes = 10
	_, err = r.tryEdit(small, 1, `[10,[0,"this does not fit"]]`)
	r.wantCode("an edit beyond the quota", err, penstock.CodeQuotaExceeded)
	r.must("delete", r.s.Drafts.DeleteDraft(r.Context(), acme, prompt.DraftRemoval{Name: "p"}))
	if n := r.count(`SELECT COALESCE(SUM(job_bytes), 0) FROM stored WHERE tenant_id = 'acme'`); n != 0 {
		r.Errorf("%d bytes are counted after everything was deleted", n)
	}
}

func discarding(r *rig) {
	r.put(textOf("first"))
	before := r.open()
	r.edit(ada, 0, `[5,[0,"!"]]`)
	_, err := r.AddComment(r.Context(), ada, coedit.NewComment{Name: "p", Mark: coedit.Mark{Text: before.Texts[0].ID, To: 1}, Version: 1, Body: "x"})
	r.must("comment", err)
	r.must("sight", r.Sight(r.Context(), ada, coedit.Sighting{Prompt: "p", Person: coedit.Person{Client: client(ada)}}))
	r.must("delete", r.s.Drafts.DeleteDraft(r.Context(), acme, prompt.DraftRemoval{Name: "p"}))
	_, err = r.Open(r.Context(), acme, "p")
	r.wantCode("open", err, penstock.CodeNotFound)
	if n := r.count(`SELECT (SELECT COUNT(*) FROM prompt_draft_updates) + (SELECT COUNT(*) FROM prompt_draft_comments) + (SELECT COUNT(*) FROM prompt_draft_people)`); n != 0 {
		r.Errorf("%d rows are left", n)
	}
	r.put(textOf("first"))
	after := r.open()
	if after.Texts[0].ID == before.Texts[0].ID || after.Revision <= before.Revision+1 {
		r.Errorf("the new draft is %+v, the old one was %+v", after, before)
	}
	delta, err := r.s.Shared.Since(r.Context(), acme, "p", coedit.Position{Revision: before.Revision + 1})
	if err != nil || !delta.Reset {
		r.Errorf("a reader of the old draft got %+v, %v", delta, err)
	}
}

func isolation(r *rig) {
	r.put(textOf("acme's text"))
	d := r.open()
	id := d.Texts[0].ID
	m, err := r.AddComment(r.Context(), ada, coedit.NewComment{Name: "p", Mark: coedit.Mark{Text: id, To: 4}, Body: "acme's comment"})
	r.must("comment", err)
	r.must("sight", r.Sight(r.Context(), ada, coedit.Sighting{Prompt: "p", Person: coedit.Person{Client: client(ada)}}))
	actor := ada.Author()
	other := coedit.Sighting{Prompt: "p", Person: coedit.Person{Client: client(ada)}}
	for _, probe := range []struct {
		name string
		ask  func(ctx context.Context, tenant penstock.TenantID) error
	}{
		{"Shared", func(ctx context.Context, tenant penstock.TenantID) error {
			_, err := r.s.Shared.Shared(ctx, tenant, "p")
			return err
		}},
		{"Submit", func(ctx context.Context, tenant penstock.TenantID) error {
			_, err := r.s.Shared.Submit(ctx, tenant, coedit.Submission{Name: "p", Text: id, Client: client(ada), Updates: []changeset.Set{changeset.Nothing(11)}, Author: actor})
			return err
		}},
		{"PutStructure", func(ctx context.Context, tenant penstock.TenantID) error {
			_, err := r.s.Shared.PutStructure(ctx, tenant, coedit.StructureOrder{NewDraft: prompt.NewDraft{Name: "p", Content: textOf(""), Actor: actor}, Texts: []string{id}, IfStructure: d.Structure})
			return err
		}},
		{"Since", func(ctx context.Context, tenant penstock.TenantID) error {
			_, err := r.s.Shared.Since(ctx, tenant, "p", coedit.Position{Revision: d.Revision})
			return err
		}},
		{"Updates", func(ctx context.Context, tenant penstock.TenantID) error {
			_, err := r.s.Log.Updates(ctx, tenant, coedit.LogPage{Name: "p", Limit: 9})
			return err
		}},
		{"TextAt", func(ctx context.Context, tenant penstock.TenantID) error {
			_, err := r.s.Log.TextAt(ctx, tenant, coedit.TextKey{Name: "p", Text: id})
			return err
		}},
		{"AddComment", func(ctx context.Context, tenant penstock.TenantID) error {
			_, err := r.s.Comments.AddComment(ctx, tenant, coedit.NewComment{ID: r.ids.New(r.clock()), Name: "p", Parent: m.ID, Body: "x", Author: actor})
			return err
		}},
		{"ChangeComment", func(ctx context.Context, tenant penstock.TenantID) error {
			_, err := r.s.Comments.ChangeComment(ctx, tenant, coedit.CommentChange{Name: "p", ID: m.ID, State: coedit.CommentResolved, Actor: actor})
			return err
		}},
		{"Sight", func(ctx context.Context, tenant penstock.TenantID) error { return r.s.People.Sight(ctx, tenant, other) }},
		{"Keep", func(ctx context.Context, tenant penstock.TenantID) error { return r.s.People.Keep(ctx, tenant, other) }},
		{"Forget", func(ctx context.Context, tenant penstock.TenantID) error {
			return r.s.People.Forget(ctx, tenant, other)
		}},
		{"RemoveComment", func(ctx context.Context, tenant penstock.TenantID) error {
			return r.s.Comments.RemoveComment(ctx, tenant, coedit.CommentRemoval{Name: "p", ID: m.ID, Actor: actor})
		}},
	} {
		r.probe(probe.name, probe.ask)
	}
	left := r.open()
	if len(left.Comments) != 0 || len(left.People) != 0 || left.Texts[0].Version != 1 {
		r.Errorf("acme's draft is %+v", left)
	}
}

// probe asks for acme's objects on behalf of both tenants.
func (r *rig) probe(name string, ask func(ctx context.Context, tenant penstock.TenantID) error) {
	r.T.Run(name, func(t *testing.T) {
		if err := ask(t.Context(), umbra); penstock.ErrorCode(err) != penstock.CodeNotFound {
			t.Errorf("another tenant got %v", err)
		}
		if err := ask(t.Context(), acme); err != nil {
			t.Errorf("the owner got %v", err)
		}
	})
}
