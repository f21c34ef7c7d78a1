package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"penstock/client"
)

func (sh *shell) promptsCommand() *cobra.Command {
	return noun("prompts", "Manage prompts, their versions and labels",
		sh.promptsListCommand(), sh.promptsGetCommand(), sh.promptsSaveCommand(), sh.promptsVersionsCommand(), sh.promptsDeleteCommand(), sh.promptsDiffCommand(),
		sh.promptsLabelCommand(), sh.promptsUnlabelCommand(), sh.promptsLabelsCommand(), sh.promptsHistoryCommand(), sh.promptsRequestCommand(), sh.promptsRequestsCommand(),
		sh.promptsDecideCommand(client.ApprovePrompt, "Approve a request to move a label"), sh.promptsDecideCommand(client.RejectPrompt, "Reject a request, or withdraw your own"),
		sh.promptsRenderCommand(), sh.promptsDraftCommand(), sh.promptsUsesCommand(), sh.promptsArchiveCommand(), sh.promptsRestoreCommand(),
		sh.promptsProtectCommand(), sh.promptsUnprotectCommand(), sh.promptsProtectionsCommand(),
		sh.promptsImportCommand(), sh.promptsExportCommand(), sh.promptsPullCommand(), sh.promptsPushCommand())
}

// asking makes the run of a command that calls the API about prompts. Calls are not repeated: a second move may mean another thing.
func (sh *shell) asking(run func(*cobra.Command, client.Prompts, []string) error) func(*cobra.Command, []string) error {
	return sh.calling(triesOnce, func(c *cobra.Command, cl *client.Client, args []string) error {
		return run(c, client.Prompts{Client: cl}, args)
	})
}

func (sh *shell) promptsListCommand() *cobra.Command {
	var f client.PromptFilter
	c := &cobra.Command{
		Use: "list", Short: "List prompts", Args: takes(), Example: "  penstock prompts list --prefix support/",
		RunE: sh.asking(func(c *cobra.Command, p client.Prompts, _ []string) error {
			found, err := firstOf(p.List(c.Context(), f), client.MaxPageSize)
			if err != nil {
				return err
			}
			return look[*client.Prompt]{
				header: []string{"PROMPT", "KIND", "LATEST", "LABELS", "UPDATED"},
				cells: func(p *client.Prompt) []string {
					return []string{p.Name, p.Kind, versionText(p.Latest), labelList(p.Labels), sh.when(p.UpdatedAt)}
				},
				raw:   func(p *client.Prompt) json.RawMessage { return p.Raw },
				empty: "There are no prompts; save one with: penstock prompts save NAME --text TEXT",
			}.show(sh, found)
		}),
	}
	c.Flags().StringVar(&f.Prefix, "prefix", "", "only prompts whose names begin with `TEXT`")
	c.Flags().BoolVar(&f.Archived, "archived", false, "archived prompts too")
	return c
}

// versionText is the number of a version, "-" for none.
func versionText(n int64) string {
	if n == 0 {
		return "-"
	}
	return strconv.FormatInt(n, 10)
}

func labelList(labels []client.PromptLabel) string {
	var words []string
	for _, l := range labels {
		if l.Label != "latest" {
			words = append(words, l.Label+"="+versionText(l.Version))
		}
	}
	return strings.Join(words, ",")
}

func (sh *shell) promptsGetCommand() *cobra.Command {
	return &cobra.Command{
		Use: "get NAME[@LABEL|@VERSION]", Short: "Show a prompt, or the content of a version", Args: takes("the prompt's name"),
		Example: "  penstock prompts get support/answer\n  penstock prompts get support/answer@production",
		RunE: sh.asking(func(c *cobra.Command, p client.Prompts, args []string) error {
			name, selector, selects := strings.Cut(args[0], "@")
			if !selects {
				found, err := p.Read(c.Context(), name)
				if err != nil {
					return err
				}
				return sh.printPrompt(found)
			}
			n, err := strconv.ParseInt(selector, 10, 64)
			if err != nil {
				l, err := p.Label(c.Context(), name, selector)
				if err != nil {
					return err
				}
				n = l.Version
			}
			v, err := p.Version(c.Context(), name, n)
			if err != nil {
				return err
			}
			return sh.raw(v.Raw)
		}),
	}
}

func (sh *shell) printPrompt(p *client.Prompt) error {
	if sh.output == outputJSON {
		return sh.raw(p.Raw)
	}
	return sh.describe(field{"Prompt", p.Name}, field{"Kind", p.Kind}, field{"Latest", versionText(p.Latest)}, field{"Labels", labelList(p.Labels)},
		field{"Draft", p.Draft}, field{"Created", sh.when(p.CreatedAt)}, field{"By", p.CreatedBy}, field{"Updated", sh.when(p.UpdatedAt)}, field{"Archived", sh.when(p.ArchivedAt)})
}

// promptSource is where the content of a prompt comes from.
type promptSource struct{ file, text string }

func (s *promptSource) flags(c *cobra.Command) {
	c.Flags().StringVar(&s.file, "file", "", "read the content as JSON from `PATH`: kind, text or messages, config, input_schema; - is stdin")
	c.Flags().StringVar(&s.text, "text", "", "the template of a prompt of kind text")
}

