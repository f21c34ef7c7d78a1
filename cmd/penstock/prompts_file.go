package main

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"penstock/client"
	"penstock/internal/prompt/promptfile"
)

func (sh *shell) promptsImportCommand() *cobra.Command {
	var o client.PromptImportOrder
	c := &cobra.Command{
		Use: "import FILE…", Short: "Import prompts from dotprompt, promptfoo, OpenAI, Langfuse, or an export",
		Long: `Imports prompts from files, or from the files of folders. Each prompt is imported as a whole
or not at all, and the same files imported again change nothing. Constructs of other
template languages that cannot be translated are reported with file and line; their
prompts are not imported, unless --keep leaves the constructs as literal text.`,
		Example: "  penstock prompts import prompts/ --dry-run\n  penstock prompts import promptfooconfig.yaml\n  penstock prompts import hosted.json --format openai",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError{"the file is missing"}
			}
			return nil
		},
		RunE: sh.asking(func(c *cobra.Command, p client.Prompts, args []string) error {
			for _, arg := range args {
				files, err := sh.promptFiles(arg)
				if err != nil {
					return err
				}
				o.Files = append(o.Files, files...)
			}
			done, err := p.Import(c.Context(), o)
			if err != nil {
				return err
			}
			return sh.printPromptImport(done)
		}),
	}
	f := c.Flags()
	f.StringVar(&o.Format, "format", "", "json, dotprompt, promptfoo, openai, langfuse or directory (default: by the files)")
	f.StringVar(&o.Prefix, "prefix", "", "`TEXT` in front of every name, such as support/")
	f.StringVar(&o.Labels, "labels", "", "keep or move labels that name another version (default keep)")
	f.BoolVar(&o.AllowProblems, "keep", false, "keep constructs that cannot be translated as literal text")
	f.BoolVar(&o.DryRun, "dry-run", false, "report what would happen, and change nothing")
	return c
}

// promptExtensions are those of files with prompts.
var promptExtensions = []string{".prompt", ".yaml", ".yml", ".json"}

// promptFiles reads a file, or the files of a folder. Of a configuration of promptfoo it also reads the files that it names.
func (sh *shell) promptFiles(at string) ([]client.PromptFile, error) {
	if at == "-" {
		text, err := sh.readSource(at)
		return []client.PromptFile{{Path: "stdin", Text: string(text)}}, err
	}
	info, err := os.Stat(at)
	if err != nil {
		return nil, fmt.Errorf("reading the files: %w", err)
	}
	if info.IsDir() {
		return folderFiles(at, func(name string) bool { return slices.Contains(promptExtensions, path.Ext(name)) })
	}
	text, err := readPromptFile(at)
	if err != nil {
		return nil, err
	}
	name := filepath.ToSlash(filepath.Clean(at))
	if !filepath.IsLocal(at) {
		name = filepath.Base(at)
	}
	all := []client.PromptFile{{Path: name, Text: text}}
	return append(all, referredFiles(filepath.Dir(at), path.Dir(name), text)...), nil
}

func readPromptFile(at string) (string, error) {
	info, err := os.Stat(at)
	if err != nil {
		return "", fmt.Errorf("reading the file: %w", err)
	}
	if !info.Mode().IsRegular() || info.Size() > promptfile.MaxFileBytes {
		return "", fmt.Errorf("%s must be a file of at most %d bytes", at, promptfile.MaxFileBytes)
	}
	text, err := os.ReadFile(at)
	return string(text), err
}

