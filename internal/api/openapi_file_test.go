package api

import (
	"strings"

	"penstock/internal/store"
	"penstock/internal/upload"
)

// mediaSamples are answers about files for requests, and about uploads.
func mediaSamples() []any {
	return []any{
		newFileView(sampleMedia), newAnthropicFile(sampleMedia), anthropicDeletedFile{ID: "file_1", Type: "file_deleted"},
		anthropicFilePage{Data: []anthropicFile{newAnthropicFile(store.File{ID: "01JQ0000000000000000000000", Purpose: store.PurposeBatch, CreatedAt: sampleTime})}, FirstID: text("file_1"), LastID: text("file_1")},
		newUploadView(sampleUpload), completedSample(), partView{ID: "part_1", Object: "upload.part", CreatedAt: 1, UploadID: "upload_1"},
	}
}

var (
	sampleMedia = store.File{ID: "01JQ0000000000000000000000", Purpose: store.PurposeUserData, Name: "a.pdf", Bytes: 7, MediaType: "application/pdf", SHA256: strings.Repeat("ab", 32),
		CreatedAt: sampleTime, ExpiresAt: sampleTime}
	sampleUpload = upload.Upload{ID: "01JQ0000000000000000000000", Name: "a.pdf", Purpose: store.PurposeUserData, Bytes: 7, Status: upload.Pending, CreatedAt: sampleTime, ExpiresAt: sampleTime}
)

func completedSample() uploadView {
	v := newUploadView(sampleUpload)
	v.Status, v.File = string(upload.Completed), new(newFileView(sampleMedia))
	return v
}
