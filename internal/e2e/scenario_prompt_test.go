package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"penstock"
)

var promptScenarios = []scenario{
	{name: "prompt_life", play: promptLife, own: true},
	{name: "prompt_labels", play: promptLabels, own: true},
	{name: "prompt_mistakes", play: promptMistakes, own: true},
	{name: "prompt_files", play: promptFiles, own: true},
}

// put is a call that replaces.
func put(path, body string, headers ...string) Call {
	c := post(path, body, headers...)
	c.Method = "PUT"
	return c
}

func promptLife(s *scene) {
	s.tell("a text is saved", post("/v1/prompts/tone/versions", `{"kind":"text","text":"Be {{tone}}.","message":"first words"}`))
	s.tell("a chat includes it", post("/v1/prompts/answer/versions", `{"kind":"chat","messages":[{"role":"system","content":"You are {{brand}}. {{> tone@1}}"},{"placeholder":"history"},
		{"role":"user","content":[{"type":"text","text":"{{question}}"},{"type":"image_url","image_url":{"url":"{{photo}}"}}]}],"config":{"model":"sim","temperature":0.2,"max_tokens":50,"tools":[]}}`))
	s.tell("the same content is the same version", post("/v1/prompts/tone/versions", `{"message":"again","text":"Be {{tone}}.","kind":"text","config":{"response_format":null}}`))
	s.tell("another content is the next", post("/v1/prompts/tone/versions", `{"kind":"text","text":"Be {{tone}}\nand brief.","config":{"model":"sim"}}`))
	s.tell("the difference", get("/v1/prompts/tone/diff?from=1&to=latest"))
	s.tell("versions", get("/v1/prompts/tone/versions?limit=1"))
	s.tell("a version", get("/v1/prompts/answer/versions/1"))
	s.tell("rendered for chat", post("/v1/prompts/answer/render", `{"version":1,"variables":{"brand":"{{question}}","tone":"kind","question":"Why?","photo":"https://x.example/a.png","history":[{"role":"user","content":"{{brand}}"}]}}`))
	s.tell("rendered for messages", post("/v1/prompts/tone/render", `{"label":"latest","variables":{"tone":"kind"},"endpoint":"/v1/messages"}`))
	s.tell("rendered for responses", post("/v1/prompts/tone/render", `{"label":"latest","variables":{"tone":"kind"},"endpoint":"/v1/responses"}`))
	s.tell("a draft", put("/v1/prompts/tone/draft", `{"kind":"text","text":"Be {{tone","base":2}`, "If-None-Match", "*"))
	s.tell("a draft is replaced in the state that is known", put("/v1/prompts/tone/draft", `{"kind":"text","text":"Be good."}`, "If-Match", `"v1"`))
	s.tell("and in no other", put("/v1/prompts/tone/draft", `{"kind":"text","text":"Be late."}`, "If-Match", `"v1"`))
	s.tell("the draft is rendered", post("/v1/prompts/tone/render", `{"draft":true}`))
	s.tell("the draft is compared", get("/v1/prompts/tone/diff?from=2&to=draft"))
	s.tell("the draft is discarded", del("/v1/prompts/tone/draft"))
	s.tell("the uses of a text", get("/v1/prompts/tone/uses?version=1"))
	s.tell("an included version stays", del("/v1/prompts/tone/versions/1"))
	s.tell("another is deleted", del("/v1/prompts/tone/versions/2"))
	s.tell("and is gone", get("/v1/prompts/tone/versions/2"))
	s.tell("it is archived", post("/v1/prompts/tone/archive", ""))
	s.tell("its labels name nothing", post("/v1/prompts/tone/render", `{"label":"latest","variables":{"tone":"kind"}}`))
	s.tell("it is restored", post("/v1/prompts/tone/restore", ""))
	s.call(post("/v1/prompts/support/eu/answer/versions", `{"kind":"text","text":"x"}`))
	s.tell("the top folder", get("/v1/prompts?folder="))
	s.tell("a name with slashes", get("/v1/prompts/support/eu/answer"))
	s.tell("a prefix", get("/v1/prompts?prefix=support/&limit=1"))
}

