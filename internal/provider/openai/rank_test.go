package openai

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"penstock"
	"penstock/internal/provider"
	"penstock/internal/provider/preset"
)

// rankTranscript is the exchange of a ranking with a vendor.
type rankTranscript struct {
	path   string
	sent   string // what differs from the body, which ends with top_n
	answer string
	usage  penstock.Usage
	known  bool
	units  int64
}

const (
	rankQuestion = `{"model":"m","query":"q","documents":["a","b"],"top_n":1}`
	rankSent     = `{"model":"up","query":"q","documents":["a","b"],"top_n":1}`
	rankResults  = `[{"index":1,"relevance_score":0.9}]`
)

var rankTranscripts = map[string]rankTranscript{
	"cohere": {path: "/v2/rerank", sent: rankSent, units: 1,
		answer: `{"results":` + rankResults + `,"id":"07734bd2","meta":{"api_version":{"version":"2","is_experimental":false},"billed_units":{"search_units":1.0}}}`},
	"jina": {path: "/v1/rerank", sent: rankSent, usage: penstock.Usage{InputTokens: 15}, known: true,
		answer: `{"model":"jina-reranker-v2","object":"list","usage":{"total_tokens":15},"results":` + rankResults + `}`},
	"voyage": {path: "/v1/rerank", sent: `{"model":"up","query":"q","documents":["a","b"],"top_k":1}`, usage: penstock.Usage{InputTokens: 26}, known: true,
		answer: `{"object":"list","data":` + rankResults + `,"model":"rerank-2","usage":{"total_tokens":26}}`},
	"together": {path: "/v1/rerank", sent: rankSent, usage: penstock.Usage{InputTokens: 8}, known: true,
		answer: `{"object":"rerank","id":"r","model":"m","results":` + rankResults + `,"usage":{"prompt_tokens":8,"completion_tokens":0,"total_tokens":8}}`},
	"fireworks": {path: "/v1/rerank", sent: rankSent, usage: penstock.Usage{InputTokens: 9}, known: true,
		answer: `{"object":"list","model":"m","data":` + rankResults + `,"usage":{"prompt_tokens":9,"total_tokens":9,"completion_tokens":0}}`},
	"openrouter": {path: "/v1/rerank", sent: rankSent, units: 2, usage: penstock.Usage{InputTokens: 30}, known: true,
		answer: `{"id":"gen-rerank-1","model":"m","provider":"Cohere","results":[{"index":1,"relevance_score":0.9,"document":{"text":"b"}}],"usage":{"total_tokens":30,"search_units":2,"cost":0.004}}`},
	"vllm": {path: "/v1/rerank", sent: rankSent, usage: penstock.Usage{InputTokens: 56}, known: true,
		answer: `{"id":"rerank-fae5","model":"BAAI/bge-reranker-base","usage":{"total_tokens":56},"results":[{"index":1,"document":{"text":"b"},"relevance_score":0.9}]}`},
	"llamacpp": {path: "/v1/rerank", sent: rankSent, usage: penstock.Usage{InputTokens: 12}, known: true,
		answer: `{"model":"m","object":"list","usage":{"prompt_tokens":12,"total_tokens":12},"results":` + rankResults + `}`},
	"sglang": {path: "/v1/rerank", sent: rankSent,
		answer: ` [{"score":0.9,"document":"b","index":1,"meta_info":{"id":"1","prompt_tokens":7}}]`},
}

// Every preset that ranks documents has a transcript, and the adapter sends and reads what it says.
func TestRankingPresets(t *testing.T) {
	t.Parallel()
	for _, vendor := range preset.All {
		p := newVendor(t, Config{BaseURL: "http://127.0.0.1:1"}, vendor.Kind)
		tt, ok := rankTranscripts[vendor.Kind]
		if p.Speaks(penstock.EndpointRank) != ok {
			t.Errorf("%s: ranks documents: %v, has a transcript: %v", vendor.Kind, !ok, ok)
		}
		if !ok {
			continue
		}
		t.Run(vendor.Kind, func(t *testing.T) {
			t.Parallel()
			tt.check(t, vendor)
		})
	}
}

func (tt rankTranscript) check(t *testing.T, vendor preset.Preset) {
	var path, sent, key string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		path, sent, key = r.URL.Path, string(text), r.Header.Get("Authorization")
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, tt.answer)
	}))
	t.Cleanup(server.Close)
	base := server.URL + "/v1"
	if vendor.Kind == "cohere" {
		base = server.URL + "/v2"
	}
	p, err := NewPreset(Config{Name: "test", BaseURL: base, APIKey: "secret", ConnectionRest: -1}, vendor)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.CloseIdleConnections)
	answer, err := p.Call(t.Context(), provider.Call{Endpoint: penstock.EndpointRank, UpstreamModel: "up", Body: []byte(rankQuestion)})
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Close()
	if path != tt.path || sent != tt.sent || key != "Bearer secret" {
		t.Errorf("sent %s to %s with %s", sent, path, key)
	}
	if wire, text, end := collect(answer); wire != tt.answer || text != "" || end != io.EOF {
		t.Errorf("wire %q, text %q, end %v", wire, text, end)
	}
	if m := answer.Meta(); m.Usage != tt.usage || m.UsageKnown != tt.known || m.SearchUnits != tt.units || m.UsageInvalid {
		t.Errorf("usage %+v, known %v, %d search units", m.Usage, m.UsageKnown, m.SearchUnits)
	}
}

