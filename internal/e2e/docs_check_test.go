package e2e

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"go/format"
	"io"
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"penstock/internal/config"
	"penstock/internal/forecast"
)

// maxNotRun bounds the snippets that no test runs. Each has its reason in the page.
const maxNotRun = 12

// checks hold the snippets that are not run to their language. A language that is missing here is an error, so that no
// snippet goes unchecked.
var checks = map[string]func(snippet) error{
	"sh":         checkShell, // also the ones that run: TestDocsRun
	"console":    func(snippet) error { return nil },
	"js":         func(snippet) error { return nil },
	"sql":        func(snippet) error { return nil },
	"json":       checkJSON,
	"yaml":       checkYAML,
	"go":         checkGo,
	"nginx":      checkBraces,
	"caddyfile":  checkBraces,
	"":           func(snippet) error { return nil }, // a drawing
	"dockerfile": func(snippet) error { return nil },
}

// TestDocsSnippets holds every snippet to the syntax of its language, and configurations to the rules of the server.
func TestDocsSnippets(t *testing.T) {
	t.Parallel()
	notRun := 0
	for _, page := range testedPages(t) {
		for _, s := range snippets(page, readPage(t, page)) {
			check, ok := checks[s.lang]
			if !ok {
				t.Errorf("%s:%d: no check for the language %q", s.page, s.line, s.lang)
				continue
			}
			if err := check(s); err != nil {
				t.Errorf("%s:%d: %v", s.page, s.line, err)
			}
			if s.notRun != "" {
				notRun++
				t.Logf("%s:%d is not run: %s", s.page, s.line, s.notRun)
			}
		}
	}
	if notRun > maxNotRun {
		t.Errorf("%d snippets are not run, at most %d may be", notRun, maxNotRun)
	}
}

// capabilityPage has pieces of files. A test of internal/example/note compares them with the files.
const capabilityPage = "docs/how-to/add-a-capability.md"

func checkGo(s snippet) error {
	if s.page == capabilityPage {
		return nil
	}
	_, err := format.Source([]byte(s.text))
	return err
}

