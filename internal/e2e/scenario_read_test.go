package e2e

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

var readScenarios = []scenario{
	{name: "read_list", play: readList, own: true},
	{name: "read_results", play: readResults},
	{name: "read_results_resumed", play: readResultsResumed},
	{name: "read_long_poll", play: readLongPoll},
	{name: "read_results_gzip", play: readResultsGzip},
	{name: "read_events", play: readEvents},
	{name: "read_unknown", play: readUnknown},
}

// listed are the ids of a page of jobs in its order, and whether another page follows.
func (s *scene) listed(query string) ([]string, bool) {
	s.Helper()
	var page struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
		HasMore bool `json:"has_more"`
	}
	a := s.call(get("/v1/jobs?" + query))
	if err := json.Unmarshal([]byte(a.Body), &page); err != nil || a.Status != http.StatusOK {
		s.Fatalf("GET /v1/jobs?%s: %d %v %s", query, a.Status, err, a.Body)
	}
	ids := make([]string, len(page.Data))
	for i, job := range page.Data {
		ids[i] = job.ID
	}
	return ids, page.HasMore
}

func readList(s *scene) {
	names := map[string]string{} // by id
	submit := func(name, body string) string {
		id := s.submit(body)
		names[id] = name
		return id
	}
	s.finished(submit("done", `{"model":"a","input":"Hi","tags":{"team":"search","stage":"test"}}`))
	s.finished(submit("bulky", `{"model":"b","input":"Hi","lane":"bulk","tags":{"team":"search"}}`))
	between := time.Now().UTC()
	s.finished(submit("broken", `{"model":"a","input":"list [sim:fault=bad_request]","lane":"realtime"}`))
	stopped := submit("stopped", `{"model":"a","input":"list [sim:fault=hang]","tags":{"team":"ads"}}`)
	s.call(post("/v1/jobs/"+stopped+"/cancel", ""))
	s.finished(stopped)
	s.counted(submit("busy", `{"model":"b","input":"list [sim:fault=hang]"}`), "running", 1)

	show := func(ids []string, more bool) string {
		shown := make([]string, len(ids))
		for i, id := range ids {
			shown[i] = names[id]
		}
		return fmt.Sprintf("%s, has_more %v", shown, more)
	}
	moment := url.QueryEscape(between.Format(time.RFC3339Nano))
	for _, query := range []string{"", "status=succeeded", "status=failed", "status=cancelled", "status=running", "status=queued",
		"lane=standard", "lane=bulk", "lane=realtime", "model=a", "model=b", "model=c", "tag=team:search", "tag=stage:test",
		"tag=team:sea", "tag=team:", "created_after=" + moment, "created_before=" + moment,
		"status=succeeded&lane=standard&model=a&tag=team:search&created_before=" + moment, "limit=4", "limit=5"} {
		ids, more := s.listed(query)
		s.script.note("?%s => %s", strings.ReplaceAll(query, moment, "<between>"), show(ids, more))
	}
	var all []string
	for query, more := "limit=2", true; more; {
		var ids []string
		ids, more = s.listed(query)
		s.script.note("page %s", show(ids, more))
		all = append(all, ids...)
		query = "limit=2&after=" + ids[len(ids)-1]
	}
	if ids, _ := s.listed(""); !slices.Equal(ids, all) {
		s.Errorf("page by page there are %v, at once %v", all, ids)
	}
	ids, more := s.listed("after=" + all[len(all)-1])
	s.script.note("after the last => %s", show(ids, more))
	s.tell("a page as it is", get("/v1/jobs?limit=1&model=a&status=failed"))
}

// threeEnds submits a job whose items end in the order 1, 2, 0, the later ones when end is called. The name is that of
// the scene, since a hold that was let go stays open.
func (s *scene) threeEnds(name string) (id string, end func()) {
	s.Helper()
	held := func(which string) string { return ask(fmt.Sprintf("ends %s [sim:hold=%s-%[1]s]", which, name)) }
	id = s.submit(`{"model":"three-ends","inputs":[{"custom_id":"last","body":` + held("last") +
		`},{"custom_id":"first","body":` + ask("ends first [sim:fault=bad_request]") + `},{"custom_id":"second","body":` + held("second") + `}]}`)
	return id, func() {
		s.Helper()
		s.counted(id, "failed", 1)
		s.release(name + "-second")
		s.counted(id, "succeeded", 1)
		s.release(name + "-last")
	}
}

