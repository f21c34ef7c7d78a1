// Package dev is the development server: the embedded default with a simulated upstream, one tenant, and the providers that it
// finds on the machine.
package dev

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"penstock"
	"penstock/internal/app"
	"penstock/internal/config"
	"penstock/internal/directory"
	"penstock/internal/sim"
)

// Options say where the development server gets its settings and where it writes.
type Options struct {
	Env    config.Env
	Log    io.Writer // logs
	Out    io.Writer // the greeting
	Commit string
	Child  []string // as in app.Options
}

const (
	// tenant is the tenant of the development server.
	tenant = "demo"
	// autoModel is the model for callers that choose none: the usual model of the first vendor that was found.
	autoModel = "auto"
	// anyModel serves every model name that is not configured, under that name.
	anyModel = "any"
	// simModel always reaches the simulated upstream.
	simModel = "sim"
	// simAnthropic is the simulated upstream as a provider and a target of Anthropic's format, which has features that OpenAI's
	// lacks, such as an answer that continues a message of the assistant.
	simAnthropic = "sim-anthropic"
	// simAsAsked is a target of the simulated upstream that forwards the requested name.
	simAsAsked = "sim-as-asked"
	// AdminURLFile has the address of the admin API while the development server runs, in the data directory: the port is
	// another one if the configured one is in use.
	AdminURLFile = "admin-url"
	// keyFile keeps the key of the demo tenant over restarts.
	keyFile = "dev-key"
)

// simPrice makes costs visible in development: those of a small hosted model.
var simPrice = config.Price{Input: "0.15", CachedInput: "0.075", CacheWrite: "0.1875", Output: "0.60"}

// Run serves the embedded default until ctx ends: everything on one machine, a simulated upstream, one tenant whose
// key survives restarts, and any real provider that it finds.
func Run(ctx context.Context, o Options) error {
	file := config.File{Process: config.Process{Log: config.Log{Level: "warn", Format: "text"}}}
	file.Override(o.Env)
	file.Data = cmp.Or(file.Data, config.DefaultData)
	file.Environment = config.EnvironmentDev
	key, err := keyOf(file.Data, o.Env)
	if err != nil {
		return err
	}
	upstream, err := startSim()
	if err != nil {
		return err
	}
	anyAdmin := file.AdminListen == "" // an address that somebody chose never moves: clients and firewalls know it
	found := detect(ctx, o.Env, cmp.Or(file.Listen, config.DefaultListen))
	describe(&file, upstream.url, key, found)
	snapshot, err := config.NewSnapshot(file)
	if err != nil {
		return errors.Join(err, upstream.listener.Close())
	}
	adminKey, link := "", ""
	defer os.Remove(filepath.Join(file.Data, AdminURLFile))
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() error { return upstream.serve(groupCtx) })
	group.Go(func() error {
		return app.Run(groupCtx, app.Options{Config: snapshot, Log: o.Log, Commit: o.Commit, AnyAdmin: anyAdmin, Requests: o.Out, Child: o.Child, NewAdminKey: func(secret string) { adminKey = secret }, SignInLink: func(token string) { link = token }, Ready: func(at app.Addresses) {
			if err := KeepKey(file.Data, key); err != nil {
				fmt.Fprintf(o.Out, "The key below is good for this run only: %v\n\n", err)
			}
			if err := os.WriteFile(filepath.Join(file.Data, AdminURLFile), []byte(at.Admin+"\n"), 0o600); err != nil {
				fmt.Fprintf(o.Out, "Commands need --admin-url %s: %v\n\n", at.Admin, err)
			}
			greet(o.Out, greeting{at: at, key: key, adminKey: adminKey, link: link, data: file.Data, sim: upstream.url, found: found, models: listed(snapshot), postgres: !file.Database.IsZero()})
		}})
	})
	return group.Wait()
}

// keyOf returns the demo tenant's key: from the environment, from the last start, or new.
func keyOf(data string, env config.Env) (string, error) {
	if key, ok := env("PENSTOCK_DEV_KEY"); ok && key != "" {
		return key, nil
	}
	path := filepath.Join(data, keyFile)
	kept, err := os.ReadFile(path)
	if err == nil {
		return strings.TrimSpace(string(kept)), nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("reading the development key: %w", err)
	}
	return directory.KeyPrefix + "dev_" + strings.ToLower(rand.Text()), nil
}

