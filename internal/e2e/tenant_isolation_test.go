package e2e

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"penstock"
)

// object is a kind of thing that belongs to a tenant, and how one comes to be.
type object struct {
	name string
	root string // routes below it name one of its kind
	make func(t *testing.T, st *staged) (id string)
}

// objects is every kind of thing that a path can name. A route whose path names anything else fails the test: add its
// kind here.
var objects = []object{
	{"job", "/v1/jobs/", makeJob},
	{"id of any kind", "/v1/lookup/", makeJob},
	{"response", "/v1/responses/", func(t *testing.T, st *staged) string {
		a := st.Do(post("/v1/responses", `{"model":"sim","input":"whose response is this?","store":true}`))
		return found(t, `"id":"(resp_[0-9A-Za-z]+)"`, a.Body)
	}},
	{"conversation", "/v1/conversations/", func(t *testing.T, st *staged) string {
		a := st.Do(post("/v1/conversations", `{"items":[{"role":"user","content":"whose conversation is this?"}]}`))
		id := found(t, `"id":"(conv_[0-9A-Za-z]+)"`, a.Body)
		// Paths of items name both. An item of the same id is found by them.
		st.Do(post("/v1/conversations/"+id+"/items", `{"items":[{"id":"`+id+`","role":"user","content":"whose item is this?"}]}`))
		return id
	}},
	{"item", "/v1/items/", func(t *testing.T, st *staged) string {
		results := st.Do(get("/v1/jobs/" + makeJob(t, st) + "/results")).Body
		return found(t, `"item_id":"(item_[0-9A-Za-z-]+)"`, results)
	}},
	{"request", "/v1/requests/", func(t *testing.T, st *staged) string {
		a := st.Do(post(chatPath, `{"model":"sim",`+ask("whose call is this?")[1:]))
		id := a.Header.Get("X-Request-Id")
		Await(t, "the record of the call", func() error {
			if a := st.Do(get("/v1/requests/" + id)); a.Status != http.StatusOK {
				return fmt.Errorf("%d %s", a.Status, a.Body)
			}
			return nil
		})
		return id
	}},
	{"file", "/v1/files/", func(t *testing.T, st *staged) string {
		form := "--x\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\nbatch\r\n" +
			"--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"rows.jsonl\"\r\n\r\n" + fileLine(1) + "\r\n--x--\r\n"
		return found(t, `"id":"(file[-_][0-9A-Za-z]+)"`, st.Do(post("/v1/files", form, "Content-Type", "multipart/form-data; boundary=x")).Body)
	}},
	{"upload", "/v1/uploads/", func(t *testing.T, st *staged) string {
		return found(t, `"id":"(upload_[0-9A-Za-z]+)"`, st.Do(post("/v1/uploads", `{"bytes":9,"filename":"whose.pdf","mime_type":"application/pdf","purpose":"user_data"}`)).Body)
	}},
	{"batch", "/v1/batches/", func(t *testing.T, st *staged) string {
		return found(t, `"id":"(batch_[0-9A-Za-z]+)"`, st.Do(post("/v1/batches", `{"input_file_id":"`+st.uploaded(openAILines(1))+
			`","endpoint":"/v1/chat/completions","completion_window":"24h"}`)).Body)
	}},
	{"message batch", "/v1/messages/batches/", func(t *testing.T, st *staged) string {
		return found(t, `"id":"(msgbatch_[0-9A-Za-z]+)"`, st.Do(post("/v1/messages/batches",
			`{"requests":[{"custom_id":"a","params":{"model":"sim","max_tokens":2,"messages":[{"role":"user","content":"whose batch is this?"}]}}]}`)).Body)
	}},
	{"webhook", "/v1/webhooks/", makeWebhook},
	{"prompt", "/v1/prompts/", makePrompt},
	{"protection", "/v1/prompt_protections/", makeProtection},
	{"delivery", "/v1/deliveries/", func(t *testing.T, st *staged) string {
		return found(t, `"id":"(dlv_[0-9A-Za-z]+)"`, st.Do(post("/v1/webhooks/"+makeWebhook(t, st)+"/test", "")).Body)
	}},
}

func makeWebhook(t *testing.T, st *staged) string {
	t.Helper()
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	t.Cleanup(receiver.Close)
	return found(t, `"id":"(whk_[0-9A-Za-z]+)"`, st.Do(post("/v1/webhooks", `{"url":"`+receiver.URL+`/hook"}`)).Body)
}

// promptRequests are the ids of requests to move labels, and draftComments those of comments on drafts, by the names of their prompts.
var promptRequests, draftComments sync.Map

