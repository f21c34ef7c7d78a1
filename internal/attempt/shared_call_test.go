package attempt

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"penstock"
	"penstock/internal/capacity"
	"penstock/internal/config"
	"penstock/internal/provider"
	"penstock/internal/route"
)

// embedder is an upstream of embeddings: the vector of an input is its text. It takes a second, charges a token for each
// byte, and refuses whatever has an input with a word in it that it knows.
type embedder struct {
	refuses map[string]provider.Kind // by word
	silent  bool                     // does not tell what it charges
	answer  func(inputs []string) string

	mu    sync.Mutex
	calls [][]string // inputs
	spent int64      // tokens
	ended int        // calls whose context ended
}

func (e *embedder) Provider(name string) (provider.Provider, bool) { return e, name == "up" }

func (e *embedder) Speaks(p penstock.Endpoint) bool { return p == penstock.EndpointEmbeddings }

func (e *embedder) Call(ctx context.Context, call provider.Call) (provider.Answer, error) {
	ctx, cancel := within(ctx, call)
	var asked struct{ Input json.RawMessage }
	if err := json.Unmarshal(call.Body, &asked); err != nil {
		return nil, err
	}
	var inputs []string
	if json.Unmarshal(asked.Input, &inputs) != nil {
		var one string
		if err := json.Unmarshal(asked.Input, &one); err != nil {
			return nil, err
		}
		inputs = []string{one}
	}
	e.mu.Lock()
	e.calls = append(e.calls, inputs)
	e.mu.Unlock()
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		e.mu.Lock()
		e.ended++
		e.mu.Unlock()
		return nil, ended(ctx)
	}
	for word, kind := range e.refuses {
		if strings.Contains(strings.Join(inputs, " "), word) {
			return nil, &provider.Error{Kind: kind, StatusCode: 400, Message: "it has a " + word, Body: []byte(`{"error":{}}`)}
		}
	}
	meta := provider.Meta{StatusCode: 200, ContentType: "application/json", UsageKnown: !e.silent}
	if !e.silent {
		meta.Usage.InputTokens = int64(len(strings.Join(inputs, "")))
	}
	e.mu.Lock()
	e.spent += meta.Usage.InputTokens
	e.mu.Unlock()
	text := vectors(inputs)
	if e.answer != nil {
		text = e.answer(inputs)
	}
	return &answer{ctx: ctx, cancel: cancel, reply: reply{chunks: []string{text}, meta: meta, broken: io.EOF}}, nil
}

func vectors(inputs []string) string {
	var all []string
	for i, text := range inputs {
		all = append(all, fmt.Sprintf(`{"index":%d,"embedding":%q}`, i, text))
	}
	return `{"data":[` + strings.Join(all, ",") + `]}`
}

// embeds is a task for one input.
func embeds(input string) Task {
	text, _ := json.Marshal(map[string]any{"model": "fast", "input": input})
	return Task{Subject: penstock.ID("of " + input), Fence: 7, Model: "fast", Targets: []string{"a"}, Endpoint: penstock.EndpointEmbeddings,
		Body: text, Bound: bound, Owner: "acme", Lane: penstock.LaneStandard}
}

// goroutine pool runs tasks at the same time, after one that makes them wait for each other.
type sharing struct {
	rig
	*embedder
	outs    map[string]Outcome
	answers map[string]string
}

func newGoroutinePool(t *testing.T, e *embedder, edit ...func(*config.File)) *sharing {
	c := &sharing{rig: newRig(t, nil, edit...), embedder: e, outs: map[string]Outcome{}, answers: map[string]string{}}
	c.Runner.Providers = e
	return c
}

// run starts the tasks a microsecond apart, by names, and waits for all of them.
func (c *sharing) run(ctx context.Context, names []string, tasks ...Task) {
	var mu sync.Mutex
	var all sync.WaitGroup
	for i, one := range tasks {
		all.Go(func() {
			s := &sink{}
			out := c.Run(ctx, one, s)
			mu.Lock()
			defer mu.Unlock()
			c.outs[names[i]], c.answers[names[i]] = out, s.text.String()
		})
		time.Sleep(time.Microsecond)
	}
	all.Wait()
}

func (c *sharing) embed(ctx context.Context, inputs ...string) {
	var tasks []Task
	for _, input := range inputs {
		tasks = append(tasks, embeds(input))
	}
	c.run(ctx, inputs, tasks...)
}

