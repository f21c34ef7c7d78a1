package penstock

import (
	"encoding/json"
	"math"
	"math/big"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func rate(t testing.TB, s string) Rate {
	t.Helper()
	r, err := ParseRate(s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Each cost was worked out by hand: tokens × dollars per million tokens = micro-dollars.
func TestCost(t *testing.T) {
	t.Parallel()
	mini := Price{Input: rate(t, "0.15"), CachedInput: rate(t, "0.075"), Output: rate(t, "0.60")}
	tiny := Price{Input: 1, CachedInput: 1, Output: 1} // a trillionth of a dollar per token
	for _, tt := range []struct {
		name  string
		price Price
		usage Usage
		want  NanoUSD
	}{
		{"nothing used", mini, Usage{}, 0},
		{"free target", Price{}, Usage{InputTokens: 1 << 40, CachedInputTokens: 0, OutputTokens: 1 << 40}, 0},
		{"one token of input", mini, Usage{InputTokens: 1, CachedInputTokens: 0, OutputTokens: 0}, 150},
		{"one token of output", mini, Usage{InputTokens: 0, CachedInputTokens: 0, OutputTokens: 1}, 600},
		{"one cached token", mini, Usage{InputTokens: 1, CachedInputTokens: 1, OutputTokens: 0}, 75},
		{"a million of input", mini, Usage{InputTokens: 1_000_000, CachedInputTokens: 0, OutputTokens: 0}, 150_000_000},
		{"the contract's example", mini, Usage{InputTokens: 12, CachedInputTokens: 0, OutputTokens: 9}, 7_200}, // 12×0.15 + 9×0.60 = 7.2 µ$
		{"part of it cached", mini, Usage{InputTokens: 1_000, CachedInputTokens: 400, OutputTokens: 100}, 180_000},
		{"all of it cached", mini, Usage{InputTokens: 1_000, CachedInputTokens: 1_000, OutputTokens: 0}, 75_000},
		{"more cached than input", mini, Usage{InputTokens: 10, CachedInputTokens: 20, OutputTokens: 0}, 750},
		{"usage below zero costs nothing", mini, Usage{InputTokens: -5, CachedInputTokens: 0, OutputTokens: -7}, 0},

		{"a thousandth is rounded up", tiny, Usage{InputTokens: 1, CachedInputTokens: 0, OutputTokens: 0}, 1},
		{"exactly one is not", tiny, Usage{InputTokens: 1_000, CachedInputTokens: 0, OutputTokens: 0}, 1},
		{"a thousandth over one", tiny, Usage{InputTokens: 1_001, CachedInputTokens: 0, OutputTokens: 0}, 2},
		{"rounded once, not per class", tiny, Usage{InputTokens: 400, CachedInputTokens: 100, OutputTokens: 600}, 1},
		{"rounded once, just above", tiny, Usage{InputTokens: 401, CachedInputTokens: 100, OutputTokens: 600}, 2},

		{"the most that fits", Price{Input: 1000}, Usage{InputTokens: math.MaxInt64, CachedInputTokens: 0, OutputTokens: 0}, math.MaxInt64},
		{"just too much for 63 bits", Price{Input: 1001}, Usage{InputTokens: math.MaxInt64, CachedInputTokens: 0, OutputTokens: 0}, math.MaxInt64},
		{"too much for 128 bits of money", Price{Input: math.MaxInt64, CachedInput: math.MaxInt64, Output: math.MaxInt64},
			Usage{InputTokens: math.MaxInt64, CachedInputTokens: math.MaxInt64 / 2, OutputTokens: math.MaxInt64}, math.MaxInt64},
	} {
		if got := tt.price.Cost(tt.usage); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// Cost agrees with arithmetic that cannot overflow.
func TestCostIsExact(t *testing.T) {
	t.Parallel()
	amounts := rapid.Int64Range(0, math.MaxInt64)
	rapid.Check(t, func(t *rapid.T) {
		rate := func(name string) Rate { return Rate(amounts.Draw(t, name)) }
		p := Price{
			Input: rate("input"), CachedInput: rate("cached"), CacheWrite: rate("write"), CacheWrite1h: rate("hour"), AudioInput: rate("audio in"),
			Output: rate("output"), Reasoning: rate("reasoning"), AudioOutput: rate("audio out"),
			PerRequest: NanoUSD(amounts.Draw(t, "per request")), PerImage: NanoUSD(amounts.Draw(t, "per image")),
			PerSearch:     NanoUSD(amounts.Draw(t, "per search")),
			BatchDiscount: rapid.Int64Range(0, 100).Draw(t, "discount"),
		}
		u := Usage{InputTokens: amounts.Draw(t, "in"), OutputTokens: amounts.Draw(t, "out")}
		u.CachedInputTokens = rapid.Int64Range(0, u.InputTokens).Draw(t, "of it cached")
		u.CacheWriteTokens = rapid.Int64Range(0, u.InputTokens-u.CachedInputTokens).Draw(t, "of it written")
		u.CacheWrite1hTokens = rapid.Int64Range(0, u.CacheWriteTokens).Draw(t, "for an hour")
		u.AudioInputTokens = rapid.Int64Range(0, u.InputTokens-u.CachedInputTokens-u.CacheWriteTokens).Draw(t, "of it audio")
		u.ReasoningTokens = rapid.Int64Range(0, u.OutputTokens).Draw(t, "of it reasoning")
		u.AudioOutputTokens = rapid.Int64Range(0, u.OutputTokens-u.ReasoningTokens).Draw(t, "of it spoken")
		c := Charge{Usage: u, Calls: 1, Images: amounts.Draw(t, "images"), Searches: amounts.Draw(t, "searches"), Lane: rapid.SampledFrom(Lanes).Draw(t, "lane")}

		sum := new(big.Int)
		add := func(n, each int64) { sum.Add(sum, new(big.Int).Mul(big.NewInt(n), big.NewInt(each))) }
		add(c.Calls, int64(p.PerRequest))
		add(c.Images, int64(p.PerImage))
		add(c.Searches, int64(p.PerSearch))
		sum.Mul(sum, big.NewInt(1000))
		add(u.InputTokens-u.CachedInputTokens-u.CacheWriteTokens-u.AudioInputTokens, int64(p.Input))
		add(u.CachedInputTokens, int64(p.CachedInput))
		add(u.CacheWriteTokens-u.CacheWrite1hTokens, int64(p.CacheWrite))
		add(u.CacheWrite1hTokens, int64(p.CacheWrite1h))
		add(u.AudioInputTokens, int64(p.AudioInput))
		add(u.OutputTokens-u.ReasoningTokens-u.AudioOutputTokens, int64(p.Output))
		add(u.ReasoningTokens, int64(p.Reasoning))
		add(u.AudioOutputTokens, int64(p.AudioOutput))
		percent := int64(100)
		if c.Lane == LaneBulk {
			percent -= p.BatchDiscount
		}
		sum.Mul(sum, big.NewInt(percent))
		want := sum.Add(sum, big.NewInt(99_999)).Div(sum, big.NewInt(100_000))
		if most := big.NewInt(math.MaxInt64); want.Cmp(most) > 0 {
			want = most
		}
		if got := p.Charge(c); int64(got) != want.Int64() {
			t.Fatalf("%+v at %+v costs %d, want %d", c, p, got, want)
		}
	})
}

// The reservation for tokens of unknown class is enough, whatever class the upstream reports.
func TestDearestIsABound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var p Price
		for i, r := range []*Rate{&p.Input, &p.CachedInput, &p.CacheWrite, &p.CacheWrite1h, &p.AudioInput, &p.Output, &p.Reasoning, &p.AudioOutput} {
			*r = Rate(rapid.Int64Range(0, 1<<30).Draw(t, Class(i).String()))
		}
		bound := Usage{InputTokens: rapid.Int64Range(0, 1<<40).Draw(t, "input"), OutputTokens: rapid.Int64Range(0, 1<<40).Draw(t, "output")}
		var u Usage
		for i, n := range u.Counts() {
			*n = rapid.Int64Range(-1, 1<<40).Draw(t, UsageNames[i])
		}
		u.InputTokens, u.OutputTokens = min(u.InputTokens, bound.InputTokens), min(u.OutputTokens, bound.OutputTokens)
		if cost, most := p.Cost(u), p.Dearest().Cost(bound); cost > most {
			t.Fatalf("%+v costs %v at %+v, where at most %v was to be spent", u, cost, p, most)
		}
	})
}

// No token is lost or counted twice, and nothing an upstream can say makes a class negative.
func TestClasses(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var u Usage
		for i, n := range u.Counts() {
			*n = rapid.Int64Range(-10, 100).Draw(t, UsageNames[i])
		}
		c := u.Classes()
		var input, output int64
		for class, n := range c {
			if n < 0 {
				t.Fatalf("%+v has %d tokens of %v", u, n, Class(class))
			}
			if Class(class) < ClassOutput {
				input += n
			} else {
				output += n
			}
		}
		if input != max(0, u.InputTokens) || output != max(0, u.OutputTokens) {
			t.Fatalf("%+v came apart into %v", u, c)
		}
	})
	got := Usage{InputTokens: 100, CachedInputTokens: 50, CacheWriteTokens: 30, CacheWrite1hTokens: 40, AudioInputTokens: 60, OutputTokens: 10, ReasoningTokens: 4, AudioOutputTokens: 8}.Classes()
	want := Classes{ClassAudioInput: 60, ClassCachedInput: 40, ClassAudioOutput: 8, ClassReasoning: 2}
	if got != want {
		t.Errorf("parts that overlap came apart into %v, want %v", got, want)
	}
}