// makePrompt makes a prompt with a version, a draft with a comment, a label of its own name, and a request. The name has a ULID, so that a name
// which never was can be made up.
func makePrompt(t *testing.T, st *staged) string {
	t.Helper()
	name := "whose-" + string(new(penstock.IDs).New(time.Now()))
	for _, c := range []Call{
		post("/v1/prompts/"+name+"/versions", `{"kind":"text","text":"whose prompt is this?"}`),
		{Method: "PUT", Path: "/v1/prompts/" + name + "/draft", Body: `{"kind":"text","text":"whose draft is this?"}`},
		{Method: "PUT", Path: "/v1/prompts/" + name + "/labels/" + name, Body: `{"version":1}`},
	} {
		if a := st.Do(c); a.Status/100 != 2 {
			t.Fatalf("%s %s: %d %s", c.Method, c.Path, a.Status, a.Body)
		}
	}
	a := st.Do(post("/v1/prompts/"+name+"/labels/asked/requests", `{"version":1}`))
	promptRequests.Store(name, found(t, `"id":"(lreq_[0-9A-Za-z]+)"`, a.Body))
	a = st.Do(post("/v1/prompts/"+name+"/draft/comments", `{"text":"`+firstText+`","to":5,"body":"whose comment is this?"}`))
	draftComments.Store(name, found(t, `"id":"(cmt_[0-9A-Za-z]+)"`, a.Body))
	return name
}

// firstText is the name of the first text of the first draft of a prompt.
const firstText = "t1-0"

// makeProtection makes a protected label.
func makeProtection(t *testing.T, st *staged) string {
	t.Helper()
	label := "whose-" + string(new(penstock.IDs).New(time.Now()))
	a := st.Do(st.operators().makeKey(t, "demo", strings.ToLower(label), penstock.AllScopes...).as(Call{Method: "PUT", Path: "/v1/prompt_protections/" + label, Body: `{}`}))
	if a.Status != http.StatusOK {
		t.Fatalf("protect a label: %d %s", a.Status, a.Body)
	}
	return label
}

// nobodys are paths with a name that is no tenant's own. Sessions are those of people: TestOwnSessions of package app holds that
// each person reaches the own ones alone.
var nobodys = []string{"/v1/models/", "/v1/me/sessions/"}

func makeJob(t *testing.T, st *staged) string {
	t.Helper()
	a := st.Do(post("/v1/jobs", `{"model":"sim","input":"whose job is this?"}`, "Prefer", "wait=30"))
	if a.Status != http.StatusOK {
		t.Fatalf("make a job: %d %s", a.Status, a.Body)
	}
	return found(t, `"id":"(job_[0-9A-Za-z]+)"`, a.Body)
}

func found(t *testing.T, pattern, text string) string {
	t.Helper()
	m := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("no %s in %s", pattern, text)
	}
	return m[1]
}

// operation is a method of a path that the server describes.
type operation struct {
	method, path string
	scope        penstock.Scope // "" for any key
	open         bool
}

// operations are all that the server describes: those that only read first, those that delete last.
func (c *contract) operations() (all []operation) {
	paths := c.document["paths"].(map[string]any)
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		if onAdminListener(path) {
			continue
		}
		for method, described := range paths[path].(map[string]any) {
			op := operation{method: strings.ToUpper(method), path: path}
			if security, said := described.(map[string]any)["security"].([]any); said {
				op.open = len(security) == 0
				for _, way := range security {
					for _, scopes := range way.(map[string]any) {
						for _, scope := range scopes.([]any) {
							op.scope = penstock.Scope(scope.(string))
						}
					}
				}
			}
			all = append(all, op)
		}
	}
	rank := []string{"GET", "POST", "DELETE"}
	slices.SortStableFunc(all, func(a, b operation) int {
		if a.method == "DELETE" && b.method == "DELETE" { // parts before the object that they belong to
			return strings.Count(b.path, "/") - strings.Count(a.path, "/")
		}
		return slices.Index(rank, a.method) - slices.Index(rank, b.method)
	})
	return all
}

// onAdminListener reports whether a path of the document is one of operators, which callers do not have.
func onAdminListener(path string) bool {
	return strings.HasPrefix(path, "/admin/") || path == "/metrics"
}

// ownNames are the routes that make an object of the caller's own under a name that the caller chooses. They reach no object of
// another tenant, which TestAttackPromptNames holds.
var ownNames = map[string]bool{"PUT /v1/prompts/{name}/draft": true, "POST /v1/prompts/{name}/versions": true, "PUT /v1/prompt_protections/{label}": true}

func (op operation) named() bool {
	return strings.Contains(op.path, "{") && !ownNames[op.method+" "+op.path]
}

