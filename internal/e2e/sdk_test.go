package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// envRequireNode makes it a failure, when set to 1, that Node is not installed. Without it the tests
// that need it are skipped.
const envRequireNode = "PENSTOCK_REQUIRE_NODE"

// sdkDir holds the scripts that talk to a server by way of the official SDKs of OpenAI and Anthropic, and of frameworks on top of them.
const sdkDir = "sdk"

// sdkScript is a script, with what is to be seen on the server's side once it has run.
type sdkScript struct {
	name  string
	own   bool // it counts what the upstream did for it, so no other script may call that one
	after func(*scene, map[string]any)
}

// sdkScripts use OpenAI's SDK.
var sdkScripts = []sdkScript{
	{name: "chat"},
	{name: "environment"},
	{name: "endpoints"},
	{name: "responses"},
	{name: "background"},
	{name: "conversation"},
	{name: "stream"},
	{name: "models"},
	{name: "errors"},
	{name: "jobs"},
	{name: "files"},
	{name: "retries", after: afterRetries},
	{name: "abort", own: true, after: afterAbort},
}

// batchScripts use either SDK, on a server of their own: they make files, which other scripts list.
var batchScripts = []sdkScript{
	{name: "batches"},
	{name: "message_batches"},
}

// webhookScripts verify what they are told with both SDKs, on a server on which nothing else ends.
var webhookScripts = []sdkScript{
	{name: "webhooks"},
}

// dialectScripts use either SDK, on a server with targets of both dialects.
var dialectScripts = []sdkScript{
	{name: "tools"},
	{name: "images"},
	{name: "limited"},
	{name: "messages"},
	{name: "messages_tools"},
	{name: "messages_errors", after: afterMessageErrors},
	{name: "messages_abort", own: true, after: afterAbort},
	{name: "cross_chat"},
	{name: "cross_messages"},
	{name: "agents"},
	{name: "vercel"},
	{name: "langchain"},
	{name: "rerank"},
}

// structureScripts use either SDK for Node, on the same server: its helpers, which others do not have in this form.
var structureScripts = []sdkScript{
	{name: "structured"},
	{name: "messages_structured"},
	{name: "media_files"},
	{name: "prompts"},
}

// sdkRunner runs the scripts that use the SDKs of one language.
type sdkRunner struct {
	golden  string   // what the names of its golden files begin with
	lacks   []string // scripts that the language has no need for, or no SDK
	command func(ctx context.Context, script string) *exec.Cmd
}

// sdkRunners make the scripts of each language ready to run.
var sdkRunners = map[string]func(*testing.T) sdkRunner{"node": nodeScripts, "go": goScripts}

func TestSDK(t *testing.T) {
	if testing.Short() {
		t.Skip("installs packages")
	}
	t.Parallel()
	for name, prepare := range sdkRunners {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runner := prepare(t)
			// Each language has servers of its own: the scripts ask the same questions, and upstreams count
			// how often they were asked.
			plain := func(t *testing.T) *staged { return stage(t) }
			runner.play(t, plain, sdkScripts)
			runner.play(t, plain, batchScripts)
			runner.play(t, plain, webhookScripts)
			scripts := dialectScripts
			if name == "node" {
				scripts = slices.Concat(scripts, structureScripts)
			}
			runner.play(t, stageDialects, scripts)
		})
	}
}

func nodeScripts(t *testing.T) sdkRunner {
	t.Helper()
	installSDK(t)
	return sdkRunner{golden: "sdk_", command: func(ctx context.Context, script string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, "node", script+".mjs")
		cmd.Dir = sdkDir
		return cmd
	}}
}

// goScripts builds the scripts in Go. They are a module apart, so that the SDKs are no dependency of ours.
// All of them take the environment alone, so none is about that.
func goScripts(t *testing.T) sdkRunner {
	t.Helper()
	path := filepath.Join(t.TempDir(), "scripts")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", path, ".")
	build.Dir = filepath.Join(sdkDir, "go")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the scripts in Go: %v\n%s", err, out)
	}
	return sdkRunner{golden: "sdk_go_", lacks: []string{"environment", "agents", "vercel", "langchain", "rerank"}, command: func(ctx context.Context, script string) *exec.Cmd {
		return exec.CommandContext(ctx, path, script)
	}}
}

// play runs scripts on one server, but for those that need their own.
func (r sdkRunner) play(t *testing.T, prepare func(*testing.T) *staged, scripts []sdkScript) {
	t.Helper()
	shared := prepare(t)
	for _, script := range scripts {
		if slices.Contains(r.lacks, script.name) {
			continue
		}
		t.Run(script.name, func(t *testing.T) {
			t.Parallel()
			on := shared
			if script.own {
				on = prepare(t)
			}
			s := newScene(t, on)
			s.script.mask(upstreamIDs, "${1}${2}<id>")
			out := s.printed(r.command(t.Context(), script.name))
			s.script.note("%s", out)
			if script.after != nil {
				var told map[string]any
				if err := json.Unmarshal([]byte(out), &told); err != nil {
					t.Fatal(err)
				}
				script.after(s, told)
			}
			s.compare(goldenFile{name: r.golden + script.name, engine: "sqlite"})
		})
	}
}

