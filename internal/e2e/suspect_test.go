package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"penstock"
	"penstock/internal/crash"
	"penstock/internal/sim"
)

// suspectSteps are the transitions of which only suspects have need: see TestCrashOfSuspect.
var suspectSteps = []string{"claim_suspects"}

// ordinary submits items whose jobs allow one attempt, and returns the jobs.
func (r *rig) ordinary(name string, n int) []string {
	r.t.Helper()
	var items []map[string]any
	for n := range n {
		items = append(items, map[string]any{"body": chatBody(fmt.Sprintf("%s %d [sim:tokens=5]", name, n))})
	}
	return r.submitOne(name, items)
}

// submitOne submits items as jobs of 20 each, which allow one attempt.
func (r *rig) submitOne(name string, items []map[string]any) (ids []string) {
	r.t.Helper()
	for n := 0; len(items) > 0; n++ {
		few := items[:min(20, len(items))]
		items = items[len(few):]
		body := encoded(map[string]any{"model": "fast", "inputs": few, "max_attempts": 1})
		answer := r.call(Call{Method: http.MethodPost, Path: "/v1/jobs", Body: body, Header: map[string]string{"Idempotency-Key": fmt.Sprintf("%s-%d", name, n)}})
		if answer.Status != http.StatusAccepted {
			r.t.Fatalf("submitting %s %d: %d %s", name, n, answer.Status, answer.Body)
		}
		job, err := decoded[jobAnswer](answer.Body)
		if err != nil {
			r.t.Fatal(err)
		}
		ids = append(ids, job.ID)
	}
	return ids
}

// call calls whichever server listens, which must answer.
func (r *rig) call(c Call) Answer {
	r.t.Helper()
	answer, err := r.endpoint.Try(r.t.Context(), c)
	if err != nil {
		r.t.Fatalf("%s %s: %v", c.Method, c.Path, err)
	}
	return answer
}

// counts adds up the counts of jobs.
func (r *rig) counts(ctx context.Context, ids []string) (sum penstock.Counts, err error) {
	for _, id := range ids {
		job, err := fetch(ctx, r.endpoint, "/v1/jobs/"+id, decoded[jobAnswer])
		if err != nil {
			return sum, err
		}
		sum.Total += job.Counts.Total
		sum.Queued += job.Counts.Queued
		sum.Running += job.Counts.Running
		sum.Succeeded += job.Counts.Succeeded
		sum.Failed += job.Counts.Failed
	}
	return sum, nil
}

// awaitEnd waits until all items of jobs have ended.
func (r *rig) awaitEnd(ids []string) (sum penstock.Counts) {
	r.t.Helper()
	AwaitLong(r.t, "all items to end", 3*time.Minute, func() (err error) {
		if sum, err = r.counts(r.t.Context(), ids); err == nil && sum.Queued+sum.Running > 0 {
			err = fmt.Errorf("%+v; the server printed:\n%s", sum, tail(r.lives[len(r.lives)-1].Output()))
		}
		return err
	})
	return sum
}

// history reads all items of jobs with what was tried for them.
func (r *rig) history(ids []string) (items []itemAnswer) {
	r.t.Helper()
	for _, id := range ids {
		lines := r.call(Call{Method: http.MethodGet, Path: "/v1/jobs/" + id + "/results"})
		ended, err := results(lines.Body)
		if err != nil {
			r.t.Fatalf("%v in %d %s", err, lines.Status, lines.Body)
		}
		for _, line := range ended {
			item, err := fetch(r.t.Context(), r.endpoint, "/v1/items/"+line.ItemID, decoded[itemAnswer])
			if err != nil {
				r.t.Fatal(err)
			}
			items = append(items, item)
		}
	}
	return items
}