func readResults(s *scene) {
	id, end := s.threeEnds("results")
	end()
	s.finished(id)
	path := "/v1/jobs/" + id + "/results"
	completion := s.tell("in the order of completion", get(path))
	input := s.tell("in the order of input", get(path+"?order=input"))
	lines := func(a Answer) []string { return slices.Collect(strings.Lines(a.Body)) }
	done, given := lines(completion), lines(input)
	if len(done) != 3 || len(given) != 3 {
		s.Fatal("there are not three results")
	}
	for query, want := range map[string][]string{
		"?order=completion":             done,
		"?after=0":                      done,
		"?after=3":                      done[1:],
		"?after=4":                      done[2:],
		"?after=5":                      nil,
		"?after=99":                     nil,
		"?order=input&after=0":          given[1:],
		"?order=input&after=2":          nil,
		"?status=failed":                done[:1],
		"?status=succeeded":             done[1:],
		"?status=succeeded&after=4":     done[2:],
		"?status=succeeded&order=input": {given[0], given[2]},
		"?status=cancelled":             nil,
		"?status=failed&order=completion&after=3": nil,
	} {
		if got := s.call(get(path + query)); got.Status != http.StatusOK || !slices.Equal(lines(got), want) {
			s.Errorf("%s: %d\n%s, want\n%s", query, got.Status, got.Body, want)
		}
	}
}

// readResultsResumed reads in input order while items end from the last to the first, and comes back for what is behind
// the last index it saw. It gets every item once, also if it wants one status only.
func readResultsResumed(s *scene) {
	inputs := make([]string, 24)
	for i := range inputs {
		prompt := fmt.Sprintf("resumed %d [sim:hold=resumed-%d]", i, i/8)
		if i%8 == 5 {
			prompt = fmt.Sprintf("resumed %d [sim:fault=bad_request]", i) // ends before all others
		}
		inputs[i] = fmt.Sprintf(`{"body":%s}`, ask(prompt))
	}
	id := s.submit(`{"model":"resumed","inputs":[` + strings.Join(inputs, ",") + `]}`)
	seen, failed := []int{}, []int{}
	s.counted(id, "failed", 3)
	for ended := 3; ; ended += 7 {
		seen = s.resume(id, "order=input", seen)
		failed = s.resume(id, "order=input&status=failed", failed)
		if ended == len(inputs) {
			break
		}
		s.release(fmt.Sprintf("resumed-%d", 2-(ended-3)/7))
		s.counted(id, "succeeded", ended+7-3)
	}
	all := make([]int, len(inputs))
	for i := range all {
		all[i] = i
	}
	if !slices.Equal(seen, all) || !slices.Equal(failed, []int{5, 13, 21}) {
		s.Errorf("it saw %v, and of those that failed %v", seen, failed)
	}
}

// readLongPoll waits for the next change of a job: it is answered when something became of the job, with 304 when nothing did, and
// at once when the job is not what the caller has seen, or has ended.
func readLongPoll(s *scene) {
	id := s.submit(`{"model":"long-poll","inputs":[{"body":` + ask("poll 0 [sim:hold=poll-0]") + `},{"body":` + ask("poll 1 [sim:hold=poll-1]") + `}]}`)
	path := "/v1/jobs/" + id
	s.counted(id, "running", 2)
	poll := func(tag, wait string) (Answer, time.Duration) {
		began := time.Now()
		return s.call(get(path, "If-None-Match", tag, "Prefer", "wait="+wait)), time.Since(began)
	}
	seen := s.call(get(path)).Header.Get("ETag")
	if a, took := poll(seen, "1"); a.Status != http.StatusNotModified || a.Body != "" || took < time.Second || a.Header.Get("Retry-After") == "" || a.Header.Get("ETag") != seen {
		s.Errorf("without a change: %d after %v: %s", a.Status, took, a.Body)
	}
	if a, took := poll(`"other"`, "30"); a.Status != http.StatusOK || took > 5*time.Second {
		s.Errorf("with another tag: %d after %v", a.Status, took)
	}
	answers := make(chan Answer, 1)
	go func() {
		a, _ := poll(seen, "30")
		answers <- a
	}()
	s.release("poll-0")
	next := <-answers
	if next.Status != http.StatusOK || s.field(next, "counts.succeeded") != "1" || s.field(next, "status") != "running" || next.Header.Get("ETag") == seen {
		s.Errorf("at the next change: %d %s", next.Status, next.Body)
	}
	s.release("poll-1")
	s.finished(id)
	done := s.call(get(path)).Header.Get("ETag")
	if a, took := poll(done, "30"); a.Status != http.StatusNotModified || took > 5*time.Second {
		s.Errorf("when it has ended: %d after %v", a.Status, took)
	}
}

// resume reads the results behind those that were seen, and returns all indexes in the order in which they came.
func (s *scene) resume(job, query string, seen []int) []int {
	s.Helper()
	if len(seen) > 0 {
		query += fmt.Sprintf("&after=%d", seen[len(seen)-1])
	}
	a := s.call(get("/v1/jobs/" + job + "/results?" + query))
	if a.Status != http.StatusOK {
		s.Fatalf("%s: %d %s", query, a.Status, a.Body)
	}
	for line := range strings.Lines(a.Body) {
		var result struct {
			Index int `json:"index"`
		}
		if err := json.Unmarshal([]byte(line), &result); err != nil {
			s.Fatal(err)
		}
		seen = append(seen, result.Index)
	}
	return seen
}

