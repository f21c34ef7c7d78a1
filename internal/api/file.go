package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"

	"penstock"
	"penstock/internal/file"
	"penstock/internal/rest"
	"penstock/internal/sign"
	"penstock/internal/store"
)

// Bounds of an upload.
const (
	// stallTimeout is how long an upload may send nothing.
	stallTimeout = time.Minute
	// UploadTimeout is how long an upload may take in total.
	UploadTimeout = time.Hour
	// maxUploads and maxTenantUploads are how many may be under way at a time in this process, in all and for a
	// tenant. Each holds some MiB, and eight bytes and more for each line.
	maxUploads, maxTenantUploads = 32, 4
	maxFormFields                = 8
	maxFieldBytes                = 1 << 10
	maxFilenameBytes             = 255
)

// The bounds of expires_after, which are OpenAI's.
const minFileLife, maxFileLife = time.Hour, 720 * time.Hour

// fileView is a file, in OpenAI's shape. The fields after status_details are Penstock's.
type fileView struct {
	ID            string         `json:"id"`
	Object        string         `json:"object"`
	Bytes         int64          `json:"bytes"`
	CreatedAt     int64          `json:"created_at" about:"Seconds since 1970."`
	ExpiresAt     int64          `json:"expires_at" about:"Seconds since 1970; the file is deleted then."`
	Filename      string         `json:"filename"`
	Purpose       store.Purpose  `json:"purpose"`
	Status        string         `json:"status" about:"processed, or error when lines are invalid."`
	StatusDetails *string        `json:"status_details" about:"The error of the first invalid line."`
	Lines         int            `json:"lines"`
	ErrorCount    int            `json:"error_count" about:"The number of invalid lines. Of lines that share a custom_id, the first 100 are counted."`
	Errors        *lineErrorList `json:"errors" about:"The first 100 invalid lines; null in lists."`
	MediaType     string         `json:"media_type,omitzero" about:"Of a file that requests name: the type of its content, such as application/pdf."`
	SHA256        string         `json:"sha256,omitzero" about:"Of a file that requests name: the hash of its content, in hex."`
}

type lineErrorList struct {
	Object string          `json:"object"`
	Data   []lineErrorView `json:"data"`
}

// lineErrorView has the shape of an error of OpenAI's batches.
type lineErrorView struct {
	Code    string  `json:"code"`
	Message string  `json:"message"`
	Param   *string `json:"param"`
	Line    int     `json:"line" about:"From 1."`
}

// filePageView is a page of files, in OpenAI's shape.
type filePageView struct {
	Object  string     `json:"object"`
	Data    []fileView `json:"data"`
	FirstID *string    `json:"first_id"`
	LastID  *string    `json:"last_id"`
	HasMore bool       `json:"has_more"`
}

// fileUpload is the form of an upload, for the OpenAPI document: a form is read as a stream.
type fileUpload struct {
	File    string `json:"file" required:"true" about:"The content. For the purpose batch: one request per line, {custom_id, body} or OpenAI's {custom_id, method, url, body}. For user_data: a PDF, an image (PNG, JPEG, WebP, GIF) or a text in UTF-8. For vision: an image."`
	Purpose string `json:"purpose" required:"true" about:"batch, user_data or vision. Left out in Anthropic's dialect, where it is user_data."`
	Anchor  string `json:"expires_after[anchor],omitzero" about:"created_at."`
	Seconds int    `json:"expires_after[seconds],omitzero" about:"How long the file is kept, from 3600 to 2592000; never longer than files are kept here."`
}

// linkCreate is the request for a link.
type linkCreate struct {
	ExpiresIn rest.Seconds `json:"expires_in,omitzero" about:"How long the link is valid, from 1m to 168h; 1h when not given."`
}

// linkView is a link that lets everyone who has it download one object.
type linkView struct {
	Object    string `json:"object"`
	URL       string `json:"url"`
	ExpiresAt int64  `json:"expires_at" about:"Seconds since 1970; 410 from then on."`
}

