package attempt

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"penstock"
	"penstock/internal/config"
	"penstock/internal/dialect"
	"penstock/internal/outbound"
	"penstock/internal/provider"
	"penstock/internal/route"
)

// speaker is a scripted upstream that understands some endpoints.
type speaker struct {
	upstream
	endpoints []penstock.Endpoint
}

func (s speaker) Speaks(e penstock.Endpoint) bool { return slices.Contains(s.endpoints, e) }

// speakers are upstreams by the name of their provider.
type speakers map[string]speaker

func (s speakers) Provider(name string) (provider.Provider, bool) {
	p, ok := s[name]
	return p, ok
}

// shout translates messages to chats, in capitals. It refuses what says so.
type shout struct{ asked *dialect.Asked }

func (s shout) For(from, to penstock.Endpoint) (outbound.Translation, bool) {
	return s, from == penstock.EndpointMessages && to == penstock.EndpointChat
}

func (shout) Forward(_ penstock.Endpoint, body []byte) ([]byte, []string) { return body, nil }

func (shout) Request(body []byte, _ dialect.Upstream) ([]byte, []string, error) {
	if strings.Contains(string(body), "unbearable") {
		panic("the translation broke")
	}
	if strings.Contains(string(body), "unspeakable") {
		return nil, nil, penstock.InvalidParam("messages", "messages holds the unspeakable.")
	}
	return []byte(strings.ToUpper(string(body))), []string{"top_k", "thinking"}, nil
}

func (s shout) Answer(upstream provider.Answer, asked dialect.Asked) provider.Answer {
	if s.asked != nil {
		*s.asked = asked
	}
	return whisper{upstream}
}

func (shout) Error(failure *provider.Error) *provider.Error {
	said := *failure
	said.Body = []byte(strings.ToLower(string(failure.Body)))
	return &said
}

type whisper struct{ provider.Answer }

func (w whisper) Next() (provider.Chunk, error) {
	c, err := w.Answer.Next()
	c.Wire = []byte(strings.ToLower(string(c.Wire)))
	return c, err
}

// requestRig has target a at an upstream of chats and b at one of messages.
func requestRig(t *testing.T, chats, messages upstream, edit ...func(*config.File)) rig {
	other := func(f *config.File) { f.Providers["other"] = config.ProviderConfig{Kind: config.KindOpenAI} }
	r := newRig(t, nil, append([]func(*config.File){other, editTarget("b", func(c *config.TargetConfig) { c.Provider = "other" })}, edit...)...)
	r.Providers = speakers{
		"up":    {chats, []penstock.Endpoint{penstock.EndpointChat}},
		"other": {messages, []penstock.Endpoint{penstock.EndpointMessages}},
	}
	return r
}

func message(targets ...string) Task {
	m := task(targets...)
	m.Endpoint, m.Body = penstock.EndpointMessages, []byte(`{"messages":["hi"]}`)
	m.Header = http.Header{"Anthropic-Beta": {"tools"}}
	return m
}

