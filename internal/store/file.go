package store

import (
	"context"
	"time"

	"penstock"
)

// Files are the rows of files. Package file defines the form of their content, which lies in blobs: a row is written once
// its blob is durable, and a blob is removed once its row is gone.
type Files interface {
	// CreateFile writes the row of a file. The store sets when it was created. Codes: conflict (the id is
	// taken).
	CreateFile(ctx context.Context, tenant penstock.TenantID, f File) (File, error)

	// File returns one file with its line errors. Codes: not_found.
	File(ctx context.Context, tenant penstock.TenantID, id penstock.ID) (File, error)

	// ListFiles returns files without their line errors, at most p.Limit of them.
	ListFiles(ctx context.Context, tenant penstock.TenantID, p FilePage) ([]File, error)

	// DeleteFile removes a file; the audit keeps who did it. Codes: not_found, conflict (a job still reads it, or its lines
	// name it).
	DeleteFile(ctx context.Context, tenant penstock.TenantID, d FileDeletion) error
}

// Purpose is what a file is for.
type Purpose string

// The purposes.
const (
	PurposeBatch       Purpose = "batch"        // requests, one a line
	PurposeBatchOutput Purpose = "batch_output" // their results
	PurposeUserData    Purpose = "user_data"    // documents, images and texts that requests name
	PurposeVision      Purpose = "vision"       // images that requests name
)

// InRequests says whether requests may name files of this purpose.
func (p Purpose) InRequests() bool { return p == PurposeUserData || p == PurposeVision }

// File is a file.
type File struct {
	ID      penstock.ID
	Tenant  penstock.TenantID
	Key     string // the name of the key that made it
	Purpose Purpose
	Name    string
	Bytes   int64 // of its content

	Blob      string // the name of the blob with the content
	BlobBytes int64
	IndexAt   int64 // where in the blob its index begins

	Lines      int               // of a batch: requests
	Tokens     int64             // of a batch: upper bound of the input tokens of all bodies
	Endpoint   penstock.Endpoint // of a batch: what its lines name, "" if none does
	ErrorCount int               // invalid lines
	Errors     []LineError       // the first of them
	References []penstock.ID     // of a batch: the files that its lines name. They are written, and not read back
	Prompts    []string          // of a batch: the prompts that its lines name; "" if a line says that it names none. Lists do not have them

	MediaType string // of a file for requests, "" for others
	SHA256    string // of its content, in hex; "" unless requests may name it

	CreatedAt time.Time
	ExpiresAt time.Time // zero for a file that is kept for as long as files are

	// Life is how long a new file is kept, 0 for as long as files are. CreateFile adds it to CreatedAt, which gives ExpiresAt; Life itself is not stored.
	Life time.Duration

	// StoredLimit is the most that its tenant may have stored with it, 0 for any amount. It is not kept: CreateFile then
	// also answers quota_exceeded.
	StoredLimit int64
}

// LineError says what is wrong with a line of a file.
type LineError struct {
	Line    int    `json:"line"` // from 1
	Code    string `json:"code"`
	Message string `json:"message"`
	Param   string `json:"param,omitempty"`
}

// Direction is the order of a list by age.
type Direction string

// The directions.
const (
	Ascending  Direction = "asc"
	Descending Direction = "desc"
)

// FilePage selects files.
type FilePage struct {
	Purpose   Purpose     // "" for every purpose
	Direction Direction   // by when they were begun; Descending when empty
	After     penstock.ID // the last file of the page before
	Limit     int
}

// FileDeletion is a file to be deleted.
type FileDeletion struct {
	File  penstock.ID
	Actor string // the name of the key
}

// ActionDeleteFile is how the audit names the deletion of a file.
const ActionDeleteFile = "file.delete"
