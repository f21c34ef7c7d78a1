// Package cluster starts a temporary PostgreSQL server to measure on.
//
// Unlike the server that tests use it is durable: commits are flushed to the disk, as they would be in
// production, because that is what is measured. Everything measured against each other uses the same
// server, each in a database of its own. The server dies with this process, even if that is killed.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// Settings are the server's settings: enough memory that reads do not dominate, a log large enough that
// checkpoints run by time, and the default of every setting that durability depends on.
var Settings = []string{
	"listen_addresses=", "port=5432", "max_connections=100", "shared_buffers=512MB", "max_wal_size=4GB",
	"fsync=on", "synchronous_commit=on", "full_page_writes=on",
	"log_min_messages=fatal",
}

// supervisor runs the server until its standard input ends, and then stops it without a checkpoint.
const supervisor = `
"$1/postgres" -D data $2 >server.log 2>&1 &
server=$!
cat >/dev/null
kill -QUIT $server
wait $server
`

// Cluster is a running server.
type Cluster struct {
	dir        string
	settings   []string
	supervisor *exec.Cmd
	stdin      io.Closer // of the supervisor
	admin      *pgx.Conn
}

// Config says where to create a server, and which statistics the server keeps.
type Config struct {
	Dir        string // parent of its directory, on the disk to measure; "" for that of temporary files
	Statements bool   // keep pg_stat_statements, which costs some speed
}

// Start creates and starts a server.
func Start(ctx context.Context, cfg Config) (*Cluster, error) {
	bin, err := programs()
	if err != nil {
		return nil, err
	}
	owner, err := owner()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(cfg.Dir, "penstock-bench-pg-")
	if err != nil {
		return nil, err
	}
	c := &Cluster{dir: dir, settings: append(slices.Clone(Settings), "unix_socket_directories="+dir)}
	if cfg.Statements {
		c.settings = append(c.settings, "shared_preload_libraries=pg_stat_statements", "track_io_timing=on")
	}
	if err := c.start(ctx, bin, owner); err != nil {
		log, _ := os.ReadFile(filepath.Join(dir, "server.log"))
		return nil, errors.Join(fmt.Errorf("starting PostgreSQL from %s: %w\n%s", bin, err, log), c.Close())
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context, bin string, owner *syscall.Credential) error {
	if owner != nil {
		if err := os.Chown(c.dir, int(owner.Uid), int(owner.Gid)); err != nil {
			return err
		}
	}
	command := func(name string, args ...string) *exec.Cmd {
		cmd := exec.Command(name, args...)
		cmd.Dir, cmd.Env = c.dir, []string{"PATH=/usr/bin:/bin", "LC_ALL=C"}
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: owner}
		return cmd
	}
	initdb := command(filepath.Join(bin, "initdb"), "-D", "data", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C")
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	c.supervisor = command("/bin/sh", "-c", supervisor, "cluster", bin, "-c "+strings.Join(c.settings, " -c "))
	var err error
	if c.stdin, err = c.supervisor.StdinPipe(); err != nil {
		return err
	}
	if err := c.supervisor.Start(); err != nil {
		c.supervisor = nil
		return err
	}
	for range 300 {
		if c.admin, err = pgx.Connect(ctx, c.url("postgres")); err == nil {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return err
}

func (c *Cluster) url(database string) string {
	u := url.URL{Scheme: "postgres", User: url.User("postgres"), Path: "/" + database,
		RawQuery: url.Values{"host": {c.dir}, "port": {"5432"}}.Encode()}
	return u.String()
}

// Database creates an empty database. A checkpoint first writes out the pages of earlier databases, so that
// a measurement does not include the work of the one before it. The caller drops the database with Drop.
func (c *Cluster) Database(ctx context.Context, name string) (string, error) {
	for _, statement := range []string{`CREATE DATABASE ` + name, `CHECKPOINT`} {
		if _, err := c.admin.Exec(ctx, statement); err != nil {
			return "", fmt.Errorf("%s: %w", statement, err)
		}
	}
	return c.url(name), nil
}

// Drop removes a database and closes the connections to it.
func (c *Cluster) Drop(ctx context.Context, name string) error {
	_, err := c.admin.Exec(ctx, `DROP DATABASE `+name+` WITH (FORCE)`)
	return err
}

// Admin is a connection to the server's administrative database. It is not safe for concurrent use.
func (c *Cluster) Admin() *pgx.Conn { return c.admin }

// CPU is the processor time that all processes of the server have used so far; 0 on systems without /proc.
func (c *Cluster) CPU() time.Duration {
	text, err := os.ReadFile(filepath.Join(c.dir, "data", "postmaster.pid"))
	if err != nil {
		return 0
	}
	postmaster, _, _ := strings.Cut(string(text), "\n")
	ticks := int64(0)
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		ticks += serverTicks(path, postmaster)
	}
	return time.Duration(ticks) * time.Second / 100 // USER_HZ is 100 on every Linux that Go runs on
}

// serverTicks is the processor time of a process, if the process is the postmaster (with the children that it
// waited for) or a child of the postmaster.
func serverTicks(path, postmaster string) int64 {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 15 {
		return 0
	}
	used := func(at ...int) (sum int64) {
		for _, i := range at {
			n, _ := strconv.ParseInt(fields[i], 10, 64)
			sum += n
		}
		return sum
	}
	switch {
	case filepath.Base(filepath.Dir(path)) == postmaster:
		return used(11, 12, 13, 14)
	case fields[1] == postmaster:
		return used(11, 12)
	}
	return 0
}

// Close stops the server and removes its directory.
func (c *Cluster) Close() error {
	var err error
	if c.admin != nil {
		err = c.admin.Close(context.Background())
	}
	if c.supervisor != nil {
		_ = c.stdin.Close()
		err = errors.Join(err, c.supervisor.Wait())
	}
	return errors.Join(err, os.RemoveAll(c.dir))
}

// programs finds the newest server on this machine.
func programs() (string, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	slices.SortFunc(found, func(a, b string) int { return major(b) - major(a) })
	if path, err := exec.LookPath("initdb"); err == nil {
		found = append(found, filepath.Dir(path))
	}
	if len(found) == 0 {
		return "", errors.New("PostgreSQL is not installed; run make setup")
	}
	return found[0], nil
}

func major(dir string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(dir)))
	return n
}

// owner is the user that runs the server: the current user, or postgres if that is root, because PostgreSQL
// refuses to run as root.
func owner() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, fmt.Errorf("PostgreSQL does not run as root, and there is no user postgres to run it as: %w", err)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}