// The counts are called in the API what they are called everywhere else.
func TestUsageNames(t *testing.T) {
	t.Parallel()
	of, u := reflect.TypeFor[Usage](), Usage{}
	counts, value := u.Counts(), reflect.ValueOf(&u).Elem()
	if of.NumField() != len(UsageNames) {
		t.Fatalf("a usage has %d counts, %d have a name", of.NumField(), len(UsageNames))
	}
	for i, name := range UsageNames {
		if tag, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ","); tag != name || value.Field(i).Addr().Interface() != counts[i] {
			t.Errorf("count %d is %s in JSON and %s elsewhere", i, tag, name)
		}
	}
}

func TestCostOfNegativeCachedTokens(t *testing.T) {
	t.Parallel()
	p := Price{Input: 1000, CachedInput: 1000, Output: 1000}
	if got := p.Cost(Usage{InputTokens: 10, CachedInputTokens: -5}); got != 10 {
		t.Errorf("10 tokens of input, -5 cached: %v, want %v", got, NanoUSD(10))
	}
	if got := p.Cost(Usage{InputTokens: math.MaxInt64, CachedInputTokens: -1}); got != math.MaxInt64 {
		t.Errorf("the most input, -1 cached: %v, want saturation", got)
	}
}

func TestUsagePlus(t *testing.T) {
	t.Parallel()
	var a, b, want Usage
	for i, n := range want.Counts() {
		*a.Counts()[i], *b.Counts()[i], *n = int64(i+1), int64(10*i), int64(11*i+1)
	}
	if got := a.Plus(b); got != want || *a.Counts()[1] != 2 {
		t.Errorf("got %+v of %+v, want %+v", got, a, want)
	}
}

