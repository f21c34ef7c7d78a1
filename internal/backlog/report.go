package backlog

import (
	"cmp"
	"slices"
	"time"

	"penstock"
)

// MaxReportRows bounds each list of a report.
const MaxReportRows = 1000

// Report is the load as operators see it.
type Report struct {
	At      time.Time `json:"at"`       // when the picture was made
	AgeMS   int64     `json:"age_ms"`   // how old it is
	Total   Row       `json:"total"`    // everything
	Lanes   []Row     `json:"lanes"`    // most urgent first
	Tenants []Row     `json:"tenants"`  // deepest first
	Models  []Row     `json:"models"`   // deepest first
	LeftOut int       `json:"left_out"` // tenants and models past the bound of the lists
	Slots   int       `json:"slots"`    // that are needed, over all processes
	Workers int       `json:"workers"`  // processes as large as this one that are needed
	Process Process   `json:"process"`  // the one that answers
	Current bool      `json:"current"`  // the store could be read lately
}

// Process is the slots of one process.
type Process struct {
	Name  string `json:"name"`
	Works bool   `json:"works"` // it claims items; if not, its slots stay empty
	Slots int    `json:"slots"`
	InUse int    `json:"in_use"` // of these and of PoolSlots

	// PoolSlots are reserved for some models. Other work cannot use them, so they do not count for the number of needed
	// workers.
	PoolSlots int `json:"pool_slots"`
}

// Row is the queued work of a lane, a tenant or a model. A value that was not measured is null.
type Row struct {
	Name              string   `json:"name"`
	Ready             int64    `json:"ready"`
	Parked            int64    `json:"parked"`
	Running           int64    `json:"running"`
	OldestSeconds     float64  `json:"oldest_seconds"`    // how long the next item has waited
	ItemsPerSecond    float64  `json:"items_per_second"`  // that were started lately
	TokensPerSecond   float64  `json:"tokens_per_second"` // upper bound of those items, as admission computed it; not the used tokens
	ArrivalsPerSecond float64  `json:"arrivals_per_second"`
	DrainPerSecond    *float64 `json:"drain_items_per_second"` // that were started while others waited
	EmptyInSeconds    *float64 `json:"empty_in_seconds"`       // if nothing more came
	ServiceSeconds    *float64 `json:"service_seconds"`        // how long an item runs
	Slots             int      `json:"slots,omitzero"`         // of a lane: how many it needs
}

// Queued is how many items wait.
func (r Row) Queued() int64 { return r.Ready + r.Parked }

// Report describes the load. Objectives are the lanes' own.
func (v *View) Report(self Process, objective func(penstock.Lane) time.Duration) Report {
	p := v.current()
	r := Report{At: p.at, Process: self, Current: !p.at.IsZero(), Total: p.row("", level{})}
	if r.Current {
		r.AgeMS = v.Clock().Sub(p.at).Milliseconds()
	}
	for _, lane := range penstock.Lanes {
		at := level{lane: lane}
		row, f := p.row(string(lane), at), p.of(at)
		d := f.demand(objective(lane))
		d.Idle = p.at.Sub(f.busyAt)
		row.Slots = d.Slots()
		r.Slots += row.Slots
		r.Lanes = append(r.Lanes, row)
	}
	r.Workers = Workers(r.Slots, self.Slots)
	r.Tenants, r.Models = []Row{}, []Row{}
	for l := range p.flows {
		switch {
		case l == level{tenant: l.tenant} && l.tenant != "":
			r.Tenants = append(r.Tenants, p.row(string(l.tenant), l))
		case l == level{model: l.model} && l.model != "":
			r.Models = append(r.Models, p.row(l.model, l))
		}
	}
	for _, list := range []*[]Row{&r.Tenants, &r.Models} {
		slices.SortFunc(*list, deepest)
		r.LeftOut += max(len(*list)-MaxReportRows, 0)
		*list = (*list)[:min(len(*list), MaxReportRows)]
	}
	return r
}

func deepest(a, b Row) int {
	return cmp.Or(cmp.Compare(b.Queued(), a.Queued()), cmp.Compare(b.Running, a.Running), cmp.Compare(a.Name, b.Name))
}

func (p *picture) row(name string, l level) Row {
	f := p.of(l)
	r := Row{Name: name, Ready: f.ready, Parked: f.parked, Running: f.running, OldestSeconds: f.waited.Seconds()}
	if items, ok := f.drain.items(); ok {
		empty := float64(f.queued()) / items
		r.DrainPerSecond, r.EmptyInSeconds = &items, &empty
	}
	if f.queued() == 0 {
		r.EmptyInSeconds = new(float64)
	}
	r.ItemsPerSecond, r.TokensPerSecond = max(f.moved.perItem.mean(), 0), max(f.moved.perToken.mean(), 0)
	r.ArrivalsPerSecond = f.arrive.perItem.mean()
	if service, ok := f.service.time(); ok {
		s := service.Seconds()
		r.ServiceSeconds = &s
	}
	return r
}

func (f *flow) demand(objective time.Duration) Demand {
	service, _ := f.service.time()
	return Demand{Ready: f.ready, Parked: f.parked, Running: f.running, PerSecond: f.arrive.perItem.settled(), Service: service, SLOWait: objective}
}
