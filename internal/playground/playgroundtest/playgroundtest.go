// Package playgroundtest is the conformance suite of the store of the playground. An engine is right when it passes:
//
//	playgroundtest.Run(t, func(t *testing.T) (playgroundtest.Store, *sqldb.DB) { … })
//
// It tests the contracts of the stores that package playground declares, mostly through the service, because the rules of both
// belong together. The calls of cells are scripted. Every test has a fresh store.
package playgroundtest

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"penstock"
	"penstock/internal/body"
	"penstock/internal/dialect"
	"penstock/internal/playground"
	"penstock/internal/prompt/content"
	"penstock/internal/provider"
	"penstock/internal/request"
	"penstock/internal/signal"
	"penstock/internal/store"
	"penstock/internal/store/sqldb"
)

// Store is what is tested.
type Store interface {
	playground.Runs
	playground.Cells
	playground.Progress
	playground.Shares
	// PurgeRuns removes old runs.
	PurgeRuns(ctx context.Context, tenant penstock.TenantID, p store.Purge) (store.Purged, error)
}

// Opener returns a fresh, empty store and its database, which live as long as the test.
type Opener func(t *testing.T) (Store, *sqldb.DB)

// Run tests that the stores of open keep the contracts.
func Run(t *testing.T, open Opener) {
	for name, test := range map[string]func(*rig){
		"a run renders all cells, runs them and keeps them":          wholeRun,
		"a mistake names column and row, and nothing runs":           mistakes,
		"a reader who comes back at any event gets exactly the rest": following,
		"stopping a column cancels its calls and keeps its text":     stopping,
		"a run ends with the credential of its author":               credentials,
		"another process stops a run":                                stoppingElsewhere,
		"runs of a dead process are interrupted and can be resumed":  interrupting,
		"a process that lost its lease writes nothing":               fencing,
		"a stop of the process interrupts what does not end in time": draining,
		"tools with simulated results make further calls":            tools,
		"an answer is checked against its schema":                    schemas,
		"a run is private until it is shared with a role":            roles,
		"a snapshot stays as it is, expires, and goes with its run":  snapshots,
		"each person has one mark on a cell":                         marks,
		"runs are listed, searched and renamed":                      listing,
		"deletion removes everything, and stops what runs":           deletion,
		"retention removes runs that ended":                          retention,
		"contents count towards the quota":                           quota,
		"cells take a share of the concurrency and no more":          concurrency,
		"cells wait while limits refuse them":                        limits,
		"no method shows or changes the runs of another tenant":      isolation,
		"changes are audited":                                        audited,
		"nothing of a run is stored in plain text":                   sealed,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, db := open(t)
			test(newRig(t, s, db))
		})
	}
}

const (
	acme  penstock.TenantID = "acme"
	umbra penstock.TenantID = "umbra" // the tenant that must not see acme's runs
)

// rig is what a test works with: two processes on one database.
type rig struct {
	*testing.T
	*playground.Service
	s     Store
	db    *sqldb.DB
	model *model
	topic *signal.Topic[penstock.ID]
	stops *signal.Topic[signal.None]
	limit playground.Limits
	stop  func() // ends the service and waits for it
}

func newRig(t *testing.T, s Store, db *sqldb.DB) *rig {
	r := &rig{T: t, s: s, db: db, model: &model{}, topic: signal.NewTopic[penstock.ID](nil, signal.Runs), stops: signal.NewTopic[signal.None](nil, signal.RunStops),
		limit: playground.Limits{Process: 32, Tenant: 16}}
	r.lease("one", time.Hour)
	r.Service, r.stop = r.process("one", 5*time.Second)
	return r
}

// lease makes a lease of a process, of epoch 1.
func (r *rig) lease(process string, lasts time.Duration) {
	r.Helper()
	r.must("lease", r.db.Write(r.Context(), "lease", func(tx sqldb.Tx) error {
		return tx.Do(r.Context(), `INSERT INTO leases (process_id, epoch, expires_at, started_at) VALUES ($1, 1, $2, $3)
			ON CONFLICT (process_id) DO UPDATE SET expires_at = excluded.expires_at`, process, sqldb.Micros(tx.Now().Add(lasts)), sqldb.Micros(tx.Now()))
	}))
}

