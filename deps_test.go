package penstock

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// architecture is who may import whom, inside the module. It is checked against the code, so it
// cannot go stale; a package that is missing here is an error too.
var architecture = map[string][]string{
	"penstock":                 {},
	"penstock/client":          {"penstock"},
	"penstock/scripts/release": {"penstock"}, // no part of the binary

	// Contracts and leaves.
	"penstock/internal/crash":      {},
	"penstock/internal/fair":       {},
	"penstock/internal/body":       {},
	"penstock/internal/sse":        {},
	"penstock/internal/socket":     {},
	"penstock/internal/console":    {},
	"penstock/internal/http1":      {"penstock/internal/socket"},
	"penstock/internal/garbage":    {},
	"penstock/internal/gopool":     {},
	"penstock/internal/sim":        {"penstock/internal/sim/schema"},
	"penstock/internal/sim/schema": {},
	"penstock/internal/payload":    {},
	"penstock/internal/supervise":  {},
	"penstock/internal/blob":       {},
	"penstock/internal/dial":       {},
	"penstock/internal/store":      {"penstock", "penstock/internal/fair"},
	"penstock/internal/provider":   {"penstock", "penstock/internal/body"},
	"penstock/internal/catalogue":  {"penstock"},
	"penstock/internal/yamltext":   {},
	"penstock/internal/config":     {"penstock", "penstock/internal/catalogue", "penstock/internal/dial", "penstock/internal/provider/preset", "penstock/internal/yamltext"},
	"penstock/internal/telemetry":  {"penstock"},
	"penstock/internal/inflight":   {"penstock"},
	"penstock/internal/filter":     {"penstock", "penstock/internal/dialect/edit"},
	"penstock/internal/sign":       {"penstock", "penstock/internal/payload"},
	"penstock/internal/file":       {"penstock", "penstock/internal/blob", "penstock/internal/body", "penstock/internal/dialect/attach", "penstock/internal/payload", "penstock/internal/prompt/naming", "penstock/internal/store"},
	"penstock/internal/signal":     {"penstock/internal/telemetry"},

	// The database layer, and the writers that any transaction may use.
	"penstock/internal/store/sqldb": {"penstock", "penstock/internal/crash"},
	"penstock/internal/audit":       {"penstock", "penstock/internal/store/sqldb"},
	"penstock/internal/outbox":      {"penstock", "penstock/internal/store/sqldb"},

	// Responses and conversations that are kept.
	"penstock/internal/conversation": {"penstock"},
	"penstock/internal/conversation/conversationsql": {"penstock", "penstock/internal/audit", "penstock/internal/conversation", "penstock/internal/payload",
		"penstock/internal/store", "penstock/internal/store/sqldb", "penstock/internal/store/storedrow"},

	// Files in parts, and files in bodies.
	"penstock/internal/upload":           {"penstock", "penstock/internal/file", "penstock/internal/store"},
	"penstock/internal/upload/uploadsql": {"penstock", "penstock/internal/store", "penstock/internal/store/sqldb", "penstock/internal/store/storedrow", "penstock/internal/upload"},
	"penstock/internal/attachment":       {"penstock", "penstock/internal/dialect", "penstock/internal/dialect/attach", "penstock/internal/dialect/catalog", "penstock/internal/file", "penstock/internal/store"},

	// The worked example of docs/how-to/add-a-capability.md. No process runs it.
	"penstock/internal/example/note": {"penstock"},
	"penstock/internal/example/note/notesql": {"penstock", "penstock/internal/audit", "penstock/internal/example/note", "penstock/internal/outbox",
		"penstock/internal/store/sqldb"},

	// Between the dialects: attempt uses it where an upstream does not speak the caller's own.
	// The formats of callers, and what builds on them.
	"penstock/internal/dialect":             {"penstock", "penstock/internal/body"},
	"penstock/internal/dialect/dialecttest": {"penstock", "penstock/internal/body", "penstock/internal/dialect"},
	"penstock/internal/dialect/openai":      {"penstock", "penstock/internal/body", "penstock/internal/dialect"},
	"penstock/internal/dialect/anthropic":   {"penstock", "penstock/internal/body", "penstock/internal/dialect"},
	"penstock/internal/dialect/rerank":      {"penstock", "penstock/internal/body", "penstock/internal/dialect"},
	"penstock/internal/dialect/native":      {"penstock"},
	"penstock/internal/dialect/catalog": {"penstock", "penstock/internal/body", "penstock/internal/dialect", "penstock/internal/dialect/anthropic",
		"penstock/internal/dialect/openai", "penstock/internal/dialect/rerank"},
	"penstock/internal/dialect/line": {"penstock", "penstock/internal/body", "penstock/internal/dialect", "penstock/internal/dialect/anthropic",
		"penstock/internal/dialect/catalog", "penstock/internal/dialect/native", "penstock/internal/store"},
	"penstock/internal/dialect/attach":    {"penstock", "penstock/internal/body"},
	"penstock/internal/dialect/edit":      {"penstock", "penstock/internal/body", "penstock/internal/sse"},
	"penstock/internal/dialect/assemble":  {"penstock", "penstock/internal/body", "penstock/internal/provider", "penstock/internal/sse"},
	"penstock/internal/dialect/translate": {"penstock", "penstock/internal/body", "penstock/internal/dialect", "penstock/internal/dialect/openai", "penstock/internal/dialect/rerank", "penstock/internal/provider", "penstock/internal/sse"},

	// Adapters: only app, cmd and tests import them.
	"penstock/internal/blob/dir":              {"penstock/internal/blob"},
	"penstock/internal/blob/s3":               {"penstock/internal/blob"},
	"penstock/internal/blob/blobtest":         {"penstock/internal/blob"},
	"penstock/internal/provider/trace":        {"penstock/internal/body", "penstock/internal/provider"},
	"penstock/internal/provider/wire":         {"penstock", "penstock/internal/body", "penstock/internal/http1", "penstock/internal/provider", "penstock/internal/provider/trace", "penstock/internal/sse"},
	"penstock/internal/provider/openai":       {"penstock", "penstock/internal/body", "penstock/internal/provider", "penstock/internal/provider/preset", "penstock/internal/provider/wire", "penstock/internal/sse"},
	"penstock/internal/provider/bedrock":      {"penstock", "penstock/internal/body", "penstock/internal/provider", "penstock/internal/provider/wire", "penstock/internal/sse"},
	"penstock/internal/provider/gemini":       {"penstock", "penstock/internal/body", "penstock/internal/provider", "penstock/internal/provider/wire", "penstock/internal/sse"},
	"penstock/internal/provider/preset":       {"penstock", "penstock/internal/dialect", "penstock/internal/dialect/rerank", "penstock/internal/provider"}, // data, which config reads too
	"penstock/internal/provider/anthropic":    {"penstock", "penstock/internal/body", "penstock/internal/provider", "penstock/internal/provider/wire", "penstock/internal/sse"},
	"penstock/internal/provider/providertest": {"penstock", "penstock/internal/provider", "penstock/internal/provider/wire", "penstock/internal/sim", "penstock/internal/sse"},
	"penstock/internal/store/sqlstore":        {"penstock", "penstock/internal/audit", "penstock/internal/blob", "penstock/internal/fair", "penstock/internal/outbox", "penstock/internal/payload", "penstock/internal/store", "penstock/internal/store/itemstore", "penstock/internal/store/promptrow", "penstock/internal/store/jobsegment", "penstock/internal/store/sqldb", "penstock/internal/store/storedrow", "penstock/internal/store/usagerow"},
	"penstock/internal/store/jobsegment":      {"penstock", "penstock/internal/store"},
	"penstock/internal/store/sqlite":          {"penstock", "penstock/internal/store/sqldb"},
	"penstock/internal/store/postgres":        {"penstock", "penstock/internal/signal", "penstock/internal/store/sqldb"},
	"penstock/internal/store/storefill":       {"penstock", "penstock/internal/store/sqldb"},
	"penstock/internal/store/promptrow":       {"penstock", "penstock/internal/store/sqldb"},
	"penstock/internal/store/storedrow":       {"penstock", "penstock/internal/store", "penstock/internal/store/sqldb"},
	"penstock/internal/store/usagerow":        {"penstock", "penstock/internal/store/sqldb"},
	"penstock/internal/store/itemstore":       {"penstock", "penstock/internal/store", "penstock/internal/store/sqldb", "penstock/internal/store/usagerow"},
	"penstock/internal/store/schema": {"penstock/internal/audit", "penstock/internal/conversation/conversationsql", "penstock/internal/identity/identitysql", "penstock/internal/playground/playgroundsql", "penstock/internal/prompt/promptsql", "penstock/internal/rollup/rollupsql", "penstock/internal/store/sqldb", "penstock/internal/store/sqlstore",
		"penstock/internal/upload/uploadsql", "penstock/internal/webhook/webhooksql"},
	"penstock/internal/rollup/rollupsql": {"penstock/internal/rollup", "penstock/internal/store/sqldb"},
	"penstock/internal/live/livesql":     {"penstock", "penstock/internal/live", "penstock/internal/store/sqldb"},
	"penstock/internal/webhook/webhooksql": {"penstock", "penstock/internal/audit", "penstock/internal/outbox", "penstock/internal/payload",
		"penstock/internal/store/sqldb", "penstock/internal/webhook"},
	"penstock/internal/prompt/template":           {},
	"penstock/internal/prompt/content":            {"penstock", "penstock/internal/dialect", "penstock/internal/prompt/template"},
	"penstock/internal/prompt/promptbody":         {"penstock", "penstock/internal/dialect", "penstock/internal/dialect/translate", "penstock/internal/prompt/content"},
	"penstock/internal/prompt/promptfile":         {"penstock", "penstock/internal/prompt/content", "penstock/internal/prompt/template", "penstock/internal/yamltext"},
	"penstock/internal/prompt":                    {"penstock", "penstock/internal/prompt/content", "penstock/internal/prompt/promptfile", "penstock/internal/signal"},
	"penstock/internal/prompt/promptsql":          {"penstock", "penstock/internal/audit", "penstock/internal/outbox", "penstock/internal/payload", "penstock/internal/prompt", "penstock/internal/prompt/changeset", "penstock/internal/prompt/coedit", "penstock/internal/prompt/content", "penstock/internal/store", "penstock/internal/store/promptrow", "penstock/internal/store/sqldb", "penstock/internal/store/storedrow"},
	"penstock/internal/prompt/prompttest":         {"penstock", "penstock/internal/prompt", "penstock/internal/prompt/content", "penstock/internal/prompt/promptfile", "penstock/internal/signal", "penstock/internal/store/sqldb"},
	"penstock/internal/prompt/naming":             {"penstock", "penstock/internal/body", "penstock/internal/prompt/content"},
	"penstock/internal/prompt/promptcall":         {"penstock", "penstock/internal/body", "penstock/internal/dialect", "penstock/internal/dialect/catalog", "penstock/internal/dialect/openai", "penstock/internal/prompt", "penstock/internal/prompt/content", "penstock/internal/prompt/naming", "penstock/internal/prompt/promptbody"},
	"penstock/internal/webhook/webhooktest":       {"penstock", "penstock/internal/audit", "penstock/internal/outbox", "penstock/internal/store/sqldb", "penstock/internal/webhook"},
	"penstock/internal/store/postgres/pgtest":     {},
	"penstock/internal/store/schema/schematest":   {"penstock/internal/payload", "penstock/internal/store/postgres", "penstock/internal/store/postgres/pgtest", "penstock/internal/store/schema", "penstock/internal/store/sqldb", "penstock/internal/store/sqlite"},
	"penstock/internal/store/storetest":           {"penstock", "penstock/internal/store", "penstock/internal/webhook"},
	"penstock/internal/prompt/changeset":          {},
	"penstock/internal/prompt/coedit":             {"penstock", "penstock/internal/prompt", "penstock/internal/prompt/changeset", "penstock/internal/prompt/content", "penstock/internal/signal"},
	"penstock/internal/prompt/coedit/coedittest":  {"penstock", "penstock/internal/prompt", "penstock/internal/prompt/changeset", "penstock/internal/prompt/coedit", "penstock/internal/prompt/content", "penstock/internal/signal", "penstock/internal/store/sqldb"},
	"penstock/internal/playground/position":       {"penstock"},
	"penstock/internal/playground":                {"penstock", "penstock/internal/body", "penstock/internal/dialect", "penstock/internal/dialect/assemble", "penstock/internal/dialect/catalog", "penstock/internal/dialect/edit", "penstock/internal/playground/position", "penstock/internal/prompt/content", "penstock/internal/prompt/promptbody", "penstock/internal/provider", "penstock/internal/request", "penstock/internal/signal", "penstock/internal/store"},
	"penstock/internal/playground/playgroundsql":  {"penstock", "penstock/internal/audit", "penstock/internal/payload", "penstock/internal/playground", "penstock/internal/store", "penstock/internal/store/sqldb", "penstock/internal/store/storedrow"},
	"penstock/internal/playground/playgroundtest": {"penstock", "penstock/internal/body", "penstock/internal/dialect", "penstock/internal/playground", "penstock/internal/playground/position", "penstock/internal/prompt/content", "penstock/internal/provider", "penstock/internal/request", "penstock/internal/signal", "penstock/internal/store", "penstock/internal/store/sqldb"},

	// The way of a request: admit → queue ← work → attempt → route, provider.
	"penstock/internal/capacity":   {"penstock", "penstock/internal/provider", "penstock/internal/store"},
	"penstock/internal/route":      {"penstock", "penstock/internal/capacity", "penstock/internal/signal"},
	"penstock/internal/microbatch": {"penstock", "penstock/internal/body"},
	"penstock/internal/fan":        {"penstock", "penstock/internal/provider", "penstock/internal/sse"},
	"penstock/internal/drain":      {"penstock"},
	"penstock/internal/outbound":   {"penstock", "penstock/internal/body", "penstock/internal/dialect", "penstock/internal/provider"},
	"penstock/internal/attempt": {"penstock", "penstock/internal/body", "penstock/internal/config", "penstock/internal/crash", "penstock/internal/dialect", "penstock/internal/dialect/catalog", "penstock/internal/dialect/edit", "penstock/internal/drain", "penstock/internal/fan", "penstock/internal/filter", "penstock/internal/inflight", "penstock/internal/microbatch", "penstock/internal/outbound", "penstock/internal/provider", "penstock/internal/capacity",
		"penstock/internal/route", "penstock/internal/telemetry", "penstock/internal/overflow"},
	"penstock/internal/lease":    {"penstock", "penstock/internal/store", "penstock/internal/telemetry"},
	"penstock/internal/queue":    {"penstock", "penstock/internal/chore", "penstock/internal/provider", "penstock/internal/signal", "penstock/internal/store", "penstock/internal/telemetry"},
	"penstock/internal/isolate":  {"penstock", "penstock/internal/attempt", "penstock/internal/capacity", "penstock/internal/config", "penstock/internal/dialect/assemble", "penstock/internal/filter", "penstock/internal/outbound", "penstock/internal/payload", "penstock/internal/provider", "penstock/internal/route", "penstock/internal/store", "penstock/internal/supervise", "penstock/internal/telemetry", "penstock/internal/overflow"},
	"penstock/internal/work":     {"penstock", "penstock/internal/attempt", "penstock/internal/capacity", "penstock/internal/config", "penstock/internal/dialect/assemble", "penstock/internal/fair", "penstock/internal/gopool", "penstock/internal/inflight", "penstock/internal/isolate", "penstock/internal/provider", "penstock/internal/queue", "penstock/internal/route", "penstock/internal/store", "penstock/internal/telemetry", "penstock/internal/signal"},
	"penstock/internal/limit":    {"penstock", "penstock/internal/capacity"},
	"penstock/internal/token":    {},
	"penstock/internal/overflow": {"penstock", "penstock/internal/body", "penstock/internal/dialect", "penstock/internal/dialect/catalog", "penstock/internal/token"},
	"penstock/internal/admit":    {"penstock", "penstock/internal/attachment", "penstock/internal/backlog", "penstock/internal/body", "penstock/internal/capacity", "penstock/internal/config", "penstock/internal/dial", "penstock/internal/dialect", "penstock/internal/dialect/attach", "penstock/internal/dialect/catalog", "penstock/internal/filter", "penstock/internal/limit", "penstock/internal/prompt/promptcall", "penstock/internal/route", "penstock/internal/signal", "penstock/internal/store", "penstock/internal/telemetry", "penstock/internal/overflow"},
	"penstock/internal/backlog":  {"penstock", "penstock/internal/capacity", "penstock/internal/config", "penstock/internal/store", "penstock/internal/telemetry"},
	"penstock/internal/chore":    {},
	"penstock/internal/batch":    {"penstock", "penstock/internal/admit", "penstock/internal/attachment", "penstock/internal/chore", "penstock/internal/config", "penstock/internal/dialect", "penstock/internal/dialect/line", "penstock/internal/file", "penstock/internal/filter", "penstock/internal/signal", "penstock/internal/store"},
	"penstock/internal/cache":    {"penstock", "penstock/internal/body", "penstock/internal/provider"},
	"penstock/internal/journal":  {"penstock"},
	"penstock/internal/record":   {"penstock", "penstock/internal/journal", "penstock/internal/store"},
	"penstock/internal/budget":   {"penstock", "penstock/internal/store", "penstock/internal/telemetry"},
	"penstock/internal/usage":    {"penstock", "penstock/internal/store"},
	"penstock/internal/segment":  {"penstock", "penstock/internal/chore", "penstock/internal/store"},
	"penstock/internal/rollup":   {"penstock", "penstock/internal/telemetry"},
	"penstock/internal/retain":   {"penstock", "penstock/internal/blob", "penstock/internal/chore", "penstock/internal/store", "penstock/internal/telemetry"},
	"penstock/internal/collect":  {"penstock", "penstock/internal/capacity", "penstock/internal/store", "penstock/internal/telemetry"},
	"penstock/internal/disk":     {"penstock", "penstock/internal/telemetry"},
	"penstock/internal/deliver":  {"penstock", "penstock/internal/store", "penstock/internal/signal"},
	"penstock/internal/control":  {"penstock/internal/store", "penstock/internal/signal"},
	"penstock/internal/live":     {"penstock", "penstock/internal/backlog", "penstock/internal/signal", "penstock/internal/sse"},
	"penstock/internal/webhook":  {"penstock", "penstock/internal/dial", "penstock/internal/telemetry", "penstock/internal/signal"},

	// A synchronous call as a whole.
	"penstock/internal/request": {"penstock", "penstock/internal/admit", "penstock/internal/attempt", "penstock/internal/budget", "penstock/internal/cache", "penstock/internal/capacity", "penstock/internal/config", "penstock/internal/dialect", "penstock/internal/outbound", "penstock/internal/payload", "penstock/internal/provider", "penstock/internal/store", "penstock/internal/telemetry"},

	// Who may call.
	"penstock/internal/directory": {"penstock", "penstock/internal/config", "penstock/internal/store", "penstock/internal/signal"},

	"penstock/internal/identity": {"penstock", "penstock/internal/config", "penstock/internal/dial", "penstock/internal/directory", "penstock/internal/rest", "penstock/internal/signal", "penstock/internal/store"},
	"penstock/internal/identity/identitysql": {"penstock", "penstock/internal/audit", "penstock/internal/identity", "penstock/internal/rest", "penstock/internal/store",
		"penstock/internal/store/sqldb"},
	"penstock/internal/identity/certificate/certtest": {},
	"penstock/internal/identity/token":                {"penstock", "penstock/internal/config"},
	"penstock/internal/identity/certificate":          {"penstock", "penstock/internal/config"},
	"penstock/internal/identity/service":              {"penstock", "penstock/internal/config", "penstock/internal/directory", "penstock/internal/identity/certificate", "penstock/internal/identity/token", "penstock/internal/rest"},

	// Questions about a load that is not there.
	"penstock/internal/forecast/present": {"penstock", "penstock/internal/backlog", "penstock/internal/config", "penstock/internal/forecast", "penstock/internal/usage"},
	"penstock/internal/forecast": {"penstock", "penstock/internal/config", "penstock/internal/fair", "penstock/internal/provider",
		"penstock/internal/queue", "penstock/internal/capacity", "penstock/internal/route", "penstock/internal/store"},

	// The development server.
	"penstock/internal/dev": {"penstock", "penstock/internal/app", "penstock/internal/catalogue", "penstock/internal/config", "penstock/internal/directory", "penstock/internal/identity", "penstock/internal/provider/preset", "penstock/internal/sim"},

	// A month of invented work.
	"penstock/internal/demo/text":     {},
	"penstock/internal/demo/registry": {"penstock", "penstock/internal/prompt", "penstock/internal/prompt/content"},
	"penstock/internal/demo": {"penstock", "penstock/client", "penstock/internal/app", "penstock/internal/batch", "penstock/internal/budget", "penstock/internal/cache", "penstock/internal/config", "penstock/internal/demo/registry", "penstock/internal/demo/text", "penstock/internal/dev", "penstock/internal/dialect/line",
		"penstock/internal/directory", "penstock/internal/file", "penstock/internal/identity", "penstock/internal/prompt", "penstock/internal/provider", "penstock/internal/rest", "penstock/internal/rollup", "penstock/internal/signal", "penstock/internal/sim", "penstock/internal/store", "penstock/internal/telemetry", "penstock/internal/webhook"},

	// The configuration of another gateway.
	"penstock/internal/litellm": {"penstock", "penstock/internal/catalogue", "penstock/internal/config", "penstock/internal/provider/preset"},

	// The configuration of a running process.
	"penstock/internal/reload": {"penstock", "penstock/internal/config", "penstock/internal/store"},

	// The HTTP APIs, on one route table.
	"penstock/internal/rest": {"penstock", "penstock/internal/config", "penstock/internal/telemetry"},
	"penstock/internal/admin": {"penstock", "penstock/internal/audit", "penstock/internal/backlog", "penstock/internal/config", "penstock/internal/control", "penstock/internal/directory", "penstock/internal/forecast", "penstock/internal/forecast/present", "penstock/internal/identity", "penstock/internal/live", "penstock/internal/provider", "penstock/internal/reload",
		"penstock/internal/rest", "penstock/internal/rollup", "penstock/internal/store", "penstock/internal/telemetry", "penstock/internal/usage"},
	"penstock/internal/api": {"penstock", "penstock/internal/admit", "penstock/internal/backlog", "penstock/internal/body", "penstock/internal/catalogue", "penstock/internal/config", "penstock/internal/conversation", "penstock/internal/deliver", "penstock/internal/dialect", "penstock/internal/dialect/anthropic", "penstock/internal/dialect/catalog", "penstock/internal/dialect/line", "penstock/internal/dialect/native", "penstock/internal/dialect/openai", "penstock/internal/directory", "penstock/internal/file", "penstock/internal/identity", "penstock/internal/inflight", "penstock/internal/live", "penstock/internal/playground", "penstock/internal/playground/position", "penstock/internal/prompt", "penstock/internal/prompt/changeset", "penstock/internal/prompt/coedit", "penstock/internal/prompt/content", "penstock/internal/prompt/naming", "penstock/internal/prompt/promptbody", "penstock/internal/prompt/promptcall", "penstock/internal/prompt/promptfile", "penstock/internal/provider", "penstock/internal/request", "penstock/internal/rest", "penstock/internal/rollup", "penstock/internal/sign", "penstock/internal/sse", "penstock/internal/store", "penstock/internal/telemetry", "penstock/internal/token", "penstock/internal/upload", "penstock/internal/usage", "penstock/internal/webhook"},
}

