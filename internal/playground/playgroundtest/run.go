package playgroundtest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"penstock"
	"penstock/internal/playground"
	"penstock/internal/playground/position"
	"penstock/internal/prompt/content"
	"penstock/internal/store"
)

func wholeRun(r *rig) {
	s := playground.Setup{
		Columns: []playground.Column{{Prompt: &playground.Reference{Name: "support/answer", Label: "production"}, Params: content.Config{"temperature": json.RawMessage(`0.5`)}}, inline("[think] So {{question}}")},
		Rows:    []json.RawMessage{json.RawMessage(`{"question":"one two"}`), json.RawMessage(`{"question":"three"}`)}, Trials: 2,
	}
	made := r.create(s)
	if made.Counts.Queued != 8 || !made.Mine || len(made.Cells) != 8 {
		r.Errorf("created as %+v", made.Run)
	}
	o := r.await(made.ID, "the end", ended)
	if o.State != playground.RunCompleted || o.Counts.Succeeded != 8 || o.Cost != 56 || o.FinishedAt.IsZero() || !slices.Equal(o.Prompts, []string{"support/answer@7"}) || !slices.Equal(o.Models, []string{"fast"}) {
		r.Errorf("the run is %+v", o.Run)
	}
	for i, c := range o.Cells {
		q := []string{"one two", "three"}[c.Row]
		want := playground.Output{Text: strings.Join(strings.Fields(q), " ") + " "}
		if c.Column == 1 {
			want = playground.Output{Text: "So " + want.Text, Reasoning: "hmm "}
		}
		if c.N != i || c.Result.Output.Text != want.Text || c.Result.Output.Reasoning != want.Reasoning || c.Result.FinishReason != "stop" || c.Target != "main" || len(c.Requests) != 1 {
			r.Errorf("cell %d is %+v", i, c)
		}
		if c.Metrics.OutputTokens != 5 || c.Metrics.Cost != 7 || c.Metrics.FirstToken != time.Millisecond || (c.Prompt == nil) != (c.Column == 1) {
			r.Errorf("cell %d has %+v of %v", i, c.Metrics, c.Prompt)
		}
	}
	first := string(r.model.calls[slices.Index(r.model.ids, o.Cells[0].Requests[0])])
	if !strings.Contains(first, `"temperature":0.5`) || !strings.Contains(first, `"stream":true`) || messages(r.T, []byte(first)) != `[{"role":"user","content":"one two"}]` {
		r.Errorf("the first cell sent %s", first)
	}
	if tags := r.model.tags[0]; tags[playground.TagPerson] != made.Author.ID || tags[playground.TagRun] != playground.ViewRun.Format(made.ID) {
		r.Errorf("the call has the tags %v", tags)
	}
	_, line, err := r.Lines(r.Context(), ada, o.ID)
	r.must("lines", err)
	l, err := line(o.Cells[0])
	r.must("line", err)
	if string(l.Variables) != `{"question":"one two"}` || string(l.Messages) != `[{"role":"user","content":"one two"}]` || string(l.Config["temperature"]) != "0.5" || l.Config["stream"] != nil {
		r.Errorf("exported as %+v", l)
	}
}

