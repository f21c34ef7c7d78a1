package app

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"penstock/internal/config"
)

// TestAdminRoutesAreDocumented holds that the page for operators tells of every call.
func TestAdminRoutesAreDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/operations/tenants.md")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	see := func(pattern string, _ http.HandlerFunc) {
		n++
		if !strings.Contains(string(page), "| `"+pattern+"` |") {
			t.Errorf("docs/operations/tenants.md does not tell of %s", pattern)
		}
	}
	a := new(app)
	a.tenantRoutes(see)
	a.keyRoutes(see)
	if told := strings.Count(string(page), "/admin/v1/") - strings.Count(string(page), "/admin/v1/audit"); told != n {
		t.Errorf("docs/operations/tenants.md tells of %d calls, there are %d", told, n)
	}
}

// TestAdminKeyIsDrawnOnce lets processes that share a directory draw at the same time.
func TestAdminKeyIsDrawnOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), AdminKeyFile)
	secrets, drawn := make([]string, 16), make([]bool, 16)
	var all sync.WaitGroup
	for n := range secrets {
		all.Go(func() {
			var err error
			if secrets[n], drawn[n], err = keepAdminKey(path); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	draws := 0
	for n := range secrets {
		if secrets[n] != secrets[0] || secrets[n] == "" {
			t.Errorf("process %d has another key", n)
		}
		if drawn[n] {
			draws++
		}
	}
	if _, ok := config.Digest(secrets[0]); !ok || draws != 1 {
		t.Errorf("%d keys were drawn", draws)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("%d files are left, %v", len(entries), err)
	}
}
