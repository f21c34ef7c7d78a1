package sim

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

func TestAnswerIsAFunctionOfSeedPromptAndModel(t *testing.T) {
	t.Parallel()
	one, again, other := newServer(t, Config{Seed: 1}), newServer(t, Config{Seed: 1}), newServer(t, Config{Seed: 2})
	ask(t, one, chatPath, chatBody("something before")) // the request's number must not matter
	base := chatText(t, ask(t, one, chatPath, chatBody("Hi")))
	if got := chatText(t, ask(t, again, chatPath, chatBody("Hi"))); got != base {
		t.Errorf("same seed, prompt and model: %q and %q", base, got)
	}
	for name, got := range map[string]string{
		"seed":   chatText(t, ask(t, other, chatPath, chatBody("Hi"))),
		"prompt": chatText(t, ask(t, again, chatPath, chatBody("Ho"))),
		"model":  chatText(t, ask(t, again, chatPath, strings.Replace(chatBody("Hi"), `"m"`, `"n"`, 1))),
		"history": chatText(t, ask(t, again, chatPath,
			`{"model":"m","messages":[{"role":"user","content":"A"},{"role":"assistant","content":"B"},{"role":"user","content":"Hi"}]}`)),
	} {
		if got == base {
			t.Errorf("another %s gives the same answer", name)
		}
		if strings.Fields(got)[0] == strings.Fields(base)[0] {
			t.Errorf("another %s gives the same digest", name)
		}
	}
}

func TestSameConversationSameAnswerInEveryForm(t *testing.T) {
	t.Parallel()
	s := newServer(t, Config{OutputTokens: 10})
	want := chatText(t, ask(t, s, chatPath,
		`{"model":"m","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hi"}]}`))
	parts := chatText(t, ask(t, s, chatPath,
		`{"model":"m","messages":[{"role":"system","content":[{"type":"text","text":"Be brief."}]},{"role":"user","content":[{"type":"text","text":"Hi"}]}]}`))
	if parts != want {
		t.Errorf("content parts: %q, want %q", parts, want)
	}
	var m message
	w := ask(t, s, messagePath, `{"model":"m","max_tokens":99,"system":"Be brief.","messages":[{"role":"user","content":"Hi"}]}`)
	if err := json.Unmarshal(w.Body.Bytes(), &m); err != nil {
		t.Fatal(err)
	}
	if got := *m.Content[0].Text; got != want {
		t.Errorf("Anthropic: %q, want %q", got, want)
	}
	if got := streamedText(t, ask(t, s, chatPath,
		`{"model":"m","stream":true,"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hi"}]}`).Body.String()); got != want {
		t.Errorf("streamed: %q, want %q", got, want)
	}
}

// streamedText joins the content of a streamed chat answer.
func streamedText(t *testing.T, stream string) string {
	t.Helper()
	var text strings.Builder
	data := events(t, strings.NewReader(stream))
	if len(data) == 0 || data[len(data)-1] != "[DONE]" {
		t.Fatalf("the stream does not end with [DONE]: %s", stream)
	}
	for _, d := range data[:len(data)-1] {
		var chunk struct {
			Choices []struct {
				Delta struct {
					Content string `json:"content"`
				} `json:"delta"`
			} `json:"choices"`
		}
		if err := json.Unmarshal([]byte(d), &chunk); err != nil {
			t.Fatal(err)
		}
		for _, c := range chunk.Choices {
			text.WriteString(c.Delta.Content)
		}
	}
	return text.String()
}

