package prompttest

import (
	"fmt"
	"strings"
	"sync"

	"penstock"
	"penstock/internal/prompt"
	"penstock/internal/prompt/content"
)

func versionsAreNumbered(r *rig) {
	first, created, err := r.Save(r.Context(), app, prompt.Order{Name: "support/answer", Content: textOf("one"), Message: "begin"})
	r.must("save", err)
	if !created || first.N != 1 || first.Parent != 0 || first.Message != "begin" || first.Author.Name != "app" || len(first.SHA256) != 64 {
		r.Errorf("first version: %+v, %v", first, created)
	}
	second := r.save("support/answer", "two")
	again, created, err := r.Save(r.Context(), app, prompt.Order{Name: "support/answer", Content: textOf("one"), Message: "another message"})
	r.must("save again", err)
	if created || again.N != 1 || again.Message != "begin" {
		r.Errorf("the same content became %+v, %v", again, created)
	}
	if second.N != 2 || second.Parent != 1 {
		r.Errorf("second version: %+v", second)
	}
	third, _, err := r.Save(r.Context(), app, prompt.Order{Name: "support/answer", Content: textOf("three"), Parent: 1})
	r.must("save with a parent", err)
	_, _, err = r.Save(r.Context(), app, prompt.Order{Name: "support/answer", Content: textOf("four"), Parent: 9})
	r.wantCode("an unknown parent", err, penstock.CodeInvalidRequest)
	if third.N != 3 || third.Parent != 1 {
		r.Errorf("third version: %+v", third)
	}
	read, err := r.Version(r.Context(), acme, prompt.VersionKey{Name: "support/answer", N: 1})
	r.must("read", err)
	if read.Content.Text != "one" || read.SHA256 != first.SHA256 {
		r.Errorf("read %+v", read)
	}
	for _, n := range []int64{0, 4, -1} {
		_, err := r.Version(r.Context(), acme, prompt.VersionKey{Name: "support/answer", N: n})
		r.wantCode(fmt.Sprintf("version %d", n), err, penstock.CodeNotFound)
	}
	page, err := r.ListVersions(r.Context(), acme, prompt.VersionPage{Name: "support/answer", Limit: 2})
	r.must("list", err)
	rest, err := r.ListVersions(r.Context(), acme, prompt.VersionPage{Name: "support/answer", Before: page[1].N, Limit: 2})
	r.must("list the rest", err)
	r.wantSame("listed", []int64{page[0].N, page[1].N, rest[0].N}, []int64{3, 2, 1})
	if p := r.prompt("support/answer"); p.Latest != 3 || p.Versions != 3 {
		r.Errorf("prompt: %+v", p)
	}
	for _, bad := range []string{"", "a/versions", "a\x00", strings.Repeat("x", 300)} {
		_, _, err := r.Save(r.Context(), app, prompt.Order{Name: bad, Content: textOf("x")})
		r.wantCode("the name "+bad, err, penstock.CodeInvalidRequest)
		_, err = r.Prompt(r.Context(), acme, bad)
		r.wantCode("reading the name "+bad, err, penstock.CodeNotFound)
	}
}

func kindStays(r *rig) {
	r.save("p", "x")
	chat := content.Content{Kind: content.KindChat, Messages: []content.Message{{Role: "user", Content: content.Body{Text: "x"}}}}
	_, _, err := r.Save(r.Context(), app, prompt.Order{Name: "p", Content: chat})
	r.wantCode("a version of another kind", err, penstock.CodeConflict)
	_, err = r.PutDraft(r.Context(), app, prompt.DraftOrder{Name: "p", Content: chat})
	r.wantCode("a draft of another kind", err, penstock.CodeConflict)
}

