package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"penstock"
)

// generated is what the careless upstream says.
const generated = "GENERATED-7f3a"

// carelessUpstream obeys the last member of a body whatever its case, as servers do that decode with Go's encoding/json, and
// bounds an answer by whatever name bounds it. What it generates is what it is allowed to.
type carelessUpstream struct {
	*httptest.Server
	mu     sync.Mutex
	models []string
	tokens int64
}

func startCareless(t *testing.T) *carelessUpstream {
	t.Helper()
	u := &carelessUpstream{}
	u.Server = httptest.NewServer(u)
	t.Cleanup(u.Close)
	return u
}

func (u *carelessUpstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var asked struct { // encoding/json takes names for the same that differ in case alone
		Model     string `json:"model"`
		MaxTokens int64  `json:"max_tokens"`
		NPredict  int64  `json:"n_predict"`
		N         int64  `json:"n"`
		BestOf    int64  `json:"best_of"`
		Options   struct {
			NumPredict int64 `json:"num_predict"`
		} `json:"options"`
	}
	text, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(text, &asked)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	u.mu.Lock()
	u.models = append(u.models, asked.Model)
	tokens := max(asked.MaxTokens, asked.NPredict, asked.Options.NumPredict, 1) * max(asked.N, asked.BestOf, 1)
	u.tokens += tokens
	u.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"id":"x","object":"chat.completion","model":%q,"choices":[{"index":0,"message":{"role":"assistant","content":"`+generated+`"},"finish_reason":"stop"}],`+
		`"usage":{"prompt_tokens":5,"completion_tokens":%d,"total_tokens":%d}}`, asked.Model, tokens, tokens+5)
}

// TestCarelessUpstream repeats the attacks of a caller whose body says one thing to us and another to the upstream: in no
// endpoint, job or batch does a forbidden model run, nor does a hard budget pay more than it has.
func TestCarelessUpstream(t *testing.T) {
	t.Parallel()
	for _, engine := range scenarioEngines() {
		t.Run(engine.name, func(t *testing.T) {
			t.Parallel()
			u := startCareless(t)
			data := t.TempDir()
			env := append(engine.env(t), "E2E_KEY="+Key)
			path := filepath.Join(t.TempDir(), "penstock.yaml")
			address := FreeAddress(t)
			if err := os.WriteFile(path, fmt.Appendf(nil, `
