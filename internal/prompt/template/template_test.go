package template_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"penstock/internal/prompt/template"
)

func variables(t testing.TB, text string) map[string]any {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var all map[string]any
	if err := dec.Decode(&all); err != nil {
		t.Fatal(err)
	}
	return all
}

func budget() *template.Budget { return &template.Budget{Bytes: 1 << 20, Steps: 100_000} }

func render(t testing.TB, text string, values map[string]any) string {
	t.Helper()
	parsed, err := template.Parse(text)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	out, err := parsed.Append(nil, values, budget())
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return string(out)
}

func TestRender(t *testing.T) {
	t.Parallel()
	values := variables(t, `{"name":"Ada","n":12345678901234567890,"yes":true,"no":false,"zero":0,"empty":"","list":["a","b"],"none":[],
		"o":{"k":"v","deep":{"x":"y"}},"rows":[{"id":"1","tags":["p","q"]},{"id":"2","tags":[]}],"null":null,"html":"<&>"}`)
	for text, want := range map[string]string{
		"":                              "",
		"plain {text} with } and }}":    "plain {text} with } and }}",
		"Hello {{name}}, {{ name }}!":   "Hello Ada, Ada!",
		"{{n}}{{yes}}{{null}}{{html}}":  "12345678901234567890true<&>",
		"{{o.deep.x}}{{o.nothing}}":     "y",
		"{{o}}{{list}}":                 `{"deep":{"x":"y"},"k":"v"}["a","b"]`,
		`\{{name}} \\{{name}} \\\{{x}}`: `{{name}} \Ada \{{x}}`,
		"{{#if yes}}A{{else}}B{{/if}}{{#if no}}C{{else}}D{{/if}}":                                              "AD",
		"{{#if zero}}x{{/if}}{{#if empty}}x{{/if}}{{#if none}}x{{/if}}{{#if missing}}x{{/if}}":                 "",
		"{{#if n}}n{{/if}}{{#if list}}l{{/if}}{{#if o}}o{{/if}}":                                               "nlo",
		"{{#each list}}{{@index}}={{this}};{{/each}}":                                                          "0=a;1=b;",
		"{{#each none}}x{{else}}nothing{{/each}}":                                                              "nothing",
		"{{#each rows}}{{this.id}}{{#each this.tags}}[{{this}}{{name}}]{{else}}-{{this.id}}{{/each}}{{/each}}": "1[pAda][qAda]2-2",
		"a{{! a comment }}b": "ab",
		"before\n{{#each list}}\n- {{this}}\n{{/each}}\nafter": "before\n- a\n- b\nafter",
		"  {{#if yes}}  \n  x\n  {{/if}}\nend":                 "  x\nend",
		"{{#if yes}}x{{/if}}\nnext":                            "x\nnext",
		"{{! one }}\n{{! two }}\nx":                            "x",
		"{{name}}\n{{name}}":                                   "Ada\nAda",
	} {
		if got := render(t, text, values); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestMistakes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"x {{":                                 `line 1, column 3: {{ has no }}; write \{{ for two literal braces`,
		"ä\n é{{}}":                            "line 2, column 3: {{}} names no variable",
		"{{a b}}":                              "is not a path",
		"{{{a}}}":                              "is not a path",
		"{{1a}}":                               "is not a path",
		"{{a..b}}":                             "is not a path",
		"{{this}}":                             "{{this}} is outside of {{#each}}",
		"{{@index}}":                           "{{@index}} is outside of {{#each}}",
		"{{#each a}}{{else}}{{this}}{{/each}}": "outside of {{#each}}",
		"{{#with a}}{{/with}}":                 "there is no section {{#with}}",
		"{{#if a}}":                            "{{#if}} has no {{/if}}",
		"{{/if}}":                              "closes no section",
		"{{#if a}}{{/each}}":                   "{{/each}} stands where {{/if}} must be",
		"{{else}}":                             "{{else}} is outside of a section",
		"{{#if a}}{{else}}{{else}}{{/if}}":     "two {{else}}",
		"{{> a b}}":                            "a partial is written",
		"{{>}}":                                "a partial is written",
		"{{a.b.c.d.e.f.g.h.i}}":                "more than 8 names",
		"\xff":                                 "not valid UTF-8",
		strings.Repeat("{{#if a}}", 17):        "nested more than 16 deep",
		strings.Repeat("x{{a}}", 10_001):       "more than 20000 parts",
		strings.Repeat("x", 256<<10+1):         "262144 are the most",
	} {
		_, err := template.Parse(text)
		var e *template.Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q", text, err, want)
		}
	}
}

