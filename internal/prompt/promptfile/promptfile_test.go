package promptfile_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"penstock"
	"penstock/internal/prompt/content"
	"penstock/internal/prompt/promptfile"
)

var update = flag.Bool("update", false, "write the golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// filesOf reads the files of a folder.
func filesOf(t *testing.T, folder string) (all []promptfile.File) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(folder, path)
		all = append(all, promptfile.File{Path: filepath.ToSlash(name), Text: string(text)})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// describe shows a set: each version as a file of a directory, and every problem.
func describe(set *promptfile.Set) string {
	var b strings.Builder
	problems := func(all []promptfile.Problem) {
		for _, p := range all {
			fmt.Fprintf(&b, "%s %s:%d %q %s\n", p.Severity, p.Path, p.Line, p.Construct, p.Message)
		}
	}
	fmt.Fprintf(&b, "format %s\n", set.Format)
	problems(set.Problems)
	for _, p := range set.Prompts {
		fmt.Fprintf(&b, "\n=== %s\n", p.Name)
		problems(p.Problems)
		for _, label := range slices.Sorted(maps.Keys(p.Labels)) {
			fmt.Fprintf(&b, "label %s: %d\n", label, p.Labels[label])
		}
		for _, a := range p.Aliases {
			fmt.Fprintf(&b, "id %s: %v\n", a.Alias, a.Versions)
		}
		for _, v := range p.Versions {
			fmt.Fprintf(&b, "--- version %q %d, message %q\n%s", v.Written, v.Number, v.Message, promptfile.DirectoryFile(p.Name, v.Content).Text)
		}
	}
	return b.String()
}

func TestImports(t *testing.T) {
	t.Parallel()
	for _, format := range []promptfile.Format{promptfile.Dotprompt, promptfile.Promptfoo, promptfile.OpenAI, promptfile.Langfuse, promptfile.Directory} {
		files := filesOf(t, filepath.Join("testdata", "import", string(format)))
		if format == promptfile.Promptfoo { // the configuration comes first, as the command line sends it
			slices.Reverse(files)
		}
		found, err := promptfile.Detect(files)
		if err != nil || found != format {
			t.Errorf("%s: detected %q, %v", format, found, err)
		}
		for _, keep := range []promptfile.Unsupported{promptfile.Refuse, promptfile.Keep} {
			set, err := promptfile.Read(files, promptfile.Options{Unsupported: keep})
			if err != nil {
				t.Fatal(err)
			}
			golden(t, "import_"+string(format)+string(keep), describe(set))
			for _, p := range set.Prompts {
				for _, v := range p.Versions {
					if _, err := content.Parse(v.Content); err != nil && keep == promptfile.Keep {
						t.Errorf("%s: %s: %v", format, p.Name, err)
					}
				}
			}
		}
	}
}

// stored are prompts with everything that a prompt can have.
func stored() []promptfile.Stored {
	at := time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC)
	tone := promptfile.Stored{ID: "pmpt_01", Name: "lib/tone", Kind: content.KindText, Labels: map[string]int64{"production": 1}, Versions: []promptfile.StoredVersion{
		{N: 1, SHA256: "aa", Author: "ada", Message: "first", CreatedAt: at, Content: content.Content{Kind: content.KindText, Text: "Be {{tone}}.\nAnd brief.\n"}},
		{N: 2, SHA256: "bb", CreatedAt: at, Deleted: true},
	}}
	chat := content.Content{Kind: content.KindChat, Messages: []content.Message{
		{Role: "system", Content: content.Body{Text: "You are {{brand}}. {{> lib/tone@1}}\n{{#if vip}}\nImportant: {{customer.name}}.\n{{/if}}\nLiteral \\{{ and {{!note}}."}},
		{Placeholder: "history"},
		{Role: "user", Content: content.Body{Parts: []content.Part{{Type: content.PartText, Text: "{{#each orders}}{{@index}}: {{this.id}} of {{brand}}\n{{else}}none{{/each}}{{question}}"},
			{Type: content.PartImage, ImageURL: &content.ImageURL{URL: "{{photo}}", Detail: "low"}}}}},
		{Role: "assistant", Content: content.Body{Text: "Fine."}},
	}, Config: content.Config{"model": []byte(`"fast"`), "temperature": []byte("0.20"), "max_tokens": []byte("200"),
		"tools":           []byte(`[{"type":"function","function":{"name":"find","parameters":{"type":"object"}}}]`),
		"response_format": []byte(`{"type":"json_schema","json_schema":{"name":"output","schema":{"type":"object"}}}`)},
		InputSchema: []byte(`{"type":"object","properties":{"brand":{"type":"string"}},"examples":[{"brand":"Acme"}]}`)}
	return []promptfile.Stored{tone, {ID: "pmpt_02", Name: "support/answer", Kind: content.KindChat, Labels: map[string]int64{"production": 3, "canary": 5}, Archived: true,
		Aliases: []promptfile.StoredAlias{{ID: "pmpt_68aa", Versions: map[string]int64{"2": 3}}}, Versions: []promptfile.StoredVersion{
			{N: 3, SHA256: "cc", Parent: 1, CreatedAt: at, Content: content.Content{Kind: content.KindChat, Messages: []content.Message{{Role: "user", Content: content.Body{Text: "{{question}}"}}}}},
			{N: 5, SHA256: "dd", Parent: 3, Author: "ada", CreatedAt: at, Content: chat, References: []content.Resolved{{Written: "lib/tone@1", Name: "lib/tone", Version: 1}}},
		}}}
}

func TestExports(t *testing.T) {
	t.Parallel()
	for _, format := range promptfile.Formats {
		var b strings.Builder
		var files []promptfile.File
		for _, p := range stored() {
			out, err := promptfile.Write(format, p)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "=== %s\n%s\n", out.File.Path, out.File.Text)
			for _, one := range out.Problems {
				fmt.Fprintf(&b, "%s %s %q %s\n", one.Severity, one.Path, one.Construct, one.Message)
			}
			if format == promptfile.JSON {
				out.File.Text = `{"object":"prompt.export","prompts":[` + out.File.Text + `]}`
			}
			files = append(files, out.File)
		}
		golden(t, "export_"+string(format), b.String())
		set, err := promptfile.Read(files, promptfile.Options{Format: format})
		if err != nil {
			t.Fatal(err)
		}
		golden(t, "again_"+string(format), describe(set))
	}
	if _, err := promptfile.Write("xml", promptfile.Stored{}); penstock.ErrorCode(err) != penstock.CodeInvalidRequest {
		t.Errorf("an unknown format: %v", err)
	}
}
