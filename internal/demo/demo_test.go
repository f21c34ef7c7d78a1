package demo_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"penstock"
	"penstock/client"
	"penstock/internal/app"
	"penstock/internal/config"
	"penstock/internal/demo"
	"penstock/internal/demo/text"
	"penstock/internal/identity"
	"penstock/internal/prompt"
	"penstock/internal/store"
	"penstock/internal/webhook"
)

// running is a demo that serves.
type running struct {
	data string
	api  string
	stop func() error
}

// greeting passes on the address of the API when it is printed.
type greeting struct {
	mu   sync.Mutex
	text bytes.Buffer
	api  chan string
}

func (g *greeting) Write(b []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.text.Write(b)
	if _, rest, ok := strings.Cut(g.text.String(), "  API  "); ok {
		if line, _, whole := strings.Cut(rest, "\n"); whole {
			select {
			case g.api <- strings.TrimSpace(line):
			default:
			}
		}
	}
	return len(b), nil
}

func (g *greeting) String() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.text.String()
}

// start starts a demo in a directory.
func start(t *testing.T, data string) (running, *greeting) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	g, log := &greeting{api: make(chan string, 1)}, &greeting{}
	ended := make(chan error, 1)
	go func() {
		ended <- demo.Run(ctx, demo.Options{Out: g, Log: log, Env: environment(data)})
	}()
	stop := sync.OnceValue(func() error {
		cancel()
		err := <-ended
		if log.String() != "" {
			err = errors.Join(err, errors.New("the log has errors: "+log.String()))
		}
		return err
	})
	t.Cleanup(func() { _ = stop() })
	select {
	case api := <-g.api:
		return running{data, api, stop}, g
	case err := <-ended:
		t.Fatalf("the demo ended: %v", err)
	case <-time.After(2 * time.Minute):
		t.Fatalf("the demo is not ready: %s", g)
	}
	return running{}, nil
}

func environment(data string) config.Env {
	return func(name string) (string, bool) {
		value, ok := map[string]string{"PENSTOCK_DATA": data, "PENSTOCK_LISTEN": "127.0.0.1:0", "PENSTOCK_ADMIN_LISTEN": "127.0.0.1:0"}[name]
		return value, ok
	}
}

