package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"penstock"
	"penstock/internal/sim"
)

// seenBy is what a simulated upstream counted, the question itself apart.
func seenBy(t testing.TB, upstream string) (stats sim.Stats) {
	t.Helper()
	resp, err := http.Get(upstream + "/sim/stats")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&stats); err != nil {
		t.Fatal(err)
	}
	stats.Requests -= stats.ByEndpoint["/v1/models"]
	return stats
}

// The budget that is attacked, and what a token costs: one of output twice as much.
const (
	attackedBudget = 20_000_000 // nano-dollars
	tokenPrice     = 1000
)

// besiegeBudget starts a server whose tenant has a hard budget of two cents.
func besiegeBudget(t *testing.T, engine scenarioEngine) (a *attacked, upstream string) {
	t.Helper()
	upstream = startSim(t)
	settings := fmt.Sprintf(`
providers: {upstream: {kind: openai, base_url: %s/v1, api_key: "${E2E_UPSTREAM}"}}
targets: {sim: {provider: upstream, upstream_model: sim-small, max_output_tokens: 4000, price: {input: "1", output: "2"}}}
models: {fast: {targets: [sim]}}
`, upstream)
	return besiege(t, siege{engine: engine, settings: settings, acme: `budget: {total_usd: "0.02", hard: true},`}), upstream
}

// checkBudget holds that neither the upstream nor the books saw more than the budget, and that something was spent.
func (a *attacked) checkBudget(upstream string) {
	a.t.Helper()
	Await(a.t, "the calls to be recorded", func() error {
		if n := seenBy(a.t, upstream).InFlight; n > 0 {
			return fmt.Errorf("%d calls are under way", n)
		}
		return nil
	})
	seen := seenBy(a.t, upstream)
	spent := penstock.NanoUSD(seen.InputTokens+2*seen.OutputTokens) * tokenPrice
	books := a.admin.Do(get("/admin/v1/budgets?tenant=acme")).Body
	var list struct {
		Data []struct {
			Limit penstock.NanoUSD `json:"limit_usd"`
			Spent penstock.NanoUSD `json:"spent_usd"`
			Held  penstock.NanoUSD `json:"held_usd"`
		}
	}
	if err := json.Unmarshal([]byte(books), &list); err != nil || len(list.Data) != 1 {
		a.t.Fatalf("budgets: %v %s", err, books)
	}
	b := list.Data[0]
	a.t.Logf("the upstream counted $%s, the books $%s and $%s held, of $%s", spent.Short(), b.Spent.Short(), b.Held.Short(), b.Limit.Short())
	if spent > attackedBudget || b.Spent+b.Held > attackedBudget || b.Limit != attackedBudget || b.Spent < 0 || b.Held < 0 {
		a.t.Errorf("the budget of $0.02 is exceeded or crooked: the upstream counted $%s, the books say %s", spent.Short(), books)
	}
	if spent == 0 {
		a.t.Error("nothing was spent: the test proves nothing")
	}
	usage := a.Do(get("/v1/usage"))
	if usage.Status != http.StatusOK || strings.Contains(usage.Body, `:-`) || strings.Contains(usage.Body, `"-`) {
		a.t.Errorf("the usage: %d %s", usage.Status, usage.Body)
	}
}

// amounts are values for members that say how much may be generated.
var amounts = []string{
	"-1", "0", "-0", "1.5", "1e0", "1e2", `"10"`, "true", "null", "[]", "{}", "[5]", "1e30", "1e400", "-1e400", "1e-400", "2147483648", "4294967297", "9223372036854775807", "9223372036854775808", "18446744073709551615", "18446744073709551617",
	"99999999999999999999999999", "0.0000001", "100000", "3999.9999999999999999", strings.Repeat("9", 400),
}

