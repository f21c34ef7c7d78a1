//go:build race

package telemetry

import "testing"

// skipUnderRace skips a test that counts allocations: the race detector adds its own.
func skipUnderRace(t *testing.T) { t.Skip("allocations are not counted under the race detector") }
