package translate

import (
	"io"
	"slices"
	"strings"
	"testing"

	"penstock/internal/dialect"
	"penstock/internal/provider"
)

func TestRankRequest(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		body, want string
		dropped    []string
	}{
		{`{"model":"m","query":"q","documents":["a","b"],"top_n":2}`, `{"model":"m","query":"q","documents":["a","b"],"top_n":2}`, nil},
		{`{ "documents" : [ "a" , {"id":7,"text":"b\u00e9"} ] , "return_documents":true,"query":"q","top_n":null,"x":[1.50]}`, `{"documents":["a","b\u00e9"],"query":"q","x":[1.50]}`, nil},
		{`{"user":"u","query":"q","documents":["a"],"stream":false,"metadata":{"a":"b"}}`, `{"query":"q","documents":["a"]}`, []string{"user", "metadata"}},
	} {
		got, dropped, err := rerankToRank.Request([]byte(tt.body), dialect.Upstream{})
		if err != nil || string(got) != tt.want || !slices.Equal(dropped, tt.dropped) {
			t.Errorf("%s\nbecame %s, dropped %v, %v", tt.body, got, dropped, err)
		}
	}
}

// Callers get one form of answer, in the order of relevance, with their own documents.
func TestRankAnswer(t *testing.T) {
	t.Parallel()
	const question = `{"model":"m","query":"q","documents":["a",{"id":7,"text":"b"},"c"]`
	for _, tt := range []struct{ name, body, answer, want string }{
		{"Cohere", question + `}`, `{"id":"x","results":[{"index":2,"relevance_score":0.9},{"index":0,"relevance_score":0.5},{"index":1,"relevance_score":1e-7}]}`,
			`{"id":"rerank-1","model":"m","results":[{"index":2,"relevance_score":0.9},{"index":0,"relevance_score":0.5},{"index":1,"relevance_score":1e-7}]}`},
		{"documents of the caller", question + `,"return_documents":true}`, `{"results":[{"index":1,"relevance_score":2,"document":{"text":"not yours"}},{"index":0,"relevance_score":-1,"document":"x"}]}`,
			`{"id":"rerank-1","model":"m","results":[{"index":1,"relevance_score":2,"document":{"id":7,"text":"b"}},{"index":0,"relevance_score":-1,"document":{"text":"a"}}]}`},
		{"documents unasked", question + `}`, `{"results":[{"index":1,"relevance_score":2,"document":{"text":"b"}}]}`,
			`{"id":"rerank-1","model":"m","results":[{"index":1,"relevance_score":2}]}`},
		{"no order, and more than were asked for", question + `,"top_n":2}`, `{"data":[{"index":0,"relevance_score":0.1},{"index":1,"relevance_score":0.3},{"index":2,"relevance_score":0.2}]}`,
			`{"id":"rerank-1","model":"m","results":[{"index":1,"relevance_score":0.3},{"index":2,"relevance_score":0.2}]}`},
		{"SGLang", question + `,"top_n":9}`, ` [{"score":0.1,"index":0,"document":"a","meta_info":{}},{"score":0.2,"index":2}]`,
			`{"id":"rerank-1","model":"m","results":[{"index":2,"relevance_score":0.2},{"index":0,"relevance_score":0.1}]}`},
	} {
		wire, said, end := read(rerankToRank.Answer(upstream([]byte(tt.answer), typeJSON), dialect.Asked{Model: "m", ID: "1", Body: []byte(tt.body)}))
		if want := strings.TrimSuffix(tt.want, "}") + `,"usage":{"prompt_tokens":5,"total_tokens":5}}`; wire != want || said != "" || end != io.EOF {
			t.Errorf("%s: %s, %v\nwant %s", tt.name, wire, end, want)
		}
	}
}

// An upstream that ranks what it was not given is not believed.
func TestHostileRankings(t *testing.T) {
	t.Parallel()
	asked := dialect.Asked{Model: "m", Body: []byte(`{"query":"q","documents":["a","b"],"top_n":1}`)}
	for _, answer := range []string{
		`{"results":[]}`, `[]`, `{"results":null,"data":null}`, `{"results":[{"relevance_score":1}]}`, `{"results":[{"index":0}]}`, `{"results":[{"index":0,"relevance_score":null}]}`,
		`{"results":[{"index":2,"relevance_score":1}]}`, `{"results":[{"index":-1,"relevance_score":1}]}`, `{"results":[{"index":9223372036854775808,"relevance_score":1}]}`,
		`{"results":[{"index":0,"relevance_score":1},{"index":0,"relevance_score":1}]}`,
		`{"results":[{"index":0,"relevance_score":1},{"index":1,"relevance_score":1},{"index":0,"relevance_score":1}]}`,
		`{"results":[{"index":0,"relevance_score":"NaN"}]}`, `{"results":[{"index":0,"relevance_score":NaN}]}`, `{"results":[{"index":0,"relevance_score":1e999}]}`,
		`{"results":[{"index":0.5,"relevance_score":1}]}`, `{"results":[{"index":"0","relevance_score":1}]}`, `{"results":["a"]}`, `{"results":{}}`, `{"results":`,
	} {
		wire, _, end := read(rerankToRank.Answer(upstream([]byte(answer), typeJSON), asked))
		if e := provider.AsError(end); e.Kind != provider.KindMalformed || wire != "" || !strings.Contains(e.Message, "cannot be translated") {
			t.Errorf("%s: %q, %v", answer, wire, end)
		}
	}
}

func FuzzRankAnswer(f *testing.F) {
	f.Add([]byte(`{"results":[{"index":0,"relevance_score":1},{"index":1,"relevance_score":0.5}]}`))
	f.Add([]byte(`[{"index":0,"score":1}]`))
	body := []byte(`{"query":"q","documents":["a","b"],"return_documents":true}`)
	f.Fuzz(func(t *testing.T, answer []byte) {
		text, err := rerankFromRank(answer, dialect.Asked{Body: body}, provider.Meta{})
		if err != nil {
			return
		}
		results, err := readRanking(text)
		if err != nil || checkRanking(results, 2) != nil {
			t.Fatalf("%s gave %s", answer, text)
		}
	})
}
