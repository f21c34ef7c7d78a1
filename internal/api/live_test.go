package api

import (
	"reflect"
	"time"

	"penstock"
	"penstock/internal/backlog"
	"penstock/internal/live"
	"penstock/internal/rest"
)

// sampledElsewhere are types without a sample of their own: an object of another API, and an event, whose forms liveSamples has.
func sampledElsewhere() map[reflect.Type]bool {
	return map[reflect.Type]bool{reflect.TypeFor[rest.AnyObject](): true, reflect.TypeFor[live.Event](): true}
}

// liveSamples are the forms of live events.
func liveSamples() []any {
	rate, row := 2.5, backlog.Row{Name: "bulk", Ready: 3}
	row.DrainPerSecond = &rate
	return []any{
		live.Hello{Type: live.TypeHello, Topics: live.TenantTopics, AsOf: time.Now()},
		live.Reset{Type: live.TypeReset, Topics: live.TenantTopics},
		live.JobState{Type: live.TypeProgress, ID: "job_01JQ0000000000000000000001", Tenant: "search", Status: penstock.StatusRunning, Counts: penstock.Counts{Total: 3}, Seq: 4, Batch: true},
		live.LoadChange{Type: live.TypeLoad, At: time.Now(), Total: row, Lanes: []backlog.Row{row}},
		live.TargetChange{Type: live.TypeTarget, TargetLoad: backlog.TargetLoad{Name: "main", State: backlog.TargetOpen, Limits: []backlog.TargetRate{{Resource: "requests"}}}},
		live.DeadLetterCount{Type: live.TypeDeadLetters, Tenant: "search", Count: 3},
		live.Hint{Type: live.TypeAudit, Tenant: "search", Count: 1},
	}
}
