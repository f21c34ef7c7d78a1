package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"penstock/internal/store/postgres"
)

// riverArgs is a job of River's: 256 bytes, as the prompts of the other side.
type riverArgs struct {
	Serial int64  `json:"serial"`
	Text   string `json:"text"`
}

// riverText is as long as the prompts of the other side.
var riverText = strings.Repeat("weir ", 45)

func (riverArgs) Kind() string { return "noop" }

type riverWorker struct {
	river.WorkerDefaults[riverArgs]
	started func(serial int64)
}

func (w *riverWorker) Work(_ context.Context, job *river.Job[riverArgs]) error {
	if w.started != nil {
		w.started(job.Args.Serial)
	}
	return nil
}

// peer is River at work, with the settings of its own benchmark's kind: it fetches every 2 ms while
// there is work, instead of the 100 ms of its default, and polls every 20 ms.
type peer struct {
	pool   *pgxpool.Pool
	client *river.Client[pgx.Tx]
	serial atomic.Int64
	done   atomic.Int64
}

func openPeer(ctx context.Context, database string, started func(serial int64)) (*peer, error) {
	cfg, err := pgxpool.ParseConfig(database)
	if err != nil {
		return nil, err
	}
	cfg.MaxConns = postgres.DefaultMaxConns
	p := &peer{}
	if p.pool, err = pgxpool.NewWithConfig(ctx, cfg); err != nil {
		return nil, err
	}
	if err := p.connect(ctx, started); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

func (p *peer) connect(ctx context.Context, started func(serial int64)) error {
	driver := riverpgxv5.New(p.pool)
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	migrator, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: log})
	if err != nil {
		return err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return err
	}
	workers := river.NewWorkers()
	river.AddWorker(workers, &riverWorker{started: started})
	p.client, err = river.NewClient(driver, &river.Config{
		Queues:        map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: slots}},
		Workers:       workers,
		FetchCooldown: 2 * time.Millisecond, FetchPollInterval: 20 * time.Millisecond,
		Logger: log,
	})
	return err
}

// Submit implements contender.
func (p *peer) Submit(ctx context.Context, items int) error {
	params := make([]river.InsertManyParams, items)
	for i := range params {
		params[i].Args = riverArgs{Serial: p.serial.Add(1), Text: riverText}
	}
	_, err := p.client.InsertMany(ctx, params)
	return err
}

// SubmitOne implements contender.
func (p *peer) SubmitOne(ctx context.Context, serial int64) error {
	_, err := p.client.Insert(ctx, riverArgs{Serial: serial, Text: riverText}, nil)
	return err
}

// Work implements contender.
func (p *peer) Work(ctx context.Context) error {
	// An event is sent after the completion of its job was committed.
	events, cancel := p.client.SubscribeConfig(&river.SubscribeConfig{
		Kinds: []river.EventKind{river.EventKindJobCompleted}, ChanSize: 1 << 20,
	})
	counted := make(chan struct{})
	go func() {
		defer close(counted)
		for range events {
			p.done.Add(1)
		}
	}()
	lasting := context.WithoutCancel(ctx)
	if err := p.client.Start(lasting); err != nil {
		cancel()
		return err
	}
	<-ctx.Done()
	err := p.client.Stop(lasting)
	cancel()
	<-counted
	return err
}

// Done implements contender.
func (p *peer) Done() int64 { return p.done.Load() }

// Audit implements contender.
func (p *peer) Audit(ctx context.Context) (n int64, err error) {
	err = p.pool.QueryRow(ctx, `SELECT count(*) FROM river_job WHERE state = 'completed'`).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("counting completed jobs: %w", err)
	}
	return n, nil
}

// Notes implements contender.
func (p *peer) Notes() string { return "" }

// Close implements contender.
func (p *peer) Close() error {
	p.pool.Close()
	return nil
}