// TestAttackAmounts asks for every amount in every member that bounds or multiplies the output, through every way in. A
// call runs within the budget, or is refused with a typed error.
func TestAttackAmounts(t *testing.T) {
	t.Parallel()
	a, upstream := besiegeBudget(t, scenarioEngine{})
	if answer := a.Do(post(chatPath, `{"model":"fast","max_tokens":5,`+ask("Hi")[1:])); answer.Status != http.StatusOK {
		t.Fatalf("a good call: %d %s", answer.Status, answer.Body)
	}
	var all sync.WaitGroup
	for _, way := range ingresses[:11] {
		all.Go(func() {
			for _, member := range []string{"max_tokens", "max_completion_tokens", "max_output_tokens", "n", "best_of"} {
				for _, amount := range amounts {
					others := `,"max_tokens":5`
					if member == "max_tokens" {
						others = ""
					}
					body := `{"model":"fast","` + member + `":` + amount + others + `,` + chatMembers + `}`
					answer := a.ask(post(way.path, way.wrap(body)), patience)
					if answer.Status >= 500 && answer.Status != http.StatusBadGateway || answer.Status >= 400 && !answer.typed() {
						t.Errorf("%s with %s: %.40s is answered %d %.300s", way.name, member, amount, answer.Status, answer.Body)
					}
				}
			}
		})
	}
	all.Wait()
	a.checkBudget(upstream)
}

// TestAttackBudgetRaces spends one budget from all sides at once, on both engines: calls, streams that are left, jobs that
// are cancelled while they run, the same Idempotency-Key again and again. No more than the budget is spent.
func TestAttackBudgetRaces(t *testing.T) {
	t.Parallel()
	for _, engine := range scenarioEngines() {
		t.Run(engine.name, func(t *testing.T) {
			t.Parallel()
			a, upstream := besiegeBudget(t, engine)
			ended := time.Now().Add(soakAttack(t, 4*time.Second))
			var all sync.WaitGroup
			for who := range 16 {
				all.Go(func() {
					random := rand.New(rand.NewPCG(1, uint64(who)))
					for n := 0; time.Now().Before(ended); n++ {
						a.race(who, n, random)
					}
				})
			}
			all.Wait()
			a.checkBudget(upstream)
		})
	}
}

// race is one attack on a budget.
func (a *attacked) race(who, n int, random *rand.Rand) {
	prompt := fmt.Sprintf("race %d %d [sim:tokens=%d]", who, n, 1+random.IntN(40))
	chat := `"model":"fast","max_tokens":40,` + ask(prompt)[1:]
	var answer Answer
	switch who % 4 {
	case 0:
		answer = a.ask(post(chatPath, "{"+chat), patience)
	case 1:
		answer = a.ask(post(chatPath, `{"stream":true,`+chat), patience)
	case 2: // all of them with one key: it is one job
		answer = a.ask(post(chatPath, `{"model":"fast","max_tokens":40,`+ask(fmt.Sprintf("shared %d", n))[1:], "Idempotency-Key", fmt.Sprintf("shared-%d", n)), patience)
	default:
		answer = a.ask(post("/v1/jobs", `{"model":"fast","inputs":[{"body":{`+chat+`},{"body":{`+chat+`}]}`), patience)
		if answer.Status == http.StatusAccepted {
			a.ask(post("/v1/jobs/"+idOf(answer.Body)+"/cancel", ""), patience)
		}
	}
	switch answer.Status {
	case http.StatusOK, http.StatusAccepted, http.StatusPaymentRequired, http.StatusTooManyRequests, http.StatusConflict, 0:
	default:
		a.t.Errorf("a race is answered %d %.300s", answer.Status, answer.Body)
	}
}

// TestAttackIdempotencyRace sends the same call with the same key many times at once, on both engines: the upstream sees
// it once, and all who get an answer get the same.
func TestAttackIdempotencyRace(t *testing.T) {
	t.Parallel()
	for _, engine := range scenarioEngines() {
		t.Run(engine.name, func(t *testing.T) {
			t.Parallel()
			upstream := startSim(t)
			a := besiege(t, siege{engine: engine, settings: simModel(upstream)})
			const callers, rounds = 12, 4
			for round := range rounds {
				var all sync.WaitGroup
				var mu sync.Mutex
				bodies := map[string]int{}
				for range callers {
					all.Go(func() {
						answer := a.ask(post(chatPath, `{"model":"fast",`+ask(fmt.Sprintf("once %d", round))[1:], "Idempotency-Key", fmt.Sprintf("once-%d", round)), patience)
						mu.Lock()
						defer mu.Unlock()
						if answer.Status == http.StatusOK {
							bodies[answer.Body]++
						} else if answer.Status != http.StatusConflict && answer.Status != http.StatusTooManyRequests {
							t.Errorf("answered %d %s", answer.Status, answer.Body)
						}
					})
				}
				all.Wait()
				if len(bodies) != 1 {
					t.Errorf("%d different answers to one key", len(bodies))
				}
			}
			if n := seenBy(t, upstream).Requests; n != rounds {
				t.Errorf("the upstream saw %d calls, want %d", n, rounds)
			}
		})
	}
}

