package main

import (
	"github.com/spf13/cobra"

	"penstock/internal/app"
	"penstock/internal/supervise"
)

// childCommandName is what a server calls itself with to run a suspect. It shows in the list of processes.
const childCommandName = "run-suspects"

// childCommand is the child process of a server. It is started by servers alone.
func (sh *shell) childCommand() *cobra.Command {
	return &cobra.Command{
		Use: childCommandName, Short: "Run suspects for a server; only servers start it", Hidden: true, Args: takes(),
		Example: "  penstock run-suspects   # started by a server, with pipes as stdin and file descriptor 3",
		RunE:    func(*cobra.Command, []string) error { return app.RunChild(sh.stderr, nil) },
	}
}

// childOfSelf is the command that starts this program as a child process. Without it, suspects are left to other processes.
func childOfSelf() []string {
	self, err := supervise.Self()
	if err != nil {
		return nil
	}
	return []string{self, childCommandName}
}
