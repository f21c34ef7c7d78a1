package promptfile

import (
	"fmt"
	"strings"
	"testing"

	"penstock/internal/prompt/template"
)

// translated reads a template and returns ours, with the problems as lines.
func translated(t *testing.T, read func(*reader, *Prompt, int, string) []piece, text string, keep Unsupported) (string, []string) {
	t.Helper()
	r := &reader{options: Options{Unsupported: keep}, set: &Set{}, file: File{Path: "f"}, names: map[string]*Prompt{}}
	p := &Prompt{Name: "p"}
	ours := r.print(p, 1, read(r, p, 0, text))
	var problems []string
	for _, one := range p.Problems {
		problems = append(problems, fmt.Sprintf("%s %d %s", one.Severity, one.Line, one.Construct))
	}
	return ours, problems
}

func TestHandlebars(t *testing.T) {
	t.Parallel()
	for theirs, want := range map[string]string{
		"Hello {{name}}, {{ user.name }}!":                                      "Hello {{name}}, {{user.name}}!",
		"{{{raw}}}{{&raw}}{{~{raw}~}} x":                                        "{{raw}}{{raw}}{{raw}}x",
		"{{#if a}}x{{else}}y{{/if}}":                                            "{{#if a}}x{{else}}y{{/if}}",
		"{{#if a}}x{{else if b}}y{{else}}z{{/if}}":                              "{{#if a}}x{{else}}{{#if b}}y{{else}}z{{/if}}{{/if}}",
		"{{#unless a}}x{{else}}y{{/unless}}":                                    "{{#if a}}y{{else}}x{{/if}}",
		"{{^a}}x{{/a}}":                                                         "{{#if a}}{{else}}x{{/if}}",
		"{{#each xs}}{{name}}{{this.id}}{{../brand}}{{@root.brand}}{{/each}}":   "{{#each xs}}{{this.name}}{{this.id}}{{brand}}{{brand}}{{/each}}",
		"{{#each xs}}{{@index}} {{this}}{{else}}{{none}}{{/each}}":              "{{#each xs}}{{@index}} {{this}}{{else}}{{none}}{{/each}}",
		"{{#each xs as |x i|}}{{i}}={{x.name}}{{/each}}":                        "{{#each xs}}{{@index}}={{this.name}}{{/each}}",
		"{{#each xs}}{{#each tags}}{{this}}{{/each}}{{/each}}":                  "{{#each xs}}{{#each this.tags}}{{this}}{{/each}}{{/each}}",
		"{{#with user}}{{name}}{{#each cards}}{{no}}{{/each}}{{../b}}{{/with}}": "{{#if user}}{{user.name}}{{#each user.cards}}{{this.no}}{{/each}}{{b}}{{/if}}",
		"{{#each xs}}{{#with card}}{{no}}{{../id}}{{/with}}{{/each}}":           "{{#each xs}}{{#if this.card}}{{this.card.no}}{{this.id}}{{/if}}{{/each}}",
		"a {{~name~}} b":                       "a{{name}}b",
		"a\n  {{~#if x~}}  \n b {{~/if~}}\n c": "a{{#if x}}b{{/if}}c",
		"x {{! note }} y {{!-- a }} b --}}z":   "x {{! note}} y {{! a } } b}}z",
		"a\n{{#if x}}\nb\n{{/if}}\nc":          "a\n{{#if x}}\nb\n{{/if}}\nc",
		"a\n{{#if x}}\n\nb{{/if}}":             "a\n{{#if x}}\n\nb{{/if}}",
		"{{> lib/tone}}\nnext":                 "{{> lib/tone}}next", // a partial alone in its line takes the line end
		"{{#each xs}}{{> p @root}}{{/each}}":   "{{#each xs}}{{> p}}{{/each}}",
		`\{{literal}} and \\{{name}}`:          `\{{literal}} and \\{{name}}`,
		"{{#if a}}{{#if b}}x{{/if}}{{/if}}":    "{{#if a}}{{#if b}}x{{/if}}{{/if}}",
		"{{#unless a}}\nx\n{{/unless}}\n":      "{{#if a}}\n{{else}}\nx\n{{/if}}",
		"{{this.a}}{{./b}}{{[c]}}":             "{{a}}{{b}}{{c}}",
	} {
		got, problems := translated(t, (*reader).handlebars, theirs, Refuse)
		if got != want || problems != nil {
			t.Errorf("%q\nbecame %q\nwant   %q, problems %q", theirs, got, want, problems)
		}
	}
}

