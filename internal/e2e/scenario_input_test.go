package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

var inputScenarios = []scenario{
	{name: "input_job_envelope", play: func(s *scene) { s.refuses("/v1/jobs", badEnvelopes) }},
	{name: "input_job_fields", play: func(s *scene) { s.refuses("/v1/jobs", badFields) }},
	{name: "input_job_bodies", play: func(s *scene) { s.refuses("/v1/jobs", badBodies) }},
	{name: "input_chat", play: func(s *scene) { s.refuses(chatPath, badChats) }},
	{name: "input_bounds", play: inputBounds, own: true}, // ten thousand items would keep others waiting
	{name: "input_headers", play: inputHeaders},
	{name: "input_queries", play: inputQueries},
}

// badInput is a body that is refused with one error.
type badInput struct {
	name, body string
	param      string // the field that the error names, "" when the body as a whole is wrong
	says       string // what the message has to say, beside the field
	status     int    // 400 when not given
}

// refuses sends bodies that must be refused, each with one error that names the field, and holds that
// nothing of them was kept.
func (s *scene) refuses(path string, table []badInput) {
	for _, bad := range table {
		a := s.call(post(path, bad.body))
		s.script.note("### %s\n%s\n=> %d param %s\n%s\n", bad.name, shown(bad.body), a.Status, s.field(a, "error.param"), s.field(a, "error.message"))
		if err := s.contract.check(Call{Method: "POST", Path: path}, a); err != nil {
			s.Errorf("%s: %v", bad.name, err)
		}
		want := max(bad.status, http.StatusBadRequest)
		if a.Status != want || s.field(a, "error.param") != bad.param || a.Header.Get("X-Should-Retry") != "false" {
			s.Errorf("%s: answered with %d, param %q, x-should-retry %s; want %d and %q", bad.name, a.Status, s.field(a, "error.param"),
				a.Header.Get("X-Should-Retry"), want, bad.param)
		}
		for _, word := range []string{bad.param, bad.says} {
			if !strings.Contains(s.field(a, "error.message"), word) {
				s.Errorf("%s: the message does not say %q: %s", bad.name, word, s.field(a, "error.message"))
			}
		}
		if strings.Contains(a.Body, "json:") || strings.Contains(a.Body, "Go ") || strings.Contains(a.Body, "jsontext") {
			s.Errorf("%s: the message speaks of our insides: %s", bad.name, a.Body)
		}
	}
	if ids, _ := s.listed("model=bad"); len(ids) != 0 {
		s.Errorf("%d of the refused jobs were kept", len(ids))
	}
}

