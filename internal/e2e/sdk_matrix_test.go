package e2e

import (
	"context"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// clientsPage is the page that says which client does what on which target. It is written from a run.
const clientsPage = "../../docs/reference/clients.md"

// TestSDKMatrix plays the cells of the matrix with the real clients, and compares the page of the documentation with the cells that passed.
func TestSDKMatrix(t *testing.T) {
	if testing.Short() {
		t.Skip("installs packages")
	}
	t.Parallel()
	node, inGo := nodeScripts(t), goScripts(t)
	run := &matrixRun{on: stageDialects(t), passed: map[cell]bool{}}
	t.Run("clients", func(t *testing.T) {
		for script, plan := range cellsByScript() {
			t.Run(script, func(t *testing.T) {
				t.Parallel()
				if script == goClients {
					run.play(t, inGo.command, "matrix", plan)
				} else {
					run.play(t, node.command, filepath.Join("matrix", script), plan)
				}
			})
		}
	})
	if t.Failed() {
		return // the table of this run would have holes
	}
	comparePage(t, clientsPage, matrixPage(t, run.passed))
}

// goClients are the clients of the module in sdk/go, as one script.
const goClients = "go"

// cellsByScript is the plan, by the script that plays it: one process for all clients of a family, because Node is slow to start.
func cellsByScript() map[string][]cell {
	plans := map[string][]cell{}
	for _, c := range plannedCells() {
		for _, client := range matrixClients {
			if client.name == c.client {
				plans[client.script] = append(plans[client.script], c)
			}
		}
	}
	return plans
}

// matrixRun is a run of the matrix on one server, with the cells that passed.
type matrixRun struct {
	on     *staged
	mu     sync.Mutex
	passed map[cell]bool
}

// play runs a script, which prints a cell once its assertions have passed.
func (r *matrixRun) play(t *testing.T, command func(context.Context, string) *exec.Cmd, script string, plan []cell) {
	t.Helper()
	cmd := command(t.Context(), script)
	for _, c := range plan {
		cmd.Args = append(cmd.Args, c.String())
	}
	var failures strings.Builder
	cmd.Env, cmd.Stderr = r.on.sdkEnv(), &failures
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("%s: %v\n%s", script, err, failures.String())
	}
	printed := strings.Split(strings.TrimSpace(string(out)), "\n")
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range plan {
		if r.passed[c] = slices.Contains(printed, c.String()); !r.passed[c] {
			t.Errorf("the cell %s did not pass", c)
		}
	}
}
