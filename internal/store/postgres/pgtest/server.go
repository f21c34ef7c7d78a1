package pgtest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// supervisor makes the server, keeps it until its standard input ends, and removes every trace of it. Our
// end of that pipe closes with the process that holds it, even when it is killed, so the server never
// becomes an orphan. It runs in the server's directory.
//
//   - SIGPIPE is ignored because a test process that dies during initdb must not take the cleanup along.
//   - The server is the supervisor's own child, so that its parent waits for it also where no init process does. Its
//     state is read where pg_ctl would read it.
//   - SIGQUIT stops it at once: nothing in the data is worth a checkpoint.
//   - On failure the logs take the place of "ready".
const supervisor = `
bin=$1
options=$2
trap '' PIPE
trap 'rm -rf "$PWD"' EXIT
fail() { cat setup.log server.log 2>/dev/null; exit 1; }
"$bin/initdb" -D data -U postgres -A trust -E UTF8 --locale=C --no-sync >setup.log 2>&1 || fail
"$bin/postgres" -D data $options >server.log 2>&1 &
server=$!
until grep -q '^ready' data/postmaster.pid 2>/dev/null; do
	sleep 0.02 && kill -0 $server 2>/dev/null || fail
done
echo ready
cat >/dev/null
kill -QUIT $server
wait $server
exit 0
`

// serverOptions makes a small, fast, forgetful server: a crash of the machine may destroy its data. What
// a session can see stays as in production; synchronous_commit, which a store may insist on, costs
// nothing without fsync.
func serverOptions(socketDir string) string {
	settings := []string{
		"listen_addresses=",
		"unix_socket_directories=" + socketDir,
		"port=5432", // names the socket; nothing listens on the network
		"fsync=off",
		"full_page_writes=off",
		"shared_buffers=32MB",
		"max_connections=400", // several clusters at a time, and what killed servers leave behind
		"log_min_messages=fatal",
	}
	return "-c " + strings.Join(settings, " -c ")
}

// shared is the server of this test process. It is package state because all tests of a process share
// one server, and a test can name nothing but this package when it asks for a database.
var shared process

// process is the server that a test process uses, its own or that of EnvURL.
type process struct {
	mu      sync.Mutex
	begun   bool
	server  *url.URL
	err     error
	running *running // nil for a server that is not ours
}

// url returns the URL of the server's administrative database, starting the server if need be.
// A server that did not start is not tried again: every test would wait for the same failure.
func (p *process) url() (*url.URL, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.begun {
		return p.server, p.err
	}
	p.begun = true
	if given := os.Getenv(EnvURL); given != "" {
		p.server, p.err = parseServerURL(given)
		return p.server, p.err
	}
	p.running, p.err = start()
	if p.err == nil {
		p.server = p.running.url()
	}
	return p.server, p.err
}

func (p *process) stop() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running == nil {
		return nil
	}
	err := p.running.stop()
	p.running = nil
	p.begun = true
	p.server, p.err = nil, errors.New("the test server was stopped: all tests are over")
	return err
}

func parseServerURL(given string) (*url.URL, error) {
	server, err := url.Parse(given)
	if err != nil || (server.Scheme != "postgres" && server.Scheme != "postgresql") {
		// The text itself may hold a password.
		return nil, errors.New(EnvURL + " must be a URL such as postgres://user:password@host:5432/postgres")
	}
	return server, nil
}

// running is a temporary server and the supervisor that watches over it.
type running struct {
	dir        string
	supervisor *exec.Cmd
	stdin      io.Closer // the supervisor's standard input
}

func start() (*running, error) {
	bin, err := findPrograms(programDirs())
	if err != nil {
		return nil, err
	}
	owner, err := serverOwner()
	if err != nil {
		return nil, err
	}
	// Not TMPDIR: the path of a socket may have about 100 bytes, and the owner must get there.
	dir, err := os.MkdirTemp("/tmp", "penstock-pg-")
	if err != nil {
		return nil, fmt.Errorf("make a directory for the test server: %w", err)
	}
	s, err := startSupervisor(dir, bin, owner)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return s, nil
}

func startSupervisor(dir, bin string, owner *syscall.Credential) (*running, error) {
	if owner != nil {
		if err := os.Chown(dir, int(owner.Uid), int(owner.Gid)); err != nil {
			return nil, fmt.Errorf("hand the test server its directory: %w", err)
		}
	}
	cmd := exec.Command("/bin/sh", "-c", supervisor, "pgtest", bin, serverOptions(dir))
	cmd.Dir = dir
	// No variable of ours may reach the server: PGDATA, PGPORT and the like would change it.
	cmd.Env = []string{"PATH=/usr/bin:/bin", "LC_ALL=C"}
	// A group of its own, so that an interrupt from the terminal leaves the cleanup alone.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: owner}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("make a pipe to the test server: %w", err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("make a pipe from the test server: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the test server: %w", err)
	}
	out := bufio.NewReader(stdout)
	if line, err := out.ReadString('\n'); err != nil || line != "ready\n" {
		rest, _ := io.ReadAll(io.LimitReader(out, 64<<10))
		stdin.Close()
		return nil, fmt.Errorf("start the test server from %s: %w\n%s%s", bin, cmd.Wait(), line, rest)
	}
	return &running{dir: dir, supervisor: cmd, stdin: stdin}, nil
}

func (s *running) url() *url.URL {
	return &url.URL{
		Scheme:   "postgres",
		User:     url.User("postgres"),
		Path:     "/postgres",
		RawQuery: url.Values{"host": {s.dir}, "port": {"5432"}}.Encode(),
	}
}

func (s *running) stop() error {
	s.stdin.Close()
	if err := s.supervisor.Wait(); err != nil {
		return fmt.Errorf("stop the test server: %w", err)
	}
	return nil
}

// serverOwner is the user to run the server as: the current one, or postgres when that is root, whom
// PostgreSQL refuses.
func serverOwner() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, fmt.Errorf("PostgreSQL does not run as root, and there is no user postgres to run it as; "+
			"run the tests as another user or set %s: %w", EnvURL, err)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("read the id of user postgres: %w", err)
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("read the group of user postgres: %w", err)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}
