package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"penstock/internal/app"
	"penstock/internal/config"
)

// bucketTimeout bounds the check of a bucket: a few small calls, each of which may be made again.
const bucketTimeout = 15 * time.Second

// storeError is an error that an S3-compatible store gave a code.
type storeError interface {
	error
	ErrorCode() string
	ErrorMessage() string
}

// checkBucket puts an object into the bucket, reads it and removes it, and makes sure that the store does not replace
// objects. Without that no process gets ready.
func checkBucket(ctx context.Context, c config.S3) finding {
	ctx, cancel := context.WithTimeout(ctx, bucketTimeout)
	defer cancel()
	where := c.Bucket
	if c.Endpoint != "" {
		where += " at " + c.Endpoint
	}
	began := time.Now()
	blobs, err := app.OpenBlobs(c, "")
	if err == nil {
		err = blobs.Check(ctx)
	}
	if err == nil {
		detail := fmt.Sprintf("%s: an object was put, read and removed in %v", where, time.Since(began).Round(time.Millisecond))
		return finding{Check: "blobs", Status: healthOK, Detail: detail}
	}
	detail, next := bucketTrouble(err)
	return finding{"blobs", healthFail, where + ": " + detail, next}
}

// bucketTrouble words what a bucket answered, and what to do about it.
func bucketTrouble(err error) (detail, next string) {
	answered, ok := errors.AsType[storeError](err)
	if !ok {
		if _, ok := errors.AsType[net.Error](err); ok || errors.Is(err, context.DeadlineExceeded) {
			return "the store does not answer: " + err.Error(), "check blobs.s3.endpoint and the network path to it: proxy, firewall, DNS"
		}
		return err.Error(), "check blobs.s3 in the configuration, and that the store honours If-None-Match"
	}
	detail = answered.ErrorCode()
	if message := answered.ErrorMessage(); message != "" {
		detail += ": " + message
	}
	switch answered.ErrorCode() {
	case "NoSuchBucket":
		return detail, "create the bucket, or correct blobs.s3.bucket, region and path_style"
	case "InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidToken", "ExpiredToken":
		return detail, "correct blobs.s3.access_key and secret_key"
	case "AccessDenied", "Forbidden", "AllAccessDisabled":
		return detail, "allow this key s3:PutObject, s3:GetObject, s3:DeleteObject and s3:ListBucket on the bucket and its prefix"
	case "PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException":
		return detail, "correct blobs.s3.region"
	}
	return detail, "look up this error in the documentation of the store, and correct blobs.s3"
}
