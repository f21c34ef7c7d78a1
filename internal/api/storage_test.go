package api

import (
	"context"
	"io"
	"net/http/httptest"
	"testing"

	"penstock"
	"penstock/internal/rest"
)

// zeros is content without an end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// An upload checks the storage again while it is received: it ends one step after the storage is used up, with the reason.
func TestUploadEndsWhenStorageIsUsedUp(t *testing.T) {
	t.Parallel()
	asked := 0
	full := penstock.Errorf(penstock.CodeOverloaded, "The server is short of disk space for uploads.")
	s := &Server{Deps: Deps{RefusingUploads: func(context.Context) error {
		if asked++; asked > 2 {
			return full
		}
		return nil
	}}}
	u := &watchedUpload{call: &call{Server: s, Call: rest.Call{R: httptest.NewRequest("POST", "/v1/files", nil)}}, content: zeros{}}
	n, err := io.Copy(io.Discard, u)
	if err != full || n < 3*uploadStep || n > 3*uploadStep+1<<20 {
		t.Errorf("it took %d bytes, and ended with %v; want three steps of %d", n, err, int64(uploadStep))
	}
}
