package backlog

import (
	"cmp"
	"slices"
	"time"

	"penstock"
)

// TenantReport is the queue of one tenant. It shows nothing of other tenants.
type TenantReport struct {
	At      time.Time `json:"at" about:"The time of the figures."`
	Current bool      `json:"current" about:"The figures were read lately; if not, they are zero."`
	Total   Row       `json:"total"`
	Lanes   []Row     `json:"lanes" about:"Most urgent first."`
	Queues  []Queue   `json:"queues" about:"The work for each model in each lane, deepest first, at most 1000."`
}

// Queue is the work of one tenant in one lane for one model.
type Queue struct {
	Lane  penstock.Lane `json:"lane"`
	Model string        `json:"model"`
	Row
}

// TenantLanes reports the lanes of one tenant, without its queues.
func (v *View) TenantLanes(tenant penstock.TenantID) TenantReport {
	p := v.current()
	r := TenantReport{At: p.at, Current: !p.at.IsZero(), Total: p.row("", level{tenant: tenant}), Lanes: make([]Row, 0, len(penstock.Lanes)), Queues: []Queue{}}
	for _, lane := range penstock.Lanes {
		r.Lanes = append(r.Lanes, p.row(string(lane), level{lane: lane, tenant: tenant}))
	}
	return r
}

// Tenant reports the queue of one tenant.
func (v *View) Tenant(tenant penstock.TenantID) TenantReport {
	r, p := v.TenantLanes(tenant), v.current()
	for l := range p.flows {
		if l.tenant == tenant && l.model != "" {
			r.Queues = append(r.Queues, Queue{Lane: l.lane, Model: l.model, Row: p.row(l.model, l)})
		}
	}
	slices.SortFunc(r.Queues, func(a, b Queue) int { return cmp.Or(deepest(a.Row, b.Row), cmp.Compare(a.Lane, b.Lane)) })
	r.Queues = r.Queues[:min(len(r.Queues), MaxReportRows)]
	return r
}

// LaneShares is a lane with the tenants that have work in it.
type LaneShares struct {
	Row
	Tenants []Share `json:"tenants" about:"Deepest first, at most 1000."`
	LeftOut int     `json:"left_out" about:"Tenants past the bound of the list."`
}

// Share is the part of a lane that a tenant has.
type Share struct {
	Tenant penstock.TenantID `json:"tenant"`
	Weight int               `json:"weight"`
	Share  float64           `json:"share" about:"The part of the lane's started tokens lately, from 0 to 1; of its running items while nothing starts."`
	Fair   float64           `json:"fair_share" about:"The part that its weight gives it among the tenants with queued work; 0 for a tenant without queued work."`
	Row
}

// Shares reports each lane with its tenants. Weight is the weight of a tenant.
func (v *View) Shares(weight func(penstock.TenantID) int) []LaneShares {
	p := v.current()
	lanes := make([]LaneShares, len(penstock.Lanes))
	for i, lane := range penstock.Lanes {
		lanes[i] = LaneShares{Row: p.row(string(lane), level{lane: lane}), Tenants: []Share{}}
		weights := 0
		for l := range p.flows {
			if l.lane != lane || l.tenant == "" || l.model != "" {
				continue
			}
			s := Share{Tenant: l.tenant, Weight: weight(l.tenant), Row: p.row(string(l.tenant), l)}
			if s.Queued() > 0 {
				weights += s.Weight
			}
			lanes[i].Tenants = append(lanes[i].Tenants, s)
		}
		lanes[i].divide(weights)
	}
	return lanes
}

// divide computes the shares, and bounds the list.
func (l *LaneShares) divide(weights int) {
	for i := range l.Tenants {
		s := &l.Tenants[i]
		switch {
		case l.TokensPerSecond > 0:
			s.Share = s.TokensPerSecond / l.TokensPerSecond
		case l.Running > 0:
			s.Share = float64(s.Running) / float64(l.Running)
		}
		s.Share = min(s.Share, 1)
		if s.Queued() > 0 && weights > 0 {
			s.Fair = float64(s.Weight) / float64(weights)
		}
	}
	slices.SortFunc(l.Tenants, func(a, b Share) int { return deepest(a.Row, b.Row) })
	l.LeftOut = max(len(l.Tenants)-MaxReportRows, 0)
	l.Tenants = l.Tenants[:min(len(l.Tenants), MaxReportRows)]
}

// Depth is the number of queued items of a tenant, or of all tenants for "".
func (v *View) Depth(tenant penstock.TenantID) int64 {
	f := v.current().of(level{tenant: tenant})
	return f.queued()
}
