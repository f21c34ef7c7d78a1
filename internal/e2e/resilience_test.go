package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"penstock/internal/sim"
)

// sickness is one way in which the first of a model's two targets fails.
type sickness struct {
	name string
	// ail makes the target sick, until ctx ends.
	ail    func(ctx context.Context, target *sickSim)
	always bool // and not now and then
}

var sicknesses = []sickness{
	{"dead", func(_ context.Context, s *sickSim) { s.Kill() }, true},
	{"hanging", func(_ context.Context, s *sickSim) { s.faults(`{"hang":1}`) }, true},
	{"refusing", func(_ context.Context, s *sickSim) { s.faults(`{"rate_limit":1}`) }, true},
	{"truncating", func(_ context.Context, s *sickSim) { s.faults(`{"disconnect":1}`) }, true},
	{"flapping", flap, false},
}

// flap is sick and well in turn.
func flap(ctx context.Context, s *sickSim) {
	turn := time.NewTicker(400 * time.Millisecond)
	defer turn.Stop()
	for sick := true; ; sick = !sick {
		if sick {
			s.faults(`{"server_error":1}`)
		} else {
			s.faults(`{"server_error":0}`)
		}
		select {
		case <-ctx.Done():
			return
		case <-turn.C:
		}
	}
}

const (
	// sickCalls is how many calls are made for each sickness: enough for one failure too many to show.
	sickCalls = 1200
	// callRate is how many of them a second: all sicknesses together a few hundred, for a healthy target that answers in
	// some ten milliseconds and takes wellPlaces at a time.
	callRate   = 60
	wellPlaces = 32
	// sickTimeout is how long a call may take on a sick target, and wellTimeout on the healthy one: no call takes longer than
	// both. The healthy one answers at once where this machine has time for it, so that all but mostLate of the calls are
	// answered in usualWait.
	sickTimeout = time.Second
	wellTimeout = 4 * time.Second
	usualWait   = sickTimeout + 1500*time.Millisecond
	mostLate    = 0.01
	// mostFailures is the part of the calls that may fail, streams that were cut apart.
	mostFailures = 0.001
	// mostExtraLoad is what a sick target may have to bear beyond its share, and how often it may see a call again.
	mostExtraLoad = 0.10
	// mostPatience is the part of its share that may still reach a target that is sick all the time: what it takes
	// to notice, and to see whether it is well again.
	mostPatience = 0.25
)

// sickShare is the part of the calls that would reach the target which falls ill, were it well: all of those for the
// model that has it first, and half of those for the model that gives each target as many.
const sickShare = 0.75

// One of a model's two targets is sick, the other carries the load: callers notice nothing but some waiting, and the sick
// one is left alone.
func TestOneSickTargetIsNotNoticed(t *testing.T) {
	t.Parallel()
	calls := sickCalls
	if soak := os.Getenv("PENSTOCK_SOAK_SICK"); soak != "" {
		var err error
		if calls, err = strconv.Atoi(soak); err != nil {
			t.Fatal(err)
		}
	} else if testing.Short() {
		t.Skip("calls sick targets for twenty seconds")
	}
	r := newSickbay(t)
	tallies := make([]*verdicts, len(sicknesses))
	var all sync.WaitGroup
	for i, s := range sicknesses {
		all.Go(func() { tallies[i] = r.suffer(t, s, calls) })
	}
	all.Wait()
	t.Log(tableOf(tallies))
	for i, s := range sicknesses {
		t.Run(s.name, func(t *testing.T) { tallies[i].judge(t, s) })
	}
}

// suffer has a target fall ill while its models are called.
func (r *sickbay) suffer(t *testing.T, s sickness, calls int) *verdicts {
	ctx, cancel := context.WithCancel(t.Context())
	var ailing sync.WaitGroup
	ailing.Go(func() { s.ail(ctx, r.sims[s.name]) })
	v := r.load(t, s.name, calls)
	cancel()
	ailing.Wait()
	slices.Sort(v.took)
	v.reached, v.again = r.reached(t, s)
	return v
}

// sickbay is a server with two models for each sickness. Both have a target that falls ill and one that is well, which serves all
// sicknesses: the one in this order, the other half and half.
type sickbay struct {
	*Server
	admin string
	sims  map[string]*sickSim
}

type sickSim struct {
	*Process
	url string
}

