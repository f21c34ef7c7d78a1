package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"penstock/internal/app"
	"penstock/internal/config"
	"penstock/internal/demo"
	"penstock/internal/dev"
)

// defaultConfig is the file that is read when none is named.
const defaultConfig = "penstock.yaml"

func (sh *shell) devCommand() *cobra.Command {
	var invented bool
	c := &cobra.Command{
		Use: "dev", Short: "Start a development server on this machine, without configuration", Args: takes(),
		Long: `Starts Penstock with SQLite and blobs in ./penstock-data, a simulated upstream, one
tenant whose key survives restarts, and every provider that it finds: vendors whose keys
are in the environment, such as OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY or
MISTRAL_API_KEY, and Ollama, vLLM, SGLang and llama.cpp on their default ports. It uses
AWS credentials for Bedrock only with PENSTOCK_DEV_BEDROCK=1, and AWS_BEARER_TOKEN_BEDROCK
always.

Models of these vendors have their own names. The model "auto" is the usual model of the
first vendor, or the simulated one. It prints the settings for an SDK. Stop it with
Ctrl-C; accepted work continues at the next start.

With --demo it serves an invented month of work of five companies instead, in
./penstock-demo: tenants, calls, jobs in every state, batches, dead letters, webhooks and
usage. All models are simulated, no provider is looked for, and a light load goes on.`,
		Example: "  penstock dev\n  penstock dev --demo\n  PENSTOCK_LISTEN=127.0.0.1:9000 PENSTOCK_DATA=./other-data penstock dev",
		RunE: func(c *cobra.Command, _ []string) error {
			if invented {
				return demo.Run(c.Context(), demo.Options{Env: sh.env, Log: sh.stderr, Out: sh.stdout, Commit: newBuild().Commit, Child: sh.child})
			}
			return dev.Run(c.Context(), dev.Options{Env: sh.env, Log: sh.stderr, Out: sh.stdout, Commit: newBuild().Commit, Child: sh.child})
		},
	}
	c.Flags().BoolVar(&invented, "demo", false, "serve a month of invented work, to look at")
	return c
}

func (sh *shell) serveCommand() *cobra.Command {
	var path string
	var role app.Role
	c := &cobra.Command{
		Use: "serve", Short: "Serve a configuration file, for production", Args: takes(),
		Long: `Serves the API and runs jobs, as configured. SIGHUP reads the file again: providers,
targets, models and tenants change at once, settings of the process itself at the
next start. A file with problems changes nothing. SIGTERM drains: running work may
finish within shutdown_grace.

Any number of processes can share one PostgreSQL database. With --role api a process
accepts jobs and serves synchronous calls, but runs no jobs. With --role worker it only
runs jobs, and opens only admin_listen.`,
		Example: "  penstock serve --config penstock.yaml\n  penstock serve --config penstock.yaml --role worker\n  kill -HUP $(pidof penstock)",
		RunE: func(c *cobra.Command, _ []string) error {
			if !slices.Contains(app.Roles, role) {
				return usageError{fmt.Sprintf("--role must be all, api or worker, not %q", role)}
			}
			load := func() (*config.Snapshot, error) { return sh.load(path) }
			snapshot, err := load()
			if err != nil {
				return err
			}
			return app.Run(c.Context(), app.Options{
				Config: snapshot, Role: role, Load: load, Reload: sh.hangups(), Log: sh.stderr, Commit: newBuild().Commit,
				Ready: sh.printReady, Child: sh.child, Requests: sh.requestLines(),
			})
		},
	}
	sh.configFlag(c, &path)
	c.Flags().StringVar((*string)(&role), "role", string(app.RoleAll), "role of this process: all, api or worker")
	return c
}

// requestLines is where lines about requests go: to a person at a terminal, and nowhere else.
func (sh *shell) requestLines() io.Writer {
	if !sh.terminal || sh.output == outputJSON {
		return nil
	}
	return sh.stdout
}

func (sh *shell) printReady(at app.Addresses) {
	if sh.output == outputJSON {
		_ = sh.json(map[string]string{"api": at.API, "admin": at.Admin}) // it serves, whether or not stdout can be written
		return
	}
	if at.API == "" {
		fmt.Fprintf(sh.stdout, "Penstock is ready to work, metrics on %s/metrics\n", at.Admin)
		return
	}
	fmt.Fprintf(sh.stdout, "Penstock is ready on %s, metrics on %s/metrics\n", at.API, at.Admin)
}

func (sh *shell) configFlag(c *cobra.Command, path *string) {
	c.Flags().StringVarP(path, "config", "c", defaultConfig, "configuration file")
}

// load reads a configuration file.
func (sh *shell) load(path string) (*config.Snapshot, error) {
	s, err := config.Load(path, sh.env)
	if err == nil {
		return s, nil
	}
	if problems, ok := errors.AsType[config.Problems](err); ok {
		return nil, &configError{path, problems}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf(`%w; give the path of your file, or use "penstock dev", which needs none`, err)
	}
	return nil, err
}

// loadOrDefault is load for commands that also work on what `penstock dev` leaves behind: without
// --config and without a penstock.yaml they take the defaults and the environment.
func (sh *shell) loadOrDefault(c *cobra.Command, path string) (*config.Snapshot, error) {
	if _, err := os.Stat(path); c.Flags().Changed("config") || err == nil {
		return sh.load(path)
	}
	var file config.File
	file.Override(sh.env)
	s, err := config.NewSnapshot(file)
	if problems, ok := errors.AsType[config.Problems](err); ok {
		return nil, &configError{"the environment", problems}
	}
	return s, err
}
