package demo

import (
	"fmt"
	"time"

	"penstock"
	"penstock/internal/demo/text"
)

// The people whose names are in the audit.
const (
	maya  = "Maya Lindqvist"
	tom   = "Tom Okafor"
	priya = "Priya Nair"
	jonas = "Jonas Weber"
	elena = "Elena Rossi"
)

// staff are the people with a role for all tenants.
var staff = []member{
	{"maya.lindqvist", penstock.RoleAdmin}, {"tom.okafor", penstock.RoleOperator}, {"priya.nair", penstock.RoleOperator}, {"ines.duarte", penstock.RoleAuditor},
}

// The public names of models.
const (
	modelMini      = "gpt-4.1-mini"
	modelSonnet    = "claude-sonnet-4-5"
	modelSmall     = "mistral-small"
	modelLlama     = "llama-3.3-70b"
	modelEmbedding = "text-embedding-3-small"
	// modelPaused is paused by an operator, so that its jobs wait.
	modelPaused = "gpt-4.1"
)

// company is a tenant of the demo.
type company struct {
	id      penstock.TenantID
	tier    string
	weight  int
	keys    []string // the demo's own traffic uses the first one that a workload names
	limits  penstock.Limits
	budgets []penstock.Budget
	models  map[string]penstock.Limits
	by      string // who made it
	members []member
}

// member is a person of a company, by the part of the e-mail address before the @.
type member struct {
	name string
	role penstock.Role
}

// dollars is an amount of money.
func dollars(n int64) penstock.NanoUSD { return penstock.NanoUSD(n * 1_000_000_000) }

// pilot is the tenant whose budget is nearly used up.
const pilot penstock.TenantID = "atlas-research"

var companies = []company{
	{
		id: "northwind-support", tier: "production", weight: 3, keys: []string{"helpdesk", "web-widget", "qa-sandbox"}, by: maya,
		limits:  penstock.Limits{RequestsPerMinute: 600, OutputTokensPerMinute: 120_000, Concurrency: 40},
		budgets: []penstock.Budget{{Period: penstock.PeriodMonthly, Limit: dollars(6)}, {Period: penstock.PeriodDaily, Limit: dollars(2), Hard: true}},
		members: []member{{"sara.holm", penstock.RoleAdmin}, {"ben.castro", penstock.RoleDeveloper}, {"lotte.vries", penstock.RoleViewer}},
	},
	{
		id: "halden-legal", tier: "production", weight: 2, keys: []string{"review-app", "nightly-import"}, by: maya,
		limits:  penstock.Limits{RequestsPerMinute: 240, Concurrency: 20},
		budgets: []penstock.Budget{{Period: penstock.PeriodMonthly, Limit: dollars(80)}, {Tag: "team:litigation", Period: penstock.PeriodMonthly, Limit: dollars(58)}},
		members: []member{{"jonas.weber", penstock.RoleAdmin}, {"nadia.amrani", penstock.RoleReviewer}, {"felix.brandt", penstock.RoleDeveloper}},
		models:  map[string]penstock.Limits{modelSonnet: {RequestsPerMinute: 120}},
	},
	{
		id: "lumen-shop", tier: "production", weight: 2, keys: []string{"catalogue", "search"}, by: elena,
		limits:  penstock.Limits{RequestsPerMinute: 1_200, DailyTokens: 20_000_000},
		budgets: []penstock.Budget{{Period: penstock.PeriodMonthly, Limit: dollars(3)}, {Model: modelMini, Period: penstock.PeriodMonthly, Limit: dollars(2)}},
		members: []member{{"elena.rossi", penstock.RoleAdmin}, {"kofi.mensah", penstock.RoleDeveloper}},
	},
	{
		id: "brightway-insurance", tier: "enterprise", weight: 4, keys: []string{"claims", "customer-portal"}, by: maya,
		limits:  penstock.Limits{RequestsPerMinute: 900, Concurrency: 60},
		budgets: []penstock.Budget{{Period: penstock.PeriodMonthly, Limit: dollars(75), Hard: true}, {Key: "customer-portal", Period: penstock.PeriodMonthly, Limit: dollars(8)}},
		members: []member{{"clara.nguyen", penstock.RoleAdmin}, {"omar.haddad", penstock.RoleDeveloper}, {"greta.lund", penstock.RoleReviewer}, {"paul.meyer", penstock.RoleAuditor}},
	},
	{
		id: pilot, tier: "pilot", weight: 1, keys: []string{"notebook"}, by: elena,
		limits:  penstock.Limits{RequestsPerMinute: 60, Concurrency: 4},
		budgets: []penstock.Budget{{Period: penstock.PeriodTotal, Limit: dollars(40)}}, // history lowers it to a little more than is spent
		members: []member{{"yuki.tanaka", penstock.RoleDeveloper}, {"amina.diallo", penstock.RoleViewer}},
	},
}

// workload is a stream of work of one company: calls, jobs, or both.
type workload struct {
	tenant   penstock.TenantID
	key      string
	feature  *text.Feature
	endpoint penstock.Endpoint
	model    string
	tags     map[string]string

	calls   float64 // synchronous calls on a working day at the end of the month
	streams float64 // the part of them that stream
	system  int     // tokens of the system prompt and the documents that go along with each prompt
	output  int     // tokens of a usual answer of a call

	jobs  float64 // jobs on a working day
	items int     // of a usual job
	lane  penstock.Lane
	night bool // its calls and jobs come at night
	// flaws is the part of items that fail, for the causes of failures.
	flaws float64
}

