package coedittest

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"penstock"
	"penstock/internal/prompt"
	"penstock/internal/prompt/changeset"
	"penstock/internal/prompt/coedit"
	"penstock/internal/prompt/content"
	"penstock/internal/store/sqldb"
)

func editorsConverge(r *rig) {
	r.put(textOf("Be kind. 😀"))
	r.edit(ada, 0, `[[0,"A "],11]`)
	out := r.edit(ben, 0, `[11,[0," End"]]`, `[3,[5],7]`)
	if len(out) != 3 || out[0].Version != 1 || out[2].Version != 3 || out[0].Client != client(ada) || out[2].Client != client(ben) {
		r.Errorf("ben got %+v", out)
	}
	r.wantText("both", "A Be  😀 End")
	if v := r.open().Texts[0].Version; v != 3 {
		r.Errorf("version %d", v)
	}
	// Two insertions at the same place: the one that was accepted first comes first, for everybody.
	r.put(textOf("xy"))
	v := r.open().Texts[0].Version
	r.edit(ada, v, `[1,[0,"1"],1]`)
	r.edit(ben, v, `[1,[0,"2"],1]`)
	r.wantText("the same place", "x12y")
}

func acceptedOnce(r *rig) {
	r.put(textOf("ab"))
	r.edit(ada, 0, `[2,[0,"c"]]`)
	r.edit(ben, 1, `[[0,"-"],3]`)
	out := r.edit(ada, 0, `[2,[0,"c"]]`, `[3,[0,"d"]]`) // the answer to the first was lost
	if len(out) != 3 {
		r.Errorf("ada got %+v", out)
	}
	r.wantText("after both", "-abcd")
	out = r.edit(ada, 0, `[2,[0,"c"]]`, `[3,[0,"d"]]`)
	if len(out) != 3 {
		r.Errorf("ada got %+v the second time", out)
	}
	r.wantText("after all again", "-abcd")
}

func oneTruth(r *rig) {
	first := r.put(chatOf("system", "user"))
	r.edit(ada, 0, `[6,[0," text"]]`)
	d, err := r.s.Drafts.Draft(r.Context(), acme, "p")
	r.must("read", err)
	if d.Revision != first.Revision+1 || d.Content.Messages[0].Content.Text != "system text" || d.Content.Messages[1].Content.Text != "user" {
		r.Errorf("the draft is %+v", d)
	}
	_, err = r.s.Drafts.PutDraft(r.Context(), acme, prompt.NewDraft{ID: r.ids.New(r.clock()), Name: "p", Content: chatOf("x"), IfRevision: first.Revision, Actor: ada.Author()})
	r.wantCode("a replacement that does not know the edit", err, penstock.CodeConflict)
}

func replacement(r *rig) {
	r.put(chatOf("Be kind.\nBe brief.\nEnd", "{{question}}"))
	before := r.open()
	r.edit(ben, 0, `[22,[0,"!"]]`)
	r.put(chatOf("Be kind.\nBe very brief.\nEnd!", "{{question}}"))
	after := r.open()
	if after.Structure != before.Structure || after.Texts[0].ID != before.Texts[0].ID || after.Texts[0].Version != 2 || after.Texts[1].Version != 0 {
		r.Errorf("the shape is %+v, was %+v", after.Shape, before.Shape)
	}
	log, err := r.History(r.Context(), acme, coedit.LogPage{Name: "p", Limit: 9})
	r.must("history", err)
	if len(log) != 2 || string(log[0].Changes.AppendJSON(nil)) != `[12,[0,"very "],11]` || log[0].Client != "" || log[0].Revision != after.Revision {
		r.Errorf("the log is %+v", log)
	}
	out := r.edit(ben, 1, `[23,[0,"!"]]`)
	if len(out) != 2 {
		r.Errorf("ben got %+v", out)
	}
	r.wantText("both", "Be kind.\nBe very brief.\nEnd!!")
	r.put(chatOf("Be kind.\nBe very brief.\nEnd!!", "{{question}}", "Example"))
	grown := r.open()
	if grown.Structure == after.Structure || len(grown.Texts) != 3 || grown.Texts[1] != after.Texts[1] || grown.Texts[2].ID == "" {
		r.Errorf("the shape is %+v", grown.Shape)
	}
}

