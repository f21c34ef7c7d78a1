package store

import (
	"context"
	"fmt"

	"penstock"
)

// Stored is how many bytes a tenant has stored, before compression and encryption.
type Stored struct {
	JobBytes  int64 // inputs and results of jobs, kept responses and batches included, until their job is deleted
	FileBytes int64 // files, those that batches write included
}

// Bytes are all of them.
func (s Stored) Bytes() int64 { return s.JobBytes + s.FileBytes }

// Refusal is the answer to a tenant that would store more than its limit, nil if it would not. Codes: quota_exceeded.
func (s Stored) Refusal(tenant penstock.TenantID, limit, more int64) error {
	used := s.Bytes()
	if limit == 0 || used < limit && used+more <= limit {
		return nil
	}
	adding := ""
	if more > 0 {
		adding = fmt.Sprintf(" and this would add %d", more)
	}
	return penstock.Errorf(penstock.CodeQuotaExceeded,
		"Tenant %s has stored %d bytes%s; its quota (stored_bytes) is %d. Delete jobs, responses or files that are not needed any more, or have them kept for a shorter time (retention).",
		tenant, used, adding, limit)
}

// Storage is the number of bytes that tenants have stored.
type Storage interface {
	// Stored is what a tenant has stored; nothing for a tenant that is not known.
	Stored(ctx context.Context, tenant penstock.TenantID) (Stored, error)
	// StoredByTenant is that of every tenant that ever stored something.
	StoredByTenant(ctx context.Context) (map[penstock.TenantID]Stored, error)
}
