package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	driver "modernc.org/sqlite"
)

const (
	// checkpointPages is after how many pages the log is copied into the file.
	checkpointPages = 4000
	// checkpointRest is how many pages may be left for the last pass, during which no write runs.
	checkpointRest = 128
	// checkpointPasses bounds the passes before the last one: a log that grows as fast as it is copied must be copied all the same.
	checkpointPasses = 4
	// ownCheckpoint is the length of the log at which the writing connection copies it by itself, after a commit: the checkpointer
	// did not keep up, or readers kept the log from starting anew.
	ownCheckpoint = 4 * checkpointPages
)

// checkpointer copies the write-ahead log into the database file while writes go on. The writing connection would do the same after
// one of its commits, and all writes would wait for it.
//
// The log starts anew when all of it is copied and no reader needs it. Writes that go on make it longer meanwhile, so the last and
// smallest part is copied while no write runs.
type checkpointer struct {
	db     *sql.Conn
	writer *writer
	due    chan struct{} // has a value if the log is long enough
	done   chan struct{} // closed when the goroutine has ended
}

func startCheckpointer(conn *sql.Conn, w *writer) *checkpointer {
	c := &checkpointer{db: conn, writer: w, due: w.checkpointDue, done: make(chan struct{})}
	go c.run()
	return c
}

func (c *checkpointer) run() {
	defer close(c.done)
	for {
		select {
		case <-c.due:
			// A failure is no failure of a write: the log only stays as it is, and the writing connection tries next.
			_ = c.checkpoint()
		case <-c.writer.closed:
			return
		}
	}
}

// checkpoint copies the log, most of it while writes run.
func (c *checkpointer) checkpoint() error {
	for range checkpointPasses {
		left, err := c.pass()
		if err != nil {
			return err
		}
		if left <= checkpointRest {
			break
		}
	}
	if !c.writer.pause() {
		return nil
	}
	defer c.writer.resume()
	_, err := c.pass()
	return err
}

// pass copies the pages that the log has now. It returns how many pages of the log are not copied yet.
func (c *checkpointer) pass() (left int, err error) {
	var busy, log, copied int
	if err := c.db.QueryRowContext(context.Background(), `PRAGMA wal_checkpoint(PASSIVE)`).Scan(&busy, &log, &copied); err != nil {
		return 0, fmt.Errorf("copying the log: %w", err)
	}
	return log - copied, nil
}

// close waits for the goroutine. The writer must be closed.
func (c *checkpointer) close() error {
	<-c.done
	return c.db.Close()
}

// pause waits until no write runs and keeps others from running until resume. It reports false when the writer is closed.
func (w *writer) pause() bool {
	select {
	case w.turn <- struct{}{}:
		return true
	case <-w.closed:
		return false
	}
}

func (w *writer) resume() { <-w.turn }

// countPages notifies the checkpointer when the log is long enough.
func (w *writer) countPages() {
	written := 0
	err := w.db.conn.Raw(func(conn any) (err error) {
		written, _, err = conn.(driver.DBStatus).Status(driver.DBStatusCacheWrite, true)
		return err
	})
	if err != nil {
		return // the connection is broken, and the next write reports it
	}
	if w.pages += written; w.pages < checkpointPages {
		return
	}
	w.pages = 0
	select {
	case w.checkpointDue <- struct{}{}:
	default:
	}
}
