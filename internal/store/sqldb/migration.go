package sqldb

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Source is the migrations of one owner: files such as migrations/0007_title.sql. The number is the step's place in
// the one order of all owners, so no two owners use the same. An owner's first step is its baseline.
type Source struct {
	Owner string
	Files fs.FS
}

// Migration is one step of the schema.
type Migration struct {
	Number int64
	Owner  string
	Name   string
	SQL    string
}

// String names a step as errors and logs do.
func (m Migration) String() string { return fmt.Sprintf("%04d %s/%s", m.Number, m.Owner, m.Name) }

// ErrOldSchema means that the database was written before there were baselines. It cannot be upgraded.
var ErrOldSchema = errors.New("the database was written by a version of Penstock from before the first release, which this version cannot upgrade")

// ErrNotPermitted means that the role of the connection may not change the schema.
var ErrNotPermitted = errors.New("the role of the database may not change the schema")

// Plan puts the migrations of all owners in order. It fails on a number that is used twice, on an owner whose first
// step is not its baseline, and on a step that does more than expand the schema (see [CheckExpands]).
func Plan(sources ...Source) ([]Migration, error) {
	var steps []Migration
	for _, s := range sources {
		own, err := s.steps()
		if err != nil {
			return nil, err
		}
		steps = append(steps, own...)
	}
	slices.SortFunc(steps, func(a, b Migration) int { return int(a.Number - b.Number) })
	for i, m := range steps {
		if i > 0 && steps[i-1].Number == m.Number {
			return nil, fmt.Errorf("migrations %s and %s have the same number; give the later one the next free number", steps[i-1], m)
		}
		if err := CheckExpands(m); err != nil {
			return nil, err
		}
	}
	return steps, nil
}

// steps reads the files of one owner.
func (s Source) steps() ([]Migration, error) {
	names, err := fs.Glob(s.Files, "migrations/*.sql")
	if err != nil {
		return nil, fmt.Errorf("listing the migrations of %s: %w", s.Owner, err)
	}
	var steps []Migration
	for _, name := range names { // in lexical order, which is that of the numbers
		number, title, ok := strings.Cut(strings.TrimSuffix(path.Base(name), ".sql"), "_")
		n, err := strconv.ParseInt(number, 10, 64)
		if !ok || err != nil || len(number) != 4 || n < 1 {
			return nil, fmt.Errorf("migration %s of %s is not named as in 0007_title.sql", name, s.Owner)
		}
		text, err := fs.ReadFile(s.Files, name)
		if err != nil {
			return nil, fmt.Errorf("reading migration %s of %s: %w", name, s.Owner, err)
		}
		steps = append(steps, Migration{Number: n, Owner: s.Owner, Name: title, SQL: string(text)})
	}
	if len(steps) == 0 || steps[0].Name != baseline {
		return nil, fmt.Errorf("the first migration of %s is not its baseline", s.Owner)
	}
	return steps, nil
}

// baseline is the name of every owner's first step.
const baseline = "baseline"

// applied is the table of the steps that a database has.
const applied = "penstock_migrations"

// Migrate brings a schema up to date: it applies the steps that the database does not have yet, in one transaction.
// Steps of a later release are not an error: migrations only expand, so this release works on them. A schema that is up
// to date is only read, so that a role with rights on rows alone can start a server. It returns ErrOldSchema for a database
// from before the first baseline, and ErrNotPermitted with the next step for a role that may not apply the missing steps.
func Migrate(ctx context.Context, engine Engine, steps []Migration) error {
	has, err := Applied(ctx, engine)
	if err == nil && len(has) > 0 {
		if pending, err := Pending(steps, has); err != nil || len(pending) == 0 {
			return err
		}
	}
	if err = migrate(ctx, engine, steps); errors.Is(err, ErrNotPermitted) {
		return fmt.Errorf(`run "penstock db migrate" with the role that owns the tables, and grant this role SELECT, INSERT, UPDATE and DELETE on all of them: %w`, err)
	}
	return err
}

func migrate(ctx context.Context, engine Engine, steps []Migration) error {
	return engine.Migrate(ctx, func(tx Tx) error {
		_, err := tx.Exec(ctx, `CREATE TABLE IF NOT EXISTS `+applied+` (
			number BIGINT PRIMARY KEY, owner TEXT NOT NULL, name TEXT NOT NULL, applied_at BIGINT NOT NULL)`)
		if err != nil {
			return fmt.Errorf("creating the table of migrations: %w", err)
		}
		has, err := appliedSteps(ctx, tx)
		if err != nil {
			return err
		}
		pending, err := Pending(steps, has)
		if err != nil {
			return err
		}
		for _, m := range pending {
			if err := m.apply(ctx, tx); err != nil {
				return fmt.Errorf("applying migration %s: %w", m, err)
			}
		}
		return nil
	})
}

func (m Migration) apply(ctx context.Context, tx Tx) error {
	for _, s := range parse(m.SQL) {
		if _, err := tx.Exec(ctx, s.sql); err != nil {
			return err
		}
	}
	_, err := tx.Exec(ctx, `INSERT INTO `+applied+` (number, owner, name, applied_at) VALUES ($1, $2, $3, $4)`,
		m.Number, m.Owner, m.Name, Micros(tx.Now()))
	return err
}

// Applied returns the steps that a database has, in order and without their SQL; none for an empty database.
func Applied(ctx context.Context, engine Engine) (steps []Migration, err error) {
	err = engine.Read(ctx, func(tx Tx) error {
		// One statement for both engines: PostgreSQL reads what stands behind the two dashes as a comment.
		there, _, err := QueryOne(ctx, tx, SQL(`SELECT COUNT(*) FROM /*pg pg_tables WHERE schemaname = current_schema() AND tablename = $1 -- */ sqlite_master WHERE type = 'table' AND name = $1`,
			applied), ScanOne[int64])
		if err != nil || there == 0 {
			return err
		}
		steps, err = appliedSteps(ctx, tx)
		return err
	})
	return steps, err
}

func appliedSteps(ctx context.Context, tx Tx) ([]Migration, error) {
	steps, err := QueryAll(ctx, tx, SQL(`SELECT number, owner, name FROM `+applied+` ORDER BY number`),
		func(row Row) (m Migration, err error) { return m, row.Scan(&m.Number, &m.Owner, &m.Name) })
	if err != nil {
		return nil, fmt.Errorf("reading the table of migrations: %w", err)
	}
	return steps, nil
}

// Pending returns the steps that a database lacks. It fails where the database has another step under a number.
func Pending(steps, has []Migration) (pending []Migration, err error) {
	byNumber := map[int64]Migration{}
	for _, m := range has {
		byNumber[m.Number] = m
	}
	for _, m := range steps {
		old, ok := byNumber[m.Number]
		switch {
		case !ok:
			pending = append(pending, m)
		case old.Owner != m.Owner || old.Name != m.Name:
			return nil, fmt.Errorf("the database has migration %s where this version has %s; it belongs to another build of Penstock", old, m)
		}
	}
	return pending, nil
}