func TestParseRate(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]Rate{
		"0": 0, "0.0": 0, "0.15": 150_000, "3": 3_000_000, "3.00": 3_000_000, "0.000001": 1, "15.000000": 15_000_000,
		"007": 7_000_000, "9223372036854.775807": math.MaxInt64,
	} {
		if got, err := ParseRate(s); err != nil || got != want {
			t.Errorf("%q: %d, %v; want %d", s, got, err, want)
		}
	}
	for _, s := range []string{
		"", ".", ".5", "-1", "+1", "1e3", "0x1", "1,5", "1.2.3", " 1", "1 ", "$1", "NaN", "Inf", "0.0000001", "1_000", "١",
		"9223372036854.775808", strings.Repeat("9", 400),
	} {
		if got, err := ParseRate(s); err == nil {
			t.Errorf("%q was read as %d", s, got)
		} else if len(err.Error()) > 300 {
			t.Errorf("the error for %d bytes has %d", len(s), len(err.Error()))
		}
	}
}

func TestRateRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := Rate(rapid.Int64Range(0, math.MaxInt64).Draw(t, "rate"))
		s := r.String()
		if got, err := ParseRate(s); err != nil || got != r {
			t.Fatalf("%d was written as %q and read as %d, %v", r, s, got, err)
		}
		if strings.Contains(s, ".") && (strings.HasSuffix(s, "0") || strings.HasSuffix(s, ".")) {
			t.Fatalf("%q ends in zeros that say nothing", s)
		}
	})
}

func TestMoneyAsText(t *testing.T) {
	t.Parallel()
	for m, want := range map[NanoUSD]string{
		0: "0.000000000", 1: "0.000000001", 41_200: "0.000041200", 1_000_000_000: "1.000000000",
		12_345_678_901: "12.345678901", math.MaxInt64: "9223372036.854775807",
		-1: "-0.000000001", -1_500_000_000: "-1.500000000", math.MinInt64: "-9223372036.854775808",
	} {
		if got := m.String(); got != want {
			t.Errorf("%d is %q, want %q", int64(m), got, want)
		}
	}
}

