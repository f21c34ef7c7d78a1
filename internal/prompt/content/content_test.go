package content_test

import (
	"encoding/json"
	"strings"
	"testing"

	"penstock"
	"penstock/internal/prompt/content"
)

func chat(texts ...string) content.Content {
	c := content.Content{Kind: content.KindChat}
	for _, text := range texts {
		c.Messages = append(c.Messages, content.Message{Role: "user", Content: content.Body{Text: text}})
	}
	return c
}

func compile(t testing.TB, c content.Content, parts map[string]*content.Compiled) *content.Compiled {
	t.Helper()
	parsed, err := content.Parse(c)
	if err != nil {
		t.Fatal(err)
	}
	compiled, err := parsed.Link(parts)
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

func variables(t testing.TB, text string) map[string]any {
	t.Helper()
	all, err := content.ParseVariables([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestRender(t *testing.T) {
	t.Parallel()
	c := content.Content{
		Kind: content.KindChat,
		Messages: []content.Message{
			{Role: "system", Content: content.Body{Text: "You are {{brand}}. {{> lib/tone@2}}"}},
			{Placeholder: "history"},
			{Role: "user", Content: content.Body{Parts: []content.Part{{Type: "text", Text: "{{question}}"}, {Type: "image_url", ImageURL: &content.ImageURL{URL: "{{photo}}", Detail: "low"}}}}},
		},
		Config: content.Config{"model": json.RawMessage(`"fast"`), "temperature": json.RawMessage(`0.2`)},
	}
	tone := compile(t, content.Content{Kind: content.KindText, Text: "Be {{tone}}."}, nil)
	compiled := compile(t, c, map[string]*content.Compiled{"lib/tone@2": tone})
	rendered, err := compiled.Render(variables(t, `{"brand":"Acme","tone":"{{kind}}","question":"{{brand}}?","photo":"https://x.example/{{brand}}",
		"history":[{"role":"user","content":"hi {{brand}}"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c1","content":"42"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(rendered)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"Messages":[{"role":"system","content":"You are Acme. Be {{kind}}."},{"role":"user","content":"hi {{brand}}"},` +
		`{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","content":"42","tool_call_id":"c1"},` +
		`{"role":"user","content":[{"type":"text","text":"{{brand}}?"},{"type":"image_url","image_url":{"url":"https://x.example/{{brand}}","detail":"low"}}]}],` +
		`"Config":{"model":"fast","temperature":0.2}}`
	if string(got) != want {
		t.Errorf("rendered\n%s\nwant\n%s", got, want)
	}
	if c.Messages[2].Content.Parts[1].ImageURL.URL != "{{photo}}" {
		t.Error("rendering changed the content")
	}
}

func TestOneErrorNamesEveryVariable(t *testing.T) {
	t.Parallel()
	derived := compile(t, chat("{{a}} {{b}} {{#if c}}{{c}}{{/if}} {{#each d}}{{this.e}}{{/each}} {{f.g}}"), nil)
	own := chat("{{brand}} {{question}}")
	own.InputSchema = json.RawMessage(`{"type":"object","required":["question"],"properties":{"question":{"type":"string","maxLength":5},"n":{"type":"integer"}}}`)
	closed := compile(t, own, nil)
	for name, tt := range map[string]struct {
		prompt    *content.Compiled
		variables string
		want      string // "" for no error
	}{
		"all there":       {derived, `{"a":"1","b":"2","d":[{"e":"x"}],"f":{"g":"y","more":1}}`, ""},
		"optional":        {derived, `{"a":"1","b":"2","c":"3","d":[],"f":{"g":"y"}}`, ""},
		"everything bad":  {derived, `{"b":7,"z":1,"y":2,"d":"x","f":{}}`, "missing: a, f.g; unknown: y, z; b must be string, not number, d must be array, not string; the variables are a, b, c, d, f."},
		"in lists":        {derived, `{"a":"1","b":"2","d":[{"e":"x"},{"e":1}],"f":{"g":"y"}}`, "d.1.e must be string, not number"},
		"own schema":      {closed, `{"question":"hi","brand":3,"n":4}`, ""},
		"rules":           {closed, `{"question":"too long","n":1.5}`, "n must be integer, not number"},
		"the rule":        {closed, `{"question":"too long"}`, "question breaks the rule maxLength of its schema"},
		"undeclared":      {closed, `{"question":"hi","brnad":"x"}`, "unknown: brnad; the variables are brand, n, question."},
		"own and missing": {closed, `{}`, "missing: question"},
	} {
		_, err := tt.prompt.Render(variables(t, tt.variables))
		if tt.want == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if e := penstock.AsError(err); err == nil || e.Code != penstock.CodeInvalidRequest || e.Param != "variables" || !strings.Contains(e.Message, tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}

func TestDerivedSchema(t *testing.T) {
	t.Parallel()
	compiled := compile(t, chat("{{a}}{{#each xs}}{{this}}{{/each}}{{#if flag}}y{{/if}}"), nil)
	want := `{"additionalProperties":false,"properties":{"a":{"type":"string"},"flag":true,"xs":{"items":{"type":"string"},"type":"array"}},"required":["a","xs"],"type":"object"}`
	if got := string(compiled.Schema()); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestRefusedContents(t *testing.T) {
	t.Parallel()
	with := func(change func(*content.Content)) content.Content {
		c := chat("x")
		change(&c)
		return c
	}
	config := func(name, value string) content.Content {
		return with(func(c *content.Content) { c.Config = content.Config{name: json.RawMessage(value)} })
	}
	schema := func(text string) content.Content {
		return with(func(c *content.Content) { c.InputSchema = json.RawMessage(text) })
	}
	deep := `{"$defs":{"z":{"type":"string"}`
	before := "z"
	for _, name := range strings.Split("abcdefghijkl", "") {
		deep += `,"` + name + `":{"anyOf":[{"$ref":"#/$defs/` + before + `"},{"$ref":"#/$defs/` + before + `"}]}`
		before = name
	}
	deep += `},"properties":{"x":{"$ref":"#/$defs/l"}}}`
	for name, tt := range map[string]struct {
		content content.Content
		param   string
		want    string
	}{
		"no kind":           {content.Content{Text: "x"}, "kind", "text or chat"},
		"text and messages": {with(func(c *content.Content) { c.Text = "x" }), "text", "has messages, not text"},
		"empty":             {content.Content{Kind: content.KindText}, "text", "not be empty"},
		"role":              {with(func(c *content.Content) { c.Messages[0].Role = "robot" }), "messages[0].role", "must be one of"},
		"placeholder":       {with(func(c *content.Content) { c.Messages[0].Placeholder = "h" }), "messages[0]", "no other members"},
		"image of system": {with(func(c *content.Content) {
			c.Messages[0] = content.Message{Role: "system", Content: content.Body{Parts: []content.Part{{Type: "image_url", ImageURL: &content.ImageURL{URL: "x"}}}}}
		}), "messages[0].content[0]", "role user"},
		"template":        {chat("a", "{{b"), "messages[1].content", "line 1, column 1"},
		"reference":       {chat("{{> a/versions/b}}"), "messages[0].content", "is a word of the API's paths"},
		"stream":          {config("stream", "true"), "config.stream", "the caller decides"},
		"temperature":     {config("temperature", `"hot"`), "config.temperature", "must be a number, not a string"},
		"two tools":       {config("tools", `[{"type":"function","function":{"name":"f"}},{"type":"function","function":{"name":"f"}}]`), "config.tools[1]", "two tools"},
		"no schema":       {schema(`[]`), "input_schema", "must be a JSON Schema"},
		"schema type":     {schema(`{"type":"string"}`), "input_schema", `must be "object"`},
		"bad schema":      {schema(`{"properties":{"a":{"type":"strnig"}}}`), "input_schema", "not a valid JSON Schema"},
		"file schema":     {schema(`{"$ref":"file:///etc/passwd"}`), "input_schema", "must begin with #/"},
		"cycle":           {schema(`{"$defs":{"a":{"anyOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/a"}]}},"properties":{"x":{"$ref":"#/$defs/a"}}}`), "input_schema", "leads back to itself"},
		"exponential":     {schema(deep), "input_schema", "more than 1000 parts"},
		"other reference": {schema(`{"$dynamicRef":"#a"}`), "input_schema", "not supported"},
		"closed schema": {with(func(c *content.Content) {
			c.Messages[0].Content.Text = "{{a}}{{b}}"
			c.InputSchema = json.RawMessage(`{"additionalProperties":false,"properties":{"a":{}}}`)
		}), "input_schema", "lack b of the templates"},
		"too large": {with(func(c *content.Content) {
			for range 3 {
				c.Messages = append(c.Messages, chat(strings.Repeat("x", 100<<10)).Messages...)
			}
		}), "", "are the most"},
	} {
		parsed, err := content.Parse(tt.content)
		if err == nil {
			_, err = parsed.Link(nil)
		}
		if e := penstock.AsError(err); err == nil || e.Param != tt.param || !strings.Contains(e.Message, tt.want) {
			t.Errorf("%s: %v, want %q at %q", name, err, tt.want, tt.param)
		}
	}
}

func TestHash(t *testing.T) {
	t.Parallel()
	hash := func(c content.Content, references ...content.Resolved) string {
		t.Helper()
		parsed, err := content.Parse(c)
		if err != nil {
			t.Fatal(err)
		}
		sum, err := parsed.Content.Hash(references)
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	config := func(text string) content.Content {
		c := chat("x {{> p}}")
		if err := json.Unmarshal([]byte(text), &c.Config); err != nil {
			t.Fatal(err)
		}
		return c
	}
	base := hash(config(`{"model":"m","seed":1152921504606846977}`))
	for name, tt := range map[string]struct {
		sum  string
		same bool
	}{
		"order and space": {hash(config(`{ "seed": 1152921504606846977, "model": "m" }`)), true},
		"null members":    {hash(config(`{"model":"m","seed":1152921504606846977,"response_format":null,"tools":[]}`)), true},
		"last digit":      {hash(config(`{"model":"m","seed":1152921504606846976}`)), false},
		"a reference":     {hash(config(`{"model":"m","seed":1152921504606846977}`), content.Resolved{Written: "p", Name: "p", Version: 1}), false},
		"another text":    {hash(chat("y")), false},
	} {
		if (tt.sum == base) != tt.same {
			t.Errorf("%s: %s and %s", name, tt.sum, base)
		}
	}
}

func TestPlaceholders(t *testing.T) {
	t.Parallel()
	c := chat("{{q}}")
	c.Messages = append([]content.Message{{Placeholder: "history"}}, c.Messages...)
	compiled := compile(t, c, nil)
	for text, want := range map[string]string{
		`{"q":"x","history":[]}`:                                       "",
		`{"q":"x","history":[{"role":"robot","content":"x"}]}`:         "variables.history[0].role must be one of",
		`{"q":"x","history":[{"role":"user","content":"x","evil":1}]}`: "is not a message",
		`{"q":"x","history":["text"]}`:                                 "is not a message",
		`{"q":"x","history":[{"placeholder":"history"}]}`:              "is a placeholder",
		`{"q":"x","history":"text"}`:                                   "history must be array, not string",
		`{"q":"x"}`:                                                    "missing: history",
		`{"q":"x","history":[` + strings.Repeat(`{"role":"user","content":"x"},`, 1000) + `{"role":"user","content":"x"}]}`: "more than 1000 messages",
	} {
		_, err := compiled.Render(variables(t, text))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%.80s: %v, want %q", text, err, want)
		}
	}
}

func TestVariablesAreBounded(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]penstock.Code{
		"":    "",
		"{}":  "",
		"[]":  penstock.CodeInvalidRequest,
		"{} ": "",
		"{}{": penstock.CodeInvalidRequest,
		`{"a":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + "}": penstock.CodeTooLarge,
		`{"a":[` + strings.Repeat("1,", 20_000) + "1]}":                   penstock.CodeTooLarge,
	} {
		if _, err := content.ParseVariables([]byte(text)); penstock.ErrorCode(err) != want {
			t.Errorf("%.20q: %v, want %q", text, err, want)
		}
	}
	big := compile(t, chat("{{v}}{{v}}{{v}}{{v}}{{v}}"), nil)
	if _, err := big.Render(map[string]any{"v": strings.Repeat("x", 1<<20)}); penstock.ErrorCode(err) != penstock.CodeTooLarge {
		t.Errorf("5 MiB were rendered: %v", err)
	}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	from, to := chat("one\ntwo\nthree", "same", "gone"), chat("one\n2\nthree\nfour", "same")
	from.Config = content.Config{"model": json.RawMessage(`"a"`), "seed": json.RawMessage(`1`)}
	to.Config = content.Config{"model": json.RawMessage(`"b"`), "seed": json.RawMessage(` 1`)}
	to.InputSchema = json.RawMessage(`{"properties":{"x":{"type":"string"}}}`)
	text, err := json.Marshal(content.Compare(from, to))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"Messages":[{"Change":"changed","From":0,"To":0,"Role":"user","Lines":[{"Change":"same","Text":"one"},{"Change":"removed","Text":"two"},{"Change":"added","Text":"2"},{"Change":"same","Text":"three"},{"Change":"added","Text":"four"}]},` +
		`{"Change":"same","From":1,"To":1,"Role":"user","Lines":[{"Change":"same","Text":"same"}]},{"Change":"removed","From":2,"To":null,"Role":"user","Lines":[{"Change":"removed","Text":"gone"}]}],` +
		`"Config":[{"Name":"model","From":"a","To":"b"}],"Schema":[{"Name":"properties.x","From":null,"To":{"type":"string"}}]}`
	if string(text) != want {
		t.Errorf("%s\nwant\n%s", text, want)
	}
	if d := content.Compare(from, from); !d.Empty() {
		t.Errorf("a content differs from itself: %+v", d)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	for name, ok := range map[string]bool{
		"answer": true, "support/answer": true, "a/b/c-d_e.1": true, "7": true, "": false, "/a": false, "a/": false, "a//b": false, "a b": false, "ä": false, ".a": false,
		"versions": false, "a/versions": false, "a/draft/b": false, "a\x00b": false, strings.Repeat("a/", 8) + "a": false, strings.Repeat("a", 201): false,
	} {
		if err := content.CheckName(name); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
	for text, want := range map[string]string{"a/b": "a/b@production", "a@latest": "a@latest", "a@7": "a@7", "a@": "", "a@0": "", "a@b@c": "", "@x": ""} {
		r, err := content.ParseReference(text)
		if (err == nil) != (want != "") || err == nil && r.String() != want {
			t.Errorf("%q: %v, %v", text, r, err)
		}
	}
}

// FuzzRender holds that values come out unchanged in messages, whatever they are, and that rendering is deterministic.
func FuzzRender(f *testing.F) {
	for _, value := range []string{"{{secret}}", "{{> a}}", "{{#each xs}}", `"`, "\\{{", "}}", "\u2028", "null"} {
		f.Add(value)
	}
	c := chat("<{{v}}>")
	c.Messages = append(c.Messages, content.Message{Placeholder: "history"})
	compiled := compile(f, c, nil)
	f.Fuzz(func(t *testing.T, value string) {
		value = strings.ToValidUTF8(value, "?")
		values := map[string]any{"v": value, "history": []any{map[string]any{"role": "user", "content": value}}}
		r, err := compiled.Render(values)
		if err != nil {
			t.Fatal(err)
		}
		if r.Messages[0].Content.Text != "<"+value+">" || r.Messages[1].Content.Text != value {
			t.Errorf("%q renders as %+v", value, r.Messages)
		}
	})
}

// FuzzContent holds that no content panics, and that a content that was parsed can be stored and read again unchanged.
func FuzzContent(f *testing.F) {
	for _, text := range []string{
		`{"kind":"chat","messages":[{"role":"user","content":"{{a}}"}]}`, `{"kind":"text","text":"{{#each a}}{{this}}{{/each}}","input_schema":{"properties":{"a":{"type":"array"}}}}`,
		`{"kind":"chat","messages":[{"placeholder":"h"},{"role":"user","content":[{"type":"image_url","image_url":{"url":"{{u}}"}}]}],"config":{"model":"m","tools":[]}}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := content.Decode([]byte(text))
		if err != nil {
			return
		}
		parsed, err := content.Parse(c)
		if err != nil {
			return
		}
		sum, err := parsed.Content.Hash(nil)
		if err != nil {
			t.Fatal(err)
		}
		stored, err := parsed.Content.Encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := content.Decode(stored)
		if err != nil {
			t.Fatal(err)
		}
		read, err := content.Parse(again)
		if err != nil {
			t.Fatalf("%s cannot be read again: %v", stored, err)
		}
		if same, err := read.Content.Hash(nil); err != nil || same != sum {
			t.Errorf("%s has another hash after it was stored: %v", stored, err)
		}
	})
}