func referencesAreExact(r *rig) {
	r.save("lib/tone", "kind")
	r.move("lib/tone", "production", 1)
	r.save("p", "Be {{> lib/tone}}.")
	if got := r.rendered("p", content.Reference{Version: 1}); got != "Be kind." {
		r.Errorf("rendered %q", got)
	}
	r.save("lib/tone", "short")
	r.move("lib/tone", "production", 2)
	if got := r.rendered("p", content.Reference{Version: 1}); got != "Be kind." {
		r.Errorf("after the label moved: %q", got)
	}
	again := r.save("p", "Be {{> lib/tone}}.") // the same text, but it means another version now
	r.wantSame("references", again.References, []content.Resolved{{Written: "lib/tone", Name: "lib/tone", Version: 2}})
	if again.N != 2 || r.rendered("p", content.Reference{Label: "latest"}) != "Be short." {
		r.Errorf("saved again: %+v", again)
	}
	for _, text := range []string{"{{> nowhere}}", "{{> lib/tone@9}}", "{{> lib/tone@canary}}"} {
		_, _, err := r.Save(r.Context(), app, prompt.Order{Name: "p", Content: textOf(text)})
		r.wantCode(text, err, penstock.CodeInvalidRequest)
	}
	u, err := r.Uses(r.Context(), acme, prompt.VersionKey{Name: "lib/tone", N: 1})
	r.must("uses", err)
	r.wantSame("dependants of version 1", u.Dependants, []prompt.Dependant{{Name: "p", Version: 1, Of: 1}})
	all, err := r.Uses(r.Context(), acme, prompt.VersionKey{Name: "lib/tone"})
	r.must("uses of all", err)
	if len(all.Dependants) != 2 || len(all.Labels) != 1 {
		r.Errorf("uses: %+v", all)
	}
	r.save("deep0", "bottom")
	for i := range content.MaxReferenceDepth {
		r.save(fmt.Sprintf("deep%d", i+1), fmt.Sprintf("{{> deep%d@latest}}", i))
	}
	_, _, err = r.Save(r.Context(), app, prompt.Order{Name: "deeper", Content: textOf(fmt.Sprintf("{{> deep%d@latest}}", content.MaxReferenceDepth))})
	r.wantCode("too deep", err, penstock.CodeInvalidRequest)
}

func deletionRules(r *rig) {
	r.save("lib", "a")
	r.save("lib", "b")
	r.save("lib", "c")
	r.save("p", "{{> lib@1}}")
	r.move("lib", "production", 2)
	remove := func(name string, n int64) error {
		return r.DeleteVersion(r.Context(), app, prompt.VersionKey{Name: name, N: n})
	}
	r.wantCode("an included version", remove("lib", 1), penstock.CodeConflict)
	r.wantCode("a labelled version", remove("lib", 2), penstock.CodeConflict)
	r.must("delete the newest", remove("lib", 3))
	r.wantCode("delete it again", remove("lib", 3), penstock.CodeGone)
	r.wantCode("an unknown version", remove("lib", 7), penstock.CodeNotFound)
	if p := r.prompt("lib"); p.Latest != 2 || p.Versions != 2 {
		r.Errorf("after the newest was deleted: %+v", p)
	}
	_, err := r.Version(r.Context(), acme, prompt.VersionKey{Name: "lib", N: 3})
	r.wantCode("read a deleted version", err, penstock.CodeGone)
	_, err = r.MoveLabel(r.Context(), app, prompt.LabelMove{Name: "lib", Label: "canary", Version: 3})
	r.wantCode("label a deleted version", err, penstock.CodeGone)
	if v := r.save("lib", "c"); v.N != 4 {
		r.Errorf("a deleted content came back as version %d", v.N)
	}
	r.must("delete the user", remove("p", 1))
	r.must("delete what was included", remove("lib", 1))
	if n := r.count(`SELECT COUNT(*) FROM prompt_versions WHERE deleted_at > 0 AND bytes = 0`); n != 3 {
		r.Errorf("%d rows without content", n)
	}
}