func promptLabels(s *scene) {
	for n := range 3 {
		s.call(post("/v1/prompts/greeting/versions", fmt.Sprintf(`{"kind":"text","text":"Hello %d"}`, n)))
	}
	s.tell("a label is made", put("/v1/prompts/greeting/labels/production", `{"version":1,"expect":0,"reason":"first"}`))
	s.tell("it moves from the version that is expected", put("/v1/prompts/greeting/labels/production", `{"version":2,"expect":1}`))
	s.tell("and from no other", put("/v1/prompts/greeting/labels/production", `{"version":3,"expect":1}`))
	s.tell("it is read", get("/v1/prompts/greeting/labels/production"))
	s.tell("all labels", get("/v1/prompts/greeting/labels"))
	s.tell("latest is automatic", put("/v1/prompts/greeting/labels/latest", `{"version":1}`))
	s.tell("a version with a label stays", del("/v1/prompts/greeting/versions/2"))
	boss := s.operators().makeKey(s, "demo", "release", penstock.AllScopes...)
	s.tell("a plain key protects nothing", put("/v1/prompt_protections/production", `{}`))
	s.call(boss.as(put("/v1/prompt_protections/production", `{"approval":true}`)))
	s.tell("the label is protected", get("/v1/prompt_protections"))
	s.tell("a plain key does not move it", put("/v1/prompts/greeting/labels/production", `{"version":3}`))
	asked := s.tell("it asks", post("/v1/prompts/greeting/labels/production/requests", `{"version":3,"reason":"better"}`))
	id := s.field(asked, "id")
	s.tell("it does not approve", post("/v1/prompts/greeting/requests/"+id+"/approve", ""))
	s.tell("open requests", get("/v1/prompts/greeting/requests?state=open"))
	if a := s.call(boss.as(post("/v1/prompts/greeting/requests/"+id+"/approve", `{"note":"seen"}`))); !strings.Contains(a.Body, "approved") {
		s.Errorf("another key with the scope admin is refused: %s", a.Body)
	}
	s.tell("the history", get("/v1/prompts/greeting/history"))
	s.tell("a request is decided once", post("/v1/prompts/greeting/requests/"+id+"/reject", ""))
	s.call(boss.as(del("/v1/prompt_protections/production")))
	s.tell("a label is removed", del("/v1/prompts/greeting/labels/production"))
}

func promptMistakes(s *scene) {
	s.call(post("/v1/prompts/p/versions", `{"kind":"chat","messages":[{"role":"user","content":"{{a}} {{b}} {{#each xs}}{{this.id}}{{/each}}"}]}`))
	s.tell("every wrong variable is named in one error", post("/v1/prompts/p/render", `{"version":1,"variables":{"b":7,"zz":1,"xs":[{"id":"1"},{}]}}`))
	s.tell("a template", post("/v1/prompts/p/versions", `{"kind":"chat","messages":[{"role":"user","content":"fine"},{"role":"user","content":"one\n{{#if x}}"}]}`))
	s.tell("a kind", post("/v1/prompts/p/versions", `{"kind":"text","text":"x"}`))
	s.tell("a field", post("/v1/prompts/p/versions", `{"kind":"chat","mesages":[]}`))
	s.tell("a member of the config", post("/v1/prompts/p/versions", `{"kind":"chat","messages":[{"role":"user","content":"x"}],"config":{"stream":true}}`))
	s.tell("a schema that reads a file", post("/v1/prompts/p/versions", `{"kind":"chat","messages":[{"role":"user","content":"x"}],"input_schema":{"$ref":"file:///etc/passwd"}}`))
	s.tell("a prompt that is not there", post("/v1/prompts/p/versions", `{"kind":"chat","messages":[{"role":"user","content":"{{> nowhere@3}}"}]}`))
	s.tell("a chat is no partial", post("/v1/prompts/q/versions", `{"kind":"text","text":"{{> p@1}}"}`))
	s.tell("a reserved word", post("/v1/prompts/a/draft/versions", `{"kind":"text","text":"x"}`))
	s.tell("a label that is not there", post("/v1/prompts/p/render", `{"label":"canary"}`))
	s.tell("two ways to name a version", post("/v1/prompts/p/render", `{"version":1,"draft":true}`))
	s.tell("no version", get("/v1/prompts/p/versions/latest"))
	s.tell("no endpoint", put("/v1/prompts/p/versions", `{}`))
}

// TestAttackPromptNames holds that the same names of two tenants are different prompts: a stranger that saves, drafts and protects
// under the names of another tenant changes nothing of them, and includes none of them.
func TestAttackPromptNames(t *testing.T) {
	t.Parallel()
	for _, engine := range scenarioEngines() {
		t.Run(engine.name, func(t *testing.T) {
			t.Parallel()
			st := stage(t, engine.env(t)...)
			thief, ids := st.strangerAndObjects(t)
			name := ids["prompt"]
			before := st.worldOf(t, ids)
			if a := st.Do(thief.as(post("/v1/prompts/mine/versions", `{"kind":"text","text":"{{> `+name+`@1}}"}`))); a.Status/100 != 4 || strings.Contains(a.Body, "whose prompt") {
				t.Errorf("a stranger includes another tenant's prompt: %d %s", a.Status, a.Body)
			}
			if a := st.Do(thief.as(get("/v1/prompts/export"))); a.Status != http.StatusOK || strings.Contains(a.Body, name) || strings.Contains(a.Body, "whose prompt") {
				t.Errorf("a stranger exports another tenant's prompts: %d %s", a.Status, a.Body)
			}
			stolen := `{"prompts":[{"name":"stolen","id":"pmpt_stolen","versions":[{"version":1,"kind":"text","text":"{{> ` + name + `@1}}","references":[{"written":"` + name + `@1","name":"` + name + `","version":1}]}]}]}`
			if a := st.Do(thief.as(post("/v1/prompts/import?format=json", stolen))); !strings.Contains(a.Body, `"failed"`) || strings.Contains(a.Body, "whose prompt") {
				t.Errorf("a stranger imports a prompt that includes another tenant's: %d %s", a.Status, a.Body)
			}
			for _, c := range []Call{
				post("/v1/prompts/import?format=json", `{"prompts":[{"name":"`+name+`","versions":[{"version":1,"kind":"text","text":"imported"}],"labels":{"`+name+`":1}}]}`),
				post("/v1/prompts/"+name+"/versions", `{"kind":"text","text":"mine"}`),
				put("/v1/prompts/"+name+"/draft", `{"kind":"text","text":"mine"}`),
				put("/v1/prompts/"+name+"/labels/"+name, `{"version":1}`),
				put("/v1/prompt_protections/"+ids["protection"], `{"approval":true}`),
				post("/v1/prompts/"+name+"/archive", ""),
			} {
				if a := st.Do(thief.as(c)); a.Status/100 != 2 || strings.Contains(a.Body, "whose") && strings.Contains(a.Body, "is this?") {
					t.Errorf("%s %s as a stranger: %d %s", c.Method, c.Path, a.Status, a.Body)
				}
			}
			for path, was := range before {
				if is := st.Do(get(path)); unsaid(is) != was {
					t.Errorf("GET %s changed by what a stranger did, from\n%s\nto\n%s", path, was, unsaid(is))
				}
			}
		})
	}
}

