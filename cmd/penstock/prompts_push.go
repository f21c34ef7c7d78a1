package main

import (
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

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"penstock/client"
	"penstock/internal/prompt/content"
	"penstock/internal/prompt/promptfile"
)

// pushFlags are how a directory is pushed.
type pushFlags struct {
	prefix, message        string
	dryRun, force, archive bool
}

func (sh *shell) promptsPushCommand() *cobra.Command {
	var f pushFlags
	c := &cobra.Command{
		Use: "push DIR", Short: "Save the files of a directory as new versions, where they changed", Args: takes("the directory"),
		Long: `Saves a version for each file that differs from the newest version on the server. If somebody
saved a version since the last pull, nothing is pushed: pull first, or give --force. Files
that were removed are reported, and archived with --archive. Labels of ` + promptfile.LabelsFile + ` are moved.`,
		Example: "  penstock prompts push prompts/ --dry-run\n  penstock prompts push prompts/ --message \"$(git log -1 --format=%s)\"",
		RunE: sh.asking(func(c *cobra.Command, p client.Prompts, args []string) error {
			d, err := sh.openDirectory(c.Context(), p, args[0], f.prefix)
			if err != nil {
				return err
			}
			plan := d.plan(&f)
			sh.printPlan(plan)
			if len(plan.conflicts) > 0 {
				return fmt.Errorf("%s on the server since the last pull; nothing was pushed. Pull first, or push with --force", plural(len(plan.conflicts), "change"))
			}
			if f.dryRun {
				return nil
			}
			return pusher{sh, p, d, f}.push(c.Context(), plan)
		}),
	}
	prefixFlag(c, &f.prefix)
	c.Flags().StringVar(&f.message, "message", "", "what changed, for people")
	c.Flags().BoolVar(&f.dryRun, "dry-run", false, "print the plan, and change nothing")
	c.Flags().BoolVar(&f.force, "force", false, "save versions even if the server changed since the last pull")
	c.Flags().BoolVar(&f.archive, "archive", false, "archive prompts whose files were removed")
	return c
}

// pushPlan is what a push will do, by the names of prompts.
type pushPlan struct {
	saves     []string
	conflicts []string
	removed   []string // files that were there at the last pull
}

// plan compares the directory with the server and with the last pull.
func (d *promptDirectory) plan(f *pushFlags) (p pushPlan) {
	for _, name := range slices.Sorted(maps.Keys(d.local)) {
		ours, theirs, base := d.local[name], d.server[name], d.lock.Prompts[name]
		switch {
		case ours.Hash == theirs.Hash:
			d.lock.Prompts[name] = theirs.promptBase
		case theirs.Version == base.Version || f.force:
			p.saves = append(p.saves, name)
		case ours.Hash == base.Hash: // only the server changed: that is for a pull
		default:
			p.conflicts = append(p.conflicts, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.lock.Prompts)) {
		_, here := d.local[name]
		if _, there := d.server[name]; !here && there && strings.HasPrefix(name, d.prefix) {
			p.removed = append(p.removed, name)
		}
	}
	return p
}

func (sh *shell) printPlan(p pushPlan) {
	for _, name := range p.conflicts {
		fmt.Fprintf(sh.stdout, "conflict  %s\n", clean(name))
	}
	for _, name := range p.saves {
		fmt.Fprintf(sh.stdout, "save      %s\n", clean(name))
	}
	for _, name := range p.removed {
		fmt.Fprintf(sh.stdout, "removed   %s\n", clean(name))
	}
}

// pusher changes the server.
type pusher struct {
	sh *shell
	p  client.Prompts
	d  *promptDirectory
	f  pushFlags
}

// push saves versions, moves labels and archives. Each prompt is saved only if the server still has the version that the plan saw.
func (u pusher) push(ctx context.Context, plan pushPlan) error {
	if len(plan.saves) > 0 {
		if err := u.versions(ctx, plan.saves); err != nil {
			return err
		}
	}
	if u.f.archive {
		for _, name := range plan.removed {
			if _, err := u.p.Archive(ctx, name); err != nil {
				return err
			}
			delete(u.d.lock.Prompts, name)
			fmt.Fprintf(u.sh.stdout, "archived  %s\n", clean(name))
		}
	}
	if err := u.d.writeLock(); err != nil {
		return err
	}
	return u.labels(ctx)
}

func (u pusher) versions(ctx context.Context, names []string) error {
	d, sh := u.d, u.sh
	type version struct {
		content.Content
		Message string `json:"message,omitempty"`
	}
	type entry struct {
		Name     string    `json:"name"`
		Base     int64     `json:"base"`
		Versions []version `json:"versions"`
	}
	var all []entry
	for _, name := range names {
		all = append(all, entry{name, d.server[name].Version, []version{{d.local[name].content, u.f.message}}})
	}
	text, err := json.Marshal(map[string]any{"object": "prompt.export", "prompts": all})
	if err != nil {
		return fmt.Errorf("encoding the prompts: %w", err)
	}
	done, err := u.p.Import(ctx, client.PromptImportOrder{Format: string(promptfile.JSON), Files: []client.PromptFile{{Path: d.path, Text: string(text)}}})
	if err != nil {
		return err
	}
	failed := 0
	for _, one := range done.Prompts {
		if one.State == "failed" || len(one.Versions) == 0 {
			failed++
			sh.printFileProblems(one.Problems)
			continue
		}
		n := one.Versions[0].Version
		d.lock.Prompts[one.Name] = promptBase{n, d.local[one.Name].Hash}
		fmt.Fprintf(sh.stdout, "saved     %s@%d\n", clean(one.Name), n)
	}
	if failed > 0 {
		if err := d.writeLock(); err != nil {
			return err
		}
		return itemsFailedError{plural(failed, "prompt") + " could not be saved"}
	}
	return nil
}

// labels moves the labels that the file of labels says, from the versions that the server had. A version is a number or latest.
func (u pusher) labels(ctx context.Context) error {
	d := u.d
	text, err := os.ReadFile(filepath.Join(d.path, promptfile.LabelsFile))
	if errors.Is(err, fs.ErrNotExist) { // the file is optional
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the labels: %w", err)
	}
	var wanted map[string]map[string]any
	if err := yaml.Unmarshal(text, &wanted); err != nil {
		return fmt.Errorf("%s must have labels with versions below the names of prompts", promptfile.LabelsFile)
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		for _, label := range slices.Sorted(maps.Keys(wanted[name])) {
			to := d.lock.Prompts[name].Version
			if word := fmt.Sprint(wanted[name][label]); word != content.LabelLatest {
				if to, err = versionArg(word); err != nil {
					return err
				}
			}
			had := d.server[name].labels[label]
			if had == to {
				continue
			}
			if _, err := u.p.MoveLabel(ctx, name, label, client.PromptMoveOrder{Version: to, Expect: &had, Reason: "push"}); err != nil {
				return err
			}
			fmt.Fprintf(u.sh.stdout, "moved     %s@%s to %d\n", clean(name), clean(label), to)
		}
	}
	return nil
}
