package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"penstock"
	"penstock/internal/sim"
)

// audit compares what the server says in the end with what the clients saw on the way.
type audit struct {
	*rig
	*diary

	executions map[string]sim.Executions         // by prompt
	items      map[string]itemAnswer             // all items of all jobs
	entries    map[string][]penstock.LedgerEntry // by job

	mu       sync.Mutex
	reported int // problems
}

func newAudit(r *rig, d *diary) *audit {
	return &audit{rig: r, diary: d, executions: map[string]sim.Executions{}, items: map[string]itemAnswer{},
		entries: map[string][]penstock.LedgerEntry{}}
}

// maxReports bounds how many problems are told in full.
const maxReports = 8

// report tells a problem of a job with all that is needed to understand it.
func (a *audit) report(ctx context.Context, job jobAnswer, problem error) {
	a.mu.Lock()
	a.reported++
	enough := a.reported > maxReports
	a.mu.Unlock()
	if enough {
		a.t.Errorf("%s: %v", job.ID, problem)
		return
	}
	events, _ := a.endpoint.Try(ctx, Call{Method: http.MethodGet, Path: "/v1/jobs/" + job.ID + "/events"})
	a.t.Errorf("%s: %v\n\njob: %.2000s\n\nevents:\n%.8000s", job.ID, problem, encoded(job), events.Body)
}

// settled waits until no job is open any more.
func (a *audit) settled() {
	a.t.Helper()
	Await(a.t, "every job to finish", func() error {
		for _, status := range []penstock.Status{penstock.StatusQueued, penstock.StatusRunning} {
			answer, err := a.endpoint.Try(a.t.Context(), Call{Method: http.MethodGet, Path: "/v1/jobs?limit=1&status=" + string(status)})
			if err != nil {
				return err
			}
			page, err := decoded[struct{ Data []jobAnswer }](answer.Body)
			if err != nil {
				return err
			}
			if len(page.Data) > 0 {
				return fmt.Errorf("%s is %s: %s; the server printed:\n%s", page.Data[0].ID, status, encoded(page.Data[0]), a.lastLog())
			}
		}
		return nil
	})
}

func (a *audit) lastLog() string { return tail(a.lives[len(a.lives)-1].Output()) }

// jobs lists every job there is.
func (a *audit) jobs() []jobAnswer {
	a.t.Helper()
	var all []jobAnswer
	for after := ""; ; {
		answer := a.server().Do(Call{Method: http.MethodGet, Path: "/v1/jobs?limit=100" + after})
		page, err := decoded[struct {
			Data    []jobAnswer
			HasMore bool `json:"has_more"`
		}](answer.Body)
		if err != nil || answer.Status != http.StatusOK {
			a.t.Fatalf("listing jobs was answered with %d: %v", answer.Status, err)
		}
		all = append(all, page.Data...)
		if !page.HasMore {
			return all
		}
		after = "&after=" + page.Data[len(page.Data)-1].ID
	}
}

func (a *audit) server() *Server { return a.lives[len(a.lives)-1].Server }

// run checks everything that can be seen through the API.
func (a *audit) run() {
	a.t.Helper()
	a.settled()
	asked := a.match(a.jobs())
	for _, o := range a.orders {
		for _, want := range o.inferences {
			a.executions[want.prompt] = a.upstream.Executions(want.prompt)
		}
	}
	// From here on the upstream is asked once more what it answers to each prompt; that need not take long.
	if err := a.upstream.Configure(sim.Config{Seed: a.seed}); err != nil {
		a.t.Fatal(err)
	}
	group, ctx := errgroup.WithContext(a.t.Context())
	group.SetLimit(8)
	for id, o := range asked {
		group.Go(func() error {
			job, err := a.checkJob(ctx, id, o)
			if err != nil {
				a.report(ctx, job, err)
			}
			return nil
		})
	}
	_ = group.Wait() // problems are reported where they are found
	a.checkCalls()
	for _, p := range a.problems {
		a.t.Error(p + a.logged(p))
	}
	if a.t.Failed() {
		a.t.Logf("the last server printed:\n%s", a.lastLog())
	}
}

var requestID = regexp.MustCompile(`req_[0-9A-Z]{26}`)

