package config

import (
	"time"

	"penstock"
)

// rates reads a checked price; none at all is free.
func (p Price) rates() penstock.Price {
	if p == (Price{}) {
		return penstock.Price{}
	}
	return penstock.Price{
		Input: checkedRate(p.Input), CachedInput: checkedRate(p.CachedInput), CacheWrite: checkedRate(p.CacheWrite),
		Output: checkedRate(p.Output), Reasoning: checkedRate(p.Reasoning),
		PerRequest: checkedAmount(p.PerRequest), PerImage: checkedAmount(p.PerImage), BatchDiscount: p.BatchDiscount,
	}
}

func checkedRate(quote string) penstock.Rate {
	r, err := penstock.ParseRate(quote)
	if err != nil {
		panic("config: read a checked price: " + err.Error())
	}
	return r
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
		Output: r.Output.String(), Reasoning: r.Reasoning.String(), BatchDiscount: p.BatchDiscount,
	}
	if r.PerRequest > 0 {
		n.PerRequest = r.PerRequest.Short()
	}
	if r.PerImage > 0 {
		n.PerImage = r.PerImage.Short()
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
	BatchDiscount int64  `json:"batch_discount,omitzero"`
	Free          bool   `json:"free,omitzero"` // priced at nothing, which is not the same as not priced
}

// canonical is the parts of a price that did not always exist, empty where they follow those that did.
func (p Price) canonical() canonicalPrice {
	p = p.normal()
	c := canonicalPrice{PerRequest: p.PerRequest, PerImage: p.PerImage, BatchDiscount: p.BatchDiscount, Free: p != (Price{}) && p.rates().Zero()}
	if p.CacheWrite != p.Input {
		c.CacheWrite = p.CacheWrite
	}
	if p.Reasoning != p.Output {
		c.Reasoning = p.Reasoning
	}
	return c
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
