package sim

import (
	"encoding/binary"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
)

// control calls a /sim/ endpoint, given as "METHOD target body", and decodes its answer unless into is nil.
func control(t testing.TB, s *Server, request string, into any) *httptest.ResponseRecorder {
	t.Helper()
	method, rest, _ := strings.Cut(request, " ")
	target, body, _ := strings.Cut(rest, " ")
	r := httptest.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
	w := do(s, r)
	if into != nil {
		wantStatus(t, w, http.StatusOK)
		if err := json.Unmarshal(w.Body.Bytes(), into); err != nil {
			t.Fatalf("%s: %v: %s", request, err, w.Body)
		}
	}
	return w
}

func TestStats(t *testing.T) {
	t.Parallel()
	s := newServer(t, Config{OutputTokens: 5})
	ask(t, s, chatPath, chatBody("four"))
	ask(t, s, chatPath, chatStreamBody("four"))
	ask(t, s, chatPath, chatBody("[sim:fault=server_error]"))
	ask(t, s, chatPath, chatStreamBody("[sim:fault=disconnect tokens=1]"))
	ask(t, s, chatPath, `{}`)
	ask(t, s, messagePath, `{"model":"m","max_tokens":2,"messages":[{"role":"user","content":"fourfour"}]}`)
	ask(t, s, countPath, `{"model":"m",`+userHi+`}`)
	ask(t, s, embeddingPath, `{"model":"m","input":["four","four"]}`)
	control(t, s, "GET /v1/models", &struct{}{})

	want := Stats{
		Requests:     9,
		MaxInFlight:  1,
		Streams:      2,
		InputTokens:  1 + 1 + 8 + 2 + 2,
		OutputTokens: 5 + 5 + 1 + 2,
		ByStatus:     map[int]int64{200: 7, 400: 1, 500: 1},
		ByEndpoint:   map[string]int64{chatPath: 5, messagePath: 1, countPath: 1, embeddingPath: 1, "/v1/models": 1},
		Faults:       map[Fault]int64{FaultServerError: 1, FaultDisconnect: 1},
		Prompts:      PromptStats{Seen: 4, Completed: 2, Repeated: 1},
	}
	if diff := cmp.Diff(want, s.Stats()); diff != "" {
		t.Errorf("Stats (-want +got):\n%s", diff)
	}
	var served Stats
	control(t, s, "GET /sim/stats", &served)
	if diff := cmp.Diff(want, served); diff != "" {
		t.Errorf("GET /sim/stats (-want +got):\n%s", diff)
	}
	control(t, s, "POST /sim/reset", &served)
	empty := Stats{ByStatus: map[int]int64{}, ByEndpoint: map[string]int64{}, Faults: map[Fault]int64{}}
	if diff := cmp.Diff(empty, s.Stats()); diff != "" {
		t.Errorf("after a reset (-want +got):\n%s", diff)
	}
}

func TestExecutions(t *testing.T) {
	t.Parallel()
	s := newServer(t, Config{})
	const flaky, whole, never = "[sim:fault=malformed times=2] & more", "whole ✓", "never asked"
	for range 3 {
		ask(t, s, chatPath, chatStreamBody(flaky))
	}
	ask(t, s, messagePath, `{"model":"m","max_tokens":2,"messages":[{"role":"user","content":`+quoted(whole)+`}]}`)
	ask(t, s, countPath, `{"model":"m","messages":[{"role":"user","content":`+quoted(whole)+`}]}`)

	want := map[string]Executions{flaky: {Attempts: 3, Completed: 1}, whole: {Attempts: 1, Completed: 1}, never: {}}
	for prompt, n := range want {
		if got := s.Executions(prompt); got != n {
			t.Errorf("Executions(%q) = %+v, want %+v", prompt, got, n)
		}
		var byText, bySum promptExecutions
		control(t, s, "GET /sim/executions?prompt="+url.QueryEscape(prompt), &byText)
		control(t, s, "GET /sim/executions?sha256="+byText.SHA256, &bySum)
		if byText.Executions != n || bySum != byText {
			t.Errorf("%q: by text %+v, by hash %+v, want %+v", prompt, byText, bySum, n)
		}
	}
	var many struct {
		Executions []promptExecutions `json:"executions"`
	}
	control(t, s, "POST /sim/executions "+string(encode(map[string][]string{"prompts": {whole, never, flaky}})), &many)
	for i, prompt := range []string{whole, never, flaky} {
		if got := many.Executions[i].Executions; got != want[prompt] {
			t.Errorf("POST: %q: %+v, want %+v", prompt, got, want[prompt])
		}
	}
	for _, request := range []string{"GET /sim/executions", "GET /sim/executions?sha256=ab", `POST /sim/executions {"promts":[]}`} {
		wantStatus(t, control(t, s, request, nil), http.StatusBadRequest)
	}
}

func TestPromptCountersAreBounded(t *testing.T) {
	t.Parallel()
	var table promptTable
	table.reset()
	key := func(n int) (k promptKey) {
		binary.LittleEndian.PutUint64(k[:], uint64(n))
		return k
	}
	for n := range MaxPrompts + 5 {
		table.attempted(key(n))
		table.completed(key(n))
	}
	table.attempted(key(0))
	want := PromptStats{Seen: MaxPrompts, Completed: MaxPrompts, Untracked: 5}
	if diff := cmp.Diff(want, table.stats()); diff != "" {
		t.Errorf("stats (-want +got):\n%s", diff)
	}
	if got := table.executions(key(0)); got != (Executions{Attempts: 2, Completed: 1}) {
		t.Errorf("a known prompt is counted no more: %+v", got)
	}
}
