package file

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"penstock"
	"penstock/internal/store"
)

// brief is a line error without its words.
type brief struct {
	Line        int
	Code, Param string
}

func briefs(errs []store.LineError) []brief {
	var all []brief
	for _, e := range errs {
		all = append(all, brief{e.Line, e.Code, e.Param})
	}
	return all
}

func TestLineErrors(t *testing.T) {
	t.Parallel()
	k := newKeeper(t)
	lines := []string{
		"\uFEFF" + `{"custom_id":"a","body":{}}` + "\r",
		`{"custom_id":"b","method":"POST","url":"/v1/chat/completions","body":{},"later":1}`,
		``,
		`[]`,
		`{"custom_id":"c"`,
		`{"custom_id":"d","custom_id":"e","body":{}}`,
		`{"body":{}}`,
		`{"custom_id":7,"body":{}}`,
		`{"custom_id":"` + strings.Repeat("x", MaxCustomIDBytes+1) + `","body":{}}`,
		`{"custom_id":"f"}`,
		`{"custom_id":"g","body":null}`,
		`{"custom_id":"h","body":"hi"}`,
		`{"custom_id":"i","method":"GET","url":"/v1/chat/completions","body":{}}`,
		`{"custom_id":"j","method":"POST","url":"/v1/nothing","body":{}}`,
		`{"custom_id":"k","method":"POST","body":{}}`,
		`{"custom_id":"l","url":"/v1/chat/completions","body":{}}`,
		`{"custom_id":"m","method":"POST","url":"/v1/embeddings","body":{}}`,
		`{"custom_id":"n","body":{},"prioity":1}`,
		`{"custom_id":"a","body":{}}`,
		`{"custom_id":"o","body":` + strings.Repeat("[", 80) + strings.Repeat("]", 80) + `}`,
		`{"custom_id":"p","body":{"x":"` + strings.Repeat("y", 3000) + `"}}`,
		`{"custom_id":"q","body":{}}`,
		`{"custom_id":"r","method":"POST","url":"/v1/chat/completions","body":{},"Body":{"model":"dear"}}`,
		`{"custom_id":"s","method":"POST","url":"/v1/chat/completions","body":{},"x":1,"X":2}`,
		``, ` `, // none at the end
	}
	limits := usual
	limits.MaxLineBytes = 2000
	f, err := k.Receive(t.Context(), tenant, strings.NewReader(strings.Join(lines, "\n")), limits)
	if err != nil {
		t.Fatal(err)
	}
	want := []brief{
		{3, CodeEmptyLine, ""}, {4, CodeNotAnObject, ""}, {5, CodeInvalidJSON, ""}, {6, CodeInvalidJSON, ""}, {7, CodeMissingCustomID, "custom_id"},
		{8, CodeInvalidCustomID, "custom_id"}, {9, CodeInvalidCustomID, "custom_id"}, {10, CodeMissingBody, "body"}, {11, CodeMissingBody, "body"},
		{12, CodeInvalidBody, "body"}, {13, CodeInvalidMethod, "method"}, {14, CodeInvalidURL, "url"}, {15, CodeInvalidURL, "url"},
		{16, CodeInvalidMethod, "method"}, {17, CodeInvalidURL, "url"}, {18, CodeUnknownField, "prioity"}, {19, CodeDuplicateCustomID, "custom_id"},
		{20, CodeInvalidJSON, ""}, {21, CodeLineTooLong, ""}, {23, CodeAmbiguousField, "Body"}, {24, CodeAmbiguousField, "X"},
	}
	if diff := cmp.Diff(want, briefs(f.Errors)); diff != "" {
		t.Errorf("line errors (-want +got):\n%s", diff)
	}
	if f.ErrorCount != len(want) || f.Lines != 24 || f.Endpoint != penstock.EndpointChat {
		t.Errorf("%d errors in %d lines for %q", f.ErrorCount, f.Lines, f.Endpoint)
	}
	for _, e := range f.Errors {
		if e.Code == CodeDuplicateCustomID && !strings.Contains(e.Message, "line 1.") {
			t.Errorf("the duplicate does not say where the first one is: %s", e.Message)
		}
		if !strings.HasSuffix(e.Message, ".") {
			t.Errorf("%q does not end", e.Message)
		}
	}
}

// TestOnlyTheFirstErrorsAreKept holds that a file of nothing but errors takes no more memory than one of many.
func TestOnlyTheFirstErrorsAreKept(t *testing.T) {
	t.Parallel()
	k := newKeeper(t)
	f := receive(t, k, strings.Repeat("x\n", 1000))
	if len(f.Errors) != MaxLineErrors || f.ErrorCount != 1000 || f.Errors[99].Line != 100 {
		t.Errorf("%d errors are kept of %d", len(f.Errors), f.ErrorCount)
	}
	same := receive(t, k, strings.Repeat(request(1)+"\n", 1000))
	if len(same.Errors) != MaxLineErrors || same.Errors[0].Line != 2 || same.Errors[99].Line != 101 {
		t.Errorf("of lines that are all alike: %d errors", len(same.Errors))
	}
}

// TestSuspicionIsNotGuilt holds that an id whose hash was there before is only wrong if the id itself was.
func TestSuspicionIsNotGuilt(t *testing.T) {
	t.Parallel()
	k := newKeeper(t)
	f := receive(t, k, request(0)+"\n"+request(1)+"\n"+request(0)+"\n")
	c := newLineCheck(usual)
	c.suspects = []suspect{{line: 2, id: "row-1"}, {line: 3, id: "row-0"}} // as if the hashes of both had been there
	if err := k.settleDuplicates(t.Context(), f, c); err != nil {
		t.Fatal(err)
	}
	if got, _ := c.report(); len(got) != 1 || got[0].Line != 3 || !strings.Contains(got[0].Message, "line 1.") {
		t.Errorf("found %+v", got)
	}
}

func TestTokensAreTheBytesOfBodies(t *testing.T) {
	t.Parallel()
	k := newKeeper(t)
	body := `{"model":"m","messages":[]}`
	f := receive(t, k, fmt.Sprintf(`{"custom_id":"1", "body": %s }`+"\n"+`{"body":%s,"custom_id":"2"}`, body, body))
	if f.Tokens != int64(2*len(body)) || f.Lines != 2 || f.ErrorCount != 0 || f.Endpoint != "" {
		t.Errorf("%+v", f)
	}
}

func FuzzParseLine(f *testing.F) {
	f.Add([]byte(request(1)))
	f.Add([]byte(`{"custom_id":"a","body":{}}`))
	f.Add([]byte(`{"custom_id":"\ud800","body":{}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		line, bad := parseLine(text)
		if (bad == nil) == (line.CustomID == "" || len(line.Body) == 0 || line.Body[0] != '{') {
			t.Errorf("%q: %+v, %+v", text, line, bad)
		}
	})
}
