package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"penstock/client"
)

// moveFlags are the conditions and the reason of a move.
type moveFlags struct {
	expect int64
	reason string
}

func (m *moveFlags) flags(c *cobra.Command) {
	c.Flags().Int64Var(&m.expect, "expect", -1, "move it only if it names this version now; 0: only if it is new")
	c.Flags().StringVar(&m.reason, "reason", "", "reason for the history")
}

func (m *moveFlags) order(version string) (client.PromptMoveOrder, error) {
	n, err := versionArg(version)
	o := client.PromptMoveOrder{Version: n, Reason: m.reason}
	if m.expect >= 0 {
		o.Expect = &m.expect
	}
	return o, err
}

func (sh *shell) promptsLabelCommand() *cobra.Command {
	var flags moveFlags
	c := &cobra.Command{
		Use: "label NAME LABEL VERSION", Short: "Move a label to a version, or create it", Args: takes("the prompt's name", "the label", "the version"),
		Example: "  penstock prompts label support/answer production 7 --expect 6 --reason 'eval passed'",
		RunE: sh.asking(func(c *cobra.Command, p client.Prompts, args []string) error {
			o, err := flags.order(args[2])
			if err != nil {
				return err
			}
			l, err := p.MoveLabel(c.Context(), args[0], args[1], o)
			if err != nil {
				return err
			}
			if sh.output == outputJSON {
				return sh.raw(l.Raw)
			}
			_, err = fmt.Fprintf(sh.stdout, "%s@%s is version %d.\n", args[0], l.Label, l.Version)
			return err
		}),
	}
	flags.flags(c)
	return c
}

func (sh *shell) promptsUnlabelCommand() *cobra.Command {
	var match string
	c := &cobra.Command{
		Use: "unlabel NAME LABEL", Short: "Remove a label", Args: takes("the prompt's name", "the label"), Example: "  penstock prompts unlabel support/answer canary",
		RunE: sh.asking(func(c *cobra.Command, p client.Prompts, args []string) error {
			return p.RemoveLabel(c.Context(), args[0], args[1], onMatch(match)...)
		}),
	}
	matchFlag(c, &match)
	return c
}

func (sh *shell) promptsLabelsCommand() *cobra.Command {
	return &cobra.Command{
		Use: "labels NAME", Short: "List the labels of a prompt", Args: takes("the prompt's name"), Example: "  penstock prompts labels support/answer",
		RunE: sh.asking(func(c *cobra.Command, p client.Prompts, args []string) error {
			found, err := p.Read(c.Context(), args[0])
			if err != nil {
				return err
			}
			return look[client.PromptLabel]{
				header: []string{"LABEL", "VERSION", "MOVED BY", "MOVED"},
				cells: func(l client.PromptLabel) []string {
					return []string{l.Label, versionText(l.Version), l.UpdatedBy, sh.when(l.UpdatedAt)}
				},
				raw:   func(l client.PromptLabel) json.RawMessage { return l.Raw },
				empty: "The prompt has no labels yet.",
			}.show(sh, page[client.PromptLabel]{entries: found.Labels})
		}),
	}
}

func (sh *shell) promptsHistoryCommand() *cobra.Command {
	var label string
	c := &cobra.Command{
		Use: "history NAME", Short: "List the moves of labels, newest first", Args: takes("the prompt's name"), Example: "  penstock prompts history support/answer --label production",
		RunE: sh.asking(func(c *cobra.Command, p client.Prompts, args []string) error {
			found, err := firstOf(p.History(c.Context(), args[0], label), client.MaxPageSize)
			if err != nil {
				return err
			}
			return look[*client.PromptMove]{
				header: []string{"LABEL", "FROM", "TO", "BY", "APPROVED BY", "AT", "REASON"},
				cells: func(m *client.PromptMove) []string {
					return []string{m.Label, versionText(m.From), versionText(m.To), m.By, m.ApprovedBy, sh.when(m.At), m.Reason}
				},
				raw:   func(m *client.PromptMove) json.RawMessage { return m.Raw },
				empty: "No label was moved yet.",
			}.show(sh, found)
		}),
	}
	c.Flags().StringVar(&label, "label", "", "only moves of this label")
	return c
}

func (sh *shell) promptsRequestCommand() *cobra.Command {
	var flags moveFlags
	c := &cobra.Command{
		Use: "request NAME LABEL VERSION", Short: "Ask for the move of a protected label", Args: takes("the prompt's name", "the label", "the version"),
		Example: "  penstock prompts request support/answer production 7 --reason 'eval passed'",
		RunE: sh.asking(func(c *cobra.Command, p client.Prompts, args []string) error {
			o, err := flags.order(args[2])
			if err != nil {
				return err
			}
			r, err := p.RequestLabel(c.Context(), args[0], args[1], o)
			if err != nil {
				return err
			}
			if sh.output == outputJSON {
				return sh.raw(r.Raw)
			}
			_, err = fmt.Fprintln(sh.stdout, r.ID)
			return err
		}),
	}
	flags.flags(c)
	return c
}