func TestEmbeddingsShareACall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newGoroutinePool(t, &embedder{})
		inputs := []string{"first", "b", "ccc", "dddddd"}
		c.embed(t.Context(), inputs...)
		if len(c.calls) != 2 || !slices.Equal(c.calls[1], inputs[1:]) {
			t.Fatalf("calls %q, want the first alone and the others together", c.calls)
		}
		var usage penstock.Usage
		var cost penstock.NanoUSD
		batches := map[string]bool{}
		for _, input := range inputs {
			out := c.outs[input]
			if out.Err != nil || c.answers[input] != vectors([]string{input}) || len(out.Attempts) != 1 {
				t.Fatalf("%s got %q: %+v", input, c.answers[input], out)
			}
			usage, cost = usage.Plus(out.Usage), cost+out.Cost
			a := out.Attempts[0]
			if a.Subject != penstock.ID("of "+input) || a.Number != 1 || a.Fence != 7 || a.Usage != out.Usage || !a.UsageKnown || out.Counted != 1 || out.Forfeit != 0 {
				t.Errorf("attempt of %s: %+v", input, a)
			}
			_, batch, _ := strings.Cut(a.Reason, "in batch ")
			batches[batch] = true
		}
		if usage.InputTokens != c.spent || cost != penstock.NanoUSD(c.spent*1000) {
			t.Errorf("used %+v for %v, and the upstream says %d tokens", usage, cost, c.spent)
		}
		delete(batches, "")
		if len(batches) != 1 || !strings.Contains(fmt.Sprint(batches), "of 3 inputs from 3 calls") {
			t.Errorf("batches %v, want one and the same on all three", batches)
		}
	})
}

func TestOneBadInputFailsAlone(t *testing.T) {
	t.Parallel()
	for _, kind := range []provider.Kind{provider.KindRejected, provider.KindContextTooLong, provider.KindFinal, provider.KindServer, provider.KindNetwork} {
		synctest.Test(t, func(t *testing.T) {
			c := newGoroutinePool(t, &embedder{refuses: map[string]provider.Kind{"poison": kind}})
			inputs := []string{"first"}
			for i := range 40 {
				inputs = append(inputs, fmt.Sprint("good ", i))
			}
			inputs = slices.Insert(inputs, 17, "poison")
			c.embed(t.Context(), inputs...)
			for _, input := range inputs {
				out := c.outs[input]
				if input == "poison" {
					if kindOf(t, out) != kind || out.Counted != 1 {
						t.Errorf("%s: the bad one: %+v", kind, out)
					}
					continue
				}
				if out.Err != nil || c.answers[input] != vectors([]string{input}) || out.Counted != 1 {
					t.Errorf("%s: %s got %q: %+v", kind, input, c.answers[input], out)
				}
			}
			if len(c.calls) > 2+2*6 {
				t.Errorf("%s: %d calls to find one of 41", kind, len(c.calls))
			}
		})
	}
}

// A failure that is nobody's fault is everybody's, without more calls.
func TestSickTargetIsNotAskedForEach(t *testing.T) {
	t.Parallel()
	for _, kind := range []provider.Kind{provider.KindRateLimited, provider.KindOverloaded, provider.KindAuth} {
		synctest.Test(t, func(t *testing.T) {
			c := newGoroutinePool(t, &embedder{refuses: map[string]provider.Kind{"x": kind}})
			c.embed(t.Context(), "first", "x1", "x2", "x3")
			if len(c.calls) != 2 {
				t.Errorf("%s: calls %q", kind, c.calls)
			}
			for _, input := range []string{"x1", "x2", "x3"} {
				if kindOf(t, c.outs[input]) != kind || len(c.outs[input].Attempts) != 1 {
					t.Errorf("%s: %+v", kind, c.outs[input])
				}
			}
		})
	}
}

// An answer that does not say whose its vectors are is given to nobody: each is asked for again.
func TestAnswerThatCannotBeDivided(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newGoroutinePool(t, &embedder{answer: func(inputs []string) string {
			if len(inputs) > 1 {
				return `{"data":[{"index":0,"embedding":"?"}]}`
			}
			return vectors(inputs)
		}})
		c.embed(t.Context(), "first", "a", "b")
		for _, input := range []string{"a", "b"} {
			if out := c.outs[input]; out.Err != nil || c.answers[input] != vectors([]string{input}) || len(out.Attempts) != 2 ||
				out.Attempts[0].ErrorKind != "malformed" || out.Counted != 1 {
				t.Errorf("%s got %q: %+v", input, c.answers[input], out)
			}
		}
		if got := c.outs["a"].Usage.InputTokens + c.outs["b"].Usage.InputTokens; got != 4 {
			t.Errorf("used %d tokens, want those of the first call too", got)
		}
	})
}

