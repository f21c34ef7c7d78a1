package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"unicode/utf16"
)

// ingress is a way in for a body: as it is, or inside of another one.
type ingress struct {
	name, path string
	wrap       func(body string) string
}

func asIs(body string) string { return body }

// ingresses are all ways in for a body: the first eleven for that of an inference.
var ingresses = []ingress{
	{"chat", chatPath, asIs}, {"completions", "/v1/completions", asIs}, {"embeddings", "/v1/embeddings", asIs}, {"responses", "/v1/responses", asIs},
	{"messages", "/v1/messages", asIs}, {"count tokens", "/v1/messages/count_tokens", asIs}, {"explain", "/v1/models/fast/explain", asIs},
	{"job", "/v1/jobs", func(body string) string { return `{"model":"fast","input":` + body + `}` }},
	{"jobs", "/v1/jobs", func(body string) string { return `{"model":"fast","inputs":[{"custom_id":"a","body":` + body + `}]}` }},
	{"job defaults", "/v1/jobs", func(body string) string { return `{"model":"fast","defaults":` + body + `,"inputs":["Hi"]}` }},
	{"message batch", "/v1/messages/batches", func(body string) string { return `{"requests":[{"custom_id":"a","params":` + body + `}]}` }},
	{"envelope of a job", "/v1/jobs", asIs}, {"envelope of a batch", "/v1/batches", asIs}, {"envelope of a message batch", "/v1/messages/batches", asIs},
	{"webhook", "/v1/webhooks", asIs}, {"dead letters", "/v1/dead_letters/retry", asIs},
}

// chatMembers are what a good body holds besides what is attacked.
const chatMembers = `"messages":[{"role":"user","content":"Hi"}],"input":"Hi","prompt":"Hi"`

