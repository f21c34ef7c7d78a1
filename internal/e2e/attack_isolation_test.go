package e2e

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"penstock"
	"penstock/internal/admin"
)

// ulid is the part of an id that says which one it is.
var ulid = regexp.MustCompile(`[0-9A-HJKMNP-TV-Z]{26}`)

// neighbour is an id that was never given, as close to a real one as can be: it sorts beside it, so that a cursor before
// or behind either means the same.
func neighbour(t testing.TB, id string) string {
	t.Helper()
	at := ulid.FindStringIndex(id)
	if at == nil {
		t.Fatalf("%s holds no ULID: the probe does not know how to make up another", id)
	}
	last := "0"
	if id[at[1]-1] == '0' {
		last = "1"
	}
	return id[:at[1]-1] + last + id[at[1]:]
}

// parametersOf are the names of an operation's parameters that can hold any text.
func (c *contract) parametersOf(op operation, in string) (names []string) {
	described := c.document["paths"].(map[string]any)[op.path].(map[string]any)[strings.ToLower(op.method)].(map[string]any)
	list, _ := described["parameters"].([]any)
	for _, p := range list {
		p := p.(map[string]any)
		schema, _ := p["schema"].(map[string]any)
		if p["in"] == in && schema["type"] == "string" && schema["format"] == nil && schema["enum"] == nil {
			names = append(names, p["name"].(string))
		}
	}
	return names
}

// TestAttackCrossTenantPaths walks every route that names an object in its path, on both engines. The key of another
// tenant learns from another's id exactly what it learns from an id that never was: status, headers and body are the
// same. Afterwards all that the owner can read is as it was.
func TestAttackCrossTenantPaths(t *testing.T) {
	t.Parallel()
	for _, engine := range scenarioEngines() {
		t.Run(engine.name, func(t *testing.T) {
			t.Parallel()
			st := stage(t, engine.env(t)...)
			thief, ids := st.strangerAndObjects(t)
			before := st.worldOf(t, ids)
			probes := 0
			for _, op := range st.contract.operations() {
				if !op.named() || !op.owned() {
					continue
				}
				for _, id := range ids {
					for _, c := range probesOf(op, id) {
						probes++
						theirs, missing := st.Do(thief.as(c)), st.Do(thief.as(instead(t, c, id)))
						if theirs.Status != http.StatusNotFound || strings.ReplaceAll(unsaid(theirs), id, neighbour(t, id)) != unsaid(missing) {
							t.Errorf("%s %s: another tenant's id is answered\n%s\nand one that never was\n%s", c.Method, c.Path, unsaid(theirs), unsaid(missing))
						}
					}
				}
			}
			for path, was := range before {
				if is := st.Do(get(path)); unsaid(is) != was {
					t.Errorf("GET %s changed by what a stranger did, from\n%s\nto\n%s", path, was, unsaid(is))
				}
			}
			t.Logf("%d probes, %d answers of the owner compared", probes, len(before))
		})
	}
}

// strangerAndObjects makes one object of each kind for the first tenant, and a key with all scopes for another.
func (st *staged) strangerAndObjects(t *testing.T) (thief madeKey, ids map[string]string) {
	t.Helper()
	at := st.operators()
	at.makeTenant(t, "umbra")
	thief, ids = at.makeKey(t, "umbra", "app", penstock.AllScopes...), map[string]string{}
	for _, o := range objects {
		ids[o.name] = o.make(t, st)
	}
	return thief, ids
}

// probesOf are the ways in which a stranger asks for an id.
func probesOf(op operation, id string) []Call {
	plain := op.on(id)
	calls := []Call{plain}
	switch op.method {
	case http.MethodGet:
		head, waiting := op.on(id), op.on(id)
		head.Method = http.MethodHead
		waiting.Header["Prefer"] = "wait=1"
		calls = append(calls, head, waiting)
	case http.MethodPost:
		empty := op.on(id)
		empty.Body = "{}"
		calls = append(calls, empty)
	}
	for _, header := range []string{"If-Match", "If-None-Match", "Idempotency-Key"} {
		c := op.on(id)
		c.Header[header] = `"v1"`
		calls = append(calls, c)
	}
	return calls
}

// instead is a call with an id that never was.
func instead(t *testing.T, c Call, id string) Call {
	other := c
	other.Header = map[string]string{}
	for name, value := range c.Header {
		other.Header[name] = value
	}
	other.Path, other.Body = strings.ReplaceAll(c.Path, id, neighbour(t, id)), strings.ReplaceAll(c.Body, id, neighbour(t, id))
	return other
}