// folderFiles reads the files of a folder whose names are accepted, by their paths in it. Hidden files are left out.
func folderFiles(folder string, accept func(name string) bool) (all []client.PromptFile, err error) {
	err = filepath.WalkDir(folder, func(at string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if strings.HasPrefix(entry.Name(), ".") && at != folder {
			if entry.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		name, err := filepath.Rel(folder, at)
		if err != nil || entry.IsDir() || !accept(filepath.ToSlash(name)) {
			return err
		}
		text, err := readPromptFile(at)
		all = append(all, client.PromptFile{Path: filepath.ToSlash(name), Text: text})
		return err
	})
	return all, err
}

// referredFiles reads the files that a configuration of promptfoo names, if they are inside of its folder. The server reports those
// that are missing.
func referredFiles(folder, name, text string) (all []client.PromptFile) {
	for _, rest := range strings.Split(text, "file://")[1:] {
		end := strings.IndexAny(rest+"\n", "\n\r \t\"',]}")
		reference := rest[:min(end, len(rest))]
		if !filepath.IsLocal(filepath.FromSlash(reference)) {
			continue
		}
		found, err := readPromptFile(filepath.Join(folder, filepath.FromSlash(reference)))
		if err == nil {
			all = append(all, client.PromptFile{Path: path.Join(name, reference), Text: found})
		}
	}
	return all
}

func (sh *shell) printPromptImport(done *client.PromptImport) error {
	failed := 0
	for _, one := range done.Prompts {
		if one.State == "failed" {
			failed++
		}
	}
	for _, one := range done.Problems {
		if one.Severity == string(promptfile.SeverityError) {
			failed++
		}
	}
	var err error
	if sh.output == outputJSON {
		err = sh.raw(done.Raw)
	} else {
		sh.printFileProblems(done.Problems)
		for _, one := range done.Prompts {
			sh.printFileProblems(one.Problems)
			var words []string
			for _, v := range one.Versions {
				if v.Created {
					words = append(words, "@"+versionText(v.Version))
				}
			}
			words = append(append(words, one.Labels...), one.IDs...)
			_, err = fmt.Fprintf(sh.stdout, "%-9s %s\n", one.State, strings.TrimSpace(clean(one.Name)+" "+clean(strings.Join(words, " "))))
		}
	}
	if failed > 0 && err == nil {
		err = itemsFailedError{plural(failed, "prompt or file") + " could not be imported"}
	}
	return err
}

// printFileProblems prints problems as editors read them.
func (sh *shell) printFileProblems(all []client.PromptFileProblem) {
	for _, p := range all {
		at := p.Path
		if p.Line > 0 {
			at = fmt.Sprintf("%s:%d", p.Path, p.Line)
		}
		if p.Construct != "" {
			at += ": " + p.Construct
		}
		fmt.Fprintf(sh.stderr, "%s: %s: %s\n", clean(at), p.Severity, clean(p.Message))
	}
}

func (sh *shell) promptsExportCommand() *cobra.Command {
	var o client.PromptExportOptions
	var out string
	c := &cobra.Command{
		Use: "export", Short: "Export prompts in a format of another program, or completely as JSON", Args: takes(),
		Example: "  penstock prompts export > prompts.json\n  penstock prompts export --format dotprompt --out prompts/",
		RunE: sh.asking(func(c *cobra.Command, p client.Prompts, _ []string) error {
			done, err := p.Export(c.Context(), o)
			if err != nil {
				return err
			}
			sh.printFileProblems(done.Problems)
			if out == "" {
				return sh.raw(done.Raw)
			}
			files := done.Files
			if files == nil {
				files = []client.PromptFile{{Path: "prompts.json", Text: string(done.Raw) + "\n"}}
			}
			return writePromptFiles(out, files)
		}),
	}
	f := c.Flags()
	f.StringVar(&o.Format, "format", "", "json, dotprompt, promptfoo, openai, langfuse or directory (default json)")
	f.StringVar(&o.Prefix, "prefix", "", "only prompts whose names begin with `TEXT`")
	f.StringVar(&o.Versions, "versions", "", "all, or the label of the version (default: what the format can have)")
	f.StringVar(&out, "out", "", "write files into `FOLDER` (default: JSON on stdout)")
	return c
}

// writePromptFiles writes files into a folder, and none outside of it, whatever a server says.
func writePromptFiles(folder string, files []client.PromptFile) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("making the folder: %w", err)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return fmt.Errorf("opening the folder: %w", err)
	}
	defer root.Close()
	for _, f := range files {
		name := filepath.FromSlash(f.Path)
		if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return fmt.Errorf("making the folder of %s: %w", f.Path, err)
		}
		if err := root.WriteFile(name, []byte(f.Text), 0o644); err != nil {
			return fmt.Errorf("writing %s: %w", f.Path, err)
		}
	}
	return nil
}