// owned reports whether what a route tells of belongs to somebody.
func (op operation) owned() bool {
	return !op.open && !slices.ContainsFunc(nobodys, func(root string) bool { return strings.HasPrefix(op.path, root) })
}

var wildcard = regexp.MustCompile(`\{[^}]*\}`)

func (op operation) on(id string) Call {
	path := strings.NewReplacer("{version}", "1", "{text}", firstText).Replace(op.path)
	if comment, ok := draftComments.Load(id); ok && strings.Contains(path, "/draft/comments/") {
		path = strings.Replace(path, "{id}", comment.(string), 1)
	}
	if request, ok := promptRequests.Load(id); ok {
		path = strings.Replace(path, "{id}", request.(string), 1)
	}
	c := Call{Method: op.method, Path: wildcard.ReplaceAllString(path, id), Header: map[string]string{}}
	if op.method == http.MethodPatch {
		c.Body = `{}` // a change of nothing
	}
	return c
}

// TestIsolation walks every route with every kind of object of one tenant and the key of another: to a stranger it
// does not exist. Whoever owns it is answered otherwise, which shows that the probe would have found it.
func TestIsolation(t *testing.T) {
	t.Parallel()
	st := stage(t)
	at := st.operators()
	at.makeTenant(t, "umbra")
	stranger := at.makeKey(t, "umbra", "app", penstock.AllScopes...)
	ids := map[string]string{}
	for _, o := range objects {
		ids[o.name] = o.make(t, st)
	}
	probes := 0
	for _, op := range st.contract.operations() {
		if !op.owned() || op.path == "/v1/live" { // a stream has no end; TestJobs of package live holds its isolation
			continue
		}
		for kind, id := range ids {
			calls := []Call{op.on(id)}
			if op.method == "GET" && !op.named() {
				calls = []Call{op.on(""), {Method: "GET", Path: op.path + "?job_id=" + id + "&limit=100", Header: map[string]string{}}}
			} else if !op.named() {
				continue // it makes something of the caller's own
			}
			for _, c := range calls {
				probes++
				a := st.Do(stranger.as(c))
				if op.named() && a.Status != http.StatusNotFound {
					t.Errorf("%s with another tenant's %s answers %d %s", op.method+" "+op.path, kind, a.Status, a.Body)
				}
				if !op.named() && a.Status == http.StatusOK && strings.Contains(a.Body, id) { // an error may quote what was asked
					t.Errorf("%s %s shows another tenant's %s", op.method, c.Path, kind)
				}
			}
		}
	}
	for _, op := range st.contract.operations() {
		if !op.named() || !op.owned() {
			continue
		}
		i := slices.IndexFunc(objects, func(o object) bool { return strings.HasPrefix(op.path, o.root) })
		if i < 0 {
			t.Errorf("%s %s names a kind of object that is not probed", op.method, op.path)
			continue
		}
		if a := st.Do(op.on(ids[objects[i].name])); a.Status == http.StatusNotFound {
			t.Errorf("%s %s does not find its owner's %s: the probe proves nothing", op.method, op.path, objects[i].name)
		}
	}
	t.Logf("%d probes", probes)
}

// named are bodies that name what must be the caller's own.
var named = []struct{ kind, path, body string }{
	{"response", "/v1/responses", `{"model":"sim","input":"And then?","previous_response_id":"%s"}`},
	{"response", "/v1/responses", `{"model":"sim","input":"And then?","background":true,"previous_response_id":"%s"}`},
	{"conversation", "/v1/responses", `{"model":"sim","input":"And then?","conversation":"%s"}`},
	{"file", "/v1/jobs", `{"input_file":"%s"}`},
	{"file", "/v1/batches", `{"input_file_id":"%s","endpoint":"/v1/chat/completions","completion_window":"24h"}`},
}

// TestIsolationOfNames holds that a stranger who names another tenant's object in a body learns as much as from a name
// that was never given.
func TestIsolationOfNames(t *testing.T) {
	t.Parallel()
	st := stage(t)
	at := st.operators()
	at.makeTenant(t, "umbra")
	stranger := at.makeKey(t, "umbra", "app", penstock.AllScopes...)
	for _, n := range named {
		i := slices.IndexFunc(objects, func(o object) bool { return o.name == n.kind })
		id := objects[i].make(t, st)
		prefix, _, _ := strings.Cut(id, "_")
		none := prefix + "_01JQ0000000000000000000000"
		ask := func(id string) Call { return post(n.path, fmt.Sprintf(n.body, id)) }
		theirs, missing := st.Do(stranger.as(ask(id))), st.Do(stranger.as(ask(none)))
		said := regexp.MustCompile(`"request_id":"[^"]*"`)
		same := strings.ReplaceAll(said.ReplaceAllString(theirs.Body, ""), id, none) == said.ReplaceAllString(missing.Body, "")
		if theirs.Status != http.StatusNotFound || missing.Status != http.StatusNotFound || !same {
			t.Errorf("%s with another tenant's %s answers %d %s, with one that never was %d %s", n.path, n.kind, theirs.Status, theirs.Body, missing.Status, missing.Body)
		}
		if own := st.Do(ask(id)); own.Status/100 != 2 {
			t.Errorf("%s with its owner's %s answers %d %s: the probe proves nothing", n.path, n.kind, own.Status, own.Body)
		}
	}
}

