package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"reflect"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"penstock/internal/sim"
)

// simFlags has a flag for every setting of the simulated server.
var simFlags = []struct {
	name, usage string
	at          func(*sim.Config) any
}{
	{"seed", "decides every answer, fault and jitter", func(c *sim.Config) any { return &c.Seed }},
	{"api-key", "key that every request must carry (none: any)", func(c *sim.Config) any { return &c.APIKey }},
	{"models", "names that GET /v1/models lists; any other is served too", func(c *sim.Config) any { return &c.Models }},
	{"first-token-latency", "time to the first token, such as 250ms", func(c *sim.Config) any { return &c.FirstTokenLatency }},
	{"tokens-per-second", "pace after the first token (0: instant)", func(c *sim.Config) any { return &c.TokensPerSecond }},
	{"jitter", "fraction by which latencies vary, 0 to 1", func(c *sim.Config) any { return &c.Jitter }},
	{"output-tokens", "length of an answer (0: 64)", func(c *sim.Config) any { return &c.OutputTokens }},
	{"slots", "requests that run at a time (0: no bound)", func(c *sim.Config) any { return &c.Slots }},
	{"max-queue", "requests that may wait for a slot; more are refused as overload", func(c *sim.Config) any { return &c.MaxQueue }},
	{"requests-per-minute", "limit, over which the answer is 429 (0: none)", func(c *sim.Config) any { return &c.RequestsPerMinute }},
	{"input-tokens-per-minute", "limit, over which the answer is 429 (0: none)", func(c *sim.Config) any { return &c.InputTokensPerMinute }},
	{"output-tokens-per-minute", "limit, over which the answer is 429 (0: none)", func(c *sim.Config) any { return &c.OutputTokensPerMinute }},
	{"stall", "how long a stall fault pauses (0: 30s)", func(c *sim.Config) any { return &c.Stall }},
	{"fast", "serve answers rendered beforehand; excludes latencies, limits and faults", func(c *sim.Config) any { return &c.Fast }},
	{"fault-server-error", "probability of a 500", func(c *sim.Config) any { return &c.Faults.ServerError }},
	{"fault-overloaded", "probability of a 503 or 529", func(c *sim.Config) any { return &c.Faults.Overloaded }},
	{"fault-rate-limit", "probability of a 429", func(c *sim.Config) any { return &c.Faults.RateLimit }},
	{"fault-hang", "probability that no answer ever comes", func(c *sim.Config) any { return &c.Faults.Hang }},
	{"fault-disconnect", "probability that the connection is cut", func(c *sim.Config) any { return &c.Faults.Disconnect }},
	{"fault-malformed", "probability of broken JSON", func(c *sim.Config) any { return &c.Faults.Malformed }},
	{"fault-error-in-200", "probability of an error under status 200", func(c *sim.Config) any { return &c.Faults.ErrorIn200 }},
	{"fault-error-mid-stream", "probability of an error in the middle of a stream", func(c *sim.Config) any { return &c.Faults.ErrorMidStream }},
	{"fault-stall", "probability of a pause in the middle of a stream", func(c *sim.Config) any { return &c.Faults.Stall }},
}

func (sh *shell) simCommand() *cobra.Command {
	var listen, path string
	var given sim.Config
	c := &cobra.Command{
		Use: "sim", Short: "Start a simulated model server, with faults on request", Args: takes(),
		Long: `Starts a server that speaks the wire formats of OpenAI, Anthropic, Gemini and AWS
Bedrock, answers deterministically, and is as slow, as limited and as faulty as you ask.
It prints the base URL to use as a provider's base_url. GET /sim/stats shows what it served,
PATCH /sim/config changes settings while it runs.

Settings come from --config, a YAML or JSON file with the names of the flags in
snake_case (faults: {server_error: 0.1}); flags override it.`,
		Example: `  penstock sim
  penstock sim --first-token-latency 250ms --tokens-per-second 80 --jitter 0.2
  penstock sim --requests-per-minute 600 --fault-server-error 0.05 --fault-rate-limit 0.05
  penstock sim --config sim.yaml --listen 127.0.0.1:0`,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := simConfig(c.Flags(), path, &given)
			if err != nil {
				return err
			}
			return sh.serveSim(c.Context(), cfg, listen)
		},
	}
	c.Flags().StringVar(&listen, "listen", "127.0.0.1:9099", "address to listen on; port 0 picks a free one")
	c.Flags().StringVarP(&path, "config", "c", "", "file with settings, YAML or JSON")
	for _, f := range simFlags {
		bindSimFlag(c.Flags(), f.at(&given), f.name, f.usage)
	}
	return c
}

func bindSimFlag(flags *pflag.FlagSet, at any, name, usage string) {
	switch at := at.(type) {
	case *uint64:
		flags.Uint64Var(at, name, 0, usage)
	case *string:
		flags.StringVar(at, name, "", usage)
	case *[]string:
		flags.StringSliceVar(at, name, nil, usage)
	case *time.Duration:
		flags.DurationVar(at, name, 0, usage)
	case *float64:
		flags.Float64Var(at, name, 0, usage)
	case *int:
		flags.IntVar(at, name, 0, usage)
	case *bool:
		flags.BoolVar(at, name, false, usage)
	default:
		panic(fmt.Sprintf("penstock: --%s has the type %T, which no flag has", name, at))
	}
}

// simConfig is the file's settings with those of the given flags over them.
func simConfig(flags *pflag.FlagSet, path string, given *sim.Config) (sim.Config, error) {
	var cfg sim.Config
	if path != "" {
		text, err := os.ReadFile(path)
		if err != nil {
			return cfg, fmt.Errorf("reading the settings: %w", err)
		}
		// The rules are those of the server's own JSON; of YAML it knows nothing.
		if text, err = yaml.YAMLToJSON(text); err == nil {
			err = json.Unmarshal(text, &cfg)
		}
		if err != nil {
			return cfg, fmt.Errorf("reading the settings in %s: %w", path, err)
		}
	}
	for _, f := range simFlags {
		if flags.Changed(f.name) {
			reflect.ValueOf(f.at(&cfg)).Elem().Set(reflect.ValueOf(f.at(given)).Elem())
		}
	}
	return cfg, nil
}

// simGrace is how long answers may take to end after a stop was asked for.
const simGrace = 5 * time.Second

func (sh *shell) serveSim(ctx context.Context, cfg sim.Config, listen string) error {
	model, err := sim.New(cfg)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return fmt.Errorf("listening (set --listen to another address): %w", err)
	}
	server := &http.Server{Handler: model, ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	if err := sh.printSim("http://" + listener.Addr().String() + "/v1"); err != nil {
		return errors.Join(err, server.Close())
	}
	select {
	case err := <-served:
		return fmt.Errorf("serving: %w", err)
	case <-ctx.Done():
	}
	model.Close() // before Shutdown, which would wait for requests that hang on purpose
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), simGrace)
	defer cancel()
	if err := server.Shutdown(grace); err != nil {
		return server.Close()
	}
	return nil
}

func (sh *shell) printSim(base string) error {
	if sh.output == outputJSON {
		return sh.json(map[string]string{"base_url": base})
	}
	_, err := fmt.Fprintln(sh.stdout, base)
	return err
}