// aboutNow are the routes whose answers have the present time, or do not end: reports, and the stream of live events.
var aboutNow = map[string]bool{"/v1/usage": true, "/v1/usage/forecast": true, "/v1/overview": true, "/v1/load": true, "/v1/live": true}

// worldOf is all that the owner of objects can read, by path, once nothing moves any more.
func (st *staged) worldOf(t *testing.T, ids map[string]string) map[string]string {
	t.Helper()
	var paths []string
	for _, op := range st.contract.operations() {
		if op.method != http.MethodGet || !op.owned() || aboutNow[op.path] {
			continue
		}
		if !op.named() {
			paths = append(paths, op.path)
		}
		for _, o := range objects {
			if op.named() && strings.HasPrefix(op.path, o.root) {
				paths = append(paths, wildcard.ReplaceAllString(op.path, ids[o.name]))
			}
		}
	}
	world := map[string]string{}
	Await(t, "the owner's objects to come to rest", func() error {
		var moved error
		for _, path := range paths {
			now := unsaid(st.Do(get(path)))
			if world[path] != now || strings.Contains(now, `"in_progress"`) || strings.Contains(now, `"validating"`) || strings.Contains(now, `"finalizing"`) {
				moved = fmt.Errorf("%s still changes: %.300s", path, now)
			}
			world[path] = now
		}
		return moved
	})
	return world
}

// TestAttackCrossTenantQueries asks every list with every parameter of it that takes text, such as cursors and filters,
// set to another tenant's id: the answer is that of an id which never was, and shows nothing of the owner's.
func TestAttackCrossTenantQueries(t *testing.T) {
	t.Parallel()
	st := stage(t)
	thief, ids := st.strangerAndObjects(t)
	asked := 0
	for _, op := range st.contract.operations() {
		if op.method != http.MethodGet || !op.owned() || op.named() {
			continue
		}
		for _, parameter := range append(st.contract.parametersOf(op, "query"), st.contract.parametersOf(op, "header")...) {
			for _, id := range ids {
				c := get(op.path + "?" + parameter + "=" + url.QueryEscape(id))
				asked++
				theirs, missing := st.Do(thief.as(c)), st.Do(thief.as(instead(t, c, id)))
				if strings.ReplaceAll(unsaid(theirs), id, neighbour(t, id)) != unsaid(missing) {
					t.Errorf("GET %s: another tenant's id is answered\n%s\nand one that never was\n%s", c.Path, unsaid(theirs), unsaid(missing))
				}
				for kind, other := range ids {
					if theirs.Status == http.StatusOK && strings.Contains(theirs.Body, ulid.FindString(other)) {
						t.Errorf("GET %s shows another tenant's %s: %s", c.Path, kind, theirs.Body)
					}
				}
			}
		}
	}
	if asked < 50 {
		t.Errorf("only %d questions were asked", asked)
	}
}

// orders are a body for every route that makes something of the caller's own. A route without one fails the tests below:
// add it here.
var orders = map[string]string{
	"/v1/jobs":                  `{"model":"sim","input":"order %s"}`,
	"/v1/chat/completions":      `{"model":"sim","messages":[{"role":"user","content":"order %s"}]}`,
	"/v1/completions":           `{"model":"sim","prompt":"order %s"}`,
	"/v1/embeddings":            `{"model":"sim","input":"order %s"}`,
	"/v1/rerank":                `{"model":"sim","query":"order %s","documents":["one","two"]}`,
	"/v2/rerank":                `{"model":"sim","query":"order %s","documents":["one","two"]}`,
	"/v1/responses":             `{"model":"sim","input":"order %s"}`,
	"/v1/messages":              `{"model":"sim","max_tokens":9,"messages":[{"role":"user","content":"order %s"}]}`,
	"/v1/messages/count_tokens": `{"model":"sim","messages":[{"role":"user","content":"order %s"}]}`,
	"/v1/batches":               `{"input_file_id":"FILE","endpoint":"/v1/chat/completions","completion_window":"24h","metadata":{"order":"%s"}}`,
	"/v1/messages/batches":      `{"requests":[{"custom_id":"a","params":{"model":"sim","max_tokens":2,"messages":[{"role":"user","content":"order %s"}]}}]}`,
	"/v1/jobs/{id}/retry":       `{}`,
}

