package template_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"penstock/internal/prompt/template"
)

func TestTokens(t *testing.T) {
	t.Parallel()
	got, err := template.Tokens("a \\{{ {{b.c}}\n  {{#each xs}}\n{{this}}{{else}}{{! no xs }}{{> lib/p@2}}{{/each}}")
	if err != nil {
		t.Fatal(err)
	}
	want := []template.Token{
		{Kind: template.TokenText, Text: "a {{ "}, {Kind: template.TokenValue, Text: "b.c"}, {Kind: template.TokenText, Text: "\n"}, {Kind: template.TokenEach, Text: "xs", OwnLine: true},
		{Kind: template.TokenValue, Text: "this"}, {Kind: template.TokenElse}, {Kind: template.TokenComment, Text: "no xs"}, {Kind: template.TokenPartial, Text: "lib/p@2"}, {Kind: template.TokenEnd},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A tag whose line ends must not lose a line end or white space that is a part of the text.
func TestPrintKeepsText(t *testing.T) {
	t.Parallel()
	text := func(s string) template.Token { return template.Token{Kind: template.TokenText, Text: s} }
	section, over := template.Token{Kind: template.TokenIf, Text: "a"}, template.Token{Kind: template.TokenEnd}
	for want, tokens := range map[string][]template.Token{
		"{{#if a}}\n\nx{{/if}}":       {section, text("\nx"), over},
		"  {{!}}{{#if a}}\nx{{/if}}":  {text("  "), section, text("\nx"), over},
		"{{#if a}}x{{/if}}":           {section, text("x"), over},
		"{{#if a}}\nx\n{{/if}}":       {{Kind: template.TokenIf, Text: "a", OwnLine: true}, text("x\n"), over},
		`\{{{{v}}\\{{v}}`:             {text("{{"), {Kind: template.TokenValue, Text: "v"}, text(`\`), {Kind: template.TokenValue, Text: "v"}},
		"{{! a } } b}}":               {{Kind: template.TokenComment, Text: "a }} b"}},
		"x{{#if a}}  {{else}}{{/if}}": {text("x"), section, text("  "), {Kind: template.TokenElse}, over},
	} {
		if got, err := template.Print(tokens); err != nil || got != want {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
	}
	if _, err := template.Print([]template.Token{text("{"), {Kind: template.TokenValue, Text: "v"}}); !errors.Is(err, template.ErrBrace) {
		t.Errorf("a brace in front of a tag: %v", err)
	}
	for _, tokens := range [][]template.Token{{section}, {over}} {
		if text, err := template.Print(tokens); err == nil {
			t.Errorf("%v printed as %q", tokens, text)
		}
	}
}

// Many escapes are many texts: joining them takes linear time.
func TestLongTokens(t *testing.T) {
	t.Parallel()
	text := strings.Repeat(`\{{`, template.MaxBytes/3/5) // more are more parts than a template has
	began := time.Now()
	tokens, err := template.Tokens(text)
	if err != nil || len(tokens) != 1 {
		t.Fatalf("%d tokens, %v", len(tokens), err)
	}
	if out, err := template.Print(tokens); err != nil || out != text {
		t.Errorf("printed %d bytes, %v", len(out), err)
	}
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("it took %v", took)
	}
}

// meaning is what counts of tokens.
func meaning(all []template.Token) []template.Token {
	all = slices.DeleteFunc(slices.Clone(all), func(t template.Token) bool { return t.Kind == template.TokenComment })
	var joined []template.Token
	for _, t := range all {
		t.OwnLine = false
		if last := len(joined) - 1; t.Kind == template.TokenText && last >= 0 && joined[last].Kind == template.TokenText {
			joined[last].Text += t.Text
			continue
		}
		joined = append(joined, t)
	}
	return joined
}

// FuzzPrint holds that the tokens of a template print as a template with the same meaning, which prints as itself.
func FuzzPrint(f *testing.F) {
	for _, text := range append(injections, "{{#each a}}{{this.b}}{{else}}{{c}}{{/each}}", "x\n {{#if a}}\ny\n{{else}}  \n\nz\n{{/if}}\n", "{{> a/b@3}}", `\\{{a}} {{! x }}`) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tokens, err := template.Tokens(text)
		if err != nil {
			return
		}
		printed, err := template.Print(tokens)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		again, err := template.Tokens(printed)
		if err != nil {
			t.Fatalf("%q printed as %q: %v", text, printed, err)
		}
		if diff := cmp.Diff(meaning(tokens), meaning(again)); diff != "" {
			t.Errorf("%q printed as %q:\n%s", text, printed, diff)
		}
	})
}