func TestWhatDiffersDoesNotShare(t *testing.T) {
	t.Parallel()
	body := func(more string) func(*Task) {
		return func(t *Task) { t.Body = []byte(`{"input":"x",` + more + `"model":"fast"}`) }
	}
	for name, edit := range map[string]func(*Task){
		"dimensions":     body(`"dimensions":3,`),
		"format":         body(`"encoding_format":"base64",`),
		"user":           body(`"user":"u",`),
		"unknown":        body(`"shiny":{},`),
		"tokens":         func(t *Task) { t.Body = []byte(`{"input":[1,2]}`) },
		"odd":            func(t *Task) { t.Body = []byte(`{"input":["x",""]}`) },
		"length":         func(t *Task) { t.Body = fmt.Appendf(nil, `{"input":%q}`, strings.Repeat("long ", 1000)) },
		"owner":          func(t *Task) { t.Owner = "other" },
		"no owner":       func(t *Task) { t.Owner = "" },
		"model":          func(t *Task) { t.Model = "slow" },
		"targets":        func(t *Task) { t.Targets = []string{"b"} },
		"retry":          func(t *Task) { t.Tries = 1 },
		"last of a row":  func(t *Task) { t.Tries, t.MaxAttempts = 3, 1 },
		"chat":           func(t *Task) { t.Endpoint = penstock.EndpointChat },
		"caller's words": func(t *Task) { t.Header = map[string][]string{"X": {"y"}} },
	} {
		r := newRig(t, nil)
		r.Runner.Providers = &embedder{}
		plain := r.member(new(embeds("x")))
		other := embeds("x")
		edit(&other)
		if m := r.member(&other); m != nil && m.Key == plain.Key {
			t.Errorf("%s: shares a call with one that differs", name)
		}
	}
	r := newRig(t, nil, editTarget("b", func(c *config.TargetConfig) { c.Batching.MaxInputs = 1 }))
	r.Runner.Providers = &embedder{}
	both := embeds("x")
	if r.member(&both) == nil {
		t.Error("a plain call does not share")
	}
	both.Targets = []string{"a", "b"}
	if r.member(&both) != nil {
		t.Error("it may go to a target that takes no batches")
	}
}

// Who gives up leaves the others alone, and pays the most that it can have cost.
// What a call costs by itself is paid once by those who share it, and by somebody who stayed. Worked out by hand: $0.001
// for each call, a millionth for each of the bytes that the upstream takes for tokens.
func TestSharedCallPaysItsChargeOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newGoroutinePool(t, &embedder{}, editTarget("a", func(c *config.TargetConfig) { c.Price.PerRequest = "0.001" }))
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		run := func(ctx context.Context, input string) {
			all.Go(func() {
				out := c.Run(ctx, embeds(input), &sink{})
				c.mu.Lock()
				defer c.mu.Unlock()
				c.outs[input] = out
			})
			synctest.Wait()
		}
		run(t.Context(), "alone")
		run(ctx, "leaver")
		run(t.Context(), "fourth")
		run(t.Context(), "fifths")
		time.Sleep(500 * time.Millisecond) // the second call is under way
		cancel()
		all.Wait()
		if len(c.calls) != 2 || len(c.calls[1]) != 3 {
			t.Fatalf("calls %q", c.calls)
		}
		const micro = penstock.NanoUSD(1000)
		for input, want := range map[string]penstock.NanoUSD{"alone": (1000 + 5) * micro, "fourth": (1000 + 6) * micro, "fifths": 6 * micro, "leaver": 0} {
			if out := c.outs[input]; out.Cost != want {
				t.Errorf("%s costs %v, want %v", input, out.Cost, want)
			}
		}
		if out := c.outs["leaver"]; out.Forfeit != bound {
			t.Errorf("who left forfeits %v, want all that was set aside: %v", out.Forfeit, penstock.NanoUSD(bound))
		}
	})
}