// wiring may import anything inside the module.
var wiring = []string{"penstock/internal/app", "penstock/internal/e2e", "penstock/cmd/penstock"}

// standardOnly may import nothing outside the standard library.
var standardOnly = []string{"penstock", "penstock/internal/sse", "penstock/internal/store", "penstock/internal/provider"}

// jsonReaders may import the second version of the standard library's JSON package (go-json-experiment, decision 0004):
// packages that read or edit JSON of callers and upstreams, where repeated names, case and byte-exact copies matter. All
// others use encoding/json.
var jsonReaders = []string{
	"penstock/internal/admin",
	"penstock/internal/api",
	"penstock/internal/body",
	"penstock/internal/cache",
	"penstock/internal/dialect",
	"penstock/internal/dialect/assemble",
	"penstock/internal/dialect/attach",
	"penstock/internal/dialect/edit",
	"penstock/internal/dialect/line",
	"penstock/internal/dialect/native",
	"penstock/internal/dialect/openai",
	"penstock/internal/dialect/translate",
	"penstock/internal/fan",
	"penstock/internal/identity/token",
	"penstock/internal/microbatch",
	"penstock/internal/prompt/changeset",
	"penstock/internal/prompt/promptcall",
	"penstock/internal/provider/anthropic",
	"penstock/internal/provider/bedrock",
	"penstock/internal/provider/gemini",
	"penstock/internal/provider/openai",
	"penstock/internal/provider/wire",
	"penstock/internal/rest",
	"penstock/internal/sim",
	"penstock/internal/sim/schema",
	"penstock/internal/token",
}