// process makes the service of a process and runs it until stop, or the end of the test.
func (r *rig) process(name string, grace time.Duration) (*playground.Service, func()) {
	s := playground.New(playground.Deps{
		Runs: r.s, Cells: r.s, Progress: r.s, Shares: r.s, Prompts: registry{}, Calls: r.model, Quote: quote, Tokens: func(b []byte) int64 { return int64(len(b)) / 4 },
		Limits: func(penstock.TenantID) playground.Limits { return r.limit }, Leased: func(context.Context) error { return nil }, Lease: func() store.Lease { return store.Lease{Process: name, Epoch: 1} },
		Changed: r.topic, Stops: r.stops, Grace: grace, Log: slog.New(slog.DiscardHandler), Clock: time.Now,
	})
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Run(ctx)
	}()
	stop := sync.OnceFunc(func() {
		cancel()
		<-done
	})
	r.Cleanup(func() {
		r.model.free()
		stop()
	})
	return s, stop
}

func quote(_ penstock.Tenant, inf dialect.Inference) (playground.Quote, error) {
	if inf.Model == "unknown" {
		return playground.Quote{}, penstock.Errorf(penstock.CodeModelNotFound, "There is no model unknown.")
	}
	return playground.Quote{Tokens: 100, Cost: 1000, Priced: true}, nil
}

// registry has one prompt.
type registry struct{}

func (registry) Compile(_ context.Context, _ penstock.TenantID, c playground.Column) (out playground.Compiled, err error) {
	from := content.Content{Kind: content.KindChat, Messages: []content.Message{{Role: "user", Content: content.Body{Text: "{{question}}"}}}, Config: content.Config{"model": json.RawMessage(`"fast"`)}}
	if c.Content != nil {
		from = *c.Content
	} else if c.Prompt.Name != "support/answer" {
		return out, penstock.Errorf(penstock.CodeNotFound, "There is no prompt %s.", c.Prompt.Name)
	} else {
		out.Ref = &playground.PromptRef{Name: c.Prompt.Name, Version: 7, SHA256: "abc"}
	}
	parsed, err := content.Parse(from)
	if err != nil {
		return out, err
	}
	out.Content, err = parsed.Link(nil)
	return out, err
}

// model is a scripted model: its answer repeats the last message, word by word. Words in brackets are orders:
// [hold] waits until free is called, [fail] fails, [tool:name] calls a tool.
type model struct {
	mu      sync.Mutex
	holds   chan struct{}
	running int
	most    int
	calls   [][]byte
	refuse  int // so many calls, because of a limit
	ids     []penstock.ID
	tags    []map[string]string
	payers  []penstock.Principal
}

// free lets all calls go on that hold, now and later.
func (m *model) free() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.holds == nil {
		m.holds = make(chan struct{})
	}
	select {
	case <-m.holds:
	default:
		close(m.holds)
	}
}

func (m *model) hold() chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.holds == nil {
		m.holds = make(chan struct{})
	}
	return m.holds
}

func (m *model) Permit(context.Context, *penstock.Principal) (*request.Permit, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.refuse > 0 {
		m.refuse--
		return nil, &penstock.Error{Code: penstock.CodeRateLimited, Message: "Too many calls.", RetryAfter: time.Millisecond}
	}
	return nil, nil
}

func (m *model) Call(ctx context.Context, p penstock.Principal, o request.Order, sink request.Sink) (penstock.Request, error) {
	m.mu.Lock()
	m.running++
	m.most = max(m.most, m.running)
	m.calls, m.ids, m.tags, m.payers = append(m.calls, slices.Clone(o.Inference.Body())), append(m.ids, o.ID), append(m.tags, o.Labels.Tags), append(m.payers, p)
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		m.running--
		m.mu.Unlock()
	}()
	began := time.Now()
	record := penstock.Request{ID: o.ID, Tenant: p.Tenant.ID, Target: "main", Usage: penstock.Usage{InputTokens: 10, OutputTokens: 5}, Cost: 7, StartedAt: began, FirstTokenAt: began.Add(time.Millisecond)}
	sink.Admitted(request.Admittance{})
	if err := sink.Begin(request.Head{Target: "main", Meta: provider.Meta{StatusCode: 200}}); err != nil {
		return record, err
	}
	err := m.say(ctx, question(o.Inference.Body()), sink)
	if err != nil {
		sink.Fail(request.Failure{Err: penstock.AsError(err), Begun: true})
	}
	record.FinishedAt = time.Now()
	sink.End(record.Cost)
	return record, nil
}

// question is the text of the last message.
func question(text []byte) string {
	var b struct{ Messages []struct{ Content string } }
	if err := json.Unmarshal(text, &b); err != nil || len(b.Messages) == 0 {
		return ""
	}
	return b.Messages[len(b.Messages)-1].Content
}

