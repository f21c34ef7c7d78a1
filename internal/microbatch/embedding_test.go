package microbatch

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"penstock"
)

func TestReadTakesWhatUpstreamsTake(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, body string
		inputs     int
		tokens     int64
		texts      bool
		rest       string
	}{
		{"a text", `{"model":"m","input":"twelve chars"}`, 1, 4, true, ""},
		{"texts", `{"input":["a", "b\""],"model":"m"}`, 2, 3, true, ""},
		{"tokens", `{"input":[1,2,3]}`, 1, 3, false, ""},
		{"lists of tokens", `{"input":[[1, 2],[3]]}`, 2, 3, false, ""},
		{"with more", `{"user":"u","input":"x","dimensions":3,"a":{"b":1}}`, 1, 1, true, `,"a":{"b":1},"dimensions":3,"user":"u"`},
	} {
		e, ok := Read([]byte(tt.body))
		if !ok || e.Inputs != tt.inputs || e.Tokens != tt.tokens || e.Shape.Texts != tt.texts || e.Shape.Rest != tt.rest {
			t.Errorf("%s: %+v, %v", tt.name, e, ok)
		}
	}
}

func TestReadLeavesTheOddAlone(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`{}`, `[]`, `nonsense`, `{"input":""}`, `{"input":[]}`, `{"input":["a",""]}`, `{"input":["a",1]}`, `{"input":[1,"a"]}`,
		`{"input":[[]]}`, `{"input":[[1],["a"]]}`, `{"input":[{"a":1}]}`, `{"input":null}`, `{"input":3}`, `{"input":[true]}`,
		`{"input":"a","input":"b"}`, `{"input":"a","x":"` + strings.Repeat("x", maxRest) + `"}`,
	} {
		if e, ok := Read([]byte(body)); ok {
			t.Errorf("%.60s: taken apart as %+v", body, e)
		}
	}
}

func TestBucketsFollowTheLengthOfInputs(t *testing.T) {
	t.Parallel()
	bucket := func(words, inputs int) int {
		list := make([]string, inputs)
		for i := range list {
			list[i] = strings.Repeat("four", words)
		}
		text, _ := json.Marshal(map[string]any{"input": list})
		e, ok := Read(text)
		if !ok {
			t.Fatal("not taken apart")
		}
		return e.Shape.Bucket
	}
	if got := []int{bucket(10, 1), bucket(10, 100), bucket(200, 1), bucket(1000, 1), bucket(10_000, 1), bucket(100_000, 1)}; !cmp.Equal(got, []int{0, 0, 1, 2, 3, 3}) {
		t.Errorf("buckets %v", got)
	}
}

// answerTo is what an upstream answers to a body: each input's vector is made of the input alone. The order of its
// elements is turned by some places.
func answerTo(t interface{ Fatal(...any) }, body []byte, turn, tokens int) []byte {
	var asked struct {
		Input []json.RawMessage `json:"input"`
	}
	if err := json.Unmarshal(body, &asked); err != nil {
		t.Fatal(err)
	}
	data := make([]string, len(asked.Input))
	for i := range data {
		n := (i + turn) % len(data)
		data[i] = fmt.Sprintf(`{"object":"embedding", "embedding":[0.5,1e-9],"of":%s,"index":%d }`, asked.Input[n], n)
	}
	return fmt.Appendf(nil, `{"object":"list","usage":{"prompt_tokens":%d,"total_tokens":%d,"details":{"x":1}},"data":[%s],"model":"m"}`,
		tokens, tokens, strings.Join(data, " , "))
}

