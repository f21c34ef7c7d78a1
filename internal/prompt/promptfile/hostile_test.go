package promptfile

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"penstock"
	"penstock/internal/prompt/content"
	"penstock/internal/prompt/template"
)

// hostile are texts that repeat a pattern, by format. Reading twice the text must not take four times as long.
var hostile = map[Format][]struct{ before, pattern, after string }{
	Dotprompt: {
		{"", "{{a}}", ""}, {"", "{{!--x--}}", ""}, {"", "{{#if a}}x{{/if}}", ""}, {"", "\\{{", ""}, {"", "{{#each a}}{{b}}{{/each}}\n", ""}, {"", "{{", "}}"}, {"{{", "\"", ""}, {"", "{", ""}, {"", "\n{{/if}}", ""},
		{"---\n", "a", "\n---\n"}, {"---\na: |\n", "  x\n", "---\n"}, {"---\n", "# c\n", "---\n"}, {"", "{{role \"user\"}}x", ""}, {"", "{{media url=a}}", ""}, {"", "{{{a}}}", ""}, {"", "{{~a~}}  ", ""}, {"", "{{x y}}", ""}, {"", " \n", "{{#if a}}"},
	},
	Promptfoo: {
		{"prompts:\n  - |\n    ", "{{ a }}", ""}, {"prompts:\n  - |\n    ", "{% raw %}{% endraw %}", ""}, {"prompts:\n  - |\n    {% raw %}", "{%", ""}, {"prompts:\n  - |\n    {% raw %}", "endraw", ""}, {"prompts:\n  - |\n    ", "{# #}", ""},
		{"prompts:\n  - |\n    ", "{% for x in y %}{{ x }}{% endfor %}", ""}, {"prompts:\n  - |\n    {{ '", "\\'", "' }}"}, {"prompts:\n", "  - a\n", ""}, {"prompts: [x]\ntests:\n", "  - vars: {a: b}\n", ""}, {"prompts: [x]\n", "a: b\n", ""},
		{"prompts: \"[{\\\"role\\\":\\\"user\\\",\\\"content\\\":\\\"", "{{a}}", "\\\"}]\""}, {"prompts:\n  - |\n    ", "{", ""},
	},
	OpenAI:    {{`{"id":"pmpt_1","instructions":"`, "{{a}}", `"}`}, {`[`, `{"id":"pmpt_1","instructions":"x"},`, `{}]`}, {`{"id":"pmpt_1","instructions":"`, "{{", `"}`}, {`{"id":"pmpt_1","input":[`, `{"role":"user","content":"x"},`, `{}]}`}, {``, `[`, ``}},
	Langfuse:  {{`{"name":"a","prompt":"`, "@@@langfusePrompt:name=b|version=1@@@", `"}`}, {`{"name":"a","prompt":"`, "@@@langfusePrompt:", `"}`}, {`{"name":"a","prompt":"`, `\n`, `"}`}, {`[`, `{"name":"a","version":1,"prompt":"x"},`, `{}]`}},
	JSON:      {{`{"prompts":[`, `{"name":"a","versions":[{"kind":"text","text":"x"}]},`, `{}]}`}, {`{"prompts":[{"name":"a","versions":[`, `{"kind":"text","text":"x"},`, `{}]}]}`}, {`{"prompts":`, `{"a":`, ``}},
	Directory: {{"kind: text\ntext: |\n", "  x {{a}}\n", ""}, {"kind: chat\nmessages:\n", "  - {role: user, content: x}\n", ""}, {"a: ", "[", ""}, {"", "- ", "x"}, {"", "? ", "x"}, {"kind: text\n", "a: b\n", ""}},
}

