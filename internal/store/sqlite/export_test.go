package sqlite

import (
	"context"
	"strconv"
)

// LimitPages bounds the file as a full disk would: a write that needs more pages gets SQLITE_FULL. A bound
// below the file's size is its size; 0 takes the bound away.
func (e *Engine) LimitPages(most int64) error {
	if most == 0 {
		most = 1 << 30
	}
	e.writer.turn <- struct{}{} // no other caller may be using the connection
	defer func() { <-e.writer.turn }()
	return e.writer.db.execOnce(context.Background(), "PRAGMA max_page_count = "+strconv.FormatInt(most, 10))
}