// Every member gets its own vectors, in its own order, and the shares of the usage add up.
func TestPropertyAnswersNeverCross(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		lists := rapid.SliceOfN(rapid.SliceOfN(rapid.StringN(1, 20, 80), 1, 5), 1, 8).Draw(t, "lists")
		var members []Embedding
		var parts []Part
		all := 0
		for i, list := range lists {
			text, _ := json.Marshal(map[string]any{"input": list, "model": i})
			if len(list) == 1 && i%2 == 0 {
				text, _ = json.Marshal(map[string]any{"input": list[0]})
			}
			e, ok := Read(text)
			if !ok {
				t.Fatalf("%s was not taken apart", text)
			}
			members, parts, all = append(members, e), append(parts, Part{e.Inputs, e.Tokens}), all+e.Inputs
		}
		tokens := rapid.IntRange(0, 10_000).Draw(t, "tokens")
		answer := answerTo(t, Merge(members), rapid.IntRange(0, all-1).Draw(t, "turn"), tokens)
		answers, err := Divide(answer, parts)
		if err != nil {
			t.Fatalf("%v: %s", err, answer)
		}
		sum := 0
		for i, one := range answers {
			var got struct {
				Object, Model string
				Data          []struct {
					Of        string
					Index     int
					Embedding []float64
				}
				Usage struct {
					Prompt int `json:"prompt_tokens"`
					Total  int `json:"total_tokens"`
				}
			}
			if err := json.Unmarshal(one, &got); err != nil {
				t.Fatalf("%v: %s", err, one)
			}
			var of []string
			for n, d := range got.Data {
				if of = append(of, d.Of); d.Index != n || len(d.Embedding) != 2 {
					t.Errorf("vector %d is numbered %d", n, d.Index)
				}
			}
			if !cmp.Equal(of, lists[i]) || got.Object != "list" || got.Model != "m" || got.Usage.Prompt != got.Usage.Total {
				t.Errorf("member %d asked for %q and got %s", i, lists[i], one)
			}
			sum += got.Usage.Prompt
		}
		if sum != tokens {
			t.Errorf("shares add up to %d of %d", sum, tokens)
		}
	})
}

func TestDivideRefusesWhatItCannotTellApart(t *testing.T) {
	t.Parallel()
	parts := []Part{{1, 1}, {1, 1}}
	for name, answer := range map[string]string{
		"too few":       `{"data":[{"index":0}]}`,
		"too many":      `{"data":[{"index":0},{"index":1},{"index":1}]}`,
		"twice":         `{"data":[{"index":1},{"index":1}]}`,
		"twice by rank": `{"data":[{"index":1},{}]}`,
		"out of range":  `{"data":[{"index":0},{"index":2}]}`,
		"no number":     `{"data":[{"index":0},{"index":"1"}]}`,
		"no data":       `{"object":"list"}`,
		"no list":       `{"data":{}}`,
		"no object":     `[]`,
		"no vectors":    `{"data":[1,2]}`,
		"nothing":       ``,
		"broken off":    `{"data":[{"index":0},{"ind`,
	} {
		if got, err := Divide([]byte(answer), parts); err == nil {
			t.Errorf("%s: %s", name, got)
		}
	}
	if got, err := Divide([]byte(`{"data":[{"e":"a"},{"e":"b"}]}`), parts); err != nil || string(got[1]) != `{"data":[{"e":"b"}]}` {
		t.Errorf("without numbers: %s, %v", got, err)
	}
}

func FuzzDivide(f *testing.F) {
	f.Add([]byte(`{"data":[{"index":0,"embedding":[1,2]},{"index":1,"embedding":"a\"b"}],"usage":{"prompt_tokens":3}}`))
	f.Add([]byte(`{"usage":{"a":[{}],"b":1},"data":[ {"index":1} , {"index":0} ]}`))
	f.Fuzz(func(t *testing.T, answer []byte) {
		got, err := Divide(answer, []Part{{1, 3}, {1, 1}})
		if err == nil && json.Valid(answer) && !(json.Valid(got[0]) && json.Valid(got[1])) {
			t.Errorf("%q became %q", answer, got)
		}
	})
}

func TestPropertySharesAddUp(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		weights := rapid.SliceOfN(rapid.Int64Range(1, 1<<40), 1, 100).Draw(t, "weights")
		u := penstock.Usage{InputTokens: rapid.Int64Range(0, 1<<50).Draw(t, "input"), OutputTokens: rapid.Int64Range(0, 1<<50).Draw(t, "output")}
		u.CachedInputTokens = rapid.Int64Range(0, u.InputTokens).Draw(t, "cached")
		var sum penstock.Usage
		var all int64
		for _, w := range weights {
			all += w
		}
		for i, part := range ShareUsage(u, weights) {
			sum = sum.Plus(part)
			exact := float64(u.OutputTokens) / float64(all) * float64(weights[i])
			if off := float64(part.OutputTokens) - exact; off > 1.5+exact/1e9 || off < -1.5-exact/1e9 {
				t.Errorf("member %d of weight %d gets %d, which is %f off", i, weights[i], part.OutputTokens, off)
			}
		}
		if sum != u {
			t.Errorf("%+v was shared as %+v", u, sum)
		}
	})
}