// load is the workloads of all companies.
type load []workload

// of is the workload of a tenant with a feature.
func (l load) of(tenant penstock.TenantID, feature string) *workload {
	for i := range l {
		if w := &l[i]; w.tenant == tenant && w.feature.Name == feature {
			return w
		}
	}
	panic(fmt.Sprintf("demo: %s has no workload %s", tenant, feature))
}

// workloads are the streams of work of all companies.
func workloads() load {
	tags := func(team, feature, customer string) map[string]string {
		t := map[string]string{"team": team, "feature": feature}
		if customer != "" {
			t["customer"] = customer
		}
		return t
	}
	return load{
		{tenant: "northwind-support", key: "helpdesk", feature: text.Named("reply-draft"), endpoint: penstock.EndpointChat, model: modelMini,
			tags: tags("support", "reply-draft", ""), calls: 140, streams: 0.8, system: 3_200, output: 240, jobs: 1, items: 12, lane: penstock.LaneStandard},
		{tenant: "northwind-support", key: "web-widget", feature: text.Named("mail-triage"), endpoint: penstock.EndpointChat, model: modelLlama,
			tags: tags("support", "triage", ""), calls: 90, streams: 0.1, system: 1_500, output: 60, jobs: 1.2, items: 40, lane: penstock.LaneStandard, flaws: 0.01},
		{tenant: "halden-legal", key: "review-app", feature: text.Named("clause-review"), endpoint: penstock.EndpointChat, model: modelSonnet,
			tags: tags("litigation", "clause-review", "orbis-logistics"), calls: 68, streams: 0.6, system: 12_000, output: 900, jobs: 0.8, items: 25, lane: penstock.LaneStandard, flaws: 0.03},
		{tenant: "halden-legal", key: "nightly-import", feature: text.Named("contract-summary"), endpoint: penstock.EndpointChat, model: modelSonnet,
			tags: tags("contracts", "summary", "venturi-foods"), jobs: 0.7, items: 60, lane: penstock.LaneBulk, night: true, system: 9_000, output: 500, flaws: 0.02},
		{tenant: "lumen-shop", key: "catalogue", feature: text.Named("product-copy"), endpoint: penstock.EndpointChat, model: modelMini,
			tags: tags("catalogue", "product-copy", ""), calls: 36, streams: 0.3, system: 900, output: 320, jobs: 1, items: 80, lane: penstock.LaneBulk, flaws: 0.01},
		{tenant: "lumen-shop", key: "search", feature: text.Named("product-search"), endpoint: penstock.EndpointEmbeddings, model: modelEmbedding,
			tags: tags("search", "product-search", ""), calls: 120, system: 60, jobs: 0.6, items: 120, lane: penstock.LaneStandard},
		{tenant: "lumen-shop", key: "catalogue", feature: text.Named("translation"), endpoint: penstock.EndpointChat, model: modelSmall,
			tags: tags("catalogue", "translation", ""), calls: 28, system: 400, output: 110, jobs: 0.6, items: 50, lane: penstock.LaneBulk, night: true},
		{tenant: "brightway-insurance", key: "claims", feature: text.Named("claim-triage"), endpoint: penstock.EndpointResponses, model: modelSonnet,
			tags: tags("claims", "triage", "motor"), calls: 80, streams: 0.2, system: 8_000, output: 520, jobs: 1.2, items: 18, lane: penstock.LaneRealtime, flaws: 0.02},
		{tenant: "brightway-insurance", key: "customer-portal", feature: text.Named("policy-answer"), endpoint: penstock.EndpointChat, model: modelMini,
			tags: tags("portal", "policy-answer", "household"), calls: 110, streams: 0.9, system: 5_000, output: 160, lane: penstock.LaneStandard},
		{tenant: pilot, key: "notebook", feature: text.Named("abstract-screening"), endpoint: penstock.EndpointChat, model: modelSonnet,
			tags: tags("screening", "battery-review", ""), calls: 44, streams: 0.1, system: 9_000, output: 210, jobs: 0.4, items: 150, lane: penstock.LaneBulk, flaws: 0.04},
	}
}

// share is the part of a day's work that an hour has: more on working days than on weekends, more in office hours than at night, and more
// at the end of the month than at its beginning. The shares of a working day add up to 1.
func (w *workload) share(at time.Time, grown float64) float64 {
	hours := [24]float64{0.04, 0.03, 0.02, 0.02, 0.03, 0.06, 0.15, 0.35, 0.7, 0.95, 1, 0.95, 0.75, 0.85, 1, 0.95, 0.85, 0.65, 0.4, 0.28, 0.22, 0.16, 0.1, 0.06}
	const sum = 9.57 // of the hours
	part := hours[at.Hour()] / sum
	if w.night {
		part = hours[(at.Hour()+12)%24] / sum
	}
	if day := at.Weekday(); day == time.Saturday || day == time.Sunday {
		part *= 0.28
	}
	return part * (0.55 + 0.45*grown)
}
