package sqlite_test

import (
	"strings"
	"testing"
	"time"

	"penstock"
	"penstock/internal/store"
)

// The audit finds whatever is changed in the books, added to them or taken out of them, as long as the job or the
// record is there that they are about.
func TestAuditFindsWhatIsChanged(t *testing.T) {
	t.Parallel()
	const request, job, copied = `WHERE key LIKE 'request:%'`, `WHERE key LIKE 'job:%'`, `INSERT INTO ledger (key, tenant_id, kind, subject_id, job_id,
		reserved_nano_usd, cost_nano_usd, input_tokens, cached_input_tokens, output_tokens, created_at, outcomes, lane)`
	const differs = "request's settlement differs"
	for name, damage := range map[string]struct{ sql, problem string }{
		"a cost":                    {`UPDATE ledger SET cost_nano_usd = cost_nano_usd - 1 ` + request, differs},
		"input tokens":              {`UPDATE ledger SET input_tokens = input_tokens + 1 ` + request, differs},
		"output tokens":             {`UPDATE ledger SET output_tokens = output_tokens + 1 ` + request, differs},
		"tokens that were written":  {`UPDATE ledger SET cache_write_tokens = 1 ` + request, differs},
		"tokens kept for an hour":   {`UPDATE ledger SET cache_write_1h_tokens = 1 ` + request, differs},
		"tokens that were heard":    {`UPDATE ledger SET audio_input_tokens = 1 ` + request, differs},
		"tokens that were spoken":   {`UPDATE requests SET audio_output_tokens = 1`, differs},
		"who pays":                  {`UPDATE ledger SET tenant_id = 'other' ` + request, differs},
		"whose key it was":          {`UPDATE ledger SET key_name = 'other' ` + request, differs},
		"the model":                 {`UPDATE ledger SET model = 'other' ` + request, differs},
		"the lane":                  {`UPDATE ledger SET lane = 'bulk' ` + request, differs},
		"the target":                {`UPDATE ledger SET target = 'other' ` + request, differs},
		"the price":                 {`UPDATE ledger SET price_version = 'cfg_other' ` + request, differs},
		"the record":                {`UPDATE requests SET cost_nano_usd = cost_nano_usd + 1`, differs},
		"the day":                   {`UPDATE ledger SET created_at = created_at - 86400000000 ` + request, "request is settled long before or after it ended"},
		"a later day":               {`UPDATE ledger SET created_at = created_at + 2 * 86400000000 ` + request, "request is settled long before or after it ended"},
		"the day of its forfeit":    {`UPDATE ledger SET created_at = created_at + 1 WHERE key LIKE 'forfeit:%'`, "request's forfeit differs"},
		"the target of its forfeit": {`UPDATE ledger SET target = 'other' WHERE key LIKE 'forfeit:%'`, "request's forfeit differs"},
		"a settlement made void":    {`UPDATE ledger SET kind = 'forfeit' ` + request, "entry is of another kind than its key"},
		"a settlement gone":         {`DELETE FROM ledger ` + request, "request is recorded without a settlement"},
		"a settlement twice": {copied + ` SELECT key || ':2', tenant_id, kind, subject_id, '', 0, cost_nano_usd, input_tokens, 0, output_tokens, created_at, 1, lane
			FROM ledger ` + request, "request is settled under another key"},
		"a settlement of nothing": {copied + ` VALUES ('request:x', 'acme', 'settle', 'x', '', 0, 5, 0, 0, 0, 1, 1, 'realtime')`, "settlements without what they settle"},
		"a job's tenant":          {`UPDATE ledger SET tenant_id = 'other' ` + job, "entry of a job has another"},
		"a job's tags":            {`UPDATE ledger SET tags = '{"team":"other"}' ` + job, "entry of a job has another"},
		"a job's day":             {`UPDATE ledger SET created_at = created_at + 1 ` + job, "job's reservation names a target or price, or another time"},
		"a job's reservation":     {`DELETE FROM ledger ` + job, "job ended without having freed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newRig(t)
			_, err := h.SubmitJob(t.Context(), "acme", store.Submission{
				Job:   penstock.Job{ID: h.ids.New(time.Now()), Model: "m", Lane: penstock.LaneStandard, Deadline: time.Now().Add(time.Hour)},
				Items: []store.NewItem{{Body: []byte("{}"), Reserved: 100}},
			})
			if err != nil {
				t.Fatal(err)
			}
			usage := penstock.Usage{InputTokens: 10, OutputTokens: 5}
			id := h.ids.New(time.Now())
			err = h.RecordRequests(t.Context(), []penstock.Request{{
				ID: id, Tenant: "acme", Key: "app", Endpoint: penstock.EndpointChat, Model: "m", Status: penstock.StatusSucceeded, StatusCode: 200, Target: "a",
				Usage: usage, Cost: 20, Forfeit: 7, StartedAt: time.Now(), FinishedAt: time.Now(),
				Attempts: []penstock.Attempt{{ID: h.ids.New(time.Now()), Subject: id, Number: 1, Target: "a", Usage: usage, UsageKnown: true, Cost: 20, PriceVersion: "cfg_1", StartedAt: time.Now(), FinishedAt: time.Now()}},
			}})
			if err != nil {
				t.Fatal(err)
			}
			h.findsDamage(damage.sql, damage.problem)
		})
	}
}