// verify stops the server and audits its books.
func (r *rig) verify(l *life) {
	r.t.Helper()
	if code := l.Stop(); code != 0 {
		r.t.Errorf("the last server stopped with code %d:\n%s", code, tail(l.Output()))
	}
	report, err := r.openStore().VerifyLedger(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	for _, p := range report.Problems {
		r.t.Error("ledger: " + p)
	}
}

// TestKillsFailNoOrdinaryWork kills the server eight times within seconds over 400 ordinary items, and then as often as it
// takes, with jobs that allow one attempt: every item succeeds, by one worker or two, on both engines.
func TestKillsFailNoOrdinaryWork(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		on      engine
		workers int
		kills   int
	}{
		{"sqlite", onSQLite, 1, 12},
		{"postgres", onPostgres, 1, 8},
		{"postgres by two workers", onPostgres, 2, 10},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, tc.on)
			r.lease = 300 * time.Millisecond
			r.configure()
			r.slowly(60 * time.Millisecond)
			team := []*rig{r}
			for len(team) < tc.workers {
				team = append(team, r.twin())
			}
			lives := make([]*life, len(team))
			for i := range team {
				lives[i] = team[i].start(death{})
			}
			ids := r.ordinary("ordinary", 400)
			kills := soakKills(t, tc.kills)
			for n := range kills {
				i := n % len(team)
				lives[i].pass(time.Duration(50+r.random.IntN(250)) * time.Millisecond)
				lives[i].Kill()
				lives[i].ended = time.Now()
				lives[i] = team[i].start(death{})
				if n > 0 && n%10 == 0 { // a long loop outlasts the work
					ids = append(ids, r.ordinary(fmt.Sprintf("more-%d", n), 100)...)
				}
			}
			sum := r.awaitEnd(ids)
			if sum.Succeeded != sum.Total || sum.Total < 400 {
				t.Errorf("%d kills: %+v, want all to succeed", kills, sum)
			}
			isolated, lost, most := 0, 0, 0
			for _, item := range r.history(ids) {
				lost += item.lost()
				most = max(most, item.lost())
				last := item.History[len(item.History)-1]
				if last.Isolated {
					isolated++
				}
				if (item.lost() >= suspectCrashes) != last.Isolated {
					t.Errorf("item %s lost %d workers; its last attempt says isolated: %v", item.ItemID, item.lost(), last.Isolated)
				}
			}
			t.Logf("%d kills, %d claims lost, %d by one item at the most; %d items ended in a child process", kills, lost, most, isolated)
			for i := 1; i < len(lives); i++ {
				lives[i].Stop()
			}
			r.verify(lives[0])
		})
	}
}

// slowly makes answers take a while.
func (r *rig) slowly(latency time.Duration) {
	r.t.Helper()
	if err := r.upstream.Configure(sim.Config{Seed: r.seed, FirstTokenLatency: latency, Jitter: 0.5}); err != nil {
		r.t.Fatal(err)
	}
}

// TestDeadlyItemIsFound has one item among 500 end every process that touches it. The server dies of it as often as it takes to
// suspect it, and then never again; the others succeed.
func TestDeadlyItemIsFound(t *testing.T) {
	t.Parallel()
	for _, on := range []engine{onSQLite, onPostgres} {
		t.Run(string(on), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, on)
			r.lease = time.Second // a busy machine must not lose it while a child runs
			r.configure()
			r.slowly(20 * time.Millisecond)
			var items []map[string]any
			for n := range 500 {
				prompt := fmt.Sprintf("harmless %d [sim:tokens=5]", n)
				if n == 137 {
					prompt = "deadly " + crash.DeadlyBody
				}
				items = append(items, map[string]any{"body": chatBody(prompt)})
			}
			l := r.start(death{})
			crashes := 0
			ids := r.submitWhile(&l, &crashes, items)
			AwaitLong(t, "all items to end", 3*time.Minute, func() error {
				select {
				case <-l.Ended():
					if crashes++; crashes > suspectCrashes {
						t.Fatalf("the server died %d times of one item; it printed:\n%s", crashes, tail(l.Output()))
					}
					l = r.start(death{})
				default:
				}
				sum, err := r.counts(t.Context(), ids)
				if err == nil && sum.Queued+sum.Running > 0 {
					err = fmt.Errorf("%+v", sum)
				}
				return err
			})
			sum, err := r.counts(t.Context(), ids)
			if err != nil || sum.Succeeded != 499 || sum.Failed != 1 || crashes != suspectCrashes {
				t.Errorf("after %d crashes: %+v, %v; want 499 of 500 to succeed after %d", crashes, sum, err, suspectCrashes)
			}
			r.checkPoison(ids)
			r.verify(l)
		})
	}
}

