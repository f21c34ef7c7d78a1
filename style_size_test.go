package penstock

import (
	"go/ast"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The sizes past which a reader loses the thread. Each exception has a reason; one that is no longer needed fails the test.
const (
	maxInterfaceMethods = 5
	maxStoreRoleMethods = 10 // an interface in internal/store is one role of the database
	maxTypeMethods      = 40
	maxPackageLines     = 2500 // without tests
)

var largeInterfaces = map[string]string{
	"internal/store.Store":              "the sum of the store's roles, for the adapters and the wiring; consumers name the roles that they need",
	"internal/store/sqldb.Tx":           "what database/sql and pgx both offer in a transaction",
	"internal/webhook.Endpoints":        "the store role of webhooks: one method for each question and transition",
	"internal/dialect/translate.writer": "one method for each kind of answer event",
	"internal/blob.Store":               "put, open, stat, list, delete and probe: a caller that needs fewer declares its own interface",
	"bench/queue.contender":             "what each queue under test must be able to do",
}

var largeTypes = map[string]string{
	"internal/store/sqlstore.Store": "implements every role of store.Store, which is frozen",
	"internal/store/storetest.rig":  "one method for each promise that a store is tested for",
	"internal/work.Pool":            "the worker's loop; lease takes process membership over",
	"internal/capacity.Tracker":     "one method for each question and each report about a target",
	"internal/telemetry.Metrics":    "one method for each event that the server counts",
	"internal/config.checker":       "one method for each section of the file",
	"cmd/penstock.shell":            "one method for each command of the CLI and its flags",
}

var largePackages = map[string]string{
	"client":                     "the public client: one file for each noun of the API, most of it the fields of answers",
	"internal/store/sqlstore":    "the queue's and the money's statements, which share transactions",
	"internal/store/storetest":   "one conformance suite for both engines",
	"internal/store":             "contracts and rows of the queue and the money",
	"internal/api":               "the routes; services take over what is not decoding and encoding",
	"internal/admit":             "every check between a decoded order and its first write, in one order",
	"internal/prompt/promptsql":  "versions, labels, drafts and their edits lock the same row, so their statements share transactions",
	"internal/playground":        "runs, their calls, their text and their readers keep one set of invariants",
	"internal/capacity":          "limits of targets and of callers are one algorithm with one state",
	"internal/config":            "one file format: its struct, its checks and its snapshot",
	"internal/forecast":          "a discrete-event simulation over all schedulers",
	"internal/sim":               "a model server with every dialect and every fault",
	"internal/telemetry":         "every metric and span is declared in one place",
	"internal/dialect/translate": "two dialects into each other, requests, answers and streams",
	"internal/prompt/promptfile": "six formats with a reader and a writer each, over one tree of values and one builder of templates",
	"bench/queue":                "every queue measurement, with its peers",
	"cmd/penstock":               "one file for each group of commands",
}

// directoryOf is the directory of a file, with slashes; the root package is ".".
func directoryOf(s source) string { return filepath.ToSlash(filepath.Dir(s.path)) }

func TestStyleOfPackageSizes(t *testing.T) {
	t.Parallel()
	lines := map[string]int{}
	for _, s := range sources(t) {
		if !s.test() {
			lines[directoryOf(s)] += s.set.File(s.file.Pos()).LineCount()
		}
	}
	checkSizes(t, "lines", maxPackageLines, lines, largePackages)
}

func TestStyleOfTypeSizes(t *testing.T) {
	t.Parallel()
	methods := map[string]int{}
	for _, s := range sources(t) {
		for _, decl := range s.file.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv != nil && !s.test() {
				methods[directoryOf(s)+"."+receiverName(fn.Recv.List[0].Type)]++
			}
		}
	}
	checkSizes(t, "methods", maxTypeMethods, methods, largeTypes)
}

func receiverName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiverName(e.X)
	case *ast.IndexExpr:
		return receiverName(e.X)
	case *ast.IndexListExpr:
		return receiverName(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

func TestStyleOfInterfaceSizes(t *testing.T) {
	t.Parallel()
	declared := map[string]*ast.InterfaceType{}
	for _, s := range sources(t) {
		ast.Inspect(s.file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok || s.test() {
				return true
			}
			if i, ok := spec.Type.(*ast.InterfaceType); ok {
				declared[directoryOf(s)+"."+spec.Name.Name] = i
			}
			return true
		})
	}
	roles, others := map[string]int{}, map[string]int{}
	for name := range declared {
		if size := interfaceSize(declared, name); strings.HasPrefix(name, "internal/store.") {
			roles[name] = size
		} else {
			others[name] = size
		}
	}
	for name := range largeInterfaces {
		if declared[name] == nil {
			t.Errorf("%s is excepted and does not exist; remove the entry", name)
		}
	}
	checkSizes(t, "methods", maxStoreRoleMethods, roles, only(largeInterfaces, roles))
	checkSizes(t, "methods", maxInterfaceMethods, others, only(largeInterfaces, others))
}

// interfaceSize counts the methods of an interface, with those of interfaces of the same package that it embeds.
func interfaceSize(declared map[string]*ast.InterfaceType, name string) int {
	size := 0
	for _, field := range declared[name].Methods.List {
		if len(field.Names) > 0 {
			size += len(field.Names)
			continue
		}
		dir := name[:strings.LastIndex(name, ".")]
		if id, ok := field.Type.(*ast.Ident); ok && declared[dir+"."+id.Name] != nil {
			size += interfaceSize(declared, dir+"."+id.Name)
		}
	}
	return size
}

func only(exceptions map[string]string, sizes map[string]int) map[string]string {
	kept := map[string]string{}
	for name, reason := range exceptions {
		if _, ok := sizes[name]; ok {
			kept[name] = reason
		}
	}
	return kept
}

// checkSizes holds that nothing is larger than the bound, unless it is excepted, and that each exception is needed.
func checkSizes(t *testing.T, unit string, most int, sizes map[string]int, excepted map[string]string) {
	t.Helper()
	for name, size := range sizes {
		if size > most && excepted[name] == "" {
			t.Errorf("%s has %d %s; past %d, ask what belongs elsewhere", name, size, unit, most)
		}
	}
	for name := range excepted {
		if sizes[name] <= most {
			t.Errorf("%s has %d %s, which needs no exception; remove the entry", name, sizes[name], unit)
		}
	}
}

// forbiddenFiles are words that say nothing about what is inside a file.
var forbiddenFiles = []string{"util", "utils", "common", "helper", "helpers", "types", "manager", "base", "misc"}

// fileName is noun_verb.go: lower case, words with underscores between them.
var fileName = regexp.MustCompile(`^[a-z0-9]+(_[a-z0-9]+)*\.go$`)

func TestStyleOfFileNames(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		base := path.Base(filepath.ToSlash(s.path))
		if !fileName.MatchString(base) {
			t.Errorf("%s: a file name is lower case, its words have underscores between them", s.path)
		}
		for _, part := range strings.Split(strings.TrimSuffix(base, ".go"), "_") {
			if slices.Contains(forbiddenFiles, part) && exceptions[filepath.ToSlash(s.path)] == "" {
				t.Errorf("%s: %q does not say what is inside", s.path, part)
			}
		}
	}
}
