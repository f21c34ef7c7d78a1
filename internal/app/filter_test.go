package app

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"penstock"
	"penstock/internal/config"
	"penstock/internal/filter"
	"penstock/internal/sim"
)

const filterKey = "psk_filter_7gq2xk9dmw4ztfv8hsb3rnj6cp"

// filterRig is a whole process with filters, over a simulated upstream.
type filterRig struct {
	t       *testing.T
	app     *app
	url     string
	sim     string
	seen    *seenBodies // by the upstream
	counter *filter.Counter
}

// newFilterRig starts a process whose filters are a counter, and then those of more.
func newFilterRig(t *testing.T, more ...filter.Output) *filterRig {
	t.Helper()
	model, err := sim.New(sim.Config{OutputTokens: 5})
	if err != nil {
		t.Fatal(err)
	}
	seen := &seenBodies{next: model}
	upstream := httptest.NewServer(seen)
	t.Cleanup(func() { model.Close(); upstream.Close() })
	batching := config.Batching{MaxInputs: 8, Wait: 50 * time.Millisecond}
	snapshot, err := config.NewSnapshot(config.File{
		Process: config.Process{Listen: "127.0.0.1:0", AdminListen: "127.0.0.1:0", Data: t.TempDir(), Log: config.Log{Level: "error"}, ShutdownGrace: time.Second},
		Providers: map[string]config.ProviderConfig{
			"openai": {Kind: config.KindOpenAI, BaseURL: upstream.URL + "/v1"}, "claude": {Kind: config.KindAnthropic, BaseURL: upstream.URL + "/v1", APIKey: config.NewSecret("k")},
		},
		Targets: map[string]config.TargetConfig{
			"main": {Provider: "openai", UpstreamModel: "sim"}, "claude": {Provider: "claude", UpstreamModel: "sim"},
			"vectors": {Provider: "openai", UpstreamModel: "sim", Batching: batching},
		},
		Models: map[string]config.ModelConfig{"fast": {Targets: []string{"main"}}, "claude": {Targets: []string{"claude"}}, "vectors": {Targets: []string{"vectors"}}},
		Tenants: map[string]config.TenantConfig{"search": {
			Keys: []config.KeyConfig{{Name: "app", Secret: config.NewSecret(filterKey), Scopes: penstock.Scopes}},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	chain, counter := filter.Counting()
	chain.Outputs = append(chain.Outputs, more...)
	for _, f := range more {
		if in, ok := f.(filter.Input); ok {
			chain.Inputs = append(chain.Inputs, in)
		}
	}
	opened := make(chan Addresses, 1)
	r := &filterRig{t: t, sim: upstream.URL, seen: seen, counter: counter}
	r.app = &app{live: config.NewLive(snapshot), Options: Options{Config: snapshot, Role: RoleAll, Log: io.Discard, Filters: chain, Ready: func(a Addresses) { opened <- a }}}
	if err := r.app.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	over := make(chan error, 1)
	go func() { over <- r.app.run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-over; err != nil {
			t.Error(err)
		}
		if err := r.app.close(); err != nil {
			t.Error(err)
		}
	})
	select {
	case a := <-opened:
		r.url = a.API
	case err := <-over:
		t.Fatalf("the process ended: %v", err)
	}
	return r
}

// filterReply is an answer of the process.
type filterReply struct {
	status int
	header http.Header
	body   string
}

func (r *filterRig) do(method, path, body string, headers ...string) filterReply {
	r.t.Helper()
	return r.send(method, path, strings.NewReader(body), headers...)
}

func (r *filterRig) send(method, path string, body io.Reader, headers ...string) filterReply {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.url+path, body)
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+filterKey)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return filterReply{resp.StatusCode, resp.Header, string(text)}
}

// post is a call that has to succeed.
func (r *filterRig) post(path, body string, headers ...string) filterReply {
	r.t.Helper()
	a := r.do(http.MethodPost, path, body, headers...)
	if a.status >= 300 {
		r.t.Errorf("%s: %d %s", path, a.status, a.body)
	}
	return a
}

// member reads a member of an answer that is an object.
func (a filterReply) member(t *testing.T, name string) string {
	t.Helper()
	var all map[string]any
	if err := json.Unmarshal([]byte(a.body), &all); err != nil {
		t.Fatalf("%v in %s", err, a.body)
	}
	return fmt.Sprint(all[name])
}

// await polls until a member of an answer is one of some values.
func (r *filterRig) await(path, name string, values ...string) filterReply {
	r.t.Helper()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	late := time.After(30 * time.Second)
	for {
		a := r.do(http.MethodGet, path, "")
		for _, v := range values {
			if a.member(r.t, name) == v {
				return a
			}
		}
		select {
		case <-look.C:
		case <-late:
			r.t.Fatalf("%s is not one of %v in %s", name, values, a.body)
		}
	}
}

// awaitMetric waits until a metric has a value.
func (r *filterRig) awaitMetric(line string) {
	r.t.Helper()
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	late := time.After(10 * time.Second)
	for {
		w := httptest.NewRecorder()
		r.app.metrics.Handler().ServeHTTP(w, httptest.NewRequestWithContext(r.t.Context(), http.MethodGet, "/metrics", nil))
		if strings.Contains(w.Body.String(), line) {
			return
		}
		select {
		case <-look.C:
		case <-late:
			r.t.Fatalf("there is no %s", line)
		}
	}
}

// job submits a job and waits for its end.
func (r *filterRig) job(body string, headers ...string) filterReply {
	r.t.Helper()
	a := r.post("/v1/jobs", body, headers...)
	return r.await("/v1/jobs/"+a.member(r.t, "id"), "status", "succeeded", "failed")
}

// upload stores the lines of a batch.
func (r *filterRig) upload(lines string) string {
	r.t.Helper()
	return r.store("batch", lines)
}

// store stores a file for a purpose.
func (r *filterRig) store(purpose, content string) string {
	r.t.Helper()
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	_ = w.WriteField("purpose", purpose)
	part, err := w.CreateFormFile("file", "file")
	if err != nil {
		r.t.Fatal(err)
	}
	_, _ = io.WriteString(part, content)
	_ = w.Close()
	a := r.send(http.MethodPost, "/v1/files", &form, "Content-Type", w.FormDataContentType())
	if a.status >= 300 {
		r.t.Fatalf("%d %s", a.status, a.body)
	}
	return a.member(r.t, "id")
}

// filterWay is a path of text through the process, with the filter calls that it must make.
type filterWay struct {
	name string
	take func(r *filterRig)
	want filter.Counts // of Chunks and Errors, the least
}

// message is a body of a chat, or of a message.
func message(model, text, more string) string {
	return fmt.Sprintf(`{"model":%q,"max_tokens":9,"messages":[{"role":"user","content":%q}]%s}`, model, text, more)
}

// callWays are the synchronous calls, plain and streamed.
func callWays() []filterWay {
	plain, streamed := filter.Counts{Inputs: 1, Answers: 1, Chunks: 1}, filter.Counts{Inputs: 1, Answers: 1, Chunks: 3}
	way := func(name, path, body string, want filter.Counts) filterWay {
		return filterWay{name, func(r *filterRig) { r.post(path, body) }, want}
	}
	return []filterWay{
		way("chat", "/v1/chat/completions", message("fast", "Hi", ""), plain),
		way("chat, streamed", "/v1/chat/completions", message("fast", "Hi", `,"stream":true`), streamed),
		way("chat, translated", "/v1/chat/completions", message("claude", "Hi", ""), plain),
		way("chat, translated and streamed", "/v1/chat/completions", message("claude", "Hi", `,"stream":true`), streamed),
		way("completions", "/v1/completions", `{"model":"fast","prompt":"Hi"}`, plain),
		way("completions, streamed", "/v1/completions", `{"model":"fast","prompt":"Hi","stream":true}`, streamed),
		way("messages", "/v1/messages", message("claude", "Hi", ""), plain),
		way("messages, streamed", "/v1/messages", message("claude", "Hi", `,"stream":true`), streamed),
		way("count of tokens", "/v1/messages/count_tokens", `{"model":"claude","messages":[{"role":"user","content":"Hi"}]}`, plain),
		way("responses", "/v1/responses", `{"model":"fast","input":"Hi","store":false}`, plain),
		way("responses, streamed", "/v1/responses", `{"model":"fast","input":"Hi","store":false,"stream":true}`, streamed),
		way("embeddings", "/v1/embeddings", `{"model":"fast","input":"Hi"}`, plain),
		way("rerank", "/v1/rerank", `{"model":"fast","query":"Hi","documents":["Hi","there"]}`, plain),
		{"embeddings, put together", func(r *filterRig) {
			var all sync.WaitGroup
			for i := range 3 {
				all.Go(func() { r.post("/v1/embeddings", fmt.Sprintf(`{"model":"vectors","input":"Hi %d"}`, i)) })
			}
			all.Wait()
		}, filter.Counts{Inputs: 3, Answers: 3, Chunks: 3}},
		{"error of an upstream, passed through", func(r *filterRig) {
			if a := r.do(http.MethodPost, "/v1/chat/completions", message("fast", "[sim:fault=bad_request]", "")); a.status != http.StatusBadRequest {
				r.t.Errorf("%d %s", a.status, a.body)
			}
		}, filter.Counts{Inputs: 1, Answers: 1, Errors: 2}},
		{"error within a stream", func(r *filterRig) {
			r.post("/v1/chat/completions", message("fast", "[sim:fault=error_mid_stream]", `,"stream":true`))
		}, filter.Counts{Inputs: 1, Answers: 1, Chunks: 1, Errors: 1}},
		{"call that runs as a job", func(r *filterRig) {
			r.post("/v1/chat/completions", message("fast", "once", ""), "Idempotency-Key", "once")
		}, plain},
		{"response that is kept, and one that goes on from it", func(r *filterRig) {
			first := r.post("/v1/responses", `{"model":"fast","input":"Hi","store":true}`)
			r.post("/v1/responses", fmt.Sprintf(`{"model":"fast","input":"And?","store":true,"previous_response_id":%q}`, first.member(r.t, "id")))
		}, filter.Counts{Inputs: 2, Answers: 2, Chunks: 2}},
		{"response in the background", func(r *filterRig) {
			a := r.post("/v1/responses", `{"model":"fast","input":"Later","background":true,"store":true}`)
			r.await("/v1/responses/"+a.member(r.t, "id"), "status", "completed")
		}, plain},
	}
}

// jobWays are jobs, batches and retries.
func jobWays() []filterWay {
	three := filter.Counts{Inputs: 3, Answers: 3, Chunks: 3}
	return []filterWay{
		{"job of one input", func(r *filterRig) { r.job(`{"model":"fast","input":"Hi"}`) }, filter.Counts{Inputs: 1, Answers: 1, Chunks: 1}},
		{"job of several inputs", func(r *filterRig) {
			one := `{"body":{"messages":[{"role":"user","content":"Hi"}]}}`
			r.job(fmt.Sprintf(`{"model":"fast","inputs":[%s,%[1]s,%[1]s]}`, one))
		}, three},
		{"job that is shown while it runs", func(r *filterRig) { r.job(`{"model":"fast","input":"Hi","stream":true}`) }, filter.Counts{Inputs: 1, Answers: 1, Chunks: 3}},
		{"lines of a file", func(r *filterRig) {
			var lines strings.Builder
			for i := range 3 {
				fmt.Fprintf(&lines, `{"custom_id":"row-%d","body":{"messages":[{"role":"user","content":"Hi"}]}}`+"\n", i)
			}
			r.job(fmt.Sprintf(`{"model":"fast","input_file":%q}`, r.upload(lines.String())))
		}, three},
		{"batch of OpenAI's", func(r *filterRig) {
			var lines strings.Builder
			for i := range 3 {
				fmt.Fprintf(&lines, `{"custom_id":"row-%d","method":"POST","url":"/v1/chat/completions","body":%s}`+"\n", i, message("fast", "Hi", ""))
			}
			a := r.post("/v1/batches", fmt.Sprintf(`{"input_file_id":%q,"endpoint":"/v1/chat/completions","completion_window":"24h"}`, r.upload(lines.String())))
			r.await("/v1/batches/"+a.member(r.t, "id"), "status", "completed")
		}, three},
		{"batch of Anthropic's", func(r *filterRig) {
			var requests []string
			for i := range 3 {
				requests = append(requests, fmt.Sprintf(`{"custom_id":"row-%d","params":%s}`, i, message("claude", "Hi", "")))
			}
			a := r.post("/v1/messages/batches", fmt.Sprintf(`{"requests":[%s]}`, strings.Join(requests, ",")))
			r.await("/v1/messages/batches/"+a.member(r.t, "id"), "processing_status", "ended")
		}, three},
		{"item that is tried again", func(r *filterRig) {
			r.job(`{"model":"fast","input":"[sim:fault=server_error times=1]"}`)
		}, filter.Counts{Inputs: 1, Answers: 2, Chunks: 1, Errors: 1}},
		{"job over items of another", func(r *filterRig) {
			a := r.job(`{"model":"fast","input":"[sim:fault=bad_request times=1]"}`)
			again := r.post("/v1/jobs/"+a.member(r.t, "id")+"/retry", `{}`)
			r.await("/v1/jobs/"+again.member(r.t, "id"), "status", "succeeded")
		}, filter.Counts{Inputs: 2, Answers: 2, Chunks: 1, Errors: 1}},
	}
}

// cacheWays are answers that several callers get. The filters see each input, and the answer once: before the cache stores it
// and before any caller gets it.
func cacheWays() []filterWay {
	use := []string{"x-penstock-cache", "use"}
	return []filterWay{
		{"kept answer", func(r *filterRig) {
			r.post("/v1/chat/completions", message("fast", "kept", ""), use...)
			if a := r.post("/v1/chat/completions", message("fast", "kept", ""), use...); a.header.Get("x-penstock-cache") != "hit" {
				r.t.Errorf("the cache answered %q", a.header.Get("x-penstock-cache"))
			}
		}, filter.Counts{Inputs: 2, Answers: 1, Chunks: 1}},
		{"answer that two callers read", func(r *filterRig) {
			body := message("fast", "[sim:hold=both]", `,"stream":true`)
			var both sync.WaitGroup
			for range 2 {
				both.Go(func() { r.post("/v1/chat/completions", body, use...) })
			}
			r.awaitMetric(`penstock_cache_answers_total{model="fast",result="coalesced"} 1`)
			resp, err := http.Post(r.sim+"/sim/release?name=both", "application/json", nil)
			if err != nil {
				r.t.Fatal(err)
			}
			resp.Body.Close()
			both.Wait()
		}, filter.Counts{Inputs: 2, Answers: 1, Chunks: 3}},
	}
}

// The filters see all text on every path: each input once, and each answer before any caller gets it.
func TestFiltersAreAskedOnEveryWay(t *testing.T) {
	t.Parallel()
	r := newFilterRig(t)
	for _, way := range append(append(callWays(), jobWays()...), cacheWays()...) {
		before := r.counter.Counts()
		way.take(r)
		after, want := r.counter.Counts(), way.want
		got := filter.Counts{Inputs: after.Inputs - before.Inputs, Answers: after.Answers - before.Answers, Chunks: after.Chunks - before.Chunks, Errors: after.Errors - before.Errors}
		if got.Inputs != want.Inputs || got.Answers != want.Answers || got.Chunks < want.Chunks || got.Errors < want.Errors || (want.Errors == 0 && got.Errors > 0) {
			t.Errorf("%s: the filters counted %+v, want %+v", way.name, got, want)
		}
	}
}

// guardOf blocks inputs that contain a word, and all answers to a model.
type guardOf struct{ word, model string }

func (g guardOf) Input(_ context.Context, s *filter.Subject) (filter.Verdict, error) {
	if bytes.Contains(s.Body, []byte(g.word)) {
		return filter.Verdict{Action: filter.Block, Reason: "It holds a forbidden word."}, nil
	}
	return filter.Verdict{}, nil
}

func (g guardOf) Review(s *filter.Subject) filter.Review {
	if s.Model != g.model || s.Tenant != "search" || s.Key != "app" {
		return nil
	}
	return g
}

func (guardOf) Chunk(context.Context, *filter.Chunk) (filter.Verdict, error) {
	return filter.Verdict{Action: filter.Block, Reason: "It is not to be seen."}, nil
}

// A blocked input reaches no store, no cache and no upstream, on every path. A blocked answer reaches no caller.
func TestFiltersBlock(t *testing.T) {
	t.Parallel()
	r := newFilterRig(t, guardOf{word: "forbidden", model: "claude"})
	refused := func(name string, a filterReply, status int) {
		t.Helper()
		if a.status != status || !strings.Contains(a.body, "content_blocked") && !strings.Contains(a.body, "invalid_request_error") || strings.Contains(a.body, "sim") {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	use := []string{"x-penstock-cache", "use"}
	for _, stream := range []string{"", `,"stream":true`} {
		refused("input of a chat", r.do("POST", "/v1/chat/completions", message("fast", "forbidden", stream), use...), 400)
		refused("answer of a message", r.do("POST", "/v1/messages", message("claude", "Hi", stream)), 400)
		refused("answer that is translated", r.do("POST", "/v1/chat/completions", message("claude", "Hi", stream), use...), 400)
		refused("answer that is not kept", r.do("POST", "/v1/chat/completions", message("claude", "Hi", stream), use...), 400)
		refused("words of an upstream", r.do("POST", "/v1/messages", message("claude", "[sim:fault=bad_request]", stream)), 400)
	}
	refused("input of a call as a job", r.do("POST", "/v1/chat/completions", message("fast", "forbidden", ""), "Idempotency-Key", "f"), 400)
	refused("input of a job", r.do("POST", "/v1/jobs", `{"model":"fast","input":"forbidden"}`), 400)
	refused("input of a job of two", r.do("POST", "/v1/jobs", `{"model":"fast","inputs":[{"body":{"messages":[]}},{"body":{"messages":["forbidden"]}}]}`), 400)
	if a := r.do("GET", "/v1/jobs", ""); !strings.Contains(a.body, `"data":[]`) {
		t.Errorf("a blocked input was stored: %s", a.body)
	}
	job := r.job(`{"model":"claude","endpoint":"/v1/messages","input":"Hi"}`)
	if job.member(t, "status") != "failed" || !strings.Contains(job.body, "It is not to be seen.") {
		t.Errorf("the job whose answer is blocked: %s", job.body)
	}
	lines := `{"custom_id":"a","body":{"messages":[{"role":"user","content":"forbidden"}]}}` + "\n" + `{"custom_id":"b","body":{"messages":[{"role":"user","content":"Hi"}]}}` + "\n"
	job = r.job(fmt.Sprintf(`{"model":"fast","input_file":%q}`, r.upload(lines)))
	results := r.do("GET", "/v1/jobs/"+job.member(t, "id")+"/results", "")
	if strings.Count(results.body, "content_blocked") != 1 || strings.Count(results.body, `"status":"succeeded"`) != 1 {
		t.Errorf("the results of a batch with a blocked line: %s", results.body)
	}
	if got, passed := r.executions("forbidden"), r.executions("Hi"); got != 0 || passed == 0 {
		t.Errorf("a blocked input ran upstream %d times, and an allowed one %d times", got, passed)
	}
}

// executions is how often a prompt ran upstream.
func (r *filterRig) executions(prompt string) uint32 {
	r.t.Helper()
	resp, err := http.Get(r.sim + "/sim/executions?prompt=" + prompt)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	var found sim.Executions
	if err := json.NewDecoder(resp.Body).Decode(&found); err != nil {
		r.t.Fatal(err)
	}
	return found.Attempts
}