// TestAttackIdempotencyKeys uses one tenant's Idempotency-Key with the key of another, on every route that takes one: the
// other gets an answer of its own, neither the first one's nor a complaint that the key was used.
func TestAttackIdempotencyKeys(t *testing.T) {
	t.Parallel()
	for _, engine := range scenarioEngines() {
		t.Run(engine.name, func(t *testing.T) {
			t.Parallel()
			st := stage(t, engine.env(t)...)
			at := st.operators()
			at.makeTenant(t, "umbra")
			thief := at.makeKey(t, "umbra", "app", penstock.AllScopes...)
			for _, op := range st.contract.operations() {
				if op.method != http.MethodPost || !slices.Contains(st.contract.parametersOf(op, "header"), "Idempotency-Key") {
					continue
				}
				if orders[op.path] == "" {
					t.Errorf("%s takes an Idempotency-Key, and no order for it is known", op.path)
				}
				if op.named() {
					continue // what it names is not the stranger's: TestAttackCrossTenantPaths
				}
				st.stealIdempotencyKey(t, op.path, thief)
			}
		})
	}
}

func (st *staged) stealIdempotencyKey(t *testing.T, path string, thief madeKey) {
	t.Helper()
	send := func(text string, as func(Call) Call) Answer {
		body := orders[path]
		if strings.Contains(body, "FILE") {
			form := "--x\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\nbatch\r\n" +
				"--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"rows.jsonl\"\r\n\r\n" + openAILines(1) + "\r\n--x--\r\n"
			made := st.Do(as(post("/v1/files", form, "Content-Type", "multipart/form-data; boundary=x")))
			body = strings.Replace(body, "FILE", found(t, `"id":"(file[-_][0-9A-Za-z]+)"`, made.Body), 1)
		}
		return st.Do(as(post(path, fmt.Sprintf(body, text), "Idempotency-Key", "shared-"+path)))
	}
	mine := send("mine", func(c Call) Call { return c })
	for _, text := range []string{"mine", "other"} {
		theirs := send(text, thief.as)
		if text == "other" { // their own key by now
			if theirs.Status != http.StatusConflict && theirs.Status != http.StatusUnprocessableEntity {
				t.Errorf("%s: a stranger's second body under one key is answered %d %s", path, theirs.Status, theirs.Body)
			}
			continue
		}
		if mine.Status/100 != 2 || theirs.Status/100 != 2 || strings.Contains(theirs.Body, idOf(mine.Body)) || theirs.Header.Get("Idempotency-Replayed") != "" {
			t.Errorf("%s: the owner is answered %d %s, a stranger with the same key %d %s", path, mine.Status, mine.Body, theirs.Status, theirs.Body)
		}
	}
}

// idOf is the id in an answer that has one.
func idOf(body string) string {
	if m := regexp.MustCompile(`"id":"([^"]+)"`).FindStringSubmatch(body); m != nil {
		return m[1]
	}
	return "no id"
}

// TestAttackDeadLetters holds that a stranger who names another's job in the filter of dead letters reaches none of them.
func TestAttackDeadLetters(t *testing.T) {
	t.Parallel()
	st := stage(t)
	at := st.operators()
	at.makeTenant(t, "umbra")
	thief := at.makeKey(t, "umbra", "app", penstock.AllScopes...)
	a := st.Do(post("/v1/jobs", `{"model":"sim","max_attempts":1,"input":"fail [sim:fault=bad_request]"}`, "Prefer", "wait=30"))
	job := idOf(a.Body)
	if !strings.Contains(a.Body, `"failed"`) {
		t.Fatalf("the job did not fail: %s", a.Body)
	}
	item := found(t, `"item_id":"(item_[0-9A-Za-z-]+)"`, st.Do(get("/v1/dead_letters/items")).Body)
	before := unsaid(st.Do(get("/v1/dead_letters")))
	for _, path := range []string{"/v1/dead_letters/retry", "/v1/dead_letters/dismiss"} {
		for _, filter := range []string{`{"job_id":"` + job + `"}`, `{"item_ids":["` + item + `"]}`, `{"all":true}`, `{"model":"sim"}`} {
			theirs := st.Do(thief.as(post(path, `{"filter":`+filter+`}`)))
			if strings.Contains(theirs.Body, ulid.FindString(job)) && theirs.Status == http.StatusOK || regexp.MustCompile(`:[1-9]`).MatchString(theirs.Body) && theirs.Status == http.StatusOK {
				t.Errorf("%s with %s as a stranger: %d %s", path, filter, theirs.Status, theirs.Body)
			}
		}
	}
	if after := unsaid(st.Do(get("/v1/dead_letters"))); after != before || !strings.Contains(after, `"count":1`) {
		t.Errorf("the owner's dead letters were\n%s\nand are\n%s", before, after)
	}
}

