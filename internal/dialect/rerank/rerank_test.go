package rerank

import (
	"fmt"
	"strings"
	"testing"

	"penstock"
	"penstock/internal/dialect"
	"penstock/internal/dialect/dialecttest"
)

func TestRead(t *testing.T) {
	t.Parallel()
	inf, err := Read([]byte(`{"model":"m","query":"four","documents":["a",{"text":"bb","title":"t"}],"top_n":5,"return_documents":true,"max_tokens_per_doc":9,"x":1}`))
	if want := (dialect.Ranking{Documents: 2, QueryBytes: 6, Pieces: 2}); err != nil || inf.Model != "m" || !inf.Silent || inf.Ranking != want {
		t.Fatalf("%+v, %v", inf.Ranking, err)
	}
	if got := inf.Needs(); got != penstock.NewCapabilities(penstock.CapabilityRerank) {
		t.Errorf("needs %v", got.List())
	}
}

// Errors name the member, and say what to do.
func TestRefusals(t *testing.T) {
	t.Parallel()
	many := `"documents":["x"` + strings.Repeat(`,"x"`, MaxDocuments) + `]`
	for members, want := range map[string][2]string{
		`"query":"q"`:                                              {"documents", "list of texts"},
		`"query":"q","documents":null`:                             {"documents", "list of texts"},
		`"query":"q","documents":"a"`:                              {"documents", "list of texts"},
		`"query":"q","documents":{"text":"a"}`:                     {"documents", "list of texts"},
		`"query":"q","documents":[]`:                               {"documents", "empty"},
		`"query":"q",` + many:                                      {"documents", "at most 10000"},
		`"query":"q","documents":["a",7]`:                          {"documents[1]", "must be a string"},
		`"query":"q","documents":["a",null]`:                       {"documents[1]", "must be a string"},
		`"query":"q","documents":[{"text":1}]`:                     {"documents[0]", "must be a string"},
		`"query":"q","documents":[{"t":"a"}]`:                      {"documents[0]", "must be a string"},
		`"query":"q","documents":[["a"]]`:                          {"documents[0]", "must be a string"},
		`"documents":["a"]`:                                        {"query", "missing"},
		`"query":"","documents":["a"]`:                             {"query", "missing"},
		`"query":["q"],"documents":["a"]`:                          {"query", "string"},
		`"query":"q","documents":["a"],"top_n":0`:                  {"top_n", "at least 1"},
		`"query":"q","documents":["a"],"top_n":-1`:                 {"top_n", ""},
		`"query":"q","documents":["a"],"top_n":1.5`:                {"top_n", ""},
		`"query":"q","documents":["a"],"top_n":"1"`:                {"top_n", ""},
		`"query":"q","documents":["a"],"top_n":10001`:              {"top_n", "at most 10000"},
		`"query":"q","documents":["a"],"max_tokens_per_doc":0`:     {"max_tokens_per_doc", "at least 1"},
		`"query":"q","documents":["a"],"return_documents":"yes"`:   {"return_documents", ""},
		`"query":"q","documents":["a"],"rank_fields":["title"]`:    {"rank_fields", "leave"},
		`"query":"q","documents":["a"],"stream":true`:              {"stream", "leave"},
		`"query":"q","documents":["a"],"Documents":["b"]`:          {"Documents", "leave"},
		`"query":"q","documents":[{"text":"a","Text":"b"}]`:        {"documents[0].Text", "leave"},
		`"query":"q","documents":[{"text":"a","text":"b"}]`:        {"", ""},
		`"query":"q","documents":["a"],"documents":["b"]`:          {"", ""},
		`"query":"q","documents":["a"],"top_n":null,"stream":null`: {"ok", ""},
	} {
		_, err := Read([]byte(`{"model":"m",` + members + `}`))
		if want[0] == "ok" {
			if err != nil {
				t.Errorf("%s: %v", members, err)
			}
			continue
		}
		e := penstock.AsError(err)
		if err == nil || e.Code != penstock.CodeInvalidRequest || want[0] != "" && e.Param != want[0] || !strings.Contains(e.Message, want[1]) {
			t.Errorf("%.80s: %v (%s), want %v", members, err, e.Param, want)
		}
	}
}

