package config

import (
	"math"
	"time"

	"penstock"
)

// A follower is the price of a class that follows that of another where it is left out.
type follower struct {
	name     string
	quote    *string
	followed func() string
}

// followers are the prices that may be left out, each behind those that it follows.
func (p *Price) followers() []follower {
	input, output := func() string { return p.Input }, func() string { return p.Output }
	return []follower{
		{"cached_input", &p.CachedInput, input},
		{"cache_write", &p.CacheWrite, input},
		{"cache_write_1h", &p.CacheWrite1h, p.hourOfCache},
		{"audio_input", &p.AudioInput, input},
		{"reasoning", &p.Reasoning, output},
		{"audio_output", &p.AudioOutput, output},
	}
}

// hourOfCache is the default price of a cache write that is kept for an hour: as much as any other, and where writes
// cost more than input, twice the input at least. Whoever charges for writes charges that, so nothing is charged too low.
func (p *Price) hourOfCache() string {
	input, err := penstock.ParseRate(p.Input)
	write, err2 := penstock.ParseRate(p.CacheWrite)
	if err != nil || err2 != nil || write <= input {
		return p.CacheWrite
	}
	return max(write, 2*min(input, math.MaxInt64/2)).String()
}

// rates reads a checked price; none at all is free.
func (p Price) rates() penstock.Price {
	if p == (Price{}) {
		return penstock.Price{}
	}
	return penstock.Price{
		Input: checkedRate(p.Input), CachedInput: checkedRate(p.CachedInput), CacheWrite: checkedRate(p.CacheWrite),
		CacheWrite1h: checkedRate(p.CacheWrite1h), AudioInput: checkedRate(p.AudioInput),
		Output: checkedRate(p.Output), Reasoning: checkedRate(p.Reasoning), AudioOutput: checkedRate(p.AudioOutput),
		InputAbove200k: optionalRate(p.InputAbove200k), OutputAbove200k: optionalRate(p.OutputAbove200k),
		PerRequest: checkedAmount(p.PerRequest), PerImage: checkedAmount(p.PerImage), PerSearch: checkedAmount(p.PerSearch), BatchDiscount: p.BatchDiscount,
	}
}

func checkedRate(quote string) penstock.Rate {
	r, err := penstock.ParseRate(quote)
	if err != nil {
		panic("config: read a checked price: " + err.Error())
	}
	return r
}

// optionalRate reads a checked rate that may be left out.
func optionalRate(quote string) penstock.Rate {
	if quote == "" {
		return 0
	}
	return checkedRate(quote)
}

// checkedAmount reads a checked amount of money; none is nothing.
func checkedAmount(dollars string) penstock.NanoUSD {
	if dollars == "" {
		return 0
	}
	n, err := penstock.ParseNanoUSD(dollars)
	if err != nil {
		panic("config: read a checked amount: " + err.Error())
	}
	return n
}

// normal is a checked price in the one form in which it is shown and compared.
func (p Price) normal() Price {
	if p == (Price{}) {
		return p
	}
	r := p.rates()
	n := Price{
		Input: r.Input.String(), CachedInput: r.CachedInput.String(), CacheWrite: r.CacheWrite.String(),
		CacheWrite1h: r.CacheWrite1h.String(), AudioInput: r.AudioInput.String(),
		Output: r.Output.String(), Reasoning: r.Reasoning.String(), AudioOutput: r.AudioOutput.String(), BatchDiscount: p.BatchDiscount,
	}
	if r.InputAbove200k > 0 {
		n.InputAbove200k = r.InputAbove200k.String()
	}
	if r.OutputAbove200k > 0 {
		n.OutputAbove200k = r.OutputAbove200k.String()
	}
	if r.PerRequest > 0 {
		n.PerRequest = r.PerRequest.Short()
	}
	if r.PerImage > 0 {
		n.PerImage = r.PerImage.Short()
	}
	if r.PerSearch > 0 {
		n.PerSearch = r.PerSearch.Short()
	}
	return n
}

// changes are the later prices of a checked target. The version of one is that of the configuration and its day,
// so that what it was can be looked up.
func (t TargetConfig) changes(version string) []penstock.PriceChange {
	var all []penstock.PriceChange
	for _, c := range t.PriceChanges {
		from, err := time.Parse(time.DateOnly, c.From)
		if err != nil {
			panic("config: read a checked day: " + err.Error())
		}
		all = append(all, penstock.PriceChange{From: from, Price: c.Price.rates(), Version: version + "@" + c.From})
	}
	return all
}

// canonicalPrice is what a price adds to what was always hashed.
type canonicalPrice struct {
	From          string `json:"from,omitzero"`
	Input         string `json:"input,omitzero"`
	CachedInput   string `json:"cached_input,omitzero"`
	CacheWrite    string `json:"cache_write,omitzero"`
	Output        string `json:"output,omitzero"`
	Reasoning     string `json:"reasoning,omitzero"`
	PerRequest    string `json:"per_request,omitzero"`
	PerImage      string `json:"per_image,omitzero"`
	PerSearch     string `json:"per_search,omitzero"`
	BatchDiscount int64  `json:"batch_discount,omitzero"`
	Free          bool   `json:"free,omitzero"` // priced at nothing, which is not the same as not priced
	CacheWrite1h  string `json:"cache_write_1h,omitzero"`
	AudioInput    string `json:"audio_input,omitzero"`
	AudioOutput   string `json:"audio_output,omitzero"`

	InputAbove200k  string `json:"input_above_200k,omitzero"`
	OutputAbove200k string `json:"output_above_200k,omitzero"`
}

// canonical is the parts of a price that did not always exist, empty where they follow those that did.
func (p Price) canonical() canonicalPrice {
	p = p.normal()
	apart := func(quote, followed string) string {
		if quote == followed {
			return ""
		}
		return quote
	}
	return canonicalPrice{
		CacheWrite: apart(p.CacheWrite, p.Input), CacheWrite1h: apart(p.CacheWrite1h, p.hourOfCache()), AudioInput: apart(p.AudioInput, p.Input),
		Reasoning: apart(p.Reasoning, p.Output), AudioOutput: apart(p.AudioOutput, p.Output),
		InputAbove200k: p.InputAbove200k, OutputAbove200k: p.OutputAbove200k, PerRequest: p.PerRequest, PerImage: p.PerImage, PerSearch: p.PerSearch, BatchDiscount: p.BatchDiscount, Free: p != (Price{}) && p.rates().Zero(),
	}
}

// canonicalChanges are the later prices of a target.
func (t TargetConfig) canonicalChanges() []canonicalPrice {
	var all []canonicalPrice
	for _, change := range t.PriceChanges {
		c, p := change.Price.canonical(), change.Price.normal()
		c.From, c.Input, c.CachedInput, c.Output = change.From, p.Input, p.CachedInput, p.Output
		all = append(all, c)
	}
	return all
}
