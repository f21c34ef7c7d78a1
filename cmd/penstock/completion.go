package main

import (
	"io"

	"github.com/spf13/cobra"
)

// completionCommand prints what a shell needs to complete commands and flags.
func (sh *shell) completionCommand() *cobra.Command {
	verb := func(name, example string, write func(*cobra.Command, io.Writer) error) *cobra.Command {
		return &cobra.Command{
			Use: name, Short: "Print the completions for " + name, Args: takes(), Example: example, DisableFlagsInUseLine: true,
			RunE: func(c *cobra.Command, _ []string) error { return write(c.Root(), sh.stdout) },
		}
	}
	return noun("completion", "Print completions for a shell",
		verb("bash", "  penstock completion bash > /etc/bash_completion.d/penstock\n  source <(penstock completion bash)",
			func(root *cobra.Command, w io.Writer) error { return root.GenBashCompletionV2(w, true) }),
		verb("zsh", "  penstock completion zsh > \"${fpath[1]}/_penstock\"", (*cobra.Command).GenZshCompletion),
		verb("fish", "  penstock completion fish > ~/.config/fish/completions/penstock.fish",
			func(root *cobra.Command, w io.Writer) error { return root.GenFishCompletion(w, true) }))
}
