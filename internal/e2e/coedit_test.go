package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"penstock/internal/prompt/changeset"
)

// vector is a change set with the results of CodeMirror.
type vector struct {
	Text, After          string
	A, B, Then           changeset.Set
	At, Left, Right      int
	Length, NewLength    int
	Mapped, MappedBefore json.RawMessage
	Composed, Inverse    json.RawMessage
	Own                  []changeset.Set
	Over                 []struct {
		Client  string
		Changes changeset.Set
	}
	Rebased []json.RawMessage
}

// TestChangeSetsAreThoseOfCodeMirror compares the algebra of package changeset with the library that browsers use.
func TestChangeSetsAreThoseOfCodeMirror(t *testing.T) {
	if testing.Short() {
		t.Skip("installs packages")
	}
	t.Parallel()
	installWeb(t)
	cmd := exec.CommandContext(t.Context(), "node", "scripts/changesets.mjs", "4000", "17")
	cmd.Dir = webDir
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	if len(lines) != 4000 {
		t.Fatalf("%d vectors", len(lines))
	}
	for i, line := range lines {
		var v vector
		if err := json.Unmarshal(line, &v); err != nil {
			t.Fatalf("vector %d: %v\n%s", i, err, line)
		}
		if problem := v.check(); problem != "" {
			t.Fatalf("vector %d: %s\n%s", i, problem, line)
		}
	}
}

// check returns the first difference.
func (v *vector) check() string {
	if v.A.Length() != v.Length || v.A.NewLength() != v.NewLength {
		return "another length"
	}
	if got, err := v.A.Apply(v.Text); err != nil || got != v.After {
		return fmt.Sprintf("apply: %q, %v", got, err)
	}
	if l, r := v.A.Position(v.At, changeset.Left), v.A.Position(v.At, changeset.Right); l != v.Left || r != v.Right {
		return fmt.Sprintf("positions: %d and %d", l, r)
	}
	results := map[string]struct {
		make func() (changeset.Set, error)
		want json.RawMessage
	}{
		"map":        {func() (changeset.Set, error) { return v.A.Map(v.B, changeset.After) }, v.Mapped},
		"map before": {func() (changeset.Set, error) { return v.A.Map(v.B, changeset.Before) }, v.MappedBefore},
		"compose":    {func() (changeset.Set, error) { return v.A.Compose(v.Then) }, v.Composed},
		"invert":     {func() (changeset.Set, error) { return v.A.Invert(v.Text) }, v.Inverse},
	}
	for name, r := range results {
		got, err := r.make()
		if err != nil || !sameChanges(got, r.want) {
			return fmt.Sprintf("%s: %s, %v", name, got.AppendJSON(nil), err)
		}
	}
	return v.checkRebase()
}

func (v *vector) checkRebase() string {
	own, over := make([]changeset.Update, len(v.Own)), make([]changeset.Update, len(v.Over))
	for i, c := range v.Own {
		own[i] = changeset.Update{Client: "me", Changes: c}
	}
	for i, u := range v.Over {
		over[i] = changeset.Update{Client: u.Client, Changes: u.Changes}
	}
	rebased, _, err := changeset.Rebase(own, over)
	if err != nil || len(rebased) != len(v.Rebased) {
		return fmt.Sprintf("rebase: %d updates, %v", len(rebased), err)
	}
	for i, u := range rebased {
		if !sameChanges(u.Changes, v.Rebased[i]) {
			return fmt.Sprintf("rebase: update %d is %s", i, u.Changes.AppendJSON(nil))
		}
	}
	return ""
}

// sameChanges compares a set with the JSON of CodeMirror.
func sameChanges(got changeset.Set, want json.RawMessage) bool {
	var x, y any
	return json.Unmarshal(got.AppendJSON(nil), &x) == nil && json.Unmarshal(want, &y) == nil && fmt.Sprint(x) == fmt.Sprint(y)
}

// TestEditorsConverge lets the clients of the console edit drafts on two processes, at random. TestChangeSetsAreThoseOfCodeMirror has
// the algebra alone.
func TestEditorsConverge(t *testing.T) {
	if testing.Short() {
		t.Skip("installs packages")
	}
	// Not parallel: it keeps all processors busy, and the tests beside it measure time.
	installWeb(t)
	built := t.TempDir()
	web(t, "node", "scripts/driver.mjs", "e2e/coedit-driver.ts", built)
	c := newCluster(t)
	second := c.join("api")
	order, err := json.Marshal(map[string]any{"servers": []string{c.api.endpoint.URL, second.endpoint.URL}, "keys": []string{Key, Key}, "scripts": 200, "seed": 1})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", filepath.Join(built, "driver.mjs"), string(order))
	var failed strings.Builder
	cmd.Stderr = &failed
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, failed.String())
	}
	t.Logf("%s", out)
}
