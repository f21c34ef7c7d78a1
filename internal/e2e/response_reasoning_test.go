package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"penstock/internal/sim"
)

// recordedUpstream is the simulated upstream, with the body of its last call.
type recordedUpstream struct {
	*httptest.Server
	mu   sync.Mutex
	last string
}

func startRecordedUpstream(t *testing.T) *recordedUpstream {
	t.Helper()
	server, err := sim.New(sim.Config{OutputTokens: 60})
	if err != nil {
		t.Fatal(err)
	}
	u := &recordedUpstream{}
	u.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		u.mu.Lock()
		u.last = string(text)
		u.mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(text))
		server.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		server.Close()
		u.Close()
	})
	return u
}

func (u *recordedUpstream) body() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.last
}

// startReasoner is a server with a model for each kind of target, and a model that has another one of the same kind.
func startReasoner(t *testing.T) (*Server, *recordedUpstream) {
	t.Helper()
	u := startRecordedUpstream(t)
	address := FreeAddress(t)
	path := filepath.Join(t.TempDir(), "penstock.yaml")
	text := fmt.Sprintf(`
listen: %s
admin_listen: %s
data: %s
providers:
  openai: {kind: openai, base_url: %[4]s/v1}
  claude: {kind: anthropic, base_url: %[4]s/v1, api_key: "${E2E_KEY}"}
  gemini: {kind: gemini, base_url: %[4]s/v1beta, api_key: "${E2E_KEY}"}
  bedrock: {kind: bedrock, base_url: "%[4]s", aws: {region: eu-central-1, access_key_id: AKIDEXAMPLE, secret_access_key: "${E2E_KEY}"}}
targets:
  openai: {provider: openai, upstream_model: sim-1}
  claude: {provider: claude, upstream_model: sim-1}
  claude-2: {provider: claude, upstream_model: sim-2}
  gemini: {provider: gemini, upstream_model: sim-1}
  bedrock: {provider: bedrock, upstream_model: sim-1}
models:
  openai: {targets: [openai]}
  claude: {targets: [claude]}
  claude-2: {targets: [claude-2]}
  gemini: {targets: [gemini]}
  bedrock: {targets: [bedrock]}
tenants: {acme: {keys: [{name: e2e, secret: "${E2E_KEY}"}]}}
`, address, FreeAddress(t), t.TempDir(), u.URL)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &Server{Process: Start(t, []string{"E2E_KEY=" + Key}, "serve", "--config", path), URL: "http://" + address}
	s.AwaitReady()
	return s, u
}

const reasonTools = `"reasoning":{"effort":"high"},"max_output_tokens":8192,"tools":[{"type":"function","name":"get_weather","parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}]`

// thinker is a response that thought and called a tool.
type thinker struct {
	id, body         string
	reasoning, call  string // items, as they were answered
	reasoningID, tag string
	callID           string
}

func think(t *testing.T, s *Server, model, options string) thinker {
	t.Helper()
	a := s.Do(post(responsesPath, `{"model":"`+model+`","input":"What is the weather?",`+reasonTools+options+`}`))
	if a.Status != http.StatusOK {
		t.Fatalf("%s: %d %s", model, a.Status, a.Body)
	}
	text := a.Body
	if strings.HasPrefix(text, "event:") { // the response of the last event
		text = found(t, `"type":"response.completed","sequence_number":\d+,"response":(\{.*\})\}`, text)
	}
	var r struct {
		ID     string
		Output []json.RawMessage
	}
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	v := thinker{id: r.ID, body: text}
	for _, raw := range r.Output {
		var item struct {
			Type, ID string
			CallID   string `json:"call_id"`
			Content  string `json:"encrypted_content"`
		}
		_ = json.Unmarshal(raw, &item) // the content of a message is a list
		switch item.Type {
		case "reasoning":
			v.reasoning, v.reasoningID, v.tag = string(raw), item.ID, item.Content
		case "function_call":
			v.call, v.callID = string(raw), item.CallID
		}
	}
	if v.reasoning == "" || v.call == "" || v.tag == "" {
		t.Fatalf("%s: no reasoning with sealed content, or no call in %s", model, text)
	}
	return v
}

// signedCalls are the bodies of the second turn of a tool loop: the thoughts with their signature stand before the call.
var signedCalls = map[string]*regexp.Regexp{
	"claude":  regexp.MustCompile(`\{"type":"thinking","thinking":"[^"]+","signature":"[^"]+"\},\{"type":"tool_use",.*"thinking":\{"type":"enabled"`),
	"bedrock": regexp.MustCompile(`\{"reasoningContent":\{"reasoningText":\{"text":"[^"]+","signature":"[^"]+"\}\}\},\{"toolUse":.*"thinking":\{"type":"enabled"`),
	"gemini":  regexp.MustCompile(`\{"functionCall":\{[^}]*\}\},"thoughtSignature":"[^"_]{20,}"\}`),
}

