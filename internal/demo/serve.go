package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"penstock"
	"penstock/internal/app"
	"penstock/internal/config"
	"penstock/internal/dev"
	"penstock/internal/dialect/line"
	"penstock/internal/directory"
	"penstock/internal/file"
	"penstock/internal/prompt"
	"penstock/internal/rest"
	"penstock/internal/signal"
	"penstock/internal/telemetry"
)

// Options say where the demo gets its settings and where it writes.
type Options struct {
	Env    config.Env
	Log    io.Writer // logs
	Out    io.Writer // the greeting
	Commit string
	Child  []string // as in app.Options
}

// Run serves the demo until ctx ends: a data directory with a month of invented work, which the first start fills, simulated upstreams, and a
// light load.
func Run(ctx context.Context, o Options) error {
	f := config.File{Process: config.Process{Environment: config.EnvironmentDev, Log: config.Log{Level: "error", Format: "text"}}}
	f.Override(o.Env)
	f.Data = cmp.Or(f.Data, DefaultData)
	if !f.Database.IsZero() {
		return errors.New("the demo keeps its data in SQLite; unset PENSTOCK_DATABASE_URL")
	}
	state, err := Open(f.Data)
	if err != nil {
		return err
	}
	receiver := "127.0.0.1:0"
	if state != nil {
		receiver = state.Receiver
	}
	servers, err := Listen(receiver)
	if err != nil {
		return err
	}
	s := &server{Options: o, servers: servers, greeting: Greeting{Data: f.Data, State: state}, anyAdmin: f.AdminListen == ""}
	Describe(&f, servers.Addresses)
	if state == nil {
		fmt.Fprint(o.Out, "Making a month of work; this takes some seconds.\n\n")
		err = s.create(ctx, f)
	}
	if err == nil {
		s.config, err = config.NewSnapshot(f)
	}
	if err != nil {
		return errors.Join(err, servers.Close())
	}
	return s.serve(ctx)
}

// server is a demo that is about to be served.
type server struct {
	Options
	servers  *Servers
	config   *config.Snapshot
	greeting Greeting
	anyAdmin bool
}

// create fills the data directory.
func (s *server) create(ctx context.Context, f config.File) error {
	began := time.Now()
	state, err := Create(f.Data, func(dir string) (*State, error) {
		f.Data = dir
		snapshot, err := config.NewSnapshot(f)
		if err != nil {
			return nil, err
		}
		state, made, err := fill(ctx, snapshot, s.servers.Receiver)
		if err != nil {
			return nil, err
		}
		s.greeting.Filled, state.Receiver = made, strings.TrimPrefix(s.servers.Receiver, "http://")
		return state, nil
	})
	s.greeting.State, s.greeting.Took = state, time.Since(began)
	return err
}

// fill writes the past, with services and a database that read the clock of the past.
func fill(ctx context.Context, s *config.Snapshot, receiver string) (state *State, made *Summary, err error) {
	now := time.Now().Add(-time.Second)
	clock := NewClock(Begin(now))
	st, err := app.OpenStoreAt(ctx, s.Process, clock.Now)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	if err := st.SaveSnapshot(ctx, s.Hash, s.Body); err != nil {
		return nil, nil, err
	}
	live, log := config.NewLive(s), telemetry.NewLogger(io.Discard, telemetry.LogConfig{})
	known := directory.New(directory.Deps{Config: live, Source: st, Log: log, Clock: clock.Now})
	files, err := file.New(file.Deps{
		Files: st, Blobs: st.Blobs, Codec: st.Codec, Clock: clock.Now,
		Windows: func(id penstock.TenantID) penstock.Retention { return s.RetentionOf(id) },
	})
	if err != nil {
		return nil, nil, err
	}
	prompts := st.Prompts()
	resolver := prompt.NewResolver(prompt.ResolverDeps{Store: prompts, Changes: signal.NewTopic[signal.None](nil, signal.Prompts), Log: log})
	return Fill(ctx, Past{
		Store: st, Endpoints: st.Webhooks, Outbox: st.Webhooks, Figures: st.Figures(), Files: files, Members: st.Members(),
		Prompts: prompt.New(prompt.Deps{
			Prompts: prompts, Drafts: prompts, Versions: prompts, Labels: prompts, Requests: prompts, Protections: prompts, Resolver: resolver, Published: func() {}, Clock: clock.Now,
		}),
		Results: line.Writer{Failure: rest.ItemFailure}, Directory: known, Config: s,
		Editor:  directory.NewEditor(directory.EditorDeps{Config: live, Tenants: st, Keys: st, Directory: known, Announce: func() {}, Log: log, Clock: clock.Now}),
		Metrics: telemetry.NewMetrics(penstock.Version, ""), Log: log, Clock: clock, Until: now, Receiver: receiver,
	})
}

// serve runs the servers of the demo, Penstock, and the load.
func (s *server) serve(ctx context.Context) error {
	defer os.Remove(filepath.Join(s.config.Process.Data, dev.AdminURLFile))
	ready, link := make(chan app.Addresses, 1), ""
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.servers.Run(ctx) })
	group.Go(func() error {
		return app.Run(ctx, app.Options{Config: s.config, Log: s.Log, Commit: s.Commit, AnyAdmin: s.anyAdmin, Child: s.Child, SignInLink: func(token string) { link = token }, Ready: func(at app.Addresses) {
			s.greeting.Link = dev.SignInLine(at.API, link)
			s.greet(at)
			ready <- at
		}})
	})
	group.Go(func() error {
		select {
		case <-ctx.Done():
			return nil
		case at := <-ready:
			log := telemetry.NewLogger(s.Log, telemetry.LogConfig{Format: telemetry.LogFormat(s.config.Process.Log.Format)})
			return NewTraffic(TrafficDeps{API: at.API, State: s.greeting.State, Begun: s.greeting.Filled == nil, Log: log}).Run(ctx)
		}
	})
	return group.Wait()
}

// greet prints the greeting, and leaves key and address where commands find them.
func (s *server) greet(at app.Addresses) {
	data := s.config.Process.Data
	err := errors.Join(dev.KeepKey(data, s.greeting.State.FirstKey()), os.WriteFile(filepath.Join(data, dev.AdminURLFile), []byte(at.Admin+"\n"), 0o600))
	if err != nil {
		fmt.Fprintf(s.Out, "Commands need --admin-url %s and --key: %v\n\n", at.Admin, err)
	}
	s.greeting.API, s.greeting.Admin = at.API, at.Admin
	Greet(s.Out, s.greeting)
}
