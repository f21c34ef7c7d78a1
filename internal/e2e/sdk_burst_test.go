package e2e

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// Twenty programs at once at a limit of 60 a minute, by OpenAI's SDK with its default retries: none of their calls fails, they
// use all of the limit, and no minute sees more. PENSTOCK_SOAK_CALLS is how many calls each of them makes, 1 unless it is set.
func TestSDKBurst(t *testing.T) {
	if testing.Short() {
		t.Skip("installs packages, and waits at the pace of a limit")
	}
	t.Parallel()
	installSDK(t, sdkDir)
	const callers, perMinute = 20, 60
	calls := cmp.Or(os.Getenv("PENSTOCK_SOAK_CALLS"), "1")
	s := serveOne(t, fmt.Sprintf(`
providers: {upstream: {kind: openai, base_url: %s/v1}}
targets: {sim: {provider: upstream, upstream_model: sim-small}}
models: {fast: {targets: [sim]}}
`, startSim(t)), tenantWith(fmt.Sprintf(`limits: {requests_per_minute: %d}`, perMinute)))
	cmd := exec.CommandContext(t.Context(), "node", "burst.mjs")
	cmd.Dir = sdkDir
	cmd.Env = append(cleanEnv(), "PENSTOCK_URL="+s.URL, "PENSTOCK_API_KEY="+Key, "CALLS="+calls, fmt.Sprint("CALLERS=", callers))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var told struct {
		Times    []int64
		Failures []string
		TookMS   int64 `json:"took_ms"`
	}
	if err := json.Unmarshal(out, &told); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	log := &callLog{}
	for _, ms := range told.Times {
		log.times = append(log.times, time.UnixMilli(ms))
	}
	var each int
	if _, err := fmt.Sscan(calls, &each); err != nil {
		t.Fatal(err)
	}
	took, worst := time.Duration(told.TookMS)*time.Millisecond, log.worstMinute()
	t.Logf("%d calls in %v, at most %d in a minute", len(log.times), took, worst)
	if len(told.Failures) > 0 || len(log.times) != callers*each {
		t.Errorf("%d calls succeeded, %d failed:\n%s", len(log.times), len(told.Failures), strings.Join(told.Failures, "\n"))
	}
	if worst > perMinute {
		t.Errorf("a minute saw %d calls", worst)
	}
	if most := time.Duration(callers*each) * 1050 * time.Millisecond; took > most { // 3.5 minutes for 200
		t.Errorf("it took %v, want %v", took, most)
	}
}
