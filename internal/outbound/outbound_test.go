package outbound

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"penstock"
	"penstock/internal/dialect"
	"penstock/internal/dialect/catalog"
	"penstock/internal/provider"
)

// speaker is an upstream that understands one endpoint, and not the member "forbidden".
type speaker penstock.Endpoint

func (s speaker) Speaks(e penstock.Endpoint) bool { return e == penstock.Endpoint(s) }

func (speaker) Call(context.Context, provider.Call) (provider.Answer, error) {
	return nil, errors.New("a request was sent")
}

func (speaker) Unsupported(c provider.Call) string {
	if strings.Contains(strings.ToLower(string(c.Body)), "forbidden") {
		return "forbidden"
	}
	return ""
}

type speakers map[string]speaker

func (s speakers) Provider(name string) (provider.Provider, bool) {
	p, ok := s[name]
	return p, ok
}

// shout translates chats to messages, in capitals.
type shout struct{}

func (shout) For(from, to penstock.Endpoint) (Translation, bool) {
	return shout{}, from == penstock.EndpointChat && to == penstock.EndpointMessages
}

func (shout) Forward(_ penstock.Endpoint, body []byte) ([]byte, []string) {
	if strings.Contains(string(body), "sealed") {
		return []byte("{}"), []string{"sealed"}
	}
	return body, nil
}

func (shout) Request(body []byte, _ dialect.Upstream) ([]byte, []string, error) {
	switch {
	case strings.Contains(string(body), "unbearable"):
		panic("the translation broke")
	case strings.Contains(string(body), "unspeakable"):
		return nil, nil, penstock.InvalidParam("messages", "unspeakable")
	}
	return []byte(strings.ToUpper(string(body))), []string{"top_k"}, nil
}

func (shout) Answer(upstream provider.Answer, _ dialect.Asked) provider.Answer { return upstream }

func (shout) Error(failure *provider.Error) *provider.Error {
	said := *failure
	said.Message = strings.ToUpper(failure.Message)
	return &said
}

var writer = Writer{Providers: speakers{"chats": speaker(penstock.EndpointChat), "messages": speaker(penstock.EndpointMessages), "ranks": speaker(penstock.EndpointRerank)}, Translator: shout{}}

func source(t *testing.T, body string) *Source {
	t.Helper()
	inf, err := catalog.Read(penstock.EndpointChat, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return &Source{Model: "fast", Endpoint: penstock.EndpointChat, Body: []byte(body), Header: map[string][]string{"A": {"b"}}, Inference: &inf}
}

func TestWrite(t *testing.T) {
	t.Parallel()
	const start = `{"model":"fast","messages":[{"role":"user","content":"`
	for _, tt := range []struct {
		name, provider, content string
		body                    string // as it is sent
		remarks                 string
		param                   string // that is refused
		code                    penstock.Code
	}{
		{name: "as it is", provider: "chats", content: "hi", body: start + `hi"}]}`},
		{name: "without a provider", provider: "gone", content: "hi", body: start + `hi"}]}`},
		{name: "without sealed content", provider: "chats", content: "sealed", body: "{}", remarks: "dropped sealed"},
		{name: "translated", provider: "messages", content: "hi", body: strings.ToUpper(start + `hi"}]}`), remarks: "translated to /v1/messages; dropped top_k"},
		{name: "not expressible", provider: "messages", content: "unspeakable", param: "messages", code: penstock.CodeInvalidRequest},
		{name: "a translation that breaks", provider: "messages", content: "unbearable", code: penstock.CodeInternal},
		{name: "not honoured", provider: "chats", content: "forbidden", param: "forbidden", code: penstock.CodeInvalidRequest},
		{name: "not honoured after translation", provider: "messages", content: "forbidden", param: "forbidden", code: penstock.CodeInvalidRequest},
		{name: "no dialect in common", provider: "ranks", content: "hi", param: "model", code: penstock.CodeInvalidRequest},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			target := &penstock.Target{Name: "t", Provider: tt.provider}
			s := source(t, start+tt.content+`"}]}`)
			q, err := writer.Write(s, target)
			if tt.code != "" {
				if e := penstock.AsError(err); e.Code != tt.code || e.Param != tt.param {
					t.Errorf("%v", err)
				}
				return
			}
			if err != nil || string(q.Body) != tt.body || strings.Join(q.Remarks(), "; ") != tt.remarks || (q.Upstream == nil) != (tt.provider == "gone") {
				t.Errorf("%s, %q, %v", q.Body, q.Remarks(), err)
			}
			same := tt.body == string(s.Body)
			if (q.Object != nil) != same || (q.Header != nil) == q.Translated() || q.Translated() != (tt.provider == "messages") {
				t.Errorf("%+v", q)
			}
		})
	}
}

