// Command release builds the archives of a release: one for each platform, with a bill of materials (CycloneDX) beside it
// and a file of checksums. `make release` runs it.
//
// The files depend on the commit and on the version of Go, and on nothing else: no clock, no path, no user. So anyone can
// build them again and compare the checksums.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"penstock"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	r := release{version: penstock.Version, pkg: "./cmd/penstock", root: "."}
	flag.StringVar(&r.out, "out", "dist", "directory of the result; it must be empty or missing")
	flag.BoolVar(&r.dirty, "dirty", false, "build although the source differs from the commit; the result cannot be reproduced")
	flag.Parse()
	if err := r.run(ctx, platforms); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		stop()
		os.Exit(1)
	}
}
