package app

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"penstock"
	"penstock/internal/config"
	"penstock/internal/playground"
	"penstock/internal/prompt"
	"penstock/internal/prompt/content"
	"penstock/internal/sim"
	"penstock/internal/store"
)

// playgroundRig is a whole process over a simulated upstream.
type playgroundRig struct {
	*testing.T
	*app
}

func newPlaygroundRig(t *testing.T, daily string) *playgroundRig {
	t.Helper()
	model, err := sim.New(sim.Config{OutputTokens: 20})
	if err != nil {
		t.Fatal(err)
	}
	upstream := httptest.NewServer(model)
	t.Cleanup(func() { model.Close(); upstream.Close() })
	snapshot, err := config.NewSnapshot(config.File{
		Process:    config.Process{Listen: "127.0.0.1:0", AdminListen: "127.0.0.1:0", Data: t.TempDir(), Log: config.Log{Level: "error"}, ShutdownGrace: time.Second},
		Playground: config.Playground{DailyPerPerson: daily},
		Providers:  map[string]config.ProviderConfig{"openai": {Kind: config.KindOpenAI, BaseURL: upstream.URL + "/v1"}},
		Targets: map[string]config.TargetConfig{"main": {Provider: "openai", UpstreamModel: "sim", Price: config.Price{Input: "1", Output: "100"}},
			"free": {Provider: "openai", UpstreamModel: "sim"}},
		Models:  map[string]config.ModelConfig{"fast": {Targets: []string{"main"}}, "free": {Targets: []string{"free"}}},
		Tenants: map[string]config.TenantConfig{"search": {}, "other": {Playground: config.TenantPlayground{DailyPerPerson: "none"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	opened := make(chan Addresses, 1)
	r := &playgroundRig{T: t, app: &app{live: config.NewLive(snapshot), Options: Options{Config: snapshot, Role: RoleAll, Log: io.Discard, Ready: func(a Addresses) { opened <- a }}}}
	if err := r.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	over := make(chan error, 1)
	go func() { over <- r.run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-over; err != nil {
			t.Error(err)
		}
		if err := r.close(); err != nil {
			t.Error(err)
		}
	})
	select {
	case <-opened:
	case err := <-over:
		t.Fatalf("the process ended: %v", err)
	}
	return r
}

func (r *playgroundRig) somebody(name string, tenant penstock.TenantID) penstock.Principal {
	r.Helper()
	of, ok := r.directory.Tenant(tenant)
	if !ok {
		r.Fatalf("there is no tenant %s", tenant)
	}
	return penstock.Principal{Kind: penstock.PrincipalPerson, Tenant: of, Key: name + "@example.com", Roles: []penstock.Role{penstock.RoleDeveloper},
		Person: &penstock.Person{ID: penstock.ID("01JQ00000000000000000" + strings.ToUpper(name) + "00"), Name: name, Email: name + "@example.com"}}
}

func inlineColumn(model, question string) playground.Column {
	return playground.Column{Model: model, Params: content.Config{"max_tokens": json.RawMessage("100")},
		Content: &content.Content{Kind: content.KindChat, Messages: []content.Message{{Role: "user", Content: content.Body{Text: question}}}}}
}

// ended waits for the end of a run.
func (r *playgroundRig) ended(who penstock.Principal, id penstock.ID) playground.Opened {
	r.Helper()
	changes := r.topics.runs.Subscribe(id)
	defer changes.Close()
	late := time.After(30 * time.Second)
	for {
		o, err := r.playground.Open(r.Context(), who, id)
		if err != nil {
			r.Fatal(err)
		}
		if o.State != playground.RunRunning {
			return o
		}
		select {
		case <-changes.C:
		case <-late:
			r.Fatalf("the run does not end: %+v", o.Counts)
		}
	}
}

// TestPlaygroundRun runs versions and drafts of prompts against the simulator: records, tags, costs and hashes fit together.
func TestPlaygroundRun(t *testing.T) {
	t.Parallel()
	r := newPlaygroundRig(t, "5")
	ada := r.somebody("ada", "search")
	prompts := newPrompts(r.app)
	text := func(words string) content.Content {
		return content.Content{Kind: content.KindChat, Messages: []content.Message{{Role: "user", Content: content.Body{Text: words + " {{question}}"}}}, Config: content.Config{"model": json.RawMessage(`"fast"`), "max_tokens": json.RawMessage("50")}}
	}
	v, _, err := prompts.Save(t.Context(), ada, prompt.Order{Name: "support/answer", Content: text("one")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := prompts.PutDraft(t.Context(), ada, prompt.DraftOrder{Name: "support/answer", Content: text("two")}); err != nil {
		t.Fatal(err)
	}
	o, err := r.playground.Create(t.Context(), ada, playground.Order{Setup: playground.Setup{
		Columns: []playground.Column{{Prompt: &playground.Reference{Name: "support/answer", Version: 1}}, {Prompt: &playground.Reference{Name: "support/answer", Draft: true}}, inlineColumn("free", "three {{question}}")},
		Rows:    []json.RawMessage{json.RawMessage(`{"question":"why?"}`)}, Trials: 1}})
	if err != nil {
		t.Fatal(err)
	}
	o = r.ended(ada, o.ID)
	saved, _, err := prompts.Save(t.Context(), ada, prompt.Order{Name: "support/answer", Content: text("two")})
	if err != nil {
		t.Fatal(err)
	}
	if p := o.Cells[0].Prompt; p == nil || p.Version != 1 || p.SHA256 != v.SHA256 {
		t.Errorf("the first cell was rendered from %+v, want %s", p, v.SHA256)
	}
	if p := o.Cells[1].Prompt; p == nil || p.Version != 0 || p.SHA256 != saved.SHA256 {
		t.Errorf("the second cell was rendered from %+v; the version that was saved of the draft is %s", p, saved.SHA256)
	}
	var cost penstock.NanoUSD
	for _, c := range o.Cells {
		record, err := r.recorder.Request(t.Context(), "search", c.Requests[0])
		if err != nil {
			t.Fatal(err)
		}
		if c.State != playground.CellSucceeded || c.Result.Output.Text == "" || record.Status != penstock.StatusSucceeded || record.Key != "ada@example.com" || record.Cost != c.Metrics.Cost ||
			record.Usage.OutputTokens != c.Metrics.OutputTokens || c.Metrics.OutputTokens == 0 || c.Metrics.FirstToken <= 0 ||
			record.Tags[playground.TagRun] != playground.ViewRun.Format(o.ID) || record.Tags[playground.TagPerson] != o.Author.ID {
			t.Errorf("cell %+v has the record %+v", c, record)
		}
		if versioned := c.N == 0; (record.Prompt != nil) != versioned || versioned && (record.Prompt.Version != 1 || record.Prompt.SHA256 != v.SHA256) {
			t.Errorf("the record of cell %d names the prompt %+v", c.N, record.Prompt)
		}
		cost += record.Cost
	}
	if o.Cost != cost || cost == 0 || o.Cells[2].Metrics.Cost != 0 {
		t.Errorf("the run cost %s, its calls %s", o.Cost, cost)
	}
	e, err := r.playground.Estimate(t.Context(), ada, o.Setup)
	if err != nil || len(e.Columns) != 3 || e.Calls != 3 || e.Columns[0].AtMost == 0 || e.Columns[0].InputTokens == 0 || e.Remaining == nil || *e.Remaining > 5_000_000_000-cost {
		t.Errorf("the estimate is %+v, %v", e, err)
	}
	if e, err := r.playground.Estimate(t.Context(), r.somebody("bob", "other"), playground.Setup{Columns: []playground.Column{inlineColumn("fast", "x"), {Prompt: &playground.Reference{Name: "nobody"}}}, Rows: o.Setup.Rows[:0:0], Trials: 1}); penstock.ErrorCode(err) != penstock.CodeInvalidRequest {
		t.Errorf("an estimate without rows is %+v, %v", e, err)
	}
	half, err := r.playground.Estimate(t.Context(), r.somebody("bob", "other"), playground.Setup{Columns: []playground.Column{inlineColumn("fast", "x"), {Prompt: &playground.Reference{Name: "nobody"}}}, Rows: []json.RawMessage{json.RawMessage(`{}`)}, Trials: 2})
	if err != nil || half.Remaining != nil || half.Columns[0].Err != nil || half.Columns[0].Messages == nil || half.Columns[1].Err == nil || half.Columns[1].Err.Param != "setup.columns[1]" {
		t.Errorf("an estimate with a mistake is %+v, %v", half, err)
	}
}

// TestPlaygroundPausedModel holds that a cell does not wait for an operator: it fails, with the operator's reason.
func TestPlaygroundPausedModel(t *testing.T) {
	t.Parallel()
	r := newPlaygroundRig(t, "5")
	ada := r.somebody("ada", "search")
	if _, err := r.store.SetControl(t.Context(), store.Control{Kind: store.ControlModel, Name: "fast", State: store.ControlPaused, Reason: "prices are checked", Actor: "ops"}, store.Condition{}); err != nil {
		t.Fatal(err)
	}
	if err := r.controls.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	o, err := r.playground.Create(t.Context(), ada, playground.Order{Setup: playground.Setup{Columns: []playground.Column{inlineColumn("fast", "x")}, Rows: []json.RawMessage{json.RawMessage(`{}`)}, Trials: 1}})
	if err != nil {
		t.Fatal(err)
	}
	if c := r.ended(ada, o.ID).Cells[0]; c.State != playground.CellFailed || c.Result.Error == nil || !strings.Contains(c.Result.Error.Message, "prices are checked") {
		t.Errorf("the cell is %+v", c)
	}
}

// TestPlaygroundBudget runs twenty runs of one person at once: together they never spend more than the daily budget, and others
// are not concerned.
func TestPlaygroundBudget(t *testing.T) {
	t.Parallel()
	r := newPlaygroundRig(t, "0.05") // a call costs at most 0.01, and 0.002 in the end
	ada, bob := r.somebody("ada", "search"), r.somebody("bob", "search")
	setup := playground.Setup{Columns: []playground.Column{inlineColumn("fast", "spend money"), inlineColumn("fast", "spend more")}, Rows: []json.RawMessage{json.RawMessage(`{}`)}, Trials: 2}
	var ids []penstock.ID
	var mu sync.Mutex
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			for {
				o, err := r.playground.Create(t.Context(), ada, playground.Order{Setup: setup})
				if penstock.ErrorCode(err) == penstock.CodeRateLimited { // so many run at once
					r.topics.runs.NotifyLocal()
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				ids = append(ids, o.ID)
				mu.Unlock()
				return
			}
		})
	}
	all.Wait()
	var spent penstock.NanoUSD
	refused, succeeded := 0, 0
	for _, id := range ids {
		o := r.ended(ada, id)
		spent += o.Cost
		succeeded += o.Counts.Succeeded
		for _, c := range o.Cells {
			if p := c.Result.Error; p != nil {
				if refused++; p.Code != penstock.CodeBudgetExceeded || !strings.Contains(p.Message, "The daily playground budget of ada@example.com is $0.05") {
					t.Errorf("a cell failed with %+v", p)
				}
			}
		}
	}
	if spent > 50_000_000 || refused == 0 || succeeded == 0 || refused+succeeded != 80 {
		t.Errorf("%s was spent; %d calls succeeded and %d were refused", spent, succeeded, refused)
	}
	o, err := r.playground.Create(t.Context(), bob, playground.Order{Setup: setup})
	if err != nil {
		t.Fatal(err)
	}
	if o = r.ended(bob, o.ID); o.Counts.Succeeded != 4 {
		t.Errorf("the budget of one person counts for another: %+v", o.Cells)
	}
	free := playground.Setup{Columns: []playground.Column{inlineColumn("free", "costs nothing")}, Rows: setup.Rows, Trials: 1}
	if o, err = r.playground.Create(t.Context(), ada, playground.Order{Setup: free}); err != nil {
		t.Fatal(err)
	}
	if o = r.ended(ada, o.ID); o.Counts.Succeeded != 1 {
		t.Errorf("a model without a price is refused: %+v", o.Cells[0].Result.Error)
	}
}

// TestPlaygroundReveals holds that the audit has every reading of somebody else's run, and none of one's own.
func TestPlaygroundReveals(t *testing.T) {
	t.Parallel()
	c := newConsole(t)
	author, viewer := c.signIn(penstock.RoleDeveloper, "search"), c.signIn(penstock.RoleViewer, "search")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() { _ = c.app.lease.Run(ctx) }()
	if err := c.app.lease.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	w := c.call(c.public, "POST", "/v1/playground/runs", author.page, in("search"), body(`{"setup":{"columns":[{"model":"fast","content":{"kind":"text","text":"Hi"}}],"rows":[{}]}}`))
	var run struct{ ID string }
	if err := json.Unmarshal(w.Body.Bytes(), &run); err != nil || w.Code != 201 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	path := "/v1/playground/runs/" + run.ID
	get := func(who person, path string, want int) {
		t.Helper()
		if w := c.call(c.public, "GET", path, who.page, in("search")); w.Code != want {
			t.Errorf("%s reads %s: %d %s", who.name, path, w.Code, w.Body)
		}
	}
	get(author, path, 200)
	get(viewer, path, 404)
	w = c.call(c.public, "POST", "/v1/playground/shares", author.page, in("search"), body(fmt.Sprintf(`{"run_id":%q,"kind":"role","role":"viewer"}`, run.ID)))
	var share struct{ ID, URL string }
	if err := json.Unmarshal(w.Body.Bytes(), &share); err != nil || w.Code != 201 || share.URL != "/t/search/playground/shared/"+share.ID {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	get(viewer, path, 200)
	get(viewer, path+"/export", 200)
	get(viewer, "/v1/playground/shares/"+share.ID, 200)
	get(author, "/v1/playground/shares/"+share.ID, 200)
	get(viewer, path+"/events", 200)
	w = c.call(c.public, "PUT", path+"/cells/0/mark", viewer.page, in("search"), body(`{"rating":1}`))
	if w.Code != 200 {
		t.Errorf("a viewer marks: %d %s", w.Code, w.Body)
	}
	if w = c.call(c.public, "DELETE", path, viewer.page, in("search")); w.Code != 403 {
		t.Errorf("a viewer deletes: %d %s", w.Code, w.Body)
	}
	entries, err := c.app.store.AuditEntries(t.Context(), "search", store.AuditPage{Limit: 50})
	if err != nil {
		t.Fatal(err)
	}
	reveals := 0
	for _, e := range entries {
		if e.Action == "payload.reveal" {
			if reveals++; e.Subject != run.ID || !strings.HasPrefix(e.Actor, "viewer.search ") {
				t.Errorf("the audit has %+v", e)
			}
		}
	}
	if reveals != 4 {
		t.Errorf("the audit has %d reveals, want 4: %+v", reveals, entries)
	}
}
