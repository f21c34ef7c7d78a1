package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// mistakes are what people write first. Each is a whole file, or a change of goodYAML.
var mistakes = []struct{ name, old, new string }{
	{"a misspelled key", "providers:", "provders:"},
	{"a misspelled key of a target", "upstream_model: m", "upstream_mode: m"},
	{"a name of another gateway", `base_url: "http://127.0.0.1:1/v1"`, `api_base: "http://127.0.0.1:1/v1"`},
	{"LiteLLM's limits", `price: {input: "0.15", output: "0.60"}`, `limits: {rpm: 60}`},
	{"a setting in the wrong section", "listen: 127.0.0.1:0", "listen: 127.0.0.1:0\nslots: 8"},
	{"a whole LiteLLM file", goodYAML, "model_list:\n  - model_name: gpt-4o\n    litellm_params: {model: openai/gpt-4o}\n"},
	{"a secret in the file", `"${UP_KEY}"`, "sk-hidden-0123456789"},
	{"a variable that is not set", "${UP_KEY}", "${OPENAI_API_KEY}"},
	{"a shell's default", "${UP_KEY}", "${UP_KEY:-none}"},
	{"a variable without quotes", `"${UP_KEY}"`, "${UP_KEY}"},
	{"a secret file with a relative path", `"${UP_KEY}"`, `"file:secrets/key"`},
	{"a secret file that is missing", `"${UP_KEY}"`, `"file:/run/secrets/none"`},
	{"an empty variable", "${UP_KEY}", "${EMPTY}"},
	{"a weak key", "${APP_KEY}", "${WEAK}"},
	{"a price as a number", `input: "0.15"`, "input: 0.15"},
	{"a price per token", `input: "0.15"`, `input: "0.00000015"`},
	{"a price without output", `, output: "0.60"`, ""},
	{"a duration without a unit", "listen: 127.0.0.1:0", "listen: 127.0.0.1:0\nshutdown_grace: 30"},
	{"a duration in words", "listen: 127.0.0.1:0", "listen: 127.0.0.1:0\nretention: {results: 7d}"},
	{"a port without a host", "listen: 127.0.0.1:0", "listen: 8080"},
	{"one address for both listeners", "listen: 127.0.0.1:0\nadmin_listen: 127.0.0.1:0", "listen: 127.0.0.1:8080\nadmin_listen: 127.0.0.1:8080"},
	{"a URL without a scheme", `"http://127.0.0.1:1/v1"`, `"127.0.0.1:1/v1"`},
	{"a key in a URL", `"http://127.0.0.1:1/v1"`, `"http://user:hidden@127.0.0.1:1/v1"`},
	{"an unknown kind", "kind: openai", "kind: chatgpt"},
	{"a misspelled kind", "kind: openai", "kind: opneai"},
	{"a target of nobody", "provider: up", "provider: upp"},
	{"a model without its target", "targets: [mini]", "targets: [minni]"},
	{"a target that is not a list", "targets: [mini]", "targets: mini"},
	{"a policy that needs weights", "targets: [mini]", "policy: weighted, targets: [mini]"},
	{"an indentation by tabulator", "  up: {", "\tup: {"},
	{"a key twice", "listen: 127.0.0.1:0", "listen: 127.0.0.1:0\nlisten: 127.0.0.1:1"},
	{"a name in capitals", "  mini: {provider", "  Mini: {provider"},
	{"a budget without its unit", "demo: {keys", `demo: {budget: {monthly: "5"}, keys`},
	{"a budget as a number", "demo: {keys", `demo: {budget: {monthly_usd: 5}, keys`},
	{"a certificate without its key", "listen: 127.0.0.1:0", "listen: 127.0.0.1:0\ntls: {cert_file: /etc/tls.crt}"},
	{"a certificate that is missing", "listen: 127.0.0.1:0", "listen: 127.0.0.1:0\ntls: {cert_file: /none/tls.crt, key_file: /none/tls.key}"},
	{"a database of another kind", "listen: 127.0.0.1:0", "listen: 127.0.0.1:0\ndatabase: \"${MYSQL_URL}\""},
	{"a database without a name", "listen: 127.0.0.1:0", "listen: 127.0.0.1:0\ndatabase: \"${NAMELESS_URL}\""},
	{"an empty file", goodYAML, ""},
	{"everything commented out", goodYAML, "# providers:\n#   up: {}\n"},
	{"a catalogue entry that is missing", `price: {input: "0.15", output: "0.60"}`, "catalogue: openai/gpt-4o-mimi"},
}

// TestTypicalMistakes holds that each typical mistake gets a message that names the fix.
func TestTypicalMistakes(t *testing.T) {
	t.Parallel()
	d := goodDesk(t)
	d.env["EMPTY"], d.env["WEAK"] = "", "password-password-password"
	d.env["MYSQL_URL"], d.env["NAMELESS_URL"] = "mysql://u:hidden@db/x", "postgres://u:hidden@db"
	var all strings.Builder
	for _, m := range mistakes {
		text := strings.Replace(goodYAML, m.old, m.new, 1)
		if text == goodYAML {
			t.Fatalf("%s: the case changes nothing", m.name)
		}
		path := write(t, "penstock.yaml", text)
		got := d.run("config", "validate", path)
		if got.code != exitError || got.stdout == "" {
			t.Errorf("%s: exit code %d: %s", m.name, got.code, got.stdout)
		}
		if strings.Contains(got.stdout+got.stderr, "hidden") {
			t.Errorf("%s: a secret is shown: %s", m.name, got.stdout)
		}
		fmt.Fprintf(&all, "%s\n%s\n", m.name, strings.ReplaceAll("  "+strings.ReplaceAll(strings.TrimSpace(got.stdout), "\n", "\n  "), path, "penstock.yaml"))
	}
	golden := filepath.Join("testdata", "mistakes.golden")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(golden, []byte(all.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), all.String()); diff != "" {
		t.Errorf("%s differs (-want +got); -update rewrites it\n%s", golden, diff)
	}
}
