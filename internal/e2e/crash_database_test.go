package e2e

import (
	"bufio"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"penstock"
	"penstock/internal/sim"
)

// TestCrashOfDatabaseConnections breaks connections to PostgreSQL after a commit and before the server
// hears of it, so that it cannot know what became of its transaction. Nothing may be lost, done twice or
// left lying about by that.
func TestCrashOfDatabaseConnections(t *testing.T) {
	t.Parallel()
	r := newRig(t, onPostgres)
	cutter := newCutter(t, r)
	if err := r.upstream.Configure(sim.Config{Seed: r.seed, FirstTokenLatency: 30 * time.Millisecond, Jitter: 0.9}); err != nil {
		t.Fatal(err)
	}
	r.brittle = true
	l := r.start(death{})
	d, stop := newDiary(), make(chan struct{})
	crowd := r.crowd(d, wild, stop)
	cutter.percent.Store(4)
	if l.pass(6 * time.Second) {
		t.Fatalf("the server ended by itself; it printed:\n%s", tail(l.Output()))
	}
	close(stop)
	crowd.Wait()
	cutter.percent.Store(0)

	a := newAudit(r, d)
	a.run()
	a.checkBooks()
	t.Logf("%d commits were left in doubt; %v; leases lost: %d", cutter.cuts.Load(), a.sum(), r.leasesLost())
	if cutter.cuts.Load() == 0 {
		t.Error("no connection was cut")
	}
}

// cutter stands between the server and PostgreSQL and cuts connections where it hurts.
type cutter struct {
	network, address string // of PostgreSQL
	percent          atomic.Int64
	cuts             atomic.Int64

	mu    sync.Mutex
	gone  bool // nothing gets through
	conns map[net.Conn]bool
}

// leave makes the database unreachable, until comeBack.
func (c *cutter) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gone = true
	for conn := range c.conns {
		_ = conn.Close()
	}
}

func (c *cutter) comeBack() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gone = false
}

// admit takes a connection, unless the database is away.
func (c *cutter) admit(conn net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.gone {
		c.conns[conn] = true
	}
	return !c.gone
}

func (c *cutter) exit(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.conns, conn)
}

// newCutter makes a rig's server reach PostgreSQL through a cutter.
func newCutter(t *testing.T, r *rig) *cutter {
	t.Helper()
	given, _ := r.lookup(databaseEnv)
	u, err := url.Parse(given)
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{network: "tcp", address: u.Host, conns: map[net.Conn]bool{}}
	query := u.Query()
	if dir := query.Get("host"); strings.HasPrefix(dir, "/") {
		c.network, c.address = "unix", filepath.Join(dir, ".s.PGSQL."+query.Get("port"))
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go c.serve(listener)
	query.Del("host")
	query.Del("port")
	query.Set("sslmode", "disable") // it has to read along
	u.Host, u.RawQuery = listener.Addr().String(), query.Encode()
	r.env = append(r.env, databaseEnv+"="+u.String()) // the last of a name counts
	return c
}

func (c *cutter) serve(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return // the test is over
		}
		go c.relay(conn)
	}
}

// relay passes a connection on until either side ends it, or it is cut.
func (c *cutter) relay(client net.Conn) {
	defer client.Close()
	if !c.admit(client) {
		return
	}
	defer c.exit(client)
	server, err := net.Dial(c.network, c.address)
	if err != nil {
		return // the client sees its connection end
	}
	defer server.Close()
	go func() {
		_, _ = io.Copy(server, client)
		_ = server.Close()
	}()
	from, to := bufio.NewReader(server), bufio.NewWriter(client)
	for c.passMessage(from, to) == nil {
	}
}

// passMessage passes one message of PostgreSQL's protocol on. What it does not pass on is the notice of a
// commit.
func (c *cutter) passMessage(from *bufio.Reader, to *bufio.Writer) error {
	header, err := from.Peek(5)
	if err != nil {
		return err
	}
	message := make([]byte, 1+binary.BigEndian.Uint32(header[1:]))
	if _, err := io.ReadFull(from, message); err != nil {
		return err
	}
	if message[0] == 'C' && string(message[5:]) == "COMMIT\x00" && rand.Int64N(100) < c.percent.Load() {
		c.cuts.Add(1)
		return io.ErrClosedPipe
	}
	if _, err := to.Write(message); err != nil {
		return err
	}
	if from.Buffered() > 0 {
		return nil
	}
	return to.Flush()
}

// TestCrashFreeStall keeps a worker from recording a result for longer than its lease lasts, while the
// lease itself is renewed all the time. The item must end nevertheless.
func TestCrashFreeStall(t *testing.T) {
	t.Parallel()
	r, d := newRig(t, onPostgres), newDiary()
	l := r.start(death{})
	given, _ := r.lookup(databaseEnv)
	conn, err := pgx.Connect(t.Context(), given)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	c := r.client(d, calm)
	id := c.submit(t.Context(), d.orderFor("stalled", inference{prompt: "stalled [sim:tokens=5 hold=stall]"}))
	r.awaitRunning(id, 1)
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `SELECT id FROM jobs FOR UPDATE`); err != nil {
		t.Fatal(err)
	}
	r.release("stall")
	if l.pass(3 * leaseTimeout) {
		t.Fatalf("the server ended by itself; it printed:\n%s", tail(l.Output()))
	}
	if job, err := fetch(t.Context(), r.endpoint, "/v1/jobs/"+id, decoded[jobAnswer]); err != nil || job.Status != penstock.StatusRunning {
		t.Fatalf("the lock did not hold the worker up: %v, %s", err, encoded(job))
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	a := newAudit(r, d)
	a.run()
	a.checkBooks()
	if s := a.sum(); s.statuses[penstock.StatusSucceeded] != 1 {
		t.Errorf("the item did not succeed: %v", s)
	}
}
