package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"runtime/pprof"
	"runtime/trace"

	"penstock/bench/cluster"
)

// profile says where the time of a round goes.
type profile struct {
	cpu        string // file for a CPU profile of this process
	statements string // file for what PostgreSQL spent its time on
	allocs     string // file for a profile of what this process allocated
	trace      string // file for an execution trace of this process
}

func (p *profile) flags(f *flag.FlagSet) {
	f.StringVar(&p.cpu, "cpuprofile", "", "write a CPU profile of the last round to this file")
	f.StringVar(&p.allocs, "allocprofile", "", "write a profile of all allocations so far to this file after each round")
	f.StringVar(&p.trace, "trace", "", "write an execution trace of the last round to this file; costs some speed")
	f.StringVar(&p.statements, "statements", "", "write PostgreSQL's statements of the last round to this file; costs some speed")
}

// start begins to look. The returned function writes down what was seen.
func (p *profile) start(ctx context.Context, server *cluster.Cluster, database string) (stop func() error, err error) {
	var file *os.File
	if p.cpu != "" {
		if file, err = os.Create(p.cpu); err != nil {
			return nil, err
		}
		if err := pprof.StartCPUProfile(file); err != nil {
			return nil, errors.Join(err, file.Close())
		}
	}
	traced, err := p.startTrace()
	if err != nil {
		return nil, err
	}
	if p.statements != "" {
		for _, s := range []string{`CREATE EXTENSION IF NOT EXISTS pg_stat_statements`, `SELECT pg_stat_statements_reset()`} {
			if _, err := server.Admin().Exec(ctx, s); err != nil {
				return nil, err
			}
		}
	}
	return func() error {
		var err error
		if file != nil {
			pprof.StopCPUProfile()
			err = file.Close()
		}
		err = errors.Join(err, traced())
		if p.allocs != "" {
			err = errors.Join(err, writeAllocs(p.allocs))
		}
		if p.statements != "" {
			err = errors.Join(err, writeStatements(ctx, server, database, p.statements))
		}
		return err
	}, nil
}

// startTrace begins an execution trace. The returned function ends it.
func (p *profile) startTrace() (stop func() error, err error) {
	if p.trace == "" {
		return func() error { return nil }, nil
	}
	file, err := os.Create(p.trace)
	if err != nil {
		return nil, err
	}
	if err := trace.Start(file); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return func() error {
		trace.Stop()
		return file.Close()
	}, nil
}

func writeAllocs(path string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(pprof.Lookup("allocs").WriteTo(file, 0), file.Close())
}

var spaces = regexp.MustCompile(`\s+`)

// writeStatements writes what the server did in a database, the most expensive first.
func writeStatements(ctx context.Context, server *cluster.Cluster, database, path string) error {
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	defer out.Close()
	rows, err := server.Admin().Query(ctx, `SELECT total_exec_time, calls, rows, wal_records, wal_bytes::bigint, query
		FROM pg_stat_statements s JOIN pg_database d ON d.oid = s.dbid WHERE d.datname = $1
		ORDER BY total_exec_time DESC LIMIT 40`, database)
	if err != nil {
		return err
	}
	defer rows.Close()
	fmt.Fprintf(out, "%10s %9s %9s %9s %12s %11s  %s\n", "ms", "calls", "rows", "µs/call", "wal records", "wal bytes", "statement")
	for rows.Next() {
		var ms float64
		var calls, n, records, bytes int64
		var query string
		if err := rows.Scan(&ms, &calls, &n, &records, &bytes, &query); err != nil {
			return err
		}
		query = spaces.ReplaceAllString(query, " ")
		fmt.Fprintf(out, "%10.0f %9d %9d %9.1f %12d %11d  %.140s\n", ms, calls, n, ms*1000/float64(max(calls, 1)), records, bytes, query)
	}
	return rows.Err()
}
