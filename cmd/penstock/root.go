package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"penstock/internal/config"
)

// shell is all that a command touches of the world around it.
type shell struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	env            config.Env
	terminal       bool                   // stdout is read by a person
	hangups        func() <-chan struct{} // subscribes to SIGHUP
	now            func() time.Time
	output         output   // -o
	server         server   // --url, --key and --ca
	child          []string // starts this program as a child process of itself
}

// output is how a command answers.
type output string

const (
	outputTable output = "table"
	outputJSON  output = "json"
)

// String, Set and Type make it a flag.
func (o *output) String() string { return string(*o) }
func (o *output) Type() string   { return "table|json" }
func (o *output) Set(s string) error {
	if s != string(outputTable) && s != string(outputJSON) {
		return errors.New("must be table or json")
	}
	*o = output(s)
	return nil
}

const rootHelp = `Penstock is one binary between your applications and every model they call. Accepted
work is never lost, never charged twice, and can always be explained afterwards.

Start with "penstock dev", then "penstock chat Hello".

Environment, for servers:
  PENSTOCK_LISTEN        address of the API; overrides listen in the file (127.0.0.1:8080)
  PENSTOCK_ADMIN_LISTEN  address of the admin API; overrides admin_listen in the file (127.0.0.1:9090)
  PENSTOCK_DATA          data directory; overrides data in the file (./penstock-data)
  PENSTOCK_DATABASE_URL  PostgreSQL URL; overrides database in the file (none: SQLite in the data directory)
  PENSTOCK_ADMIN_KEY     admin key; overrides admin.key in the file (created once, in the data directory)
  PENSTOCK_DEV_KEY       API key that "penstock dev" accepts (created once, in the data directory)
  PENSTOCK_DEV_BEDROCK   1: "penstock dev" uses the AWS credentials in the environment for Bedrock

Environment, for the commands that call a server (--url, --key and --ca override it):
  PENSTOCK_URL           address of the API (http://127.0.0.1:8080)
  PENSTOCK_API_KEY       API key (for "penstock dev" on this machine: read from the data
                         directory)
  PENSTOCK_CA            file with the certificates of authorities to trust, PEM, beside those of
                         the system
  PENSTOCK_ADMIN_URL     address of the admin API (http://127.0.0.1:9090)
  PENSTOCK_ADMIN_KEY     admin key (for a server on this machine: read from the data directory)

Exit codes: 0 ok, 1 error, 2 wrong usage, 3 some items failed.`

// The groups of the root's help.
const (
	groupRun     = "run"
	groupWork    = "work"
	groupOperate = "operate"
)

// command is the whole tree.
func (sh *shell) command() *cobra.Command {
	sh.output = outputTable
	root := &cobra.Command{
		Use: "penstock", Short: "A durable gateway between applications and models", Long: rootHelp,
		Version: newBuild().String(), Args: cobra.ArbitraryArgs, RunE: noSuchCommand,
		SilenceErrors: true, SilenceUsage: true, DisableAutoGenTag: true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true}, // completionCommand is in the help
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetIn(sh.stdin)
	root.SetOut(sh.stdout)
	root.SetErr(sh.stderr)
	root.SetFlagErrorFunc(wrongFlag)
	root.PersistentFlags().VarP(&sh.output, "output", "o", "output format: table for people, json for programs")
	sh.server.flags(root.PersistentFlags())
	root.AddGroup(
		&cobra.Group{ID: groupRun, Title: "Run:"},
		&cobra.Group{ID: groupWork, Title: "Work:"},
		&cobra.Group{ID: groupOperate, Title: "Operate:"},
	)
	add := func(group string, commands ...*cobra.Command) {
		for _, c := range commands {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	root.AddCommand(sh.childCommand())
	add(groupRun, sh.devCommand(), sh.serveCommand(), sh.simCommand())
	add(groupWork, sh.chatCommand(), sh.jobsCommand(), sh.itemsCommand(), sh.filesCommand(), sh.batchesCommand(), sh.requestsCommand(), sh.deadLettersCommand(), sh.webhooksCommand(), sh.promptsCommand(), sh.playgroundCommand(), sh.modelsCommand(), sh.usageCommand())
	add(groupOperate, sh.topCommand(), sh.lanesCommand(), sh.targetsCommand(), sh.tenantsCommand(), sh.keysCommand(), sh.membersCommand(), sh.sessionsCommand(), sh.budgetsCommand(), sh.controlsCommand(), sh.configCommand(), sh.doctorCommand(), sh.healthCommand(), sh.keysetCommand(), sh.forecastCommand(), sh.ledgerCommand(), sh.dbCommand(), sh.completionCommand(), sh.versionCommand())
	return root
}

// execute runs one command line and returns its exit code.
func (sh *shell) execute(ctx context.Context, args []string) int {
	root := sh.command()
	root.SetArgs(args)
	ran, err := root.ExecuteContextC(ctx)
	return sh.report(ran, err)
}

// noun groups the verbs that work on one kind of thing.
func noun(use, short string, verbs ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Args: cobra.ArbitraryArgs, RunE: noSuchCommand}
	c.AddCommand(verbs...)
	return c
}

// wrongFlag says which flag was probably meant.
func wrongFlag(c *cobra.Command, err error) error {
	hint := ""
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok && len(unknown.GetSpecifiedName()) > 1 {
		var known []string
		c.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, "--"+f.Name) })
		hint = strings.ReplaceAll(config.Suggest("--"+unknown.GetSpecifiedName(), known), `"`, "")
	}
	return usageError{err.Error() + hint}
}

// noSuchCommand answers for a command that only has commands below it.
func noSuchCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return c.Help()
	}
	hint := ""
	c.SuggestionsMinimumDistance = 2 // typos in a word
	if near := c.SuggestionsFor(args[0]); len(near) > 0 {
		hint = `; did you mean "` + strings.Join(near, `" or "`) + `"?`
	}
	return usageError{fmt.Sprintf("there is no command %q%s", c.CommandPath()+" "+args[0], hint)}
}

// takes checks the arguments of a command: their names are for the message.
func takes(names ...string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) < len(names) {
			return usageError{names[len(args)] + " is missing"}
		}
		if len(args) > len(names) {
			return usageError{fmt.Sprintf("unexpected argument %q", args[len(names)])}
		}
		return nil
	}
}

// takesAtMostOne checks the arguments of a command that can do without any.
func takesAtMostOne(_ *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usageError{fmt.Sprintf("unexpected argument %q", args[1])}
	}
	return nil
}
