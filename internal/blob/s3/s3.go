// Package s3 keeps blobs in a bucket of an S3-compatible store, so that several machines share them.
//
// It owns the keys that begin with its prefix: prefix + name. It does not create the bucket, and it sets no
// lifecycle; a rule that aborts multipart uploads which were never completed is worth having (see the operations
// guide), since a process that is killed cannot abort its own.
//
// A blob of at most one part is put in one call, a larger one in parts: one part is in memory at a time. Both
// ways the last call says If-None-Match: *, so that no blob is ever replaced and of two writers one wins; a
// store that does not honour that is not fit for this adapter, and [Store.Check] says so. A blob is there once
// the store acknowledged that call, which is when S3 promises that it is durable and visible to everyone.
//
// Calls are retried by the SDK with backoff. If an answer got lost after the store had taken a blob, the retry
// finds the name taken and Put returns ErrExists; as after any error, the caller takes a new name, and the sweep
// finds the old one.
package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"

	"penstock/internal/blob"
)

const (
	// PartBytes is the size of a part, the least that S3 takes. With its bound of 10,000 parts a blob can have
	// MaxBytes.
	PartBytes = 5 << 20
	// MaxBytes is the largest blob.
	MaxBytes = PartBytes * maxParts

	maxParts       = 10_000
	maxAttempts    = 4
	dialTimeout    = 5 * time.Second
	answerTimeout  = 30 * time.Second // until the head of an answer is there
	cleanupTimeout = 10 * time.Second
	maxIdle        = 64
)

// Config says where the bucket is.
type Config struct {
	Endpoint  string // URL; "" for Amazon's
	Bucket    string
	Region    string
	Prefix    string
	AccessKey string
	SecretKey string
	PathStyle bool
}

// Store is a blob.Store over one bucket. It is safe for concurrent use.
type Store struct {
	client *s3.Client
	bucket string
	prefix string
	parts  sync.Pool // of *[]byte, PartBytes long
	// guarded says that the store was seen to refuse to replace a blob; it will not forget how.
	guarded atomic.Bool
}

var _ blob.Store = (*Store)(nil)

// New returns a store. It makes no request.
func New(c Config) (*Store, error) {
	if c.Bucket == "" || c.Region == "" || c.AccessKey == "" || c.SecretKey == "" {
		return nil, errors.New("an S3 store needs a bucket, a region, an access key and a secret key")
	}
	client := awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
		t.DialContext = (&net.Dialer{Timeout: dialTimeout}).DialContext
		t.ResponseHeaderTimeout = answerTimeout
		t.MaxIdleConnsPerHost = maxIdle
	})
	options := s3.Options{
		Region: c.Region, UsePathStyle: c.PathStyle, HTTPClient: client,
		Credentials: credentials.NewStaticCredentialsProvider(c.AccessKey, c.SecretKey, ""),
		Retryer:     retry.NewStandard(func(o *retry.StandardOptions) { o.MaxAttempts = maxAttempts }),
		// Content is sealed with a tag of its own; checksums that not every store knows add nothing.
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenRequired,
		ResponseChecksumValidation: aws.ResponseChecksumValidationWhenRequired,
	}
	if c.Endpoint != "" {
		options.BaseEndpoint = &c.Endpoint
	}
	s := &Store{client: s3.New(options), bucket: c.Bucket, prefix: c.Prefix}
	s.parts.New = func() any { b := make([]byte, PartBytes); return &b }
	return s, nil
}

// Open implements [blob.Store].
func (s *Store) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	return s.open(ctx, name, nil)
}

// OpenRange implements [blob.Store].
func (s *Store) OpenRange(ctx context.Context, name string, r blob.Range) (io.ReadCloser, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	part := fmt.Sprintf("bytes=%d-%d", r.Offset, r.Offset+r.Length-1)
	body, err := s.open(ctx, name, &part)
	if code(err) == "InvalidRange" { // the blob ends before
		return http.NoBody, nil
	}
	return body, err
}

func (s *Store) open(ctx context.Context, name string, part *string) (io.ReadCloser, error) {
	if err := precheck(ctx, name); err != nil {
		return nil, err
	}
	out, err := s.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &s.bucket, Key: s.key(name), Range: part})
	if err != nil {
		return nil, fmt.Errorf("open blob %s: %w", name, contractError(ctx, err))
	}
	return out.Body, nil
}

// Delete implements [blob.Store].
func (s *Store) Delete(ctx context.Context, name string) error {
	if err := precheck(ctx, name); err != nil {
		return err
	}
	_, err := s.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &s.bucket, Key: s.key(name)})
	if err = contractError(ctx, err); err != nil && !errors.Is(err, blob.ErrNotFound) {
		return fmt.Errorf("delete blob %s: %w", name, err)
	}
	return nil
}

// List implements [blob.Store].
func (s *Store) List(ctx context.Context, q blob.Query) ([]blob.Info, error) {
	if err := q.Validate(); err != nil {
		return nil, err
	}
	var page []blob.Info
	after := s.prefix + q.After
	for {
		out, err := s.client.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: &s.bucket, Prefix: &s.prefix, StartAfter: &after})
		if err != nil {
			return nil, fmt.Errorf("list blobs: %w", contractError(ctx, err))
		}
		for _, o := range out.Contents {
			after = aws.ToString(o.Key)
			// A sweep deletes what List returns, so List returns nothing that Put did not store.
			name := strings.TrimPrefix(after, s.prefix)
			stored := aws.ToTime(o.LastModified)
			if blob.ValidateName(name) != nil || !stored.Before(q.OlderThan) {
				continue
			}
			if page = append(page, blob.Info{Name: name, Size: aws.ToInt64(o.Size), StoredAt: stored}); len(page) == q.Limit {
				return page, nil
			}
		}
		if !aws.ToBool(out.IsTruncated) || len(out.Contents) == 0 {
			return page, nil
		}
	}
}

// Check implements [blob.Store]. Beside taking a blob through its life it makes sure that the store refuses to
// replace one.
func (s *Store) Check(ctx context.Context) error {
	if err := blob.Probe(ctx, s); err != nil {
		return fmt.Errorf("check bucket %s: %w", s.bucket, err)
	}
	if s.guarded.Load() {
		return nil
	}
	name := blob.NewName()
	_, first := s.Put(ctx, name, strings.NewReader("first"))
	_, second := s.Put(ctx, name, strings.NewReader("second"))
	if err := errors.Join(first, s.Delete(ctx, name)); err != nil {
		return fmt.Errorf("check bucket %s: %w", s.bucket, err)
	}
	if !errors.Is(second, blob.ErrExists) {
		return fmt.Errorf("check bucket %s: the store replaces objects in spite of If-None-Match; use one that honours it (%v)", s.bucket, second)
	}
	s.guarded.Store(true)
	return nil
}

func precheck(ctx context.Context, name string) error {
	if err := blob.ValidateName(name); err != nil {
		return err
	}
	return ctx.Err()
}

func (s *Store) key(name string) *string { return aws.String(s.prefix + name) }

// code is what the store calls an error, "" for none of its own.
func code(err error) string {
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		return api.ErrorCode()
	}
	return ""
}

// contractError turns an error into the contract's.
func contractError(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return errors.Join(ctx.Err(), err)
	}
	switch code(err) {
	case "NoSuchKey", "NotFound":
		return fmt.Errorf("%w: %w", blob.ErrNotFound, err)
	case "PreconditionFailed", "ConditionalRequestConflict":
		return fmt.Errorf("%w: %w", blob.ErrExists, err)
	}
	return err
}