// submitWhile submits jobs of 20 items to a server that may die of them. The keys make it safe to send them again.
func (r *rig) submitWhile(l **life, crashes *int, items []map[string]any) (ids []string) {
	r.t.Helper()
	for n := 0; len(items) > 0; n++ {
		few := items[:min(20, len(items))]
		items = items[len(few):]
		call := Call{Method: http.MethodPost, Path: "/v1/jobs", Body: encoded(map[string]any{"model": "fast", "inputs": few, "max_attempts": 1}),
			Header: map[string]string{"Idempotency-Key": fmt.Sprintf("deadly-%d", n)}}
		Await(r.t, "a job to be accepted", func() error {
			select {
			case <-(*l).Ended():
				*crashes++
				*l = r.start(death{})
			default:
			}
			answer, err := r.endpoint.Try(r.t.Context(), call)
			if err == nil && answer.Status != http.StatusAccepted {
				err = fmt.Errorf("%d %s", answer.Status, answer.Body)
			}
			if err == nil {
				var job jobAnswer
				job, err = decoded[jobAnswer](answer.Body)
				ids = append(ids, job.ID)
			}
			return err
		})
	}
	return ids
}

// checkPoison holds that the one item that failed is poison, by the evidence of two child processes.
func (r *rig) checkPoison(ids []string) {
	r.t.Helper()
	for _, item := range r.history(ids) {
		if item.Status == penstock.StatusSucceeded {
			continue
		}
		died := 0
		for _, attempt := range item.History {
			if attempt.ErrorKind == penstock.AttemptDied && attempt.Isolated && attempt.Target != "" && !attempt.UsageKnown {
				died++
			}
		}
		if item.Error == nil || item.Error.Code != penstock.CodePoison || item.lost() != suspectCrashes || died != 2 || len(item.History) != suspectCrashes+2 {
			r.t.Errorf("the deadly item ended with %v after %+v", item.Error, item.History)
		}
	}
}

// TestChildrenAreBare holds that the child processes of a server hold no database, no listener and no lock, are told no secret by
// arguments or environment, and end with it.
func TestChildrenAreBare(t *testing.T) {
	t.Parallel()
	r := newRig(t, onSQLite)
	r.lease = 300 * time.Millisecond
	r.configure()
	l := r.start(death{})
	ids := r.submitOne("held", []map[string]any{{"body": chatBody("held [sim:tokens=5 hold=bare]")}})
	for range suspectCrashes {
		r.awaitRunning(ids[0], 1)
		l.Kill()
		l = r.start(death{})
	}
	r.awaitRunning(ids[0], 1)
	pid := childOf(t, l.cmd.Process.Pid)
	for _, file := range []string{"cmdline", "environ"} {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{Key, AdminKey, "postgres", r.config} {
			if strings.Contains(string(text), secret) {
				t.Errorf("%s of the child says %q", file, secret)
			}
		}
	}
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil || len(files) == 0 {
		t.Fatalf("the child's files: %v, %v", files, err)
	}
	for _, file := range files {
		if to, err := os.Readlink(file); err == nil && strings.HasPrefix(to, r.data) {
			t.Errorf("the child has %s open", to)
		}
	}
	l.Kill()
	Await(t, "the child to end with its parent", func() error {
		if _, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); err == nil {
			return fmt.Errorf("child %d lives", pid)
		}
		return nil
	})
	r.release("bare")
	l = r.start(death{})
	if sum := r.awaitEnd(ids); sum.Succeeded != 1 {
		t.Errorf("the item ended as %+v", sum)
	}
	r.verify(l)
}

// childOf is the process that a process started.
func childOf(t *testing.T, parent int) int {
	t.Helper()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", parent))
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		text, err := os.ReadFile(task)
		var pid int
		if _, scanErr := fmt.Sscan(string(text), &pid); err == nil && scanErr == nil {
			return pid
		}
	}
	t.Fatalf("process %d has no child", parent)
	return 0
}