// An answer that is no ranking is refused, and counts that make no sense are not believed.
func TestRankings(t *testing.T) {
	t.Parallel()
	call := provider.Call{Endpoint: penstock.EndpointRank, UpstreamModel: "m", Body: []byte(rankQuestion)}
	for body, kind := range map[string]provider.Kind{
		`{"results":[]}`:                              "",
		`{"usage":{}}`:                                provider.KindMalformed,
		`{"results":{}}`:                              provider.KindMalformed,
		`"results"`:                                   provider.KindMalformed,
		`[{"index":0,"score":NaN}]`:                   provider.KindMalformed,
		`{"results":[{"index":0,`:                     provider.KindTruncated,
		`{"error":{"message":"x","code":429}}`:        provider.KindRateLimited,
		`{"object":"error","message":"x","code":400}`: provider.KindRejected,
	} {
		_, err := receiveFrom(t, "application/json", strings.NewReader(body), call)
		if got := provider.AsError(err); (err == nil) != (kind == "") || err != nil && got.Kind != kind {
			t.Errorf("%s: %v, want %q", body, err, kind)
		}
	}
	for usage, want := range map[string]provider.Meta{
		`"usage":{"total_tokens":-1}`:                  {UsageInvalid: true},
		`"usage":{"total_tokens":"many"}`:              {UsageInvalid: true},
		`"usage":{"prompt_tokens":0,"total_tokens":0}`: {},
		`"usage":7`: {UsageInvalid: true},
		`"usage":{"prompt_tokens":3,"completion_tokens":99}`: {Usage: penstock.Usage{InputTokens: 3}, UsageKnown: true},
		`"meta":{"tokens":{"input_tokens":4}}`:               {Usage: penstock.Usage{InputTokens: 4}, UsageKnown: true},
		`"meta":{"billed_units":{"search_units":-3}}`:        {},
		`"meta":{"billed_units":{"search_units":"1"}}`:       {},
		`"meta":{"billed_units":{"search_units":1.2}}`:       {SearchUnits: 2},
		`"meta":{"billed_units":{"search_units":1e300}}`:     {SearchUnits: penstock.MaxTokens},
	} {
		answer, err := receiveFrom(t, "application/json", strings.NewReader(`{"results":[],`+usage+`}`), call)
		if err != nil {
			t.Fatal(usage, err)
		}
		if m := answer.Meta(); m.Usage != want.Usage || m.UsageKnown != want.UsageKnown || m.UsageInvalid != want.UsageInvalid || m.SearchUnits != want.SearchUnits {
			t.Errorf("%s: %+v", usage, m)
		}
	}
	call.Stream = true
	if _, err := receiveFrom(t, "text/event-stream", strings.NewReader("data: {\"results\":[]}\n\n"), call); provider.AsError(err).Kind != provider.KindMalformed {
		t.Errorf("a stream of rankings: %v", err)
	}
}

// A member that a vendor ignores is refused, and OpenAI itself ranks nothing.
func TestRankingMembers(t *testing.T) {
	t.Parallel()
	body := []byte(`{"model":"m","query":"q","documents":["a"],"max_tokens_per_doc":9}`)
	for kind, refuses := range map[string]bool{"voyage": true, "together": true, "cohere": false, "vllm": false} {
		vendor, _ := preset.Of(kind)
		_, err := patchBody(&vendor, provider.Call{Endpoint: penstock.EndpointRank, Body: body, UpstreamModel: "up"})
		if (err != nil) != refuses || refuses && !strings.HasPrefix(provider.AsError(err).Message, "max_tokens_per_doc has a value that "+kind) {
			t.Errorf("%s: %v", kind, err)
		}
	}
	for base, want := range map[string]bool{"": false, DefaultBaseURL: false, "https://eu.api.openai.com/v1": false, "http://127.0.0.1:1": true, "https://api.example.com/v1": true} {
		p := newProvider(t, Config{BaseURL: base})
		if p.Speaks(penstock.EndpointRank) != want {
			t.Errorf("%s ranks documents: %v", base, !want)
		}
	}
	azure, err := NewAzure(Config{Name: "a", BaseURL: "https://name.openai.azure.com"}, "1")
	if err != nil || azure.Speaks(penstock.EndpointRank) {
		t.Errorf("Azure ranks documents, %v", err)
	}
}
