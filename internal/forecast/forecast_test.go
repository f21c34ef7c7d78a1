package forecast

import (
	"flag"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the documentation from what the scenarios come to")

const scenarios = "../../docs/how-to/scenarios"

func load(t testing.TB, name string) *Scenario {
	t.Helper()
	s, err := Load(filepath.Join(scenarios, name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func play(t testing.TB, s *Scenario) *Result {
	t.Helper()
	r, err := Run(t.Context(), s, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// tenants finds a group's row.
func (r *Result) tenants(t testing.TB, name string) Row {
	t.Helper()
	for _, row := range r.Tenants {
		if row.Name == name {
			return row
		}
	}
	t.Fatalf("no tenants %q", name)
	return Row{}
}

// Two tenants with a backlog each get their due in tokens, however large their items and their backlogs.
func TestBackloggedTenantsGetTheirDue(t *testing.T) {
	t.Parallel()
	r := play(t, load(t, "fairness"))
	if r.Lanes[0].Judged != 2 || r.Lanes[0].Jain < 0.99 {
		t.Errorf("Jain's index is %.4f over %d tenants, want 0.99 over 2", r.Lanes[0].Jain, r.Lanes[0].Judged)
	}
	if team := r.tenants(t, "team"); team.Succeeded != 2000 {
		t.Errorf("the small tenant finished %d of 2000", team.Succeeded)
	}
}

// A tenant with ten items hardly notices another's 100,000.
func TestNewcomersHardlyWait(t *testing.T) {
	t.Parallel()
	alone, beside := play(t, load(t, "newcomer-alone")), play(t, load(t, "newcomer"))
	service := alone.Targets[0].Latency.P50
	got, bound := beside.tenants(t, "newcomer").Wait.P95, 2*alone.tenants(t, "newcomer").Wait.P95+service
	if got > bound {
		t.Errorf("the newcomer's p95 wait is %v, want at most %v", got, bound)
	}
	if hoarder := beside.tenants(t, "hoarder"); hoarder.Waiting == 0 {
		t.Error("the other tenant had no backlog left: nothing was shown")
	}
}

// Splitting work over jobs and models gains nothing. The same work under ten names would, which shows
// that the measurement can tell.
func TestSplittingGainsNothing(t *testing.T) {
	t.Parallel()
	gain := func(s *Scenario) float64 {
		r := play(t, s)
		return r.tenants(t, "split").TokensPerSecond/r.tenants(t, "whole").TokensPerSecond - 1
	}
	s := load(t, "split")
	if g := gain(s); g > 0.02 || g < -0.02 {
		t.Errorf("splitting gains %.1f %%, want less than 2", 100*g)
	}
	s.Tenants[1].Count, s.Tenants[1].Arrivals.Backlog = 10, 5000
	if g := gain(s); g < 5 {
		t.Errorf("ten names gain %.1f %%, want many times as much", 100*g)
	}
}

// Limits per minute are used almost in full and almost never run into.
func TestLimitsAreMet(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"limits-one", "limits-three"} {
		for _, target := range play(t, load(t, name)).Targets {
			refused := float64(target.Limited) / float64(target.Attempts)
			for resource, used := range target.Used {
				if used < 0.97 || used > 1.001 || refused > 0.001 {
					t.Errorf("%s: %s used %.1f %% of its %s, with %d refusals of %d calls",
						name, target.Name, 100*used, resource, target.Limited, target.Attempts)
				}
			}
		}
	}
}

// While a provider is away its spare answers; afterwards things are as before.
func TestOutageIsCovered(t *testing.T) {
	t.Parallel()
	r := play(t, load(t, "outage"))
	covered := r.tenants(t, "covered")
	// Afterwards the tenant that waited is owed its share, and is served first for a while.
	if covered.Failed > 0 || covered.Wait.P50 > time.Second || covered.Wait.Max > time.Minute {
		t.Errorf("%d items failed and they waited %v, %v at the most, although there is a spare target",
			covered.Failed, covered.Wait.P50, covered.Wait.Max)
	}
	if bare := r.tenants(t, "bare"); bare.Failed > 0 || bare.Wait.Max < 4*time.Minute {
		t.Errorf("without a spare target %d items failed, and waited %v at the most; want none, and most of the outage",
			bare.Failed, bare.Wait.Max)
	}
	for _, row := range r.Tenants {
		if left := row.Waiting + row.Running; left > 50 {
			t.Errorf("%s: %d items are left seven minutes after the outage", row.Name, left)
		}
	}
}

// Realtime work for a fifth of the capacity starts almost at once while bulk work takes all the rest.
func TestRealtimeGoesFirst(t *testing.T) {
	t.Parallel()
	r := play(t, load(t, "realtime"))
	for _, name := range []string{"chats", "urgent-jobs"} {
		row := r.tenants(t, name)
		if row.Wait.P99 > 200*time.Millisecond || row.Refused+row.Failed > 0 {
			t.Errorf("%s: p99 waits %v, %d refused, %d failed", name, row.Wait.P99, row.Refused, row.Failed)
		}
	}
	if used := r.Targets[0].Used["concurrency"]; used < 0.98 || r.tenants(t, "batch").ItemsPerSecond < 100 {
		t.Errorf("only %.1f %% of the target is used: bulk work stands still", 100*used)
	}
}

// shrunk is a scenario at a fraction of its size: fewer processes, tenants and limits, each as before.
func shrunk(s *Scenario, by int) *Scenario {
	s.Processes.Count = max(1, s.Processes.Count/by)
	for i := range s.Tenants {
		s.Tenants[i].Count /= by
	}
	shrink := func(l *Limits) {
		l.Concurrency /= by
		l.RequestsPerMinute /= int64(by)
		l.InputTokensPerMinute /= int64(by)
		l.OutputTokensPerMinute /= int64(by)
	}
	for name, target := range s.Targets {
		shrink(&target.Limits)
		shrink(&target.Upstream.Limits)
		s.Targets[name] = target
	}
	return s
}

// The load of a hundred machines, for one of them.
func TestHundredfoldShrunk(t *testing.T) {
	t.Parallel()
	s := shrunk(load(t, "hundredfold"), 50)
	s.Duration = 30 * time.Second
	checkHundredfold(t, play(t, s), 2000)
}

func checkHundredfold(t *testing.T, r *Result, perSecond float64) {
	t.Helper()
	items, attempts, limited := 0.0, int64(0), int64(0)
	for _, lane := range r.Lanes {
		items += lane.ItemsPerSecond
		if lane.Failed+lane.Refused > lane.Submitted/1000 {
			t.Errorf("%s: %d failed and %d refused of %d", lane.Name, lane.Failed, lane.Refused, lane.Submitted)
		}
		if lane.Wait.P95 > time.Second {
			t.Errorf("%s: p95 waits %v", lane.Name, lane.Wait.P95)
		}
	}
	for _, target := range r.Targets {
		attempts, limited = attempts+target.Attempts, limited+target.Limited
	}
	if items < 0.97*perSecond || items > 1.03*perSecond {
		t.Errorf("%.0f items per second, want about %.0f", items, perSecond)
	}
	if limited > attempts/1000 {
		t.Errorf("%d of %d calls were refused for limits", limited, attempts)
	}
}

func TestSameSeedSameResult(t *testing.T) {
	t.Parallel()
	small := func(seed int64) *Scenario {
		s := shrunk(load(t, "hundredfold"), 25)
		s.Duration, s.WarmUp, s.Seed = 5*time.Second, time.Second, seed
		return s
	}
	first := play(t, small(1))
	if diff := cmp.Diff(first, play(t, small(1))); diff != "" {
		t.Errorf("the same seed gives another result:\n%s", diff)
	}
	if cmp.Equal(first, play(t, small(2))) {
		t.Error("another seed gives the same result")
	}
}
