package prompttest

import (
	"fmt"
	"sync"

	"penstock"
	"penstock/internal/prompt"
	"penstock/internal/prompt/content"
)

func labelMoves(r *rig) {
	for _, text := range []string{"a", "b", "c"} {
		r.save("p", text)
	}
	first := r.move("p", "production", 1)
	m := func(change prompt.LabelMove) error {
		change.Name, change.Label = "p", "production"
		_, err := r.MoveLabel(r.Context(), app, change)
		return err
	}
	two, none := int64(2), int64(0)
	r.wantCode("another version is expected", m(prompt.LabelMove{Version: 3, Expect: &two}), penstock.CodeConflict)
	r.wantCode("none is expected", m(prompt.LabelMove{Version: 3, Expect: &none}), penstock.CodeConflict)
	r.wantCode("another revision", m(prompt.LabelMove{Version: 3, IfRevision: first.Revision + 1}), penstock.CodeConflict)
	r.wantCode("an unknown version", m(prompt.LabelMove{Version: 9}), penstock.CodeNotFound)
	r.must("a move with its condition", m(prompt.LabelMove{Version: 2, IfRevision: first.Revision}))
	r.must("the same version again", m(prompt.LabelMove{Version: 2, Expect: &two}))
	r.must("back", m(prompt.LabelMove{Version: 1, Reason: "worse"}))
	r.wantCode("the first revision is not the third", m(prompt.LabelMove{Version: 3, IfRevision: first.Revision}), penstock.CodeConflict)
	r.must("remove", m(prompt.LabelMove{}))
	r.wantCode("remove again", m(prompt.LabelMove{}), penstock.CodeNotFound)
	for _, label := range []string{"latest", "7", "", "a b"} {
		_, err := r.MoveLabel(r.Context(), app, prompt.LabelMove{Name: "p", Label: label, Version: 1})
		r.wantCode("the label "+label, err, penstock.CodeInvalidRequest)
	}
	moves, err := r.History(r.Context(), acme, prompt.HistoryPage{Name: "p", Limit: everything})
	r.must("history", err)
	var steps [][2]int64
	for _, m := range moves {
		steps = append(steps, [2]int64{m.From, m.To})
	}
	r.wantSame("history", steps, [][2]int64{{1, 0}, {2, 1}, {1, 2}, {0, 1}})
	if moves[1].Reason != "worse" || moves[1].By != "app" || moves[1].At.IsZero() {
		r.Errorf("move: %+v", moves[1])
	}
	page, err := r.History(r.Context(), acme, prompt.HistoryPage{Name: "p", Label: "production", Before: moves[1].Seq, Limit: 1})
	r.must("history page", err)
	r.wantSame("history page", page, moves[2:3])
	other, err := r.History(r.Context(), acme, prompt.HistoryPage{Name: "p", Label: "canary", Limit: 1})
	r.must("history of another label", err)
	r.wantSame("history of another label", other, []prompt.Move{})
}

func labelBound(r *rig) {
	r.save("p", "a")
	for i := range prompt.MaxLabels {
		r.move("p", fmt.Sprintf("label-%d", i), 1)
	}
	_, err := r.MoveLabel(r.Context(), app, prompt.LabelMove{Name: "p", Label: "more", Version: 1})
	r.wantCode("one label more", err, penstock.CodeConflict)
}

