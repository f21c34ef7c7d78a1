package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"penstock/internal/sim"
)

// embedRig is a server whose calls for embeddings go to an upstream of its own.
type embedRig struct {
	*Server
	upstream string
}

func newEmbedRig(t testing.TB, target string) embedRig {
	t.Helper()
	upstream := startSim(t, "--first-token-latency", "20ms")
	address := FreeAddress(t)
	path := filepath.Join(t.TempDir(), "penstock.yaml")
	err := os.WriteFile(path, fmt.Appendf(nil, `
listen: %s
admin_listen: %s
data: %s
providers: {upstream: {kind: openai, base_url: %s/v1}}
targets: {sim: {provider: upstream, upstream_model: sim-embed, price: {input: "1", output: "1"}, %s}}
models: {vectors: {targets: [sim]}}
tenants: {acme: {keys: [{name: e2e, secret: "${E2E_KEY}"}]}}
`, address, FreeAddress(t), t.TempDir(), upstream, target), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Process: Start(t, []string{"E2E_KEY=" + Key}, "serve", "--config", path), URL: "http://" + address}
	s.AwaitReady()
	return embedRig{s, upstream}
}

func (r embedRig) stats() (stats sim.Stats) {
	r.t.Helper()
	resp, err := http.Get(r.upstream + "/sim/stats")
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&stats); err != nil {
		r.t.Fatal(err)
	}
	return stats
}

// vectorOf is the vector that the upstream has for an input, asked without us.
func (r embedRig) vectorOf(input string) string {
	r.t.Helper()
	resp, err := http.Post(r.upstream+"/v1/embeddings", "application/json",
		strings.NewReader(fmt.Sprintf(`{"model":"sim-embed","dimensions":8,"input":%q}`, input)))
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return vectorIn(r.t, string(body))
}

// vectorIn is the only vector of an answer.
func vectorIn(t testing.TB, body string) string {
	t.Helper()
	var list struct {
		Data []struct {
			Index     int             `json:"index"`
			Embedding json.RawMessage `json:"embedding"`
		} `json:"data"`
	}
	if err := json.Unmarshal([]byte(body), &list); err != nil || len(list.Data) != 1 || list.Data[0].Index != 0 {
		t.Fatalf("want one vector, numbered 0: %.300s", body)
	}
	return string(list.Data[0].Embedding)
}

// embed submits a job of inputs and waits for its end.
func (r embedRig) embed(inputs []string) (job string) {
	r.t.Helper()
	lines := make([]string, len(inputs))
	for i, input := range inputs {
		lines[i] = fmt.Sprintf(`{"custom_id":"%d","body":{"input":%q}}`, i, input)
	}
	body := `{"model":"vectors","endpoint":"/v1/embeddings","defaults":{"dimensions":8},"inputs":[` + strings.Join(lines, ",") + `]}`
	job = "/v1/jobs/" + r.read(Call{Method: "POST", Path: "/v1/jobs", Body: body}).ID
	Await(r.t, "the end of a job", func() error {
		if got := r.read(get(job)).Status; got != "succeeded" {
			return fmt.Errorf("%s is %s", job, got)
		}
		return nil
	})
	return job
}

func inputsOf(n int) []string {
	inputs := make([]string, n)
	for i := range inputs {
		inputs[i] = fmt.Sprintf("the text number %d", i)
	}
	return inputs
}

