package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"penstock/client"
	"penstock/internal/prompt/content"
	"penstock/internal/prompt/promptfile"
)

// lockName is the file of a directory that records the versions of the last pull or push.
const lockName = "prompts.lock"

// promptLock records the state of the server that the files of a directory began with.
type promptLock struct {
	Prompts map[string]promptBase `json:"prompts"`
}

// promptBase is a version with the hash of its content.
type promptBase struct {
	Version int64  `json:"version"`
	Hash    string `json:"hash"`
}

// promptState is the content of a prompt in a directory or on the server.
type promptState struct {
	promptBase
	content content.Content
	labels  map[string]int64
}

// promptDirectory is a directory together with the prompts of the server.
type promptDirectory struct {
	path   string
	prefix string
	lock   promptLock
	local  map[string]promptState
	server map[string]promptState
}

// openDirectory reads the files of a directory and the newest versions of the server. Mistakes in files are printed.
func (sh *shell) openDirectory(ctx context.Context, p client.Prompts, at, prefix string) (*promptDirectory, error) {
	d := &promptDirectory{path: at, prefix: prefix, lock: promptLock{map[string]promptBase{}}, local: map[string]promptState{}, server: map[string]promptState{}}
	if err := d.readLock(); err != nil {
		return nil, err
	}
	if err := sh.readLocal(d); err != nil {
		return nil, err
	}
	found, err := p.Export(ctx, client.PromptExportOptions{Prefix: prefix, Versions: content.LabelLatest})
	if err != nil {
		return nil, err
	}
	for _, raw := range found.Prompts {
		if err := d.addServer(raw); err != nil {
			return nil, err
		}
	}
	return d, nil
}

