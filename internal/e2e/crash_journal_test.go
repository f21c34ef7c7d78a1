package e2e

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"penstock"
)

// witness is a crowd of callers that notes every synchronous call of which it saw the whole answer.
type witness struct {
	mu   sync.Mutex
	seen map[string]string // request ID → how it was called
}

// callSynchronously makes plain calls, streams and calls that share a kept answer, until ctx ends.
func (w *witness) callSynchronously(ctx context.Context, server *Server, who int) {
	ways := []struct{ name, member, end string }{
		{name: "plain"}, {"stream", `,"stream":true`, "data: [DONE]"}, {name: "plain"}, {"stream", `,"stream":true`, "data: [DONE]"},
		{name: "cached plain"}, {"cached stream", `,"stream":true`, "data: [DONE]"},
	}
	for n := 0; ctx.Err() == nil; n++ {
		way := ways[n%len(ways)]
		call := Call{Method: http.MethodPost, Path: "/v1/chat/completions", Header: map[string]string{}}
		prompt := fmt.Sprintf("%d-%d [sim:tokens=9]", who, n)
		if strings.HasPrefix(way.name, "cached") {
			prompt = fmt.Sprintf("%d [sim:tokens=9]", n%50)
			call.Header["X-Penstock-Cache"] = "use"
		}
		call.Body = fmt.Sprintf(`{"model":"fast","max_tokens":20,"messages":[{"role":"user","content":%q}]%s}`, prompt, way.member)
		answer, err := server.Try(ctx, call)
		// A stream is whole with its terminator, whatever becomes of the connection.
		whole := err == nil && way.end == "" || way.end != "" && strings.Contains(answer.Body, way.end)
		if answer.Status == http.StatusOK && whole {
			w.mu.Lock()
			w.seen[answer.Header.Get("X-Request-Id")] = way.name
			w.mu.Unlock()
		}
		if err != nil {
			wait(ctx, 10*time.Millisecond)
		}
	}
}

func (w *witness) crowd(ctx context.Context, server *Server, from int) *sync.WaitGroup {
	var crowd sync.WaitGroup
	for i := range 6 {
		crowd.Go(func() { w.callSynchronously(ctx, server, from+i) })
	}
	return &crowd
}

// check holds that every call whose answer somebody saw is on record, with its usage.
func (w *witness) check(t *testing.T, server *Server) {
	t.Helper()
	kinds := map[string]int{}
	for id, way := range w.seen {
		kinds[way]++
		r, err := fetch(t.Context(), server, "/v1/requests/"+id, decoded[requestAnswer])
		if err != nil {
			t.Errorf("a %s call was answered and is not on record: %v", way, err)
			continue
		}
		if r.Status != "succeeded" || r.StatusCode != http.StatusOK || (r.Cache == "") != (r.Usage.OutputTokens > 0) {
			t.Errorf("a %s call was answered and is recorded as %+v", way, r)
		}
	}
	t.Logf("%d calls were answered: %v", len(w.seen), kinds)
	if len(kinds) < 4 {
		t.Errorf("only %v were answered: the test proves little", kinds)
	}
}

type requestAnswer struct {
	Status     string      `json:"status"`
	StatusCode int         `json:"status_code"`
	Cache      string      `json:"cache"`
	Usage      usageAnswer `json:"usage"`
}