// lies are what an upstream may say that a call used.
var lies = []string{
	`{"prompt_tokens":9223372036854775807,"completion_tokens":9223372036854775807,"total_tokens":-2}`, `{"prompt_tokens":-5,"completion_tokens":-5}`, `{"prompt_tokens":1e300,"completion_tokens":1e300}`,
	`{"prompt_tokens":18446744073709551616,"completion_tokens":1}`, `{"prompt_tokens":"3","completion_tokens":"3"}`, `{"prompt_tokens":1.5,"completion_tokens":2.5}`, `{"prompt_tokens":null,"completion_tokens":null}`, `null`, `[]`, `"many"`, `{}`,
	`{"prompt_tokens":3,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":9223372036854775807}}`, `{"prompt_tokens":3,"completion_tokens":3,"completion_tokens_details":{"reasoning_tokens":9223372036854775807,"audio_tokens":-1}}`,
	`{"prompt_tokens":1000000000000,"completion_tokens":1000000000000}`, `{"prompt_tokens":4611686018427387904,"completion_tokens":4611686018427387904}`,
}

// TestAttackLyingUsage has an upstream lie about what calls used. Calls succeed; the usage is never negative, the budget
// of the tenant never exceeded by more than the bound of a call says, and `ledger verify` is clean.
func TestAttackLyingUsage(t *testing.T) {
	t.Parallel()
	attacks, bases := map[string]func(*hostileConn){}, map[string]string{}
	for i, lie := range lies {
		attacks[fmt.Sprintf("lie-%d", i)] = func(c *hostileConn) {
			text, contentType := c.body()
			const truth = `{"prompt_tokens":3,"completion_tokens":3,"total_tokens":6}`
			text = strings.Replace(text, truth, lie, 1)
			c.say(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", contentType, len(text), text))
		}
	}
	h := newHostile(t, attacks)
	plain := h.listen(nil, h.serve1)
	for name := range attacks {
		bases[name] = plain + "/" + name
	}
	a := besiege(t, siege{settings: hostileSettings(startSim(t), bases, func(string) bool { return true })})
	for name := range bases {
		for _, c := range []Call{
			post(chatPath, `{"model":"`+name+`","max_tokens":10,`+ask("Hi")[1:]), post(chatPath, `{"model":"`+name+`","max_tokens":10,"stream":true,`+ask("Hi")[1:]),
			post("/v1/messages", `{"model":"`+name+`","max_tokens":10,`+ask("Hi")[1:]), post("/v1/jobs", `{"model":"`+name+`","input":"Hi"}`, "Prefer", "wait=20"),
		} {
			answer := a.ask(c, patience)
			if answer.Status >= 500 && !answer.typed() || strings.Contains(answer.Header.Get("X-Penstock-Cost-Usd"), "-") {
				t.Errorf("%s %s: %d %v %.300s", name, c.Path, answer.Status, answer.Header, answer.Body)
			}
		}
	}
	Await(t, "the usage", func() error {
		usage := a.Do(get("/v1/usage?group_by=model"))
		if usage.Status != http.StatusOK || strings.Contains(usage.Body, `:-`) || strings.Contains(usage.Body, `"-`) {
			return fmt.Errorf("%d %.500s", usage.Status, usage.Body)
		}
		if strings.Count(usage.Body, `"model"`) < len(bases) {
			return fmt.Errorf("not all calls are recorded: %.500s", usage.Body)
		}
		return nil
	})
	var report struct {
		Total struct {
			Cost    penstock.NanoUSD `json:"cost_usd"`
			Forfeit penstock.NanoUSD `json:"forfeit_usd"`
		}
	}
	usage := a.Do(get("/v1/usage"))
	if err := json.Unmarshal([]byte(usage.Body), &report); err != nil || report.Total.Cost+report.Total.Forfeit > penstock.NanoUSD(len(lies))*4*1_000_000_000 {
		t.Errorf("what upstreams said is believed: %v %s", err, usage.Body)
	}
	h.stop()
}
