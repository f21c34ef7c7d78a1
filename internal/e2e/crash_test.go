package e2e

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"penstock/internal/sim"
)

// steps are the transitions of the store that a server under load goes through. The rare ones happen a
// few times in its life, or once.
var (
	commonSteps = []string{"submit", "claim", "finish", "record", "renew"}
	rareSteps   = []string{"snapshot", "tenants", "lease", "cancel", "expire", "rescue", "wake", "release"}
	steps       = slices.Concat(commonSteps, rareSteps)
)

// moments are the crash points of a transition: before it begins, before it is committed, and before
// anyone hears of it.
var moments = []string{"begin", "written", "committed"}

// fileSteps are those that a file's blob is written before; TestKillDuringUpload strikes there.
var fileSteps = []string{"create_file"}

// plainSteps are transitions that nothing outside of the database goes before: that they happen as a whole or not at
// all is the database's own doing. What is told to webhooks is sent at least once, whenever a server dies.
var plainSteps = []string{
	"add_items", "add_job_turn", "build_segment", "check", "create_conversation", "create_upload", "delete_conversation", "delete_item", "delete_response", "delete_file", "delivery_claim", "delivery_finish", "key_touch", "keyset", "prompt_archive", "prompt_draft_delete", "prompt_draft_comment", "prompt_draft_presence", "prompt_draft_put", "prompt_import", "prompt_draft_structure", "prompt_draft_update", "prompt_label_decide", "prompt_label_move", "prompt_label_request", "prompt_protection_remove", "prompt_protection_set", "prompt_version_delete", "prompt_version_save", "purge_conversations", "purge_deliveries", "purge_events", "purge_files", "purge_job_turns", "purge_responses", "purge_sessions", "redeliver", "release_parts", "reload", "remove_job_turn", "reveal", "rollup", "session_end", "session_touch", "sign_in", "sign_in_link", "update_conversation",
	"want_results", "webhook_change", "webhook_create", "webhook_delete", "webhook_rotate", "webhook_test",
}

// turnSteps are those that the end of an answer waits for; TestKillBeforeTheEndOfAResponse strikes there.
var turnSteps = []string{"save_turns", "settle_job_turn"}

// TestCrashPointsAreKnown holds that no transition of the store was forgotten here.
func TestCrashPointsAreKnown(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../*/*sql/*.go") // of capabilities, such as webhook/webhooksql
	if err != nil {
		t.Fatal(err)
	}
	queue, err := filepath.Glob("../store/sqlstore/*.go")
	if err != nil {
		t.Fatal(err)
	}
	files = append(files, queue...)
	written := regexp.MustCompile(`(?:s\.write\(ctx, |s\.db\.Write\(ctx, |\bname: )"(\w+)"`)
	var found []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range written.FindAllStringSubmatch(string(text), -1) {
			found = append(found, match[1])
		}
	}
	known := slices.Concat(steps, []string{sweepStep, capacityStep, deleteStep, uploadSweepStep}, budgetSteps, deadLetterSteps, controlSteps, purgeSteps, fileSteps, uploadSteps, turnSteps, plainSteps, batchSteps, streamSteps, suspectSteps)
	slices.Sort(known)
	slices.Sort(found)
	found = slices.Compact(found) // a submit is written alone or in a group, at the same points
	if !slices.Equal(known, found) {
		t.Errorf("the store has the transitions %v; crash tests strike at %v", found, known)
	}
}

// pointPatience is how long a server may take to come to its crash point.
const pointPatience = 4 * time.Second

// plan makes a list of deaths: crash points in random order, mixed with kills from outside at random
// moments and with orderly stops.
func (r *rig) plan(points []string) []death {
	var plan []death
	for _, point := range points {
		step, _, _ := strings.Cut(point, ".")
		d := death{point: point, pass: 1, after: pointPatience, stop: step == "release"}
		if slices.Contains(commonSteps, step) {
			d.pass += r.random.IntN(4)
		}
		plan = append(plan, d)
	}
	for range len(points)/4 + 1 {
		plan = append(plan, death{after: 100*time.Millisecond + time.Duration(r.random.Int64N(int64(700*time.Millisecond)))})
	}
	plan = append(plan, death{stop: true, after: patience})
	r.random.Shuffle(len(plan), func(i, j int) { plan[i], plan[j] = plan[j], plan[i] })
	return plan
}

// soakKills is how many kills were asked for, or otherwise.
func soakKills(t *testing.T, otherwise int) int {
	t.Helper()
	text := os.Getenv(envKills)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s must be a positive number, not %q", envKills, text)
	}
	return n
}

// TestCrashUnderLoad kills a busy server again and again, at every transition and at random, and holds
// that nothing accepted is lost, everything ends once, and the books add up.
func TestCrashUnderLoad(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		on    engine
		kills int // at least
	}{
		{onSQLite, 40},
		{onPostgres, 40},
	} {
		t.Run(string(tc.on), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, tc.on)
			// Answers take a while, so that a kill finds items running.
			if err := r.upstream.Configure(sim.Config{Seed: r.seed, FirstTokenLatency: 30 * time.Millisecond, Jitter: 0.9}); err != nil {
				t.Fatal(err)
			}
			d, began := newDiary(), time.Now()
			reached := r.killUnderLoad(d, soakKills(t, tc.kills))
			a := newAudit(r, d)
			a.run()
			a.checkBooks()
			a.checkFigures()
			t.Logf("%d kills in %v; crash points reached: %s", r.kills(), time.Since(began).Round(time.Second), tally(reached))
			if missing := missed(reached); len(missing) > 0 {
				t.Errorf("crash points never reached: %s", strings.Join(missing, ", "))
			}
		})
	}
}

// maxRounds bounds how often a crash point is tried that does not come.
const maxRounds = 8

// killUnderLoad lets clients use a server that dies, at every crash point and at least so many times.
// It starts the server a last time and returns how often each crash point was reached.
func (r *rig) killUnderLoad(d *diary, kills int) map[string]int {
	r.t.Helper()
	stop := make(chan struct{})
	crowd := r.crowd(d, wild, stop)
	reached := map[string]int{}
	done := func() bool { return r.kills() >= kills && len(missed(reached)) == 0 }
	for round := 0; !done() && (r.kills() < kills || round < maxRounds); round++ {
		points := missed(reached)
		if len(points) == 0 {
			points = allPoints()
		}
		for _, death := range r.plan(points) {
			if l := r.live(death); l.crashed != "" {
				reached[l.crashed]++
			}
			if round > 0 && done() {
				break
			}
		}
	}
	r.start(death{})
	close(stop)
	crowd.Wait()
	return reached
}

func allPoints() []string { return pointsOf(steps) }

// pointsOf are the crash points of steps.
func pointsOf(steps []string) []string {
	var points []string
	for _, step := range steps {
		for _, moment := range moments {
			points = append(points, step+"."+moment)
		}
	}
	return points
}

// missed lists the crash points that were never reached.
func missed(reached map[string]int) []string {
	return slices.DeleteFunc(allPoints(), func(point string) bool { return reached[point] > 0 })
}

func tally(counts map[string]int) string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		words = append(words, fmt.Sprintf("%s %d", name, counts[name]))
	}
	return strings.Join(words, ", ")
}