func TestNunjucks(t *testing.T) {
	t.Parallel()
	for theirs, want := range map[string]string{
		"Hello {{ name }}, {{user.name}} {{ user[\"last\"] | safe }}":                             "Hello {{name}}, {{user.name}} {{user.last}}",
		"{% if a %}x{% elif b %}y{% else %}z{% endif %}":                                          "{{#if a}}x{{else}}{{#if b}}y{{else}}z{{/if}}{{/if}}",
		"{% if not a %}x{% endif %}":                                                              "{{#if a}}{{else}}x{{/if}}",
		"{% for o in orders %}{{ o.id }}{{ loop.index0 }}{{ brand }}{% endfor %}":                 "{{#each orders}}{{this.id}}{{@index}}{{brand}}{{/each}}",
		"{% for o in orders %}{% for t in o.tags %}{{ t }}{% endfor %}{% else %}none{% endfor %}": "{{#each orders}}{{#each this.tags}}{{this}}{{/each}}{{else}}none{{/each}}",
		"a {%- if x -%} b {%- endif -%} c":                                                        "a{{#if x}}b{{/if}}c",
		"a {# note #}b":                                                                           "a {{! note}}b",
		"{% raw %}{{ literal }}{% endraw %}!":                                                     `\{{ literal }}!`,
		`{{ "{{" }}x{{ '}}' }}`:                                                                   `\{{x}}`,
		"{% if a %}\nx\n{% endif %}\n":                                                            "{{#if a}}\n\nx\n{{/if}}\n\n", // Nunjucks keeps the line ends of its tags
		"  {% if a %}\nx{% endif %}":                                                              "  {{!}}{{#if a}}\nx{{/if}}",
		"100% {sure}":                                                                             "100% {sure}",
	} {
		got, problems := translated(t, (*reader).nunjucks, theirs, Refuse)
		if got != want || problems != nil {
			t.Errorf("%q\nbecame %q\nwant   %q, problems %q", theirs, got, want, problems)
		}
	}
}