// Defaults need not be complete, but must be right.
func TestReadDefaults(t *testing.T) {
	t.Parallel()
	for text, param := range map[string]string{`{}`: "", `{"top_n":3,"query":"q"}`: "", `{"documents":["a"]}`: "", `{"top_n":0}`: "top_n", `{"documents":[7]}`: "documents[0]", `{"query":7}`: "query", `{"stream":true}`: "stream"} {
		inf, err := ReadDefaults([]byte(text))
		if (err == nil) != (param == "") || err != nil && penstock.AsError(err).Param != param || err == nil && !inf.Silent {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A reranker reads the query with each document, and cuts long documents: the bound counts that, and the estimate does.
func TestWeight(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		query, document string
		documents       int
		pieces          int64
	}{
		{"q", "short", 1, 1},
		{strings.Repeat("long query ", 500), "short", 200, 200},
		{"q", strings.Repeat("x", 242), 100, 100}, // with its quotes, 244 bytes
		{"q", strings.Repeat("x", 243), 100, 200},
		{"q", strings.Repeat("words ", 10_000), 3, 3 * 246},
	} {
		list := strings.TrimSuffix(strings.Repeat(fmt.Sprintf("%q,", tt.document), tt.documents), ",")
		text := fmt.Sprintf(`{"model":"m","query":%q,"documents":[%s]}`, tt.query, list)
		inf, err := Read([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		charge := inf.Weigh().On(&penstock.Target{MaxOutputTokens: 1000})
		pairs := int64(tt.documents * (len(tt.query) + len(tt.document)))
		if charge.Usage.InputTokens < pairs || charge.Usage.OutputTokens != 0 || charge.Searches != penstock.SearchUnits(tt.pieces) || inf.Ranking.Pieces != tt.pieces {
			t.Errorf("%d × %d bytes: %+v, %+v; the pairs have %d bytes", tt.documents, len(tt.document), charge, inf.Ranking, pairs)
		}
		if got := inf.InputTokens(); got < pairs/4 || got > (pairs+int64(len(text)+3*tt.documents))/4+1 {
			t.Errorf("%d × %d bytes: %d tokens, the pairs have %d bytes", tt.documents, len(tt.document), got, pairs)
		}
		if inf.ContextTokens() != 0 {
			t.Error("documents are read one by one")
		}
	}
}

func TestPrices(t *testing.T) {
	t.Parallel()
	dialecttest.Prices(t, []dialecttest.Price{
		{Read: Read, Body: `{"model":"m","query":"q","documents":["a",{"text":"b"}],"top_n":1,"return_documents":true,"max_tokens_per_doc":5,"user":"u"}`},
		{Read: Read, Body: `{"model":"m","query":"q","documents":["a"],"web":true}`, Path: "web", Name: "web"},
	})
}

func TestVariantsAreRefused(t *testing.T) {
	t.Parallel()
	dialecttest.RefusesVariants(t, Format.Shape, Read)
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"model":"m","query":"q","documents":["a",{"text":"b"}],"top_n":1}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		inf, err := Read(text)
		if err != nil {
			return
		}
		n := int64(0)
		for i, one := range Texts(inf.Object.Raw(Documents)) {
			if int64(i) != n || len(one) < 2 || one[0] != '"' {
				t.Fatalf("document %d is %q", i, one)
			}
			n++
		}
		if n != inf.Ranking.Documents || n == 0 || n > MaxDocuments || inf.Ranking.Pieces < n {
			t.Fatalf("%d documents, %+v", n, inf.Ranking)
		}
	})
}
