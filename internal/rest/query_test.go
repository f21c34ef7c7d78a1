package rest

import (
	"strings"
	"testing"

	"penstock"
)

func TestCheckQuery(t *testing.T) {
	t.Parallel()
	known := []string{"limit", "after"}
	for query, want := range map[string]string{
		"":                               "",
		"limit=1&after=":                 "",
		"limt=1":                         `Unknown query parameter "limt"; did you mean "limit"?`,
		"shade=1":                        `Unknown query parameter "shade"; the parameters are after, limit.`,
		"limit[]=1":                      `Unknown query parameter "limit[]"; did you mean "limit"?`,
		"%ff=1":                          `Unknown query parameter ""; the parameters are after, limit.`,
		"a%zz=1":                         `The query of the URL cannot be read: invalid URL escape "%zz".`,
		strings.Repeat("x", 9000) + "=1": `Unknown query parameter "` + strings.Repeat("x", 64) + `"; the parameters are after, limit.`,
	} {
		got := ""
		if err := CheckQuery(query, known, nil); err != nil {
			got = penstock.AsError(err).Message
		}
		if got != want {
			t.Errorf("%.40q: %q, want %q", query, got, want)
		}
	}
	if err := CheckQuery("x=1", nil, nil); err == nil || penstock.AsError(err).Message != `Unknown query parameter "x"; this endpoint has no query parameters.` {
		t.Errorf("%v", err)
	}
}