// Every construct that cannot be translated is reported with its line, and stays as text if its author accepts that.
func TestUnsupported(t *testing.T) {
	t.Parallel()
	type test struct {
		text, construct string
		line            int
	}
	handlebars := []test{
		{"a\n{{upper name}}", "{{upper name}}", 2}, {"{{#if (eq a b)}}x{{else}}y{{/if}}", "{{#if (eq a b)}}", 1}, {"{{#each xs}}{{@first}}{{/each}}", "{{@first}}", 1},
		{"{{lookup a b}}", "{{lookup a b}}", 1}, {"{{#list xs}}x{{/list}}", "{{#list xs}}", 1}, {"\n\n{{> p x=1}}", "{{> p x=1}}", 3}, {"{{#each xs}}{{> p}}{{/each}}", "{{> p}}", 1},
		{"{{#each a}}{{#each b}}{{../c}}{{/each}}{{/each}}", "{{../c}}", 1}, {"{{this}}", "{{this}}", 1}, {"{{#> layout}}x{{/layout}}", "{{#> layout}}", 1}, {"{{a.0}}", "{{a.0}}", 1},
		{"{{#if a}}x{{else if (b c)}}y{{/if}}", "{{else if (b c)}}", 1}, {"{{json x indent=2}}", "{{json x indent=2}}", 1}, {"{{#*inline \"x\"}}y{{/inline}}", "{{#*inline \"x\"}}", 1},
		{"{{#ifEquals a b}}x{{else}}y{{/ifEquals}}", "{{#ifEquals a b}}", 1}, {"{{@key}}", "{{@key}}", 1}, {"{{#if a}}{{role \"user\"}}{{/if}}", "{{role \"user\"}}", 1},
	}
	nunjucks := []test{
		{"{{ name | upper }}", "{{ name | upper }}", 1}, {"a\nb {{ a + b }}", "{{ a + b }}", 2}, {"{% set x = 1 %}", "{% set x = 1 %}", 1}, {"{% include 'x' %}", "{% include 'x' %}", 1},
		{"{% macro f(x) %}y{% endmacro %}", "{% macro f(x) %}", 1}, {"{% if a == 1 %}x{% else %}y{% endif %}", "{% if a == 1 %}", 1}, {"{% for k, v in o %}{{ k }}{% endfor %}", "{% for k, v in o %}", 1},
		{"{% for x in xs %}{{ loop.index }}{% endfor %}", "{{ loop.index }}", 1}, {"{{ f(x) }}", "{{ f(x) }}", 1}, {"{% for x in xs %}{% for y in ys %}{{ x }}{% endfor %}{% endfor %}", "{{ x }}", 1},
		{"{% block b %}x{% endblock %}", "{% block b %}", 1}, {"{{ xs[0] }}", "{{ xs[0] }}", 1}, {"{% if a %}x{% elif b > 1 %}y{% endif %}", "{% elif b > 1 %}", 1}, {"{{ none }}", "{{ none }}", 1},
	}
	for i, all := range [][]test{handlebars, nunjucks} {
		read := []func(*reader, *Prompt, int, string) []piece{(*reader).handlebars, (*reader).nunjucks}[i]
		for _, one := range all {
			_, problems := translated(t, read, one.text, Refuse)
			if want := fmt.Sprintf("error %d %s", one.line, one.construct); len(problems) == 0 || problems[0] != want {
				t.Errorf("%q: problems %q, want %q", one.text, problems, want)
			}
			kept, problems := translated(t, read, one.text, Keep)
			if len(problems) == 0 || !strings.HasPrefix(problems[0], "warning") {
				t.Errorf("%q kept: problems %q", one.text, problems)
			}
			tokens, err := template.Tokens(kept)
			if err != nil {
				t.Errorf("%q kept as %q: %v", one.text, kept, err)
			}
			if len(tokens) == 0 || !strings.Contains(join(tokens), one.construct) {
				t.Errorf("%q kept as %q", one.text, kept)
			}
		}
	}
	for _, text := range []string{"{{name", "{{#if a}}x", "{{/if}}", "{{else}}", "{{#if a}}{{else}}{{else}}{{/if}}", "{{#if a}}{{/each}}", "{{}}", "{{{a}}", strings.Repeat("{{#if a}}", 100)} {
		if _, problems := translated(t, (*reader).handlebars, text, Keep); len(problems) == 0 || !strings.HasPrefix(problems[0], "error") {
			t.Errorf("%q: %q", text, problems)
		}
	}
	for _, text := range []string{"{{ name", "{% if a %}x", "{% endif %}", "{% else %}", "{% raw %}x", "{% if a %}{% endfor %}", strings.Repeat("{% if a %}", 100)} {
		if _, problems := translated(t, (*reader).nunjucks, text, Keep); len(problems) == 0 || !strings.HasPrefix(problems[0], "error") {
			t.Errorf("%q: %q", text, problems)
		}
	}
}

// join is the text of tokens.
func join(all []template.Token) string {
	var b strings.Builder
	for _, t := range all {
		if t.Kind == template.TokenText {
			b.WriteString(t.Text)
		}
	}
	return b.String()
}
