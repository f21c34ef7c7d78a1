package app

import (
	"context"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"time"

	"penstock/internal/chore"
	"penstock/internal/journal"
	"penstock/internal/record"
	"penstock/internal/telemetry"
)

const (
	// journalDir is the subdirectory of the data directory that holds records of synchronous calls until the database has them.
	journalDir = "journal"
	// replayInterval is how often a process looks for the journals of stopped processes.
	replayInterval = 10 * time.Second
	// complainInterval is how often a journal that fails is logged. Every failure is counted.
	complainInterval = time.Minute
)

// openJournal opens the journal of a process that serves synchronous calls. A journal that cannot be written is an error at the
// start, when an operator watches. Later it is counted and logged, and calls go on: see decision 0032.
func (a *app) openJournal() (err error) {
	if !a.Role.serves() {
		return nil
	}
	var complained atomic.Int64 // when, in nanoseconds
	a.journal, err = journal.Open(journal.Config{Dir: a.replayer().dir, Failed: func(err error) {
		a.metrics.JournalFailed()
		last, now := complained.Load(), time.Now().UnixNano()
		if now-last >= int64(complainInterval) && complained.CompareAndSwap(last, now) {
			a.log.Error("a record was not appended to the journal; it is lost if this process is killed before the database has it", "error", err)
		}
	}})
	if err != nil {
		return err
	}
	a.closers = append(a.closers, a.journal.Close)
	return nil
}

func (a *app) replayer() *replayer {
	return &replayer{dir: filepath.Join(a.Config.Process.Data, journalDir), recorder: a.recorder, metrics: a.metrics, log: a.log}
}

// replayer records the calls in the journals of stopped processes.
type replayer struct {
	dir      string
	recorder *record.Recorder
	metrics  *telemetry.Metrics
	log      *slog.Logger
}

// replay records the calls in the journals of stopped processes. After an error, the next round repeats it.
func (r *replayer) replay(ctx context.Context) {
	found, err := journal.Replay(ctx, r.dir, r.recorder.Replay)
	r.metrics.JournalReplayed(found.Records, found.Lost)
	if found.Lost > 0 {
		r.log.ErrorContext(ctx, "parts of the journal of a process that died could not be read", "places", found.Lost)
	}
	if found.Records > 0 {
		r.log.InfoContext(ctx, "recorded calls of a process that died", "records", found.Records, "segments", found.Segments)
	}
	if err != nil && ctx.Err() == nil {
		r.log.WarnContext(ctx, "replaying the journal; it will be tried again", "error", err)
	}
}

// run replays journals until ctx ends: other processes may share the directory.
func (r *replayer) run(ctx context.Context) error {
	chore.Chore{Interval: replayInterval, Round: func(ctx context.Context) (bool, error) {
		r.replay(ctx)
		return false, nil
	}}.Run(ctx)
	return nil
}