func protectedLabels(r *rig) {
	r.save("support/p", "a")
	_, _, err := r.Save(r.Context(), person("AVA", penstock.RoleDeveloper), prompt.Order{Name: "support/p", Content: textOf("b")})
	r.must("save", err)
	r.save("other", "a")
	boss := key(acme, "boss", penstock.ScopeAdmin)
	_, err = r.SetProtection(r.Context(), app, prompt.Protection{Label: "production"}, prompt.Condition{})
	r.wantCode("a plain key protects", err, penstock.CodeScopeMissing)
	_, err = r.SetProtection(r.Context(), boss, prompt.Protection{Label: "production", Prompts: []string{"support/"}}, prompt.Condition{})
	r.must("protect", err)
	move := func(who penstock.Principal, name string, to int64) error {
		_, err := r.MoveLabel(r.Context(), who, prompt.LabelMove{Name: name, Label: "production", Version: to})
		return err
	}
	r.wantCode("a plain key", move(app, "support/p", 1), penstock.CodeScopeMissing)
	r.wantCode("a developer", move(person("AVA", penstock.RoleDeveloper), "support/p", 1), penstock.CodeScopeMissing)
	r.wantCode("a prompt that does not exist", move(app, "support/none", 1), penstock.CodeNotFound)
	r.must("another prompt", move(app, "other", 1))
	r.must("an operator", move(person("BEA", penstock.RoleOperator), "support/p", 1))
	r.gate.refused[2] = true
	r.wantCode("the gate", move(boss, "support/p", 2), penstock.CodeConflict)
	delete(r.gate.refused, 2)

	_, err = r.SetProtection(r.Context(), boss, prompt.Protection{Label: "production", Approval: true}, prompt.Condition{})
	r.must("ask for approvals", err)
	r.wantCode("without an approval", move(boss, "support/p", 2), penstock.CodeConflict)
	r.wantCode("remove without an approval", move(boss, "support/p", 0), penstock.CodeConflict)
	q, err := r.RequestMove(r.Context(), app, prompt.LabelMove{Name: "support/p", Label: "production", Version: 2, Reason: "better"})
	r.must("request", err)
	approve := func(who penstock.Principal) error {
		_, err := r.Approve(r.Context(), who, prompt.Decision{ID: q.ID, Name: "support/p", Note: "seen"})
		return err
	}
	r.wantCode("who has no role", approve(person("CYD", penstock.RoleDeveloper)), penstock.CodeScopeMissing)
	r.wantCode("who asked", approve(key(acme, "app", penstock.ScopeAdmin)), penstock.CodeConflict)
	r.wantCode("who wrote it", approve(person("AVA", penstock.RoleOperator)), penstock.CodeConflict)
	r.gate.refused[2] = true
	r.wantCode("the gate again", approve(person("BEA", penstock.RoleOperator)), penstock.CodeConflict)
	delete(r.gate.refused, 2)
	r.must("somebody else", approve(person("BEA", penstock.RoleOperator)))
	r.wantCode("twice", approve(person("BEA", penstock.RoleOperator)), penstock.CodeConflict)
	moves, err := r.History(r.Context(), acme, prompt.HistoryPage{Name: "support/p", Limit: 1})
	r.must("history", err)
	if m := moves[0]; m.To != 2 || m.By != "app" || m.ApprovedBy == "" || m.Reason != "better" {
		r.Errorf("approved move: %+v", m)
	}
	r.staleRequest(boss)
}

// staleRequest: an approval applies to the state that the request was made in.
func (r *rig) staleRequest(boss penstock.Principal) {
	q, err := r.RequestMove(r.Context(), app, prompt.LabelMove{Name: "support/p", Label: "production", Version: 1})
	r.must("request", err)
	r.must("unprotect", r.RemoveProtection(r.Context(), boss, "production", prompt.Condition{}))
	r.move("support/p", "production", 1)
	r.move("support/p", "production", 2)
	d := prompt.Decision{ID: q.ID, Name: "support/p"}
	_, err = r.Approve(r.Context(), boss, d)
	r.wantCode("the label was moved since", err, penstock.CodeConflict)
	_, err = r.Reject(r.Context(), app, d)
	r.must("withdraw", err)
	all, err := r.ListRequests(r.Context(), acme, prompt.RequestPage{Name: "support/p", Limit: everything})
	r.must("list", err)
	open, err := r.ListRequests(r.Context(), acme, prompt.RequestPage{Name: "support/p", State: prompt.RequestOpen, Limit: everything})
	r.must("list open", err)
	if len(all) != 2 || len(open) != 0 || all[0].ID != q.ID || all[0].State != prompt.RequestRejected || all[1].State != prompt.RequestApproved {
		r.Errorf("requests: %+v; open: %+v", all, open)
	}
}

// protectionRaces: a move was allowed, and the protection changes before the move is written.
func protectionRaces(r *rig) {
	r.save("p", "a")
	boss := key(acme, "boss", penstock.ScopeAdmin)
	protect := func() prompt.Protection {
		p, err := r.SetProtection(r.Context(), boss, prompt.Protection{Label: "production"}, prompt.Condition{})
		r.must("protect", err)
		return p
	}
	write := func(asked prompt.Stamp) error {
		_, err := r.s.MoveLabel(r.Context(), acme, prompt.LabelMove{Name: "p", Label: "production", Version: 1, Asked: asked})
		return err
	}
	first := protect()
	r.wantCode("the label was not protected", write(prompt.Stamp{}), penstock.CodeConflict)
	protect()
	r.wantCode("the protection was another", write(first.Stamp()), penstock.CodeConflict)
	r.must("unprotect", r.RemoveProtection(r.Context(), boss, "production", prompt.Condition{}))
	r.wantCode("the protection is gone", write(first.Stamp()), penstock.CodeConflict)
	again := protect()
	r.wantCode("the same revision of a later protection", write(first.Stamp()), penstock.CodeConflict)

	q, err := r.RequestMove(r.Context(), app, prompt.LabelMove{Name: "p", Label: "production", Version: 1})
	r.must("request", err)
	_, err = r.s.DecideRequest(r.Context(), acme, prompt.Decision{ID: q.ID, Name: "p", State: prompt.RequestApproved, Asked: first.Stamp()})
	r.wantCode("an approval under another protection", err, penstock.CodeConflict)
	_, err = r.s.DecideRequest(r.Context(), acme, prompt.Decision{ID: q.ID, Name: "p", State: prompt.RequestApproved, Asked: again.Stamp()})
	r.must("an approval under this protection", err)
}

