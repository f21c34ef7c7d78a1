package directory

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"penstock/internal/config"
)

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

func TestWeakAdminKeyFileIsRefused(t *testing.T) {
	t.Parallel()
	if _, err := LoadAdminKey("changeme-changeme-changeme", t.TempDir()); err == nil || !strings.Contains(err.Error(), "openssl rand") || strings.Contains(err.Error(), "changeme") {
		t.Errorf("%v", err)
	}
}
