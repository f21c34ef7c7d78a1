package filter

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"penstock"
	"penstock/internal/dialect/edit"
)

// verdicts is a filter with a fixed decision. Its Edit makes the text upper case.
type verdicts struct {
	action Action
	err    error
	looks  bool
}

func (v verdicts) Input(_ context.Context, s *Subject) (Verdict, error) {
	return Verdict{Action: v.action, Body: bytes.ToUpper(s.Body)}, v.err
}

func (v verdicts) Review(*Subject) Review { return v }

func (v verdicts) Chunk(_ context.Context, c *Chunk) (Verdict, error) {
	if !v.looks {
		return Verdict{Action: v.action}, v.err
	}
	deltas := c.Deltas()
	if v.action != Edit {
		return Verdict{Action: v.action}, v.err
	}
	for i := range deltas {
		deltas[i].Text = strings.ToUpper(deltas[i].Text)
	}
	return Verdict{Action: Edit}, c.Replace(deltas)
}

var errBroken = errors.New("the classifier is away")

func TestInputs(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		filters []Input
		want    string
		code    penstock.Code
	}{
		"none":                   {nil, "weir", ""},
		"pass":                   {[]Input{verdicts{}, verdicts{}}, "weir", ""},
		"edit":                   {[]Input{verdicts{}, verdicts{action: Edit}}, "WEIR", ""},
		"block":                  {[]Input{verdicts{action: Edit}, verdicts{action: Block}}, "", penstock.CodeContentBlocked},
		"a filter that fails":    {[]Input{verdicts{err: errBroken}}, "", penstock.CodeInternal},
		"a filter that is busy":  {[]Input{verdicts{err: penstock.Errorf(penstock.CodeOverloaded, "Busy.")}}, "", penstock.CodeOverloaded},
		"one that blocks is all": {[]Input{verdicts{action: Block}, verdicts{err: errBroken}}, "", penstock.CodeContentBlocked},
	} {
		got, err := (&Chain{Inputs: tt.filters}).Input(t.Context(), Subject{Body: []byte("weir")})
		if string(got) != tt.want || penstock.ErrorCode(err) != tt.code {
			t.Errorf("%s: %q, %v; want %q, %q", name, got, err, tt.want, tt.code)
		}
	}
}

const (
	plain   = `{"choices":[{"index":0,"message":{"role":"assistant","content":"weir"},"finish_reason":"stop"}]}`
	chunked = "data: " + `{"choices":[{"index":0,"delta":{"content":"weir"}}]}` + "\n\n"
)

func TestAnswers(t *testing.T) {
	t.Parallel()
	edits := verdicts{action: Edit, looks: true}
	failure := func(a *Answer, text string) ([]byte, error) { return a.Failure(t.Context(), []byte(text)) }
	body := func(a *Answer, text string) ([]byte, error) { return a.Chunk(t.Context(), Arrival{Wire: []byte(text)}) }
	event := func(a *Answer, text string) ([]byte, error) {
		return a.Chunk(t.Context(), Arrival{Wire: []byte(text), Form: edit.Events})
	}
	for name, tt := range map[string]struct {
		filters []Output
		judge   func(*Answer, string) ([]byte, error)
		text    string
		want    string // "weir" in text becomes this
		code    penstock.Code
	}{
		"none":                           {nil, body, plain, "weir", ""},
		"pass":                           {[]Output{verdicts{}}, body, plain, "weir", ""},
		"read":                           {[]Output{verdicts{looks: true}}, body, plain, "weir", ""},
		"block":                          {[]Output{verdicts{action: Block}}, event, chunked, "", penstock.CodeContentBlocked},
		"edit":                           {[]Output{verdicts{looks: true}, edits}, body, plain, "WEIR", ""},
		"edit of an event":               {[]Output{edits, verdicts{}}, event, chunked, "WEIR", ""},
		"edit of a body that is no JSON": {[]Output{edits}, body, "weir", "WEIR", ""},
		"a filter that fails":            {[]Output{verdicts{err: errBroken}}, body, plain, "", penstock.CodeInternal},
		"error message":                  {[]Output{edits}, failure, "weir", "WEIR", ""},
		"error body":                     {[]Output{edits}, failure, `{"error":{"code":503,"metadata":{"raw":"weir"},"message":"weir"}}`, "WEIR", ""},
		"error message, blocked":         {[]Output{verdicts{action: Block}}, failure, "weir", "", penstock.CodeContentBlocked},
		"edited twice, and read between": {[]Output{edits, verdicts{looks: true}, edits}, event, chunked, "WEIR", ""},
	} {
		want := strings.ReplaceAll(tt.text, "weir", tt.want)
		if tt.code != "" {
			want = ""
		}
		got, err := tt.judge((&Chain{Outputs: tt.filters}).Begin(Subject{Endpoint: penstock.EndpointChat}), tt.text)
		if string(got) != want || penstock.ErrorCode(err) != tt.code {
			t.Errorf("%s: %q, %v; want %q, %q", name, got, err, want, tt.code)
		}
	}
}

