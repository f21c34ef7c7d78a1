package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// responseUpstream is an upstream of responses that remembers the last body. It answers with reasoning and a message, whose text is
// the number of its calls.
type responseUpstream struct {
	*httptest.Server
	mu    sync.Mutex
	calls int
	asked map[string]any
	no    bool // it refuses all calls
}

// refuse makes the upstream refuse all calls, or answer again.
func (u *responseUpstream) refuse(no bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.no = no
}

func startResponseUpstream(t *testing.T) *responseUpstream {
	t.Helper()
	u := &responseUpstream{}
	u.Server = httptest.NewServer(u)
	t.Cleanup(u.Close)
	return u
}

func (u *responseUpstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, _ := io.ReadAll(r.Body)
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.no {
		http.Error(w, `{"error":{"message":"No.","type":"invalid_request_error"}}`, http.StatusBadRequest)
		return
	}
	u.calls++
	u.asked = nil
	if r.URL.Path != "/v1/responses" || json.Unmarshal(text, &u.asked) != nil {
		http.NotFound(w, r)
		return
	}
	id := fmt.Sprint(u.calls)
	sealed := ""
	if include, _ := u.asked["include"].([]any); slices.Contains(include, any("reasoning.encrypted_content")) {
		sealed = `,"encrypted_content":"sealed ` + id + `"`
	}
	output := `[{"type":"reasoning","id":"rs_` + id + `","summary":[]` + sealed + `},{"type":"message","id":"msg_` + id + `","status":"completed","role":"assistant","content":[{"type":"output_text","text":"` +
		id + `","annotations":[]}]}]`
	object := func(status, output string) string {
		return `{"id":"resp_upstream` + id + `","object":"response","created_at":1,"status":"` + status + `","model":"up","output":` + output +
			`,"store":false,"previous_response_id":null,"usage":{"input_tokens":3,"output_tokens":2,"total_tokens":5}}`
	}
	if u.asked["stream"] != true {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, object("completed", output))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for n, event := range []string{
		`"response.created","response":` + object("in_progress", "[]"), `"response.in_progress","response":` + object("in_progress", "[]"),
		`"response.output_text.delta","item_id":"msg_` + id + `","output_index":1,"content_index":0,"delta":"` + id + `"`, `"response.completed","response":` + object("completed", output),
	} {
		name, _, _ := strings.Cut(event[1:], `"`)
		fmt.Fprintf(w, "event: %s\ndata: {\"sequence_number\":%d,\"type\":%s}\n\n", name, n, event)
	}
}