func TestHostileFiles(t *testing.T) {
	t.Parallel()
	read := func(format Format, path, text string) (*Set, error) {
		return Read([]File{{Path: path, Text: text}}, Options{Format: format})
	}
	for path, text := range map[string]string{"": "x", "a\x00.prompt": "x", strings.Repeat("a", 600): "x", "a.prompt": "\xff", "b.prompt": strings.Repeat("x", MaxFileBytes+1)} {
		if set, err := read(Dotprompt, path, text); err == nil {
			t.Errorf("%.20q was read: %+v", path, set)
		}
	}
	for _, path := range []string{"../a.prompt", "/etc/passwd.prompt", "a/../../b.prompt", "versions/a.prompt", `..\a.prompt`, ".hidden.prompt", "a//b.prompt/../../../c.prompt"} {
		set, err := read(Dotprompt, path, "x")
		if err != nil || len(set.Prompts) != 0 && !strings.HasPrefix(path, "a//") || len(set.Problems) == 0 && !strings.HasPrefix(path, "a//") {
			t.Errorf("%s: %+v, %v", path, set, err)
		}
		for _, p := range set.Prompts {
			if content.CheckName(p.Name) != nil {
				t.Errorf("%s became %s", path, p.Name)
			}
		}
	}
	bomb := "a: &a [x, x]\n"
	for i := range 20 {
		bomb += fmt.Sprintf("a%d: &a%d [*a, *a]\n", i, i)
	}
	for _, text := range []string{bomb, "kind: &k text\ntext: *k\n", "<<: {a: b}\n", "kind: !!text x\n", "a: 1\na: 2\n", "--- \na: 1\n---\nb: 2\n", strings.Repeat("[", 10_000), strings.Repeat("a:\n ", 5000)} {
		if set, err := read(Directory, "a.yaml", text); err != nil || len(set.Prompts) > 0 && !set.Prompts[0].Failed() || len(set.Prompts) == 0 && len(set.Problems) == 0 {
			t.Errorf("%.40q: %+v, %v", text, set, err)
		}
	}
	if _, err := Read(make([]File, MaxFiles+1), Options{}); penstock.ErrorCode(err) != penstock.CodeInvalidRequest {
		t.Errorf("too many files: %v", err)
	}
	var many []string
	for i := range MaxPrompts + 5 {
		many = append(many, fmt.Sprintf(`{"name":"p%d","prompt":"x"}`, i))
	}
	set, err := read(Langfuse, "a.json", "["+strings.Join(many, ",")+"]")
	if err != nil || len(set.Prompts) != MaxPrompts || len(set.Problems) != 5 {
		t.Errorf("too many prompts: %d, %v", len(set.Prompts), err)
	}
	many = nil
	for i := range MaxVersions + 5 {
		many = append(many, fmt.Sprintf(`{"name":"p","version":%d,"prompt":"x"}`, i+1))
	}
	if set, err = read(Langfuse, "a.json", "["+strings.Join(many, ",")+"]"); err != nil || len(set.Prompts[0].Versions) != MaxVersions || !set.Prompts[0].Failed() {
		t.Errorf("too many versions: %v", err)
	}
	for _, o := range []Options{{Format: JSON, Prefix: "x/"}, {Format: "xml"}} {
		if _, err := Read([]File{{Path: "a.json", Text: `{"prompts":[]}`}}, o); penstock.ErrorCode(err) != penstock.CodeInvalidRequest {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if set, err := Read([]File{{Path: "a.json", Text: `[{"name":"a b","prompt":"x"},{"name":"a-b","prompt":"y"}]`}}, Options{Prefix: "team/"}); err != nil || len(set.Problems) != 1 || set.Prompts[0].Name != "team/a-b" {
		t.Errorf("two names that become one: %+v, %v", set, err)
	}
}

// read reads a text in a format and holds what every reading promises.
func fuzzed(t *testing.T, format Format, path, text string) {
	for _, keep := range []Unsupported{Refuse, Keep} {
		set, err := Read([]File{{Path: path, Text: text}}, Options{Format: format, Unsupported: keep})
		if err != nil {
			if penstock.ErrorCode(err) == penstock.CodeInternal {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		for _, p := range set.Prompts {
			if content.CheckName(p.Name) != nil {
				t.Errorf("%q has the name %q", text, p.Name)
			}
			if p.Failed() {
				continue
			}
			for _, v := range p.Versions {
				parsed, err := content.Parse(v.Content)
				if err != nil {
					t.Fatalf("%q: %v", text, err)
				}
				// What was read can be written as a file, and means the same when it is read again.
				file := DirectoryFile(p.Name, parsed.Content)
				again, err := Read([]File{file}, Options{Format: Directory})
				if err != nil || len(again.Prompts) != 1 || again.Prompts[0].Failed() {
					t.Fatalf("%q was written as %q, which cannot be read: %+v, %v", text, file.Text, again, err)
				}
				before, _ := parsed.Content.Hash(nil)
				reread, err := content.Parse(again.Prompts[0].Versions[0].Content)
				if err != nil {
					t.Fatalf("%q was written as %q: %v", text, file.Text, err)
				}
				if after, _ := reread.Content.Hash(nil); before != after {
					t.Fatalf("%q was written as %q, which is another content:\n%+v\n%+v", text, file.Text, parsed.Content, reread.Content)
				}
				for _, other := range Formats {
					if _, err := Write(other, Stored{Name: p.Name, Kind: parsed.Content.Kind, Versions: []StoredVersion{{N: 1, Content: parsed.Content}}}); err != nil {
						t.Fatalf("%q as %s: %v", text, other, err)
					}
				}
			}
		}
	}
}

func seed(f *testing.F, format Format) {
	for _, one := range hostile[format] {
		f.Add(one.before + strings.Repeat(one.pattern, 3) + one.after)
	}
}

func FuzzDotprompt(f *testing.F) {
	seed(f, Dotprompt)
	f.Add("---\nmodel: m\ninput:\n  schema:\n    a?(array, b): string\n    c(enum): [x]\n    (*): any\n---\n{{role \"system\"}}{{#each a as |x i|}}{{x.y}}{{i}}{{/each}}{{history}}{{media url=p}}")
	f.Fuzz(func(t *testing.T, text string) { fuzzed(t, Dotprompt, "a.prompt", text) })
}

func FuzzPromptfoo(f *testing.F) {
	seed(f, Promptfoo)
	f.Add("prompts:\n  - 'x {% if a %}{{ a.b | safe }}{% endif %}'\nproviders: [openai:gpt]\ntests:\n  - vars: {a: {b: 1}}\n")
	f.Fuzz(func(t *testing.T, text string) { fuzzed(t, Promptfoo, "a.yaml", text) })
}

func FuzzOpenAI(f *testing.F) {
	seed(f, OpenAI)
	f.Add(`{"id":"pmpt_1","version":"2","instructions":"{{a}}","tools":[{"type":"function","name":"x"}],"text":{"format":{"type":"json_schema","schema":{}}},"variables":{"a":1}}`)
	f.Fuzz(func(t *testing.T, text string) { fuzzed(t, OpenAI, "a.json", text) })
}

func FuzzLangfuse(f *testing.F) {
	seed(f, Langfuse)
	f.Add(`{"name":"a","version":1,"prompt":[{"role":"user","content":"@@@langfusePrompt:name=b|label=x@@@"},{"type":"placeholder","name":"h"}],"labels":["production"],"config":{"model":"m"}}`)
	f.Fuzz(func(t *testing.T, text string) { fuzzed(t, Langfuse, "a.json", text) })
}

func FuzzJSONExport(f *testing.F) {
	seed(f, JSON)
	f.Add(`{"prompts":[{"name":"a","id":"pmpt_1","labels":{"x":1},"aliases":[{"id":"y","versions":{"3":1}}],"versions":[{"version":1,"kind":"chat","messages":[{"placeholder":"h"}],"config":{"n":1e5},"references":[]}]}]}`)
	f.Fuzz(func(t *testing.T, text string) { fuzzed(t, JSON, "a.json", text) })
}

func FuzzDirectory(f *testing.F) {
	seed(f, Directory)
	f.Add("kind: chat\nmessages:\n  - role: user\n    content: |+\n      a\n\n\nconfig: {x: 1e3, y: 'yes', z: 0x1}\n")
	f.Fuzz(func(t *testing.T, text string) { fuzzed(t, Directory, "a.yaml", text) })
}

// FuzzTemplates holds that a translated template is a template, and that one without problems means the same in the other language:
// written back and translated again, it stays as it is.
func FuzzTemplates(f *testing.F) {
	for _, format := range []Format{Dotprompt, Promptfoo} {
		for _, one := range hostile[format] {
			f.Add(strings.Repeat(one.pattern, 2))
		}
	}
	f.Add("a\n {{#if x}} \nb{{else}}\n\n{{#each y}}{{@index}}{{this.z}}{{x}}{{> p@2}}{{/each}}{{/if}} \\{{ {{! c }}")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 10_000 || !utf8.ValidString(text) { // Read refuses other texts
			return
		}
		for _, read := range []func(*reader, *Prompt, int, string) []piece{(*reader).handlebars, (*reader).nunjucks} {
			r, p := &reader{set: &Set{}, options: Options{Unsupported: Keep}}, &Prompt{}
			pieces := read(r, p, 0, text)
			ours := r.print(p, 1, pieces)
			if p.Failed() {
				continue
			}
			if _, err := template.Tokens(ours); err != nil && !strings.Contains(err.Error(), "deep") && !strings.Contains(err.Error(), "more than") {
				t.Errorf("%q became %q: %v", text, ours, err)
			}
		}
		tokens, err := template.Tokens(text)
		if err != nil {
			return
		}
		for i, read := range []func(*reader, *Prompt, int, string) []piece{(*reader).handlebars, (*reader).nunjucks} {
			w := &writer{}
			theirs := []func(string) string{w.handlebars, w.nunjucks}[i](text)
			if len(w.problems) > 0 {
				continue
			}
			r, p := &reader{set: &Set{}}, &Prompt{}
			back := r.print(p, 1, read(r, p, 0, theirs))
			if len(p.Problems) > 0 {
				t.Errorf("%q was written as %q, which has problems: %+v", text, theirs, p.Problems)
				continue
			}
			again, err := template.Tokens(back)
			if err != nil || fmt.Sprint(bare(tokens)) != fmt.Sprint(bare(again)) {
				t.Errorf("%q was written as %q, and came back as %q (%v)", text, theirs, back, err)
			}
		}
	})
}

// bare are tokens without comments and places, with neighbouring texts joined and else branches that are empty removed.
func bare(all []template.Token) (out []template.Token) {
	for _, t := range all {
		last := len(out) - 1
		switch {
		case t.Kind == template.TokenComment:
			continue
		case t.Kind == template.TokenText && last >= 0 && out[last].Kind == template.TokenText:
			out[last].Text += t.Text
			continue
		case t.Kind == template.TokenEnd && last >= 0 && out[last].Kind == template.TokenElse:
			out = out[:last]
		}
		t.OwnLine = false
		out = append(out, t)
	}
	return out
}