func structure(r *rig) {
	r.put(chatOf("one", "two", "three"))
	d := r.open()
	ids := func(d coedit.Draft) (all []string) {
		for _, t := range d.Texts {
			all = append(all, t.ID)
		}
		return all
	}
	was := ids(d)
	r.edit(ada, 0, `[3,[0,"!"]]`) // typing does not make a change of the structure stale
	next := chatOf("", "new", "")
	next.Config = content.Config{"model": []byte(`"fast"`)}
	order := coedit.Structure{Name: "p", Content: next, Texts: []string{was[2], "", was[0]}, IfStructure: d.Structure}
	changed, err := r.PutStructure(r.Context(), ben, order)
	r.must("change", err)
	var texts []string
	for _, t := range changed.Content.Texts() {
		texts = append(texts, *t.Value)
	}
	if now := ids(changed); !slices.Equal(texts, []string{"three", "new", "one!"}) || now[0] != was[2] || now[2] != was[0] || slices.Contains(was, now[1]) || changed.Texts[2].Version != 1 {
		r.Errorf("texts %q with the names %+v", texts, changed.Texts)
	}
	_, err = r.PutStructure(r.Context(), ada, order)
	r.wantCode("a structure that is old", err, penstock.CodeConflict)
	order.IfStructure = changed.Structure
	for name, texts := range map[string][]string{"an unknown text": {was[1], "", ""}, "a text twice": {was[0], was[0], ""}, "too few": {was[0]}} {
		order.Texts = texts
		_, err = r.PutStructure(r.Context(), ada, order)
		r.wantCode(name, err, penstock.CodeInvalidRequest)
	}
	order.Texts, order.Content = []string{was[0]}, textOf("")
	_, err = r.PutStructure(r.Context(), ada, order)
	r.wantCode("another kind", err, penstock.CodeInvalidRequest)
	_, err = r.Submit(r.Context(), ada, coedit.Edits{Name: "p", Text: was[1], Client: client(ada), Updates: []changeset.Set{r.set(`[3,[0,"x"]]`)}})
	r.wantCode("an edit of a text that was removed", err, penstock.CodeNotFound)
}

// olderProcess writes a draft as a release without texts does.
func olderProcess(r *rig) {
	r.put(textOf("first"))
	r.edit(ada, 0, `[5,[0,"!"]]`)
	before := r.open()
	r.must("write", r.db.Write(r.Context(), "test", func(tx sqldb.Tx) error {
		if err := tx.Do(r.Context(), `UPDATE prompt_drafts SET revision = revision + 1`); err != nil {
			return err
		}
		return tx.Do(r.Context(), `UPDATE prompts SET drafts = drafts + 1`)
	}))
	after := r.open()
	if after.Texts[0].ID == before.Texts[0].ID || after.Texts[0].Version != 0 || after.Structure != after.Revision {
		r.Errorf("the shape is %+v, was %+v", after.Shape, before.Shape)
	}
	_, err := r.Submit(r.Context(), ada, coedit.Edits{Name: "p", Text: before.Texts[0].ID, Client: client(ada), Version: 1, Updates: []changeset.Set{r.set(`[6,[0,"?"]]`)}})
	r.wantCode("an edit of the text as it was", err, penstock.CodeNotFound)
	r.edit(ada, 0, `[6,[0,"?"]]`)
	r.wantText("an edit of the new text", "first!?")
	if again := r.open(); again.Texts[0].ID != after.Texts[0].ID || again.Texts[0].Version != 1 {
		r.Errorf("the shape is %+v, was %+v", again.Shape, after.Shape)
	}
}

func history(r *rig) {
	r.put(textOf("0 😀"))
	states := []string{"0 😀"}
	for i, set := range []string{`[[0,"a","b"],4]`, `[2,[1,"x"],4]`, `[5,[2]]`, `[[5]]`, `[[0,"end"]]`} {
		r.edit([]penstock.Principal{ada, ben}[i%2], int64(i), set)
		states = append(states, r.text())
	}
	id := r.open().Texts[0].ID
	for version, want := range states {
		got, err := r.TextAt(r.Context(), acme, coedit.TextKey{Name: "p", Text: id, Version: int64(version)})
		if err != nil || got != want {
			r.Errorf("version %d: %q, %v, want %q", version, got, err, want)
		}
	}
	_, err := r.TextAt(r.Context(), acme, coedit.TextKey{Name: "p", Text: id, Version: 6})
	r.wantCode("a version that does not exist", err, penstock.CodeNotFound)
	page, err := r.History(r.Context(), acme, coedit.LogPage{Name: "p", Limit: 2})
	r.must("history", err)
	rest, err := r.History(r.Context(), acme, coedit.LogPage{Name: "p", Before: page[1].Revision, Text: id, Limit: 9})
	r.must("history", err)
	if len(page) != 2 || len(rest) != 3 || page[0].Version != 5 || rest[2].Version != 1 || page[1].Author.Name != "ben" || page[0].Changes.Inserted() != 3 || page[1].Changes.Deleted() != 5 {
		r.Errorf("the log is %+v and %+v", page, rest)
	}
	none, err := r.History(r.Context(), acme, coedit.LogPage{Name: "p", Text: "t9-9", Limit: 9})
	if err != nil || len(none) != 0 {
		r.Errorf("the log of an unknown text is %+v, %v", none, err)
	}
}