// KeepKey writes the key where the command line and the next start find it. It is called after the data directory
// was locked: a second server, which the lock refuses, must not overwrite the key of the first.
func KeepKey(data, key string) error {
	if err := os.WriteFile(filepath.Join(data, keyFile), []byte(key+"\n"), 0o600); err != nil {
		return fmt.Errorf("keeping the development key: %w", err)
	}
	return nil
}

// describe returns the configuration of the development server.
func describe(file *config.File, simURL, key string, found []detected) {
	file.Providers = map[string]config.ProviderConfig{
		simModel: {Kind: config.KindOpenAI, BaseURL: simURL + "/v1"},
	}
	file.Targets = map[string]config.TargetConfig{
		simModel: {Provider: simModel, UpstreamModel: "sim-1", Price: simPrice},
	}
	file.Models = map[string]config.ModelConfig{simModel: {Targets: []string{simModel}}}
	if len(found) == 0 {
		describeSim(file, simURL)
	} else { // a real provider must never be replaced by made-up answers
		file.FallbackModel = anyModel
		file.Models[anyModel], file.Models[autoModel] = config.ModelConfig{}, config.ModelConfig{} // no vendor's model takes these names
		var anything, standard []string
		for _, d := range found {
			name := d.vendor.Name
			file.Providers[name] = d.provider
			file.Targets[name] = config.TargetConfig{Provider: name, UpstreamModel: penstock.UpstreamModelAsAsked}
			anything, standard = append(anything, name), append(standard, d.describeModels(file))
		}
		file.Models[anyModel] = config.ModelConfig{Targets: anything}
		file.Models[autoModel] = config.ModelConfig{Targets: standard}
	}
	file.Webhooks.Allow = []string{"127.0.0.0/8", "::1"} // a developer receives webhooks on this machine
	file.MediaHosts = []string{penstock.MediaPublic}     // the only caller is the developer
	file.Tenants = map[string]config.TenantConfig{
		tenant: {Keys: []config.KeyConfig{{Name: "dev", Secret: config.NewSecret(key)}}},
	}
}

// describeSim describes the simulated upstream as the only one: it answers for every name. Names of Claude reach it in Anthropic's
// format. Each model has one target, so that a simulated fault is the caller's answer and not the reason for another try.
func describeSim(file *config.File, url string) {
	file.Providers[simAnthropic] = config.ProviderConfig{Kind: config.KindAnthropic, BaseURL: url + "/v1", APIKey: config.NewSecret("sim")} // any key: the format demands one
	file.Targets[simAnthropic] = config.TargetConfig{Provider: simAnthropic, UpstreamModel: "sim-1", Price: simPrice}
	file.Targets[simAsAsked] = config.TargetConfig{Provider: simModel, UpstreamModel: penstock.UpstreamModelAsAsked, Price: simPrice}
	file.Models[autoModel] = config.ModelConfig{Targets: []string{simModel}}
	file.Models["claude-*"] = config.ModelConfig{Targets: []string{simAnthropic}}
	file.Models["text-embedding-*"] = config.ModelConfig{Targets: []string{simAsAsked}} // the name decides how long an embedding is
	file.FallbackModel = autoModel
}

// simulated is the upstream of the development server, a separate server reached over HTTP like any
// other upstream.
type simulated struct {
	server   *sim.Server
	listener net.Listener
	url      string
}

func startSim() (*simulated, error) {
	server, err := sim.New(sim.Config{FirstTokenLatency: 150 * time.Millisecond, TokensPerSecond: 100})
	if err != nil {
		return nil, fmt.Errorf("preparing the simulated upstream: %w", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("starting the simulated upstream: %w", err)
	}
	return &simulated{server: server, listener: l, url: "http://" + l.Addr().String()}, nil
}

func (s *simulated) serve(ctx context.Context) error {
	server := &http.Server{Handler: s.server, ReadHeaderTimeout: 10 * time.Second}
	// Penstock drains first: the upstream serves until its callers have ended.
	return app.Serve(ctx, server, s.listener, time.Minute)
}
