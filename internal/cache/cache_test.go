package cache

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"penstock"
	"penstock/internal/body"
	"penstock/internal/provider"
)

const (
	kib = 1 << 10
	mib = 1 << 20
)

func newCache(maxBytes int64) *Cache {
	return New(Config{MaxBytes: maxBytes, MaxEntryBytes: maxBytes / 8, Clock: time.Now})
}

func question(t interface{ Fatal(...any) }, tenant, text string) Question {
	o, err := body.Scan([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return Question{Tenant: penstock.TenantID(tenant), Definition: "def", Targets: []string{"a"}, Endpoint: penstock.EndpointChat, Body: o}
}

func keyOf(t interface{ Fatal(...any) }, tenant, text string) Key {
	key, ok := KeyOf(question(t, tenant, text))
	if !ok {
		t.Fatal("the answer to", text, "cannot be kept")
	}
	return key
}

// collected is a sink that keeps what it gets.
type collected struct {
	target string
	text   strings.Builder
}

func (c *collected) Begin(target string, _ provider.Meta) error { c.target = target; return nil }

func (c *collected) Chunk(part provider.Chunk) error {
	c.text.Write(part.Wire)
	return nil
}

// says is a call that answers with some parts.
func says(parts ...string) Call {
	return func(_ context.Context, f *Flight) Result {
		_ = f.Begin("main", provider.Meta{StatusCode: 200})
		for _, p := range parts {
			if err := f.Chunk(provider.Chunk{Wire: []byte(p)}); err != nil {
				return Result{Err: err}
			}
		}
		return Result{Meta: provider.Meta{Usage: penstock.Usage{OutputTokens: 7}, UsageKnown: true}, Cost: 5}
	}
}

// never is a call that must not be made.
func never(t *testing.T) Call {
	return func(context.Context, *Flight) Result {
		t.Error("a call was made")
		return Result{Err: errors.New("it must not be")}
	}
}

// read asks and reads to the end.
func read(ctx context.Context, c *Cache, a Ask) (Source, string, error) {
	r := c.Ask(ctx, a)
	defer r.Close()
	var got collected
	err := r.Copy(ctx, &got)
	return r.Source, got.text.String(), err
}

func TestAnswersAreKeptForAWhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCache(mib)
		ask := Ask{Key: keyOf(t, "a", `{"x":1}`), TTL: time.Minute, Call: says("Hel", "lo")}
		expect := func(a Ask, source Source, text string) {
			t.Helper()
			if got, said, err := read(t.Context(), c, a); got != source || said != text || err != nil {
				t.Errorf("%s %q, %v; want %s %q", got, said, err, source, text)
			}
		}
		expect(ask, Miss, "Hello")
		expect(Ask{Key: ask.Key, TTL: time.Minute, Call: never(t)}, Hit, "Hello")
		time.Sleep(30 * time.Second)
		expect(Ask{Key: ask.Key, TTL: 20 * time.Second, Call: says("young")}, Miss, "young")
		expect(Ask{Key: ask.Key, TTL: time.Minute, Refresh: true, Call: says("new")}, Miss, "new")
		expect(Ask{Key: ask.Key, TTL: time.Hour, Call: never(t)}, Hit, "new")
		time.Sleep(time.Minute)
		expect(Ask{Key: ask.Key, TTL: time.Hour, Call: says("again")}, Miss, "again")
	})
}

func TestWhatIsNotWholeIsNotKept(t *testing.T) {
	t.Parallel()
	fails := errors.New("it broke off")
	for name, call := range map[string]Call{
		"an error": func(context.Context, *Flight) Result { return Result{Err: fails} },
		"a truncated stream": func(ctx context.Context, f *Flight) Result {
			says("Hel")(ctx, f)
			return Result{Err: fails}
		},
		"an answer that is too large": says(strings.Repeat("x", 100*kib), strings.Repeat("x", 100*kib)),
		"nothing":                     func(context.Context, *Flight) Result { return Result{} },
		"a panic":                     func(context.Context, *Flight) Result { panic("oops") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, key := newCache(mib), keyOf(t, "a", `{}`)
			_, _, _ = read(t.Context(), c, Ask{Key: key, TTL: time.Minute, Call: call})
			if source, text, _ := read(t.Context(), c, Ask{Key: key, TTL: time.Minute, Call: says("fine")}); source != Miss || text != "fine" {
				t.Errorf("answered %s with %d bytes", source, len(text))
			}
			if got := c.flying.Load(); got != 0 {
				t.Errorf("%d bytes are coming in after the end", got)
			}
		})
	}
}

