package api

import (
	"context"
	"fmt"
	"io"

	"penstock"
	"penstock/internal/dialect/line"
	"penstock/internal/store"
)

// keepByModel makes a file of the requests that were received, and one for each model if they name several: a job is
// for one. They are written one after the other, so that memory does not depend on their number.
func (c *call) keepByModel(ctx context.Context, whole store.File, models []string) (files []store.File, err error) {
	kept, err := c.Files.Keep(ctx, whole)
	if err != nil {
		return nil, err // the row may be there all the same, so its blob must stay
	}
	if len(models) == 1 {
		return []store.File{kept}, nil
	}
	defer func() {
		c.forget(ctx, []store.File{kept})
		if err != nil {
			c.forget(ctx, files)
		}
	}()
	for _, model := range models {
		f, err := c.receiveLines(ctx, 2*kept.Bytes, func(out io.Writer) error { return c.copyModel(ctx, out, kept, model) })
		if err != nil {
			return files, err
		}
		if f, err = c.Files.Keep(ctx, f); err != nil {
			return files, err
		}
		files = append(files, f)
	}
	return files, nil
}

// copyModel writes those lines of a file that are for one model.
func (c *call) copyModel(ctx context.Context, out io.Writer, from store.File, model string) error {
	r, err := c.Files.Open(ctx, from.Tenant, from.ID)
	if err != nil {
		return err
	}
	for l, err := range r.Lines(ctx, 0) {
		if err != nil {
			return err
		}
		if line.ModelOf(l.Body) != model {
			continue
		}
		if _, err := fmt.Fprintf(out, `{"custom_id":%q,"body":%s}`+"\n", l.CustomID, l.Body); err != nil {
			return err
		}
	}
	return nil
}

// forget removes files that nothing reads. Should it fail, they go when files do.
func (c *call) forget(ctx context.Context, files []store.File) {
	for _, f := range files {
		_ = c.Files.Delete(context.WithoutCancel(ctx), f.Tenant, store.FileDeletion{File: f.ID, Actor: c.caller.Key})
	}
}

// deleteWithFiles deletes the jobs of a batch, and the files that their requests were written to, which are of no use
// to anybody else. The jobs go last, so that whoever is interrupted can ask again.
func (c *call) deleteWithFiles(b store.Batch) error {
	ctx, tenant := c.r.Context(), c.caller.Tenant.ID
	for _, id := range b.Jobs() {
		job, err := c.Jobs.Job(ctx, tenant, id)
		if err != nil {
			return err
		}
		err = c.Files.Delete(ctx, tenant, store.FileDeletion{File: job.File, Actor: c.caller.Key})
		if err != nil && penstock.ErrorCode(err) != penstock.CodeNotFound {
			return err
		}
	}
	return c.Deleter.DeleteJob(ctx, tenant, store.Deletion{Job: b.ID, Batch: true, Actor: c.caller.Key})
}