// badEnvelopes are bodies that are no job at all.
var badEnvelopes = []badInput{
	{name: "empty", body: ""},
	{name: "white space", body: " \n\t"},
	{name: "truncated", body: `{"model":"bad","input":"Hi"`},
	{name: "truncated in a string", body: `{"model":"bad","input":"H`, param: "input"},
	{name: "not JSON", body: `model=bad&input=Hi`},
	{name: "an array", body: `[{"model":"bad","input":"Hi"}]`},
	{name: "a string", body: `"Hi"`},
	{name: "a number", body: `17`},
	{name: "null", body: `null`},
	{name: "two values", body: `{"model":"bad","input":"Hi"}{"model":"bad","input":"Hi"}`},
	{name: "a comma too many", body: `{"model":"bad","input":"Hi",}`},
	{name: "a comment", body: `{"model":"bad", /* why not */ "input":"Hi"}`},
	{name: "no UTF-8 in a value", body: "{\"model\":\"bad\",\"input\":\"\xff\"}", param: "input"},
	{name: "no UTF-8 in a name", body: "{\"model\":\"bad\",\"\xff\":1}"},
	{name: "half a surrogate", body: `{"model":"bad","input":"\ud800"}`, param: "input"},
	{name: "a control character in a string", body: "{\"model\":\"bad\",\"input\":\"a\nb\"}", param: "input"},
	{name: "nested too deeply", body: `{"model":"bad","input":` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}`},
	{name: "nested without an end", body: strings.Repeat(`{"input":`, 100_000)},
	{name: "too large", body: `{"model":"bad","input":"` + strings.Repeat("a", 8<<20) + `"}`, status: http.StatusRequestEntityTooLarge},
	{name: "an unknown field", body: `{"model":"bad","input":"Hi","modle":"x"}`, param: "modle"},
	{name: "an unknown field in another case", body: `{"model":"bad","Input":"Hi"}`, param: "Input"},
	{name: "an unknown field of an input", body: `{"model":"bad","inputs":[{"body":{}},{"body":{},"id":"x"}]}`, param: "inputs[1].id"},
	{name: "a long unknown field", body: `{"model":"bad","` + strings.Repeat("x", 100) + `":1}`, param: strings.Repeat("x", 64) + "…"},
	{name: "a name twice", body: `{"model":"bad","input":"Hi","model":"worse"}`, param: "model"},
	{name: "a name twice in an input", body: `{"model":"bad","inputs":[{"custom_id":"a","body":{},"custom_id":"b"}]}`, param: "inputs[0].custom_id"},
	{name: "a name twice in a body", body: `{"model":"bad","inputs":[{"body":{"messages":[],"messages":[]}}]}`, param: "inputs[0].body.messages"},
	{name: "a name twice deep in a body", body: `{"model":"bad","input":{"messages":[{"role":"user","role":"system"}]}}`, param: "input.messages[0].role"},
	{name: "a name twice in tags", body: `{"model":"bad","input":"Hi","tags":{"a":"1","a":"2"}}`, param: "tags.a"},
}

// withField is a job that is fine but for one field.
func withField(field string) string { return `{"model":"bad","input":"Hi",` + field + `}` }

// badFields are jobs with one field that is wrong.
var badFields = []badInput{
	{name: "no model", body: `{"input":"Hi"}`, param: "model"},
	{name: "an empty model", body: `{"model":"","input":"Hi"}`, param: "model"},
	{name: "a number for a model", body: `{"model":5,"input":"Hi"}`, param: "model"},
	{name: "a long model", body: `{"model":"` + strings.Repeat("m", 257) + `","input":"Hi"}`, param: "model"},
	{name: "NUL in a model", body: `{"model":"ba\u0000d","input":"Hi"}`, param: "model"},
	{name: "endpoint", body: withField(`"endpoint":"/v1/moderations"`), param: "endpoint"},
	{name: "endpoint of the wrong type", body: withField(`"endpoint":["/v1/chat/completions"]`), param: "endpoint"},
	{name: "lane", body: withField(`"lane":"express"`), param: "lane"},
	{name: "lane of the wrong type", body: withField(`"lane":1`), param: "lane"},
	{name: "deadline in the past", body: withField(`"deadline":"2020-01-01T00:00:00Z"`), param: "deadline"},
	{name: "deadline too far away", body: withField(`"deadline":"2999-01-01T00:00:00Z"`), param: "deadline"},
	{name: "deadline that is no time", body: withField(`"deadline":"tomorrow"`), param: "deadline", says: "RFC 3339"},
	{name: "deadline without a zone", body: withField(`"deadline":"2030-01-01T00:00:00"`), param: "deadline", says: "RFC 3339"},
	{name: "deadline of the wrong type", body: withField(`"deadline":1794712843`), param: "deadline", says: "RFC 3339"},
	{name: "max_attempts of 0", body: withField(`"max_attempts":0`), param: "max_attempts"},
	{name: "max_attempts below 0", body: withField(`"max_attempts":-4`), param: "max_attempts"},
	{name: "max_attempts too large", body: withField(`"max_attempts":21`), param: "max_attempts"},
	{name: "max_attempts far too large", body: withField(`"max_attempts":1e30`), param: "max_attempts"},
	{name: "max_attempts of one and a half", body: withField(`"max_attempts":1.5`), param: "max_attempts"},
	{name: "max_attempts as text", body: withField(`"max_attempts":"4"`), param: "max_attempts"},
	{name: "item_timeout too short", body: withField(`"item_timeout":"500ms"`), param: "item_timeout"},
	{name: "item_timeout too long", body: withField(`"item_timeout":"2h"`), param: "item_timeout"},
	{name: "item_timeout below 0", body: withField(`"item_timeout":"-5s"`), param: "item_timeout"},
	{name: "item_timeout without a unit", body: withField(`"item_timeout":"60"`), param: "item_timeout", says: "duration"},
	{name: "item_timeout of the wrong type", body: withField(`"item_timeout":60`), param: "item_timeout", says: "duration"},
	{name: "tags of the wrong type", body: withField(`"tags":["a"]`), param: "tags"},
	{name: "a tag of the wrong type", body: withField(`"tags":{"team":5}`), param: "tags.team"},
	{name: "a tag inside a tag", body: withField(`"tags":{"team":{"name":"search"}}`), param: "tags.team"},
	{name: "a numbered tag of the wrong type", body: withField(`"tags":{"2":5}`), param: "tags.2"},
	{name: "a tag without a name", body: withField(`"tags":{"":"a"}`), param: "tags"},
	{name: "a tag with a long name", body: withField(`"tags":{"` + strings.Repeat("t", 65) + `":"a"}`), param: "tags"},
	{name: "a tag with a long value", body: withField(`"tags":{"team":"` + strings.Repeat("v", 257) + `"}`), param: "tags"},
	{name: "NUL in the name of a tag", body: withField(`"tags":{"te\u0000am":"a"}`), param: "tags"},
	{name: "NUL in a tag", body: withField(`"tags":{"team":"a\u0000b"}`), param: "tags"},
	{name: "too many tags", body: withField(`"tags":{` + numbered(17, `"t%d":"v"`) + `}`), param: "tags"},
	{name: "stream of what has no text", body: withField(`"endpoint":"/v1/embeddings","stream":true`), param: "stream"},
	{name: "stream of the wrong type", body: withField(`"stream":"no"`), param: "stream"},
	{name: "dry_run of the wrong type", body: withField(`"dry_run":"yes"`), param: "dry_run"},
	{name: "a dry run of nothing", body: `{"model":"bad","dry_run":true}`, param: "input"},
	{name: "webhook", body: withField(`"webhook":{"url":"ftp://app.example/hook"}`), param: "webhook.url"},
	{name: "input_file", body: withField(`"input_file":"file_1"`), param: "input_file"},
}

// badBodies are jobs whose inputs are wrong.
var badBodies = []badInput{
	{name: "nothing to run", body: `{"model":"bad"}`, param: "input"},
	{name: "input is null", body: `{"model":"bad","input":null}`, param: "input"},
	{name: "no inputs", body: `{"model":"bad","inputs":[]}`, param: "input"},
	{name: "both", body: `{"model":"bad","input":"Hi","inputs":[{"body":{}}]}`, param: "inputs"},
	{name: "both, one of them empty", body: `{"model":"bad","input":"Hi","inputs":[]}`, param: "inputs"},
	{name: "input is a number", body: `{"model":"bad","input":5}`, param: "input"},
	{name: "input is an array", body: `{"model":"bad","input":["Hi"]}`, param: "input"},
	{name: "inputs is an object", body: `{"model":"bad","inputs":{"body":{}}}`, param: "inputs"},
	{name: "messages and input", body: `{"model":"bad","input":"Hi","messages":[]}`, param: "messages"},
	{name: "messages is a string", body: `{"model":"bad","messages":"Hi"}`, param: "messages", says: "goes into input"},
	{name: "messages for an endpoint without them", body: `{"model":"bad","endpoint":"/v1/embeddings","messages":[]}`, param: "messages", says: "give it as input"},
	{name: "inputs holds a number", body: `{"model":"bad","inputs":["Hi",7]}`, param: "inputs[1]"},
	{name: "inputs holds null", body: `{"model":"bad","inputs":[null]}`, param: "inputs[0]", says: "must be a string or an object"},
	{name: "too many inputs", body: `{"model":"bad","inputs":[` + numbered(10_001, `{"custom_id":"%d","body":{}}`) + `]}`, param: "inputs"},
	{name: "an input without a body", body: `{"model":"bad","inputs":[{"body":{"messages":[]}},{"custom_id":"b"}]}`, param: "inputs[1].body"},
	{name: "a body that is null", body: `{"model":"bad","inputs":[{"body":null}]}`, param: "inputs[0].body"},
	{name: "a body that is a number", body: `{"model":"bad","inputs":[{"body":7}]}`, param: "inputs[0].body"},
	{name: "a body that is an array", body: `{"model":"bad","inputs":[{"body":[]}]}`, param: "inputs[0].body"},
	{name: "NUL in a custom_id", body: `{"model":"bad","inputs":[{"custom_id":"a\u0000b","body":{}}]}`, param: "inputs[0].custom_id"},
	{name: "a line break in a custom_id", body: `{"model":"bad","inputs":[{"custom_id":"a\nb","body":{}}]}`, param: "inputs[0].custom_id"},
	{name: "a long custom_id", body: `{"model":"bad","inputs":[{"custom_id":"` + strings.Repeat("c", 129) + `","body":{}}]}`, param: "inputs[0].custom_id"},
	{name: "a custom_id of the wrong type", body: `{"model":"bad","inputs":[{"custom_id":7,"body":{}}]}`, param: "inputs[0].custom_id"},
	{name: "a custom_id twice", body: `{"model":"bad","inputs":[{"custom_id":"a","body":{}},{"body":{}},{"custom_id":"a","body":{}}]}`, param: "inputs[2].custom_id"},
	{name: "a streamed body", body: `{"model":"bad","inputs":[{"body":{"stream":true}}]}`, param: "inputs[0].body.stream"},
	{name: "streamed by default", body: `{"model":"bad","input":"Hi","defaults":{"stream":true}}`, param: "input.stream"},
	{name: "a body for another model", body: `{"model":"bad","input":{"model":"worse"}}`, param: "input.model"},
	{name: "a body with a wrong model", body: `{"model":"bad","input":{"model":7}}`, param: "input.model"},
	{name: "a body with a wrong bound", body: `{"model":"bad","inputs":[{"body":{"max_tokens":"many"}}]}`, param: "inputs[0].body.max_tokens"},
	{name: "a body with a bound below 0", body: `{"model":"bad","inputs":[{"body":{"max_completion_tokens":-1}}]}`, param: "inputs[0].body.max_completion_tokens"},
	{name: "defaults of the wrong type", body: `{"model":"bad","input":"Hi","defaults":[]}`, param: "defaults"},
	{name: "defaults that are text", body: `{"model":"bad","input":"Hi","defaults":"max_tokens"}`, param: "defaults"},
}

// badChats are bodies of calls that never reach an upstream.
var badChats = []badInput{
	{name: "empty", body: ""},
	{name: "truncated", body: `{"model":"sim","messages":[`, param: "body"},
	{name: "an array", body: `[]`, param: "body"},
	{name: "null", body: `null`, param: "body"},
	{name: "goes on", body: `{"model":"sim"} and more`, param: "body"},
	{name: "no UTF-8", body: "{\"model\":\"sim\",\"messages\":[{\"role\":\"user\",\"content\":\"\xff\"}]}", param: "body"},
	{name: "a name twice", body: `{"model":"sim","model":"sim","messages":[]}`, param: "body"},
	{name: "nested too deeply", body: `{"model":"sim","messages":` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}`},
	{name: "too large", body: ask(strings.Repeat("a", 8<<20), `"model":"sim"`), status: http.StatusRequestEntityTooLarge},
	{name: "no model", body: `{"messages":[]}`, param: "model"},
	{name: "a number for a model", body: `{"model":1}`, param: "model"},
	{name: "NUL in a model", body: `{"model":"s\u0000m"}`, param: "model"},
	{name: "stream of the wrong type", body: `{"model":"sim","stream":"yes"}`, param: "stream"},
	{name: "max_tokens below 0", body: `{"model":"sim","max_tokens":-1}`, param: "max_tokens"},
	{name: "max_tokens of the wrong type", body: `{"model":"sim","max_tokens":"12"}`, param: "max_tokens"},
	{name: "max_completion_tokens of one and a half", body: `{"model":"sim","max_completion_tokens":1.5}`, param: "max_completion_tokens"},
}

// numbered repeats a format with the numbers from 0, as members of a list.
func numbered(n int, format string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = fmt.Sprintf(format, i)
	}
	return strings.Join(parts, ",")
}

// inputBounds holds that everything up to a bound is accepted, the bound included.
func inputBounds(s *scene) {
	for _, good := range []struct{ name, body string }{
		{"10,000 inputs", `{"model":"bounds","inputs":[` + numbered(10_000, `{"custom_id":"%d","body":{"messages":[{"role":"user","content":"Hi"}]}}`) + `]}`},
		{"the longest model", `{"model":"` + strings.Repeat("m", 256) + `","input":"Hi"}`},
		{"the longest custom_id", `{"model":"bounds","inputs":[{"custom_id":"` + strings.Repeat("c", 128) + `","body":{"messages":[]}}]}`},
		{"the most and longest tags", `{"model":"bounds","input":"Hi","tags":{` + numbered(16, `"`+strings.Repeat("t", 60)+`%d":"`+strings.Repeat("v", 256)+`"`) + `}}`},
		{"the last deadline", `{"model":"bounds","input":"Hi","deadline":"` + momentIn(30*24*time.Hour-time.Minute) + `"}`},
		{"max_attempts", `{"model":"bounds","input":"Hi","max_attempts":20}`},
		{"item_timeout", `{"model":"bounds","input":"Hi","item_timeout":"1h"}`},
		{"the deepest body", `{"model":"bounds","input":{"messages":[],"x":` + strings.Repeat("[", 62) + strings.Repeat("]", 62) + `}}`},
		{"the largest body", largest(`{"model":"bounds","input":"`, `"}`, 8<<20-64)},
		{"a body of four bytes more than are kept beside the job", largest(`{"model":"bounds","input":"`, `"}`, 32<<10+4)},
	} {
		a := s.call(post("/v1/jobs", good.body, "Prefer", "wait=30"))
		for range 5 { // ten thousand items may take a busy machine a while
			if a.Status != http.StatusAccepted {
				break
			}
			a = s.call(get("/v1/jobs/"+s.field(a, "id"), "Prefer", "wait=30"))
		}
		s.script.note("%s => %d", good.name, a.Status)
		if a.Status != http.StatusOK {
			s.Errorf("%s: %d %.500s", good.name, a.Status, a.Body)
		}
	}
}

// largest is a text of exactly so many bytes.
func largest(head, tail string, size int) string {
	return head + strings.Repeat("a", size-len(head)-len(tail)) + tail
}

func inputHeaders(s *scene) {
	body := `{"model":"bad","input":"Hi"}`
	s.tell("a compressed body", post("/v1/jobs", body, "Content-Encoding", "gzip"))
	s.tell("a compressed call", post(chatPath, ask("Hi", `"model":"sim"`), "Content-Encoding", "zstd"))
	for _, kind := range []string{"", "application/json", "text/plain", "application/x-www-form-urlencoded"} {
		a := s.call(post("/v1/jobs", `{"model":"header","input":"Hi"}`, "Content-Type", kind))
		s.script.note("Content-Type: %s => %d", kind, a.Status)
	}
}

func inputQueries(s *scene) {
	done := s.submit(`{"model":"queries","input":"Hi"}`)
	s.finished(done)
	s.script.mask(done, "<job>")
	for _, bad := range []struct{ path, param string }{
		{"/v1/jobs?limit=0", "limit"}, {"/v1/jobs?limit=101", "limit"}, {"/v1/jobs?limit=-1", "limit"}, {"/v1/jobs?limit=ten", "limit"},
		{"/v1/jobs?limit=99999999999999999999", "limit"}, {"/v1/jobs?status=done", "status"}, {"/v1/jobs?lane=express", "lane"},
		{"/v1/jobs?tag=team", "tag"}, {"/v1/jobs?tag=:search", "tag"}, {"/v1/jobs?created_after=yesterday", "created_after"},
		{"/v1/jobs?created_before=2026-11-15", "created_before"}, {"/v1/jobs?after=nope", "after"}, {"/v1/jobs?after=item_01ARZ3NDEKTSV4RRFFQ69G5FAV", "after"},
		{"/v1/dead_letters?limit=0", "limit"}, {"/v1/dead_letters/items?after=job_01ARZ3NDEKTSV4RRFFQ69G5FAV", "after"},
		{"/v1/dead_letters?code=broken", "code"}, {"/v1/dead_letters/items?job_id=item_01ARZ3NDEKTSV4RRFFQ69G5FAV", "job_id"},
		{"/v1/dead_letters?created_after=now", "created_after"},
		{"/v1/jobs/" + done + "/results?order=random", "order"}, {"/v1/jobs/" + done + "/results?status=running", "status"},
		{"/v1/jobs/" + done + "/results?status=done", "status"}, {"/v1/jobs/" + done + "/results?after=first", "after"},
		{"/v1/jobs/" + done + "/results?after=-1", "after"}, {"/v1/jobs/" + done + "/events?after=first", "after"},
		{"/v1/jobs?status=expired", "status"}, {"/v1/jobs?statsu=failed", "statsu"}, {"/v1/jobs?cursor=job_1", "cursor"}, {"/v1/jobs/" + done + "?limit=3", "limit"},
		{"/v1/jobs/" + done + "/results?oder=input", "oder"}, {"/v1/jobs?limit=1&colour=red", "colour"}, {"/v1/batches?limt=3", "limt"},
		{"/v1/files?after_id=file_1", "after_id"}, {"/v1/usage?groupby=model", "groupby"}, {"/v1/dead_letters?error_kidn=connect", "error_kidn"},
	} {
		a := s.call(get(bad.path))
		s.script.note("GET %s => %d param %s: %s", bad.path, a.Status, s.field(a, "error.param"), s.field(a, "error.message"))
		if a.Status != http.StatusBadRequest || s.field(a, "error.param") != bad.param {
			s.Errorf("GET %s: %d %s", bad.path, a.Status, a.Body)
		}
	}
	// What no job can have finds none, on every engine; it must not break the search.
	for _, query := range []string{"model=%00", "model=%ff", "tag=a:%00", "tag=%ff:b", "tag=%25:_", "model=%27%22%5C", "created_after=0001-01-01T00:00:00Z&model=nobody",
		"created_before=9999-12-31T23:59:59Z&model=nobody"} {
		a := s.call(get("/v1/jobs?" + query))
		s.script.note("GET /v1/jobs?%s => %d %s", query, a.Status, strings.TrimSpace(a.Body))
		if a.Status >= http.StatusInternalServerError {
			s.Errorf("GET /v1/jobs?%s: %d %s", query, a.Status, a.Body)
		}
	}
}
