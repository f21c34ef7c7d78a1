package dev

import (
	"strings"
	"testing"
)

// TestAdminKeyIsShownOnce checks that the greeting shows a new admin key, and no other.
func TestAdminKeyIsShownOnce(t *testing.T) {
	t.Parallel()
	var first, second strings.Builder
	greet(&first, greeting{key: "psk_dev", adminKey: "psk_admin", data: "data"})
	greet(&second, greeting{key: "psk_dev", data: "data"})
	if !strings.Contains(first.String(), "PENSTOCK_ADMIN_KEY=psk_admin") || strings.Contains(second.String(), "PENSTOCK_ADMIN_KEY") {
		t.Errorf("%s\n%s", &first, &second)
	}
}