func TestServes(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"chats": true, "messages": true, "gone": true, "ranks": false} {
		if got := writer.Serves(&penstock.Target{Provider: name}, penstock.EndpointChat); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if err := NotServed("fast", penstock.EndpointChat); !errors.Is(err, ErrNotServed) {
		t.Errorf("%v", err)
	}
	if (Writer{Providers: writer.Providers}).Serves(&penstock.Target{Provider: "messages"}, penstock.EndpointChat) {
		t.Error("served without a translator")
	}
}

// Each of several calls asks for one choice, with a seed of its own, and is translated and bounded like the first.
func TestParts(t *testing.T) {
	t.Parallel()
	target := &penstock.Target{Name: "t", Provider: "messages", OneChoice: true}
	q, err := writer.Write(source(t, `{"model":"fast","messages":[],"n":3,"seed":5}`), target)
	if err != nil || q.Parts.Calls != 3 || !slices.Contains(q.Remarks(), "3 calls, because the target gives one answer for each") {
		t.Fatalf("%+v, %v", q, err)
	}
	q.LimitOutput(7)
	for call, seed := range []string{`"SEED":5`, `"SEED":6`, `"SEED":7`} {
		text, err := q.Part(q.Body, int64(call))
		if err != nil || !strings.Contains(string(text), seed) || !strings.Contains(string(text), `"N":1`) || !strings.Contains(string(text), `"max_tokens":7`) {
			t.Errorf("call %d: %s, %v", call, text, err)
		}
	}
	if q.DropBody(); q.Body != nil || q.Parts.Varied() {
		t.Errorf("%+v holds the body", q)
	}
	q, err = writer.Write(&Source{Endpoint: penstock.EndpointChat, Body: []byte(`{`)}, &penstock.Target{Provider: "chats", OneChoice: true})
	if err != nil || q.Parts.Calls > 1 {
		t.Errorf("a body that cannot be read: %+v, %v", q, err)
	}
}

// answer is a plain answer in two chunks.
type answer struct{ read int }

func (a *answer) Next() (provider.Chunk, error) {
	if a.read++; a.read > 2 {
		return provider.Chunk{}, io.EOF
	}
	return provider.Chunk{Wire: []byte("12345")}, nil
}

func (*answer) Meta() provider.Meta { return provider.Meta{} }
func (*answer) Close() error        { return nil }
func (*answer) Dropped() []string   { return []string{"thinking"} }

// budget is a bound on memory.
type budget struct{ left int64 }

func (b *budget) Take(n int64) error {
	if b.left -= n; b.left < 0 {
		return penstock.Errorf(penstock.CodeOverloaded, "Full.")
	}
	return nil
}

// A plain answer that is translated is held as a whole, within the bounds of memory.
func TestAnswer(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		provider string
		stream   bool
		full     bool
	}{{"chats", false, false}, {"messages", true, false}, {"messages", false, true}} {
		q, err := writer.Write(source(t, `{"model":"fast","messages":[]}`), &penstock.Target{Provider: tt.provider})
		if err != nil {
			t.Fatal(err)
		}
		a := q.Answer(&answer{}, dialect.Asked{Stream: tt.stream}, &budget{left: 7})
		_, first := a.Next()
		_, second := a.Next()
		if e, _ := errors.AsType[*provider.Error](second); first != nil || (e != nil) != tt.full || (e != nil && e.Kind != provider.KindMemory) {
			t.Errorf("%+v: %v, %v", tt, first, second)
		}
		if message := q.Failure(errors.New("broken")).Message; (message == strings.ToUpper(message)) != q.Translated() {
			t.Errorf("%+v: %q", tt, message)
		}
	}
	if lost := Losses(&answer{}); len(lost) != 1 {
		t.Errorf("%v", lost)
	}
}