// read returns the content.
func (s *promptSource) read(sh *shell) (o client.PromptOrder, err error) {
	switch {
	case (s.file == "") == (s.text == ""):
		return o, usageError{"give --file or --text"}
	case s.text != "":
		o.Kind, o.Text = "text", s.text
		return o, nil
	}
	text, err := sh.readSource(s.file)
	if err != nil {
		return o, err
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields() // a misspelt member must not be lost
	if err := dec.Decode(&o); err != nil {
		return o, fmt.Errorf("reading the prompt in %s: %w", s.file, err)
	}
	return o, nil
}

// readSource reads a file, or stdin for "-".
func (sh *shell) readSource(path string) ([]byte, error) {
	if path == "-" {
		return io.ReadAll(sh.stdin)
	}
	return os.ReadFile(path)
}

func (sh *shell) promptsSaveCommand() *cobra.Command {
	var source promptSource
	var message string
	c := &cobra.Command{
		Use: "save NAME", Short: "Save a version; nothing is added if a version has the same content", Args: takes("the prompt's name"),
		Example: "  penstock prompts save support/answer --file answer.json --message shorter\n  penstock prompts save lib/tone --text 'Be {{tone}}.'",
		RunE: sh.asking(func(c *cobra.Command, p client.Prompts, args []string) error {
			o, err := source.read(sh)
			if err != nil {
				return err
			}
			if message != "" {
				o.Message = message
			}
			v, err := p.Save(c.Context(), args[0], o)
			if err != nil {
				return err
			}
			if sh.output == outputJSON {
				return sh.raw(v.Raw)
			}
			_, err = fmt.Fprintf(sh.stdout, "%s@%d\n", v.Name, v.Version)
			return err
		}),
	}
	source.flags(c)
	c.Flags().StringVar(&message, "message", "", "what changed, for people")
	return c
}

func (sh *shell) promptsVersionsCommand() *cobra.Command {
	return &cobra.Command{
		Use: "versions NAME", Short: "List versions, newest first", Args: takes("the prompt's name"), Example: "  penstock prompts versions support/answer",
		RunE: sh.asking(func(c *cobra.Command, p client.Prompts, args []string) error {
			found, err := firstOf(p.Versions(c.Context(), args[0]), client.MaxPageSize)
			if err != nil {
				return err
			}
			return look[*client.PromptVersion]{
				header: []string{"VERSION", "PARENT", "AUTHOR", "CREATED", "SHA256", "MESSAGE"},
				cells: func(v *client.PromptVersion) []string {
					message := v.Message
					if !v.DeletedAt.IsZero() {
						message = "(deleted)"
					}
					return []string{versionText(v.Version), versionText(v.Parent), v.Author, sh.when(v.CreatedAt), v.SHA256[:min(12, len(v.SHA256))], message}
				},
				raw:   func(v *client.PromptVersion) json.RawMessage { return v.Raw },
				empty: "The prompt has no versions yet.",
			}.show(sh, found)
		}),
	}
}

// versionArg reads the number of a version.
func versionArg(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return 0, usageError{fmt.Sprintf("%q is not the number of a version", text)}
	}
	return n, nil
}

func (sh *shell) promptsDeleteCommand() *cobra.Command {
	return &cobra.Command{
		Use: "delete NAME VERSION", Short: "Delete the content of a version that no label and no other version names", Args: takes("the prompt's name", "the version"),
		Example: "  penstock prompts delete support/answer 3",
		RunE: sh.asking(func(c *cobra.Command, p client.Prompts, args []string) error {
			n, err := versionArg(args[1])
			if err != nil {
				return err
			}
			return p.DeleteVersion(c.Context(), args[0], n)
		}),
	}
}

func (sh *shell) promptsArchiveCommand() *cobra.Command {
	return &cobra.Command{
		Use: "archive NAME", Short: "Take a prompt out of use; its versions stay", Args: takes("the prompt's name"), Example: "  penstock prompts archive support/old",
		RunE: sh.asking(func(c *cobra.Command, p client.Prompts, args []string) error {
			found, err := p.Archive(c.Context(), args[0])
			if err != nil {
				return err
			}
			return sh.printPrompt(found)
		}),
	}
}

func (sh *shell) promptsRestoreCommand() *cobra.Command {
	return &cobra.Command{
		Use: "restore NAME", Short: "Restore an archived prompt", Args: takes("the prompt's name"), Example: "  penstock prompts restore support/old",
		RunE: sh.asking(func(c *cobra.Command, p client.Prompts, args []string) error {
			found, err := p.Restore(c.Context(), args[0])
			if err != nil {
				return err
			}
			return sh.printPrompt(found)
		}),
	}
}

func (sh *shell) promptsUsesCommand() *cobra.Command {
	var version int64
	c := &cobra.Command{
		Use: "uses NAME", Short: "Show the labels and versions that name versions of a prompt, as JSON", Args: takes("the prompt's name"), Example: "  penstock prompts uses lib/tone",
		RunE: sh.asking(func(c *cobra.Command, p client.Prompts, args []string) error {
			text, err := p.Uses(c.Context(), args[0], version)
			if err != nil {
				return err
			}
			return sh.raw(text)
		}),
	}
	c.Flags().Int64Var(&version, "version", 0, "only uses of this version")
	return c
}
