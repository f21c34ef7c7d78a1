package api

import (
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"time"

	"penstock"
	"penstock/internal/rest"
	"penstock/internal/store"
	"penstock/internal/upload"
)

var uploadParam = rest.Param{Name: "id", In: "path", About: "The upload's id, upload_….", Required: true}

// uploadRoutes upload files in parts.
var uploadRoutes = []rest.Route{
	{Method: "POST", Path: "/v1/uploads", Audit: auditFile, Scope: penstock.ScopeJobsWrite, Summary: "Begin to upload a file in parts",
		Body: uploadCreate{}, Example: uploadCreate{Bytes: 52_428_800, Filename: "handbook.pdf", MimeType: "application/pdf", Purpose: "user_data"},
		Answers: []rest.Answer{{Status: 200, About: "The upload. It can be completed for an hour.", Body: uploadView{}}}, Serve: on(fileUploads.createUpload)},
	{Method: "POST", Path: "/v1/uploads/{id}/parts", Audit: auditFile, Scope: penstock.ScopeJobsWrite, Summary: "Add a part to an upload",
		Params: []rest.Param{uploadParam}, Body: uploadPart{}, Form: true,
		Answers: []rest.Answer{{Status: 200, About: "The part is on stable storage. Parts may be sent in any order, and at the same time.", Body: partView{}}}, Serve: on(fileUploads.addPart)},
	{Method: "POST", Path: "/v1/uploads/{id}/complete", Audit: auditFile, Scope: penstock.ScopeJobsWrite, Summary: "Make a file of the parts of an upload",
		Params: []rest.Param{uploadParam}, Body: uploadComplete{}, Example: uploadComplete{PartIDs: []string{"part_01JQ0000000000000000000000", "part_01JQ0000000000000000000001"}},
		Answers: []rest.Answer{{Status: 200, About: "The upload is completed, and has its file. A repeated call gets the same answer.", Body: uploadView{}}}, Serve: on(fileUploads.completeUpload)},
	{Method: "POST", Path: "/v1/uploads/{id}/cancel", Audit: auditFile, Scope: penstock.ScopeJobsWrite, Summary: "Cancel an upload",
		Params:  []rest.Param{uploadParam},
		Answers: []rest.Answer{{Status: 200, About: "The upload is cancelled, and its parts are removed.", Body: uploadView{}}}, Serve: on(fileUploads.cancelUpload)},
}

// uploadCreate is the request for an upload, in OpenAI's shape.
type uploadCreate struct {
	Bytes        int64        `json:"bytes" required:"true" about:"The size of the file."`
	Filename     string       `json:"filename" required:"true"`
	MimeType     string       `json:"mime_type,omitzero" about:"The type of the file. The type of the content counts, whatever is given here."`
	Purpose      string       `json:"purpose" required:"true" about:"batch, user_data or vision."`
	ExpiresAfter *fileExpires `json:"expires_after,omitzero" about:"How long the file is kept; never longer than files are kept here."`
}

// fileExpires says when a file expires, in OpenAI's shape.
type fileExpires struct {
	Anchor  string `json:"anchor" required:"true" about:"created_at."`
	Seconds int64  `json:"seconds" required:"true" about:"From 3600 to 2592000."`
}

// uploadPart is the form of a part, for the OpenAPI document: a form is read as a stream.
type uploadPart struct {
	Data string `json:"data" required:"true" about:"The content of the part, at most 64 MiB."`
}

// uploadComplete is the request to complete an upload, in OpenAI's shape.
type uploadComplete struct {
	PartIDs []string `json:"part_ids" required:"true" about:"The parts in the order of the file. Parts that are not listed are left out."`
	MD5     string   `json:"md5,omitzero" about:"The MD5 checksum of the file, in hex. The upload is not completed if it differs."`
}

// uploadView is an upload, in OpenAI's shape.
type uploadView struct {
	ID        string        `json:"id"`
	Object    string        `json:"object"`
	Bytes     int64         `json:"bytes" about:"The size of the file."`
	CreatedAt int64         `json:"created_at" about:"Seconds since 1970."`
	Filename  string        `json:"filename"`
	Purpose   store.Purpose `json:"purpose"`
	Status    upload.Status `json:"status"`
	ExpiresAt int64         `json:"expires_at" about:"Seconds since 1970; the upload cannot be completed from then on."`
	File      *fileView     `json:"file" about:"The file of a completed upload; null before."`
}

// partView is a part of an upload, in OpenAI's shape.
type partView struct {
	ID        string `json:"id"`
	Object    string `json:"object"`
	CreatedAt int64  `json:"created_at" about:"Seconds since 1970."`
	UploadID  string `json:"upload_id"`
}