// logged is what the servers wrote about the request that a problem names.
func (a *audit) logged(problem string) string {
	id := requestID.FindString(problem)
	if id == "" {
		return ""
	}
	var found strings.Builder
	for _, l := range a.lives {
		for line := range strings.Lines(l.Output()) {
			if strings.Contains(line, id) {
				found.WriteString("\n" + line)
			}
		}
	}
	return found.String()
}

// match holds that accepted orders and existing jobs are the same, and returns who asked for which job.
func (a *audit) match(jobs []jobAnswer) map[string]*order {
	a.t.Helper()
	asked := map[string]*order{}
	became := map[string][]string{} // order → jobs
	for _, job := range jobs {
		name := job.Tags["order"]
		if job.Lane == penstock.LaneRealtime {
			name = a.chatOf(job.ID)
		}
		o := a.orders[name]
		if o == nil {
			a.t.Errorf("nobody asked for job %s: %s", job.ID, encoded(job))
			continue
		}
		asked[job.ID] = o
		became[name] = append(became[name], job.ID)
	}
	for name, o := range a.orders {
		for id := range o.ids {
			if asked[id] != o {
				a.t.Errorf("order %s was accepted as job %s, which is lost", name, id)
			}
		}
		if n := len(became[name]); n > 1 {
			a.t.Errorf("order %s (key %q) was sent %d times and became %d jobs: %v", name, o.key, o.sent, n, became[name])
		}
		if len(o.ids) > 1 {
			a.t.Errorf("order %s was accepted as several jobs: %v", name, slices.Sorted(maps.Keys(o.ids)))
		}
		if o.key != "" && len(o.ids) == 0 {
			a.t.Errorf("order %s has a key and was sent %d times, but never accepted", name, o.sent)
		}
	}
	return asked
}

// chatOf names the call with a key that became a job. Calls carry no tag: the answer told which job it was.
func (a *audit) chatOf(job string) string {
	for name, c := range a.chats {
		if c.ids[job] {
			if a.orders[name] == nil {
				a.orders[name] = &order{name: name, key: "key-" + name, inferences: []inference{c.inference}, ids: c.ids, told: c.told}
			}
			return name
		}
	}
	return ""
}

// view is a job through all the windows that the API has on it.
type view struct {
	job        jobAnswer
	completion []resultAnswer
	input      []resultAnswer
	events     []eventAnswer
	items      []itemAnswer
}

func (a *audit) look(ctx context.Context, id string) (v view, err error) {
	path := "/v1/jobs/" + id
	if v.job, err = fetch(ctx, a.endpoint, path, decoded[jobAnswer]); err != nil {
		return v, err
	}
	if v.completion, err = fetch(ctx, a.endpoint, path+"/results", results); err != nil {
		return v, err
	}
	if v.input, err = fetch(ctx, a.endpoint, path+"/results?order=input", results); err != nil {
		return v, err
	}
	if v.events, err = fetch(ctx, a.endpoint, path+"/events", events); err != nil {
		return v, err
	}
	for _, r := range v.input {
		item, err := fetch(ctx, a.endpoint, "/v1/items/"+r.ItemID, decoded[itemAnswer])
		if err != nil {
			return v, err
		}
		v.items = append(v.items, item)
	}
	return v, nil
}

func fetch[T any](ctx context.Context, endpoint *Server, path string, decode func(string) (T, error)) (T, error) {
	var none T
	answer, err := endpoint.Try(ctx, Call{Method: http.MethodGet, Path: path})
	if err != nil {
		return none, fmt.Errorf("reading %s: %w", path, err)
	}
	if answer.Status != http.StatusOK {
		return none, fmt.Errorf("%s is answered with %d: %s", path, answer.Status, answer.Body)
	}
	return decode(answer.Body)
}

// checkJob checks one job from all sides.
func (a *audit) checkJob(ctx context.Context, id string, o *order) (jobAnswer, error) {
	v, err := a.look(ctx, id)
	if err != nil {
		return v.job, err
	}
	a.seeJob(v.job)
	problems := []error{v.checkCounts(len(o.inferences)), v.checkResults(), v.checkEvents(), v.checkMoney(), v.checkCancel(o)}
	for i, item := range v.items {
		a.see(item.resultAnswer)
		a.note(func() { a.items[item.ItemID] = item })
		if i < len(o.inferences) {
			want := o.inferences[i]
			problems = append(problems, checkFate(item, o, want), a.checkExecutions(item, want), a.checkAnswer(item, want), checkTold(item, o))
		}
	}
	return v.job, errors.Join(problems...)
}

