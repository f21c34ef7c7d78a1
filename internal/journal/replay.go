package journal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"penstock"
)

const (
	// replayGroup is how many records are handed over at a time.
	replayGroup = 500
	// staleNew is how old a segment must be that was never finished being made until it is removed.
	staleNew = time.Hour
)

// Replayed is the result of a replay.
type Replayed struct {
	Segments int // that dead processes left
	Records  int // that were handed over
	Lost     int // gaps between frames, and frames that cannot be read
}

// Replay hands over the records that dead processes left in a directory, and then removes their segments. The segments of a living process are
// not touched, not even those of the caller. Records may be handed over that the database has already: record must
// know them by their ID.
//
// A segment is removed once record took all that can be read of it. An error of record ends the replay; what is left
// waits for the next one. A segment that was written by another version of the format stays too.
func Replay(ctx context.Context, dir string, record func(context.Context, []penstock.Request) error) (total Replayed, err error) {
	names, err := filepath.Glob(filepath.Join(dir, "*"+suffix))
	if err != nil {
		return total, err
	}
	var errs []error
	for _, name := range names {
		if err := replaySegment(ctx, name, record, &total); err != nil {
			errs = append(errs, err)
			if ctx.Err() != nil {
				break
			}
		}
	}
	removeUnfinished(dir)
	return total, errors.Join(errs...)
}

// replaySegment replays a file unless a living process holds its lock.
func replaySegment(ctx context.Context, name string, record func(context.Context, []penstock.Request) error, total *Replayed) error {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil // another process replayed it
	}
	if err != nil {
		return fmt.Errorf("opening a segment of the journal: %w", err)
	}
	defer f.Close() // and with it the lock
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil // its process lives, or another process is replaying it
	}
	if !isFile(f, name) {
		return nil // it was replayed and removed just before it was locked
	}
	text, err := io.ReadAll(io.LimitReader(f, MaxBytes+MaxRecordBytes))
	if err != nil {
		return fmt.Errorf("reading a segment of the journal: %w", err)
	}
	payloads, lost := frames(text)
	found := make([]penstock.Request, 0, len(payloads))
	for _, p := range payloads {
		r, err := decode(p)
		if errors.Is(err, errVersion) {
			return fmt.Errorf("a segment of the journal, %s, is kept: %w", filepath.Base(name), err)
		}
		if err != nil {
			lost++
			continue
		}
		found = append(found, r)
	}
	for at := 0; at < len(found); at += replayGroup {
		if err := record(ctx, found[at:min(at+replayGroup, len(found))]); err != nil {
			return fmt.Errorf("recording what a segment of the journal holds: %w", err)
		}
	}
	total.Segments++
	total.Records += len(found)
	total.Lost += lost
	if err := os.Remove(name); err != nil {
		return fmt.Errorf("removing a segment of the journal: %w", err)
	}
	return nil
}

// isFile reports whether a name still leads to an open file.
func isFile(f *os.File, name string) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(name)
	return err == nil && os.SameFile(mine, there)
}

// removeUnfinished removes files of processes that died while they made a segment. Nothing was appended to them.
func removeUnfinished(dir string) {
	names, _ := filepath.Glob(filepath.Join(dir, "*.new"))
	for _, name := range names {
		if info, err := os.Stat(name); err == nil && time.Since(info.ModTime()) > staleNew {
			_ = os.Remove(name)
		}
	}
}
