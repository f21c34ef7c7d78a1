package live

import (
	"penstock"
	"penstock/internal/backlog"
)

// tellLoad tells of the queue and of the targets, as far as streams follow them and figures changed.
func (f *follower) tellLoad(wanted map[Topic]map[penstock.TenantID]struct{}) {
	_, lanes := wanted[TopicLoad][""]
	_, targets := wanted[TopicTargets][""]
	if lanes || targets {
		r := f.Load.Report()
		if lanes {
			f.tellLanes("", LoadChange{Type: TypeLoad, At: r.At, Total: r.Total, Lanes: r.Lanes})
		}
		for _, t := range r.Targets {
			data := TargetChange{Type: TypeTarget, TargetLoad: t}
			f.publishChange(event{topics: []Topic{TopicTargets}, all: true, key: string(TypeTarget) + "/" + t.Name, kind: TypeTarget}, data, data)
		}
	}
	for tenant := range wanted[TopicLoad] {
		if tenant != "" {
			r := f.Load.TenantLanes(tenant)
			f.tellLanes(tenant, LoadChange{Type: TypeLoad, At: r.At, Total: r.Total, Lanes: r.Lanes})
		}
	}
}

// tellLanes tells of the queue of a tenant, or of all tenants. The time of the picture alone is no change.
func (f *follower) tellLanes(tenant penstock.TenantID, data LoadChange) {
	compared := struct {
		Total backlog.Row
		Lanes []backlog.Row
	}{data.Total, data.Lanes}
	f.publishChange(event{topics: []Topic{TopicLoad}, tenant: tenant, all: tenant == "", key: string(TypeLoad) + "/" + string(tenant), kind: TypeLoad}, data, compared)
}
