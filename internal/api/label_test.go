package api

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"penstock"
	"penstock/internal/provider"
)

// plainAnswer is an answer in full, whose usage is known.
func plainAnswer(body string) frames {
	return frames{wires: []string{body}, meta: provider.Meta{StatusCode: 200, ContentType: "application/json", Sent: true,
		Usage: penstock.Usage{InputTokens: 1000, OutputTokens: 500}, UsageKnown: true}}
}

// A call is attributed by its headers and by the members of its body that SDKs have for this. The record has its labels.
func TestLabelsOfCalls(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 600)
	for name, tt := range map[string]struct {
		path, body string
		headers    []string
		tags       map[string]string
		subject    string
	}{
		"none":               {path: "/v1/chat/completions", body: `{"model":"fast","messages":[]}`},
		"headers":            {"/v1/chat/completions", `{"model":"fast","messages":[]}`, []string{headerTags, "team=search, feature=a%2Cb%3Dc", headerSubject, "ann"}, map[string]string{"team": "search", "feature": "a,b=c"}, "ann"},
		"metadata and user":  {"/v1/chat/completions", `{"model":"fast","messages":[],"metadata":{"team":"ads","n":1},"user":"bob"}`, nil, map[string]string{"team": "ads"}, "bob"},
		"safety identifier":  {"/v1/chat/completions", `{"model":"fast","messages":[],"user":"bob","safety_identifier":"eve"}`, nil, nil, "eve"},
		"headers, key:value": {"/v1/chat/completions", `{"model":"fast","messages":[]}`, []string{headerTags, "team:search, feature:a%2Cb%3Dc,site=http://x"}, map[string]string{"team": "search", "feature": "a,b=c", "site": "http://x"}, ""},
		"headers count more": {"/v1/chat/completions", `{"model":"fast","messages":[],"metadata":{"team":"ads","run":"7"},"user":"bob"}`, []string{headerTags, "team=search", headerSubject, "ann"}, map[string]string{"team": "search", "run": "7"}, "ann"},
		"embeddings":         {"/v1/embeddings", `{"model":"fast","input":"x","user":"bob"}`, nil, nil, "bob"},
		"rerank":             {"/v2/rerank", `{"model":"fast","query":"q","documents":["a"],"user":"bob"}`, nil, nil, "bob"},
		"Anthropic":          {"/v1/messages", `{"model":"fast","max_tokens":5,"messages":[],"metadata":{"user_id":"ann"}}`, nil, nil, "ann"},
		"no labels":          {"/v1/chat/completions", fmt.Sprintf(`{"model":"fast","messages":[],"metadata":{"a":%q,"":"x"},"user":%q}`, long, long), nil, nil, ""},
	} {
		r := newRig(t, penstock.Endpoints...)
		r.answers(plainAnswer(`{}`))
		a := r.post(tt.path, tt.body, tt.headers...)
		if a.status != http.StatusOK {
			t.Errorf("%s: %d %s", name, a.status, a.body)
			continue
		}
		if got := r.recorded(a.header); !maps.Equal(got.Tags, tt.tags) || got.Subject != tt.subject {
			t.Errorf("%s: recorded %v %q, want %v %q", name, got.Tags, got.Subject, tt.tags, tt.subject)
		}
	}
}

// A header that cannot be read is an error, and nothing is sent upstream.
func TestWrongHeadersOfCalls(t *testing.T) {
	t.Parallel()
	r := newRig(t, penstock.EndpointChat)
	for value, want := range map[[2]string]string{
		{headerTags, "team"}:                                   "must be key:value pairs",
		{headerTags, "team=a,team=b"}:                          `gives \"team\" twice`,
		{headerTags, "=a"}:                                     "a key must be printable",
		{headerTags, "a=%zz"}:                                  "must be key:value pairs",
		{headerTags, strings.Repeat("a=1,", 0) + manyTags(17)}: "at most 16",
		{headerSubject, strings.Repeat("x", 513)}:              "x-penstock-subject must be",
		{headerTimeout, "soon"}:                                "x-penstock-timeout must be",
		{headerTimeout, "0"}:                                   "x-penstock-timeout must be",
		{headerTimeout, "2h"}:                                  "x-penstock-timeout must be",
		{headerFallback, "maybe"}:                              "x-penstock-fallback must be",
		{headerFallback, "-1"}:                                 "x-penstock-fallback must be",
		{headerTargets, "other"}:                               "its targets are main",
		{headerTargets, " , "}:                                 "x-penstock-targets is empty",
		{"X-Penstock-Tag", "team=a"}:                           `did you mean \"x-penstock-tags\"?`,
	} {
		a := r.post("/v1/chat/completions", `{"model":"fast","messages":[]}`, value[0], value[1])
		if a.status != http.StatusBadRequest || !strings.Contains(a.body, want) {
			t.Errorf("%s: %d %s, want %q", value, a.status, a.body, want)
		}
	}
	a := r.post("/v1/chat/completions", `{"model":"fast","messages":[]}`, headerTimeout, "5s", "Idempotency-Key", "k")
	if a.status != http.StatusBadRequest || !strings.Contains(a.body, "runs as a job") {
		t.Errorf("with an Idempotency-Key: %d %s", a.status, a.body)
	}
}

func manyTags(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "t%d=v,", i)
	}
	return b.String()
}