func mistakes(r *rig) {
	rows := func(texts ...string) (all []json.RawMessage) {
		for _, text := range texts {
			all = append(all, json.RawMessage(text))
		}
		return all
	}
	good := playground.Column{Prompt: &playground.Reference{Name: "support/answer"}}
	for name, tt := range map[string]struct {
		s     playground.Setup
		param string
		says  string
	}{
		"no columns":  {playground.Setup{Rows: rows(`{}`), Trials: 1}, "setup.columns", "1 to 4 columns"},
		"no rows":     {playground.Setup{Columns: []playground.Column{good}, Trials: 1}, "setup.rows", "1 to 200 rows"},
		"trials":      {playground.Setup{Columns: []playground.Column{good}, Rows: rows(`{}`), Trials: 11}, "setup.trials", "from 1 to 10"},
		"cells":       {playground.Setup{Columns: []playground.Column{good, good, good, good}, Rows: rows(slices.Repeat([]string{`{}`}, 101)...), Trials: 1}, "setup", "404 cells"},
		"both":        {playground.Setup{Columns: []playground.Column{{Prompt: good.Prompt, Content: inline("x").Content}}, Rows: rows(`{}`), Trials: 1}, "setup.columns[0]", "exactly one"},
		"variable":    {playground.Setup{Columns: []playground.Column{good, good}, Rows: rows(`{"question":"x"}`, `{"other":"x"}`), Trials: 1}, "setup.rows[1]", "Column 1, row 2: "},
		"no object":   {playground.Setup{Columns: []playground.Column{good}, Rows: rows(`[1]`), Trials: 1}, "setup.rows[0]", "Column 1, row 1: "},
		"prompt":      {playground.Setup{Columns: []playground.Column{good, {Prompt: &playground.Reference{Name: "nobody"}}}, Rows: rows(`{"question":"x"}`), Trials: 1}, "setup.columns[1]", "Column 2: There is no prompt nobody"},
		"model":       {playground.Setup{Columns: []playground.Column{{Prompt: good.Prompt, Model: "unknown"}}, Rows: rows(`{"question":"x"}`), Trials: 1}, "setup.rows[0]", "There is no model"},
		"no model":    {playground.Setup{Columns: []playground.Column{{Content: inline("x").Content}}, Rows: rows(`{}`), Trials: 1}, "setup.columns[0].model", "needs a model"},
		"messages":    {playground.Setup{Columns: []playground.Column{{Prompt: good.Prompt, Params: content.Config{"messages": json.RawMessage(`[]`)}}}, Rows: rows(`{"question":"x"}`), Trials: 1}, "setup.columns[0].config.messages", "messages of its own"},
		"n":           {playground.Setup{Columns: []playground.Column{{Prompt: good.Prompt, Params: content.Config{"n": json.RawMessage(`2`)}}}, Rows: rows(`{"question":"x"}`), Trials: 1}, "setup.columns[0].params.n", "trials"},
		"two choices": {playground.Setup{Columns: []playground.Column{{Prompt: &playground.Reference{Name: "support/answer", Version: 1, Draft: true}}}, Rows: rows(`{}`), Trials: 1}, "setup.columns[0].prompt", "at most one"},
	} {
		_, err := r.Create(r.Context(), ada, playground.Order{Setup: tt.s})
		if e := penstock.AsError(err); err == nil || e.Code != penstock.CodeInvalidRequest || e.Param != tt.param || !strings.Contains(e.Message, tt.says) {
			r.Errorf("%s: %v (%q), want %q that says %q", name, err, e.Param, tt.param, tt.says)
		}
	}
	big := playground.Setup{Columns: []playground.Column{good}, Rows: rows(`{"question":"` + strings.Repeat("x", playground.MaxSetupBytes) + `"}`), Trials: 1}
	_, err := r.Create(r.Context(), ada, playground.Order{Setup: big})
	r.wantCode("a large setup", err, penstock.CodeTooLarge)
	if all, err := r.List(r.Context(), ada, playground.Page{Limit: 10}); err != nil || len(all) != 0 || len(r.model.calls) != 0 {
		r.Errorf("there are runs %v and calls %d, %v", all, len(r.model.calls), err)
	}
}

// following reads the events of a run once as a whole, and then from every event on.
func following(r *rig) {
	made := r.create(setup("a b [hold] c d", "e [hold] f", "[think] g [tool:x]", "h [fail]"))
	held := r.await(made.ID, "the holds", holding("a b ", "e "))
	cursor := playground.PositionOf(held)
	r.model.free()
	o := r.await(made.ID, "the end", ended)
	whole := r.events(made.ID, start())
	if got := told(nil, whole); got != told(nil, r.events(made.ID, start())) || !strings.Contains(got, "0 text: a b c d ") {
		r.Errorf("a reader is told\n%s", got)
	}
	for i, e := range whole {
		from, err := position.Parse(e.ID)
		r.must("parse "+e.ID, err)
		if got, want := told(whole[:i+1], r.events(made.ID, from)), told(nil, whole); got != want {
			r.Fatalf("a reader who comes back at %q is told\n%s\nwant\n%s", e.ID, got, want)
		}
	}
	var before []playground.Event // that a reader who has the held run has
	for _, c := range held.Cells {
		for _, p := range playground.PiecesOf(c.Result.Output) {
			before = append(before, playground.Event{Type: playground.EventDelta, Cell: playground.Cell{N: c.N}, Piece: p})
		}
		before = append(before, playground.Event{Type: playground.EventCell, Cell: c})
	}
	if got, want := told(before, r.events(made.ID, cursor)), told(nil, whole); got != want {
		r.Errorf("a reader of the held run is told\n%s\nwant\n%s", got, want)
	}
	if last := whole[len(whole)-1]; last.Type != playground.EventRun || last.Run.State != o.State || !last.Run.Mine {
		r.Errorf("the last event is %+v", last)
	}
}

// start is the position of a reader who has nothing.
func start() position.Position { return position.Position{Parts: map[int]position.Part{}} }

