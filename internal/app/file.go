package app

import (
	"fmt"
	"time"

	"penstock"
	"penstock/internal/file"
	"penstock/internal/sign"
)

// newFiles makes what keeps files, and what signs links to them.
func (a *app) newFiles() (*file.Keeper, *sign.Signer, error) {
	files, err := file.New(file.Deps{
		Files: a.store, Blobs: a.store.blobs, Codec: a.store.codec, Clock: time.Now,
		Windows: func(id penstock.TenantID) penstock.Retention { return a.live.Current().RetentionOf(id) },
	})
	if err != nil {
		return nil, nil, err
	}
	links, err := sign.New(a.store.keys)
	if err != nil {
		return nil, nil, fmt.Errorf("preparing links: %w", err)
	}
	return files, links, nil
}