// TestAttackSignedLinks changes each part of a link to a file: only the link as it was made opens anything.
func TestAttackSignedLinks(t *testing.T) {
	t.Parallel()
	st := stage(t)
	at := st.operators()
	at.makeTenant(t, "umbra")
	thief := at.makeKey(t, "umbra", "app", penstock.AllScopes...)
	file := st.uploaded(openAILines(2))
	second := st.uploaded(openAILines(3))
	linked := st.Do(post("/v1/files/"+file+"/url", `{"expires_in":"60s"}`))
	text := found(t, `"url":"([^"]+)"`, linked.Body)
	link, err := url.Parse(strings.ReplaceAll(text, `\u0026`, "&"))
	if err != nil {
		t.Fatal(err)
	}
	open := func(u url.URL, headers ...string) Answer { return st.Do(get(u.RequestURI(), headers...)) }
	if a := open(*link, "Authorization", ""); a.Status != http.StatusOK || !strings.Contains(a.Body, "custom_id") {
		t.Fatalf("the link does not work: %d %s", a.Status, a.Body)
	}
	other := found(t, `/v1/download/[^/]+/([^?]+)`, strings.ReplaceAll(found(t, `"url":"([^"]+)"`, st.Do(post("/v1/files/"+second+"/url", "")).Body), `\u0026`, "&"))
	forged := []url.URL{}
	forge := func(change func(u *url.URL, q url.Values)) {
		u := *link
		q := u.Query()
		change(&u, q)
		u.RawQuery = q.Encode()
		forged = append(forged, u)
	}
	segments := strings.Split(link.Path, "/")
	tenant, object := segments[3], segments[4]
	forge(func(u *url.URL, _ url.Values) { u.Path = "/v1/download/umbra/" + object })
	forge(func(u *url.URL, _ url.Values) { u.Path = "/v1/download/" + tenant + "/" + other })
	forge(func(u *url.URL, _ url.Values) { u.Path = "/v1/download/" + tenant + "/" + strings.ToLower(object) })
	for _, expires := range []string{"", "0", "-1", "9999999999", "99999999999999999999", "1e10", "0x7fffffff", " "} {
		forge(func(_ *url.URL, q url.Values) { q.Set("expires", expires) })
	}
	at64, _ := strconv.ParseInt(link.Query().Get("expires"), 10, 64)
	forge(func(_ *url.URL, q url.Values) { q.Set("expires", strconv.FormatInt(at64+1, 10)) })
	forge(func(_ *url.URL, q url.Values) { q.Set("expires", "+"+q.Get("expires")) })
	sig := link.Query().Get("sig")
	for _, s := range []string{"", sig[:len(sig)-2], sig + "A", strings.ToUpper(sig), strings.ToLower(sig), strings.Repeat("A", len(sig)), strings.Repeat("A", 100_00)} {
		if s != sig {
			forge(func(_ *url.URL, q url.Values) { q.Set("sig", s) })
		}
	}
	for _, u := range forged {
		for _, a := range []Answer{open(u, "Authorization", ""), open(u), open(u, "Authorization", "Bearer "+thief.Secret)} {
			if a.Status/100 != 4 || strings.Contains(a.Body, "custom_id") {
				t.Errorf("%s answers %d %s", u.RequestURI(), a.Status, a.Body)
			}
		}
	}
}

// adminPatterns are the patterns of all admin routes, from the table that serves them: a new one is probed by itself.
func adminPatterns() (patterns []string) {
	for _, rt := range admin.Surface().Routes {
		if strings.HasPrefix(rt.Path, "/admin/") {
			patterns = append(patterns, strings.TrimSpace(rt.Method+" "+rt.Path))
		}
	}
	return patterns
}