func (d *promptDirectory) readLock() error {
	text, err := os.ReadFile(filepath.Join(d.path, lockName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the lock file: %w", err)
	}
	if err := json.Unmarshal(text, &d.lock); err != nil || d.lock.Prompts == nil {
		return fmt.Errorf("%s is not a lock file; restore it, or remove it and pull again", filepath.Join(d.path, lockName))
	}
	return nil
}

// readLocal reads the files of the directory. A directory that does not exist is empty.
func (sh *shell) readLocal(d *promptDirectory) error {
	if _, err := os.Stat(d.path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	files, err := folderFiles(d.path, func(name string) bool {
		return strings.HasSuffix(name, ".yaml") && name != promptfile.LabelsFile && strings.HasPrefix(strings.TrimSuffix(name, ".yaml"), d.prefix)
	})
	if err != nil || len(files) == 0 {
		return err
	}
	all := make([]promptfile.File, len(files))
	for i, f := range files {
		all[i] = promptfile.File(f)
	}
	set, err := promptfile.Read(all, promptfile.Options{Format: promptfile.Directory})
	if err != nil {
		return err
	}
	wrong := len(set.Problems)
	sh.printProblems(d.path, set.Problems)
	for _, p := range set.Prompts {
		if p.Failed() {
			sh.printProblems(d.path, p.Problems)
			wrong++
			continue
		}
		state, err := stateOf(p.Versions[0].Content)
		if err != nil {
			return err
		}
		d.local[p.Name] = state
	}
	if wrong > 0 {
		return fmt.Errorf("%s cannot be read; correct them first", plural(wrong, "file"))
	}
	return nil
}

func (sh *shell) printProblems(folder string, all []promptfile.Problem) {
	for _, one := range all {
		sh.printFileProblems([]client.PromptFileProblem{{Path: filepath.Join(folder, one.Path), Line: int64(one.Line), Construct: one.Construct, Message: one.Message, Severity: string(one.Severity)}})
	}
}

// stateOf makes the hash of a content in its canonical form, without the versions that it includes.
func stateOf(c content.Content) (s promptState, err error) {
	parsed, err := content.Parse(c)
	if err != nil {
		return s, err
	}
	s.content = parsed.Content
	s.Hash, err = parsed.Content.Hash(nil)
	return s, err
}

func (d *promptDirectory) addServer(raw json.RawMessage) error {
	var one struct {
		Name     string           `json:"name"`
		Archived bool             `json:"archived"`
		Labels   map[string]int64 `json:"labels"`
		Versions []struct {
			Version int64 `json:"version"`
			content.Content
		} `json:"versions"`
	}
	if err := json.Unmarshal(raw, &one); err != nil {
		return fmt.Errorf("reading the prompts of the server: %w", err)
	}
	if one.Archived || len(one.Versions) == 0 {
		return nil
	}
	newest := one.Versions[len(one.Versions)-1]
	state, err := stateOf(newest.Content)
	if err != nil {
		return err
	}
	state.Version, state.labels = newest.Version, one.Labels
	d.server[one.Name] = state
	return nil
}

// writeLock records the versions of the server for the files that have their contents.
func (d *promptDirectory) writeLock() error {
	text, err := json.MarshalIndent(d.lock, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the lock file: %w", err)
	}
	return writePromptFiles(d.path, []client.PromptFile{{Path: lockName, Text: string(text) + "\n"}})
}

func prefixFlag(c *cobra.Command, prefix *string) {
	c.Flags().StringVar(prefix, "prefix", "", "only prompts whose names begin with `TEXT`")
}

func (sh *shell) promptsPullCommand() *cobra.Command {
	var prefix string
	var force, labels bool
	c := &cobra.Command{
		Use: "pull DIR", Short: "Write the newest versions of prompts as files, for Git", Args: takes("the directory"),
		Long: `Writes one YAML file for each prompt, whose path is the name, and ` + lockName + ` with the
versions. Commit both. A file with changes that were not pushed is not overwritten.`,
		Example: "  penstock prompts pull prompts/",
		RunE: sh.asking(func(c *cobra.Command, p client.Prompts, args []string) error {
			d, err := sh.openDirectory(c.Context(), p, args[0], prefix)
			if err != nil {
				return err
			}
			kept, err := sh.pull(d, overwrite(force))
			if err == nil && labels {
				err = d.writeLabels()
			}
			if err == nil {
				err = d.writeLock()
			}
			if err == nil && kept > 0 {
				err = fmt.Errorf("%s with changes kept; push them, or pull with --force", plural(kept, "file"))
			}
			return err
		}),
	}
	prefixFlag(c, &prefix)
	c.Flags().BoolVar(&force, "force", false, "overwrite files with changes")
	c.Flags().BoolVar(&labels, "labels", false, "write "+promptfile.LabelsFile+" too")
	return c
}

// overwrite is whether a pull replaces files with changes.
type overwrite bool

// pull writes the files whose prompts changed on the server. It returns how many it kept because of changes in the directory.
func (sh *shell) pull(d *promptDirectory, force overwrite) (kept int, err error) {
	for _, name := range slices.Sorted(maps.Keys(d.server)) {
		theirs, ours := d.server[name], d.local[name]
		_, there := d.local[name]
		switch {
		case there && ours.Hash == theirs.Hash:
		case there && ours.Hash != d.lock.Prompts[name].Hash && !bool(force):
			kept++
			fmt.Fprintf(sh.stderr, "%s has changes that were not pushed\n", clean(promptfile.FileName(name)))
			continue
		default:
			if err := writePromptFiles(d.path, []client.PromptFile{client.PromptFile(promptfile.DirectoryFile(name, theirs.content))}); err != nil {
				return kept, err
			}
			fmt.Fprintf(sh.stdout, "pulled    %s@%d\n", clean(name), theirs.Version)
		}
		d.lock.Prompts[name] = theirs.promptBase
	}
	for _, name := range slices.Sorted(maps.Keys(d.local)) {
		if _, there := d.server[name]; !there && d.lock.Prompts[name].Version > 0 {
			fmt.Fprintf(sh.stderr, "%s is archived on the server; its file stays\n", clean(name))
		}
	}
	return kept, nil
}

func (d *promptDirectory) writeLabels() error {
	all := map[string]map[string]int64{}
	for name, state := range d.server {
		all[name] = state.labels
	}
	return writePromptFiles(d.path, []client.PromptFile{{Path: promptfile.LabelsFile, Text: promptfile.LabelsText(all)}})
}

// promptsDiff compares a directory with the server. It returns how many prompts differ.
func (sh *shell) diffDirectory(c *cobra.Command, p client.Prompts, at string) error {
	d, err := sh.openDirectory(c.Context(), p, at, "")
	if err != nil {
		return err
	}
	names := slices.Concat(slices.Collect(maps.Keys(d.local)), slices.Collect(maps.Keys(d.server)))
	slices.Sort(names)
	different := 0
	for _, name := range slices.Compact(names) {
		ours, here := d.local[name]
		theirs, there := d.server[name]
		switch {
		case here && there && ours.Hash == theirs.Hash:
			continue
		case !there:
			fmt.Fprintf(sh.stdout, "%s: only in the directory\n", clean(name))
		case !here:
			fmt.Fprintf(sh.stdout, "%s: only on the server\n", clean(name))
		default:
			fmt.Fprintf(sh.stdout, "%s: version %d -> %s\n", clean(name), theirs.Version, promptfile.FileName(name))
			sh.printContentDiff(content.Compare(theirs.content, ours.content))
		}
		different++
	}
	if different > 0 {
		return fmt.Errorf("%s between %s and the server", plural(different, "difference"), at)
	}
	return nil
}

// printContentDiff prints a difference line by line.
func (sh *shell) printContentDiff(d content.Diff) {
	marks := map[content.Change]string{content.Same: " ", content.Added: "+", content.Removed: "-"}
	for _, m := range d.Messages {
		if m.Change == content.Same {
			continue
		}
		fmt.Fprintf(sh.stdout, "  [%s] %s\n", cmp.Or(clean(m.Role), "text"), m.Change)
		for _, l := range m.Lines {
			fmt.Fprintf(sh.stdout, "  %s %s\n", marks[l.Change], clean(l.Text))
		}
	}
	for what, all := range map[string][]content.MemberDiff{"config": d.Config, "input_schema": d.Schema} {
		for _, m := range all {
			fmt.Fprintf(sh.stdout, "  %s.%s: %s -> %s\n", what, clean(m.Name), m.From, m.To)
		}
	}
}
