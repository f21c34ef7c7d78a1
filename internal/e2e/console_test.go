package e2e

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	// envRequireBrowser makes it a failure, when set to 1, that Chromium is not installed.
	envRequireBrowser = "PENSTOCK_REQUIRE_BROWSER"
	webDir            = repository + "/web"
	distDir           = repository + "/internal/console/dist"
	// maxFirstRoute bounds the scripts that a browser with empty caches loads before it shows a page, compressed.
	// Every page may be the first one: people follow links.
	maxFirstRoute = 250_000
	// maxBrowserTime bounds all tests in a browser together, on two idle cores.
	maxBrowserTime = 3 * time.Minute
)

// TestConsoleBuild builds the pages again. The committed files must be the same, within their bounds, with all licences.
func TestConsoleBuild(t *testing.T) {
	if testing.Short() {
		t.Skip("installs packages")
	}
	t.Parallel()
	installWeb(t)
	built, dist := filepath.Join(t.TempDir(), "built"), filepath.Join(t.TempDir(), "dist")
	generateTypes(t)
	// Hidden source maps change no file: they list the modules that each file contains.
	web(t, "npx", "vite", "build", "--outDir", built, "--emptyOutDir", "--sourcemap", "hidden", "--logLevel", "warn")
	web(t, "node", "scripts/embed.mjs", built, dist)

	committed, fresh := readDist(t, distDir), readDist(t, dist)
	delete(committed, "README.md")
	for _, name := range slices.Sorted(maps.Keys(committed)) {
		if !bytes.Equal(committed[name].content, fresh[name].content) {
			t.Errorf("internal/console/dist/%s is not what web/ builds; run make web", name)
		}
	}
	for name := range fresh {
		if _, ok := committed[name]; !ok {
			t.Errorf("internal/console/dist lacks %s; run make web", name)
		}
	}
	checkFirstRoutes(t, built, fresh)
	checkLicences(t, built, string(fresh["LICENSES.md"].content))
}

// distFile is a built file.
type distFile struct {
	size    int    // as it is embedded
	content []byte // decompressed
}