// injections are values that look like templates. They come out unchanged.
var injections = []string{
	"{{secret}}", "{{#each xs}}{{this}}{{/each}}", "{{> admin/system@latest}}", "\\{{secret}}", "{{", "}}", "{{else}}", "{{/if}}", "}}{{secret}}{{",
	"{{! }}", "\u0000{{secret}}", "{{secret", "{{{secret}}}", "{{@index}}", "{{this}}", "\\\\{{secret}}", "\n{{#if yes}}\n",
	"{%secret%}", "${secret}", "<%= secret %>", "{{\u200bsecret}}",
}

// A line that is as long as a template may be, with nothing but tags, is parsed in linear time.
func TestLongLineOfTags(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("{{!}}", template.MaxBytes/len("{{!}}"))
	began := time.Now()
	if got := render(t, text, nil); got != "" {
		t.Errorf("comments print %q", got[:min(len(got), 100)])
	}
	if took := time.Since(began); took > 2*time.Second { // it takes milliseconds; the square would take many seconds
		t.Errorf("parsing took %v", took)
	}
}

func TestValuesAreData(t *testing.T) {
	t.Parallel()
	for _, value := range injections {
		values := map[string]any{"secret": "LEAKED", "v": value, "xs": []any{value}, "o": map[string]any{"v": value}, "yes": true}
		for text, want := range map[string]string{
			"{{v}}":                               value,
			"{{v}}{{v}}":                          value + value,
			"{{{{v}}":                             "",
			"a{{#each xs}}{{this}}{{/each}}b":     "a" + value + "b",
			"{{#if v}}{{o.v}}{{/if}}":             value,
			`\{{{{v}}}}`:                          "{{" + value + "}}",
			"{{#each xs}}\n{{this}}\n{{/each}}\n": value + "\n",
		} {
			parsed, err := template.Parse(text)
			if err != nil {
				continue // not a template: nothing is rendered
			}
			out, err := parsed.Append(nil, values, budget())
			if err != nil || string(out) != want {
				t.Errorf("%q with %q: %q, %v; want %q", text, value, out, err, want)
			}
		}
	}
}

func TestBudgets(t *testing.T) {
	t.Parallel()
	many := make([]any, 1000)
	for text, want := range map[string]error{
		"{{long}}":                              template.ErrBytes,
		"{{#each many}}xxxxxxxxxx{{/each}}":     template.ErrBytes,
		"{{#each many}}{{/each}}":               template.ErrSteps,
		"{{#each many}}{{#each many}}{{/each}}": nil,
	} {
		parsed, err := template.Parse(text)
		if err != nil {
			continue
		}
		_, err = parsed.Append(nil, map[string]any{"long": strings.Repeat("x", 101), "many": many}, &template.Budget{Bytes: 100, Steps: 900})
		if want != nil && !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", text, err, want)
		}
	}
}

