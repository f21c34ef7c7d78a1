package admit

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"penstock"
	"penstock/internal/config"
	"penstock/internal/dialect"
	"penstock/internal/dialect/catalog"
	"penstock/internal/dialect/line"
	"penstock/internal/prompt"
	"penstock/internal/prompt/content"
	"penstock/internal/prompt/promptcall"
	"penstock/internal/store"
)

// saved is a registry whose prompt answer has two versions. The label production is movable.
type saved struct {
	versions   map[int64]*prompt.Found
	production int64
}

func (s *saved) Resolve(_ context.Context, _ penstock.TenantID, ref content.Reference) (*prompt.Found, error) {
	n := ref.Version
	if n == 0 && ref.Selected() == content.LabelDefault {
		n = s.production
	}
	if found := s.versions[n]; found != nil && ref.Name == "answer" {
		return found, nil
	}
	return nil, prompt.NotFound(ref.Name)
}

func (s *saved) Identify(_ context.Context, _ penstock.TenantID, id, _ string) (content.Reference, error) {
	return content.Reference{}, prompt.NoPrompt(id)
}

func promptRig(t *testing.T, edit ...func(*config.File)) (*rig, *saved) {
	t.Helper()
	reg := &saved{versions: map[int64]*prompt.Found{}, production: 1}
	for n, text := range map[int64]string{1: "Answer {{q}}.", 2: "Please answer {{q}}."} {
		parsed, err := content.Parse(content.Content{Kind: content.KindText, Text: text, Config: content.Config{"model": json.RawMessage(`"fast"`), "max_tokens": json.RawMessage(`10`)}})
		if err != nil {
			t.Fatal(err)
		}
		compiled, err := parsed.Link(nil)
		if err != nil {
			t.Fatal(err)
		}
		reg.versions[n] = &prompt.Found{Name: "answer", Version: n, SHA256: fmt.Sprint(n), Content: compiled}
	}
	r := newRig(t, edit...)
	r.Prompts = promptcall.New(reg)
	return r, reg
}

// prompting is an inference that names the prompt, read as the input of a job.
func prompting(t testing.TB, member, more string) dialect.Inference {
	t.Helper()
	inf, err := catalog.Read(penstock.EndpointChat, []byte(`{"prompt":`+member+more+`}`))
	if err != nil {
		t.Fatal(err)
	}
	return inf
}

const asked = `{"name":"answer","variables":{"q":"why"}}`

// A call has the messages of its prompt before anything else sees it: its model, price and bound are those of the new body.
func TestPromptedRequests(t *testing.T) {
	t.Parallel()
	r, _ := promptRig(t)
	a, err := r.Request(t.Context(), r.caller, RequestOrder{Endpoint: penstock.EndpointChat, Inference: prompting(t, asked, "")})
	if err != nil {
		t.Fatal(err)
	}
	if a.Edited == nil || a.Edited.Model != "fast" || a.Edited.MaxOutputTokens != 10 || a.Edited.Prompted.String() != "answer@1" || !strings.Contains(string(a.Edited.Body()), "Answer why.") {
		t.Errorf("%+v", a.Edited)
	}
	plain, err := r.Request(t.Context(), r.caller, RequestOrder{Endpoint: penstock.EndpointChat, Model: a.Edited.Model, Inference: *a.Edited})
	if err != nil || plain.Bound != a.Bound || plain.Edited != nil {
		t.Errorf("the same body without a name of a prompt costs %v instead of %v (%v)", plain.Bound, a.Bound, err)
	}
	if a, err = r.Request(t.Context(), r.caller, RequestOrder{Endpoint: penstock.EndpointChat, Model: "smart", Inference: prompting(t, asked, `,"model":"smart"`)}); err != nil || a.Edited.Model != "smart" {
		t.Errorf("the caller's model: %+v %v", a.Edited, err)
	}
}

// A hard budget pays for a prompt of the registry as for any body, and still refuses one that an upstream has stored.
func TestHardBudgetPaysForPrompts(t *testing.T) {
	t.Parallel()
	r, _ := promptRig(t)
	r.caller.Tenant.Budgets = []penstock.Budget{{Period: penstock.PeriodTotal, Limit: 1_000_000_000, Hard: true}}
	if _, err := r.Request(t.Context(), r.caller, RequestOrder{Endpoint: penstock.EndpointChat, Inference: prompting(t, asked, "")}); err != nil {
		t.Errorf("a prompt of the registry: %v", err)
	}
	r.Prompts = nil
	if _, err := r.Request(t.Context(), r.caller, RequestOrder{Endpoint: penstock.EndpointChat, Model: "fast", Inference: prompting(t, asked, `,"model":"fast"`)}); err == nil || !strings.Contains(err.Error(), "prompt") {
		t.Errorf("a body that still names a prompt: %v", err)
	}
}

