package api

import (
	"context"
	"fmt"
	"io"

	"penstock"
	"penstock/internal/dialect/line"
	"penstock/internal/store"
)

// keepByModel stores the received requests as one file, or as one file for each model if they name several: a job has
// one model. The files are written one after the other, so that memory does not depend on their number.
func (c messageBatches) keepByModel(ctx context.Context, whole store.File, models []string) (files []store.File, err error) {
	kept, err := c.Files.Keep(ctx, whole)
	if err != nil {
		return nil, err // the row may have been written, so its blob must remain
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

// copyModel copies the lines of a file that are for one model.
func (c messageBatches) copyModel(ctx context.Context, out io.Writer, from store.File, model string) error {
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

// forget removes files that nothing reads. If that fails, they expire like other files.
func (c messageBatches) forget(ctx context.Context, files []store.File) {
	for _, f := range files {
		_ = c.Files.Delete(context.WithoutCancel(ctx), f.Tenant, store.FileDeletion{File: f.ID, Actor: c.Principal.Actor()})
	}
}

// deleteWithFiles deletes the jobs of a batch and the files of its requests, which only this batch uses. It deletes the
// jobs last, so that a caller can repeat an interrupted call.
func (c messageBatches) deleteWithFiles(b store.Batch) error {
	ctx, tenant := c.R.Context(), c.Principal.Tenant.ID
	for _, id := range b.Jobs() {
		job, err := c.Jobs.Job(ctx, tenant, id)
		if err != nil {
			return err
		}
		err = c.Files.Delete(ctx, tenant, store.FileDeletion{File: job.File, Actor: c.Principal.Actor()})
		if err != nil && penstock.ErrorCode(err) != penstock.CodeNotFound {
			return err
		}
	}
	return c.Deleter.DeleteJob(ctx, tenant, store.Deletion{Job: b.ID, Batch: true, Actor: c.Principal.Actor()})
}