// However a caller continues a tool loop, the model gets its own thoughts back, with their signature. The simulated upstreams verify
// signatures.
func TestThoughtsGoBackToTheirModel(t *testing.T) {
	t.Parallel()
	s, u := startReasoner(t)
	for model, want := range signedCalls {
		for _, options := range []string{``, `,"stream":true`, `,"store":false,"include":["reasoning.encrypted_content"]`} {
			first := think(t, s, model, options)
			const question = `{"role":"user","content":"What is the weather?"}`
			output := `{"type":"function_call_output","call_id":"` + first.callID + `","output":"Sunny."}`
			inputs := map[string]string{"whole items": `"store":false,"input":[` + question + `,` + first.reasoning + `,` + first.call + `,` + output + `]`}
			if !strings.Contains(options, "store") {
				inputs["previous response"] = `"previous_response_id":"` + first.id + `","input":[` + output + `]`
				inputs["references"] = `"input":[` + question + `,{"type":"item_reference","id":"` + first.reasoningID + `"},{"type":"item_reference","id":"` +
					found(t, `"id":"(fc_[^"]+)"`, first.call) + `"},` + output + `]`
				inputs["bare reasoning"] = `"input":[` + question + `,{"type":"reasoning","id":"` + first.reasoningID + `","summary":[]},` + first.call + `,` + output + `]`
			}
			for how, input := range inputs {
				a := s.Do(post(responsesPath, `{"model":"`+model+`",`+reasonTools+`,`+input+`}`))
				if sent := u.body(); a.Status != http.StatusOK || !want.MatchString(sent) {
					t.Errorf("%s%s by %s: %d %s; the upstream was sent\n%s", model, options, how, a.Status, a.Body, sent)
				}
			}
		}
	}
}

// Sealed content never goes to another model or vendor. The turn works without it.
func TestThoughtsStayWithTheirModel(t *testing.T) {
	t.Parallel()
	s, u := startReasoner(t)
	for _, from := range []string{"claude", "gemini", "bedrock", "openai"} {
		first := think(t, s, from, "")
		secret := first.tag[len(first.tag)-20:]
		for _, to := range []string{"claude-2", "claude", "gemini", "bedrock", "openai"} {
			a := s.Do(post(responsesPath, `{"model":"`+to+`",`+reasonTools+`,"previous_response_id":"`+first.id+`","input":[{"type":"function_call_output","call_id":"`+
				first.callID+`","output":"Sunny."}]}`))
			sent := u.body()
			if a.Status != http.StatusOK || !strings.Contains(sent, "Sunny.") {
				t.Errorf("from %s to %s: %d %s; the upstream was sent\n%s", from, to, a.Status, a.Body, sent)
			}
			own := to == from || from == "openai" && to == "openai"
			if carried := strings.Contains(sent, secret) || strings.Contains(sent, "penstock.1.") || signedCalls[to] != nil && signedCalls[to].MatchString(sent); carried && !own {
				t.Errorf("from %s to %s, the upstream was sent\n%s", from, to, sent)
			}
		}
	}
}

// A forged seal is refused, or dropped if it is of nobody.
func TestForgedThoughts(t *testing.T) {
	t.Parallel()
	s, u := startReasoner(t)
	first := think(t, s, "claude", "")
	mark := first.tag[:strings.LastIndex(first.tag, ".")+1]
	for content, status := range map[string]int{
		mark + "!": http.StatusBadRequest, mark + "e30": http.StatusBadRequest, mark: http.StatusBadRequest,
		"penstock.1.0000000000000000.e30": http.StatusOK, "gAAAA": http.StatusOK, strings.Repeat("x", 1<<20): http.StatusOK,
	} {
		a := s.Do(post(responsesPath, `{"model":"claude",`+reasonTools+`,"input":[{"role":"user","content":"Hi"},{"type":"reasoning","summary":[],"encrypted_content":"`+content+
			`"},`+first.call+`,{"type":"function_call_output","call_id":"`+first.callID+`","output":"Sunny."}]}`))
		if a.Status != status || status == http.StatusBadRequest && !strings.Contains(a.Body, `"param":"input[1].encrypted_content"`) {
			t.Errorf("%.60s: %d %.300s", content, a.Status, a.Body)
		}
		if strings.Contains(u.body(), content) {
			t.Errorf("%.60s reached the upstream", content)
		}
	}
}

// A translated response repeats its request in every state, also when it is read again.
func TestTranslatedResponsesEcho(t *testing.T) {
	t.Parallel()
	s, _ := startReasoner(t)
	const options = `"instructions":"Be brief.","metadata":{"a":"b"},"top_p":0.99,"parallel_tool_calls":true,"tool_choice":"auto","text":{"format":{"type":"text"}},"user":"u1"`
	for _, model := range []string{"claude", "gemini"} {
		streamed := s.Do(post(responsesPath, `{"model":"`+model+`","stream":true,"input":"Hi",`+reasonTools+`,`+options+`}`)).Body
		queued := s.Do(post(responsesPath, `{"model":"`+model+`","background":true,"input":"Hi",`+reasonTools+`,`+options+`}`)).Body
		kept := s.Do(get(responsesPath + "/" + found(t, `"id":"(resp_[^"]+)"`, streamed))).Body
		for _, member := range strings.SplitAfter(options+","+reasonTools, `,"`) {
			member = strings.TrimSuffix(strings.TrimPrefix(member, `"`), `,"`)
			if n := strings.Count(streamed, `"`+member); n < 3 {
				t.Errorf("%s: %s is in %d events of\n%s", model, member, n, streamed)
			}
			if !strings.Contains(kept, `"`+member) || !strings.Contains(queued, `"`+member) {
				t.Errorf("%s: %s is not in\n%s\n%s", model, member, kept, queued)
			}
		}
	}
}