// What is explained beforehand is what Run leaves out.
func TestExplainNamesTargetsThatDoNotUnderstand(t *testing.T) {
	t.Parallel()
	r := requestRig(t, nil, upstream{"ub": {chunks: []string{"ok"}, meta: knownUsage}})
	excluded := func(e Explanation) map[string]string {
		all := map[string]string{}
		for _, t := range e.Targets {
			all[t.Target] = t.Excluded
		}
		return all
	}
	got, err := r.Explain(message("a", "b"))
	if why := excluded(got); err != nil || got.Chosen != "b" || why["a"] != "does not serve /v1/messages" || why["b"] != "" {
		t.Errorf("%+v, %v", got, err)
	}
	got, err = r.Explain(message("a"))
	if err != nil || got.Chosen != "" || !strings.Contains(got.Reason, "serves /v1/messages") || excluded(got)["a"] == "" {
		t.Errorf("%+v, %v", got, err)
	}
	anywhere := message("a", "b")
	anywhere.Endpoint = ""
	if got, err = r.Explain(anywhere); err != nil || got.Chosen != "a" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestTargetsThatDoNotUnderstandAreLeftOut(t *testing.T) {
	t.Parallel()
	var call provider.Call
	r := requestRig(t, nil, upstream{"ub": {chunks: []string{"ok"}, meta: knownUsage, seen: func(c provider.Call) { call = c }}})
	m := message("a", "b")
	out := r.Run(t.Context(), m, &sink{})
	if out.Err != nil || out.Target != "b" || len(out.Attempts) != 1 {
		t.Fatalf("outcome %+v, want one attempt on b", out)
	}
	if reason := out.Attempts[0].Reason; !strings.Contains(reason, "a does not serve /v1/messages") {
		t.Errorf("the reason %q does not say why a was left out", reason)
	}
	if string(call.Body) != string(m.Body) || call.Endpoint != m.Endpoint || call.Header.Get("anthropic-beta") != "tools" {
		t.Errorf("b was sent %+v", call)
	}
}

func TestNoTargetUnderstands(t *testing.T) {
	t.Parallel()
	r := requestRig(t, nil, nil)
	for name, translator := range map[string]outbound.Translator{"nobody translates": nil, "not that": shout{}} {
		r.Translator = translator
		unserved := task("a", "b")
		unserved.Endpoint = penstock.EndpointEmbeddings
		out := r.Run(t.Context(), unserved, &sink{})
		if e := penstock.AsError(out.Err); e.Code != penstock.CodeInvalidRequest || !errors.Is(out.Err, outbound.ErrNotServed) || len(out.Attempts) != 0 ||
			!strings.Contains(e.Message, "/v1/embeddings") {
			t.Errorf("%s: %+v", name, out)
		}
	}
}

func TestTranslation(t *testing.T) {
	t.Parallel()
	var call provider.Call
	var asked dialect.Asked
	r := requestRig(t, upstream{"ua": {chunks: []string{"OK", "THEN"}, meta: knownUsage, seen: func(c provider.Call) { call = c }}}, nil)
	r.Translator = shout{&asked}
	m, into := message("a"), &sink{}
	m.Stream, m.IncludeUsage = true, true
	out := r.Run(t.Context(), m, into)
	if out.Err != nil || into.text.String() != "okthen" || out.Usage != knownUsage.Usage {
		t.Fatalf("outcome %+v with %q", out, into.text.String())
	}
	if call.Endpoint != penstock.EndpointChat || string(call.Body) != `{"MESSAGES":["HI"]}` || call.Header.Get("anthropic-beta") != "" {
		t.Errorf("the upstream was sent %+v", call)
	}
	if asked.Model != "fast" || !asked.Stream || !asked.IncludeUsage || !asked.At.Equal(out.Attempts[0].StartedAt) {
		t.Errorf("the translation was told %+v", asked)
	}
	if reason := out.Attempts[0].Reason; !strings.Contains(reason, "translated to /v1/chat/completions; dropped top_k, thinking") {
		t.Errorf("the reason is %q", reason)
	}
}

func TestErrorsAreTranslated(t *testing.T) {
	t.Parallel()
	refusal := &provider.Error{Kind: provider.KindRejected, Message: "no", Body: []byte("NO")}
	for name, reply := range map[string]reply{"at once": {err: refusal}, "in the middle": {chunks: []string{"X"}, broken: refusal, meta: unknownUsage}} {
		r := requestRig(t, upstream{"ua": reply}, nil)
		r.Translator = shout{}
		out := r.Run(t.Context(), message("a"), &sink{})
		if e, ok := errors.AsType[*provider.Error](out.Err); !ok || string(e.Body) != "no" || string(refusal.Body) != "NO" {
			t.Errorf("%s: %+v", name, out.Err)
		}
	}
}

// What cannot be translated for one target may be understood by another as it is.
func TestUntranslatable(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		targets []string
		want    string // the target that answers, "" for none
	}{
		{"another understands it", []string{"a", "b"}, "b"},
		{"nobody else", []string{"a"}, ""},
	} {
		r := requestRig(t, upstream{"ua": {chunks: []string{"no"}}}, upstream{"ub": {chunks: []string{"ok"}, meta: knownUsage}})
		r.Translator = shout{}
		m := message(tt.targets...)
		m.Body = []byte(`{"messages":["unspeakable"]}`)
		out := r.Run(t.Context(), m, &sink{})
		if tt.want == "" {
			e := penstock.AsError(out.Err)
			if e.Code != penstock.CodeInvalidRequest || e.Param != "messages" || len(out.Attempts) != 0 || !strings.Contains(e.Message, "holds the unspeakable") {
				t.Errorf("%s: %+v", tt.name, out)
			}
			continue
		}
		if out.Err != nil || out.Target != tt.want || !strings.Contains(out.Attempts[0].Reason, "a cannot be asked: messages holds the unspeakable.") {
			t.Errorf("%s: %+v", tt.name, out)
		}
	}
}

func TestTranslationsThatBreak(t *testing.T) {
	t.Parallel()
	r := requestRig(t, nil, nil)
	r.Translator = shout{}
	m := message("a")
	m.Body = []byte(`{"messages":["unbearable"]}`)
	out := r.Run(t.Context(), m, &sink{})
	if penstock.ErrorCode(out.Err) != penstock.CodeInternal || !strings.Contains(out.Err.Error(), "panic: the translation broke") {
		t.Errorf("outcome %+v", out)
	}
}

// Capacity that was taken beforehand on a target that does not understand is given back, and another is asked.
func TestChoiceOfATargetThatDoesNotUnderstand(t *testing.T) {
	t.Parallel()
	r := requestRig(t, nil, upstream{"ub": {chunks: []string{"ok"}, meta: knownUsage}})
	only := penstock.Target{Name: "a", Concurrency: 1}
	choice, ok := reserveOne(r.Router, route.Query{Candidates: []*penstock.Target{&only}})
	if !ok {
		t.Fatal("a has no capacity")
	}
	m := message("a", "b")
	m.Choice = &choice
	if out := r.Run(t.Context(), m, &sink{}); out.Err != nil || out.Target != "b" {
		t.Errorf("outcome %+v", out)
	}
	if again, ok := reserveOne(r.Router, route.Query{Candidates: []*penstock.Target{&only}}); ok {
		again.Release()
	} else {
		t.Error("the capacity of a was not given back")
	}
}

func TestReasonsAreBounded(t *testing.T) {
	t.Parallel()
	if got := explain("first", nil, []string{"dropped " + strings.Repeat("é", maxReasonBytes)}); len(got) > maxReasonBytes+len("…") || !strings.HasSuffix(got, "…") {
		t.Errorf("the reason has %d bytes", len(got))
	}
}