// A chain of partials, each including the next twice, grows exponentially: the budget ends it.
func TestPartialsShareTheBudget(t *testing.T) {
	t.Parallel()
	next, err := template.Parse("x")
	if err != nil {
		t.Fatal(err)
	}
	for range 40 {
		twice, err := template.Parse("{{> p}}{{> p}}")
		if err != nil {
			t.Fatal(err)
		}
		if next, err = twice.Link(map[string]*template.Template{"p": next}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := next.Append(nil, nil, budget()); !errors.Is(err, template.ErrSteps) {
		t.Errorf("2^40 partials: %v", err)
	}
}

func TestPartialsSeeVariablesOnly(t *testing.T) {
	t.Parallel()
	part, err := template.Parse("<{{name}}>")
	if err != nil {
		t.Fatal(err)
	}
	whole, err := template.Parse("{{#each xs}}{{> lib/part@2}}{{/each}}")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := whole.Link(nil); err == nil {
		t.Error("a missing partial was linked")
	}
	linked, err := whole.Link(map[string]*template.Template{"lib/part@2": part})
	if err != nil {
		t.Fatal(err)
	}
	out, err := linked.Append(nil, map[string]any{"name": "n", "xs": []any{map[string]any{"name": "inner"}, 2}}, budget())
	if err != nil || string(out) != "<n><n>" {
		t.Errorf("%q, %v", out, err)
	}
}

func TestUses(t *testing.T) {
	t.Parallel()
	parsed, err := template.Parse("{{a}}{{#if b}}{{b}}{{/if}}{{c.d}}{{#each e}}{{this.f}}{{g}}{{#each this.h}}{{this}}{{/each}}{{/each}}{{#if i}}x{{/if}}")
	if err != nil {
		t.Fatal(err)
	}
	var root template.Use
	parsed.Uses(&root)
	text, err := json.Marshal(root.Members)
	if err != nil {
		t.Fatal(err)
	}
	one := func(printed, tested bool) string {
		return fmt.Sprintf(`{"Printed":%v,"Tested":%v,"Listed":false,"Members":null,"Element":null}`, printed, tested)
	}
	want := `{"a":` + one(true, false) + `,"b":` + one(true, true) + `,"c":{"Printed":false,"Tested":false,"Listed":false,"Members":{"d":` + one(true, false) + `},"Element":null},` +
		`"e":{"Printed":false,"Tested":false,"Listed":true,"Members":null,"Element":{"Printed":false,"Tested":false,"Listed":false,"Members":{"f":` + one(true, false) +
		`,"h":{"Printed":false,"Tested":false,"Listed":true,"Members":null,"Element":` + one(true, false) + `}},"Element":null}},"g":` + one(true, false) + `,"i":` + one(false, true) + `}`
	if string(text) != want {
		t.Errorf("uses:\n%s\nwant\n%s", text, want)
	}
}

// FuzzParse holds that no template panics, that errors have a place, and that rendering keeps its budget.
func FuzzParse(f *testing.F) {
	for _, text := range append(injections, "{{#each a}}{{this.b}}{{else}}{{c}}{{/each}}", "x\n{{#if a}}\ny\n{{else}}\nz\n{{/if}}\n", "{{> a/b@3}}") {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		parsed, err := template.Parse(text)
		if err != nil {
			var e *template.Error
			if !errors.As(err, &e) || e.Line < 1 || e.Column < 1 {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		parts := map[string]*template.Template{}
		part, _ := template.Parse("p")
		for _, reference := range parsed.Partials() {
			parts[reference] = part
		}
		linked, err := parsed.Link(parts)
		if err != nil {
			t.Fatal(err)
		}
		var root template.Use
		linked.Uses(&root)
		out, err := linked.Append(nil, map[string]any{"a": []any{"x", "y"}, "b": map[string]any{"c": "d"}}, &template.Budget{Bytes: 1000, Steps: 1000})
		if err == nil && len(out) > 1000 {
			t.Errorf("%q: %d bytes", text, len(out))
		}
	})
}

// FuzzEscape holds that an escaped text renders as itself, and that a value renders as itself.
func FuzzEscape(f *testing.F) {
	for _, text := range injections {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ToValidUTF8(text, "?")
		if len(text) > 10_000 {
			return
		}
		if got := render(t, template.Escape(text), nil); got != text {
			t.Errorf("escaped %q renders as %q", text, got)
		}
		if got := render(t, "<{{v}}>{{#each l}}{{this}}{{/each}}", map[string]any{"v": text, "l": []any{text}, "secret": "LEAKED"}); got != "<"+text+">"+text {
			t.Errorf("the value %q renders as %q", text, got)
		}
	})
}