func (m *model) say(ctx context.Context, text string, sink request.Sink) error {
	finish := "stop"
	for _, word := range strings.Fields(text) {
		delta := map[string]any{"content": word + " "}
		name, isTool := strings.CutPrefix(strings.Trim(word, "[]"), "tool:")
		switch {
		case word == "[hold]":
			select {
			case <-m.hold():
				continue
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		case word == "[fail]":
			return penstock.Errorf(penstock.CodeUpstreamError, "The target failed.")
		case isTool:
			delta = map[string]any{"tool_calls": []any{map[string]any{"index": 0, "id": "call_" + name, "type": "function", "function": map[string]any{"name": name, "arguments": `{"a":1}`}}}}
			finish = "tool_calls"
		case word == "[think]":
			delta = map[string]any{"reasoning_content": "hmm "}
		}
		if err := emit(sink, map[string]any{"choices": []any{map[string]any{"index": 0, "delta": delta}}}); err != nil {
			return err
		}
	}
	return emit(sink, map[string]any{"choices": []any{map[string]any{"index": 0, "delta": map[string]any{}, "finish_reason": finish}}})
}

func emit(sink request.Sink, event any) error {
	text, err := json.Marshal(event)
	if err != nil {
		return err
	}
	return sink.Chunk(provider.Chunk{Wire: fmt.Appendf(nil, "data: %s\n\n", text)})
}

// ada, bob and eve are people of acme; key is a key.
var (
	ada = person(acme, "ada", penstock.RoleDeveloper)
	bob = person(acme, "bob", penstock.RoleDeveloper)
	eve = person(acme, "eve", penstock.RoleViewer)
)

func person(tenant penstock.TenantID, name string, roles ...penstock.Role) penstock.Principal {
	return penstock.Principal{Kind: penstock.PrincipalPerson, Tenant: penstock.Tenant{ID: tenant}, Key: name, Roles: roles,
		Person: &penstock.Person{ID: penstock.ID("01JQ00000000000000000" + strings.ToUpper(name) + "00"), Name: name, Session: "01JQ00000000000000000SES00"}}
}

func (r *rig) must(what string, err error) {
	r.Helper()
	if err != nil {
		r.Fatalf("%s: %v", what, err)
	}
}

func (r *rig) wantCode(what string, err error, want penstock.Code) {
	r.Helper()
	if got := penstock.ErrorCode(err); got != want {
		r.Errorf("%s: got %q (%v), want code %q", what, got, err, want)
	}
}

// setup has one column for each question and one row.
func setup(questions ...string) playground.Setup {
	s := playground.Setup{Rows: []json.RawMessage{json.RawMessage(`{}`)}, Trials: 1}
	for _, q := range questions {
		s.Columns = append(s.Columns, inline(q))
	}
	return s
}

func inline(question string) playground.Column {
	return playground.Column{Model: "fast", Content: &content.Content{Kind: content.KindChat, Messages: []content.Message{{Role: "user", Content: content.Body{Text: question}}}}}
}

func (r *rig) create(s playground.Setup) playground.Opened {
	r.Helper()
	o, err := r.Create(r.Context(), ada, playground.Order{Setup: s})
	r.must("create", err)
	return o
}

// await waits until a run is as it should be.
func (r *rig) await(id penstock.ID, what string, is func(playground.Opened) bool) playground.Opened {
	r.Helper()
	changes := r.topic.Subscribe(id)
	defer changes.Close()
	late := time.After(20 * time.Second)
	for {
		o, err := r.Open(r.Context(), ada, id)
		r.must("open", err)
		if is(o) {
			return o
		}
		select {
		case <-changes.C:
		case <-time.After(time.Second):
		case <-late:
			r.Fatalf("waiting for %s; the run is %+v", what, o)
		}
	}
}

func ended(o playground.Opened) bool { return o.State != playground.RunRunning }

// holding reports that the text of each cell is stored up to its hold.
func holding(texts ...string) func(playground.Opened) bool {
	return func(o playground.Opened) bool {
		for i, text := range texts {
			if o.Cells[i].Result.Output.Text != text {
				return false
			}
		}
		return true
	}
}

func states(o playground.Opened) (all []playground.CellState) {
	for i := range o.Cells {
		all = append(all, o.Cells[i].State)
	}
	return all
}

func (r *rig) wantStates(o playground.Opened, want ...playground.CellState) {
	r.Helper()
	if got := states(o); !slices.Equal(got, want) {
		r.Errorf("the cells are %v, want %v", got, want)
	}
	if got := playground.CountCells(o.Cells); got != o.Counts {
		r.Errorf("the run counts %+v, its cells are %+v", o.Counts, got)
	}
}

// messages are those of a body.
func messages(t testing.TB, text []byte) string {
	t.Helper()
	o, err := body.Scan(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(o.Raw("messages"))
}