func newFileView(f store.File) fileView {
	v := fileView{
		ID: penstock.ViewFile.Format(f.ID), Object: "file", Bytes: f.Bytes, CreatedAt: f.CreatedAt.Unix(), ExpiresAt: f.ExpiresAt.Unix(),
		Filename: f.Name, Purpose: f.Purpose, Status: "processed", Lines: f.Lines, ErrorCount: f.ErrorCount,
		MediaType: f.MediaType, SHA256: f.SHA256,
	}
	if f.ErrorCount > 0 {
		v.Status = "error"
	}
	if len(f.Errors) > 0 {
		v.StatusDetails = text(fmt.Sprintf("Line %d: %s", f.Errors[0].Line, f.Errors[0].Message))
		v.Errors = &lineErrorList{Object: "list"}
		for _, e := range f.Errors {
			v.Errors.Data = append(v.Errors.Data, lineErrorView{Code: e.Code, Message: e.Message, Param: text(e.Param), Line: e.Line})
		}
	}
	return v
}

// createFile streams an upload into the store. The file exists when the call answers, and not before.
func (c files) createFile() error {
	ctx, leave, err := c.receiving()
	if err != nil {
		return err
	}
	defer leave()
	c.R.Body = c.uploadBody(c.R.Body)
	form, err := c.R.MultipartReader()
	if err != nil {
		return penstock.Errorf(penstock.CodeInvalidRequest, "Send a form (multipart/form-data) with the fields file and purpose.")
	}
	u := fileForm{files: c}
	if err := u.read(ctx, form); err != nil {
		c.Files.Discard(ctx, u.file)
		return err
	}
	kept, err := c.keepFile(ctx, u.file)
	if err != nil {
		return err
	}
	return c.file(kept)
}

// keepFile makes received content a file.
func (c files) keepFile(ctx context.Context, f store.File) (store.File, error) {
	kept, err := c.Files.Keep(ctx, f)
	if penstock.ErrorCode(err) == penstock.CodeQuotaExceeded {
		c.Files.Discard(ctx, f)
	}
	// After another error the row may have been written, so its blob must remain: if it was not, the sweep removes the blob.
	return kept, err
}

// file answers with a file.
func (c files) file(f store.File) error {
	if c.anthropic() {
		return c.JSON(http.StatusOK, newAnthropicFile(f))
	}
	return c.JSON(http.StatusOK, newFileView(f))
}

// receiving admits an upload if there is storage for it and not too many uploads are under way, until leave is called, and
// bounds its time. Codes: overloaded, rate_limited.
func (c files) receiving() (ctx context.Context, leave func(), err error) {
	if err := c.RefusingUploads(c.R.Context()); err != nil {
		return nil, nil, err
	}
	place, err := c.uploads.admit(c.Principal.Tenant.ID)
	if err != nil {
		return nil, nil, err
	}
	c.endWithKey()
	ctx, cancel := context.WithTimeout(c.R.Context(), UploadTimeout)
	return ctx, func() { cancel(); place() }, nil
}