func protectionRevisions(r *rig) {
	boss := person("BOS", penstock.RoleAdmin)
	set := func(on prompt.Condition) (prompt.Protection, error) {
		return r.SetProtection(r.Context(), boss, prompt.Protection{Label: "production", Prompts: []string{"a/", "b"}}, on)
	}
	first, err := set(prompt.Condition{Absent: true})
	r.must("set", err)
	_, err = set(prompt.Condition{Absent: true})
	r.wantCode("set a second first", err, penstock.CodeConflict)
	second, err := set(prompt.Condition{Revision: first.Revision})
	r.must("replace", err)
	_, err = set(prompt.Condition{Revision: first.Revision})
	r.wantCode("an old revision", err, penstock.CodeConflict)
	all, err := r.ListProtections(r.Context(), acme)
	r.must("list", err)
	if len(all) != 1 || all[0].Revision != second.Revision || len(all[0].Prompts) != 2 || all[0].Roles[0] != penstock.RoleOperator {
		r.Errorf("protections: %+v", all)
	}
	r.wantCode("remove an old revision", r.RemoveProtection(r.Context(), boss, "production", prompt.Condition{Revision: first.Revision}), penstock.CodeConflict)
	r.must("remove", r.RemoveProtection(r.Context(), boss, "production", prompt.Condition{Revision: second.Revision}))
	r.wantCode("remove again", r.RemoveProtection(r.Context(), boss, "production", prompt.Condition{}), penstock.CodeNotFound)
	_, err = r.SetProtection(r.Context(), boss, prompt.Protection{Label: "latest"}, prompt.Condition{})
	r.wantCode("latest", err, penstock.CodeInvalidRequest)
	_, err = r.SetProtection(r.Context(), boss, prompt.Protection{Label: "x", Roles: []penstock.Role{"king"}}, prompt.Condition{})
	r.wantCode("an unknown role", err, penstock.CodeInvalidRequest)
}

func archiving(r *rig) {
	r.save("p", "a")
	r.move("p", "production", 1)
	p, err := r.Archive(r.Context(), app, "p")
	r.must("archive", err)
	if p.ArchivedAt.IsZero() {
		r.Errorf("archived: %+v", p)
	}
	_, err = r.Archive(r.Context(), app, "p")
	r.must("archive again", err)
	_, _, err = r.Save(r.Context(), app, prompt.Order{Name: "p", Content: textOf("b")})
	r.wantCode("save", err, penstock.CodeConflict)
	_, err = r.MoveLabel(r.Context(), app, prompt.LabelMove{Name: "p", Label: "canary", Version: 1})
	r.wantCode("move", err, penstock.CodeConflict)
	_, err = r.Render(r.Context(), acme, prompt.Side{Reference: content.Reference{Name: "p"}}, nil)
	r.wantCode("resolve the label", err, penstock.CodeConflict)
	if got := r.rendered("p", content.Reference{Version: 1}); got != "a" {
		r.Errorf("the version by its number: %q", got)
	}
	listed, err := r.List(r.Context(), acme, prompt.Page{Limit: everything})
	r.must("list", err)
	all, err := r.List(r.Context(), acme, prompt.Page{Limit: everything, Archived: true})
	r.must("list all", err)
	if len(listed.Prompts) != 0 || len(all.Prompts) != 1 {
		r.Errorf("listed %d, %d with archived ones", len(listed.Prompts), len(all.Prompts))
	}
	_, err = r.Restore(r.Context(), app, "p")
	r.must("restore", err)
	if got := r.rendered("p", content.Reference{}); got != "a" {
		r.Errorf("restored: %q", got)
	}
	_, err = r.Archive(r.Context(), app, "nothing")
	r.wantCode("archive nothing", err, penstock.CodeNotFound)
}

// concurrentMoves: of movers that expect the same version, one wins each round, and the history is a chain.
func concurrentMoves(r *rig) {
	const movers, rounds = 6, 4
	for i := range movers {
		r.save("p", fmt.Sprintf("text %d", i))
	}
	var at int64
	for range rounds {
		var mu sync.Mutex
		var won []int64
		var all sync.WaitGroup
		for i := range int64(movers) {
			if i+1 == at {
				continue
			}
			all.Go(func() {
				_, err := r.MoveLabel(r.Context(), app, prompt.LabelMove{Name: "p", Label: "production", Version: i + 1, Expect: &at})
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					won = append(won, i+1)
				} else if penstock.ErrorCode(err) != penstock.CodeConflict {
					r.Error(err)
				}
			})
		}
		all.Wait()
		if len(won) != 1 {
			r.Fatalf("%v won the move from %d", won, at)
		}
		at = won[0]
	}
	moves, err := r.History(r.Context(), acme, prompt.HistoryPage{Name: "p", Limit: everything})
	r.must("history", err)
	if len(moves) != rounds || moves[0].To != at || moves[rounds-1].From != 0 {
		r.Fatalf("history: %+v", moves)
	}
	for i := range rounds - 1 {
		if moves[i].From != moves[i+1].To || moves[i].Seq != moves[i+1].Seq+1 {
			r.Errorf("the history breaks between %+v and %+v", moves[i+1], moves[i])
		}
	}
}