// TestAnsweredCallsSurviveKill kills a server under synchronous calls again and again: every call of which a caller saw the
// whole answer has a record, its usage and one settlement after the next start, and the budget and the books are right.
func TestAnsweredCallsSurviveKill(t *testing.T) {
	t.Parallel()
	for _, on := range []engine{onSQLite, onPostgres} {
		t.Run(string(on), func(t *testing.T) {
			t.Parallel()
			r, w := newRig(t, on), &witness{seen: map[string]string{}}
			r.setBudget("100")
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			crowd := w.crowd(ctx, r.endpoint, 0)
			for range soakKills(t, 6) {
				r.live(death{after: time.Duration(200+r.random.IntN(500)) * time.Millisecond})
			}
			last := r.start(death{})
			stop()
			crowd.Wait()
			w.check(t, r.endpoint)
			if code := last.Stop(); code != 0 {
				t.Errorf("the last server stopped with code %d", code)
			}
			r.verifyLedger()
			r.checkSettled(w)
			if left, err := os.ReadDir(r.data + "/journal"); err != nil || len(left) > 0 {
				t.Errorf("%v are left of the journal, %v", left, err)
			}
		})
	}
}

// setBudget gives the tenant a hard budget.
func (r *rig) setBudget(usd string) {
	r.t.Helper()
	text := strings.Replace(r.yaml(), tenant+": {keys", fmt.Sprintf("%s: {budget: {total_usd: %q, hard: true}, keys", tenant, usd), 1)
	if err := os.WriteFile(r.config, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// checkSettled holds that each call is settled once.
func (r *rig) checkSettled(w *witness) {
	r.t.Helper()
	settled := r.settlements()
	for id, way := range w.seen {
		bare, err := penstock.ViewRequest.Parse(id)
		if err != nil {
			r.t.Fatal(err)
		}
		if n := settled[string(bare)]; n != 1 {
			r.t.Errorf("a %s call is settled %d times", way, n)
		}
	}
}

// settlements counts the settlements of each synchronous call, in the database itself.
func (r *rig) settlements() map[string]int {
	r.t.Helper()
	const query = `SELECT subject_id, COUNT(*) FROM ledger WHERE kind = 'settle' AND job_id = '' GROUP BY subject_id`
	found := map[string]int{}
	read := func(scan func(...any) error) error {
		var id string
		var n int
		err := scan(&id, &n)
		found[id] = n
		return err
	}
	if r.on == onSQLite {
		r.database(func(db *sql.DB) error {
			rows, err := db.QueryContext(r.t.Context(), query)
			if err != nil {
				return err
			}
			defer rows.Close()
			for rows.Next() && err == nil {
				err = read(rows.Scan)
			}
			return err
		})
		return found
	}
	url, _ := r.lookup(databaseEnv)
	db, err := pgx.Connect(r.t.Context(), url)
	if err != nil {
		r.t.Fatal(err)
	}
	defer db.Close(r.t.Context())
	rows, err := db.Query(r.t.Context(), query)
	for err == nil && rows.Next() {
		err = read(rows.Scan)
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return found
}

// TestLivingJournalIsLeftAlone runs two servers on one database and one data directory. The one that starts again and again
// replays nothing of the other, which lives and is busy; when the busy one is killed, the living one records its calls.
func TestLivingJournalIsLeftAlone(t *testing.T) {
	t.Parallel()
	busy, w := newRig(t, onPostgres), &witness{seen: map[string]string{}}
	other := busy.twin()
	first := busy.start(death{})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	crowd := w.crowd(ctx, busy.endpoint, 0)
	for range 3 {
		l := other.live(death{after: 200 * time.Millisecond})
		if strings.Contains(l.Output(), "recorded calls of a process that died") {
			t.Fatalf("a server replayed the journal of a living one:\n%s", tail(l.Output()))
		}
	}
	second := other.start(death{})
	first.Kill()
	first.ended = time.Now()
	stop()
	crowd.Wait()
	AwaitLong(t, "the calls of the killed server to be recorded", 30*time.Second, func() error {
		for id := range w.seen {
			if _, err := fetch(t.Context(), other.endpoint, "/v1/requests/"+id, decoded[requestAnswer]); err != nil {
				return err
			}
		}
		return nil
	})
	w.check(t, other.endpoint)
	if code := second.Stop(); code != 0 {
		t.Errorf("the server stopped with code %d", code)
	}
	other.verifyLedger()
	other.checkSettled(w)
}