func newUploadView(u upload.Upload) uploadView {
	return uploadView{
		ID: upload.View.Format(u.ID), Object: "upload", Bytes: u.Bytes, CreatedAt: u.CreatedAt.Unix(), Filename: u.Name, Purpose: u.Purpose, Status: u.Status, ExpiresAt: u.ExpiresAt.Unix(),
	}
}

func (c fileUploads) createUpload() error {
	var in uploadCreate
	if err := conversations(c).decodeBody(&in); err != nil {
		return err
	}
	if err := checkPurpose(in.Purpose); err != nil {
		return err
	}
	if in.Filename == "" {
		return penstock.InvalidParam("filename", "filename is missing; it is the name of the file.")
	}
	u := upload.Upload{Tenant: c.Principal.Tenant.ID, Key: c.Principal.Key, Name: filename(in.Filename), Purpose: store.Purpose(in.Purpose), Bytes: in.Bytes}
	if e := in.ExpiresAfter; e != nil {
		if e.Anchor != "created_at" {
			return penstock.InvalidParam("expires_after.anchor", "expires_after.anchor must be created_at.")
		}
		if err := checkFileLife(e.Seconds); err != nil {
			return err
		}
		u.FileLife = time.Duration(e.Seconds) * time.Second
	}
	if err := c.RefusingUploads(c.R.Context()); err != nil {
		return err
	}
	sum, err := c.Storage.Stored(c.R.Context(), u.Tenant)
	if err == nil {
		err = sum.Refusal(u.Tenant, c.Principal.Tenant.StoredBytes, u.Bytes)
	}
	if err != nil {
		return err
	}
	created, err := c.Uploads.Create(c.R.Context(), u, c.fileLimits(c.Config.Current().Process.Limits.MaxFileBytes))
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, newUploadView(created))
}

// addPart streams a part into the store. The part exists when the call answers, and not before.
func (c fileUploads) addPart() error {
	id, err := c.PathID(upload.View)
	if err != nil {
		return err
	}
	u, err := c.Uploads.Upload(c.R.Context(), c.Principal.Tenant.ID, id)
	if err != nil {
		return err
	}
	ctx, leave, err := files(c).receiving()
	if err != nil {
		return err
	}
	defer leave()
	c.R.Body = c.uploadBody(c.R.Body)
	data, err := c.partData()
	if err != nil {
		return err
	}
	p, err := c.Uploads.Add(ctx, u, &watchedUpload{call: c.call, content: data}, c.Principal.Tenant.StoredBytes)
	if errors.Is(err, io.ErrUnexpectedEOF) || ctx.Err() != nil {
		return unreadable(err)
	}
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, partView{
		ID: upload.ViewPart.Format(p.Content.ID), Object: "upload.part", CreatedAt: p.CreatedAt.Unix(), UploadID: upload.View.Format(u.ID),
	})
}

// partData is the content of the form's field data. A form has only this field.
func (c fileUploads) partData() (*multipart.Part, error) {
	form, err := c.R.MultipartReader()
	if err != nil {
		return nil, penstock.Errorf(penstock.CodeInvalidRequest, "Send a form (multipart/form-data) with the field data.")
	}
	part, err := form.NextRawPart()
	if errors.Is(err, io.EOF) {
		return nil, penstock.InvalidParam("data", "data is missing; add a form field named data with the content of the part.")
	}
	if err != nil {
		return nil, unreadable(err)
	}
	if name := part.FormName(); name != "data" {
		return nil, penstock.InvalidParam(rest.Clip(name), "%q is not a field of this form; it has the field data.", rest.Clip(name))
	}
	return part, nil
}

func (c fileUploads) completeUpload() error {
	id, err := c.PathID(upload.View)
	if err != nil {
		return err
	}
	var in uploadComplete
	if err := conversations(c).decodeBody(&in); err != nil {
		return err
	}
	done := upload.Completion{Upload: id, MD5: in.MD5, Limits: c.fileLimits(c.Config.Current().Process.Limits.MaxFileBytes)}
	for i, name := range in.PartIDs {
		part, err := upload.ViewPart.Parse(name)
		if err != nil {
			param := fmt.Sprintf("part_ids[%d]", i)
			return penstock.InvalidParam(param, "%s: %v.", param, err)
		}
		done.Parts = append(done.Parts, part)
	}
	ctx, leave, err := files(c).receiving() // it takes as much memory as an upload
	if err != nil {
		return err
	}
	defer leave()
	u, f, err := c.Uploads.Complete(ctx, c.Principal.Tenant.ID, done)
	if err != nil {
		return err
	}
	v := newUploadView(u)
	v.File = new(newFileView(f))
	return c.JSON(http.StatusOK, v)
}

func (c fileUploads) cancelUpload() error {
	id, err := c.PathID(upload.View)
	if err != nil {
		return err
	}
	u, err := c.Uploads.Cancel(c.R.Context(), c.Principal.Tenant.ID, id)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, newUploadView(u))
}