func trimming(r *rig) {
	r.put(textOf("x"))
	length, big := 1, 200<<10
	for version := range int64(25) { // each has the new text and the old one
		r.edit(ada, version, fmt.Sprintf(`[[%d,%q]]`, length, strings.Repeat("y", big)))
		length = big
	}
	log, err := r.History(r.Context(), acme, coedit.LogPage{Name: "p", Limit: 99})
	r.must("history", err)
	if len(log) == 0 || len(log) > coedit.MaxLogBytes/big || log[0].Version != 25 {
		r.Errorf("%d updates are left", len(log))
	}
	_, err = r.tryEdit(ada, 1, fmt.Sprintf(`[%d,[0,"z"]]`, big))
	r.wantCode("an edit of a version that the log does not have", err, penstock.CodeGone)
	_, err = r.TextAt(r.Context(), acme, coedit.TextKey{Name: "p", Text: r.open().Texts[0].ID})
	r.wantCode("the first version", err, penstock.CodeGone)
	delta, err := r.s.Shared.Since(r.Context(), acme, "p", coedit.Position{Revision: 2})
	if err != nil || !delta.Reset {
		r.Errorf("a reader that is far behind got %+v, %v", delta, err)
	}
	if n, sum := r.count(`SELECT COUNT(*) FROM prompt_draft_updates`), r.count(`SELECT log_updates FROM prompt_drafts`); n != sum || n != int64(len(log)) {
		r.Errorf("%d updates are stored, %d counted", n, sum)
	}
}

func refusals(r *rig) {
	r.put(textOf("ab 😀"))
	for name, one := range map[string]struct {
		version int64
		set     string
		code    penstock.Code
	}{
		"another length":          {0, `[3,[0,"x"]]`, penstock.CodeInvalidRequest},
		"inside a character":      {0, `[4,[0,"x"],1]`, penstock.CodeInvalidRequest},
		"half of a character":     {0, `[4,[1]]`, penstock.CodeInvalidRequest},
		"a version to come":       {3, `[5,[0,"x"]]`, penstock.CodeGone},
		"more than a draft takes": {0, fmt.Sprintf(`[5,[0,%q]]`, strings.Repeat("x", prompt.MaxDraftBytes)), penstock.CodeTooLarge},
	} {
		_, err := r.tryEdit(ada, one.version, one.set)
		r.wantCode(name, err, one.code)
	}
	id := r.open().Texts[0].ID
	many := slices.Repeat([]changeset.Set{r.set(`[5]`)}, coedit.MaxSubmission+1)
	for name, e := range map[string]coedit.Edits{
		"no updates":             {Client: client(ada)},
		"too many updates":       {Client: client(ada), Updates: many},
		"a negative version":     {Client: client(ada), Version: -1, Updates: many[:1]},
		"the editor of another":  {Client: client(ben), Updates: many[:1]},
		"an editor without name": {Client: "", Updates: many[:1]},
	} {
		e.Name, e.Text = "p", id
		_, err := r.Submit(r.Context(), ada, e)
		r.wantCode(name, err, penstock.CodeInvalidRequest)
	}
	r.wantText("after all", "ab 😀")
	_, err := r.s.Prompts.Archive(r.Context(), acme, prompt.Archival{Name: "p", State: prompt.Archived, Actor: ada.Author()})
	r.must("archive", err)
	_, err = r.tryEdit(ada, 0, `[5,[0,"x"]]`)
	r.wantCode("an edit of an archived prompt", err, penstock.CodeConflict)
}

func concurrency(r *rig) {
	r.put(textOf(""))
	const editors, rounds = 6, 5
	id := r.open().Texts[0].ID
	var all sync.WaitGroup
	for i := range editors {
		all.Go(func() {
			by := key(acme, fmt.Sprintf("key%d", i))
			set, err := changeset.Replace(0, 0, 0, string(rune('a'+i)))
			if err != nil {
				r.Error(err)
			}
			for round := range rounds { // every editor knows nothing but the empty text and what it sent
				e := coedit.Edits{Name: "p", Text: id, Client: coedit.Tag(acme, by.Author()) + fmt.Sprintf("-round%d", round), Updates: []changeset.Set{set}}
				if _, err := r.Submit(r.Context(), by, e); err != nil {
					r.Error(err)
				}
			}
		})
	}
	all.Wait()
	text := r.text()
	for i := range editors {
		if n := strings.Count(text, string(rune('a'+i))); n != rounds {
			r.Errorf("editor %d typed %d characters of %q", i, n, text)
		}
	}
	log, err := r.History(r.Context(), acme, coedit.LogPage{Name: "p", Limit: 99})
	r.must("history", err)
	for i, u := range log {
		if u.Version != int64(editors*rounds-i) {
			r.Errorf("update %d has version %d", i, u.Version)
		}
	}
}