// input is the input of the last call, as JSON.
func (u *responseUpstream) input(t *testing.T) string {
	t.Helper()
	u.mu.Lock()
	defer u.mu.Unlock()
	text, err := json.Marshal(u.asked["input"])
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// responder is a server in front of such an upstream.
type responder struct {
	*testing.T
	*Server
	upstream *responseUpstream
}

func startResponder(t *testing.T, settings string) *responder {
	t.Helper()
	u := startResponseUpstream(t)
	address := FreeAddress(t)
	path := filepath.Join(t.TempDir(), "penstock.yaml")
	text := fmt.Sprintf("listen: %s\nadmin_listen: %s\ndata: %s\nproviders: {up: {kind: openai, base_url: %s/v1}}\n"+
		"targets: {up: {provider: up, upstream_model: up}}\nmodels: {m: {targets: [up]}}\n"+
		"tenants: {acme: {keys: [{name: e2e, secret: \"${E2E_KEY}\"}]}}\n%s\n", address, FreeAddress(t), t.TempDir(), u.URL, settings)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &Server{Process: Start(t, []string{"E2E_KEY=" + Key}, "serve", "--config", path), URL: "http://" + address}
	s.AwaitReady()
	return &responder{t, s, u}
}

// answeredResponse is what the tests read of a response, and of lists and conversations.
type answeredResponse struct {
	ID, Object, Status string
	Store              bool
	Output             []struct{ ID, Type string }
	Previous           string `json:"previous_response_id"`
	Conversation       *struct{ ID string }
	Data               []struct {
		ID, Type, Role string
		Content        []struct{ Type, Text string }
	}
	HasMore     bool `json:"has_more"`
	InputTokens int  `json:"input_tokens"`
}

func (r *responder) ok(c Call) (v answeredResponse) {
	r.Helper()
	a := r.Do(c)
	if err := json.Unmarshal([]byte(a.Body), &v); err != nil || a.Status != http.StatusOK {
		r.Fatalf("%s %s %s: %d %s", c.Method, c.Path, c.Body, a.Status, a.Body)
	}
	return v
}

const responsesPath = "/v1/responses"

// stream asks for a stream, and returns the response of its last event and the ids that its first events have.
func (r *responder) stream(body string) (last answeredResponse, ids []string) {
	r.Helper()
	a := r.Do(post(responsesPath, `{"model":"m","stream":true,`+body+`}`))
	for line := range strings.Lines(a.Body) {
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		var event struct {
			Type     string
			Response *answeredResponse
		}
		if err := json.Unmarshal([]byte(data), &event); err != nil {
			r.Fatal(err)
		}
		if event.Response != nil {
			ids, last = append(ids, event.Response.ID), *event.Response
		}
	}
	return last, ids
}

func said(n int) string {
	return fmt.Sprintf(`{"content":[{"annotations":[],"text":"%d","type":"output_text"}],"role":"assistant","status":"completed","type":"message"}`, n)
}

func asked(text string) string { return fmt.Sprintf(`{"content":"%s","role":"user"}`, text) }

func (r *responder) wantInput(items ...string) {
	r.Helper()
	if got, want := r.upstream.input(r.T), "["+strings.Join(items, ",")+"]"; got != want {
		r.Errorf("the upstream was sent\n%s, want\n%s", got, want)
	}
}

func (r *responder) wantStatus(c Call, status int, param string) {
	r.Helper()
	if a := r.Do(c); a.Status != status || !strings.Contains(a.Body, `"param":"`+param+`"`) {
		r.Errorf("%s %s %s: %d %s, want %d for %s", c.Method, c.Path, c.Body, a.Status, a.Body, status, param)
	}
}

func TestResponsesAreKept(t *testing.T) {
	t.Parallel()
	r := startResponder(t, "")
	first := r.ok(post(responsesPath, `{"model":"m","input":"one"}`))
	if !strings.HasPrefix(first.ID, "resp_0") || !first.Store {
		t.Fatalf("answered %+v", first)
	}
	second, ids := r.stream(`"input":[{"role":"user","content":"two"}],"previous_response_id":"` + first.ID + `"`)
	r.wantInput(asked("one"), said(1), asked("two"))
	if len(ids) != 3 || ids[0] != second.ID || ids[1] != second.ID || second.Previous != first.ID || !second.Store {
		t.Errorf("streamed %v, %+v", ids, second)
	}
	if kept := r.ok(get(responsesPath + "/" + second.ID)); kept.ID != second.ID || kept.Status != "completed" || len(kept.Output) != 2 || kept.Previous != first.ID {
		t.Errorf("kept %+v", kept)
	}
	r.ok(Call{Method: "DELETE", Path: responsesPath + "/" + first.ID})
	r.wantStatus(get(responsesPath+"/"+first.ID), http.StatusNotFound, "id")
	third := r.ok(post(responsesPath, `{"model":"m","input":"three","previous_response_id":"`+second.ID+`","store":false}`))
	r.wantInput(asked("one"), said(1), asked("two"), said(2), asked("three"))
	r.wantStatus(post(responsesPath, `{"model":"m","input":"four","previous_response_id":"`+third.ID+`"}`), http.StatusBadRequest, "previous_response_id")
	r.wantStatus(post(responsesPath, `{"model":"m","input":"four","previous_response_id":"`+first.ID+`"}`), http.StatusNotFound, "previous_response_id")
	r.wantStatus(post(responsesPath+"/"+second.ID+"/cancel", ""), http.StatusBadRequest, "id")
	r.wantStatus(get(responsesPath+"/"+second.ID+"?stream=true"), http.StatusBadRequest, "stream")
	r.lists(second.ID)
}

// lists reads the input of a response whose turns are one, its answer, and two.
func (r *responder) lists(id string) {
	r.Helper()
	path := responsesPath + "/" + id + "/input_items"
	newest := r.ok(get(path + "?limit=2"))
	if len(newest.Data) != 2 || !newest.HasMore || newest.Data[0].Content[0].Text != "two" || newest.Data[0].Type != "message" || newest.Data[1].Content[0].Text != "1" {
		r.Errorf("the newest are %+v", newest)
	}
	rest := r.ok(get(path + "?limit=2&after=" + newest.Data[1].ID))
	if len(rest.Data) != 1 || rest.HasMore || rest.Data[0].Content[0] != (struct{ Type, Text string }{"input_text", "one"}) {
		r.Errorf("the rest is %+v", rest)
	}
	if oldest := r.ok(get(path + "?order=asc&include[]=message.input_image.image_url")); len(oldest.Data) != 3 || oldest.Data[0].ID != rest.Data[0].ID {
		r.Errorf("the oldest are %+v", oldest)
	}
	r.wantStatus(get(path+"?order=up"), http.StatusBadRequest, "order")
	r.wantStatus(get(path+"?after=msg_x"), http.StatusBadRequest, "after")
	alone := r.ok(post(responsesPath+"/input_tokens", `{"model":"m","input":"four"}`))
	whole := r.ok(post(responsesPath+"/input_tokens", `{"model":"m","input":"four","previous_response_id":"`+id+`"}`))
	if alone.Object != "response.input_tokens" || alone.InputTokens < 1 || whole.InputTokens <= alone.InputTokens {
		r.Errorf("counted %+v and %+v", alone, whole)
	}
}

// References, and reasoning that the caller does not have, are resolved before the upstream sees them.
func TestReferencesAreResolved(t *testing.T) {
	t.Parallel()
	r := startResponder(t, "")
	first := r.ok(post(responsesPath, `{"model":"m","input":"one","reasoning":{"effort":"low"}}`))
	reasoning, message := first.Output[0].ID, first.Output[1].ID
	const sealed = `{"encrypted_content":"sealed 1","summary":[],"type":"reasoning"}`
	for _, items := range []string{
		`{"type":"item_reference","id":"` + reasoning + `"},{"type":"item_reference","id":"` + message + `"}`,
		`{"type":"reasoning","id":"` + reasoning + `","summary":[]},{"id":"` + message + `"}`,
	} {
		r.ok(post(responsesPath, `{"model":"m","store":false,"input":[{"role":"user","content":"one"},`+items+`,{"role":"user","content":"two"}]}`))
		r.wantInput(asked("one"), sealed, said(1), asked("two"))
	}
	plain := r.ok(post(responsesPath, `{"model":"m","input":"no reasoning asked for"}`))
	r.ok(post(responsesPath, `{"model":"m","input":[{"type":"reasoning","id":"`+plain.Output[0].ID+`","summary":[]},{"role":"user","content":"two"}]}`))
	r.wantInput(asked("two"))
	r.wantStatus(post(responsesPath, `{"model":"m","input":[{"type":"item_reference","id":"msg_none"}]}`), http.StatusNotFound, "input[0].id")
}

func TestConversationsGrowByTurns(t *testing.T) {
	t.Parallel()
	r := startResponder(t, "")
	made := r.ok(post("/v1/conversations", `{"metadata":{"topic":"milk"},"items":[{"role":"user","content":"zero"}]}`))
	path := "/v1/conversations/" + made.ID
	first := r.ok(post(responsesPath, `{"model":"m","input":"one","conversation":"`+made.ID+`"}`))
	if first.Conversation == nil || first.Conversation.ID != made.ID {
		t.Errorf("answered %+v", first)
	}
	r.stream(`"input":"two","store":false,"conversation":{"id":"` + made.ID + `"}`)
	r.wantInput(asked("zero"), asked("one"), said(1), asked("two"))
	items := r.ok(get(path + "/items?order=asc"))
	if len(items.Data) != 7 || items.Data[0].Content[0].Text != "zero" || items.Data[6].Content[0].Text != "2" {
		t.Fatalf("the items are %+v", items)
	}
	if one := r.ok(get(path + "/items/" + items.Data[1].ID)); one.ID != items.Data[1].ID {
		t.Errorf("read %+v", one)
	}
	r.ok(Call{Method: "DELETE", Path: path + "/items/" + items.Data[1].ID})
	added := r.ok(post(path+"/items", `{"items":[{"role":"user","content":"late"},{"type":"item_reference","id":"`+first.Output[1].ID+`"}]}`))
	if len(added.Data) != 2 || added.Data[0].ID == "" || added.Data[1].Content[0].Text != "1" {
		t.Errorf("added %+v", added)
	}
	r.ok(post(path, `{"metadata":{"topic":"tea"}}`))
	if a := r.Do(get(path)); !strings.Contains(a.Body, `"topic":"tea"`) {
		t.Errorf("updated to %s", a.Body)
	}
	if all := r.ok(get(path + "/items?limit=3")); !all.HasMore || len(all.Data) != 3 {
		t.Errorf("listed %+v", all)
	}
	r.wantStatus(post(responsesPath, `{"model":"m","input":"x","conversation":"`+made.ID+`","previous_response_id":"`+first.ID+`"}`), http.StatusBadRequest, "conversation")
	r.ok(Call{Method: "DELETE", Path: path})
	r.wantStatus(post(responsesPath, `{"model":"m","input":"x","conversation":"`+made.ID+`"}`), http.StatusNotFound, "conversation")
	if kept := r.ok(get(responsesPath + "/" + first.ID)); kept.ID != first.ID {
		t.Errorf("the response of a conversation that was deleted: %+v", kept)
	}
}

// The operator can turn off that responses are kept by default.
func TestResponsesAreKeptOnRequest(t *testing.T) {
	t.Parallel()
	r := startResponder(t, "store_responses: on_request")
	if silent := r.ok(post(responsesPath, `{"model":"m","input":"one"}`)); silent.Store || silent.ID != "resp_upstream1" {
		t.Errorf("answered %+v", silent)
	}
	wanted := r.ok(post(responsesPath, `{"model":"m","input":"one","store":true}`))
	if kept := r.ok(get(responsesPath + "/" + wanted.ID)); kept.ID != wanted.ID {
		t.Errorf("kept %+v", kept)
	}
}

// A caller who has the last event of a stream continues at another process at once.
func TestResponseContinuesAtAnotherProcess(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	other := c.join("api")
	r := &responder{T: t, Server: c.api.endpoint}
	for n := range 5 {
		body := fmt.Sprintf(`{"model":"fast","stream":%v,"input":"turn %d [sim:tokens=3]"}`, n%2 == 0, n)
		a := r.Do(post(responsesPath, body))
		id := found(t, `"id":"(resp_0[0-9A-Z]+)"`, a.Body)
		if a := other.endpoint.Do(post(responsesPath, `{"model":"fast","input":"and then?","previous_response_id":"`+id+`"}`)); a.Status != http.StatusOK {
			t.Errorf("at the other process: %d %s", a.Status, a.Body)
		}
	}
}

// A process that dies before a response is stored has not sent its end; a process that dies afterwards has stored it.
func TestKillBeforeTheEndOfAResponse(t *testing.T) {
	t.Parallel()
	r := newRig(t, onSQLite)
	for _, moment := range moments[1:] { // before the commit, and after it
		l := r.start(at(turnSteps[0] + "." + moment))
		a, err := l.Try(t.Context(), post(responsesPath, `{"model":"fast","stream":true,"input":"killed at `+moment+` [sim:tokens=3]"}`))
		if err == nil || strings.Contains(a.Body, "response.completed") || !strings.Contains(a.Body, "response.output_text.delta") {
			t.Errorf("killed at %s: the caller got %s, %v", moment, a.Body, err)
		}
		if !l.pass(patience) {
			t.Fatalf("the server did not come to %s", moment)
		}
		r.bury(l)
		next := r.start(death{})
		want := http.StatusNotFound
		if moment == "committed" {
			want = http.StatusOK
		}
		if a := next.Do(get(responsesPath + "/" + found(t, `"id":"(resp_0[0-9A-Z]+)"`, a.Body))); a.Status != want {
			t.Errorf("killed at %s: %d %s, want %d", moment, a.Status, a.Body, want)
		}
		if code := next.Stop(); code != 0 {
			t.Errorf("the server stopped with code %d:\n%s", code, tail(next.Output()))
		}
	}
}