func TestMoneyIsAStringInJSON(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(map[string]NanoUSD{"cost_usd": 41_200})
	if want := `{"cost_usd":"0.000041200"}`; err != nil || string(text) != want {
		t.Errorf("got %s, %v; want %s", text, err, want)
	}
}

func TestMoneyTextRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) { moneyRoundTrip(t, rapid.Int64Range(0, math.MaxInt64).Draw(t, "money")) })
}

func TestMoneyTextRoundTripBelowZero(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) { moneyRoundTrip(t, rapid.Int64Range(math.MinInt64, -1).Draw(t, "money")) })
}

func moneyRoundTrip(t *rapid.T, n int64) {
	text, err := NanoUSD(n).MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	var back NanoUSD
	if err := back.UnmarshalText(text); err != nil || int64(back) != n {
		t.Fatalf("%d was written as %s and read as %d, %v", n, text, back, err)
	}
}

func TestMoneyRejectsOtherText(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "1e9", "0.0000000001", "abc", "9223372036.854775808", ". 5"} {
		m := NanoUSD(7)
		if err := m.UnmarshalText([]byte(s)); err == nil || m != 7 {
			t.Errorf("%q was read as %v, %v", s, m, err)
		}
	}
}

func TestPriceZero(t *testing.T) {
	t.Parallel()
	if !(Price{}).Zero() {
		t.Error("no price is not zero")
	}
	for _, p := range []Price{{Input: 1}, {CachedInput: 1}, {CacheWrite1h: 1}, {AudioInput: 1}, {Output: 1}} {
		if p.Zero() {
			t.Errorf("%+v is zero", p)
		}
	}
}

// Sums stop at the largest number that there is: a sum that wraps would make a debt of money that was spent.
func TestSumsSaturate(t *testing.T) {
	t.Parallel()
	const most, least = NanoUSD(math.MaxInt64), NanoUSD(math.MinInt64)
	for _, tt := range []struct{ a, b, want NanoUSD }{
		{1, 2, 3}, {most, 1, most}, {most, most, most}, {least, -1, least}, {least, least, least}, {most, least, -1}, {-5, 3, -2}, {most, 0, most},
	} {
		if got := tt.a.Plus(tt.b); got != tt.want {
			t.Errorf("%d + %d = %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
	u := Usage{InputTokens: math.MaxInt64, OutputTokens: 7}.Plus(Usage{InputTokens: 1, OutputTokens: 1})
	if u.InputTokens != math.MaxInt64 || u.OutputTokens != 8 {
		t.Errorf("%+v", u)
	}
}

// A call with more than 200,000 input tokens costs the higher rates, in every class; a bound covers both.
func TestLongInputCostsMore(t *testing.T) {
	t.Parallel()
	p := Price{Input: 3_000_000, CachedInput: 300_000, CacheWrite: 3_750_000, CacheWrite1h: 6_000_000, AudioInput: 3_000_000, Output: 15_000_000,
		Reasoning: 15_000_000, AudioOutput: 15_000_000, InputAbove200k: 6_000_000, OutputAbove200k: 22_500_000}
	for name, tt := range map[string]struct {
		charge Charge
		want   NanoUSD
	}{
		"short":         {Charge{Usage: Usage{InputTokens: 200_000, OutputTokens: 1000}, Calls: 1}, 600_000_000 + 15_000_000},
		"long":          {Charge{Usage: Usage{InputTokens: 200_001, OutputTokens: 1000}, Calls: 1}, 1_200_006_000 + 22_500_000},
		"cached":        {Charge{Usage: Usage{InputTokens: 300_000, CachedInputTokens: 300_000}, Calls: 1}, 180_000_000},
		"cache write":   {Charge{Usage: Usage{InputTokens: 300_000, CacheWriteTokens: 300_000}, Calls: 1}, 2_250_000_000},
		"several calls": {Charge{Usage: Usage{InputTokens: 400_000}, Calls: 2}, 1_200_000_000},
	} {
		got := p.Charge(tt.charge)
		if got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
		if most := p.Dearest().Charge(tt.charge); most < got {
			t.Errorf("%s: the bound %s is below the cost %s", name, most, got)
		}
	}
	one := &Target{Price: p, Surcharges: map[string]Surcharge{"tier": {Factor: 2000}}}
	dear, _ := one.Surcharged([]string{"tier"})
	if dear.Price.InputAbove200k != 12_000_000 || dear.Price.OutputAbove200k != 45_000_000 {
		t.Errorf("a surcharge leaves the long rates alone: %+v", dear.Price)
	}
}