// checkCounts holds that the job's own numbers are those of its items.
func (v view) checkCounts(asked int) error {
	var counts penstock.Counts
	for _, item := range v.items {
		if !item.Status.Terminal() {
			return fmt.Errorf("item %s is %s after the job finished", item.ItemID, item.Status)
		}
		counts.Total++
		*counts.Of(item.Status)++
	}
	if counts != v.job.Counts || counts.Total != asked {
		return fmt.Errorf("counts are %+v, but of %d items asked for there are %+v", v.job.Counts, asked, counts)
	}
	if v.job.Outcome != counts.Outcome() {
		return fmt.Errorf("outcome is %q, but the items say %q", v.job.Outcome, counts.Outcome())
	}
	return nil
}

// checkResults holds that both orders of results and the items themselves are the same.
func (v view) checkResults() error {
	if len(v.completion) != len(v.items) {
		return fmt.Errorf("%d results in order of completion, %d items", len(v.completion), len(v.items))
	}
	bySeq := slices.SortedFunc(slices.Values(v.input), func(a, b resultAnswer) int { return int(a.Seq - b.Seq) })
	for i, item := range v.items {
		if v.input[i].Index != i || item.text() != v.input[i].text() {
			return fmt.Errorf("result %d in order of input differs from its item:\n%s\n%s", i, v.input[i].text(), item.text())
		}
		if bySeq[i].text() != v.completion[i].text() {
			return fmt.Errorf("result %d in order of completion is not the one that ended then:\n%s\n%s",
				i, v.completion[i].text(), bySeq[i].text())
		}
		if item.JobID != v.job.ID {
			return fmt.Errorf("item %s says that its job is %s", item.ItemID, item.JobID)
		}
	}
	if len(v.items) == 1 && (v.job.Result == nil || v.job.Result.text() != v.items[0].text()) {
		return fmt.Errorf("the job's own result is not that of its item:\n%s\n%s", encoded(v.job.Result), v.items[0].text())
	}
	return nil
}

// checkEvents holds that the log is numbered without gaps, tells every outcome once, and ends.
func (v view) checkEvents() error {
	ended := map[string]bool{}
	types := map[penstock.EventType]int{}
	byID := map[string]itemAnswer{}
	for _, item := range v.items {
		byID[item.ItemID] = item
	}
	for i, e := range v.events {
		if e.Seq != int64(i)+1 || e.JobID != v.job.ID {
			return fmt.Errorf("event %d is numbered %d and belongs to %s", i+1, e.Seq, e.JobID)
		}
		types[e.Type]++
		if e.ItemID == "" {
			continue
		}
		item, known := byID[e.ItemID]
		if !known || ended[e.ItemID] || e.Type != penstock.ItemEvent(item.Status) || e.Data == nil || e.Data.text() != item.told() {
			return fmt.Errorf("event %d does not tell how its item ended, or tells it twice:\n%s\n%s", e.Seq, encoded(e), item.told())
		}
		ended[e.ItemID] = true
	}
	if n := len(v.events); n == 0 || v.events[0].Type != penstock.EventJobQueued || v.events[n-1].Type != penstock.EventJobFinished {
		return errors.New("the events do not begin with job.queued and end with job.finished")
	}
	once := types[penstock.EventJobQueued] == 1 && types[penstock.EventJobStarted] <= 1 && types[penstock.EventJobFinished] == 1
	if len(ended) != len(v.items) || !once {
		return fmt.Errorf("events tell the end of %d of %d items and are %v", len(ended), len(v.items), types)
	}
	return nil
}

// checkMoney holds that a job costs what its items cost, and an item what its attempts cost.
func (v view) checkMoney() error {
	var job usageAnswer
	for _, item := range v.items {
		var spent usageAnswer
		for _, attempt := range item.History {
			spent = spent.plus(attempt.Usage)
		}
		if spent != item.Usage {
			return fmt.Errorf("item %s says it used %+v, its attempts %+v", item.ItemID, item.Usage, spent)
		}
		job = job.plus(item.Usage)
	}
	if job != v.job.Usage {
		return fmt.Errorf("the job says it used %+v, its items %+v", v.job.Usage, job)
	}
	return nil
}