// The items of a job share calls upstream; each gets its own vector, one that the upstream refuses fails alone, and
// what the upstream charged is what the job used.
func TestEmbeddingItemsShareCalls(t *testing.T) {
	t.Parallel()
	r := newEmbedRig(t, "limits: {concurrency: 8}")
	inputs := inputsOf(200)
	inputs[77] = "poison [sim:fault=bad_request]"
	job := r.embed(inputs)
	stats := r.stats()
	var status struct {
		Counts struct{ Succeeded, Failed int }
		Usage  struct {
			Input int64  `json:"input_tokens"`
			Cost  string `json:"cost_usd"`
		}
	}
	if err := json.Unmarshal([]byte(r.Do(get(job)).Body), &status); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d calls upstream for %d items", stats.Requests, len(inputs))
	if status.Counts.Succeeded != 199 || status.Counts.Failed != 1 || stats.Requests > 100 {
		t.Errorf("%+v with %d calls upstream; want one failure and few calls", status, stats.Requests)
	}
	if status.Usage.Input != stats.InputTokens {
		t.Errorf("the job used %d tokens, the upstream counts %d", status.Usage.Input, stats.InputTokens)
	}
	for line := range strings.Lines(r.Do(get(job + "/results?order=input")).Body) {
		var result struct {
			Index    int
			Status   string
			Response struct{ Body json.RawMessage }
		}
		if err := json.Unmarshal([]byte(line), &result); err != nil {
			t.Fatal(err)
		}
		if (result.Status == "failed") != (result.Index == 77) {
			t.Errorf("item %d is %s", result.Index, result.Status)
		}
		if result.Index%10 == 0 && vectorIn(t, string(result.Response.Body)) != r.vectorOf(inputs[result.Index]) {
			t.Errorf("item %d has another one's vector", result.Index)
		}
	}
}

// Synchronous calls share calls too, and their records say with whom. They wait for others while one of their kind is
// under way, so one is, all the time.
func TestEmbeddingRequestsShareCalls(t *testing.T) {
	t.Parallel()
	r := newEmbedRig(t, "batching: {wait: 300ms}")
	var first sync.WaitGroup
	first.Go(func() {
		_, _ = r.Try(t.Context(), Call{Method: "POST", Path: "/v1/embeddings", Body: `{"model":"vectors","dimensions":8,"input":"first [sim:hold=first]"}`})
	})
	Await(t, "the first call", func() error {
		if n := r.stats().InFlight; n != 1 {
			return fmt.Errorf("%d calls are under way", n)
		}
		return nil
	})
	inputs := inputsOf(60)
	answers := make([]Answer, len(inputs))
	var all sync.WaitGroup
	for i, input := range inputs {
		all.Go(func() {
			body := fmt.Sprintf(`{"model":"vectors","dimensions":8,"input":%q}`, input)
			answers[i], _ = r.Try(t.Context(), Call{Method: "POST", Path: "/v1/embeddings", Body: body})
		})
	}
	all.Wait()
	(&staged{Server: r.Server, sim: r.upstream}).release("first")
	first.Wait()
	if stats := r.stats(); stats.Requests > 30 {
		t.Errorf("%d calls upstream for %d requests", stats.Requests, len(inputs))
	}
	shared := 0
	for i, a := range answers {
		if a.Status != http.StatusOK || vectorIn(t, a.Body) != r.vectorOf(inputs[i]) {
			t.Fatalf("request %d: %d %.200s", i, a.Status, a.Body)
		}
		Await(t, "the record of a request", func() error {
			record := r.Do(get("/v1/requests/" + a.Header.Get("x-request-id")))
			if record.Status != http.StatusOK {
				return fmt.Errorf("%d %s", record.Status, record.Body)
			}
			if strings.Contains(record.Body, "in batch ") {
				shared++
			}
			return nil
		})
	}
	if shared < 30 {
		t.Errorf("%d of %d records tell of a batch", shared, len(inputs))
	}
}

// BenchmarkEmbeddingItems compares jobs whose items share calls with jobs whose items do not, on an upstream that takes
// 20 ms for a call and eight calls at a time.
func BenchmarkEmbeddingItems(b *testing.B) {
	for _, inputs := range []int{1, 64} {
		b.Run(fmt.Sprint("max_inputs=", inputs), func(b *testing.B) {
			r := newEmbedRig(b, fmt.Sprintf("limits: {concurrency: 8}, batching: {max_inputs: %d}", inputs))
			items, began := 0, time.Now()
			for b.Loop() {
				r.embed(inputsOf(200))
				items += 200
			}
			b.ReportMetric(float64(items)/time.Since(began).Seconds(), "items/s")
			b.ReportMetric(float64(r.stats().Requests)/float64(items), "calls/item")
		})
	}
}
