package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"penstock/internal/store/postgres/pgtest"
)

var greetedKey = regexp.MustCompile(`export OPENAI_API_KEY=(psk_\S+)`)

// TestRestart holds that a development server that is stopped and started again has the same key, the
// same jobs, answers, log and records.
func TestRestart(t *testing.T) {
	t.Parallel()
	holdAdminPort()
	for _, engine := range scenarioEngines() {
		t.Run(engine.name, func(t *testing.T) {
			t.Parallel()
			data := t.TempDir()
			// Without a key in the environment the server makes its own.
			env := append(engine.env(t), "PENSTOCK_DEV_KEY=")
			first := Dev(t, data, env...)
			key := greeted(t, first)
			submit := Call{Method: "POST", Path: "/v1/jobs", Body: `{"model":"sim","input":"Hi"}`,
				Header: map[string]string{"Authorization": "Bearer " + key, "Prefer": "wait=30", "Idempotency-Key": "kept"}}
			job := first.Do(submit)
			before := readRecords(t, first, key)
			for _, part := range []string{"", "/events", "/results"} {
				path := job.Header.Get("Location") + part
				before[path] = first.Do(Call{Method: "GET", Path: path, Header: submit.Header}).Body
			}
			// One that was dialled in vain would keep the server waiting for seconds.
			http.DefaultClient.CloseIdleConnections()
			if code := first.Stop(); code != 0 {
				t.Errorf("the server ended with %d:\n%s", code, first.Output())
			}

			second := Dev(t, data, env...)
			if again := greeted(t, second); again != key {
				t.Errorf("the key was %s and is %s", key, again)
			}
			for path, body := range before {
				if after := second.Do(Call{Method: "GET", Path: path, Header: submit.Header}); after.Body != body {
					t.Fatalf("GET %s: it was\n%sand is\n%s", path, body, after.Body)
				}
			}
			if again := second.Do(submit); again.Body != job.Body || again.Header.Get("Idempotency-Replayed") != "true" {
				t.Errorf("the same submit after the restart: %d\n%s", again.Status, again.Body)
			}
		})
	}
}

// readRecords makes a few calls at once and reads the record of each as soon as it is answered, which is
// before most of them are written down. It returns them by path.
func readRecords(t *testing.T, s *Server, key string) map[string]string {
	t.Helper()
	var all sync.WaitGroup
	var mu sync.Mutex
	records := map[string]string{}
	auth := map[string]string{"Authorization": "Bearer " + key}
	for range 20 {
		all.Go(func() {
			chat, err := s.Try(t.Context(), Call{Method: "POST", Path: chatPath, Body: ask("Hi", `"model":"sim"`), Header: auth})
			if err != nil {
				t.Error(err)
				return
			}
			path := "/v1/requests/" + chat.Header.Get("X-Request-Id")
			record, err := s.Try(t.Context(), Call{Method: "GET", Path: path, Header: auth})
			if err != nil || record.Status != http.StatusOK {
				t.Errorf("GET %s: %d %s, %v", path, record.Status, record.Body, err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			records[path] = record.Body
		})
	}
	all.Wait()
	return records
}

// greeted is the key that a server tells to whoever started it.
func greeted(t *testing.T, s *Server) string {
	t.Helper()
	var key string
	Await(t, "the greeting", func() error {
		if m := greetedKey.FindStringSubmatch(s.Output()); m != nil {
			key = m[1]
			return nil
		}
		return os.ErrNotExist
	})
	return key
}

// TestSecondServerOnTheSameData holds that two servers never share a data directory by mistake, and that
// the one that has to go says why and changes nothing.
func TestSecondServerOnTheSameData(t *testing.T) {
	t.Parallel()
	holdAdminPort()
	data := t.TempDir()
	first := Dev(t, data)
	second := Start(t, []string{"PENSTOCK_LISTEN=127.0.0.1:0", "PENSTOCK_DATA=" + data, "PENSTOCK_DEV_KEY=psk_second_n4w8bq2zt7kxv9gd3mhfj6sprc"}, "dev")
	if code := second.Exit(); code != 1 {
		t.Errorf("the second server ended with %d", code)
	}
	for _, word := range []string{data, "in use", "PENSTOCK_DATA"} {
		if !strings.Contains(second.Output(), word) {
			t.Errorf("it does not say %q:\n%s", word, second.Output())
		}
	}
	if strings.Contains(second.Output(), "ready") {
		t.Errorf("it greets although it cannot serve:\n%s", second.Output())
	}
	if a := first.Do(Call{Method: "GET", Path: "/v1/jobs"}); a.Status != http.StatusOK {
		t.Errorf("the first server answers %d %s", a.Status, a.Body)
	}
	kept, err := os.ReadFile(filepath.Join(data, "dev-key"))
	if err != nil {
		t.Fatal(err)
	}
	if strings.TrimSpace(string(kept)) != Key {
		t.Errorf("the second server replaced the key that the command line reads, by %q", kept)
	}
}

// TestTwoServersOnOneDatabase holds that servers on the same PostgreSQL database share their work.
func TestTwoServersOnOneDatabase(t *testing.T) {
	if testing.Short() {
		t.Skip("needs PostgreSQL")
	}
	t.Parallel()
	holdAdminPort()
	engines := scenarioEngines()
	env, data := engines[len(engines)-1].env(t), t.TempDir()
	first, second := Dev(t, data, env...), Dev(t, data, env...)
	job := first.Do(Call{Method: "POST", Path: "/v1/jobs", Body: `{"model":"sim","input":"shared"}`, Header: map[string]string{"Idempotency-Key": "shared"}})
	path := job.Header.Get("Location")
	wait := map[string]string{"Prefer": "wait=30"}
	there := second.Do(Call{Method: "GET", Path: path, Header: wait})
	here := first.Do(Call{Method: "GET", Path: path, Header: wait})
	if there.Status != http.StatusOK || there.Body != here.Body {
		t.Errorf("one server says\n%d %s, the other\n%d %s", here.Status, here.Body, there.Status, there.Body)
	}
	again := second.Do(Call{Method: "POST", Path: "/v1/jobs", Body: `{"model":"sim","input":"shared"}`, Header: map[string]string{"Idempotency-Key": "shared"}})
	if again.Header.Get("Location") != path {
		t.Errorf("the same submit at the other server became %s, not %s", again.Header.Get("Location"), path)
	}
}

// TestDatabaseOnASocket holds that a database is reached by a URL that names no host, but the directory
// of its socket, as PostgreSQL's own programs take it.
func TestDatabaseOnASocket(t *testing.T) {
	if testing.Short() {
		t.Skip("needs PostgreSQL")
	}
	t.Parallel()
	holdAdminPort()
	url := pgtest.URL(t)
	if !strings.Contains(url, "@/") {
		t.Skip("the test server is on the network")
	}
	p := Start(t, []string{"PENSTOCK_LISTEN=127.0.0.1:0", "PENSTOCK_DATA=" + t.TempDir(), "PENSTOCK_DATABASE_URL=" + url}, "dev")
	Await(t, "the greeting", func() error {
		select {
		case <-p.Ended():
			t.Fatalf("the server ended; it printed:\n%s", p.Output())
		default:
		}
		if !strings.Contains(p.Output(), "Penstock is ready") {
			return os.ErrNotExist
		}
		return nil
	})
}