// printed runs a script against the server and returns what it prints.
func (s *scene) printed(cmd *exec.Cmd) string {
	s.Helper()
	cmd.Env = s.sdkEnv()
	out, err := cmd.Output()
	if err != nil {
		if failed, ok := errors.AsType[*exec.ExitError](err); ok {
			s.Fatalf("%v: %v\n%s%s", cmd.Args, err, out, failed.Stderr)
		}
		s.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// sdkEnv is the environment of a script: the variables that the SDKs read, and a few for scripts that need more.
func (st *staged) sdkEnv() []string {
	return append(cleanEnv(), "PENSTOCK_URL="+st.URL, "PENSTOCK_API_KEY="+Key, "PENSTOCK_SMALL_KEY="+smallKey, "OPENAI_BASE_URL="+st.URL+"/v1", "OPENAI_API_KEY="+Key,
		"ANTHROPIC_BASE_URL="+st.URL, "ANTHROPIC_API_KEY="+Key)
}

func afterRetries(s *scene, _ map[string]any) {
	for prompt, want := range map[string]int{
		"SDK retries busy [sim:fault=overloaded times=1]":     2,
		"SDK retries broken [sim:fault=server_error times=1]": 2,
		"SDK retries refused [sim:fault=bad_request]":         1,
		"SDK retries vain [sim:fault=final]":                  1,
		"SDK retries unpaid [sim:fault=quota]":                1,
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
	if n := s.executions("SDK messages vain [sim:fault=final]"); n != 1 {
		s.Errorf("what the SDK is told not to send again was sent %d times", n)
	}
}

// afterAbort waits until the upstream has noticed that both callers of the script left it, and looks at what
// was recorded of the stream: what it had used by then.
func afterAbort(s *scene, told map[string]any) {
	s.upstreamLeft(2)
	s.tellLeft("the record of the aborted stream", fmt.Sprint(told["request_id"]))
}

// tellLeft tells the record of a stream that its caller left, once it is there. What had been used by then is
// on it; how much that is depends on how fast the caller went, and so does which side noticed first.
func (s *scene) tellLeft(title, id string) {
	s.Helper()
	path := "/v1/requests/" + id
	Await(s, title, func() error {
		a := s.call(get(path))
		if a.Status != http.StatusOK || s.field(a, "status") != "cancelled" {
			return fmt.Errorf("%d %s", a.Status, a.Body)
		}
		if s.field(a, "usage.input_tokens") == "0" || s.field(a, "usage.cost_usd") == "0.000000000" {
			s.Fatalf("what the caller used before it left is not on the record: %s", a.Body)
		}
		return nil
	})
	s.script.mask(`"error_message": "[^"]*"`, `"error_message": "<how it was noticed>"`)
	s.script.mask(`"output_tokens": \d+`, `"output_tokens": <as many as arrived>`)
	s.script.mask(`"cost_usd": "[0-9.]+"`, `"cost_usd": "<of those>"`)
	s.tell(title, get(path))
}

// installSDK makes the installed packages of the scripts those of the lock file.
func installSDK(t *testing.T) {
	t.Helper()
	installPackages(t, sdkDir)
}

var installing sync.Mutex

// installPackages makes the installed packages of a directory those of its lock file.
func installPackages(t *testing.T, dir string) {
	t.Helper()
	installPackagesBy(t, dir, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
}

// installPackagesBy is installPackages by a command.
func installPackagesBy(t *testing.T, dir string, command ...string) {
	t.Helper()
	installing.Lock() // tests side by side share the directory
	defer installing.Unlock()
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			if os.Getenv(envRequireNode) == "1" {
				t.Fatal(err)
			}
			t.Skipf("%v; install Node 20 or newer to test with the official SDK", err)
		}
	}
	if err := installedPackages(dir); err == nil {
		return
	}
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", command, err, out)
	}
	if err := installedPackages(dir); err != nil {
		t.Fatalf("after %v: %v", command, err)
	}
}

// installedPackages reports what differs between the lock file and what is installed.
func installedPackages(dir string) error {
	type manifest struct {
		Version  string              `json:"version"`
		Optional bool                `json:"optional"`
		Packages map[string]manifest `json:"packages"`
	}
	var lock manifest
	if err := readManifest(filepath.Join(dir, "package-lock.json"), &lock); err != nil {
		return err
	}
	for path, locked := range lock.Packages {
		if path == "" {
			continue // the scripts themselves
		}
		var installed manifest
		err := readManifest(filepath.Join(dir, path, "package.json"), &installed)
		if locked.Optional && errors.Is(err, os.ErrNotExist) {
			continue // of another platform
		}
		if err != nil {
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

// TestSDKLockNamesNoRegistry holds that the lock files work with whatever registry npm is set up for.
func TestSDKLockNamesNoRegistry(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{sdkDir, filepath.Join(clientsDir, "typescript"), webDir} {
		text, err := os.ReadFile(filepath.Join(dir, "package-lock.json"))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), `"resolved"`) { // other addresses are those of home pages
			t.Errorf("package-lock.json in %s names a registry; write it with npm install --omit-lockfile-registry-resolved", dir)
		}
	}
}
