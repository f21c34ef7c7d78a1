package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// dialectScenarios are conversations with the endpoints beside chat. Their server has a target for each
// dialect: model chats is one that speaks OpenAI's, model claude one that speaks Anthropic's. The upstream of
// both is sim; that of played-chats and played-claude says what testdata/upstream says, and is asked how it was called
// last, so those who play with it have it for themselves.
var dialectScenarios = []scenario{
	{name: "dialect_completions", play: dialectCompletions},
	{name: "dialect_embeddings", play: dialectEmbeddings},
	{name: "dialect_rerank", play: dialectRerank},
	{name: "dialect_responses", play: dialectResponses},
	{name: "dialect_messages", play: dialectMessages},
	{name: "dialect_messages_stream", play: dialectMessagesStream},
	{name: "dialect_messages_errors", play: dialectMessagesErrors},
	{name: "dialect_models", play: dialectModels},
	{name: "dialect_jobs", play: dialectJobs},
	{name: "translate_chat", play: translateChat, own: true},
	{name: "translate_chat_stream", play: translateChatStream, own: true},
	{name: "translate_messages", play: translateMessages, own: true},
	{name: "translate_messages_stream", play: translateMessagesStream, own: true},
}

// upstreamIDs are ids that the upstream gives, which differ from run to run.
const upstreamIDs = `\b(msg|toolu|cmpl|req)([-_])[0-9a-f]{24}\b`

func TestDialects(t *testing.T) {
	t.Parallel()
	shared := stageDialects(t)
	for _, sc := range dialectScenarios {
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			on := shared
			if sc.own {
				on = stageDialects(t)
			}
			s := newScene(t, on)
			s.script.mask(upstreamIDs, "${1}${2}<id>")
			sc.play(s)
			s.compare(goldenFile{name: sc.name, engine: "sqlite"})
		})
	}
}

// smallKey is that of a tenant who may queue no more than one item.
const smallKey = "psk_e2e_small_7gq2xk9dmw4ztfv8hsb3rnj6cp"

