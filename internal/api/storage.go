package api

import (
	"io"
	"net/http"

	"penstock"
	"penstock/internal/rest"
)

// storageRoutes report the stored bytes.
var storageRoutes = []rest.Route{
	{Method: "GET", Path: "/v1/storage", Scope: penstock.ScopeJobsRead, Summary: "Report the stored bytes and the quota",
		Answers: []rest.Answer{{Status: 200, About: "The bytes that the tenant has stored, before compression, and its quota.", Body: storageView{}}}, Serve: on(reports.readStorage)},
}

// storageView is the storage of a tenant.
type storageView struct {
	Object     string `json:"object"`
	UsedBytes  int64  `json:"used_bytes" about:"job_bytes and file_bytes together."`
	JobBytes   int64  `json:"job_bytes" about:"Inputs and results of jobs, stored responses and batches included, until their job is deleted."`
	FileBytes  int64  `json:"file_bytes" about:"Files, including those that batches write."`
	LimitBytes *int64 `json:"limit_bytes" about:"The tenant's quota, stored_bytes: above it, uploads and submits are refused. null for no quota."`
}

func (c reports) readStorage() error {
	sum, err := c.Storage.Stored(c.R.Context(), c.Principal.Tenant.ID)
	if err != nil {
		return err
	}
	v := storageView{Object: "storage", UsedBytes: sum.Bytes(), JobBytes: sum.JobBytes, FileBytes: sum.FileBytes}
	if limit := c.Principal.Tenant.StoredBytes; limit > 0 {
		v.LimitBytes = &limit
	}
	return c.JSON(http.StatusOK, v)
}

// uploadStep is the number of bytes after which an upload checks again whether there is storage for it.
const uploadStep = 16 << 20

// watchedUpload is the content of a file while it is received.
type watchedUpload struct {
	*call
	content io.Reader
	got     int64 // since the last check
}

func (u *watchedUpload) Read(p []byte) (int, error) {
	if u.got >= uploadStep {
		if err := u.RefusingUploads(u.R.Context()); err != nil {
			return 0, err
		}
		u.got = 0
	}
	n, err := u.content.Read(p)
	u.got += int64(n)
	return n, err
}