// A filter that does not look at a text does not have the chunk parsed.
func TestChunksAreParsedOnDemand(t *testing.T) {
	t.Parallel()
	for _, looks := range []bool{false, true} {
		a := (&Chain{Outputs: []Output{verdicts{looks: looks}}}).Begin(Subject{Endpoint: penstock.EndpointChat})
		if _, err := a.Chunk(t.Context(), Arrival{Wire: []byte(plain)}); err != nil || (a.reviews[0].editor != nil) != looks {
			t.Errorf("looks %t: the editor is %v, %v", looks, a.reviews[0].editor, err)
		}
	}
}

// more replaces more deltas than a chunk has.
type more struct{}

func (m more) Review(*Subject) Review { return m }

func (more) Chunk(_ context.Context, c *Chunk) (Verdict, error) {
	return Verdict{Action: Edit}, c.Replace(append(c.Deltas(), edit.Delta{Text: "dam"}))
}

func TestReplaceNeedsEveryDelta(t *testing.T) {
	t.Parallel()
	_, err := (&Chain{Outputs: []Output{more{}}}).Begin(Subject{}).Chunk(t.Context(), Arrival{Wire: []byte(plain)})
	if !errors.Is(err, errCount) || penstock.ErrorCode(err) != penstock.CodeInternal {
		t.Error(err)
	}
}

// holds holds all texts back until they are complete, and makes them upper case. It skips chunks that hold a word.
type holds struct {
	skip string
	held *string
}

func (h holds) Review(*Subject) Review { return h }

func (h holds) Chunk(_ context.Context, c *Chunk) (Verdict, error) {
	if h.skip != "" && bytes.Contains(c.Wire, []byte(h.skip)) {
		return Verdict{}, nil
	}
	deltas := c.Deltas()
	for i := range deltas {
		*h.held, deltas[i].Text = *h.held+strings.ToUpper(deltas[i].Text), ""
		if deltas[i].Last {
			deltas[i].Text, *h.held = *h.held, ""
		}
	}
	return Verdict{Action: Edit}, c.Replace(deltas)
}

// Text that a filter holds back is sent before the event that ends the text, and the whole texts at the end of a response are the
// edited ones, even if the filter does not look at them. The next filter sees the edited texts.
func TestHeldText(t *testing.T) {
	t.Parallel()
	events := []string{
		`{"type":"response.output_text.delta","sequence_number":0,"output_index":0,"content_index":0,"delta":"we"}`,
		`{"type":"response.output_text.delta","sequence_number":1,"output_index":0,"content_index":0,"delta":"ir"}`,
		`{"type":"response.output_text.done","sequence_number":2,"output_index":0,"content_index":0,"text":"weir"}`,
		`{"type":"response.completed","sequence_number":3,"response":{"output":[{"content":[{"type":"output_text","text":"weir"}]}]}}`,
	}
	seen := ""
	chain := &Chain{Outputs: []Output{holds{skip: "completed", held: new(string)}, reads{&seen}}}
	a, got := chain.Begin(Subject{Endpoint: penstock.EndpointResponses}), ""
	for _, event := range events {
		wire, err := a.Chunk(t.Context(), Arrival{Wire: []byte("data: " + event + "\n\n"), Form: edit.Events})
		if err != nil {
			t.Fatal(err)
		}
		got += string(wire)
	}
	want := "data: " + strings.Join([]string{
		strings.Replace(events[0], "we", "", 1), strings.Replace(events[1], `"ir"`, `""`, 1),
		`{"type":"response.output_text.delta","delta":"WEIR","output_index":0,"content_index":0,"sequence_number":2}`,
		`{"type":"response.output_text.done","sequence_number":3,"output_index":0,"content_index":0,"text":"WEIR"}`,
		`{"type":"response.completed","sequence_number":4,"response":{"output":[{"content":[{"type":"output_text","text":"WEIR"}]}]}}`,
	}, "\n\ndata: ") + "\n\n"
	if got = strings.ReplaceAll(got, "event: response.output_text.delta\n", ""); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if seen != "WEIR" {
		t.Errorf("the second filter saw %q", seen)
	}
}

// reads keeps the texts that it sees.
type reads struct{ seen *string }

func (r reads) Review(*Subject) Review { return r }

func (r reads) Chunk(_ context.Context, c *Chunk) (Verdict, error) {
	for _, d := range c.Deltas() {
		*r.seen += d.Text
	}
	return Verdict{}, nil
}

// A chain without filters allocates nothing, and one with the trivial filter nothing for each chunk.
func TestFiltersAllocateLittle(t *testing.T) {
	var none *Chain
	subject, wire := Subject{ID: "id", Tenant: "acme", Body: []byte("{}")}, []byte("data: {}")
	if n := testing.AllocsPerRun(100, func() {
		_, _ = none.Input(t.Context(), subject)
		_, _ = none.Begin(subject).Chunk(t.Context(), Arrival{Wire: wire})
	}); n != 0 {
		t.Errorf("a chain without filters makes %v allocations", n)
	}
	chain, _ := Counting()
	a := chain.Begin(subject)
	if n := testing.AllocsPerRun(100, func() { _, _ = a.Chunk(t.Context(), Arrival{Wire: wire}) }); n != 0 {
		t.Errorf("a chunk makes %v allocations", n)
	}
}