// readDist reads built files. Of gzip only the content counts: its bytes depend on the version of zlib.
func readDist(t *testing.T, dir string) map[string]distFile {
	t.Helper()
	files := map[string]distFile{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		f := distFile{size: len(data), content: data}
		if strings.HasSuffix(name, ".gz") {
			reader, err := gzip.NewReader(bytes.NewReader(data))
			if err != nil {
				return err
			}
			if f.content, err = io.ReadAll(reader); err != nil {
				return err
			}
		}
		files[name] = f
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// chunk is an entry of Vite's manifest.
type chunk struct {
	File           string
	IsEntry        bool
	Imports        []string
	DynamicImports []string
}

// checkFirstRoutes holds the bounds of each page as the first one: the entry, the page, and all that they import at once.
func checkFirstRoutes(t *testing.T, built string, files map[string]distFile) {
	t.Helper()
	chunks := map[string]chunk{}
	if err := readManifest(filepath.Join(built, "manifest.json"), &chunks); err != nil {
		t.Fatal(err)
	}
	largest, size := "", 0
	for _, entry := range chunks {
		if !entry.IsEntry {
			continue
		}
		for _, page := range entry.DynamicImports {
			need := map[string]bool{}
			imported(chunks, entry, need)
			imported(chunks, chunks[page], need)
			sum := 0
			for file := range need {
				sum += files[file+".gz"].size
			}
			if sum > size {
				largest, size = page, sum
			}
			if sum > maxFirstRoute {
				t.Errorf("%s needs %d bytes of compressed scripts, want at most %d", page, sum, maxFirstRoute)
			}
		}
	}
	if largest == "" {
		t.Fatal("the manifest names no page")
	}
	t.Logf("the largest page is %s with %d bytes of compressed scripts", largest, size)
}

// imported adds the file of a chunk and those that it imports.
func imported(chunks map[string]chunk, c chunk, into map[string]bool) {
	if into[c.File] {
		return
	}
	into[c.File] = true
	for _, name := range c.Imports {
		imported(chunks, chunks[name], into)
	}
}

var packageOfModule = regexp.MustCompile(`node_modules/((?:@[^/]+/)?[^/]+)/`)

// checkLicences holds that every package in the scripts, and every font, has its licence in the list.
func checkLicences(t *testing.T, built, licences string) {
	t.Helper()
	maps, err := filepath.Glob(filepath.Join(built, "assets", "*.map"))
	if err != nil || len(maps) == 0 {
		t.Fatalf("no source maps: %v", err)
	}
	packages := map[string]bool{"tailwindcss": true, "@fontsource-variable/inter": true, "@fontsource-variable/geist-mono": true}
	for _, file := range maps {
		var m struct{ Sources []string }
		if err := readManifest(file, &m); err != nil {
			t.Fatal(err)
		}
		for _, source := range m.Sources {
			if found := packageOfModule.FindStringSubmatch(source); found != nil {
				packages[found[1]] = true
			}
		}
	}
	for name := range packages {
		if !strings.Contains(licences, "\n## "+name+" - ") {
			t.Errorf("dist/LICENSES.md lacks the licence of %s", name)
		}
	}
	t.Logf("%d packages are in the pages", len(packages))
}

// TestConsoleCode checks the types and the style of web/, and runs its unit tests.
func TestConsoleCode(t *testing.T) {
	if testing.Short() {
		t.Skip("installs packages")
	}
	t.Parallel()
	installWeb(t)
	generateTypes(t)
	web(t, "npx", "tsc", "--noEmit")
	web(t, "npx", "biome", "check")
	web(t, "npm", "test", "--silent")
}

// typesOnce lets one test write the types that all of them read.
var typesOnce sync.Once

// generateTypes writes the types of the API for web/.
func generateTypes(t *testing.T) {
	t.Helper()
	typesOnce.Do(func() { web(t, "npm", "run", "--silent", "types") })
}

// TestConsoleInBrowser runs the tests of web/e2e in Chromium, against the real binary. It runs alone: browsers use all processors.
func TestConsoleInBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("starts browsers")
	}
	requireChromium(t)
	installWeb(t)
	cmd := exec.CommandContext(t.Context(), "npx", "playwright", "test", "--project=tests", "--reporter=line")
	cmd.Dir, cmd.Env = webDir, append(cleanEnv(), "PENSTOCK_BIN="+Binary(t))
	began := time.Now()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	took := time.Since(began).Round(time.Second)
	t.Logf("%s, of at most %s on two idle cores\n%s", took, maxBrowserTime, lastLine(out))
	if took > 2*maxBrowserTime { // the machine may be busy
		t.Errorf("the tests in a browser took %s, want at most %s", took, maxBrowserTime)
	}
}

func lastLine(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

func requireChromium(t *testing.T) {
	t.Helper()
	if os.Getenv("CHROMIUM") != "" {
		return
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if _, err := exec.LookPath(name); err == nil {
			return
		}
	}
	if os.Getenv(envRequireBrowser) == "1" {
		t.Fatal("Chromium is not installed; run make setup")
	}
	t.Skip("Chromium is not installed; make setup gets it")
}

// installWeb installs the packages of web/. Mirrors of the registry often lack packages of other platforms, without which npm ci fails.
func installWeb(t *testing.T) {
	t.Helper()
	installPackagesBy(t, webDir, "npm", "install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund")
}

// web runs a command in web/.
func web(t *testing.T, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = webDir, cleanEnv()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}

// TestConsoleCounts proves that the checks above can fail.
func TestConsoleCounts(t *testing.T) {
	t.Parallel()
	chunks := map[string]chunk{}
	text := `{"index.html":{"file":"a.js","isEntry":true,"imports":["_b"],"dynamicImports":["page"]},"_b":{"file":"b.js","imports":["_c"]},"_c":{"file":"c.js","imports":["_b"]},"page":{"file":"p.js","imports":["_c"],"dynamicImports":["editor"]}}`
	if err := json.Unmarshal([]byte(text), &chunks); err != nil {
		t.Fatal(err)
	}
	need := map[string]bool{}
	imported(chunks, chunks["page"], need)
	if got := slices.Sorted(maps.Keys(need)); !slices.Equal(got, []string{"b.js", "c.js", "p.js"}) {
		t.Errorf("the page needs %v", got)
	}
	if found := packageOfModule.FindStringSubmatch("../../web/node_modules/@base-ui/react/esm/dialog.js"); found == nil || found[1] != "@base-ui/react" {
		t.Errorf("found %v", found)
	}
}