// A job stores the rendered bodies and the versions.
func TestPromptedJobs(t *testing.T) {
	t.Parallel()
	r, _ := promptRig(t)
	o := JobOrder{Inferences: []dialect.Inference{prompting(t, asked, ""), prompting(t, `{"name":"answer","version":2,"variables":{"q":"who"}}`, "")}}
	sent := string(o.Inferences[0].Body())
	sub := r.admit(o)
	if sub.Job.Model != "fast" || len(sub.Job.Resolved.Prompts) != 2 || sub.Job.Resolved.PromptOf() != nil || sub.Items[0].Prompt.Label != "production" || sub.Items[1].Prompt.Label != "" ||
		!strings.Contains(string(sub.Items[0].Body), "Answer why.") || !strings.Contains(string(sub.Items[1].Body), "Please answer who.") || string(o.Inferences[0].Body()) != sent {
		t.Errorf("%+v\n%s\n%s", sub.Job.Resolved.Prompts, sub.Items[0].Body, sub.Items[1].Body)
	}
	sub = r.admit(JobOrder{Model: "smart", Inferences: []dialect.Inference{prompting(t, asked, ""), prompting(t, asked, "")}})
	if sub.Job.Model != "smart" || sub.Job.Resolved.PromptOf() == nil || strings.Contains(string(sub.Items[0].Body), `"model"`) {
		t.Errorf("the model of the job: %+v %s", sub.Job, sub.Items[0].Body)
	}
	for name, tt := range map[string]struct{ second, says string }{
		"variables": {`{"name":"answer","variables":{"z":1}}`, "inputs[1].body.prompt answer@1: The variables do not fit the prompt: missing: q; unknown: z"},
		"name":      {`{"name":"nowhere"}`, "inputs[1].body.prompt: There is no prompt nowhere."},
	} {
		_, err := r.Job(t.Context(), r.caller, JobOrder{Inferences: []dialect.Inference{prompting(t, asked, ""), prompting(t, tt.second, "")}})
		if err == nil || !strings.Contains(penstock.AsError(err).Message, tt.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestReplayAWeekLater holds that a retry of dead letters sends the bytes that were accepted: a week later, after the label moved, with
// the same targets and with fresh ones.
func TestReplayAWeekLater(t *testing.T) {
	t.Parallel()
	r, reg := promptRig(t)
	now := time.Date(2026, 11, 15, 6, 0, 0, 0, time.UTC)
	r.Clock = func() time.Time { return now }
	sub := r.admit(JobOrder{Inferences: []dialect.Inference{prompting(t, asked, ""), prompting(t, asked, `,"seed":1`)}})
	for _, how := range penstock.Resolves {
		failed := store.Retryable{Job: sub.Job}
		failed.Job.Tenant, failed.Job.CreatedAt, failed.Job.Deadline = r.caller.Tenant.ID, now, now.Add(time.Hour)
		for i, item := range sub.Items {
			failed.Items = append(failed.Items, store.RetryableItem{ID: penstock.ItemID(sub.Job.ID, i), Body: item.Body})
		}
		g := &deadLetters{jobs: []store.Retryable{failed}}
		r.Retries = g
		now, reg.production = now.Add(7*24*time.Hour), 2
		if _, err := r.RetryDeadLetters(t.Context(), r.caller, DeadLetterOrder{}, RetryTerms{Resolve: how, Read: catalog.Read}); err != nil {
			t.Fatalf("%s: %v", how, err)
		}
		again := g.got[0]
		for i, item := range again.Items {
			if string(item.Body) != string(sub.Items[i].Body) || item.Prompt.Version != 1 {
				t.Errorf("%s: item %d has %s and %v, and was accepted as %s", how, i, item.Body, item.Prompt, sub.Items[i].Body)
			}
		}
		if use := again.Job.Resolved.PromptOf(); use == nil || use.Version != 1 {
			t.Errorf("%s: the retry names %+v", how, again.Job.Resolved.Prompts)
		}
	}
}

// A line that was refused is rendered by its retry: by the version of the first job, or with fresh targets by the label.
func TestRefusedLinesAreRenderedAgain(t *testing.T) {
	t.Parallel()
	r, reg := promptRig(t)
	reg.production = 2
	pin := penstock.PromptPin{Written: "answer@production", PromptUse: penstock.PromptUse{Name: "answer", Version: 1, SHA256: "1", Label: "production"}, Every: true}
	for how, want := range map[penstock.Resolve]int64{penstock.ResolveSame: 1, penstock.ResolveFresh: 2} {
		job := penstock.Job{ID: "01JQ0000000000000000000000", Tenant: "search", Endpoint: penstock.EndpointChat, Model: "fast", Lane: penstock.LaneBulk, MaxAttempts: 1, ItemTimeout: time.Minute,
			Resolved: penstock.Resolved{Model: "fast", Targets: []string{"cheap"}, Prompts: []penstock.PromptPin{pin}}}
		g := &deadLetters{jobs: []store.Retryable{{Job: job, Items: []store.RetryableItem{
			{ID: penstock.ItemID(job.ID, 0), Body: []byte(`{"prompt":` + asked + `}`)}, {ID: penstock.ItemID(job.ID, 1), Body: []byte(`{"messages":[]}`)},
		}}}}
		r.Retries = g
		if _, err := r.RetryJob(t.Context(), r.caller, RetryOrder{Job: job.ID, Terms: RetryTerms{Resolve: how, Read: catalog.Read}}); err != nil {
			t.Fatalf("%s: %v", how, err)
		}
		items := g.got[0].Items
		if items[0].Prompt.Version != want || items[1].Prompt.Version != 1 || strings.Contains(string(items[0].Body), `"prompt"`) || g.got[0].Job.Resolved.PromptOf() == nil != (want == 2) {
			t.Errorf("%s: %+v %s, the job names %+v", how, items[0].Prompt, items[0].Body, g.got[0].Job.Resolved.Prompts)
		}
	}
}

// The prompts of a job over lines are pinned when it is accepted.
func TestPromptedLines(t *testing.T) {
	t.Parallel()
	r, reg := promptRig(t)
	o := lines(3, "")
	o.Endpoint = penstock.EndpointChat
	o.Lines.File.Prompts = []string{"", "answer@2", "answer@production"}
	sub := r.admit(o)
	if sub.Job.Model != "fast" || len(sub.Job.Resolved.Prompts) != 2 || sub.Job.Resolved.Prompts[1].Version != 1 || sub.Job.Resolved.PromptOf() != nil {
		t.Fatalf("%+v", sub.Job)
	}
	reg.production = 2
	order := PromptOrder(r.Config.Current(), r.caller.Tenant.ID)
	order.Endpoint, order.Model, order.Accepted, order.Pins = sub.Job.Endpoint, sub.Job.Model, true, sub.Job.Resolved.Prompts
	inf, err := r.Prompts.Put(t.Context(), order, prompting(t, asked, ""))
	if err != nil || inf.Prompted.Version != 1 || inf.Model != "" {
		t.Errorf("%+v %v", inf.Prompted, err)
	}
	each, err := line.ReadDefaults(mustEntry(t), []byte(`{"prompt":{"name":"answer"}}`))
	if err != nil {
		t.Fatal(err)
	}
	o = lines(3, "")
	o.Endpoint, o.Lines.Each = penstock.EndpointChat, each
	if sub = r.admit(o); sub.Job.Resolved.PromptOf() == nil || sub.Job.Resolved.PromptOf().Version != 2 {
		t.Errorf("%+v", sub.Job.Resolved)
	}
	o = lines(3, "fast")
	o.Lines.File.Prompts = []string{"nowhere@production"}
	if _, err := r.Job(t.Context(), r.caller, o); penstock.ErrorCode(err) != penstock.CodeNotFound {
		t.Errorf("a prompt that is not there: %v", err)
	}
	o = lines(3, "fast")
	o.Endpoint, o.Lines.File.Prompts = penstock.EndpointEmbeddings, []string{"answer@production"}
	if _, err := r.Job(t.Context(), r.caller, o); penstock.ErrorCode(err) != penstock.CodeInvalidRequest {
		t.Errorf("an endpoint without prompts: %v", err)
	}
}

func mustEntry(t *testing.T) catalog.Entry {
	t.Helper()
	e, ok := catalog.Of(penstock.EndpointChat)
	if !ok {
		t.Fatal("there is no such endpoint")
	}
	return e
}

// BenchmarkNoPrompt is what prompts cost a call that names none.
func BenchmarkNoPrompt(b *testing.B) {
	s := New(Deps{Prompts: promptcall.New(nil)})
	inf, err := catalog.Read(penstock.EndpointChat, []byte(`{"model":"fast","messages":[{"role":"user","content":"Hi"}]}`))
	if err != nil {
		b.Fatal(err)
	}
	o := RequestOrder{Endpoint: penstock.EndpointChat, Model: "fast", Inference: inf}
	b.ReportAllocs()
	for b.Loop() {
		if prompted, err := o.prompt(b.Context(), s, "acme"); prompted != nil || err != nil {
			b.Fatal(prompted, err)
		}
	}
}
