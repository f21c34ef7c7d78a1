// Package storetest is the conformance suite of the store contract. An engine is right when it passes:
//
//	storetest.Run(t, func(t *testing.T, clock func() time.Time) (store.Store, storetest.Webhooks) { … })
//
// It owns what the contract in package store promises, seen from outside: it speaks to an engine
// through the contract alone and never looks at tables. Damage that the contract cannot cause, such as
// a forged ledger entry, is for the tests of the engines.
//
// Every test has a fresh store and a [Clock] of its own, and most end with an audit that checks the
// invariants of a job, whatever happened to it: counts add up, events are numbered without a gap, every
// view agrees on each item's one outcome, and each outcome is settled once. Tests run in parallel.
package storetest

import (
	"testing"
	"time"

	"penstock/internal/store"
)

// Opener returns a fresh, empty store that lives as long as the test and takes its times from clock,
// where it would otherwise ask the database. The webhooks read the outbox of the same database.
type Opener func(t *testing.T, clock func() time.Time) (store.Store, Webhooks)

// Run tests that the stores of open keep the contract.
func Run(t *testing.T, open Opener) {
	for _, topic := range topics() {
		t.Run(topic.name, func(t *testing.T) {
			t.Parallel()
			for _, c := range topic.cases {
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					c.run(newRig(t, open))
				})
			}
		})
	}
}

// topic is a part of the contract, in a file of its own.
type topic struct {
	name  string
	cases []testCase
}

type testCase struct {
	name string
	run  func(r *rig)
}

func topics() []topic {
	return []topic{
		{"submit", submitCases()},
		{"idempotency", idempotencyCases()},
		{"list", listCases()},
		{"lease", leaseCases()},
		{"stored", storedCases()},
		{"claim", claimCases()},
		{"fair", fairCases()},
		{"finish", finishCases()},
		{"stale", staleCases()},
		{"together", togetherCases()},
		{"rescue", rescueCases()},
		{"suspect", suspectCases()},
		{"cancel", cancelCases()},
		{"expire", expireCases()},
		{"results", resultCases()},
		{"batch", append(batchCases(), batchFileCases()...)},
		{"start", startCases()},
		{"events", eventCases()},
		{"dead_letters", deadLetterCases()},
		{"retry", retryCases()},
		{"audit", auditCases()},
		{"requests", requestCases()},
		{"retention", retentionCases()},
		{"ledger", ledgerCases()},
		{"budgets", budgetCases()},
		{"settings", settingsCases()},
		{"pools", poolCases()},
		{"controls", controlCases()},
		{"directory", directoryCases()},
		{"load", loadCases()},
		{"files", fileCases()},
		{"outbox", outboxCases()},
		{"streams", streamCases()},
		{"isolation", isolationCases()},
		{"race", raceCases()},
		{"walk", walkCases()},
	}
}
