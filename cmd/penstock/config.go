package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"penstock/internal/config"
	"penstock/internal/store/postgres"
)

func (sh *shell) configCommand() *cobra.Command {
	return noun("config", "Create, import, validate, compare, show and reload configuration files",
		sh.configInitCommand(), sh.configImportCommand(), sh.configValidateCommand(), sh.configShowCommand(), sh.configDiffCommand(), sh.configReloadCommand(), sh.configSchemaCommand())
}

func (sh *shell) configSchemaCommand() *cobra.Command {
	return &cobra.Command{
		Use: "schema", Short: "Print the JSON Schema of the configuration file", Args: takes(),
		Long: `Prints the JSON Schema of the configuration file, for editors and CI. An editor with the
YAML language server completes and explains keys if the file begins with
"# yaml-language-server: $schema=penstock.schema.json".`,
		Example: "  penstock config schema > penstock.schema.json",
		RunE: func(*cobra.Command, []string) error {
			_, err := sh.stdout.Write(config.Schema())
			return err
		},
	}
}

func (sh *shell) configReloadCommand() *cobra.Command {
	var at string
	var dry, force bool
	c := &cobra.Command{
		Use: "reload", Short: "Make a server read its configuration file again", Args: takes(),
		Long: `Makes a process read its file again and lists the changes. Providers, targets, models,
prices, lanes and tenants change at once; settings of the process itself change at its
next start. A file with problems changes nothing. Each process reads its own file: if
you run several processes, reload each of them.

A reload that removes a target of open jobs is refused, because their items could not run
any more. First remove the target from its models and reload. Wait until --dry-run counts
no job on the target, then remove it; or use --force.`,
		Example: "  penstock config validate && penstock config reload --dry-run\n  penstock config reload --admin-url http://10.0.0.5:9090",
		RunE: func(c *cobra.Command, _ []string) error {
			admin, err := sh.connectAdmin(at)
			if err != nil {
				return err
			}
			query := url.Values{}
			for name, set := range map[string]bool{"dry_run": dry, "force": force} {
				if set {
					query.Set(name, "true")
				}
			}
			var answer json.RawMessage
			if err := admin.do(c.Context(), adminCall{method: http.MethodPost, path: []string{"admin", "v1", "config", "reload"}, query: query}, &answer); err != nil {
				return err
			}
			if sh.output == outputJSON {
				return sh.raw(answer)
			}
			return sh.printReload(answer)
		},
	}
	adminFlag(c, &at)
	c.Flags().BoolVar(&dry, "dry-run", false, "only list what would change, and how many jobs would lose a target")
	c.Flags().BoolVar(&force, "force", false, "remove targets even if open jobs were resolved to them")
	return c
}

// printReload tells what a reload did, or would do.
func (sh *shell) printReload(answer json.RawMessage) error {
	var r struct {
		Config  string
		DryRun  bool `json:"dry_run"`
		Changes []string
		Removed []struct {
			Target        string
			Jobs, Items   int64
			StrandedItems int64 `json:"stranded_items"`
		} `json:"removed_targets"`
		Refusal string
	}
	if err := json.Unmarshal(answer, &r); err != nil {
		return fmt.Errorf("reading the answer to the reload: %w", err)
	}
	for _, change := range r.Changes {
		fmt.Fprintln(sh.stdout, clean(change))
	}
	for _, t := range r.Removed {
		fmt.Fprintf(sh.stdout, "target %s: %d open jobs with %d items were resolved to it; %d items have no other target\n", clean(t.Target), t.Jobs, t.Items, t.StrandedItems)
	}
	if r.DryRun {
		outcome := "would be in force"
		if r.Refusal != "" {
			outcome = "would be refused without --force"
		}
		_, err := fmt.Fprintf(sh.stdout, "%s %s, with %s.\n", clean(r.Config), outcome, plural(len(r.Changes), "change"))
		return err
	}
	_, err := fmt.Fprintf(sh.stdout, "%s is in force, with %s.\n", clean(r.Config), plural(len(r.Changes), "change"))
	return err
}

// fileArg is the file that a command was given, or the default one.
func fileArg(args []string) string {
	if len(args) == 0 {
		return defaultConfig
	}
	return args[0]
}

func (sh *shell) configValidateCommand() *cobra.Command {
	return &cobra.Command{
		Use: "validate [FILE]", Short: "List every problem of a configuration file", Args: takesAtMostOne,
		Long: `Checks a configuration file (default penstock.yaml) as "penstock serve" would, with
the environment variables that it names. Reads the certificate, its key and the URL of
the database, but calls no server. Lists every problem with its line. Exits with 1 if
there is any.`,
		Example: "  penstock config validate\n  penstock config validate staging.yaml -o json",
		RunE: func(_ *cobra.Command, args []string) error {
			path := fileArg(args)
			s, err := sh.loadInspected(path)
			bad, broken := errors.AsType[*configError](err)
			if err != nil && !broken {
				return err
			}
			if sh.output == outputJSON {
				return errors.Join(sh.json(newVerdict(path, s, bad)), err)
			}
			if broken {
				for _, line := range bad.lines() {
					fmt.Fprintln(sh.stdout, line)
				}
				return err
			}
			return sh.printValid(path, s)
		},
	}
}

