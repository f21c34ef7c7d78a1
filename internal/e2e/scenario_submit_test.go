package e2e

import (
	"net/http"
	"strings"
	"time"
)

var submitScenarios = []scenario{
	{name: "submit_smallest", play: submitSmallest},
	{name: "submit_everything", play: submitEverything},
	{name: "submit_wait", play: submitWait},
	{name: "submit_bad_wait_stores_nothing", play: submitBadWait},
	{name: "submit_deadline_is_kept", play: submitDeadline},
	{name: "submit_unicode", play: submitUnicode},
}

func submitSmallest(s *scene) {
	a := s.tell("the smallest job", post("/v1/jobs", `{"model":"sim","input":"Hi"}`))
	id := s.field(a, "id")
	if a.Header.Get("Location") != "/v1/jobs/"+id {
		s.Errorf("Location is %q", a.Header.Get("Location"))
	}
	first := s.tell("waiting for it", get("/v1/jobs/"+id, "Prefer", "wait=30"))
	if again := s.call(get("/v1/jobs/" + id)); again.Body != first.Body {
		s.Errorf("two reads of a finished job differ:\n%s%s", first.Body, again.Body)
	}
	if s.field(first, "estimated_start_at") != "" || s.field(first, "estimated_finish_at") != "" {
		s.Errorf("a finished job is estimated: %s", first.Body)
	}
	created, err := time.Parse(time.RFC3339, s.field(first, "created_at"))
	if err != nil {
		s.Fatal(err)
	}
	deadline, err := time.Parse(time.RFC3339, s.field(first, "deadline"))
	if err != nil {
		s.Fatal(err)
	}
	if off := deadline.Sub(created) - 24*time.Hour; off.Abs() > time.Second {
		s.Errorf("the default deadline is %v after the submit", deadline.Sub(created))
	}
}

func submitEverything(s *scene) {
	body := `{"endpoint":"/v1/chat/completions","model":"everything","lane":"bulk",
 "defaults":{"max_tokens":2,"temperature":0.5},
 "inputs":[
  {"custom_id":"row-1","body":` + ask("everything one") + `},
  {"custom_id":"row-2","body":` + ask("everything two", `"max_tokens":3`) + `},
  {"body":` + ask("everything three", `"model":"everything"`) + `}],
 "deadline":"` + momentIn(time.Hour) + `","max_attempts":2,"item_timeout":"30s",
 "tags":{"team":"search","cost centre":"4711"},
 "stream":false,"dry_run":false,"input_file":null,"webhook":null}`
	a := s.tell("a job with everything", post("/v1/jobs", body, "Prefer", "wait=30"))
	if a.Status != http.StatusOK {
		s.Fatal("it was not finished in time")
	}
	s.script.mask(`"seq":\d+`, `"seq":<seq>`) // they run side by side
	s.tell("its results: defaults hold where an input does not say otherwise",
		get("/v1/jobs/"+s.field(a, "id")+"/results?order=input"))
}

func submitWait(s *scene) {
	hanging := `{"model":"wait","input":"wait [sim:fault=hang]"}`
	a := s.tell("a wait that is over before the job", post("/v1/jobs", hanging, "Prefer", "wait=1"))
	id := s.field(a, "id")
	s.tell("a poll that waits", get("/v1/jobs/"+id, "Prefer", "wait=1"))
	s.tell("a poll that does not", get("/v1/jobs/"+id))
	s.call(post("/v1/jobs/"+id+"/cancel", ""))
	s.finished(id)

	quick := `{"model":"wait","input":"wait no more"}`
	for _, preference := range []string{"respond-async, wait=30", "wait=100", `Wait="30"`} {
		a := s.call(post("/v1/jobs", quick, "Prefer", preference))
		s.script.note("Prefer: %s => %d, Preference-Applied: %s, Retry-After: %q",
			preference, a.Status, a.Header.Get("Preference-Applied"), a.Header.Get("Retry-After"))
	}
	s.script.mask(`Retry-After: \d+`, "Retry-After: <when>") // as the queue stands
	for _, preference := range []string{"wait=0", "respond-async"} {
		a := s.call(post("/v1/jobs", quick, "Prefer", preference))
		s.script.note("Prefer: %s => %d, Preference-Applied: %q, Retry-After: %s",
			preference, a.Status, a.Header.Get("Preference-Applied"), a.Header.Get("Retry-After"))
	}
}

// A submit that is refused must leave nothing behind, whatever it is refused for.
func submitBadWait(s *scene) {
	a := s.tell("a preference that is no number",
		post("/v1/jobs", `{"model":"bad-wait","input":"never run this"}`, "Prefer", "wait=soon"))
	if a.Status != http.StatusBadRequest {
		s.Errorf("it was answered with %d", a.Status)
	}
	s.tell("what was stored", get("/v1/jobs?model=bad-wait"))
	if n := s.executions("never run this"); n != 0 {
		s.Errorf("the refused job ran %d times", n)
	}
}

// A deadline that was given is that very moment, and not one near it; the answer to the submit and a
// later read tell it alike.
func submitDeadline(s *scene) {
	moment := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	for given, want := range map[string]string{
		moment.Format(time.RFC3339):                                        moment.Format(time.RFC3339Nano),
		moment.In(time.FixedZone("", 2*60*60)).Format(time.RFC3339):        moment.Format(time.RFC3339Nano),
		moment.Add(123456 * time.Microsecond).Format(time.RFC3339Nano):     moment.Add(123456 * time.Microsecond).Format(time.RFC3339Nano),
		moment.Add(123456*time.Microsecond + 789).Format(time.RFC3339Nano): moment.Add(123456 * time.Microsecond).Format(time.RFC3339Nano),
	} {
		accepted := s.call(post("/v1/jobs", `{"model":"deadline","input":"Hi","deadline":"`+given+`"}`))
		kept := s.call(get(accepted.Header.Get("Location")))
		if s.field(accepted, "deadline") != want || s.field(kept, "deadline") != want {
			s.Errorf("the deadline %s was accepted as %s and kept as %s, want %s",
				given, s.field(accepted, "deadline"), s.field(kept, "deadline"), want)
		}
	}
}

// Text of any script, and every escape of JSON, survives the way in and out.
func submitUnicode(s *scene) {
	tags := `{"città":"zürich","emoji":"\ud83d\ude80","quote":"a\"b\\c"}`
	a := s.tell("names in many scripts", post("/v1/jobs",
		`{"model":"modèle-日本","tags":`+tags+`,"inputs":[{"custom_id":"строка 1 🚀","body":`+ask("ünïcödé 日本\u0000\t\u2028")+`}]}`,
		"Prefer", "wait=30"))
	id := s.field(a, "id")
	for _, query := range []string{"model=mod%C3%A8le-%E6%97%A5%E6%9C%AC", "tag=citt%C3%A0:z%C3%BCrich", "tag=emoji:%F0%9F%9A%80",
		"tag=quote:a%22b%5Cc", "tag=quote:a"} {
		list := s.call(get("/v1/jobs?" + query))
		s.script.note("?%s => found %v", query, strings.Contains(list.Body, id))
	}
}
