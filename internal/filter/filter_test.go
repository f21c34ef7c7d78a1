package filter

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"penstock"
)

// words is an editor of answers whose chunks are one text each, in brackets.
type words struct{ reads int }

func (w *words) Parts(to []Part, wire []byte) ([]Part, error) {
	w.reads++
	return append(to, Part{Kind: PartText, Text: string(bytes.Trim(wire, "[]"))}), nil
}

func (w *words) Replace(_ []byte, parts []Part) ([]byte, error) {
	return []byte("[" + parts[0].Text + "]"), nil
}

// verdicts is a filter that decides as it is told. Of an Edit it makes the text upper case.
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
	parts, err := c.Parts()
	if err != nil {
		return Verdict{}, err
	}
	changed := append([]Part(nil), parts...)
	for i := range changed {
		changed[i].Text = strings.ToUpper(changed[i].Text)
	}
	if v.action == Edit {
		if err := c.Replace(changed); err != nil {
			return Verdict{}, err
		}
	}
	return Verdict{Action: v.action}, v.err
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

func TestAnswers(t *testing.T) {
	t.Parallel()
	edits := verdicts{action: Edit, looks: true}
	for name, tt := range map[string]struct {
		filters []Output
		editor  Editor
		failure bool
		want    string
		code    penstock.Code
	}{
		"none":                           {nil, nil, false, "[weir]", ""},
		"pass":                           {[]Output{verdicts{}}, nil, false, "[weir]", ""},
		"block":                          {[]Output{verdicts{action: Block}}, nil, false, "", penstock.CodeContentBlocked},
		"edit":                           {[]Output{verdicts{looks: true}, edits}, &words{}, false, "[WEIR]", ""},
		"edit without an editor":         {[]Output{edits}, nil, false, "", penstock.CodeInternal},
		"a filter that fails":            {[]Output{verdicts{err: errBroken}}, nil, false, "", penstock.CodeInternal},
		"words of an upstream":           {[]Output{edits}, nil, true, "[WEIR]", ""},
		"words of an upstream, blocked":  {[]Output{verdicts{action: Block}}, nil, true, "", penstock.CodeContentBlocked},
		"edited twice, and read between": {[]Output{edits, edits}, &words{}, false, "[WEIR]", ""},
	} {
		chain := &Chain{Outputs: tt.filters, Editor: func(penstock.Endpoint) Editor { return tt.editor }}
		if tt.editor == nil {
			chain.Editor = nil
		}
		a := chain.Begin(Subject{})
		judge := func() ([]byte, error) { return a.Chunk(t.Context(), Arrival{Wire: []byte("[weir]"), Text: "weir"}) }
		if tt.failure {
			judge = func() ([]byte, error) { return a.Failure(t.Context(), []byte("[weir]")) }
		}
		got, err := judge()
		if string(got) != tt.want || penstock.ErrorCode(err) != tt.code {
			t.Errorf("%s: %q, %v; want %q, %q", name, got, err, tt.want, tt.code)
		}
	}
}

// A filter that does not look at the text does not have it read.
func TestPartsAreReadOnDemand(t *testing.T) {
	t.Parallel()
	for _, looks := range []bool{false, true} {
		editor := &words{}
		chain := &Chain{Outputs: []Output{verdicts{looks: looks}, verdicts{looks: looks}}, Editor: func(penstock.Endpoint) Editor { return editor }}
		a := chain.Begin(Subject{})
		if _, err := a.Chunk(t.Context(), Arrival{Wire: []byte("[weir]")}); err != nil || (editor.reads > 0) != looks || editor.reads > 1 {
			t.Errorf("looks %t: the chunk was read %d times, %v", looks, editor.reads, err)
		}
	}
}

// Without an editor, a filter sees the text that the provider found, and else all bytes.
func TestPartsWithoutAnEditor(t *testing.T) {
	t.Parallel()
	for want, from := range map[Part]Arrival{
		{Kind: PartText, Text: "weir"}:     {Wire: []byte("{}"), Text: "weir"},
		{Kind: PartRaw, Text: `{"a":"b"}`}: {Wire: []byte(`{"a":"b"}`)},
	} {
		c := Chunk{Wire: from.Wire, text: from.Text}
		if got, err := c.Parts(); err != nil || len(got) != 1 || got[0] != want {
			t.Errorf("%v, %v; want %v", got, err, want)
		}
	}
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