func (sh *shell) promptsRequestsCommand() *cobra.Command {
	return &cobra.Command{
		Use: "requests NAME", Short: "List the requests to move labels, newest first", Args: takes("the prompt's name"), Example: "  penstock prompts requests support/answer",
		RunE: sh.asking(func(c *cobra.Command, p client.Prompts, args []string) error {
			found, err := firstOf(p.Requests(c.Context(), args[0]), client.MaxPageSize)
			if err != nil {
				return err
			}
			return look[*client.PromptRequest]{
				header: []string{"REQUEST", "STATE", "LABEL", "FROM", "TO", "BY", "CREATED", "REASON"},
				cells: func(r *client.PromptRequest) []string {
					return []string{r.ID, r.State, r.Label, versionText(r.From), versionText(r.Version), r.RequestedBy, sh.when(r.CreatedAt), r.Reason}
				},
				raw:   func(r *client.PromptRequest) json.RawMessage { return r.Raw },
				empty: "There are no requests.",
			}.show(sh, found)
		}),
	}
}

func (sh *shell) promptsDecideCommand(d client.PromptDecision, short string) *cobra.Command {
	return &cobra.Command{
		Use: string(d) + " NAME REQUEST", Short: short, Args: takes("the prompt's name", "the request's id"), Example: "  penstock prompts " + string(d) + " support/answer lreq_01JQ…",
		RunE: sh.asking(func(c *cobra.Command, p client.Prompts, args []string) error {
			r, err := p.Decide(c.Context(), args[0], args[1], d)
			if err != nil {
				return err
			}
			if sh.output == outputJSON {
				return sh.raw(r.Raw)
			}
			_, err = fmt.Fprintf(sh.stdout, "%s is %s.\n", r.ID, r.State)
			return err
		}),
	}
}

func (sh *shell) promptsRenderCommand() *cobra.Command {
	var r client.PromptRender
	var pairs []string
	var file string
	c := &cobra.Command{
		Use: "render NAME", Short: "Render a prompt without a call: messages, tokens and the worst-case cost", Args: takes("the prompt's name"),
		Example: "  penstock prompts render support/answer --var brand=Acme --var question='Where is my order?'",
		RunE: sh.asking(func(c *cobra.Command, p client.Prompts, args []string) (err error) {
			if r.Variables, err = sh.readVariables(file, pairs); err != nil {
				return err
			}
			done, err := p.Render(c.Context(), args[0], r)
			if err != nil {
				return err
			}
			if sh.output == outputJSON {
				return sh.raw(done.Raw)
			}
			return sh.printRendered(done)
		}),
	}
	f := c.Flags()
	f.StringVar(&r.Label, "label", "", "the label of the version (default production)")
	f.Int64Var(&r.Version, "version", 0, "the version")
	f.BoolVar(&r.Draft, "draft", false, "render the draft")
	f.StringVar(&r.Model, "model", "", "the model for the cost (default: the prompt's)")
	f.StringArrayVar(&pairs, "var", nil, "a variable with a string, as `NAME=VALUE`; may be repeated")
	f.StringVar(&file, "vars", "", "read variables as a JSON object from `PATH`; - is stdin")
	return c
}

// readVariables joins the variables of a file and of flags; flags win.
func (sh *shell) readVariables(file string, pairs []string) (map[string]any, error) {
	all := map[string]any{}
	if file != "" {
		text, err := sh.readSource(file)
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(text, &all); err != nil {
			return nil, fmt.Errorf("reading the variables in %s: %w", file, err)
		}
	}
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, usageError{fmt.Sprintf("--var %q must be NAME=VALUE", pair)}
		}
		all[name] = value
	}
	return all, nil
}

func (sh *shell) printRendered(r *client.RenderedPrompt) error {
	var messages []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	}
	if err := json.Unmarshal(r.Messages, &messages); err != nil {
		return fmt.Errorf("reading the rendered messages: %w", err)
	}
	for _, m := range messages {
		text := string(m.Content)
		var plain string
		if json.Unmarshal(m.Content, &plain) == nil {
			text = plain
		}
		lines := strings.Split(text, "\n")
		for i := range lines {
			lines[i] = clean(lines[i])
		}
		if _, err := fmt.Fprintf(sh.stdout, "[%s]\n%s\n\n", clean(m.Role), strings.Join(lines, "\n")); err != nil {
			return err
		}
	}
	fmt.Fprintf(sh.stderr, "version %s, %d input tokens", versionText(r.Version), r.InputTokens)
	if r.AtMost != nil {
		fmt.Fprintf(sh.stderr, ", at most %d tokens and $%s on %s", r.AtMost.Tokens, r.AtMost.CostUSD, clean(r.Model))
	}
	fmt.Fprintln(sh.stderr)
	return nil
}