// checkCancel holds that a confirmed cancel is not forgotten, and that nothing is cancelled unasked.
func (v view) checkCancel(o *order) error {
	if o.cancel == cancelHeard && v.job.CancelRequestedAt.IsZero() {
		return errors.New("its cancel was confirmed and then forgotten")
	}
	if o.cancel == notCancelled && (v.job.Counts.Cancelled > 0 || !v.job.CancelRequestedAt.IsZero()) {
		return errors.New("it was cancelled, but nobody asked for that")
	}
	return nil
}

// checkFate holds that an item ended as its prompt demands, unless somebody stopped it before.
func checkFate(item itemAnswer, o *order, want inference) error {
	for i, attempt := range item.History {
		if attempt.Number != i+1 {
			return fmt.Errorf("attempt %d of item %s is numbered %d", i+1, item.ItemID, attempt.Number)
		}
	}
	code := penstock.Code("")
	if item.Error != nil {
		code = item.Error.Code
	}
	switch {
	case item.CustomID != "" && item.CustomID != fmt.Sprintf("row-%d", item.Index):
		return fmt.Errorf("item %d is called %s", item.Index, item.CustomID)
	case item.Status == penstock.StatusCancelled && code == penstock.CodeCancelled && o.cancel != notCancelled:
	case item.Status == penstock.StatusExpired && code == penstock.CodeDeadlineExceeded && o.hasty:
	case item.Status == penstock.StatusFailed && code == want.fails && want.fails != "":
	case item.Status == penstock.StatusSucceeded && code == "" && want.fails == "":
	default:
		return fmt.Errorf("item %s ended as %s %v after %d attempts of which %d were lost; asked for was %.80q, to fail with %q",
			item.ItemID, item.Status, item.Error, len(item.History), item.lost(), want.prompt, want.fails)
	}
	return nil
}

// suspectCrashes is how many workers an item loses before it runs in a child process.
const suspectCrashes = 3

// checkExecutions holds that whatever ran upstream is on record: as an attempt, or as a lost one, in
// which both targets may have been called.
func (a *audit) checkExecutions(item itemAnswer, want inference) error {
	ran := a.executions[want.prompt]
	lost := item.lost()
	recorded := len(item.History) - lost
	if int(ran.Attempts) > recorded+lost*len(upstreamModels) || int(ran.Completed) > recorded+lost {
		return fmt.Errorf("item %s ran %d times upstream, to the end %d times, but %d attempts are on record and %d were lost",
			item.ItemID, ran.Attempts, ran.Completed, recorded, lost)
	}
	if item.Status == penstock.StatusSucceeded && ran.Completed == 0 {
		return fmt.Errorf("item %s succeeded but never ran", item.ItemID)
	}
	return nil
}

// checkAnswer holds that an item's result is the answer to its own prompt.
func (a *audit) checkAnswer(item itemAnswer, want inference) error {
	if item.Status != penstock.StatusSucceeded || want.slow {
		return nil
	}
	got, err := item.content()
	if err != nil {
		return err
	}
	body := chatBody(want.prompt)
	body["model"] = upstreamModels[item.Target]
	w := httptest.NewRecorder()
	a.upstream.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/chat/completions", bytes.NewReader([]byte(encoded(body)))))
	answer, err := chatContent(w.Body.Bytes())
	if err != nil {
		return err
	}
	if got != answer {
		return fmt.Errorf("item %s has an answer that is not its own: %.100q, want %.100q", item.ItemID, got, answer)
	}
	return nil
}

// checkTold holds that a synchronous call was answered with what became its job's result.
func checkTold(item itemAnswer, o *order) error {
	if o.told == "" {
		return nil
	}
	got, err := item.content()
	if err == nil && got != o.told {
		err = fmt.Errorf("the caller was told %.100q, item %s says %.100q", o.told, item.ItemID, got)
	}
	return err
}

// checkCalls holds that plain calls are on record, also those whose server died right after.
func (a *audit) checkCalls() {
	a.t.Helper()
	for id := range a.calls {
		Await(a.t, "a call to be on record", func() error { // another process may have it in memory still
			_, err := fetch(a.t.Context(), a.server(), "/v1/requests/"+id, decoded[requestAnswer])
			return err
		})
	}
}
