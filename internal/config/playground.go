package config

import (
	"penstock"
)

// Playground bounds the calls that people make in the playground. A reload applies to the next call.
type Playground struct {
	// DailyPerPerson is the most that one person may spend in the playground of a tenant in a day of UTC, in US dollars with at
	// most nine decimals. Work that could exceed it is refused. It has no effect on models without a price. none is no limit.
	// Zero: the default, 10.
	DailyPerPerson string `yaml:"daily_usd_per_person"`

	// MaxConcurrent is how many calls of the playground one process makes at the same time; others wait. Zero: the default, 32.
	// From 1 to 1000.
	MaxConcurrent int `yaml:"max_concurrent"`

	// MaxTenantConcurrent is the same for the calls of one tenant. A tenant with a limit of concurrent calls uses at most half of
	// that limit in the playground. Zero: the default, 16. From 1 to MaxConcurrent.
	MaxTenantConcurrent int `yaml:"max_tenant_concurrent"`
}

// TenantPlayground are the settings of a tenant for its playground.
type TenantPlayground struct {
	// DailyPerPerson is the most that one of its people may spend in the playground in a day of UTC, in US dollars with at most
	// nine decimals. none is no limit. Zero: the global DailyPerPerson.
	DailyPerPerson string `yaml:"daily_usd_per_person,omitempty"`
}

// The defaults of the playground.
const (
	DefaultPlaygroundDaily       = "10"
	DefaultPlaygroundConcurrent  = 32
	DefaultPlaygroundTenantCalls = 16

	maxPlaygroundConcurrent = 1000
	// unlimited is the word for no limit.
	unlimited = "none"
)

func (p *Playground) fillDefaults(written places) {
	fill(written, "playground.daily_usd_per_person", &p.DailyPerPerson, DefaultPlaygroundDaily)
	fill(written, "playground.max_concurrent", &p.MaxConcurrent, DefaultPlaygroundConcurrent)
	fill(written, "playground.max_tenant_concurrent", &p.MaxTenantConcurrent, min(DefaultPlaygroundTenantCalls, max(1, p.MaxConcurrent)))
}

func (c *checker) playground(f *File) {
	p := f.Playground
	within(c, "playground.max_concurrent", p.MaxConcurrent, bounds[int]{1, maxPlaygroundConcurrent})
	within(c, "playground.max_tenant_concurrent", p.MaxTenantConcurrent, bounds[int]{1, min(maxPlaygroundConcurrent, max(1, p.MaxConcurrent))})
	c.dailyAmount("playground.daily_usd_per_person", p.DailyPerPerson)
	for id, t := range f.Tenants {
		c.dailyAmount(path("tenants").key(id)+".playground.daily_usd_per_person", t.Playground.DailyPerPerson)
	}
}

func (c *checker) dailyAmount(at path, dollars string) {
	if dollars == unlimited {
		return
	}
	if n, err := penstock.ParseNanoUSD(dollars); dollars != "" && (err != nil || n <= 0) {
		c.fail(at, "must be an amount above 0 such as 10, or none for no limit")
	}
}

// PlaygroundDaily is the most that one person may spend in the playground of a tenant in a day; 0 for any amount.
func (s *Snapshot) PlaygroundDaily(id penstock.TenantID) penstock.NanoUSD {
	dollars := s.file.Tenants[string(id)].Playground.DailyPerPerson
	if dollars == "" {
		dollars = s.Playground.DailyPerPerson
	}
	if dollars == unlimited {
		return 0
	}
	return checkedAmount(dollars)
}