func (sh *shell) promptsDiffCommand() *cobra.Command {
	return &cobra.Command{
		Use: "diff NAME FROM TO | DIR", Short: "Compare two versions, or a directory with the server",
		Long: `Compares two versions of a prompt; each is a number, a label or draft. With a directory,
compares its files with the newest versions on the server, and exits with 1 if they differ.`,
		Example: "  penstock prompts diff support/answer production latest\n  penstock prompts diff prompts/",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 1 {
				return nil
			}
			return takes("the prompt's name", "the first version", "the second version")(c, args)
		},
		RunE: sh.asking(func(c *cobra.Command, p client.Prompts, args []string) error {
			if len(args) == 1 {
				return sh.diffDirectory(c, p, args[0])
			}
			text, err := p.Diff(c.Context(), args[0], args[1], args[2])
			if err != nil {
				return err
			}
			if sh.output == outputJSON {
				return sh.raw(text)
			}
			return sh.printDiff(text)
		}),
	}
}

// promptDiff is the part of a difference that is printed.
type promptDiff struct {
	Identical bool `json:"identical"`
	Messages  []struct {
		Change string `json:"change"`
		Role   string `json:"role"`
		Lines  []struct {
			Change string `json:"change"`
			Text   string `json:"text"`
		} `json:"lines"`
	} `json:"messages"`
	Config      []promptMemberDiff `json:"config"`
	InputSchema []promptMemberDiff `json:"input_schema"`
	References  []struct {
		Written string `json:"written"`
		From    int64  `json:"from"`
		To      int64  `json:"to"`
	} `json:"references"`
}

type promptMemberDiff struct {
	Name string          `json:"name"`
	From json.RawMessage `json:"from"`
	To   json.RawMessage `json:"to"`
}

func (sh *shell) printDiff(text json.RawMessage) error {
	var d promptDiff
	if err := json.Unmarshal(text, &d); err != nil {
		return fmt.Errorf("reading the difference: %w", err)
	}
	if d.Identical {
		_, err := fmt.Fprintln(sh.stdout, "The contents are identical.")
		return err
	}
	marks := map[string]string{"same": " ", "added": "+", "removed": "-"}
	for _, m := range d.Messages {
		if m.Change == "same" {
			continue
		}
		fmt.Fprintf(sh.stdout, "[%s] %s\n", clean(m.Role), m.Change)
		for _, l := range m.Lines {
			fmt.Fprintf(sh.stdout, "%s %s\n", marks[l.Change], clean(l.Text))
		}
	}
	for _, m := range d.Config {
		fmt.Fprintf(sh.stdout, "config.%s: %s -> %s\n", clean(m.Name), m.From, m.To)
	}
	for _, m := range d.InputSchema {
		fmt.Fprintf(sh.stdout, "input_schema.%s: %s -> %s\n", clean(m.Name), m.From, m.To)
	}
	for _, r := range d.References {
		fmt.Fprintf(sh.stdout, "{{> %s}}: version %s -> %s\n", clean(r.Written), versionText(r.From), versionText(r.To))
	}
	return nil
}

func (sh *shell) promptsDraftCommand() *cobra.Command {
	return noun("draft", "Read, replace or discard the draft of a prompt", sh.promptsDraftGetCommand(), sh.promptsDraftPutCommand(), sh.promptsDraftDeleteCommand())
}

func (sh *shell) promptsDraftGetCommand() *cobra.Command {
	return &cobra.Command{
		Use: "get NAME", Short: "Show the draft, as JSON", Args: takes("the prompt's name"), Example: "  penstock prompts draft get support/answer",
		RunE: sh.asking(func(c *cobra.Command, p client.Prompts, args []string) error {
			d, err := p.Draft(c.Context(), args[0])
			if err != nil {
				return err
			}
			return sh.raw(d.Raw)
		}),
	}
}

func (sh *shell) promptsDraftPutCommand() *cobra.Command {
	var source promptSource
	var match string
	c := &cobra.Command{
		Use: "put NAME", Short: "Replace the draft; prints its ETag", Args: takes("the prompt's name"), Example: "  penstock prompts draft put lib/tone --text 'Be {{tone}}.'",
		RunE: sh.asking(func(c *cobra.Command, p client.Prompts, args []string) error {
			o, err := source.read(sh)
			if err != nil {
				return err
			}
			d, err := p.PutDraft(c.Context(), args[0], o.PromptContent, onMatch(match)...)
			if err != nil {
				return err
			}
			if sh.output == outputJSON {
				return sh.raw(d.Raw)
			}
			if d.Problem != nil {
				fmt.Fprintf(sh.stderr, "The draft cannot be saved as a version: %s\n", clean(d.Problem.Message))
			}
			_, err = fmt.Fprintln(sh.stdout, d.ETag)
			return err
		}),
	}
	source.flags(c)
	matchFlag(c, &match)
	return c
}

func (sh *shell) promptsDraftDeleteCommand() *cobra.Command {
	var match string
	c := &cobra.Command{
		Use: "delete NAME", Short: "Discard the draft", Args: takes("the prompt's name"), Example: "  penstock prompts draft delete support/answer",
		RunE: sh.asking(func(c *cobra.Command, p client.Prompts, args []string) error {
			return p.DeleteDraft(c.Context(), args[0], onMatch(match)...)
		}),
	}
	matchFlag(c, &match)
	return c
}
