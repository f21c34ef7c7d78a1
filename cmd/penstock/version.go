package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"penstock"
)

// build says which program this is.
type build struct {
	Version  string `json:"version"`
	Commit   string `json:"commit"`   // "" for a build outside a repository
	Modified bool   `json:"modified"` // the source differed from the commit
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func newBuild() build {
	b := build{Version: penstock.Version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

func (b build) String() string {
	commit := b.Commit
	switch {
	case commit == "":
		commit = "commit unknown"
	case b.Modified:
		commit += ", modified"
	}
	return fmt.Sprintf("penstock %s (%s) %s %s", b.Version, commit, b.Go, b.Platform)
}

func (sh *shell) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: takes(),
		Example: "  penstock version\n  penstock version -o json",
		RunE: func(*cobra.Command, []string) error {
			b := newBuild()
			if sh.output == outputJSON {
				return sh.json(b)
			}
			_, err := fmt.Fprintln(sh.stdout, b)
			return err
		},
	}
}
