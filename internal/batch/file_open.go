package batch

import (
	"context"
	"time"

	"penstock"
	"penstock/internal/file"
	"penstock/internal/store"
)

const (
	// maxOpenFiles bounds the files that a splitter keeps open: each one holds its index and one chunk in memory.
	maxOpenFiles = splitJobs
	// maxIdleFile is how long a file that no step reads stays open.
	maxIdleFile = time.Minute
)

// openFiles keeps the files of jobs open between their steps, so that a step reads neither the file's row nor its index
// again. It holds no position: every step says where it begins, so a step that was not committed is read again.
// Only one goroutine may use it.
type openFiles struct {
	files Files
	clock func() time.Time
	open  map[penstock.ID]*openFile // by job
}

type openFile struct {
	*file.Reader
	usedAt time.Time
}

// reader returns the file of a job. Codes: not_found.
func (o *openFiles) reader(ctx context.Context, u store.Unsplit) (*file.Reader, error) {
	now := o.clock()
	if kept := o.open[u.Job.ID]; kept != nil {
		kept.usedAt = now
		return kept.Reader, nil
	}
	r, err := o.files.Reopen(ctx, u.Job.Tenant, u.Job.File)
	if err != nil {
		return nil, err
	}
	o.closeIdle(now)
	if o.open == nil {
		o.open = make(map[penstock.ID]*openFile)
	}
	o.open[u.Job.ID] = &openFile{r, now}
	return r, nil
}

// closeIdle makes space for one more file: it closes the files that no step read for long and, at the bound, the file
// that was read longest ago.
func (o *openFiles) closeIdle(now time.Time) {
	var oldest penstock.ID
	for job, f := range o.open {
		switch {
		case now.Sub(f.usedAt) >= maxIdleFile:
			o.close(job)
		case oldest == "" || f.usedAt.Before(o.open[oldest].usedAt):
			oldest = job
		}
	}
	if len(o.open) >= maxOpenFiles {
		o.close(oldest)
	}
}

// close forgets the file of a job.
func (o *openFiles) close(job penstock.ID) { delete(o.open, job) }