// TestLabelsAcrossProcesses holds that a label which is moved at one process is seen at another within a second.
func TestLabelsAcrossProcesses(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	here, there := c.api, c.join("api")
	for n := 1; n <= 2; n++ {
		if a := here.endpoint.Do(post("/v1/prompts/p/versions", fmt.Sprintf(`{"kind":"text","text":"version %d"}`, n))); a.Status != http.StatusCreated {
			t.Fatalf("save: %d %s", a.Status, a.Body)
		}
	}
	for round := range 4 {
		version := round%2 + 1
		if a := here.endpoint.Do(put("/v1/prompts/p/labels/production", fmt.Sprintf(`{"version":%d}`, version))); a.Status != http.StatusOK {
			t.Fatalf("move: %d %s", a.Status, a.Body)
		}
		began, want := time.Now(), fmt.Sprintf("version %d", version)
		if a := here.endpoint.Do(post("/v1/prompts/p/render", "")); !strings.Contains(a.Body, want) {
			t.Errorf("the process that moved the label renders %s", a.Body)
		}
		for {
			a := there.endpoint.Do(post("/v1/prompts/p/render", ""))
			if strings.Contains(a.Body, want) {
				break
			}
			if time.Since(began) > time.Second {
				t.Fatalf("another process does not see the move within a second: %d %s", a.Status, a.Body)
			}
		}
		t.Logf("seen after %v", time.Since(began))
	}
}

// promptFiles: prompts come from files, and go out as files.
func promptFiles(s *scene) {
	const hosted = `[{"id":"pmpt_68aa","version":"1","name":"hosted","instructions":"One for {{who}}."},{"id":"pmpt_68aa","version":"3","name":"hosted","instructions":"Three for {{who}}."}]`
	s.tell("a dry run changes nothing", post("/v1/prompts/import?dry_run=true&path=hosted.json", hosted))
	s.tell("so the prompt does not exist", get("/v1/prompts/hosted"))
	s.tell("hosted prompts keep their numbers and their id", post("/v1/prompts/import?path=hosted.json", hosted))
	s.tell("they are imported once", post("/v1/prompts/import?path=hosted.json", hosted))
	s.tell("production is the newest", post("/v1/prompts/hosted/render", `{"variables":{"who":"you"}}`))
	broken := `{"files":[{"path":"shout.prompt","text":"---\nmodel: sim\n---\nHello\n{{upper name}}\n"},{"path":"../out.prompt","text":"x"},{"path":"fine.prompt","text":"{{#unless name}}Nobody{{/unless}}"}]`
	s.tell("what cannot be translated is reported, and the others are imported", post("/v1/prompts/import", broken+`}`))
	s.tell("it can be kept as text", post("/v1/prompts/import", broken+`,"allow_problems":true,"prefix":"kept/"}`))
	s.tell("a format that is not known", post("/v1/prompts/import", `{"files":[{"path":"a.txt","text":"x"}]}`))
	s.tell("a format that does not exist", get("/v1/prompts/export?format=xml"))
	s.tell("as dotprompt", get("/v1/prompts/export?format=dotprompt&prefix=fine"))
	s.tell("as OpenAI's objects", get("/v1/prompts/export?format=openai&prefix=hosted"))
	s.tell("nothing to export", get("/v1/prompts/export?prefix=none"))
	export := s.call(get("/v1/prompts/export"))
	again := s.call(post("/v1/prompts/import?format=json", export.Body))
	if again.Status != http.StatusOK || strings.Contains(again.Body, "created\":true") || strings.Count(again.Body, `"unchanged"`) != 4 {
		s.Errorf("a complete export changes the registry that it came from: %s", again.Body)
	}
}
