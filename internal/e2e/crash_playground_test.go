package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"penstock/internal/sim"
)

// playgroundSteps are the transitions by which cells of the playground are shown while they arrive; TestKillDuringPlaygroundRun
// strikes there.
var playgroundSteps = []string{"playground_step"}

// playgroundRun is a run as a page reads it.
type playgroundRun struct {
	ID, State string
	Cells     []struct {
		State  string
		Output struct{ Text string }
		Error  *struct{ Code, Message string }
	}
}

// text are the texts of all cells.
func (r playgroundRun) texts() (all []string) {
	for _, c := range r.Cells {
		all = append(all, c.Output.Text)
	}
	return all
}

func (s *Server) playgroundRun(t *testing.T, c Call) (run playgroundRun) {
	t.Helper()
	a := s.Do(c)
	if err := json.Unmarshal([]byte(a.Body), &run); err != nil || a.Status/100 != 2 {
		t.Fatalf("%s %s: %d %s", c.Method, c.Path, a.Status, a.Body)
	}
	return run
}

// awaitRun waits for a state of a run.
func (s *Server) awaitRun(t *testing.T, id, state string) (run playgroundRun) {
	t.Helper()
	Await(t, "the run to be "+state, func() error {
		if run = s.playgroundRun(t, get("/v1/playground/runs/"+id)); run.State != state {
			return fmt.Errorf("it is %s: %+v", run.State, run.Cells)
		}
		return nil
	})
	return run
}

// TestKillDuringPlaygroundRun kills the server at each moment at which it writes what cells say. The next server marks the cells as
// interrupted and keeps their text. Resumed, each cell ends with an answer that begins with this text, because the input is the same.
func TestKillDuringPlaygroundRun(t *testing.T) {
	t.Parallel()
	for _, on := range []engine{onSQLite, onPostgres} {
		t.Run(string(on), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, on)
			for _, moment := range moments {
				if err := r.upstream.Configure(sim.Config{Seed: r.seed, TokensPerSecond: 100}); err != nil {
					t.Fatal(err)
				}
				l := r.start(death{point: playgroundSteps[0] + "." + moment, pass: 6})
				made := l.playgroundRun(t, post("/v1/playground/runs", `{"name":"killed","setup":{"columns":[
					{"model":"fast","content":{"kind":"text","text":"slow `+moment+` {{q}} [sim:tokens=200]"}},
					{"model":"fast","content":{"kind":"text","text":"fast `+moment+` {{q}} [sim:tokens=1]"}}],"rows":[{"q":"one"},{"q":"two"}]}}`))
				if !l.pass(patience) {
					t.Fatalf("the server did not come to %s", l.plan)
				}
				r.bury(l)
				next := r.start(death{})
				broken := next.awaitRun(t, made.ID, "interrupted")
				if broken.Cells[0].State != "interrupted" || broken.Cells[0].Output.Text == "" || broken.Cells[1].State != "succeeded" || broken.Cells[1].Output.Text == "" {
					t.Errorf("after a kill at %s the run is %+v", l.plan, broken)
				}
				if err := r.upstream.Configure(sim.Config{Seed: r.seed}); err != nil {
					t.Fatal(err)
				}
				if a := next.Do(post("/v1/playground/runs/"+made.ID+"/resume", "")); a.Status != http.StatusOK {
					t.Fatalf("resume: %d %s", a.Status, a.Body)
				}
				whole := next.awaitRun(t, made.ID, "completed")
				for i, text := range whole.texts() {
					if before := broken.texts()[i]; !strings.HasPrefix(text, before) || text == "" || i%2 == 0 && text == before {
						t.Errorf("cell %d said %d bytes before a kill at %s, and has %d now: %.40q, %.40q", i, len(before), l.plan, len(text), before, text)
					}
				}
				if code := next.Stop(); code != 0 {
					t.Errorf("the server stopped with code %d:\n%s", code, tail(next.Output()))
				}
			}
		})
	}
}