// TestAttackAdminRoutes calls every admin route with the keys of tenants, with wrong ones and with none: all are refused,
// before anything is read, and none is served where tenants call.
func TestAttackAdminRoutes(t *testing.T) {
	t.Parallel()
	st := stage(t)
	at := st.operators()
	at.makeTenant(t, "umbra")
	scopes := slices.DeleteFunc(slices.Clone(penstock.AllScopes), func(s penstock.Scope) bool { return s == penstock.ScopeAdmin })
	every := at.makeKey(t, "umbra", "every", scopes...)
	patterns := adminPatterns()
	if len(patterns) < 15 {
		t.Fatalf("only %d admin routes were found: %v", len(patterns), patterns)
	}
	lastUse := regexp.MustCompile(`"last_used_at":("[^"]*"|null)`) // a refused call is a use too, noted later
	state := func() string {
		return lastUse.ReplaceAllString(at.Do(get("/admin/v1/tenants")).Body+at.Do(get("/admin/v1/keys")).Body+at.Do(get("/admin/v1/controls")).Body, "")
	}
	before := state()
	for _, pattern := range patterns {
		method, path, ok := strings.Cut(pattern, " ")
		if !ok {
			t.Errorf("the admin route %q names no method", pattern)
			continue
		}
		c := Call{Method: method, Path: wildcard.ReplaceAllString(path, "umbra"), Body: `{"id":"evil","tenant":"umbra","name":"evil"}`}
		for who, key := range map[string]string{"a tenant": every.Secret, "the first tenant": Key, "nobody": ""} {
			c.Header = map[string]string{"Authorization": "Bearer " + key}
			if a := at.Do(c); a.Status != http.StatusForbidden && a.Status != http.StatusUnauthorized && a.Status != http.StatusTooManyRequests {
				t.Errorf("%s as %s answers %d %s", pattern, who, a.Status, a.Body)
			}
			if a := st.Do(c); a.Status != http.StatusNotFound && a.Status != http.StatusTooManyRequests {
				t.Errorf("%s is served to callers: %d %s", pattern, a.Status, a.Body)
			}
		}
	}
	if after := state(); after != before {
		t.Errorf("the refused calls changed\n%s\nto\n%s", before, after)
	}
}

// idNames are members of bodies that name objects; those that only look so.
var (
	idName = regexp.MustCompile(`(^|_)(id|ids|file|of)$`)
	// A caller's own words for a line, for a call of a tool in its conversation, and for a user; the bytes of an upload.
	notOurs = []string{"custom_id", "tool_call_id", "user_id", "file"}
)

// TestAttackEveryIDInABodyIsProbed walks the bodies that the API describes: a member which names an object must stand in
// the table of TestIsolationOfNames or in a test of its own.
func TestAttackEveryIDInABodyIsProbed(t *testing.T) {
	t.Parallel()
	st := stage(t)
	probed := map[string]bool{
		"/v1/dead_letters/retry job_id": true, "/v1/dead_letters/dismiss job_id": true, "/v1/dead_letters/retry item_ids": true, "/v1/dead_letters/dismiss item_ids": true, // TestAttackDeadLetters
		"/v1/uploads/{id}/complete part_ids": true, // TestAttackFilesOfOtherTenants
		// The caller's own word for a call of a tool in an example; the prompts that a text includes are in TestAttackPromptNames.
		"/v1/prompts/{name}/draft id": true, "/v1/prompts/{name}/draft/structure id": true, "/v1/prompts/{name}/versions id": true,
	}
	for _, n := range named {
		for _, member := range []string{"previous_response_id", "input_file", "input_file_id"} {
			if strings.Contains(n.body, `"`+member+`":"%s"`) {
				probed[n.path+" "+member] = true
			}
		}
	}
	for path, methods := range st.contract.document["paths"].(map[string]any) {
		if onAdminListener(path) {
			continue // operators name all tenants
		}
		for _, described := range methods.(map[string]any) {
			body, _ := described.(map[string]any)["requestBody"].(map[string]any)
			for _, member := range st.contract.membersOf(body, map[string]bool{}) {
				if idName.MatchString(member) && !slices.Contains(notOurs, member) && !probed[path+" "+member] {
					t.Errorf("the body of %s has a member %s, and no test uses another tenant's there", path, member)
				}
			}
		}
	}
	if len(probed) < 5 {
		t.Errorf("only %v are probed", probed)
	}
}

// membersOf are the names of all members that a schema describes, at any depth.
func (c *contract) membersOf(schema any, seen map[string]bool) (names []string) {
	switch v := schema.(type) {
	case []any:
		for _, part := range v {
			names = append(names, c.membersOf(part, seen)...)
		}
	case map[string]any:
		if ref, ok := v["$ref"].(string); ok && !seen[ref] {
			seen[ref] = true
			schemas := c.document["components"].(map[string]any)["schemas"].(map[string]any)
			names = append(names, c.membersOf(schemas[ref[strings.LastIndexByte(ref, '/')+1:]], seen)...)
		}
		if properties, ok := v["properties"].(map[string]any); ok {
			for name := range properties {
				names = append(names, name)
			}
		}
		for _, part := range v {
			names = append(names, c.membersOf(part, seen)...)
		}
	}
	return names
}