// The cost of a call is a header of a plain answer, and a trailer of a large one and of a stream. It is the cost on the record.
func TestCostOfCalls(t *testing.T) {
	t.Parallel()
	r := newRig(t, penstock.EndpointChat)
	large := `{"text":"` + strings.Repeat("x", maxHeldBytes) + `"}`
	for _, body := range []string{`{}`, large} {
		r.answers(plainAnswer(body))
		resp, err := http.DefaultClient.Do(r.request(http.MethodPost, "/v1/chat/completions", `{"model":"fast","messages":[]}`))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		if err != nil || string(text) != body {
			t.Fatalf("%v, %d bytes", err, len(text))
		}
		_ = resp.Body.Close()
		told := resp.Header
		if body == large {
			told = resp.Trailer
		}
		if got := told.Get(headerCost); got != "0.002000000" || got != r.recorded(resp.Header).Cost.String() {
			t.Errorf("%d bytes: %q, recorded %v", len(body), got, r.recorded(resp.Header).Cost)
		}
	}
	r.answers(frames{wires: []string{"data: {}\n\n", "data: [DONE]\n\n"}, meta: provider.Meta{StatusCode: 200, ContentType: "text/event-stream",
		Usage: penstock.Usage{InputTokens: 1000, OutputTokens: 500}, UsageKnown: true}})
	resp, err := http.DefaultClient.Do(r.request(http.MethodPost, "/v1/chat/completions", streaming[penstock.EndpointChat]))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(resp.Body); err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if got := resp.Trailer.Get(headerCost); got != "0.002000000" {
		t.Errorf("the trailer of a stream has the cost %q", got)
	}
}

// A caller's timeout ends its call with 504, and does not count against the target.
func TestTimeoutOfACall(t *testing.T) {
	t.Parallel()
	r := newRig(t, penstock.EndpointChat)
	r.upstream.reply = func(ctx context.Context, _ provider.Call) (provider.Answer, error) {
		<-ctx.Done()
		return nil, &provider.Error{Kind: provider.KindCancelled, Message: "cancelled", Err: ctx.Err()}
	}
	a := r.post("/v1/chat/completions", `{"model":"fast","messages":[]}`, headerTimeout, "20ms")
	if a.status != http.StatusGatewayTimeout || !strings.Contains(a.body, "longer than the 20ms of x-penstock-timeout") {
		t.Errorf("%d %s", a.status, a.body)
	}
	if got := r.recorded(a.header); got.Status != penstock.StatusFailed || got.ErrorCode != penstock.CodeUpstreamTimeout || got.StatusCode != http.StatusGatewayTimeout {
		t.Errorf("recorded %+v", got)
	}
	r.answers(frames{wires: []string{"data: {}\n\n"}, hangs: true, meta: provider.Meta{StatusCode: 200, ContentType: "text/event-stream"}})
	a = r.post("/v1/chat/completions", streaming[penstock.EndpointChat], headerTimeout, "0.05")
	if a.status != http.StatusOK || !strings.Contains(a.body, "upstream_timeout") {
		t.Errorf("a stream: %d %s", a.status, a.body)
	}
}

func TestCORS(t *testing.T) {
	t.Parallel()
	const page = "https://app.example.com"
	reached := 0
	h := cors([]string{page, "http://localhost:3000"}, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		reached++
		w.WriteHeader(http.StatusTeapot)
	}))
	call := func(method string, headers ...string) http.Header {
		req := httptest.NewRequestWithContext(t.Context(), method, "/v1/chat/completions", nil)
		for i := 0; i < len(headers); i += 2 {
			req.Header.Set(headers[i], headers[i+1])
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, req)
		w.Header().Set("Status", fmt.Sprint(w.Code))
		return w.Header()
	}
	asked := []string{"Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization, content-type, x-stainless-lang"}
	got := call(http.MethodOptions, append([]string{"Origin", page}, asked...)...)
	if got.Get("Status") != "204" || got.Get("Access-Control-Allow-Origin") != page || !strings.Contains(got.Get("Access-Control-Allow-Methods"), "DELETE") ||
		got.Get("Access-Control-Allow-Headers") != asked[3] || got.Get("Access-Control-Allow-Credentials") != "" || got.Get("Vary") != "Origin" || reached != 0 {
		t.Errorf("a preflight of a listed page: %v", got)
	}
	if got := call(http.MethodOptions, "Origin", page, "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "a\r\nb: c"); got.Get("Access-Control-Allow-Headers") != "" {
		t.Errorf("names that are none are returned: %v", got)
	}
	if got := call(http.MethodPost, "Origin", "http://localhost:3000"); got.Get("Status") != "418" || got.Get("Access-Control-Allow-Origin") != "http://localhost:3000" ||
		!strings.Contains(got.Get("Access-Control-Expose-Headers"), "x-penstock-cost-usd") {
		t.Errorf("a call of a listed page: %v", got)
	}
	for _, other := range []string{"", "https://app.example.com.evil.com", "http://app.example.com", "https://app.example.com:8443", "null", "*"} {
		for _, method := range []string{http.MethodOptions, http.MethodPost} {
			got := call(method, append([]string{"Origin", other}, asked...)...)
			if got.Get("Access-Control-Allow-Origin") != "" || got.Get("Status") != "418" || got.Get("Vary") != "Origin" {
				t.Errorf("%s from %q: %v", method, other, got)
			}
		}
	}
}