// readResultsGzip reads more results than one page of the store holds, plain and compressed.
func readResultsGzip(s *scene) {
	inputs := make([]string, 120)
	for i := range inputs {
		inputs[i] = fmt.Sprintf(`{"custom_id":"row-%d","body":%s}`, i, ask(fmt.Sprintf("gzip %d", i)))
	}
	id := s.submit(`{"model":"gzip","inputs":[` + strings.Join(inputs, ",") + `]}`)
	s.finished(id)
	path := "/v1/jobs/" + id + "/results?order=input"
	plain := s.call(get(path))
	if n := strings.Count(plain.Body, "\n"); n != len(inputs) {
		s.Errorf("%d results for %d inputs", n, len(inputs))
	}
	for accept, want := range map[string]string{
		"": "", "gzip": "gzip", "br, gzip;q=0.5": "gzip", "identity": "", "gzip;q=0": "", "br, gzip; q=0.0, *;q=0": "",
	} {
		a := s.call(get(path, "Accept-Encoding", accept))
		encoding, body := a.Header.Get("Content-Encoding"), a.Body
		if encoding == "gzip" {
			body = s.gunzip(a.Body)
		}
		if body != plain.Body {
			s.Errorf("Accept-Encoding %q: the results differ from the plain ones", accept)
		}
		if encoding != want || a.Header.Get("Vary") != "Accept-Encoding" {
			s.Errorf("Accept-Encoding %q: Content-Encoding is %q, want %q; Vary is %q", accept, encoding, want, a.Header.Get("Vary"))
		}
	}
}

func (s *scene) gunzip(body string) string {
	s.Helper()
	r, err := gzip.NewReader(strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		s.Fatalf("the compressed body: %v", err)
	}
	return string(text)
}

func readEvents(s *scene) {
	id, end := s.threeEnds("events")
	path := "/v1/jobs/" + id + "/events"
	live, err := s.open(s.Context(), get(path)) // followed while it happens, to its end
	if err != nil {
		s.Fatal(err)
	}
	defer live.Body.Close()
	end()
	followed, err := io.ReadAll(live.Body)
	if err != nil {
		s.Fatal(err)
	}
	all := s.tell("the whole log", get(path))
	if string(followed) != all.Body {
		s.Errorf("followed live, the log was\n%s", followed)
	}
	events := strings.SplitAfter(strings.TrimSuffix(all.Body, "\n\n"), "\n\n")
	events[len(events)-1] += "\n\n"
	if len(events) != 6 {
		s.Fatalf("there are %d events", len(events))
	}
	for _, resume := range []struct {
		call Call
		want []string
	}{
		{get(path + "?after=0"), events},
		{get(path + "?after=2"), events[2:]},
		{get(path, "Last-Event-ID", "4"), events[4:]},
		{get(path+"?after=5", "Last-Event-ID", "2"), events[5:]},
		{get(path + "?after=6"), nil},
		{get(path, "Last-Event-ID", "6"), nil},
		{get(path + "?after=1000"), nil},
	} {
		a := s.call(resume.call)
		if a.Status != http.StatusOK || a.Body != strings.Join(resume.want, "") {
			s.Errorf("GET %s %v: %d\n%s", resume.call.Path, resume.call.Header, a.Status, a.Body)
		}
	}
	s.tell("resumed past the end", get(path, "Last-Event-ID", "6"))
	s.tell("resumed from nowhere", get(path, "Last-Event-ID", "job.finished"))
	s.tell("resumed from before the beginning", get(path+"?after=-1"))
}

func readUnknown(s *scene) {
	const nobody = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
	for _, c := range []Call{
		get("/v1/jobs/job_" + nobody), post("/v1/jobs/job_"+nobody+"/cancel", ""), get("/v1/jobs/job_" + nobody + "/results"),
		get("/v1/jobs/job_" + nobody + "/events"), get("/v1/items/item_" + nobody), get("/v1/requests/req_" + nobody),
		get("/v1/jobs/item_" + nobody), get("/v1/jobs/job_" + strings.ToLower(nobody)), get("/v1/jobs/job_1"), get("/v1/items/" + nobody),
		get("/v1/requests/req_%00"),
	} {
		if a := s.tell("unknown", c); a.Status != http.StatusNotFound {
			s.Errorf("%s %s answers %d", c.Method, c.Path, a.Status)
		}
	}
	for _, path := range []string{"/v1/models/nobody", "/v1/models/org/nobody"} { // the fallback model answers for every name
		if a := s.tell("not configured", get(path)); a.Status != http.StatusOK {
			s.Errorf("GET %s answers %d", path, a.Status)
		}
	}
}
