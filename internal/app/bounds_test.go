package app

import (
	"testing"

	"penstock/internal/api"
	"penstock/internal/batch"
	"penstock/internal/retain"
)

// TestUploadsEndBeforeTheyAreOrphans checks that a blob that is still being written, or whose row is being written, is
// not mistaken for the orphan of a crash, even if clocks differ.
func TestUploadsEndBeforeTheyAreOrphans(t *testing.T) {
	t.Parallel()
	if longest := max(api.UploadTimeout, batch.FinishTimeout); retain.BlobGrace < 2*longest {
		t.Errorf("a blob may be swept after %v, and written for %v", retain.BlobGrace, longest)
	}
}
