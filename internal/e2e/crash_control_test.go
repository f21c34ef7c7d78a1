package e2e

import (
	"net/http"
	"strings"
	"testing"
)

// controlSteps are the transitions by which operators hold things back and let go of them.
var controlSteps = []string{"control_set", "control_lift"}

// TestCrashDuringPause kills the server at each moment of a pause and of a resume: after that either the
// lane is paused and the audit says so, or neither.
func TestCrashDuringPause(t *testing.T) {
	t.Parallel()
	for _, on := range []engine{onSQLite, onPostgres} {
		t.Run(string(on), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, on)
			for _, moment := range moments {
				r.changeWhileDying(Call{Method: http.MethodPut, Body: `{"state":"paused"}`}, "control_set."+moment, 0)
			}
			for _, moment := range moments {
				r.changeWhileDying(Call{Method: http.MethodDelete}, "control_lift."+moment, 1)
			}
			r.start(death{})
			r.wantChanges(2)
		})
	}
}

// changeWhileDying changes a control of a server that dies at a point of it. Before that, so many changes
// must have happened.
func (r *rig) changeWhileDying(change Call, point string, before int) {
	r.t.Helper()
	l := r.start(at(point))
	r.wantChanges(before)
	change.Path = "/admin/v1/controls/lane/bulk"
	if a, err := r.admin.Try(r.t.Context(), change); err == nil {
		r.t.Fatalf("a server that should die at %s answered %d %s", point, a.Status, a.Body)
	}
	if l.pass(patience) {
		r.bury(l)
	}
	if l.crashed != point {
		r.t.Fatalf("the server did not come to %s; it printed:\n%s", point, tail(l.Output()))
	}
}

// wantChanges demands that the lane was paused by the first change and resumed by the second, and that the
// audit tells of each.
func (r *rig) wantChanges(n int) {
	r.t.Helper()
	for path, want := range map[string]struct {
		text  string
		count int
	}{"/admin/v1/controls": {`"name":"bulk"`, n % 2}, "/admin/v1/audit?tenant=-": {`"subject":"lane/bulk"`, n}} {
		a, err := r.admin.Try(r.t.Context(), Call{Method: http.MethodGet, Path: path})
		if err != nil || strings.Count(a.Body, want.text) != want.count {
			r.t.Errorf("after %d changes %s says %s (%v), want %d times %s", n, path, a.Body, err, want.count, want.text)
		}
	}
}