func checkShell(s snippet) error {
	if strings.Contains(s.text, "…") {
		return errors.New("a reader cannot run a command with …; use a variable")
	}
	cmd := exec.Command("bash", "-n")
	cmd.Stdin = strings.NewReader(s.text)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// checkJSON accepts one value, or one for each line.
func checkJSON(s snippet) error {
	for values := json.NewDecoder(strings.NewReader(s.text)); ; {
		var v any
		if err := values.Decode(&v); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// checkBraces is all that is held about the files of proxies on a machine without these proxies.
func checkBraces(s snippet) error {
	if opened, closed := strings.Count(s.text, "{"), strings.Count(s.text, "}"); opened != closed || opened == 0 {
		return fmt.Errorf("%d braces are opened and %d are closed", opened, closed)
	}
	return nil
}

// surroundings are what the fragments of configurations refer to.
const surroundings = `
providers:
  openai: {kind: openai, api_key: "${OPENAI_API_KEY}"}
  claude: {kind: anthropic, api_key: "${ANTHROPIC_API_KEY}"}
  vllm: {kind: openai, base_url: "http://vllm:8000/v1"}
  local: {kind: openai, base_url: "http://localhost:8000/v1"}
  proxy: {kind: openai, base_url: "http://proxy:8000/v1"}
  azure: {kind: openai, base_url: "https://penstock.openai.azure.com", api_key: "${AZURE_API_KEY}", azure: {api_version: "2024-10-21"}}
targets:
  mini: {provider: openai, upstream_model: gpt-4o-mini, price: {input: "0.15", output: "0.60"}}
  openai-mini: {provider: openai, upstream_model: gpt-4o-mini, price: {input: "0.15", output: "0.60"}}
  claude-main: {provider: claude, upstream_model: claude, price: {input: "3.00", output: "15.00"}}
  own-llama: {provider: vllm, upstream_model: llama, price: {input: "0", output: "0"}}
models:
  fast: {targets: [mini]}
  smart: {targets: [claude-main]}
  video-captions: {targets: [mini]}
tenants:
  search: {keys: [{name: first, secret: "${FIRST_KEY}"}]}
`

var secretPath = regexp.MustCompile(`"?file:/[a-z0-9/._-]+"?`)

// checkYAML holds a snippet to the program that reads it. Without a word after the language that is the server.
func checkYAML(s snippet) error {
	if len(s.words) > 0 {
		switch s.words[0] {
		case "scenario":
			_, err := forecast.Parse([]byte(s.text))
			return err
		case "prometheus", "helm", "litellm", "kubernetes":
			return yaml.Unmarshal([]byte(s.text), new(map[string]any))
		}
		return fmt.Errorf("no check for %q", s.words[0])
	}
	text := secretPath.ReplaceAllString(s.text, `"$${SECRET_FILE}"`)
	text = strings.ReplaceAll(text, "/etc/penstock/models.jsonl", repository+"/internal/catalogue/models.jsonl") // it is read
	base, more := map[string]any{}, map[string]any{}
	if err := yaml.Unmarshal([]byte(surroundings), &base); err != nil {
		return err
	}
	if err := yaml.Unmarshal([]byte(text), &more); err != nil {
		return err
	}
	whole, err := yaml.Marshal(merged(base, more))
	if err != nil {
		return err
	}
	if _, err := config.Parse("penstock.yaml", whole, docsEnv); err != nil {
		return fmt.Errorf("the server refuses it: %w", err)
	}
	return nil
}

// docsEnv has a value for every variable that a snippet may name.
func docsEnv(name string) (string, bool) {
	switch {
	case strings.HasSuffix(name, "DATABASE_URL"):
		return "postgres://penstock:secret@db/penstock", true
	case strings.HasPrefix(name, "PENSTOCK_") && name != "PENSTOCK_ADMIN" && name != "PENSTOCK_METRICS":
		return "", false // they override the file
	}
	return fmt.Sprintf("%x", sha256.Sum256([]byte(name))), true
}

// merged is a with the values of b; maps of both are merged.
func merged(a, b map[string]any) map[string]any {
	all := maps.Clone(a)
	for key, value := range b {
		below, ok := value.(map[string]any)
		old, had := all[key].(map[string]any)
		if ok && had && len(below) > 0 && isSection(key) {
			all[key] = merged(old, below)
			continue
		}
		all[key] = value
	}
	return all
}

// isSection tells the maps of names from the named things: a target of a snippet replaces the one of its surroundings.
func isSection(key string) bool {
	return slices.Contains([]string{"providers", "targets", "models", "tenants", "admin"}, key)
}

// hiddenCommands are in no reference: the server starts them itself.
var hiddenCommands = []string{"penstock run-suspects"}

var inlineCommand = regexp.MustCompile("`(?:bin/)?(penstock [a-z][^`]*)`")

// TestDocsNameCommands holds that the commands inside of sentences exist, with their flags.
func TestDocsNameCommands(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("runs the binary")
	}
	reference := readPage(t, "docs/reference/commands.md")
	seen := 0
	for _, page := range testedPages(t) {
		for _, m := range inlineCommand.FindAllStringSubmatch(readPage(t, page), -1) {
			if seen++; slices.Contains(hiddenCommands, m[1]) {
				continue
			}
			if err := checkCommand(reference, m[1]); err != nil {
				t.Errorf("%s: %s: %v", page, m[1], err)
			}
		}
	}
	if seen < 40 {
		t.Errorf("the pages name %d commands, want many more", seen)
	}
	for _, bad := range []string{"penstock jobs sumbit", "penstock jobs submit --wat"} {
		if checkCommand(reference, bad) == nil {
			t.Errorf("%s passed", bad)
		}
	}
}

// checkCommand looks a command and its flags up in the reference, which is made from the commands themselves.
func checkCommand(reference, command string) error {
	words := strings.Fields(command)
	section, depth := "", 0
	for n := len(words); n > 1 && section == ""; n-- {
		if _, after, ok := strings.Cut(reference, "\n## "+strings.Join(words[:n], " ")+"\n"); ok {
			section, _, _ = strings.Cut(after, "\n## ")
			depth = n
		}
	}
	if section == "" {
		return errors.New("there is no such command")
	}
	isGroup := !strings.Contains(section, "```")
	for _, w := range words[depth:] {
		switch flag, _, _ := strings.Cut(strings.TrimRight(w, ",.;:"), "="); {
		case isGroup:
			return fmt.Errorf("%s has no command %q", strings.Join(words[:depth], " "), w)
		case strings.HasPrefix(flag, "--") && flag != "--output" && flag != "--help" && !bytes.Contains([]byte(section), []byte(" "+flag+" ")):
			return fmt.Errorf("there is no flag %s", flag)
		}
	}
	return nil
}
