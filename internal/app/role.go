package app

import (
	"context"
	"errors"
	"fmt"

	"penstock"
	"penstock/internal/config"
)

// Role is the part of the work that a process does. Every process runs maintenance: its steps are bounded, and any
// number of processes may take them.
type Role string

// The roles.
const (
	RoleAll    Role = "all"    // serves and works
	RoleAPI    Role = "api"    // accepts, answers and serves synchronous calls; claims nothing
	RoleWorker Role = "worker" // claims and works; only its admin listener is open
)

// Roles lists every role.
var Roles = []Role{RoleAll, RoleAPI, RoleWorker}

func (r Role) serves() bool { return r != RoleWorker }
func (r Role) works() bool  { return r != RoleAPI }

// check refuses a role that leaves a part of the work undone.
func (r Role) check(p config.Process) error {
	if r != RoleAll && p.Database.IsZero() {
		return fmt.Errorf("the role %s needs a database that several processes share: set database or PENSTOCK_DATABASE_URL, "+
			"or leave the role out, since an SQLite file belongs to one process that does everything", r)
	}
	return nil
}

var errNotLeased = errors.New("the worker lost its lease")

// probe is whether this process can do its part: all write to the store, and a worker needs its lease.
// A process that also serves remains ready without its lease, because other processes can run the jobs that it accepts.
func (a *app) probe(ctx context.Context) error {
	if err := a.store.Check(ctx); err != nil {
		return err // the error names the part that failed: the database or the blobs
	}
	if a.Role == RoleWorker && !a.lease.Held() {
		return &penstock.Error{Code: penstock.CodeOverloaded, Message: "the worker does not hold its lease.", Err: errNotLeased}
	}
	return nil
}