func startSickSim(t *testing.T) *sickSim {
	t.Helper()
	address := FreeAddress(t)
	s := &sickSim{url: "http://" + address}
	s.Process = Start(t, nil, "sim", "--listen", address, "--output-tokens", "8", "--first-token-latency", "5ms")
	Await(t, "the simulated upstream", func() error {
		resp, err := http.Get(s.url + "/v1/models")
		if err == nil {
			resp.Body.Close()
		}
		return err
	})
	return s
}

// faults says how probable each fault is from now on.
func (s *sickSim) faults(probabilities string) {
	req, err := http.NewRequest(http.MethodPatch, s.url+"/sim/config", strings.NewReader(`{"faults":`+probabilities+`}`))
	if err != nil {
		s.t.Error(err)
		return
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Error(err)
		return
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		s.t.Errorf("setting faults: %s", resp.Status)
	}
}

func newSickbay(t *testing.T) *sickbay {
	t.Helper()
	well := startSickSim(t)
	r := &sickbay{admin: FreeAddress(t), sims: map[string]*sickSim{}}
	address := FreeAddress(t)
	var providers, targets, models strings.Builder
	fmt.Fprintf(&providers, "  well: {kind: openai, base_url: %s/v1}\n", well.url)
	fmt.Fprintf(&targets, "  well: {provider: well, upstream_model: sim-small, limits: {concurrency: %d}, timeouts: {total: %s}}\n", wellPlaces, wellTimeout)
	timeouts := fmt.Sprintf("timeouts: {connect: 500ms, first_token: 500ms, idle: 500ms, total: %s}", sickTimeout)
	for _, s := range sicknesses {
		r.sims[s.name] = startSickSim(t)
		fmt.Fprintf(&providers, "  %s: {kind: openai, base_url: %s/v1}\n", s.name, r.sims[s.name].url)
		fmt.Fprintf(&targets, "  %s: {provider: %s, upstream_model: sim-small, %s}\n", s.name, s.name, timeouts)
		fmt.Fprintf(&models, "  %s-first: {targets: [%s, well]}\n", s.name, s.name)
		fmt.Fprintf(&models, "  %s-half: {policy: weighted, targets: [%s, well], weights: {%s: 1, well: 1}}\n", s.name, s.name, s.name)
	}
	path := filepath.Join(t.TempDir(), "penstock.yaml")
	err := os.WriteFile(path, fmt.Appendf(nil, "listen: %s\nadmin_listen: %s\ndata: %s\nproviders:\n%stargets:\n%smodels:\n%s"+
		"tenants: {acme: {keys: [{name: e2e, secret: \"${E2E_KEY}\"}]}}\n",
		address, r.admin, t.TempDir(), &providers, &targets, &models), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	r.Server = &Server{Process: Start(t, []string{"E2E_KEY=" + Key}, "serve", "--config", path), URL: "http://" + address}
	r.AwaitReady()
	return r
}

// verdicts counts how calls ended.
type verdicts struct {
	mu               sync.Mutex
	calls, good, cut int
	failed           []string
	took             []time.Duration
	reached          int // calls that the sick target saw
	again            int // of them, those that it had seen before
}

// load calls the two models of a sickness at a steady pace, whatever becomes of the calls: plainly and streamed in turn.
func (r *sickbay) load(t *testing.T, sickness string, calls int) *verdicts {
	v := &verdicts{}
	var running sync.WaitGroup
	defer running.Wait()
	pace := time.NewTicker(time.Second / callRate)
	defer pace.Stop()
	for n := range calls {
		<-pace.C
		model := sickness + "-first"
		if n%4 >= 2 {
			model = sickness + "-half"
		}
		running.Go(func() { r.one(t, v, model, n) })
	}
	return v
}

func (r *sickbay) one(t *testing.T, v *verdicts, model string, n int) {
	stream := n%2 == 0
	began := time.Now()
	a, err := r.Try(t.Context(), Call{Method: "POST", Path: "/v1/chat/completions",
		Body: fmt.Sprintf(`{"model":%q,"stream":%t,"messages":[{"role":"user","content":"question %d"}]}`, model, stream, n)})
	took := time.Since(began)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.calls++
	v.took = append(v.took, took)
	switch {
	case err == nil && a.Status == http.StatusOK && (!stream || strings.HasSuffix(a.Body, "data: [DONE]\n\n")) && !strings.Contains(a.Body, `"error"`):
		v.good++
	case err == nil && a.Status == http.StatusOK && stream && endsInTypedError(a.Body):
		v.cut++
	default:
		v.failed = append(v.failed, fmt.Sprintf("after %v: %d %.200s %v", took, a.Status, a.Body, err))
	}
}

// endsInTypedError says that a stream which broke off says so at its end.
func endsInTypedError(body string) bool {
	events := strings.Split(strings.TrimSpace(body), "\n\n")
	var last struct{ Error struct{ Code string } }
	data := []byte(strings.TrimPrefix(events[len(events)-1], "data: "))
	return json.Unmarshal(data, &last) == nil && last.Error.Code == "upstream_error"
}

// reached is how many calls the sick target saw, and how many of them it had seen before. The dead one cannot be asked any
// more: of that, the gateway says how often it was tried.
func (r *sickbay) reached(t *testing.T, s sickness) (all, again int) {
	t.Helper()
	if s.name == "dead" {
		return r.attempts(t, s.name), 0
	}
	resp, err := http.Get(r.sims[s.name].url + "/sim/stats")
	if err != nil {
		t.Error(err)
		return 0, 0
	}
	defer resp.Body.Close()
	var stats sim.Stats
	if err := json.NewDecoder(resp.Body).Decode(&stats); err != nil {
		t.Error(err)
	}
	calls := stats.ByEndpoint["/v1/chat/completions"]
	return int(calls), int(calls - stats.Prompts.Seen)
}

var attemptsLine = regexp.MustCompile(`(?m)^penstock_attempts_total\{(.*)\} (\d+)$`)

// attempts is how many calls were made on a target.
func (r *sickbay) attempts(t *testing.T, target string) int {
	t.Helper()
	resp, err := http.Get("http://" + r.admin + "/metrics")
	if err != nil {
		t.Error(err)
		return 0
	}
	defer resp.Body.Close()
	var page bytes.Buffer
	if _, err := page.ReadFrom(resp.Body); err != nil {
		t.Error(err)
	}
	sum := 0
	for _, m := range attemptsLine.FindAllStringSubmatch(page.String(), -1) {
		if strings.Contains(m[1], fmt.Sprintf("target=%q", target)) {
			n, err := strconv.Atoi(m[2])
			if err != nil {
				t.Error(err)
			}
			sum += n
		}
	}
	return sum
}

// share is how many calls would have reached the target, were it well.
func (v *verdicts) share() float64 { return sickShare * float64(v.calls) }

// judge holds what happened against what is promised. Streams that were cut count apart: what their callers had seen could
// not be taken back.
func (v *verdicts) judge(t *testing.T, s sickness) {
	t.Helper()
	for _, why := range v.failed[:min(3, len(v.failed))] {
		t.Log("failed", why)
	}
	if whole := v.calls - v.cut; float64(len(v.failed)) > mostFailures*float64(whole) {
		t.Errorf("%d of %d failed", len(v.failed), whole)
	}
	intime, _ := slices.BinarySearch(v.took, usualWait)
	if longest := v.took[v.calls-1]; longest > sickTimeout+wellTimeout || float64(v.calls-intime) > mostLate*float64(v.calls) {
		t.Errorf("%d calls took longer than %v, one of them %v", v.calls-intime, usualWait, longest)
	}
	if float64(v.reached) > (1+mostExtraLoad)*v.share() || float64(v.again) > mostExtraLoad*float64(v.reached) {
		t.Errorf("the sick target saw %d calls, %d of them again; its share is %.0f", v.reached, v.again, v.share())
	}
	if v.reached == 0 || (s.always && float64(v.reached) > mostPatience*v.share()) {
		t.Errorf("%d calls reached a target that is sick all the time; its share is %.0f", v.reached, v.share())
	}
}

// tableOf shows what each sickness came to.
func tableOf(tallies []*verdicts) string {
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "\nsick target\tcalls\tgood\tcut, told so\tfailed\tgood of those not cut\tp50\tp99\tlongest\treached it\tits share\tseen again\t\n")
	for i, v := range tallies {
		if v == nil || len(v.took) == 0 {
			continue
		}
		at := func(p float64) time.Duration { return v.took[int(p*float64(len(v.took)-1))].Round(time.Millisecond) }
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%.2f %%\t%v\t%v\t%v\t%d\t%.0f\t%d\t\n", sicknesses[i].name, v.calls, v.good, v.cut, len(v.failed),
			100*float64(v.good)/float64(v.calls-v.cut), at(0.5), at(0.99), at(1), v.reached, v.share(), v.again)
	}
	w.Flush()
	return table.String()
}