func (sh *shell) printValid(path string, s *config.Snapshot) error {
	fmt.Fprintf(sh.stdout, "%s is valid: %s, with %s, %s, %s and %s.\n", path, s.Hash,
		plural(len(s.Providers), "provider"), plural(len(s.Targets), "target"), plural(len(s.Models), "model"), plural(len(s.Tenants), "tenant"))
	for _, notice := range s.Notices(sh.now()) {
		fmt.Fprintln(sh.stdout, clean(notice))
	}
	if len(s.Models) == 0 {
		fmt.Fprintln(sh.stdout, "No model is configured: every call is answered with model_not_found.")
	}
	return nil
}

// loadInspected loads a file, and finds problems that need more than its text too, in one pass: those of the files that
// it names, and of the URL of the database, which its driver reads.
func (sh *shell) loadInspected(path string) (*config.Snapshot, error) {
	s, err := sh.load(path)
	bad, broken := errors.AsType[*configError](err)
	switch {
	case broken:
		refs, err := config.LoadReferences(path, sh.env)
		if err != nil {
			return nil, err
		}
		return nil, &configError{path, bad.problems.With(sh.inspect(refs, refs.Inspect(sh.now())))}
	case err != nil:
		return nil, err
	}
	if problems := sh.inspect(s.References(), s.Inspect(sh.now())); len(problems) > 0 {
		return s, &configError{path, problems}
	}
	return s, nil
}

// inspect adds the problem of the database's URL to others.
func (sh *shell) inspect(refs config.References, problems config.Problems) config.Problems {
	if refs.Database.IsZero() {
		return problems
	}
	if err := postgres.CheckURL(refs.Database.Reveal(), config.Suggest); err != nil {
		problems = append(problems, refs.Locate("database", err.Error()))
	}
	return problems
}

// verdict is what config validate tells programs.
type verdict struct {
	File     string    `json:"file"`
	Valid    bool      `json:"valid"`
	Config   string    `json:"config,omitempty"`
	Problems []problem `json:"problems"`
}

type problem struct {
	Path    string `json:"path"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Message string `json:"message"`
}

func newVerdict(path string, s *config.Snapshot, bad *configError) verdict {
	v := verdict{File: path, Valid: bad == nil, Problems: []problem{}}
	if s != nil {
		v.Config = s.Hash
	}
	if bad != nil {
		for _, p := range bad.problems {
			v.Problems = append(v.Problems, problem(p))
		}
	}
	return v
}

func (sh *shell) configShowCommand() *cobra.Command {
	return &cobra.Command{
		Use: "show [FILE]", Short: "Show a configuration with its defaults", Args: takesAtMostOne,
		Long: `Shows the effective configuration of a file (default penstock.yaml): with defaults and
environment variables, secrets redacted.`,
		Example: "  penstock config show\n  penstock config show staging.yaml -o json | jq .targets",
		RunE: func(_ *cobra.Command, args []string) error {
			s, err := sh.load(fileArg(args))
			if err != nil {
				return err
			}
			text, err := s.YAML()
			if err != nil {
				return err
			}
			if sh.output == outputJSON {
				if text, err = yaml.YAMLToJSON(text); err != nil {
					return fmt.Errorf("rendering the configuration as JSON: %w", err)
				}
				_, err = sh.stdout.Write(text)
				return err
			}
			_, err = fmt.Fprintf(sh.stdout, "# %s\n%s", s.Hash, text)
			return err
		},
	}
}

// change is a difference as programs see it.
type change struct {
	Path      string `json:"path"`
	What      string `json:"what"`
	AtRestart bool   `json:"at_restart"`
}

func (sh *shell) configDiffCommand() *cobra.Command {
	return &cobra.Command{
		Use: "diff OLD NEW", Short: "List the effective differences between two configuration files",
		Args: takes("the old file", "the new file"),
		Long: `Lists what a reload from OLD to NEW would change. Order, comments and explicit
defaults do not count. For a secret, only the fact of a change is shown.`,
		Example: "  penstock config diff /etc/penstock/penstock.yaml penstock.yaml",
		RunE: func(_ *cobra.Command, args []string) error {
			older, err := sh.load(args[0])
			if err != nil {
				return err
			}
			newer, err := sh.load(args[1])
			if err != nil {
				return err
			}
			return sh.printChanges(config.Diff(older, newer))
		},
	}
}

func (sh *shell) printChanges(changes []config.Change) error {
	if sh.output == outputJSON {
		list := make([]change, len(changes))
		for i, c := range changes {
			list[i] = change(c)
		}
		return sh.json(list)
	}
	for _, c := range changes {
		if _, err := fmt.Fprintln(sh.stdout, clean(c.String())); err != nil {
			return err
		}
	}
	if len(changes) == 0 {
		fmt.Fprintln(sh.stderr, "The files have the same effect.")
	}
	return nil
}
