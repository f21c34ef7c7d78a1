package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// envRequireNode makes it a failure, when set to 1, that Node is not installed. Without it the tests
// that need it are skipped.
const envRequireNode = "PENSTOCK_REQUIRE_NODE"

// sdkDir holds the scripts that talk to a server by way of the official SDKs of OpenAI and Anthropic.
const sdkDir = "sdk"

// sdkScript is a script, with what is to be seen on the server's side once it has run.
type sdkScript struct {
	name  string
	after func(*scene, map[string]any)
}

// sdkScripts use OpenAI's SDK.
var sdkScripts = []sdkScript{
	{name: "chat"},
	{name: "environment"},
	{name: "endpoints"},
	{name: "stream"},
	{name: "models"},
	{name: "errors"},
	{name: "jobs"},
	{name: "files"},
	{name: "retries", after: afterRetries},
	{name: "abort", after: afterAbort},
}

// messageScripts use Anthropic's SDK, on a server with a target that speaks its dialect.
var messageScripts = []sdkScript{
	{name: "messages"},
	{name: "messages_errors", after: afterMessageErrors},
}

func TestSDK(t *testing.T) {
	if testing.Short() {
		t.Skip("installs packages")
	}
	t.Parallel()
	installSDK(t)
	playScripts(t, stage(t), sdkScripts)
	playScripts(t, stageDialects(t), messageScripts)
}

func playScripts(t *testing.T, on *staged, scripts []sdkScript) {
	for _, script := range scripts {
		t.Run(script.name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, on)
			s.script.mask(upstreamIDs, "${1}${2}<id>")
			out := s.runScript(script.name)
			s.script.note("%s", out)
			if script.after != nil {
				var told map[string]any
				if err := json.Unmarshal([]byte(out), &told); err != nil {
					t.Fatal(err)
				}
				script.after(s, told)
			}
			s.compare(goldenFile{name: "sdk_" + script.name, engine: "sqlite"})
		})
	}
}

// runScript runs a script against the server and returns what it prints.
func (s *scene) runScript(name string) string {
	s.Helper()
	cmd := exec.CommandContext(s.Context(), "node", name+".mjs")
	cmd.Dir = sdkDir
	cmd.Env = append(cleanEnv(), "PENSTOCK_URL="+s.URL, "PENSTOCK_API_KEY="+Key, "OPENAI_BASE_URL="+s.URL+"/v1", "OPENAI_API_KEY="+Key,
		"ANTHROPIC_BASE_URL="+s.URL, "ANTHROPIC_API_KEY="+Key)
	out, err := cmd.Output()
	if err != nil {
		if failed, ok := errors.AsType[*exec.ExitError](err); ok {
			s.Fatalf("%s.mjs: %v\n%s%s", name, err, out, failed.Stderr)
		}
		s.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func afterRetries(s *scene, _ map[string]any) {
	for prompt, want := range map[string]int{
		"SDK retries busy [sim:fault=overloaded times=1]":     2,
		"SDK retries broken [sim:fault=server_error times=1]": 2,
		"SDK retries refused [sim:fault=bad_request]":         1,
	} {
		if n := s.executions(prompt); n != want {
			s.Errorf("%q was sent %d times, want %d", prompt, n, want)
		}
	}
}

func afterMessageErrors(s *scene, _ map[string]any) {
	if n := s.executions("SDK messages busy [sim:fault=overloaded times=1]"); n != 2 {
		s.Errorf("what the SDK sends again was sent %d times, want 2", n)
	}
}

// afterAbort waits until the upstream has noticed that both callers of the script left it.
func afterAbort(s *scene, told map[string]any) {
	s.upstreamLeft(2)
	path := "/v1/requests/" + fmt.Sprint(told["request_id"])
	Await(s, "the record of the aborted stream", func() error {
		a := s.call(get(path))
		if a.Status != http.StatusOK || s.field(a, "status") != "cancelled" {
			return fmt.Errorf("%d %s", a.Status, a.Body)
		}
		return nil
	})
}

// installSDK makes the installed packages those of the lock file.
func installSDK(t *testing.T) {
	t.Helper()
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			if os.Getenv(envRequireNode) == "1" {
				t.Fatal(err)
			}
			t.Skipf("%v; install Node 20 or newer to test with the official SDK", err)
		}
	}
	if err := installedSDK(); err == nil {
		return
	}
	cmd := exec.CommandContext(t.Context(), "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	cmd.Dir = sdkDir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("npm ci: %v\n%s", err, out)
	}
	if err := installedSDK(); err != nil {
		t.Fatalf("after npm ci: %v", err)
	}
}

// installedSDK reports what differs between the lock file and what is installed.
func installedSDK() error {
	type manifest struct {
		Version  string              `json:"version"`
		Packages map[string]manifest `json:"packages"`
	}
	var lock manifest
	if err := readManifest(filepath.Join(sdkDir, "package-lock.json"), &lock); err != nil {
		return err
	}
	for path, locked := range lock.Packages {
		if path == "" {
			continue // the scripts themselves
		}
		var installed manifest
		if err := readManifest(filepath.Join(sdkDir, path, "package.json"), &installed); err != nil {
			return err
		}
		if installed.Version != locked.Version {
			return fmt.Errorf("%s is %s, the lock file says %s", path, installed.Version, locked.Version)
		}
	}
	return nil
}

func readManifest(path string, into any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// TestSDKLockNamesNoRegistry holds that the lock file works with whatever registry npm is set up for.
func TestSDKLockNamesNoRegistry(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(sdkDir, "package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "http") || strings.Contains(string(text), `"resolved"`) {
		t.Error("package-lock.json names a registry; write it with npm install --omit-lockfile-registry-resolved")
	}
}