// notJSON are bodies that no reader of JSON may take for good. Each is 400 wherever it is sent.
func notJSON() map[string]string {
	good := `{"model":"fast","max_tokens":9,` + chatMembers + `}`
	with := func(member string) string { return strings.Replace(good, `"max_tokens":9`, member, 1) }
	wide := func(order func(uint16) []byte) string {
		var b []byte
		for _, unit := range utf16.Encode([]rune(good)) {
			b = append(b, order(unit)...)
		}
		return string(b)
	}
	return map[string]string{
		"deep arrays": strings.Repeat("[", 100_000), "deep objects": strings.Repeat(`{"a":`, 100_000), "deep and closed": with(`"x":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000)),
		"a name twice": with(`"model":"other"`), "a name twice, escaped": with(`"mod\u0065l":"other"`),
		"NaN": with(`"max_tokens":NaN`), "Infinity": with(`"max_tokens":Infinity`), "minus Infinity": with(`"temperature":-Infinity`), "hex": with(`"max_tokens":0x10`), "octal": with(`"max_tokens":010`),
		"a plus": with(`"max_tokens":+1`), "a dot": with(`"max_tokens":.5`), "a dot behind": with(`"max_tokens":5.`), "an exponent of nothing": with(`"max_tokens":1e`), "underscores": with(`"max_tokens":1_0`),
		"comments": with(`"max_tokens":9/* */`), "a line comment": good + "// ", "a comma behind": strings.TrimSuffix(good, "}") + ",}", "single quotes": strings.ReplaceAll(good, `"`, `'`), "names without quotes": strings.Replace(good, `"model"`, `model`, 1),
		"a second object": good + good, "text behind": good + "x", "a closing brace behind": good + "}", "NUL behind": good + "\x00", "NUL in text": strings.Replace(good, "Hi", "H\x00i", 1), "a line break in text": strings.Replace(good, "Hi", "H\ni", 1),
		"UTF-16LE": wide(func(u uint16) []byte { return []byte{byte(u), byte(u >> 8)} }), "UTF-16BE": wide(func(u uint16) []byte { return []byte{byte(u >> 8), byte(u)} }),
		"overlong UTF-8": strings.Replace(good, "Hi", "\xc0\xaf", 1), "overlong quote": strings.Replace(good, "Hi", "\xc0\xa2,\xc0\xa2", 1), "UTF-8 of a surrogate": strings.Replace(good, "Hi", "\xed\xa0\x80", 1), "UTF-8 cut short": strings.Replace(good, "Hi", "\xe2\x82", 1), "UTF-8 too large": strings.Replace(good, "Hi", "\xf5\x80\x80\x80", 1),
		"a bad name": strings.Replace(good, `"model"`, "\"mod\xffel\"", 1), "a bad escape": strings.Replace(good, "Hi", `\x41`, 1), "a short escape": strings.Replace(good, "Hi", `\u12`, 1),
		"nothing": "", "spaces": "   ", "null": "null", "an array": "[" + good + "]", "text": `"text"`, "a number": "1", "true": "true", "half": good[:len(good)/2], "a brace": "{",
		"two roots": "{}{}", "a form feed": "\f" + good,
	}
}

// TestAttackJSON sends what is no JSON, or what two readers would read differently, through every way in: it is refused
// with a typed error, and at once.
func TestAttackJSON(t *testing.T) {
	t.Parallel()
	a := besiege(t, siege{settings: simModel(startSim(t))})
	var all sync.WaitGroup
	for _, way := range ingresses {
		all.Go(func() {
			for name, body := range notJSON() {
				answer := a.ask(post(way.path, way.wrap(body)), patience)
				if way.name == "explain" && name == "nothing" {
					continue // it may say nothing of the call
				}
				inner := way.wrap("") != ""
				// Inside of another body, a text, a null or a name after it may be what the envelope allows.
				fine := inner && (json.Valid([]byte(way.wrap(body))) && !strings.Contains(name, "twice") && !strings.Contains(name, "deep"))
				if (answer.Status != http.StatusBadRequest && answer.Status != http.StatusRequestEntityTooLarge || !answer.typed()) && !fine || answer.Status >= 500 {
					t.Errorf("%s with %s is answered %d %.300s", way.name, name, answer.Status, answer.Body)
				}
			}
		})
	}
	all.Wait()
}

// oddJSON are members that are JSON, and strange. They are passed on or refused; nothing breaks.
func oddJSON() map[string]string {
	all := map[string]string{
		"a surrogate alone": `"user":"\ud800"`, "surrogates the wrong way round": `"user":"\udc00\ud800"`, "NUL": `"user":"\u0000"`, "a name with NUL": `"\u0000":1`, "an empty name": `"":1`,
		"a number of a megabyte": `"x":` + strings.Repeat("9", 1<<20), "a fraction of a megabyte": `"x":0.` + strings.Repeat("9", 1<<20), "a large exponent": `"x":1e999999999999`, "a small exponent": `"x":1e-999999999999`, "minus zero": `"x":-0`, "minus zero, long": `"x":-0.0e-0`,
		"a long name": `"` + strings.Repeat("n", 1<<20) + `":1`, "many names": manyNames(50_000), "a long array": `"x":[` + strings.TrimSuffix(strings.Repeat("0,", 500_000), ",") + `]`,
		"__proto__": `"__proto__":{"admin":true}`, "constructor": `"constructor":{"prototype":{"x":1}}`, "right to left": `"user":"\u202e\u2066"`, "deep, as allowed": `"x":` + strings.Repeat("[", 60) + strings.Repeat("]", 60),
		"many messages": `"stop":["a","b"],"metadata":{"a":"` + strings.Repeat("x", 100_000) + `"}`,
	}
	for _, model := range []string{"", "\\u0000", "fast\\u0000", " fast", "fast ", "FAST", "../fast", "fast/../x", "%66ast", "fast\\n", "\\ud800", "ｆast", "fa\\u200dst", strings.Repeat("m", 100_000), "good'--", "{{7*7}}", "$(id)"} {
		all["model "+model[:min(len(model), 20)]] = `"model":"` + model + `"`
	}
	for _, model := range []string{"null", "1", "true", "[]", "{}", `["fast"]`} {
		all["model is "+model] = `"model":` + model
	}
	return all
}

func manyNames(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"n%d":0,`, i)
	}
	return strings.TrimSuffix(b.String(), ",")
}

// TestAttackOddJSON sends strange JSON through every way in: each call is answered in time, by an answer or a typed error
// that is not a failure of ours, and jobs that were accepted end.
func TestAttackOddJSON(t *testing.T) {
	t.Parallel()
	a := besiege(t, siege{settings: simModel(startSim(t))})
	a.memory = 512 << 20
	var all sync.WaitGroup
	for _, way := range ingresses {
		all.Go(func() {
			for name, member := range oddJSON() {
				body := `{` + member + `,"max_tokens":9,` + chatMembers + `}`
				if !strings.Contains(name, "model") {
					body = `{"model":"fast",` + body[1:]
				}
				answer := a.ask(post(way.path, way.wrap(body)), patience)
				if answer.Status >= 500 || answer.Status >= 400 && !answer.typed() {
					t.Errorf("%s with %s is answered %d %.300s", way.name, name, answer.Status, answer.Body)
				}
				if strings.HasPrefix(name, "model ") && answer.Status == http.StatusOK && way.wrap("") == "" && way.path != "/v1/models/fast/explain" {
					t.Errorf("%s: %s is taken for a model: %.300s", way.name, name, answer.Body)
				}
			}
		})
	}
	all.Wait()
	Await(t, "accepted jobs to end", func() error {
		for _, status := range []string{"queued", "running"} {
			if left := a.Do(get("/v1/jobs?limit=5&status=" + status)).Body; strings.Contains(left, `"object":"job"`) {
				return fmt.Errorf("still %s: %.500s", status, left)
			}
		}
		return nil
	})
}

// folded are members that a reader which does not mind the case of names takes for others.
var folded = []string{`"Model":"dear"`, `"MODEL":"dear"`, `"modEl":"dear"`, `"Max_Tokens":99999`, `"MAX_TOKENS":99999`, `"max_to\u212aens":99999`, `"max_toKens":99999`, `"N":50`, `"Stream":true`, `"Max_Completion_Tokens":9999`, `"mode\u006C":"dear"`}

// TestAttackFoldedNames sends names that differ from those we read in case alone, beside and instead of them, through
// every way in for the body of an inference: they are refused, since an upstream may obey them.
func TestAttackFoldedNames(t *testing.T) {
	t.Parallel()
	upstream := startSim(t)
	a := besiege(t, siege{settings: simModel(upstream)})
	for _, way := range ingresses[:11] {
		if way.name == "explain" || way.name == "count tokens" {
			continue // they call nothing
		}
		for _, member := range folded {
			body := `{"model":"fast","max_tokens":9,` + chatMembers + `,` + member + `}`
			answer := a.ask(post(way.path, way.wrap(body)), patience)
			if way.name == "message batch" && answer.Status == http.StatusOK {
				a.refusedInBatch(idOf(answer.Body), member)
			} else if answer.Status != http.StatusBadRequest || !answer.typed() {
				t.Errorf("%s with %s is answered %d %.300s", way.name, member, answer.Status, answer.Body)
			}
		}
	}
	if n := seenBy(t, upstream); n.Requests > 0 {
		t.Errorf("%d calls reached the upstream", n.Requests)
	}
}

// refusedInBatch holds that the one request of a message batch is refused, which is said of each by itself.
func (a *attacked) refusedInBatch(id, member string) {
	a.t.Helper()
	Await(a.t, "the batch with "+member, func() error {
		batch := a.Do(get("/v1/messages/batches/" + id))
		if !strings.Contains(batch.Body, `"errored":1`) {
			return fmt.Errorf("%d %.500s", batch.Status, batch.Body)
		}
		return nil
	})
}
