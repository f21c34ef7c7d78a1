package e2e

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// While the database is away nothing is accepted and callers are told when to come back, the process says that it is not
// ready, calls that need no database are answered, and what an item came to is kept until it can be written.
func TestDatabaseAway(t *testing.T) {
	t.Parallel()
	r := newRig(t, onPostgres)
	r.lease = 30 * time.Second // the outage ends before anybody takes the worker for dead
	r.configure()
	database := newCutter(t, r)
	s := r.start(death{}).Server

	job := "/v1/jobs/" + s.read(post("/v1/jobs", `{"model":"fast","input":"An answer to be kept [sim:hold=away]"}`)).ID
	s.awaitStatus(job, "running")
	database.leave()
	s.awaitAway(`{"model":"fast","input":"Hi"}`)
	if a := s.Do(post("/v1/chat/completions", `{"model":"fast","messages":[{"role":"user","content":"Hi"}]}`)); a.Status != http.StatusOK {
		t.Errorf("a synchronous call is answered with %d %s", a.Status, a.Body)
	}
	release, err := http.Post(r.listener.URL+"/sim/release?name=away", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	release.Body.Close()

	database.comeBack()
	s.AwaitReady()
	s.awaitStatus(job, "succeeded")
	if a := s.Do(get(job + "/results")); strings.Count(a.Body, `"attempts":1`) != 1 {
		t.Errorf("its results are %s, want one of one attempt", a.Body)
	}
}

// While the blobs are away, small inputs are worked on as ever and large ones refused; what was accepted before waits.
func TestBlobsAway(t *testing.T) {
	t.Parallel()
	r := newRig(t, onSQLite)
	s := r.start(death{}).Server
	admin, hold := &Server{s.Process, r.admin.URL}, "/admin/v1/controls/model/fast"
	control := func(method, body string) {
		t.Helper()
		if a := admin.Do(Call{Method: method, Path: hold, Body: body}); a.Status != http.StatusOK {
			t.Fatalf("%s: %d %s", method, a.Status, a.Body)
		}
	}

	noise := make([]byte, 64<<10) // so that it cannot be compressed into a row
	rand.Read(noise)
	large := fmt.Sprintf(`{"model":"fast","input":%q}`, hex.EncodeToString(noise))
	control("PUT", `{"state":"paused"}`)
	job := "/v1/jobs/" + s.read(post("/v1/jobs", large)).ID
	blobs, away := filepath.Join(r.data, "blobs"), filepath.Join(r.data, "away")
	if err := os.Rename(blobs, away); err != nil {
		t.Fatal(err)
	}
	control("DELETE", "")
	Await(t, "the item to be tried", func() error {
		if !strings.Contains(s.Output(), "reading an item's input") {
			return errors.New("nobody tried to read its input")
		}
		return nil
	})
	s.awaitAway(large)
	if a := s.Do(get("/readyz")); !strings.Contains(a.Body, "the blobs cannot be written and read") || strings.Contains(a.Body, "the store") {
		t.Errorf("without blobs it is not ready for another reason: %s", a.Body)
	}
	if a := s.Do(post("/v1/jobs", `{"model":"fast","input":"small"}`, "Prefer", "wait=10")); a.Status != http.StatusOK {
		t.Errorf("a small job is answered with %d %s", a.Status, a.Body)
	}

	if err := os.Rename(away, blobs); err != nil {
		t.Fatal(err)
	}
	s.AwaitReady()
	s.awaitStatus(job, "succeeded")
}

// awaitAway waits until a submit is refused because the store is away, and the server says that it is not ready. The
// first to come may find a connection that ends under it, which is another error.
func (s *Server) awaitAway(submit string) {
	s.t.Helper()
	Await(s.t, "a submit to be refused", func() error {
		a := s.Do(post("/v1/jobs", submit))
		if a.Status != http.StatusServiceUnavailable || a.Header.Get("Retry-After") != "5" || !strings.Contains(a.Body, `"code":"overloaded"`) {
			return fmt.Errorf("it is answered with %d, %q, %s", a.Status, a.Header.Get("Retry-After"), a.Body)
		}
		return nil
	})
	Await(s.t, "the server to be unready", func() error {
		if a := s.Do(get("/readyz")); a.Status != http.StatusServiceUnavailable {
			return fmt.Errorf("it answers %d %s", a.Status, a.Body)
		}
		return nil
	})
}

func (s *Server) awaitStatus(job, want string) {
	s.t.Helper()
	Await(s.t, job+" to be "+want, func() error {
		if a := s.Do(get(job)); !strings.Contains(a.Body, `"status":"`+want+`"`) {
			return fmt.Errorf("%d %s", a.Status, a.Body)
		}
		return nil
	})
}