// events reads all events behind a position.
func (r *rig) events(id penstock.ID, from position.Position) (all []playground.Event) {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), 10*time.Second)
	defer cancel()
	for e, err := range r.Follow(ctx, ada, id, from) {
		r.must("follow", err)
		all = append(all, e)
	}
	return all
}

// told is what a reader of events has in the end: the text and the state of each cell. Each delta must begin where the text ends.
func told(parts ...[]playground.Event) string {
	texts, last := map[string]string{}, map[int]playground.CellState{}
	for _, e := range slices.Concat(parts...) {
		switch e.Type {
		case playground.EventDelta:
			key := fmt.Sprintf("%d %s", e.Cell.N, e.Piece.Kind)
			if e.Piece.Offset != len(texts[key]) {
				return fmt.Sprintf("a delta of %s begins at %d, not %d", key, e.Piece.Offset, len(texts[key]))
			}
			texts[key] += e.Piece.Text
		case playground.EventCell:
			last[e.Cell.N] = e.Cell.State
		}
	}
	var lines []string
	for key, text := range texts {
		lines = append(lines, key+": "+text)
	}
	for n, state := range last {
		lines = append(lines, fmt.Sprintf("%d is %s", n, state))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func stopping(r *rig) {
	made := r.create(setup("a b [hold] c", "d [hold] e"))
	r.await(made.ID, "the holds", holding("a b ", "d "))
	_, err := r.Stop(r.Context(), ada, playground.StopOrder{ID: made.ID, Column: 0})
	r.must("stop", err)
	o := r.await(made.ID, "the stop", func(o playground.Opened) bool { return o.Cells[0].State == playground.CellStopped })
	r.wantStates(o, playground.CellStopped, playground.CellRunning)
	r.model.free()
	o = r.await(made.ID, "the end", ended)
	r.wantStates(o, playground.CellStopped, playground.CellSucceeded)
	if o.State != playground.RunStopped || o.Cells[0].Result.Output.Text != "a b " || o.Cells[1].Result.Output.Text != "d e " || o.Cells[0].Result.Error != nil {
		r.Errorf("the run is %+v", o)
	}
	again, err := r.Resume(r.Context(), ada, made.ID, nil)
	r.must("resume", err)
	r.wantStates(again, playground.CellQueued, playground.CellSucceeded)
	o = r.await(made.ID, "the end of the second attempt", ended)
	r.wantStates(o, playground.CellSucceeded, playground.CellSucceeded)
	if o.State != playground.RunCompleted || o.Cells[0].Result.Output.Text != "a b c " || o.Cells[0].Attempt != 2 || o.Cells[1].Attempt != 1 {
		r.Errorf("resumed, the run is %+v", o)
	}
	_, err = r.Resume(r.Context(), ada, made.ID, nil)
	r.wantCode("nothing to resume", err, penstock.CodeConflict)
	_, err = r.Stop(r.Context(), ada, playground.StopOrder{ID: made.ID, Column: playground.AllColumns})
	r.must("stop a run that has ended", err)
}

func stoppingElsewhere(r *rig) {
	r.lease("two", time.Hour)
	other, _ := r.process("two", time.Second)
	made := r.create(setup("a [hold]", "b [hold]"))
	r.await(made.ID, "the holds", holding("a ", "b "))
	_, err := other.Stop(r.Context(), ada, playground.StopOrder{ID: made.ID, Column: 1})
	r.must("stop", err)
	o := r.await(made.ID, "the stop of a column", func(o playground.Opened) bool { return o.Cells[1].State == playground.CellStopped })
	r.wantStates(o, playground.CellRunning, playground.CellStopped)
	_, err = other.Stop(r.Context(), ada, playground.StopOrder{ID: made.ID, Column: playground.AllColumns})
	r.must("stop", err)
	o = r.await(made.ID, "the end", ended)
	r.wantStates(o, playground.CellStopped, playground.CellStopped)
	_, err = other.Resume(r.Context(), ada, made.ID, nil)
	r.must("resume elsewhere", err)
	r.model.free()
	o = r.await(made.ID, "the end elsewhere", ended)
	r.wantStates(o, playground.CellSucceeded, playground.CellSucceeded)
}

func interrupting(r *rig) {
	made := r.create(setup("a b [hold] c", "d", "e [hold]"))
	held := r.await(made.ID, "the holds", func(o playground.Opened) bool { return holding("a b ", "d ", "e ")(o) && o.Counts.Succeeded == 1 })
	r.lease("one", -time.Second) // the process is dead to all others
	r.lease("two", time.Hour)
	other, _ := r.process("two", time.Second)
	o := r.await(made.ID, "the interruption", ended)
	r.wantStates(o, playground.CellInterrupted, playground.CellSucceeded, playground.CellInterrupted)
	if o.State != playground.RunInterrupted || o.FinishedAt.IsZero() || !holding("a b ", "d ", "e ")(o) || !slices.Equal(o.Cells[0].Requests, held.Cells[0].Requests) {
		r.Errorf("the run is %+v", o)
	}
	if text := told(nil, r.events(made.ID, start())); !strings.Contains(text, "0 text: a b \n") {
		r.Errorf("a reader is told\n%s", text)
	}
	r.model.free()
	_, err := other.Resume(r.Context(), ada, made.ID, nil)
	r.must("resume", err)
	o = r.await(made.ID, "the end", ended)
	r.wantStates(o, playground.CellSucceeded, playground.CellSucceeded, playground.CellSucceeded)
	if !holding("a b c ", "d ", "e ")(o) || o.State != playground.RunCompleted {
		r.Errorf("resumed, the run is %+v", o)
	}
}

func fencing(r *rig) {
	made := r.create(setup("a [hold] b"))
	r.await(made.ID, "the hold", holding("a "))
	r.lease("one", -time.Second)
	_, err := r.s.Interrupt(r.Context(), 10)
	r.must("interrupt", err)
	lost, err := r.s.SaveSteps(r.Context(), store.Lease{Process: "one", Epoch: 1}, []playground.Step{{Tenant: acme, Run: made.ID, Seq: 99, Counts: playground.Counts{Succeeded: 1}}})
	if err != nil || !slices.Equal(lost, []penstock.ID{made.ID}) {
		r.Errorf("a step under a lost lease: %v, %v", lost, err)
	}
	r.model.free()
	o := r.await(made.ID, "the interruption", ended)
	if o.State != playground.RunInterrupted || !holding("a ")(o) || o.Seq == 99 {
		r.Errorf("the run is %+v", o)
	}
}

func draining(r *rig) {
	r.lease("two", time.Hour)
	brief, stop := r.process("two", 50*time.Millisecond)
	made, err := brief.Create(r.Context(), ada, playground.Order{Setup: setup("a [hold] b", "c")})
	r.must("create", err)
	r.await(made.ID, "the hold", func(o playground.Opened) bool { return holding("a ", "c ")(o) && o.Counts.Succeeded == 1 })
	stop()
	o := r.await(made.ID, "the end", ended)
	r.wantStates(o, playground.CellInterrupted, playground.CellSucceeded)
	if !holding("a ", "c ")(o) {
		r.Errorf("the run is %+v", o)
	}
	_, err = brief.Create(r.Context(), ada, playground.Order{Setup: setup("x")})
	r.wantCode("a run of a process that stops", err, penstock.CodeOverloaded)
}

func tools(r *rig) {
	c := inline("look [tool:weather]")
	c.ToolResults = map[string]string{"weather": "sunny today"}
	without := inline("look [tool:other]")
	without.ToolResults = c.ToolResults
	loop := inline("[tool:again]")
	loop.ToolResults = map[string]string{"again": "[tool:again]"}
	made := r.create(playground.Setup{Columns: []playground.Column{c, without, loop}, Rows: []json.RawMessage{json.RawMessage(`{}`)}, Trials: 1})
	o := r.await(made.ID, "the end", ended)
	r.wantStates(o, playground.CellSucceeded, playground.CellSucceeded, playground.CellSucceeded)
	first := o.Cells[0]
	if len(first.Requests) != 2 || first.Result.Output.Text != "look \n\nsunny today " || first.Result.FinishReason != "stop" || first.Metrics.OutputTokens != 10 || first.Metrics.Cost != 14 {
		r.Errorf("with a result: %+v", first)
	}
	if calls := first.Result.Output.ToolCalls; len(calls) != 1 || calls[0].Name != "weather" || calls[0].Arguments != `{"a":1}` || calls[0].Result == nil || *calls[0].Result != "sunny today" {
		r.Errorf("the tool calls are %+v", calls)
	}
	sent := messages(r.T, r.model.calls[slices.Index(r.model.ids, first.Requests[1])])
	if want := `[{"role":"user","content":"look [tool:weather]"},{"role":"assistant","content":"look ","tool_calls":[{"id":"call_weather","type":"function","function":{"name":"weather","arguments":"{\"a\":1}"}}]},{"content":"sunny today","role":"tool","tool_call_id":"call_weather"}]`; sent != want {
		r.Errorf("the second call sent %s\nwant %s", sent, want)
	}
	if second := o.Cells[1]; len(second.Requests) != 1 || second.Result.FinishReason != "tool_calls" || len(second.Result.Output.ToolCalls) != 1 || second.Result.Output.ToolCalls[0].Result != nil {
		r.Errorf("without a result: %+v", second)
	}
	if third := o.Cells[2]; len(third.Requests) != playground.MaxSteps || len(third.Result.Output.ToolCalls) != playground.MaxSteps {
		r.Errorf("a loop made %d calls: %+v", len(third.Requests), third)
	}
}

func schemas(r *rig) {
	format := json.RawMessage(`{"type":"json_schema","json_schema":{"name":"n","schema":{"type":"object","required":["a"]}}}`)
	column := func(answer string, format json.RawMessage) playground.Column {
		c := inline(answer)
		c.ResponseFormat = format
		return c
	}
	made := r.create(playground.Setup{Columns: []playground.Column{column(`{"a":1}`, format), column(`{"b":1}`, format), column("no", json.RawMessage(`{"type":"json_object"}`)), column(`x`, nil)},
		Rows: []json.RawMessage{json.RawMessage(`{}`)}, Trials: 1})
	o := r.await(made.ID, "the end", ended)
	var got []string
	for _, c := range o.Cells {
		word := "none"
		if c.SchemaValid != nil {
			word = fmt.Sprint(*c.SchemaValid)
		}
		got = append(got, word)
	}
	if !slices.Equal(got, []string{"true", "false", "false", "none"}) {
		r.Errorf("the answers are valid: %v (%+v)", got, o.Cells)
	}
}

func concurrency(r *rig) {
	r.limit = playground.Limits{Process: 5, Tenant: 3}
	limited := ada
	limited.Tenant.Limits.Concurrency = 4 // half of it is less than the share of a tenant
	s := setup("a [hold]")
	s.Trials = 10
	made, err := r.Create(r.Context(), limited, playground.Order{Setup: s})
	r.must("create", err)
	r.await(made.ID, "two cells", func(o playground.Opened) bool { return o.Counts.Running == 2 && o.Counts.Queued == 8 })
	other := person(umbra, "bob", penstock.RoleDeveloper)
	theirs, err := r.Create(r.Context(), other, playground.Order{Setup: s})
	r.must("create", err)
	changes := r.topic.Subscribe(theirs.ID)
	defer changes.Close()
	for {
		o, err := r.Open(r.Context(), other, theirs.ID)
		r.must("open", err)
		if o.Counts.Running == 3 {
			break
		}
		<-changes.C
	}
	r.model.free()
	r.await(made.ID, "the end", ended)
	if r.model.most > 5 {
		r.Errorf("%d calls ran at once", r.model.most)
	}
	many := setup("x [hold]")
	for range playground.MaxActiveRuns {
		r.model.mu.Lock()
		r.model.holds = make(chan struct{})
		r.model.mu.Unlock()
		if _, err := r.Create(r.Context(), bob, playground.Order{Setup: many}); err != nil {
			r.Fatal(err)
		}
	}
	_, err = r.Create(r.Context(), bob, playground.Order{Setup: many})
	r.wantCode("too many runs at once", err, penstock.CodeRateLimited)
}

func limits(r *rig) {
	r.model.refuse = 3
	made := r.create(setup("a"))
	o := r.await(made.ID, "the end", ended)
	if r.wantStates(o, playground.CellSucceeded); len(o.Cells[0].Requests) != 1 {
		r.Errorf("the cell made the calls %v", o.Cells[0].Requests)
	}
}

func credentials(r *rig) {
	ends, unwatched := make(chan func(error), 1), make(chan struct{}, 2)
	watch := func(end func(error)) func() {
		ends <- end
		return func() { unwatched <- struct{}{} }
	}
	made, err := r.Create(r.Context(), ada, playground.Order{Setup: setup("a [hold] b", "c"), Watch: watch})
	r.must("create", err)
	r.await(made.ID, "the hold", func(o playground.Opened) bool { return holding("a ", "c ")(o) && o.Counts.Succeeded == 1 })
	(<-ends)(penstock.Errorf(penstock.CodeInvalidKey, "Your session has ended."))
	o := r.await(made.ID, "the end", ended)
	r.wantStates(o, playground.CellStopped, playground.CellSucceeded)
	if e := o.Cells[0].Result.Error; e == nil || e.Code != penstock.CodeInvalidKey || !holding("a ")(o) {
		r.Errorf("the cell is %+v", o.Cells[0])
	}
	select {
	case <-unwatched:
	case <-time.After(10 * time.Second):
		r.Error("the credential is still watched")
	}
}