func TestMembersLeave(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newGoroutinePool(t, &embedder{})
		ctx, cancel := context.WithCancel(t.Context())
		before, cancelBefore := context.WithCancel(t.Context())
		var all sync.WaitGroup
		run := func(ctx context.Context, name string, task Task) {
			all.Go(func() {
				s := &sink{}
				out := c.Run(ctx, task, s)
				c.mu.Lock()
				defer c.mu.Unlock()
				c.outs[name], c.answers[name] = out, s.text.String()
			})
			synctest.Wait()
		}
		hasty := embeds("hasty")
		hasty.Timeout = 100 * time.Millisecond
		run(t.Context(), "first", embeds("first"))
		run(ctx, "leaves", embeds("leaves"))
		run(before, "never went", embeds("never went"))
		run(t.Context(), "hasty", hasty)
		run(t.Context(), "stays", embeds("stays"))
		cancelBefore()
		time.Sleep(500 * time.Millisecond)
		cancel()
		all.Wait()
		if len(c.calls) != 2 || !slices.Equal(c.calls[1], []string{"leaves", "hasty", "stays"}) {
			t.Errorf("calls %q", c.calls)
		}
		if out := c.outs["stays"]; out.Err != nil || c.answers["stays"] != vectors([]string{"stays"}) || out.Usage.InputTokens >= c.spent {
			t.Errorf("who stays got %q: %+v", c.answers["stays"], out)
		}
		for name, kind := range map[string]provider.Kind{"leaves": provider.KindCancelled, "hasty": provider.KindTimeout} {
			out := c.outs[name]
			if kindOf(t, out) != kind || len(out.Attempts) != 1 || out.Attempts[0].ErrorKind != string(kind) || out.Forfeit != bound || out.Begun {
				t.Errorf("%s: %+v", name, out)
			}
		}
		if out := c.outs["never went"]; kindOf(t, out) != provider.KindCancelled || len(out.Attempts) != 0 || out.Forfeit != 0 {
			t.Errorf("who left before the call: %+v", out)
		}
	})
}

// When nobody waits any more, the call is given up.
func TestCallEndsWithItsLastMember(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newGoroutinePool(t, &embedder{})
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		c.embed(ctx, "first", "a", "b")
		synctest.Wait()
		if c.ended != 2 {
			t.Errorf("%d of 2 calls ended with those who waited for them", c.ended)
		}
	})
}

// Capacity is taken for calls, not for the tasks that share them, and a batch that waits for capacity fills up.
func TestCapacityCountsCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newGoroutinePool(t, &embedder{}, editTarget("a", func(t *config.TargetConfig) { t.Limits.Concurrency = 1 }))
		var tasks []Task
		var names []string
		for i := range 50 {
			one := embeds(fmt.Sprint("n", i))
			one.Wait = 5 * time.Second
			tasks, names = append(tasks, one), append(names, fmt.Sprint("n", i))
		}
		began := time.Now()
		c.run(t.Context(), names, tasks...)
		if took := time.Since(began); len(c.calls) != 2 || took > 3*time.Second {
			t.Errorf("%d calls took %v, one at a time", len(c.calls), took)
		}
		for name, out := range c.outs {
			if out.Err != nil {
				t.Errorf("%s: %v", name, out.Err)
			}
		}
	})
}

// Capacity that items bring along is used once, and what is left of it is given back.
func TestMembersShareTheirCapacity(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newGoroutinePool(t, &embedder{}, editTarget("a", func(t *config.TargetConfig) { t.Limits.Concurrency = 2 }))
		target := c.Config.Current().Targets["a"]
		taken := func() *route.Choice {
			choice, ok := reserveOne(c.Router, route.Query{Candidates: []*penstock.Target{target}})
			if !ok {
				t.Fatal("there is no capacity")
			}
			return &choice
		}
		first, lead := embeds("first"), embeds("lead")
		first.Choice, lead.Choice = taken(), taken().Shared()
		one, two := embeds("one"), embeds("two")
		one.Choice, two.Choice = lead.Choice.Share(), lead.Choice.Share()
		c.run(t.Context(), []string{"first", "lead", "one", "two"}, first, lead, one, two)
		if len(c.calls) != 2 {
			t.Errorf("calls %q", c.calls)
		}
		for name, out := range c.outs {
			if out.Err != nil {
				t.Errorf("%s: %v", name, out.Err)
			}
		}
		defer taken().Done(capacity.Result{})
		defer taken().Done(capacity.Result{}) // all of it is free again
	})
}
