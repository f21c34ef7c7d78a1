package app

import (
	"testing"

	"penstock/internal/api"
	"penstock/internal/batch"
	"penstock/internal/retain"
)

// TestUploadsEndBeforeTheyAreOrphans holds that a blob that is still being written, or whose row is being written, is
// not taken for one that a crash left, also by clocks that differ.
func TestUploadsEndBeforeTheyAreOrphans(t *testing.T) {
	t.Parallel()
	if longest := max(api.UploadTimeout, batch.FinishTimeout); retain.BlobGrace < 2*longest {
		t.Errorf("a blob may be swept after %v, and written for %v", retain.BlobGrace, longest)
	}
}