// The audit finds entries that were moved to another day, target or price, whether the items that they are about lie in
// a result group or have rows. Once those are deleted, nothing is left to compare with and nothing is found.
func TestAuditComparesOutcomes(t *testing.T) {
	t.Parallel()
	const differs, forfeit = "job's entries have another target, price or time than its outcomes: ", "item's forfeit has another target, price or time"
	const day = `created_at = created_at - 86400000000`
	for name, damage := range map[string]struct{ sql, problem string }{
		"the day of a settlement":    {`UPDATE ledger SET ` + day + ` WHERE kind = 'settle'`, differs},
		"the target of a settlement": {`UPDATE ledger SET target = 'other' WHERE kind = 'settle'`, differs},
		"the price of a settlement":  {`UPDATE ledger SET price_version = 'cfg_2' WHERE kind = 'settle'`, differs},
		"a settlement made free":     {`UPDATE ledger SET kind = 'release' WHERE kind = 'settle'`, differs},
		"the day of a forfeit":       {`UPDATE ledger SET ` + day + ` WHERE kind = 'forfeit'`, forfeit},
		"the target of a forfeit":    {`UPDATE ledger SET target = 'other' WHERE kind = 'forfeit'`, forfeit},
		"the price of a forfeit":     {`UPDATE ledger SET price_version = 'cfg_2' WHERE kind = 'forfeit'`, forfeit},
		"another key": {`UPDATE ledger SET key = 'x:' || key, ` + day + ` WHERE kind = 'settle'`,
			"job's settlement is under another key than its own"},
	} {
		for place, result := range map[string][]byte{"result group": []byte("{}"), "rows": bulky()} {
			t.Run(name+" in "+place, func(t *testing.T) {
				t.Parallel()
				h := newRig(t)
				job, err := h.submit(3, []byte("{}"))
				if err != nil {
					t.Fatal(err)
				}
				group := h.claim(result)
				for i := range group {
					f := &group[i]
					f.PriceVersion, f.Forfeit, f.Cost = "cfg_1", 2, 0
					f.Attempts[0].PriceVersion = f.PriceVersion
				}
				if _, err := h.FinishItems(t.Context(), group); err != nil {
					t.Fatal(err)
				}
				h.findsDamage(damage.sql, damage.problem)
				if err := h.DeleteJob(t.Context(), "acme", store.Deletion{Job: job}); err != nil {
					t.Fatal(err)
				}
				for _, p := range h.verify() {
					if strings.HasPrefix(p, differs) || strings.HasPrefix(p, forfeit) {
						t.Errorf("without what it is about, the audit finds %s", p)
					}
				}
			})
		}
	}
}
