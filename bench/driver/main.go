// Driver measures SQLite drivers for Go on Penstock's own schema and writes, in turns: the work of
// accepting, claiming and finishing an item, in groups as the engine commits them.
package main

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	_ "github.com/mattn/go-sqlite3" // registers "sqlite3"
	_ "modernc.org/sqlite"          // registers "sqlite"

	"penstock/internal/store/schema"
)

// driver is one contender, with how it is told about pragmas.
type driver struct{ name, module, dsn string }

var drivers = []driver{
	{"sqlite", "modernc.org/sqlite", "file:%s?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)"},
	{"sqlite3", "github.com/mattn/go-sqlite3", "file:%s?_journal_mode=WAL&_synchronous=FULL"},
}

func main() {
	rounds := flag.Int("rounds", 5, "rounds, in turns")
	length := flag.Duration("length", 2*time.Second, "length of a round")
	flag.Parse()
	for _, group := range []int{1, 16, 128} {
		rates := map[string][]float64{}
		for range *rounds {
			for _, d := range drivers {
				rate, err := measure(d, group, *length)
				if err != nil {
					fmt.Fprintln(os.Stderr, "bench driver:", d.module, err)
					os.Exit(1)
				}
				rates[d.module] = append(rates[d.module], rate)
			}
		}
		for _, d := range drivers {
			r := rates[d.module]
			slices.Sort(r)
			fmt.Printf("groups of %-4d %-30s median %7.0f items/s   range %.0f–%.0f\n", group, d.module, r[len(r)/2], r[0], r[len(r)-1])
		}
	}
}

// measure returns how many items a second pass through their whole life.
func measure(d driver, group int, length time.Duration) (float64, error) {
	dir, err := os.MkdirTemp("", "penstock-driver-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	db, err := sql.Open(d.name, fmt.Sprintf(d.dsn, filepath.Join(dir, "bench.db")))
	if err != nil {
		return 0, err
	}
	defer db.Close()
	conn, err := db.Conn(context.Background())
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	if err := migrate(conn); err != nil {
		return 0, err
	}
	l, err := newLife(conn)
	if err != nil {
		return 0, err
	}
	began, items := time.Now(), 0
	for time.Since(began) < length {
		if err := l.pass(items, group); err != nil {
			return 0, err
		}
		items += group
	}
	return float64(items) / time.Since(began).Seconds(), nil
}

func migrate(conn *sql.Conn) error {
	steps, err := schema.Plan()
	if err != nil {
		return err
	}
	for _, s := range steps {
		if _, err := conn.ExecContext(context.Background(), s.SQL); err != nil {
			return err
		}
	}
	return nil
}

// life is the statements of an item's life.
type life struct {
	conn                  *sql.Conn
	insert, claim, finish *sql.Stmt
	attempt, ledger       *sql.Stmt
	payload               []byte
}

func newLife(conn *sql.Conn) (*life, error) {
	l := &life{conn: conn, payload: []byte(strings.Repeat("x", 512))}
	for _, p := range []struct {
		into **sql.Stmt
		text string
	}{
		{&l.insert, `INSERT INTO items (id, job_id, tenant_id, n, custom_id, status, input, input_bytes, estimate_tokens, reserved_nano_usd)
			VALUES (?1, ?1, 'demo', 0, '', 'queued', ?2, 512, 100, 100)`},
		{&l.claim, `UPDATE items SET status = 'running', claim_id = 'local', fence = fence + 1 WHERE id = ?1`},
		{&l.finish, `UPDATE items SET status = 'succeeded', seq = 3, result = ?2, target = 'sim', finished_at = 1 WHERE id = ?1`},
		{&l.attempt, `INSERT INTO attempts (id, subject_id, tenant_id, number, fence, target, reason, config, error_kind, error_message, status_code,
			input_tokens, cached_input_tokens, output_tokens, usage_known, cost_nano_usd, started_at, first_token_at, finished_at)
			VALUES (?1, ?1, 'demo', 1, 1, 'sim', 'first', 'cfg', '', '', 200, 1, 0, 1, 1, 1, 1, 1, 1)`},
		{&l.ledger, `INSERT INTO ledger (key, tenant_id, kind, subject_id, reserved_nano_usd, cost_nano_usd, input_tokens, cached_input_tokens, output_tokens, created_at)
			VALUES (?1, 'demo', 'settle', ?1, 1, 1, 1, 0, 1, 1)`},
	} {
		s, err := conn.PrepareContext(context.Background(), p.text)
		if err != nil {
			return nil, err
		}
		*p.into = s
	}
	return l, nil
}

// pass takes a group of items through three transactions.
func (l *life) pass(from, group int) error {
	return firstError(
		func() error {
			return l.commit(from, group, func(id string) error { return run(l.insert, id, l.payload) })
		},
		func() error { return l.commit(from, group, func(id string) error { return run(l.claim, id) }) },
		func() error {
			return l.commit(from, group, func(id string) error {
				return firstError(
					func() error { return run(l.finish, id, l.payload) },
					func() error { return run(l.attempt, id) },
					func() error { return run(l.ledger, id) })
			})
		})
}

func (l *life) commit(from, group int, each func(id string) error) error {
	ctx := context.Background()
	if _, err := l.conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	for i := range group {
		if err := each(fmt.Sprintf("%026d", from+i)); err != nil {
			return err
		}
	}
	_, err := l.conn.ExecContext(ctx, "COMMIT")
	return err
}

func run(s *sql.Stmt, args ...any) error {
	_, err := s.Exec(args...)
	return err
}

func firstError(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}
