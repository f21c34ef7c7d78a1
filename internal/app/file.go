package app

import (
	"time"

	"penstock"
	"penstock/internal/file"
	"penstock/internal/upload"
)

// connectFiles creates the services of files and of uploads.
func (a *app) connectFiles() (err error) {
	if a.files, err = a.newFiles(); err != nil {
		return err
	}
	a.uploads, err = upload.New(upload.Deps{Uploads: a.store.uploads, Parts: a.store.uploads, Files: a.files, Clock: time.Now})
	return err
}

// newFiles creates the file service.
func (a *app) newFiles() (*file.Service, error) {
	return file.New(file.Deps{
		Files: a.store, Blobs: a.store.Blobs, Codec: a.store.Codec, Clock: time.Now,
		Windows: func(id penstock.TenantID) penstock.Retention { return a.live.Current().RetentionOf(id) },
	})
}
