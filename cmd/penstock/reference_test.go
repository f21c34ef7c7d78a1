package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

var update = flag.Bool("update", false, "write the reference page of commands")

const commandsPage = "../../docs/reference/commands.md"

// TestCommandReference keeps the page of commands true: -update writes it.
func TestCommandReference(t *testing.T) {
	t.Parallel()
	root := new(shell).command()
	root.InitDefaultHelpCmd()
	var b strings.Builder
	b.WriteString("# Commands\n\n<!-- Made from the code by `make docs`. Do not edit. -->\n\n" +
		"`penstock help COMMAND` prints the same text. Every command accepts `-o table` or `-o json`.\n\n```\n" + rootHelp + "\n```\n")
	for _, c := range root.Commands() {
		writeCommand(&b, c)
	}
	got, err := os.ReadFile(commandsPage)
	switch {
	case *update:
		if err := os.WriteFile(commandsPage, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	case err != nil:
		t.Fatal(err)
	case string(got) != b.String():
		t.Errorf("%s is stale; run: make docs", commandsPage)
	}
}

// writeCommand writes one command, and those below it.
func writeCommand(b *strings.Builder, c *cobra.Command) {
	if c.Hidden || c.Name() == "help" {
		return
	}
	fmt.Fprintf(b, "\n## %s\n\n%s.\n", c.CommandPath(), strings.TrimSuffix(c.Short, "."))
	if len(c.Commands()) > 0 {
		for _, below := range c.Commands() {
			writeCommand(b, below)
		}
		return
	}
	fmt.Fprintf(b, "\n```\n%s\n", c.UseLine())
	if c.Long != "" {
		fmt.Fprintf(b, "\n%s\n", strings.TrimSpace(c.Long))
	}
	if c.Example != "" {
		fmt.Fprintf(b, "\nExamples:\n%s\n", strings.TrimRight(c.Example, "\n"))
	}
	if flags := localFlags(c); flags != "" {
		fmt.Fprintf(b, "\nFlags:\n%s", flags)
	}
	b.WriteString("```\n")
}

// localFlags are a command's own flags; --help is on every command.
func localFlags(c *cobra.Command) string {
	set := pflag.NewFlagSet(c.Name(), pflag.ContinueOnError)
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" {
			set.AddFlag(f)
		}
	})
	return set.FlagUsages()
}