listen: %s
admin_listen: %s
data: %s
providers: {up: {kind: openai, base_url: %s/v1}}
targets: {small: {provider: up, upstream_model: cheap, max_output_tokens: 100, price: {input: "0.1", output: "10"}}}
models: {fast: {targets: [small]}}
tenants: {acme: {budget: {total_usd: "0.01", hard: true}, keys: [{name: e2e, secret: "${E2E_KEY}"}]}}
`, address, FreeAddress(t), data, u.URL), 0o600); err != nil {
				t.Fatal(err)
			}
			s := &Server{Process: Start(t, env, "serve", "--config", path), URL: "http://" + address}
			s.AwaitReady()
			refused := attack(t, s)
			u.mu.Lock()
			if tokens := u.tokens; tokens > 1000 {
				t.Errorf("%d tokens were generated: more than $0.01 pays for", tokens)
			}
			u.mu.Unlock()
			if refused < 40 {
				t.Errorf("only %d attacks were refused as invalid", refused)
			}
			u.mu.Lock()
			for _, model := range u.models {
				if model != "cheap" {
					t.Errorf("the model %q ran", model)
				}
			}
			u.mu.Unlock()
			if a := s.Do(post(chatPath, `{"model":"fast","max_tokens":20,"messages":[{"role":"user","content":"Hi"}]}`)); a.Status != http.StatusOK {
				t.Errorf("an innocent call: %d %s", a.Status, a.Body)
			}
			if code := s.Stop(); code != 0 {
				t.Fatalf("stopped with %d", code)
			}
			verify := Start(t, env, "ledger", "verify", "--config", path)
			if verify.Exit() != 0 || !strings.Contains(verify.Output(), ": 0 problems.") {
				t.Errorf("ledger verify: %s", verify.Output())
			}
		})
	}
}

// attack sends every attack by every way in, and returns how many were refused as invalid.
func attack(t *testing.T, s *Server) (refused int) {
	t.Helper()
	const rest = `"messages":[{"role":"user","content":"Hi"}]`
	for _, members := range []string{
		`"model":"fast","Model":"dear"`, `"MODEL":"dear","model":"fast"`, `"model":"fast","mod\u0065l":"dear"`, `"model":"fast","max_tokens":1,"Max_Tokens":90000`,
		`"model":"fast","max_tokens":1,"max_to\u212aens":90000`, `"model":"fast","max_tokens":1,"MaxTokens":90000`, `"model":"fast","max_tokens":50,"N":100`,
		`"model":"fast","max_tokens":1,"n_predict":90000`, `"model":"fast","n_predict":90000`, `"model":"fast","max_tokens":50,"best_of":128`,
		`"model":"fast","max_tokens":1,"options":{"num_predict":90000}`, `"model":"fast","max_tokens":1,"options":{"NUM_PREDICT":90000}`,
		`"model":"fast","models":["dear"]`, `"model":"fast","extra_body":{"model":"dear"}`, `"model":"fast","max_tokens":1,"_max_tokens":90000`,
	} {
		text := "{" + members + "," + rest + "}"
		for _, c := range []Call{
			post(chatPath, text), post(chatPath, text, "Idempotency-Key", "k"+fmt.Sprint(len(members))+members[:8]),
			post("/v1/jobs", `{"model":"fast","input":`+text+`}`, "Prefer", "wait=20"),
			post("/v1/jobs", `{"model":"fast","defaults":{`+members+`},"inputs":[{"body":{`+rest+`}}]}`, "Prefer", "wait=20"),
		} {
			a := s.Do(c)
			switch {
			case a.Status == http.StatusBadRequest && strings.Contains(a.Body, "invalid_request"):
				refused++
			case a.Status == http.StatusPaymentRequired:
			default:
				t.Errorf("%s %s: %d %s", c.Path, c.Body, a.Status, a.Body)
			}
		}
		lines := fmt.Sprintf(`{"custom_id":"a","method":"POST","url":"/v1/chat/completions","body":%s}`+"\n", text)
		refused += attackByFile(t, s, lines)
	}
	return refused
}

// attackByFile runs lines as a batch, and returns how many of them were refused as invalid.
func attackByFile(t *testing.T, s *Server, lines string) (refused int) {
	t.Helper()
	form := "--x\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\nbatch\r\n" +
		"--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"rows.jsonl\"\r\n\r\n" + lines + "\r\n--x--\r\n"
	file := found(t, `"id":"(file[-_][0-9A-Za-z]+)"`, s.Do(post("/v1/files", form, "Content-Type", "multipart/form-data; boundary=x")).Body)
	a := s.Do(post("/v1/jobs", `{"model":"fast","input_file":"`+file+`"}`))
	if a.Status == http.StatusBadRequest {
		return 1
	}
	job := found(t, `"id":"(job_[0-9A-Z]+)"`, a.Body)
	Await(t, "the job to end, or to wait for a budget that it will not get", func() error {
		a = s.Do(get("/v1/jobs/" + job))
		if strings.Contains(a.Body, `"finished_at":null`) && !strings.Contains(a.Body, `"waiting_on":"budget"`) {
			return fmt.Errorf("%d %s", a.Status, a.Body)
		}
		return nil
	})
	if strings.Contains(a.Body, string(penstock.StatusSucceeded)+`":1`) {
		t.Errorf("a line ran: %s: %s", lines, a.Body)
	}
	return strings.Count(a.Body, string(penstock.CodeInvalidRequest))
}