func TestOutputLength(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, prompt, limit string
		configured          int
		words               int
		finish              string
	}{
		{"default", "Hi", "", 0, DefaultOutputTokens, "stop"},
		{"configured", "Hi", "", 5, 5, "stop"},
		{"cut", "Hi", `"max_tokens":3,`, 5, 3, "length"},
		{"cut by the newer name", "Hi", `"max_completion_tokens":3,`, 5, 3, "length"},
		{"just enough", "Hi", `"max_tokens":5,`, 5, 5, "stop"},
		{"more than enough", "Hi", `"max_tokens":50,`, 5, 5, "stop"},
		{"directive", "[sim:tokens=7]", "", 5, 7, "stop"},
		{"directive and cut", "[sim:tokens=7]", `"max_tokens":6,`, 5, 6, "length"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, Config{OutputTokens: tc.configured})
			body := strings.Replace(chatBody(tc.prompt), "{", "{"+tc.limit, 1)
			var c chatCompletion
			if err := json.Unmarshal(ask(t, s, chatPath, body).Body.Bytes(), &c); err != nil {
				t.Fatal(err)
			}
			if got := len(strings.Fields(*c.Choices[0].Message.Content)); got != tc.words || c.Usage.CompletionTokens != tc.words {
				t.Errorf("%d words, usage %d, want %d", got, c.Usage.CompletionTokens, tc.words)
			}
			if got := *c.Choices[0].FinishReason; got != tc.finish {
				t.Errorf("finish_reason %q, want %q", got, tc.finish)
			}
		})
	}
}

func TestInputTokens(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]int{
		`""`:      0,
		`"abcd"`:  1,
		`"abcde"`: 2,
		`"é"`:     1,
		`null`:    0,
		`[{"type":"text","text":"abcd"},{"type":"text","text":"efg"}]`:                          2, // joined by a line break
		`[{"type":"image","source":{}},{"type":"text","text":"abcd"}]`:                          257,
		`[{"type":"tool_result","tool_use_id":"x","content":[{"type":"text","text":"abcde"}]}]`: 2,
		`[{"type":"tool_result","tool_use_id":"x"}]`:                                            0,
	} {
		w := ask(t, newServer(t, Config{}), countPath, `{"model":"m","messages":[{"role":"user","content":`+content+`}]}`)
		if want := fmt.Sprintf(`{"input_tokens":%d}`, want); w.Body.String() != want {
			t.Errorf("%s: %s, want %s", content, w.Body, want)
		}
	}
}

func TestEmbeddings(t *testing.T) {
	t.Parallel()
	s := newServer(t, Config{})
	embed := func(body string) [][]float32 {
		var list struct {
			Data []struct {
				Embedding []float32 `json:"embedding"`
			} `json:"data"`
		}
		if err := json.Unmarshal(ask(t, s, embeddingPath, body).Body.Bytes(), &list); err != nil {
			t.Fatal(err)
		}
		var vectors [][]float32
		for _, d := range list.Data {
			vectors = append(vectors, d.Embedding)
		}
		return vectors
	}
	alone := embed(`{"model":"m","input":"a"}`)
	pair := embed(`{"model":"m","input":["b","a"]}`)
	if len(alone) != 1 || len(pair) != 2 {
		t.Fatalf("%d and %d vectors, want 1 and 2", len(alone), len(pair))
	}
	for _, v := range append(alone, pair...) {
		if len(v) != DefaultDimensions || math.Abs(dot(v, v)-1) > 1e-5 {
			t.Errorf("%d dimensions, squared length %v", len(v), dot(v, v))
		}
	}
	if d := dot(alone[0], pair[1]); math.Abs(d-1) > 1e-5 {
		t.Errorf("one text, two vectors: their product is %v", d)
	}
	if d := dot(pair[0], pair[1]); math.Abs(d) > 0.2 {
		t.Errorf("two texts, nearly one vector: their product is %v", d)
	}
}

// The name of a model decides how long its embeddings are, unless the request does.
func TestEmbeddingDimensions(t *testing.T) {
	t.Parallel()
	s := newServer(t, Config{})
	for body, want := range map[string]int{
		`{"model":"text-embedding-3-large","input":"a"}`:                  3072,
		`{"model":"text-embedding-3-large","input":"a","dimensions":256}`: 256,
		`{"model":"text-embedding-3-small","input":"a"}`:                  1536,
		`{"model":"text-embedding-ada-002","input":"a"}`:                  1536,
	} {
		var list struct {
			Data []struct {
				Embedding []float32 `json:"embedding"`
			} `json:"data"`
		}
		if err := json.Unmarshal(ask(t, s, embeddingPath, body).Body.Bytes(), &list); err != nil || len(list.Data) != 1 || len(list.Data[0].Embedding) != want {
			t.Errorf("%s: %v, %d embeddings, want one of %d numbers", body, err, len(list.Data), want)
		}
	}
}

func dot(a, b []float32) float64 {
	sum := 0.0
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}