func TestJSONReaders(t *testing.T) {
	t.Parallel()
	for _, pkg := range listPackages(t) {
		imports := slices.ContainsFunc(pkg.Imports, func(name string) bool {
			return strings.HasPrefix(name, "github.com/go-json-experiment/json") || name == "encoding/json/v2" || name == "encoding/json/jsontext"
		})
		if listed := slices.Contains(jsonReaders, pkg.ImportPath); imports != listed {
			t.Errorf("%s imports the second JSON package: %v; the table says %v", pkg.ImportPath, imports, listed)
		}
	}
}

func TestArchitecture(t *testing.T) {
	t.Parallel()
	for _, pkg := range listPackages(t) {
		if slices.Contains(wiring, pkg.ImportPath) || strings.HasPrefix(pkg.ImportPath, "penstock/bench") {
			continue
		}
		allowed, known := architecture[pkg.ImportPath]
		if !known {
			t.Errorf("%s has no row in the architecture", pkg.ImportPath)
			continue
		}
		for _, imported := range pkg.Imports {
			if ours(imported) && !slices.Contains(allowed, imported) {
				t.Errorf("%s imports %s, which the architecture does not allow", pkg.ImportPath, imported)
			}
			if foreign := strings.Contains(strings.Split(imported, "/")[0], "."); foreign && slices.Contains(standardOnly, pkg.ImportPath) {
				t.Errorf("%s imports %s; it may use the standard library only", pkg.ImportPath, imported)
			}
		}
		for _, name := range allowed {
			if !slices.Contains(pkg.Imports, name) {
				t.Errorf("%s is allowed to import %s but does not; remove the row's entry", pkg.ImportPath, name)
			}
		}
	}
}

func ours(path string) bool { return path == "penstock" || strings.HasPrefix(path, "penstock/") }

type listedPackage struct {
	ImportPath string
	Imports    []string
}

func listPackages(t *testing.T) []listedPackage {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports", "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	var all []listedPackage
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listedPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

// The page names every package below internal.
func TestArchitecturePageNamesEveryPackage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("docs/explanation/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	for path := range architecture {
		name, ok := strings.CutPrefix(path, "penstock/internal/")
		if ok && !strings.Contains(name, "/") && !strings.Contains(string(page), "**"+name+"**") {
			t.Errorf("docs/explanation/architecture.md does not name %s", name)
		}
	}
}