// What differs in anything that an answer depends on must not meet; what differs in spelling alone should.
func TestKeys(t *testing.T) {
	t.Parallel()
	base := question(t, "a", `{"model":"m","seed":9007199254740993,"messages":[{"role":"user","content":"Hi"}]}`)
	one, _ := KeyOf(base)
	same := question(t, "a", `{ "messages": [{"content":"H\u0069", "role":"user"}], "seed":9007199254740993, "model":"m" }`)
	if got, ok := KeyOf(same); !ok || got != one {
		t.Error("spelling makes a difference")
	}
	for name, change := range map[string]func(*Question){
		"tenant":     func(q *Question) { q.Tenant = "b" },
		"definition": func(q *Question) { q.Definition = "other" },
		"targets":    func(q *Question) { q.Targets = []string{"a", "b"} },
		"endpoint":   func(q *Question) { q.Endpoint = penstock.EndpointResponses },
		"headers":    func(q *Question) { q.Headers = []string{"Anthropic-Beta", "x"} },
		"shifted":    func(q *Question) { q.Targets, q.Headers = nil, []string{"a"} },
		"large seed": func(q *Question) {
			q.Body = question(t, "a", `{"model":"m","seed":9007199254740992,"messages":[{"role":"user","content":"Hi"}]}`).Body
		},
		"stream": func(q *Question) {
			q.Body = question(t, "a", `{"model":"m","stream":true,"seed":9007199254740993,"messages":[{"role":"user","content":"Hi"}]}`).Body
		},
	} {
		q := base
		change(&q)
		if got, ok := KeyOf(q); !ok || got == one {
			t.Errorf("%s: makes no difference", name)
		}
	}
}

func TestAnswersOfTheMomentAreNotKept(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`{}`:                           true,
		`{"store":false}`:              true,
		`{"store":null}`:               true,
		`{"temperature":1}`:            true,
		`{"store":true}`:               false,
		`{"background":true}`:          false,
		`{"conversation":"c_1"}`:       false,
		`{"web_search_options":{}}`:    false,
		`{"previous_response_id":"r"}`: false,
		`{"tools":[{"type":"function","function":{}},{"name":"f"},{"type":"custom"}]}`: true,
		`{"tools":[{"type":"function"},{"type":"web_search_20250305"}]}`:               false,
		`{"tools":[{"type":7}]}`: false,
		`{"tools":["x"]}`:        false,
		`{"a":{"b":1,"b":2}}`:    false,
	} {
		if _, ok := KeyOf(question(t, "a", text)); ok != want {
			t.Errorf("%s: %v, want %v", text, ok, want)
		}
	}
}

// Whatever tenants ask in whatever order: nobody gets an answer that was made for another tenant or another
// question, memory is bounded, and a tenant that holds no more than its part keeps it.
func TestTenantsShareNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const tenants, most = 3, 64 * kib
		c := New(Config{MaxBytes: most, MaxEntryBytes: most / 8, Clock: time.Now})
		entries := most - most/4
		held := map[string]int{} // by tenant and question: bytes
		of := map[string]int64{} // by tenant: what it asked for in all
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			tenant := fmt.Sprintf("t%d", rapid.IntRange(1, tenants).Draw(t, "tenant"))
			text := fmt.Sprintf(`{"q":%d}`, rapid.IntRange(1, 8).Draw(t, "question"))
			size := rapid.IntRange(1, 6*kib).Draw(t, "size")
			mine := tenant + text
			source, got, err := read(context.Background(), c, Ask{
				Key: keyOf(t, tenant, text), TTL: time.Hour, Call: says(mine + strings.Repeat("x", size)),
			})
			if err != nil || !strings.HasPrefix(got, mine) {
				t.Fatalf("%s was answered with %.20q, %v", mine, got, err)
			}
			if source == Miss {
				if _, before := held[mine]; before && of[tenant] <= int64(entries/tenants) {
					t.Fatalf("%s was forgotten though its tenant never asked for more than its part", mine)
				}
				held[mine] = len(got)
				of[tenant] += int64(len(got)) + entryOverhead
			} else if len(got) != held[mine] {
				t.Fatalf("%s was answered with %d bytes, kept were %d", mine, len(got), held[mine])
			}
			if size := c.Size(); size.Bytes > most {
				t.Fatalf("%d bytes are held", size.Bytes)
			}
		}
	})
}
