package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// envRequirePython makes it a failure, when set to 1, that Python is not installed.
const envRequirePython = "PENSTOCK_REQUIRE_PYTHON"

// clientsDir holds the clients in other languages.
const clientsDir = "../../client"

// The TypeScript client: its types are generated from the OpenAPI document, all of it compiles, and it works with a real server.
func TestTypeScriptClient(t *testing.T) {
	if testing.Short() {
		t.Skip("installs packages")
	}
	t.Parallel()
	dir := filepath.Join(clientsDir, "typescript")
	installPackages(t, dir)
	run := func(env []string, name string, args ...string) string {
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir, cmd.Env = dir, append(cleanEnv(), env...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	run(nil, "npm", "run", "--silent", "build")
	s := stage(t)
	if out := run([]string{"PENSTOCK_URL=" + s.URL, "PENSTOCK_API_KEY=" + Key}, "node", "test/client.mjs"); strings.TrimSpace(out) != "ok" {
		t.Error(out)
	}
}

// The Python client works with a real server, on nothing but the standard library.
func TestPythonClient(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a server")
	}
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil {
		if os.Getenv(envRequirePython) == "1" {
			t.Fatal(err)
		}
		t.Skipf("%v; install Python 3.9 or newer", err)
	}
	s := stage(t)
	cmd := exec.CommandContext(t.Context(), "python3", "-I", "-B", "-c", "import sys; sys.path.insert(0, '.'); import unittest; unittest.main('tests.test_client', argv=['tests'])")
	cmd.Dir, cmd.Env = filepath.Join(clientsDir, "python"), append(cleanEnv(), "PENSTOCK_URL="+s.URL, "PENSTOCK_API_KEY="+Key)
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "\nOK") {
		t.Errorf("%v\n%s", err, out)
	}
}
