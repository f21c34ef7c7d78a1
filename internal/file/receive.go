package file

import (
	"context"
	"io"
	"maps"
	"slices"

	"penstock"
	"penstock/internal/store"
)

// Limits bound a file.
type Limits struct {
	MaxBytes      int64
	MaxMediaBytes int64 // of a file that requests may name
	MaxLineBytes  int64
	MaxJSONDepth  int
}

// Received is content that was stored and is not a file yet. [Received.For] sets its purpose. A caller that makes no file of the content
// calls [Service.Discard].
type Received struct {
	File    store.File
	service *Service
	limits  Limits
	lines   *lineCheck // of a batch, or of content whose purpose is not known yet
	broken  error      // why the content cannot be a batch
	media   *sniffer   // of content for requests, or whose purpose is not known yet
}

// Arrival is content that arrives.
type Arrival struct {
	Tenant  penstock.TenantID
	ID      penstock.ID   // of the file, "" for a new one
	Purpose store.Purpose // "" if it is not known yet: forms may have it behind the content
	Content io.Reader
}

// Take stores content. Codes: too_large.
func (k *Service) Take(ctx context.Context, a Arrival, l Limits) (*Received, error) {
	r := &Received{service: k, limits: l}
	most := l.MaxBytes
	if a.Purpose.InRequests() {
		most = min(most, l.MaxMediaBytes)
	} else {
		r.lines = newLineCheck(l)
	}
	content := io.Reader(&bounded{r: a.Content, left: most, most: most})
	if a.Purpose != store.PurposeBatch {
		r.media = newSniffer(content)
		content = r.media
	}
	var err error
	if a.ID == "" {
		a.ID = k.ids.New(k.Clock())
	}
	r.File, err = k.writeAs(ctx, store.File{ID: a.ID, Tenant: a.Tenant, Purpose: a.Purpose}, content, r)
	return r, err
}

// line implements lineSink.
func (r *Received) line(part []byte, ends lineEnd) error {
	if r.lines == nil || r.broken != nil {
		return nil
	}
	r.broken = r.lines.line(part, ends)
	if r.media == nil {
		return r.broken
	}
	return nil // it may be content for requests, which has lines of any form
}

// For completes the file for a purpose, with the checks of that purpose. The content is discarded after an error. The file is visible
// only after [Service.Keep]. Codes: too_large, invalid_request.
func (r *Received) For(ctx context.Context, purpose store.Purpose) (store.File, error) {
	r.File.Purpose = purpose
	var err error
	if purpose.InRequests() {
		err = r.media.finish(&r.File, min(r.limits.MaxBytes, r.limits.MaxMediaBytes))
	} else {
		err = r.finishLines(ctx)
	}
	if err != nil {
		r.service.Discard(ctx, r.File)
	}
	return r.File, err
}

// finishLines completes a batch.
func (r *Received) finishLines(ctx context.Context) error {
	if r.broken != nil {
		return r.broken
	}
	f, check := &r.File, r.lines
	if f.Bytes == 0 {
		return penstock.InvalidParam("file", "The file is empty; send one request per line.")
	}
	if err := r.service.settleDuplicates(ctx, *f, check); err != nil {
		return err
	}
	f.Lines, f.Tokens, f.Endpoint = check.items, check.tokens, check.endpoint
	f.Errors, f.ErrorCount = check.report()
	f.References, f.Prompts = slices.Sorted(maps.Keys(check.references)), check.prompts.sorted()
	return nil
}

// Receive stores the content of a batch file and checks its lines. The file is visible only after [Service.Keep]; a
// caller that does not keep it calls [Service.Discard]. Codes: too_large, invalid_request (it is empty).
func (k *Service) Receive(ctx context.Context, tenant penstock.TenantID, content io.Reader, l Limits) (store.File, error) {
	r, err := k.Take(ctx, Arrival{Tenant: tenant, Purpose: store.PurposeBatch, Content: content}, l)
	if err != nil {
		return store.File{}, err
	}
	return r.For(ctx, store.PurposeBatch)
}
