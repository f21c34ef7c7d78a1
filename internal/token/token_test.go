package token

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tiktoken-go/tokenizer/codec"

	"penstock"
)

func TestText(t *testing.T) {
	t.Parallel()
	var c Counter
	for text, want := range map[string]int64{"": 0, "hello world": 2, "Hello, world!": 4, " ": 1} {
		if got := c.Text(text); got != want {
			t.Errorf("%q has %d tokens, want %d", text, got, want)
		}
	}
}

// Long texts are counted in pieces, and beyond a bound by what they are like; neither may change the count much,
// nor may any text take long.
func TestLongText(t *testing.T) {
	t.Parallel()
	var c Counter
	line := "The gate opens slowly and the water begins to turn the wheel. "
	each := float64(c.Text(strings.Repeat(line, 10))) / 10
	for _, n := range []int{100, 1000, 100_000} {
		got := float64(c.Text(strings.Repeat(line, n)))
		if off := math.Abs(got/(each*float64(n)) - 1); off > 0.02 {
			t.Errorf("%d lines are off by %.1f %%", n, 100*off)
		}
	}
	for name, unit := range map[string]string{"spaces": "  ", "repeats": "aa", "dots": "..", "broken": "\xff\xfe"} {
		took := func(bytes int) time.Duration {
			began := time.Now()
			if n := c.Text(strings.Repeat(unit, bytes/len(unit))); n <= 0 {
				t.Errorf("%s: %d tokens", name, n)
			}
			return time.Since(began)
		}
		if one, many := took(MaxText), took(64*MaxText); many > 16*one+time.Second {
			t.Errorf("%s: what is counted takes %v, 64 times as much %v", name, one, many)
		}
	}
}

func TestBody(t *testing.T) {
	t.Parallel()
	var c Counter
	hello := c.Text("hello world")
	for _, tt := range []struct {
		name, body string
		want       int64
	}{
		{"chat", `{"model":"a very long name of a model","temperature":1,"messages":[{"role":"user","content":"hello world"}]}`, hello + perMessage},
		{"parts", `{"messages":[{"role":"user","content":[{"type":"text","text":"hello world"},{"type":"text","text":"hello world"}]}]}`, 2*hello + perMessage},
		{"system", `{"system":"hello world","messages":[]}`, hello},
		{"input", `{"input":["hello world","hello world"]}`, 2 * hello},
		{"image", `{"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` +
			strings.Repeat("A", 4096) + `"}}]}]}`, PerImage + perMessage},
		{"tools", `{"tools":[{"name":"x"}],"messages":[]}`, c.Text(`[{"name":"x"}]`)},
		{"a tool's result", `{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1234567890","content":"hello world"}]}]}`, hello + perMessage},
		{"not JSON", `hello world`, hello},
	} {
		if got := c.Body([]byte(tt.body)); got != tt.want {
			t.Errorf("%s: %d tokens, want %d", tt.name, got, tt.want)
		}
	}
}

// errorsOf is how far an estimate is off, in parts of the true number, sorted.
func errorsOf(estimate, truth func(string) int64, samples []string) []float64 {
	var off []float64
	for _, s := range samples {
		off = append(off, float64(estimate(s))/float64(truth(s))-1)
	}
	slices.Sort(off)
	return off
}

func quantile(sorted []float64, q float64) float64 {
	return sorted[int(math.Round(q*float64(len(sorted)-1)))]
}

// The tokenizer is judged by a vocabulary that is not its own, as it is for the models of others; bytes are judged
// by both. The bounds are those of docs/how-to/limit-callers.md.
func TestErrorDistribution(t *testing.T) {
	t.Parallel()
	var own Counter
	other := codec.NewCl100kBase()
	truth := func(s string) int64 {
		n, err := other.Count(s)
		if err != nil {
			t.Fatal(err)
		}
		return int64(n)
	}
	byBytes := func(s string) int64 { return penstock.InputTokens(int64(len(s))) }
	type bound struct{ low, high float64 }
	for _, tt := range []struct {
		name             string
		samples          []string
		tokenizer, bytes bound // of every sample
	}{
		{"English", english, bound{-0.05, 0.05}, bound{-0.45, 0.45}},
		{"code", programs, bound{-0.10, 0.10}, bound{-0.45, 0.15}},
		{"CJK", cjk, bound{-0.50, 0.05}, bound{-0.55, 0.10}},
	} {
		for _, row := range []struct {
			name  string
			off   []float64
			bound bound
		}{
			{"tokenizer against another vocabulary", errorsOf(own.Text, truth, tt.samples), tt.tokenizer},
			{"bytes against the tokenizer", errorsOf(byBytes, own.Text, tt.samples), bound{-0.45, 0.45}},
			{"bytes against the other vocabulary", errorsOf(byBytes, truth, tt.samples), tt.bytes},
		} {
			text := fmt.Sprintf("%-8s %-37s min %+5.1f %%  p25 %+5.1f %%  p50 %+5.1f %%  p75 %+5.1f %%  max %+5.1f %%", tt.name, row.name,
				100*row.off[0], 100*quantile(row.off, 0.25), 100*quantile(row.off, 0.5), 100*quantile(row.off, 0.75), 100*row.off[len(row.off)-1])
			t.Log(text)
			if row.off[0] < row.bound.low || row.off[len(row.off)-1] > row.bound.high {
				t.Errorf("%s; want all from %+.0f %% to %+.0f %%", text, 100*row.bound.low, 100*row.bound.high)
			}
		}
	}
}

func BenchmarkText(b *testing.B) {
	var c Counter
	text := strings.Join(english, " ")
	c.Text(text)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		c.Text(text)
	}
}

// The members of a body add up to the body, and texts beyond MaxMember are taken to be like those before.
func TestMembersAddUp(t *testing.T) {
	t.Parallel()
	var c Counter
	members := map[string]string{
		"model": `"m"`, "system": `"Be brief."`, "tools": `[{"name":"find","input_schema":{"type":"object"}}]`,
		"messages": `[{"role":"user","content":"Hello there"},{"role":"user","content":[{"type":"image_url","image_url":"data:,x"}]}]`,
	}
	var text []string
	var sum int64
	for name, value := range members {
		text = append(text, fmt.Sprintf("%q:%s", name, value))
		sum += c.Member(name, []byte(value))
	}
	if all := c.Body([]byte("{" + strings.Join(text, ",") + "}")); all != sum || c.Member("model", []byte(members["model"])) != 0 {
		t.Errorf("the members have %d tokens, the body %d", sum, all)
	}
	part := fmt.Sprintf(`{"content":%q}`, strings.Repeat("tea ", 1<<14))
	one := c.Member("messages", []byte("["+part+"]"))
	many := c.Member("messages", []byte("["+strings.Repeat(part+",", 39)+part+"]"))
	if most := 40 * one; many < most*99/100 || many > most*101/100 {
		t.Errorf("%d tokens, want about %d", many, most)
	}
}
