package app

import (
	"penstock"
	"penstock/internal/inflight"
)

// connectMemory creates the pools that bound the memory of bodies and answers in flight.
func (a *app) connectMemory() {
	l := a.Config.Process.Limits
	a.bodies = inflight.New(inflight.Config{
		Process: l.MaxProcessBodyBytes, Tenant: l.MaxTenantBodyBytes, Content: "request bodies", Refused: a.memoryRefused("body_bytes"),
	})
	a.answers = inflight.New(inflight.Config{
		Process: l.MaxProcessAnswerBytes, Tenant: l.MaxTenantAnswerBytes, Content: "answers", Refused: a.memoryRefused("answer_bytes"),
	})
	a.metrics.CollectMemory(func() map[string]int64 {
		return map[string]int64{"request": a.bodies.Held(), "answer": a.answers.Held()}
	})
}

// memoryRefused counts the refusals of a pool.
func (a *app) memoryRefused(resource string) func(penstock.TenantID, string) {
	return func(tenant penstock.TenantID, scope string) { a.metrics.LimitRefused(string(tenant), scope, resource) }
}
