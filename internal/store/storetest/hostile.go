package storetest

import (
	"fmt"
	"testing"
	"time"

	"penstock"
	"penstock/internal/store"
)

// extremes are numbers that no honest row has.
var extremes = []string{"9223372036854775807", "-9223372036854775808"}

// hostileColumns are the numeric columns of the ledger, and of the rows that it is about.
var hostileColumns = map[string][]string{
	"ledger": {"cost_nano_usd", "reserved_nano_usd", "outcomes", "input_tokens", "cached_input_tokens", "output_tokens", "reasoning_tokens",
		"audio_output_tokens", "created_at"},
	"requests":      {"cost_nano_usd", "input_tokens", "output_tokens", "finished_at"},
	"items":         {"cost_nano_usd", "reserved_nano_usd", "output_tokens", "finished_at", "seq", "n"},
	"result_groups": {"cost_nano_usd", "reserved_nano_usd", "input_tokens", "items", "min_n", "max_n", "finished_at"},
	"jobs":          {"cost_nano_usd", "total", "seq", "split", "succeeded", "input_tokens"},
}

// RunHostileRows writes impossible numbers into a database with plain SQL, one column at a time. Each time the audit finishes
// and finds a problem, and spending is returned without an error: sums saturate.
func RunHostileRows(t *testing.T, open func(t *testing.T) (store.Store, func(sql string) error)) {
	t.Helper()
	for table, columns := range hostileColumns {
		t.Run(table, func(t *testing.T) {
			t.Parallel()
			for _, extreme := range extremes {
				s, damage := open(t)
				book(t, s)
				for _, column := range columns {
					before := fmt.Sprintf(`CREATE TABLE kept AS SELECT * FROM %s`, table)
					change := fmt.Sprintf(`UPDATE %s SET %s = %s`, table, column, extreme)
					for _, sql := range []string{before, change} {
						if err := damage(sql); err != nil {
							if sql == change { // a key that would be there twice
								break
							}
							t.Fatal(err)
						}
					}
					name := fmt.Sprintf("%s.%s = %s", table, column, extreme)
					report, err := s.VerifyLedger(t.Context())
					if err != nil {
						t.Errorf("%s: the audit ends with %v", name, err)
					}
					if len(report.Problems) == 0 && column != "n" && column != "min_n" {
						t.Errorf("%s: the audit finds nothing", name)
					}
					spent, err := s.Spending(t.Context(), "acme", store.SpendingQuery{To: time.Now().Add(time.Hour), Limit: 10})
					if err != nil {
						t.Errorf("%s: spending: %v", name, err)
					}
					if table == "ledger" && column == "cost_nano_usd" && extreme == extremes[0] && (len(spent) != 1 || spent[0].Cost != penstock.NanoUSD(1<<63-1)) {
						t.Errorf("%s: spent is %+v", name, spent)
					}
					for _, sql := range []string{`DELETE FROM ` + table, fmt.Sprintf(`INSERT INTO %s SELECT * FROM kept`, table), `DROP TABLE kept`} {
						if err := damage(sql); err != nil {
							t.Fatalf("%s: %v", name, err)
						}
					}
				}
				if report, err := s.VerifyLedger(t.Context()); err != nil || len(report.Problems) > 0 {
					t.Fatalf("after all was put back: %v %v", report.Problems, err)
				}
			}
		})
	}
}

// book makes two calls, and a job: some of its items are recorded together, and one has a row.
func book(t *testing.T, s store.Store) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var ids penstock.IDs
	now := time.Now()
	usage := penstock.Usage{InputTokens: 10, OutputTokens: 5}
	sub := store.Submission{
		Job:        penstock.Job{ID: ids.New(now), Key: "app", Endpoint: penstock.EndpointChat, Model: "m", Lane: penstock.LaneStandard, MaxAttempts: 1, ItemTimeout: time.Minute},
		DeadlineIn: time.Hour,
	}
	for range 4 {
		sub.Items = append(sub.Items, store.NewItem{Body: []byte("{}"), Reserved: 100})
	}
	_, err := s.SubmitJob(t.Context(), "acme", sub)
	must(err)
	lease, err := s.AcquireLease(t.Context(), "local", time.Hour)
	must(err)
	claims, err := s.ClaimItems(t.Context(), lease, store.Want{Lanes: penstock.Lanes, Limit: 10})
	must(err)
	var group []store.Finish
	for i, c := range claims {
		f := store.Finish{
			Item: c.Item, Job: c.Job, Tenant: c.Tenant, Fence: c.Fence, Transition: penstock.TransitionSucceed, Counted: 1, Target: "a", StatusCode: 200,
			Result: []byte("{}"), Cost: 3, Usage: usage, Attempts: []penstock.Attempt{{ID: ids.New(now), Subject: c.Item, Fence: c.Fence, Target: "a", Usage: usage, UsageKnown: true}},
		}
		if i == 0 {
			f.Transition, f.Result = penstock.TransitionFail, nil
			f.Error = &penstock.ItemError{Code: penstock.CodeUpstreamError, Message: "no"}
		}
		group = append(group, f)
	}
	_, err = s.FinishItems(t.Context(), group)
	must(err)
	for range 2 {
		id := ids.New(now)
		must(s.RecordRequests(t.Context(), []penstock.Request{{
			ID: id, Tenant: "acme", Key: "app", Endpoint: penstock.EndpointChat, Model: "m", Status: penstock.StatusSucceeded, StatusCode: 200, Target: "a",
			Usage: usage, Cost: 20, StartedAt: now, FinishedAt: now,
			Attempts: []penstock.Attempt{{ID: ids.New(now), Subject: id, Number: 1, Target: "a", Usage: usage, UsageKnown: true, Cost: 20, StartedAt: now, FinishedAt: now}},
		}}))
	}
	if report, err := s.VerifyLedger(t.Context()); err != nil || len(report.Problems) > 0 {
		t.Fatalf("before the damage: %v %v", report.Problems, err)
	}
}