func draftRevisions(r *rig) {
	put := func(text string, o prompt.DraftOrder) (prompt.Draft, error) {
		o.Name, o.Content = "d", textOf(text)
		return r.PutDraft(r.Context(), app, o)
	}
	_, err := r.Draft(r.Context(), acme, "d")
	r.wantCode("no prompt", err, penstock.CodeNotFound)
	first, err := put("{{broken", prompt.DraftOrder{IfAbsent: true})
	r.must("put", err)
	_, err = r.Schema(r.Context(), acme, first.Content)
	r.wantCode("the schema of a broken draft", err, penstock.CodeInvalidRequest)
	_, err = put("x", prompt.DraftOrder{IfAbsent: true})
	r.wantCode("a second first draft", err, penstock.CodeConflict)
	second, err := put("fine", prompt.DraftOrder{IfRevision: first.Revision, Base: 3})
	r.must("replace", err)
	_, err = put("late", prompt.DraftOrder{IfRevision: first.Revision})
	r.wantCode("an old revision", err, penstock.CodeConflict)
	r.save("tone", "Be {{tone}}.")
	schema, err := r.Schema(r.Context(), acme, textOf("{{> tone@1}} {{question}}"))
	if err != nil || !strings.Contains(string(schema), `"required":["question","tone"]`) {
		r.Errorf("the schema is %s, %v", schema, err)
	}
	read, err := r.Draft(r.Context(), acme, "d")
	r.must("read", err)
	if read.Content.Text != "fine" || read.Revision != second.Revision || read.Base != 3 || r.prompt("d").Draft != second.Revision {
		r.Errorf("read %+v", read)
	}
	r.wantCode("delete another revision", r.DeleteDraft(r.Context(), app, prompt.DraftRemoval{Name: "d", IfRevision: 99}), penstock.CodeConflict)
	r.must("delete", r.DeleteDraft(r.Context(), app, prompt.DraftRemoval{Name: "d", IfRevision: second.Revision}))
	r.wantCode("delete again", r.DeleteDraft(r.Context(), app, prompt.DraftRemoval{Name: "d"}), penstock.CodeNotFound)
	third, err := put("new", prompt.DraftOrder{IfAbsent: true})
	r.must("begin again", err)
	if third.Revision <= second.Revision {
		r.Errorf("revision %d came back", third.Revision)
	}
	_, err = put(strings.Repeat("x", prompt.MaxDraftBytes), prompt.DraftOrder{})
	r.wantCode("a large draft", err, penstock.CodeTooLarge)
}

func concurrentSaves(r *rig) {
	const savers = 8
	numbers, same := make([]int64, savers), make([]int64, savers)
	var all sync.WaitGroup
	for i := range savers {
		all.Go(func() {
			v, _, err := r.Save(r.Context(), app, prompt.Order{Name: "p", Content: textOf(fmt.Sprintf("text %d", i))})
			if err != nil {
				r.Error(err)
			}
			numbers[i] = v.N
			v, _, err = r.Save(r.Context(), app, prompt.Order{Name: "q", Content: textOf("the same")})
			if err != nil {
				r.Error(err)
			}
			same[i] = v.N
		})
	}
	all.Wait()
	seen := map[int64]bool{}
	for i, n := range numbers {
		if n < 1 || n > savers || seen[n] {
			r.Errorf("saver %d got %d of %v", i, n, numbers)
		}
		seen[n] = true
		if same[i] != 1 {
			r.Errorf("the same content is version %d", same[i])
		}
	}
	if p := r.prompt("p"); p.Latest != savers || p.Versions != savers {
		r.Errorf("after %d saves: %+v", savers, p)
	}
}

// concurrentReference: either the reference is added and the deletion refused, or the other way round.
func concurrentReference(r *rig) {
	for i := range 6 {
		lib, user := fmt.Sprintf("lib%d", i), fmt.Sprintf("user%d", i)
		r.save(lib, "x")
		var all sync.WaitGroup
		var saved, deleted error
		all.Go(func() {
			_, _, saved = r.Save(r.Context(), app, prompt.Order{Name: user, Content: textOf("{{> " + lib + "@1}}")})
		})
		all.Go(func() { deleted = r.DeleteVersion(r.Context(), app, prompt.VersionKey{Name: lib, N: 1}) })
		all.Wait()
		if (saved == nil) == (deleted == nil) {
			r.Errorf("reference: %v, deletion: %v", saved, deleted)
		}
	}
}
