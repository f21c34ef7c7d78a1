package config

import (
	"regexp"
	"strings"
)

// Blobs is the storage of files and of payloads over 32 KiB. Zero: the directory blobs in Data.
type Blobs struct {
	// S3 is a bucket of an S3-compatible store. All processes on one database share it. Zero: the directory.
	S3 S3 `yaml:"s3,omitempty"`
}

// S3 is a bucket. It must exist, and the key must be allowed to read, write, list and delete objects in it.
type S3 struct {
	// Endpoint is the http or https URL of the store. Zero: the endpoint of Amazon in Region.
	Endpoint string `yaml:"endpoint,omitempty"`

	// Bucket is the bucket's name. Required with any other field. Matches [a-z0-9][a-z0-9.-]{1,61}[a-z0-9].
	Bucket string `yaml:"bucket,omitempty"`

	// Region is the region that calls are signed for. Zero: the default, us-east-1.
	Region string `yaml:"region,omitempty"`

	// Prefix is put in front of every name, so that a bucket can be shared. Penstock owns all objects with the prefix:
	// no other program and no other database may use it. At most 512 characters of [A-Za-z0-9._/-], not beginning with
	// a slash. Zero: none.
	Prefix string `yaml:"prefix,omitempty"`

	// AccessKey is the id of the access key. Required.
	AccessKey Secret `yaml:"access_key,omitempty"`

	// SecretKey is the secret of the access key. Required.
	SecretKey Secret `yaml:"secret_key,omitempty"`

	// PathStyle is whether URLs have the bucket in their path instead of the host name, as most stores other than
	// Amazon's require. Zero: in the host name.
	PathStyle bool `yaml:"path_style,omitempty"`
}

// IsZero reports whether no bucket is configured.
func (s S3) IsZero() bool { return s == S3{} }

// DefaultS3Region is the region of a bucket that names none.
const DefaultS3Region = "us-east-1"

var (
	bucketName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)
	blobPrefix = regexp.MustCompile(`^[A-Za-z0-9._/-]{0,512}$`)
)

func (b *Blobs) fillDefaults(written places) {
	if !b.S3.IsZero() {
		fill(written, "blobs.s3.region", &b.S3.Region, DefaultS3Region)
		b.S3.Endpoint = strings.TrimRight(b.S3.Endpoint, "/")
	}
}

func (c *checker) blobs(s S3) {
	if s.IsZero() {
		return
	}
	if s.Endpoint != "" {
		c.httpURL("blobs.s3.endpoint", s.Endpoint)
	}
	if !bucketName.MatchString(s.Bucket) {
		c.fail("blobs.s3.bucket", "must name a bucket: %s", strings.Trim(bucketName.String(), "^$"))
	}
	if s.Region == "" {
		c.fail("blobs.s3.region", "must name a region")
	}
	if !blobPrefix.MatchString(s.Prefix) || strings.HasPrefix(s.Prefix, "/") {
		c.fail("blobs.s3.prefix", "must match %s and not begin with a slash", strings.Trim(blobPrefix.String(), "^$"))
	}
	for at, secret := range map[path]Secret{"blobs.s3.access_key": s.AccessKey, "blobs.s3.secret_key": s.SecretKey} {
		if secret.IsZero() {
			c.fail(at, `is required: "${NAME}" for an environment variable, or "file:/path" for a file`)
		}
	}
}