// uploadBody gives an upload as much time as it needs, as long as it does not stall.
func (c *call) uploadBody(body io.ReadCloser) io.ReadCloser {
	conn := http.NewResponseController(c.W)
	stop := context.AfterFunc(c.R.Context(), func() { _ = conn.SetReadDeadline(time.Now()) }) // the caller's key ended
	c.atEnd(func() { stop() })
	return struct {
		io.Reader
		io.Closer
	}{readerFunc(func(p []byte) (int, error) {
		_ = conn.SetReadDeadline(time.Now().Add(stallTimeout)) // a connection without deadlines cannot stall
		n, err := body.Read(p)
		if err != nil {
			_ = conn.SetReadDeadline(time.Time{})
		}
		if err != nil && !errors.Is(err, io.EOF) {
			err = unreadable(err)
		}
		return n, err
	}), body}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// fileForm is a form being read. Its fields may be in any order; SDKs send the file first.
type fileForm struct {
	files
	received *file.Received // nil until the content was read
	file     store.File
	fields   map[string]string
}

func (u *fileForm) read(ctx context.Context, form *multipart.Reader) error {
	u.fields = map[string]string{}
	if u.anthropic() { // where files have no purpose
		u.fields["purpose"] = string(store.PurposeUserData)
	}
	for range maxFormFields {
		part, err := form.NextRawPart()
		if errors.Is(err, io.EOF) {
			return u.check(ctx)
		}
		if err != nil {
			return unreadable(err)
		}
		if err := u.part(ctx, part); err != nil {
			return err
		}
	}
	return penstock.Errorf(penstock.CodeInvalidRequest, "The form has more than %d fields.", maxFormFields)
}

func (u *fileForm) part(ctx context.Context, part *multipart.Part) error {
	name := part.FormName()
	switch {
	case name == "file" && u.received == nil:
		received, err := u.take(ctx, file.Arrival{Purpose: store.Purpose(u.fields["purpose"]), Content: part}, u.Config.Current().Process.Limits.MaxFileBytes)
		if errors.Is(err, io.ErrUnexpectedEOF) || ctx.Err() != nil {
			return unreadable(err)
		}
		if err != nil {
			return err
		}
		received.File.Name = filename(part.FileName())
		u.received, u.file = received, received.File
		return nil
	case name == "purpose" || name == "expires_after[anchor]" || name == "expires_after[seconds]":
		if _, twice := u.fields[name]; twice {
			break
		}
		text, err := io.ReadAll(io.LimitReader(part, maxFieldBytes+1))
		if err != nil {
			return unreadable(err)
		}
		if len(text) > maxFieldBytes {
			return penstock.InvalidParam(name, "%s is longer than %d bytes.", name, maxFieldBytes)
		}
		u.fields[name] = string(text)
		return u.checkField(name)
	case name != "file":
		return penstock.InvalidParam(rest.Clip(name), "%q is not a field of this form.", rest.Clip(name))
	}
	return penstock.InvalidParam(name, "%s is given twice.", name)
}

// receiveFile writes the requests of a batch to a file that is not listed yet. Codes: those of take, invalid_request.
func (c files) receiveFile(ctx context.Context, content io.Reader, most int64) (store.File, error) {
	r, err := c.take(ctx, file.Arrival{Purpose: store.PurposeBatch, Content: content}, most)
	if err != nil {
		return store.File{}, err
	}
	return r.For(ctx, store.PurposeBatch)
}

// take stores content that is not a file yet, within the tenant's quota and the disk space. Codes: too_large, quota_exceeded,
// overloaded.
func (c files) take(ctx context.Context, a file.Arrival, most int64) (*file.Received, error) {
	tenant, limits := c.Principal.Tenant, c.Config.Current().Process.Limits
	if a.Purpose.InRequests() {
		most = min(most, file.MaxMediaBytes(limits.MaxBodyBytes))
	}
	sum, bound := store.Stored{}, most
	if tenant.StoredBytes > 0 {
		var err error
		if sum, err = c.Storage.Stored(ctx, tenant.ID); err != nil {
			return nil, err
		}
		if err := sum.Refusal(tenant.ID, tenant.StoredBytes, 0); err != nil {
			return nil, err
		}
		bound = min(most, tenant.StoredBytes-sum.Bytes())
	}
	a.Tenant, a.Content = tenant.ID, &watchedUpload{call: c.call, content: a.Content}
	r, err := c.Files.Take(ctx, a, c.fileLimits(bound))
	if bound < most && penstock.ErrorCode(err) == penstock.CodeTooLarge {
		return nil, sum.Refusal(tenant.ID, tenant.StoredBytes, bound+1)
	}
	if err != nil {
		return nil, err
	}
	r.File.StoredLimit, r.File.Key = tenant.StoredBytes, c.Principal.Key
	return r, nil
}

// fileLimits are the bounds of a file of so many bytes at the most.
func (c *call) fileLimits(most int64) file.Limits {
	l := c.Config.Current().Process.Limits
	return file.Limits{MaxBytes: most, MaxMediaBytes: file.MaxMediaBytes(l.MaxBodyBytes), MaxLineBytes: l.MaxBodyBytes, MaxJSONDepth: l.MaxJSONDepth}
}

// filename is the caller's name of the file, without a path.
func filename(given string) string {
	name := path.Base(strings.ReplaceAll(given, `\`, "/"))
	if name == "." || name == "/" {
		return "file"
	}
	return strings.ToValidUTF8(name[:min(len(name), maxFilenameBytes)], "")
}

// unreadable describes an error in reading a form; Penstock's own errors are returned unchanged.
func unreadable(err error) error {
	if _, ours := errors.AsType[*penstock.Error](err); ours {
		return err
	}
	message := "The form could not be read to its end."
	if errors.Is(err, context.DeadlineExceeded) {
		message = "The upload took longer than an hour; split the file."
	}
	return &penstock.Error{Code: penstock.CodeInvalidRequest, Message: message, Err: err}
}

// checkField refuses a field as soon as it was read: a large file may follow.
func (u *fileForm) checkField(name string) error {
	value := u.fields[name]
	switch name {
	case "purpose":
		return checkPurpose(value)
	case "expires_after[anchor]":
		if value != "created_at" {
			return penstock.InvalidParam("expires_after.anchor", "expires_after.anchor must be created_at.")
		}
	case "expires_after[seconds]":
		n, err := strconv.ParseInt(value, 10, 32)
		if err != nil {
			n = 0
		}
		return checkFileLife(n)
	}
	return nil
}

// checkFileLife checks for how many seconds a file is to be kept.
func checkFileLife(seconds int64) error {
	if least, most := int64(minFileLife.Seconds()), int64(maxFileLife.Seconds()); seconds < least || seconds > most {
		return penstock.InvalidParam("expires_after.seconds", "expires_after.seconds must be from %d to %d.", least, most)
	}
	return nil
}

// checkPurpose refuses a purpose that Penstock does not have.
func checkPurpose(value string) error {
	if p := store.Purpose(value); p != store.PurposeBatch && !p.InRequests() {
		return penstock.InvalidParam("purpose", "purpose must be %s, %s or %s, not %q.", store.PurposeBatch, store.PurposeUserData, store.PurposeVision, rest.Clip(value))
	}
	return nil
}

// check applies the fields of the form to the file, after all of it was read.
func (u *fileForm) check(ctx context.Context) (err error) {
	if u.received == nil {
		return penstock.InvalidParam("file", "file is missing; add a form field named file with the content.")
	}
	if u.fields["purpose"] == "" {
		return penstock.InvalidParam("purpose", "purpose is missing; it must be %s, %s or %s.", store.PurposeBatch, store.PurposeUserData, store.PurposeVision)
	}
	anchor, seconds := u.fields["expires_after[anchor]"], u.fields["expires_after[seconds]"]
	if (anchor == "") != (seconds == "") {
		return penstock.InvalidParam("expires_after", "expires_after needs both anchor and seconds.")
	}
	if seconds != "" {
		n, _ := strconv.ParseInt(seconds, 10, 32) // checkField has read it
		u.received.File.Life = time.Duration(n) * time.Second
	}
	u.file, err = u.received.For(ctx, store.Purpose(u.fields["purpose"]))
	return err
}

func (c files) listFiles() error {
	if c.anthropic() {
		return c.listAnthropicFiles()
	}
	const most = 10_000 // as in OpenAI's API, where it is also the default
	limit, err := c.PageLimit(rest.PageSize{Most: most, Usual: most})
	if err != nil {
		return err
	}
	q := c.R.URL.Query()
	for _, name := range []string{"after_id", "before_id"} { // ignored, they would give the first page again and again
		if q.Has(name) {
			return penstock.InvalidParam(name, "Unknown query parameter %q; the parameters are after, limit, order, purpose.", name)
		}
	}
	p := store.FilePage{Purpose: store.Purpose(q.Get("purpose")), Direction: store.Direction(q.Get("order")), Limit: limit}
	if p.Direction != "" && p.Direction != store.Ascending && p.Direction != store.Descending {
		return penstock.InvalidParam("order", "order must be asc or desc.")
	}
	if after := q.Get("after"); after != "" {
		if p.After, err = penstock.ViewFile.Parse(after); err != nil {
			return penstock.InvalidParam("after", "%v.", err)
		}
	}
	files, more, err := c.Files.List(c.R.Context(), c.Principal.Tenant.ID, p)
	if err != nil {
		return err
	}
	v := filePageView{Object: "list", Data: make([]fileView, len(files)), HasMore: more}
	for i, f := range files {
		v.Data[i] = newFileView(f)
	}
	if len(files) > 0 {
		v.FirstID, v.LastID = &v.Data[0].ID, &v.Data[len(files)-1].ID
	}
	return c.JSON(http.StatusOK, v)
}

func (c files) readFile() error {
	id, err := c.PathID(penstock.ViewFile)
	if err != nil {
		return err
	}
	f, err := c.Files.File(c.R.Context(), c.Principal.Tenant.ID, id)
	if err != nil {
		return err
	}
	return c.file(f)
}

func (c files) deleteFile() error {
	id, err := c.PathID(penstock.ViewFile)
	if err != nil {
		return err
	}
	if err := c.Files.Delete(c.R.Context(), c.Principal.Tenant.ID, store.FileDeletion{File: id, Actor: c.Principal.Actor()}); err != nil {
		return err
	}
	if c.anthropic() {
		return c.JSON(http.StatusOK, anthropicDeletedFile{ID: penstock.ViewFile.Format(id), Type: "file_deleted"})
	}
	return c.JSON(http.StatusOK, deletedView{ID: penstock.ViewFile.Format(id), Object: "file", Deleted: true})
}

func (c files) fileContent() error {
	id, err := c.PathID(penstock.ViewFile)
	if err != nil {
		return err
	}
	return c.sendFile(c.Principal.Tenant.ID, id)
}

// sendFile answers with the bytes of a file, or with the requested range.
func (c files) sendFile(tenant penstock.TenantID, id penstock.ID) error {
	if err := c.stayOpen(openDownload); err != nil {
		return err
	}
	r, err := c.Files.Open(c.R.Context(), tenant, id)
	if err == nil {
		err = downloadable(r.File)
	}
	if err != nil {
		return err
	}
	h := c.W.Header()
	h.Set("Content-Type", rest.TypeBytes)
	// The content comes from a caller: a browser must not show it as a page of this server.
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": r.File.Name}))
	h.Set("ETag", `"`+penstock.ViewFile.Format(id)+`"`)
	content := &watched{ReadSeeker: r.Seekable(c.R.Context())}
	http.ServeContent(c.W, c.R, "", r.File.CreatedAt, content)
	// A part may have been sent: the length was sent before, so the caller sees that the rest is missing.
	return content.err
}

// downloadable refuses to send a file that a caller uploaded for requests, as OpenAI and Anthropic do: such a file is for models. So a key
// that may read jobs cannot read the documents of their users. Codes: invalid_request.
func downloadable(f store.File) error {
	if f.Purpose.InRequests() {
		return penstock.Errorf(penstock.CodeInvalidRequest, "Files with the purpose %s cannot be downloaded: only requests read them.", f.Purpose)
	}
	return nil
}

// watched records the error of a read, which ServeContent does not return.
type watched struct {
	io.ReadSeeker
	err error
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.ReadSeeker.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		w.err = err
	}
	return n, err
}

// The bounds of how long a link is valid.
const minLink, usualLink, maxLink = time.Minute, time.Hour, 168 * time.Hour

// createFileLink makes a link to a file's content.
func (c files) createFileLink() error {
	id, err := c.PathID(penstock.ViewFile)
	if err != nil {
		return err
	}
	life, err := c.linkLife()
	if err != nil {
		return err
	}
	f, err := c.Files.File(c.R.Context(), c.Principal.Tenant.ID, id)
	if err == nil {
		err = downloadable(f)
	}
	if err != nil {
		return err
	}
	return c.link(f, life)
}

// base is the public URL of this server: as configured, else from the headers of the caller and its proxy.
func (c files) base() string {
	if url := c.Config.Current().Process.PublicURL; url != "" {
		return strings.TrimSuffix(url, "/")
	}
	scheme := "http"
	if c.R.TLS != nil || strings.EqualFold(c.R.Header.Get("X-Forwarded-Proto"), "https") {
		scheme = "https"
	}
	return scheme + "://" + c.R.Host
}

// download serves the holder of a link.
func (c files) download() error {
	asked := sign.Grant{Tenant: penstock.TenantID(c.R.PathValue("tenant")), Object: c.R.PathValue("object")}
	grant, err := c.Links.Check(asked, c.R.URL.Query(), c.Clock())
	if err != nil {
		return err
	}
	id, err := penstock.ViewFile.Parse(grant.Object)
	if err != nil {
		return &penstock.Error{Code: penstock.CodeNotFound, Message: "There is no such file.", Err: err}
	}
	c.Principal.Tenant.ID = grant.Tenant // the download counts for this tenant
	return c.sendFile(grant.Tenant, id)
}
