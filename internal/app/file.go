package app

import (
	"time"

	"penstock"
	"penstock/internal/file"
)

// newFiles creates the file service.
func (a *app) newFiles() (*file.Service, error) {
	return file.New(file.Deps{
		Files: a.store, Blobs: a.store.blobs, Codec: a.store.codec, Clock: time.Now,
		Windows: func(id penstock.TenantID) penstock.Retention { return a.live.Current().RetentionOf(id) },
	})
}