// TestScopes calls every route with a key that may do everything but what the route needs.
func TestScopes(t *testing.T) {
	t.Parallel()
	st := stage(t)
	at := st.operators()
	at.makeTenant(t, "umbra")
	lacking := map[penstock.Scope]madeKey{}
	for _, scope := range penstock.AllScopes {
		others := slices.DeleteFunc(slices.Clone(penstock.AllScopes), func(s penstock.Scope) bool { return s == scope })
		lacking[scope] = at.makeKey(t, "umbra", strings.ReplaceAll(string(scope), ":", "-"), others...)
	}
	probes := 0
	for _, op := range st.contract.operations() {
		if op.scope == "" {
			continue
		}
		probes++
		a := st.Do(lacking[op.scope].as(op.on("x")))
		if a.Status != http.StatusForbidden || !strings.Contains(a.Body, "scope_missing") && !strings.Contains(a.Body, "permission_error") {
			t.Errorf("%s %s without %s answers %d %s", op.method, op.path, op.scope, a.Status, a.Body)
		}
	}
	if probes < 10 {
		t.Errorf("only %d routes need a scope", probes)
	}
	for _, path := range []string{"/admin/v1/tenants", "/admin/v1/keys", "/admin/v1/controls", "/admin/v1/audit?tenant=umbra", "/admin/v1/load"} {
		usual := at.makeKey(t, "umbra", fmt.Sprintf("usual-%d", probes))
		probes++
		if a := at.Do(usual.as(get(path))); a.Status != http.StatusForbidden {
			t.Errorf("%s with a key of a tenant answers %d %s", path, a.Status, a.Body)
		}
	}
}

// TestGuessing holds that an address which guesses is refused before its keys are looked at, that callers with good keys at
// that address are not, and that a good key which is new there gets in too.
func TestGuessing(t *testing.T) {
	t.Parallel()
	st := stage(t)
	st.operators().makeTenant(t, "late")
	late := st.operators().makeKey(t, "late", "new")
	if a := st.Do(get("/v1/jobs")); a.Status != http.StatusOK {
		t.Fatalf("a good key is answered with %d %s", a.Status, a.Body)
	}
	refused := 0
	for n := range 40 {
		a := st.Do(get("/v1/jobs", "Authorization", fmt.Sprintf("Bearer psk_guess_%016d", n)))
		switch a.Status {
		case http.StatusUnauthorized:
		case http.StatusTooManyRequests:
			refused++
			if a.Header.Get("Retry-After") == "" || !strings.Contains(a.Body, "rate_limited") {
				t.Errorf("%v %s", a.Header, a.Body)
			}
		default:
			t.Fatalf("a guess is answered with %d %s", a.Status, a.Body)
		}
	}
	if refused < 10 {
		t.Errorf("%d of 40 guesses were slowed down", refused)
	}
	// The admin API counts for itself: an operator whose key is new to the address gets in while tenants guess.
	for n := range 30 {
		want := http.StatusUnauthorized
		if n >= 25 {
			want = http.StatusTooManyRequests
		}
		a := st.operators().Do(get("/admin/v1/keys", "Authorization", fmt.Sprintf("Bearer psk_guess_of_admins_%016d", n)))
		if (n < 15 || n >= 25) && a.Status != want {
			t.Errorf("guess %d at the admin API is answered with %d", n, a.Status)
		}
	}
	if a := st.Do(get("/v1/jobs")); a.Status != http.StatusOK {
		t.Errorf("a good key from the same address is answered with %d %s", a.Status, a.Body)
	}
	if a := st.operators().Do(get("/admin/v1/keys")); a.Status != http.StatusOK {
		t.Errorf("the admin key from the same address is answered with %d %s", a.Status, a.Body)
	}
	Await(t, "a key that is new at this address to get in", func() error {
		if a := st.Do(late.as(get("/v1/jobs"))); a.Status != http.StatusOK {
			return fmt.Errorf("%d %s", a.Status, a.Body)
		}
		return nil
	})
}