// client calls as a key of a tenant.
func (r running) client(t *testing.T, tenant penstock.TenantID, key string) *client.Client {
	t.Helper()
	state, err := demo.Open(r.data)
	if err != nil || state == nil {
		t.Fatalf("the state of the demo: %+v, %v", state, err)
	}
	c, err := client.New(client.Config{URL: r.api, APIKey: state.Secret(tenant, key)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// eventually waits for the load, which goes on in the background.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for limit := time.After(time.Minute); !is(); {
		select {
		case <-limit:
			t.Fatalf("not within a minute: %s", what)
		case <-tick.C:
		}
	}
}

// The demo has all that the pages of the console show, its money adds up, it goes on after a restart, and leaves other data alone.
func TestDemo(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	first, printed := start(t, data)
	checkFigures(t, first)
	checkJobs(t, first)
	checkLoad(t, first)
	for _, want := range []string{"Made a month of work in", "5 tenants", "Authorization: Bearer psk_", "# northwind-support", "# brightway-insurance"} {
		if !strings.Contains(printed.String(), want) {
			t.Errorf("the greeting has no %q: %s", want, printed)
		}
	}
	if err := first.stop(); err != nil {
		t.Fatalf("stopping: %v", err)
	}
	jobs := checkStore(t, data)

	second, printed := start(t, data)
	if strings.Contains(printed.String(), "Made a month") {
		t.Errorf("the second start filled the directory again: %s", printed)
	}
	if err := second.stop(); err != nil {
		t.Fatalf("stopping: %v", err)
	}
	if again := checkStore(t, data); again < jobs || again > jobs+10 {
		t.Errorf("%d jobs after the restart, %d before", again, jobs)
	}
}

// jobStatuses are the statuses of jobs: only items expire.
var jobStatuses = slices.DeleteFunc(slices.Clone(penstock.Statuses), func(s penstock.Status) bool { return s == penstock.StatusExpired })

// checkJobs checks that there are jobs in every state, and dead letters of several causes.
func checkJobs(t *testing.T, r running) {
	t.Helper()
	seen := map[penstock.Status]bool{}
	for _, key := range [][2]string{{"halden-legal", "review-app"}, {"lumen-shop", "catalogue"}, {"northwind-support", "helpdesk"}, {"brightway-insurance", "claims"}} {
		c := r.client(t, penstock.TenantID(key[0]), key[1])
		for _, status := range jobStatuses {
			for j, err := range c.ListJobs(t.Context(), client.JobFilter{Status: status, PageSize: 1}) {
				if err != nil {
					t.Fatal(err)
				}
				seen[j.Status] = true
				break
			}
		}
	}
	c := r.client(t, "lumen-shop", "catalogue")
	eventually(t, "a running batch and jobs of the other states", func() bool {
		for j, err := range c.ListJobs(t.Context(), client.JobFilter{Status: penstock.StatusRunning, PageSize: 1}) {
			seen[penstock.StatusRunning] = err == nil && j.Counts.Total > 1_000 && j.Counts.Succeeded > 0
			break
		}
		for _, err := range c.ListJobs(t.Context(), client.JobFilter{Status: penstock.StatusQueued, PageSize: 1}) {
			seen[penstock.StatusQueued] = err == nil
			break
		}
		return seen[penstock.StatusRunning] && seen[penstock.StatusQueued]
	})
	for _, status := range jobStatuses {
		if !seen[status] {
			t.Errorf("no job is %s", status)
		}
	}
	groups := 0
	for _, err := range r.client(t, "halden-legal", "review-app").DeadLetterGroups(t.Context(), client.DeadLetterList{}) {
		if err != nil {
			t.Fatal(err)
		}
		groups++
	}
	if groups < 3 {
		t.Errorf("%d groups of dead letters", groups)
	}
}

// checkLoad checks that calls go on.
func checkLoad(t *testing.T, r running) {
	t.Helper()
	c := r.client(t, "northwind-support", "helpdesk")
	newest := func() (id string) {
		for q, err := range c.ListRequests(t.Context(), client.RequestFilter{PageSize: 1}) {
			if err != nil {
				t.Fatal(err)
			}
			return q.ID
		}
		return ""
	}
	before := newest()
	eventually(t, "a call of the load", func() bool { return newest() != before })
}

// checkStore checks the books of a demo that is stopped, and returns the number of its jobs.
func checkStore(t *testing.T, data string) (jobs int) {
	t.Helper()
	s, err := app.InspectStore(t.Context(), config.Process{Data: data})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	report, err := s.VerifyLedger(t.Context())
	if err != nil || len(report.Problems) > 0 {
		t.Fatalf("the ledger: %+v, %v", report, err)
	}
	tenants, err := s.ListTenants(t.Context(), store.TenantFilter{Limit: 100})
	if err != nil || len(tenants) != 5 {
		t.Fatalf("%d tenants: %v", len(tenants), err)
	}
	now := time.Now()
	for _, tenant := range tenants {
		jobs += checkTenant(t, s, tenant.ID, now)
	}
	checkDeliveries(t, s)
	if near, err := s.BudgetStates(t.Context(), "atlas-research", 1); err != nil || len(near) != 1 || near[0].Balance.Settled*100 < near[0].Balance.Limit*90 {
		t.Errorf("the budget of the pilot is not nearly used up: %+v, %v", near, err)
	}
	checkPeople(t, s)
	checkPrompts(t, s)
	return jobs
}

// checkPrompts checks that there is a prompt with a history, a draft, a protected label and a request that waits.
func checkPrompts(t *testing.T, s *app.Store) {
	t.Helper()
	const tenant, name = "northwind-support", "support/reply"
	p, err := s.Prompts().Prompt(t.Context(), tenant, name)
	if err != nil || p.Latest != 6 || p.Draft == 0 || !slices.ContainsFunc(p.Labels, func(l prompt.Label) bool { return l.Label == "production" && l.Version == 4 }) {
		t.Errorf("the prompt is %+v, %v", p, err)
	}
	moves, err := s.Prompts().History(t.Context(), tenant, prompt.HistoryPage{Name: name, Limit: 10})
	if err != nil || len(moves) != 5 || !slices.ContainsFunc(moves, func(m prompt.Move) bool { return m.ApprovedBy != "" }) {
		t.Errorf("the moves are %+v, %v", moves, err)
	}
	open, err := s.Prompts().ListRequests(t.Context(), tenant, prompt.RequestPage{Name: name, State: prompt.RequestOpen, Limit: 10})
	if err != nil || len(open) != 1 {
		t.Errorf("%d requests wait: %v", len(open), err)
	}
	if rules, err := s.Prompts().Protections(t.Context(), tenant); err != nil || len(rules) != 1 {
		t.Errorf("%d labels are protected: %v", len(rules), err)
	}
}

// checkPeople checks that somebody has each role.
func checkPeople(t *testing.T, s *app.Store) {
	t.Helper()
	members, err := s.Members().Members(t.Context(), identity.MemberPage{Limit: identity.MaxMembers})
	if err != nil {
		t.Fatal(err)
	}
	roles := map[penstock.Role]int{}
	for _, m := range members {
		roles[m.Role]++
	}
	for _, role := range penstock.Roles {
		if roles[role] == 0 {
			t.Errorf("nobody is %s: %v", role, roles)
		}
	}
}

// checkDeliveries checks that webhooks have deliveries in every state.
func checkDeliveries(t *testing.T, s *app.Store) {
	t.Helper()
	for tenant, statuses := range map[penstock.TenantID][]penstock.DeliveryStatus{
		"northwind-support": {penstock.DeliveryDelivered}, "brightway-insurance": penstock.DeliveryStatuses,
	} {
		endpoints, err := s.Webhooks.List(t.Context(), tenant, webhook.Page{Limit: 1})
		if err != nil || len(endpoints) != 1 {
			t.Fatalf("%s: %d webhooks, %v", tenant, len(endpoints), err)
		}
		for _, status := range statuses {
			found, _, err := s.Webhooks.Deliveries(t.Context(), tenant, webhook.DeliveryPage{Webhook: endpoints[0].ID, Status: status, Limit: 1})
			if err != nil || len(found) != 1 {
				t.Errorf("%s: no delivery is %s: %v", tenant, status, err)
			}
		}
	}
}

// checkTenant checks the usage and the audit of a tenant, and returns the number of its jobs.
func checkTenant(t *testing.T, s *app.Store, tenant penstock.TenantID, now time.Time) int {
	t.Helper()
	jobs, err := s.ListJobs(t.Context(), tenant, store.JobFilter{Limit: 1_000})
	if err != nil {
		t.Fatal(err)
	}
	var cost penstock.NanoUSD // of all work
	for _, j := range jobs.Jobs {
		cost += j.Cost
		if j.CreatedAt.After(now) || j.FinishedAt.After(now) {
			t.Errorf("%s: job %s is of the future: %s, %s", tenant, j.ID, j.CreatedAt, j.FinishedAt)
		}
	}
	for f := (store.RequestFilter{Limit: 1_000}); ; {
		page, err := s.ListRequests(t.Context(), tenant, f)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page.Requests {
			cost += r.Cost
		}
		if f.After = page.Next; page.Next == "" {
			break
		}
	}
	if all, _ := spent(t, s, tenant, store.SpendingQuery{From: now.AddDate(0, 0, -40), To: now.Add(time.Hour)}); all != cost {
		t.Errorf("%s: usage is %s, jobs and calls together %s", tenant, all, cost)
	}
	checkShape(t, s, tenant, now)
	if entries, err := s.AuditEntries(t.Context(), tenant, store.AuditPage{Limit: 100}); err != nil || len(entries) == 0 {
		t.Errorf("%s: %d entries in the audit, %v", tenant, len(entries), err)
	}
	return len(jobs.Jobs)
}

// checkShape checks that there is work on every day, and more of it on working days.
func checkShape(t *testing.T, s *app.Store, tenant penstock.TenantID, now time.Time) {
	t.Helper()
	counts := map[bool][]int64{} // by whether the day is one of a weekend
	for ago := 1; ago < demo.Days; ago++ {
		from := now.UTC().Truncate(24*time.Hour).AddDate(0, 0, -ago)
		_, n := spent(t, s, tenant, store.SpendingQuery{From: from, To: from.AddDate(0, 0, 1)})
		if n == 0 {
			t.Errorf("%s: nothing on %s", tenant, from)
		}
		weekend := from.Weekday() == time.Saturday || from.Weekday() == time.Sunday
		counts[weekend] = append(counts[weekend], n)
	}
	for _, days := range counts {
		slices.Sort(days)
	}
	if working, weekend := counts[false][len(counts[false])/2], counts[true][len(counts[true])/2]; working < 2*weekend {
		t.Errorf("%s: %d outcomes on a usual working day, and %d on a weekend", tenant, working, weekend)
	}
}

// spent is what a tenant spent in a period.
func spent(t *testing.T, s *app.Store, tenant penstock.TenantID, q store.SpendingQuery) (cost penstock.NanoUSD, outcomes int64) {
	t.Helper()
	q.Limit = 1_000
	sums, err := s.Spending(t.Context(), tenant, q)
	if err != nil {
		t.Fatal(err)
	}
	for _, sum := range sums {
		cost, outcomes = cost+sum.Cost, outcomes+sum.Outcomes
	}
	return cost, outcomes
}

// A directory with other data stays as it is.
func TestDemoRefusesOtherData(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	if state, err := demo.Open(data); err != nil || state != nil {
		t.Fatalf("an empty directory: %+v, %v", state, err)
	}
	if err := os.WriteFile(filepath.Join(data, "penstock.db"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := demo.Run(t.Context(), demo.Options{Out: io.Discard, Log: io.Discard, Env: environment(data)})
	if err == nil || !strings.Contains(err.Error(), "has data that is not of the demo") {
		t.Errorf("a directory with other data: %v", err)
	}
	if kept, err := os.ReadFile(filepath.Join(data, "penstock.db")); err != nil || string(kept) != "mine" {
		t.Errorf("the data is now %q, %v", kept, err)
	}
}

// An unfinished demo leaves no data directory, and the next start begins anew.
func TestCreateIsAllOrNothing(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	write := func(dir, text string) error {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, "file"), []byte(text), 0o600)
	}
	_, err := demo.Create(data, func(dir string) (*demo.State, error) {
		return nil, errors.Join(write(dir, "half"), context.Canceled)
	})
	if left, globErr := filepath.Glob(data + "*"); err == nil || globErr != nil || len(left) > 0 {
		t.Errorf("after an error, %v is left: %v", left, err)
	}
	if err := write(data+".partial", "of a process that died"); err != nil {
		t.Fatal(err)
	}
	_, err = demo.Create(data, func(dir string) (*demo.State, error) {
		return &demo.State{Receiver: "127.0.0.1:1"}, write(dir, "whole")
	})
	if err != nil {
		t.Fatal(err)
	}
	state, err := demo.Open(data)
	if text, readErr := os.ReadFile(filepath.Join(data, "file")); err != nil || readErr != nil || string(text) != "whole" || state.Receiver != "127.0.0.1:1" {
		t.Errorf("the directory has %q and %+v: %v, %v", text, state, err, readErr)
	}
}

// A data directory that is there and empty is filled; one with content is not replaced.
func TestCreateInEmptyDirectory(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	fill := func(dir string) (*demo.State, error) {
		return &demo.State{Receiver: "127.0.0.1:1"}, os.MkdirAll(dir, 0o700)
	}
	if _, err := demo.Create(data, fill); err != nil {
		t.Fatal(err)
	}
	if state, err := demo.Open(data); err != nil || state == nil || state.Receiver != "127.0.0.1:1" {
		t.Errorf("the state is %+v, %v", state, err)
	}
	if _, err := demo.Create(data, fill); err == nil {
		t.Error("a directory with content was replaced")
	}
}

// The texts of the models depend on the prompt alone, and every feature has some.
func TestReplyIsDeterministic(t *testing.T) {
	t.Parallel()
	if a, b := text.Reply("What is this?"), text.Reply("What is this?"); a != b || a == "" {
		t.Errorf("the answers are %q and %q", a, b)
	}
}
