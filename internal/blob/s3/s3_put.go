package s3

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// ifNew makes a write fail when the name is taken.
const ifNew = "*"

// Put implements [blob.Store].
func (s *Store) Put(ctx context.Context, name string, r io.Reader) (int64, error) {
	if err := precheck(ctx, name); err != nil {
		return 0, err
	}
	buffer := s.parts.Get().(*[]byte)
	defer s.parts.Put(buffer)
	part, last, err := readPart(ctx, r, *buffer)
	if err != nil {
		return 0, fmt.Errorf("read blob %s: %w", name, err)
	}
	if last {
		_, err := s.client.PutObject(ctx, &s3.PutObjectInput{
			Bucket: &s.bucket, Key: s.key(name), Body: bytes.NewReader(part), ContentLength: aws.Int64(int64(len(part))), IfNoneMatch: aws.String(ifNew),
		})
		if err != nil {
			return 0, fmt.Errorf("put blob %s: %w", name, contractError(ctx, err))
		}
		return int64(len(part)), nil
	}
	u := multipart{Store: s, name: name}
	if err := u.begin(ctx); err != nil {
		return 0, err
	}
	if err := u.run(ctx, r, part); err != nil {
		return 0, errors.Join(err, u.abort(ctx))
	}
	return u.size, nil
}

// readPart fills the buffer from r and says whether that was the last of it.
func readPart(ctx context.Context, r io.Reader, buffer []byte) (part []byte, last bool, err error) {
	n := 0
	for n < len(buffer) {
		if err := ctx.Err(); err != nil {
			return nil, false, err
		}
		got, err := r.Read(buffer[n:])
		n += got
		if errors.Is(err, io.EOF) {
			return buffer[:n], true, nil
		}
		if err != nil {
			return nil, false, err
		}
	}
	return buffer[:n], false, nil
}

// multipart is an upload in parts.
type multipart struct {
	*Store
	name string
	id   *string
	done []types.CompletedPart
	size int64
}

func (u *multipart) begin(ctx context.Context) error {
	out, err := u.client.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{Bucket: &u.bucket, Key: u.key(u.name)})
	if err != nil {
		return fmt.Errorf("begin blob %s: %w", u.name, contractError(ctx, err))
	}
	u.id = out.UploadId
	return nil
}

// run sends the first part and all that follow, and makes the blob of them.
func (u *multipart) run(ctx context.Context, r io.Reader, part []byte) (err error) {
	for last := false; ; {
		if len(part) > 0 {
			if err := u.send(ctx, part); err != nil {
				return err
			}
		}
		if last {
			break
		}
		if part, last, err = readPart(ctx, r, part[:cap(part)][:PartBytes]); err != nil {
			return fmt.Errorf("read blob %s: %w", u.name, err)
		}
	}
	_, err = u.client.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{
		Bucket: &u.bucket, Key: u.key(u.name), UploadId: u.id, IfNoneMatch: aws.String(ifNew),
		MultipartUpload: &types.CompletedMultipartUpload{Parts: u.done},
	})
	if err != nil {
		return fmt.Errorf("complete blob %s: %w", u.name, contractError(ctx, err))
	}
	return nil
}

func (u *multipart) send(ctx context.Context, part []byte) error {
	if len(u.done) == maxParts {
		return fmt.Errorf("put blob %s: it is larger than %d bytes, the most that a bucket takes in parts", u.name, int64(MaxBytes))
	}
	number := aws.Int32(int32(len(u.done) + 1))
	out, err := u.client.UploadPart(ctx, &s3.UploadPartInput{
		Bucket: &u.bucket, Key: u.key(u.name), UploadId: u.id, PartNumber: number,
		Body: bytes.NewReader(part), ContentLength: aws.Int64(int64(len(part))),
	})
	if err != nil {
		return fmt.Errorf("put part %d of blob %s: %w", *number, u.name, contractError(ctx, err))
	}
	u.done = append(u.done, types.CompletedPart{ETag: out.ETag, PartNumber: number})
	u.size += int64(len(part))
	return nil
}

// abort gives back what was sent; ctx may be over.
func (u *multipart) abort(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	_, err := u.client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: &u.bucket, Key: u.key(u.name), UploadId: u.id})
	if err != nil && code(err) != "NoSuchUpload" {
		return fmt.Errorf("abort blob %s: %w", u.name, err)
	}
	return nil
}