// stageDialects starts a server whose targets speak different dialects.
func stageDialects(t *testing.T) *staged {
	t.Helper()
	st := &staged{data: t.TempDir(), sim: startSim(t), played: playUpstream(t)}
	st.setSim(t, `{"first_token_latency":"0s","tokens_per_second":0,"output_tokens":4}`)
	address, metrics := FreeAddress(t), FreeAddress(t)
	path := filepath.Join(t.TempDir(), "penstock.yaml")
	err := os.WriteFile(path, fmt.Appendf(nil, `
listen: %s
admin_listen: %s
data: %s
providers:
  openai: {kind: openai, base_url: %[4]s/v1}
  claude: {kind: anthropic, base_url: %[4]s/v1, api_key: "${E2E_UPSTREAM_KEY}"}
  chat-only: {kind: together, base_url: %[4]s/v1, api_key: "${E2E_UPSTREAM_KEY}"}
  gemini: {kind: gemini, base_url: %[4]s/v1beta, api_key: "${E2E_UPSTREAM_KEY}"}
  bedrock: {kind: bedrock, base_url: "%[4]s", aws: {region: eu-central-1, access_key_id: AKIDEXAMPLE, secret_access_key: "${E2E_UPSTREAM_KEY}"}}
  played-openai: {kind: openai, base_url: %[5]s/v1}
  played-claude: {kind: anthropic, base_url: %[5]s/v1, api_key: "${E2E_UPSTREAM_KEY}"}
targets:
  chats: {provider: openai, upstream_model: sim-1, price: {input: "1", output: "2"}}
  messages: {provider: claude, upstream_model: sim-1, price: {input: "1", output: "2"}}
  chat-only: {provider: chat-only, upstream_model: sim-1, price: {input: "1", output: "2"}}
  gemini: {provider: gemini, upstream_model: gemini-sim, price: {input: "1", output: "2"}}
  bedrock: {provider: bedrock, upstream_model: "eu.anthropic.claude-sim-v1:0", price: {input: "1", output: "2"}}
  narrow: {provider: openai, upstream_model: sim-1, limits: {requests_per_minute: 1}}
  played-chats: {provider: played-openai, upstream_model: up, price: {input: "1", cached_input: "0.1", output: "2"}}
  played-messages: {provider: played-claude, upstream_model: up, price: {input: "1", cached_input: "0.1", output: "2"}}
models:
  chats: {targets: [chats]}
  claude: {targets: [messages]}
  chat-only: {targets: [chat-only]}
  gemini: {targets: [gemini]}
  bedrock: {targets: [bedrock]}
  narrow: {targets: [narrow]}
  played-chats: {targets: [played-chats]}
  played-claude: {targets: [played-messages]}
  either: {targets: [messages, chats], on_incapable: skip}
  mixed: {targets: [messages, chats]}
  claude-alone: {targets: [messages, chats], on_incapable: refuse}
tenants:
  acme: {media_hosts: [any], keys: [{name: e2e, secret: "${E2E_KEY}"}]}
  small: {keys: [{name: e2e, secret: "${E2E_SMALL_KEY}"}], limits: {queued_items: 1}}
`, address, metrics, st.data, st.sim, st.played.URL), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	env := []string{"E2E_KEY=" + Key, "E2E_SMALL_KEY=" + smallKey, "E2E_UPSTREAM_KEY=sk-ant-upstream"}
	st.Server = &Server{Process: Start(t, env, "serve", "--config", path), URL: "http://" + address}
	st.AwaitReady()
	st.metrics = "http://" + metrics
	st.contract = readContract(t, st.URL)
	t.Cleanup(func() { st.checkLog(t) })
	return st
}

func dialectCompletions(s *scene) {
	const path = "/v1/completions"
	a := s.tell("a completion", post(path, `{"model":"chats","prompt":"complete plainly"}`))
	s.tell("explained", get("/v1/requests/"+a.Header.Get("X-Request-Id")))
	a = s.tell("streamed", post(path, `{"model":"chats","prompt":"complete in pieces","stream":true}`))
	s.tell("explained, with usage that nobody asked for", get("/v1/requests/"+a.Header.Get("X-Request-Id")))
	s.tell("the upstream refuses the body", post(path, `{"model":"chats"}`))
	s.tell("cut in the middle", post(path, `{"model":"chats","prompt":"cut [sim:tokens=2 fault=disconnect]","stream":true}`))
	s.tell("with a key", post(path, `{"model":"chats","prompt":"complete once"}`, "Idempotency-Key", "dialect-completion"))
}

func dialectEmbeddings(s *scene) {
	const path = "/v1/embeddings"
	a := s.tell("packed", post(path, `{"model":"chats","input":["one","two"],"encoding_format":"base64","dimensions":4}`))
	s.tell("explained: input only", get("/v1/requests/"+a.Header.Get("X-Request-Id")))
	s.tell("streamed", post(path, `{"model":"chats","input":"one","stream":true}`))
	s.tell("the upstream fails", post(path, `{"model":"chats","input":"one [sim:fault=server_error]"}`))
	s.tell("a target that has none", post(path, `{"model":"claude","input":"one"}`))
}

func dialectRerank(s *scene) {
	s.script.mask(`\brerank-[0-9A-Z]{26}\b`, "rerank-<id>")
	a := s.tell("ranked", post(rerankPath, `{"model":"chats","top_n":2,"return_documents":true,`+rivers+`}`))
	s.tell("explained", get("/v1/requests/"+a.Header.Get("X-Request-Id")))
	s.tell("a document that is no text", post(rerankPath, `{"model":"chats","query":"one","documents":["one",2]}`))
	s.tell("the upstream fails", post(rerankPath, `{"model":"chats","query":"one [sim:fault=server_error]","documents":["one"]}`))
	s.tell("a target that has none", post(rerankPath, `{"model":"claude","query":"one","documents":["one"]}`))
}

func dialectResponses(s *scene) {
	const path = "/v1/responses"
	s.script.mask(`\bconv_[0-9A-Z]{26}\b`, "conv_<id>")
	s.script.mask(`"created_at": [0-9]{10}\b`, `"created_at": <time>`)
	for _, member := range []string{`"background":true,"store":false`, `"background":"yes"`, `"previous_response_id":"resp_1"`, `"conversation":"conv_1"`} {
		s.tell("refused: "+member, post(path, `{"model":"chats","input":"Hi",`+member+`}`))
	}
	s.tell("a reference to no item", post(path, `{"model":"chats","input":[{"role":"user","content":"Hi"},{"type":"item_reference"}]}`))
	s.tell("a role that no target knows", post("/v1/conversations", `{"items":[{"role":"king","content":"Hi"}]}`))
	s.tell("a new item that refers to no item", post("/v1/conversations", `{"items":[{"type":"item_reference","id":"msg_1"}]}`))
	waiting := s.conversation(`{"type":"function_call","call_id":"call_1","name":"look","arguments":"{}"}`)
	s.tell("the caller's item is wrong after one of an earlier turn", post(path, `{"model":"claude","input":"Hi","conversation":"`+waiting+`"}`))
	foreign := s.conversation(`{"type":"computer_call","call_id":"call_1"}`)
	s.tell("an item of an earlier turn is wrong", post(path, `{"model":"claude","input":"Hi","conversation":"`+foreign+`"}`))
}

// conversation begins a conversation with an item, and returns its id.
func (s *scene) conversation(item string) string {
	s.Helper()
	a := s.tell("a conversation", post("/v1/conversations", `{"items":[`+item+`]}`))
	var made struct{ ID string }
	if err := json.Unmarshal([]byte(a.Body), &made); err != nil {
		s.Fatal(err)
	}
	return made.ID
}

const messagesPath = "/v1/messages"

// message is the body of a message that asks one question.
func message(question string, members ...string) string {
	return ask(question, append([]string{`"model":"claude"`, `"max_tokens":16`}, members...)...)
}

func dialectMessages(s *scene) {
	a := s.tell("a message, with the key where Anthropic's SDK puts it",
		post(messagesPath, message("message plainly"), "Authorization", "", "x-api-key", Key, "anthropic-version", "2023-06-01"))
	s.tell("explained", get("/v1/requests/"+a.Header.Get("X-Request-Id")))
	s.tell("a tool is used", post(messagesPath, message("use it", `"tools":[{"name":"look","input_schema":{"type":"object"}}]`, `"tool_choice":{"type":"any"}`)))
	s.tell("with a key", post(messagesPath, message("message once"), "Idempotency-Key", "dialect-message"))
	counted := s.tell("tokens, counted by the upstream", post(messagesPath+"/count_tokens", ask("how long is this", `"model":"claude"`)))
	s.tell("explained", get("/v1/requests/"+counted.Header.Get("X-Request-Id")))
	s.tell("tokens, estimated where no target counts", post(messagesPath+"/count_tokens", ask("how long is this", `"model":"chats"`)))
}

func dialectMessagesStream(s *scene) {
	a := s.tell("streamed", post(messagesPath, message("message in pieces", `"stream":true`)))
	s.tell("explained", get("/v1/requests/"+a.Header.Get("X-Request-Id")))
	s.tell("cut in the middle", post(messagesPath, message("cut [sim:tokens=2 fault=disconnect]", `"stream":true`)))
	s.tell("an error where the first event belongs", post(messagesPath, message("no [sim:fault=error_in_200]", `"stream":true`)))
}

func dialectMessagesErrors(s *scene) {
	s.tell("without a key", post(messagesPath, message("hi"), "Authorization", ""))
	s.tell("an unknown model", post(messagesPath, ask("hi", `"model":"nobody"`)))
	s.tell("a body that we refuse", post(messagesPath, message("hi", `"stream":7`)))
	s.tell("a body that the upstream refuses", post(messagesPath, `{"model":"claude","max_tokens":0,"messages":[]}`))
	s.tell("a busy upstream", post(messagesPath, message("busy [sim:fault=overloaded]")))
	s.tell("a path that is not there", post(messagesPath+"/batches", "{}", "anthropic-version", "2023-06-01"))
	s.tell("the wrong method", get(messagesPath, "anthropic-version", "2023-06-01"))
}

func dialectModels(s *scene) {
	s.tell("in OpenAI's shape", get("/v1/models"))
	s.tell("in Anthropic's shape", get("/v1/models", "anthropic-version", "2023-06-01"))
	s.tell("its first page", get("/v1/models?limit=1", "anthropic-version", "2023-06-01"))
	s.tell("one of them", get("/v1/models/claude", "anthropic-version", "2023-06-01"))
	s.tell("one that is not there", get("/v1/models/nobody", "anthropic-version", "2023-06-01"))
}

func dialectJobs(s *scene) {
	for _, body := range []string{
		`{"model":"chats","endpoint":"/v1/embeddings","defaults":{"dimensions":2,"encoding_format":"base64"},"inputs":[{"custom_id":"a","body":{"input":"one"}}]}`,
		`{"model":"chats","endpoint":"/v1/completions","input":"complete later"}`,
		`{"model":"claude","endpoint":"/v1/messages","defaults":{"max_tokens":16},"inputs":[{"custom_id":"a","body":` +
			`{"messages":[{"role":"user","content":"message later"}]}}]}`,
	} {
		id := s.submit(body)
		s.finished(id)
		s.tell("the results of "+body, get("/v1/jobs/"+id+"/results"))
	}
	// No target of the model has embeddings: that ends the item at once instead of being tried again.
	id := s.submit(`{"model":"claude","endpoint":"/v1/embeddings","input":"nobody embeds this"}`)
	s.finished(id)
	if a := s.call(get("/v1/jobs/" + id)); a.Status != http.StatusOK || !strings.Contains(a.Body, `"code":"invalid_request"`) {
		s.Errorf("a job that no target can do ended as %s", a.Body)
	}
}
