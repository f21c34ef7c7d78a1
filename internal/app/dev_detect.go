package app

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"penstock/internal/config"
	"penstock/internal/directory"
)

// detected is a real provider found on this machine.
type detected struct {
	name, kind, url string
	key             config.Secret
	models          []string // that it says it serves; nil if it was not asked
}

// detectTimeout bounds the detection of local servers, which delays the start.
const detectTimeout = 300 * time.Millisecond

// detect finds providers: those in the environment variables of the vendors' SDKs, and a local Ollama.
func detect(ctx context.Context, env config.Env, listen string) []detected {
	var found []detected
	if d, ok := detectNamed(env, "OPENAI", listen); ok {
		d.name, d.kind = "openai", config.KindOpenAI
		found = append(found, d)
	}
	if d, ok := detectNamed(env, "ANTHROPIC", listen); ok {
		d.name, d.kind = "anthropic", config.KindAnthropic
		if d.url != "" && !strings.HasSuffix(d.url, "/v1") {
			d.url += "/v1" // Anthropic's SDKs append it themselves
		}
		found = append(found, d)
	}
	host, _ := env("OLLAMA_HOST")
	if d := (detected{name: "ollama", kind: config.KindOpenAI, url: ollamaURL(host)}); d.ask(ctx) {
		found = append(found, d)
	}
	for i := range found { // a server at another address than the vendor's own says itself what it serves
		if d := &found[i]; d.url != "" && d.models == nil {
			d.ask(ctx)
		}
	}
	return found
}

// detectNamed looks for the key and the base URL of a vendor's SDKs.
func detectNamed(env config.Env, vendor, listen string) (detected, bool) {
	key, _ := env(vendor + "_API_KEY")
	base, _ := env(vendor + "_BASE_URL")
	// The greeting asks the user to export these variables for Penstock itself: using them as a provider would make
	// Penstock call itself.
	ours := strings.HasPrefix(key, directory.KeyPrefix) || (listen != "" && strings.Contains(base, "//"+listen))
	if (key == "" && base == "") || ours {
		return detected{}, false
	}
	d := detected{url: strings.TrimSuffix(base, "/")}
	if key != "" {
		d.key = config.NewSecret(key)
	}
	return d, true
}

func ollamaURL(host string) string {
	host = strings.TrimSuffix(cmp.Or(host, "127.0.0.1:11434"), "/")
	if !strings.Contains(host, "://") {
		host = "http://" + host
	}
	return host + "/v1"
}

// greeting is what `penstock dev` prints for the person who started it.
type greeting struct {
	at       Addresses
	key      string
	adminKey string // "" when it was shown before
	data     string
	sim      string
	found    []detected
	models   int // that can be called by name
	postgres bool
}

func greet(out io.Writer, g greeting) {
	names := "sim (simulated, at " + g.sim + ")"
	for _, d := range g.found {
		names += ", " + d.name
	}
	where := g.data + " (SQLite)"
	if g.postgres {
		where = "PostgreSQL, blobs in " + g.data
	}
	unknown := "sim"
	if len(g.found) > 0 {
		unknown = g.found[0].name
	}
	fmt.Fprintf(out, `Penstock is ready.

  API        %[1]s
  Metrics    %[2]s/metrics
  Data       %[3]s
  Upstreams  %[4]s; a model name that is not configured goes to %[5]s
  Models     %[1]s/v1/models (%[7]d)
  Reference  %[1]s/openapi.json
  Tutorial   docs/tutorial/first-hour.md

Point any OpenAI SDK at it:

  export OPENAI_BASE_URL=%[1]s/v1
  export OPENAI_API_KEY=%[6]s

Or any Anthropic SDK, with ANTHROPIC_BASE_URL=%[1]s and the same key in ANTHROPIC_API_KEY.

Submit a prompt that survives a crash, and wait for its answer:

  curl -s %[1]s/v1/jobs -H "Authorization: Bearer %[6]s" -H "Prefer: wait=10" -d '{"model":"sim","input":"Hi"}'

`, g.at.API, g.at.Admin, where, names, unknown, g.key, g.models)
	if g.at.AdminInUse != "" {
		fmt.Fprintf(out, "Another program listens on %s, so the admin API is on %s. Commands in this directory find it.\n\n", g.at.AdminInUse, g.at.Admin)
	}
	if g.adminKey != "" {
		fmt.Fprintf(out, `Tenants and keys are made by "penstock tenants" and "penstock keys", with the admin key. It is in
%s, readable by you alone, and shown this once:

  export PENSTOCK_ADMIN_KEY=%s

`, filepath.Join(g.data, directory.AdminKeyFile), g.adminKey)
	}
}
