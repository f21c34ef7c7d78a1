// Command s3server is an S3 server over a directory, for tests: Versity's gateway, which is used in production
// elsewhere. It is a module of its own, so that what it needs is no dependency of Penstock's.
//
//	s3server ADDRESS DIRECTORY
//
// serves until it is killed. The key is "test" with the secret "testsecret".
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/embedgw"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: s3server ADDRESS DIRECTORY")
		os.Exit(2)
	}
	if err := serve(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(address, root string) error {
	data, sidecar := filepath.Join(root, "data"), filepath.Join(root, "meta")
	for _, dir := range []string{data, sidecar} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	// Attributes in files of their own work on every file system.
	attributes, err := meta.NewSideCar(sidecar)
	if err != nil {
		return err
	}
	backend, err := posix.New(data, attributes, posix.PosixOpts{SideCarDir: sidecar})
	if err != nil {
		return err
	}
	return embedgw.RunVersityGW(context.Background(), backend, &embedgw.Config{
		RootUserAccess: "test", RootUserSecret: "testsecret", Ports: []string{address}, Quiet: true, KeepAlive: true,
		MaxConnections: 1000, MaxRequests: 1000, MultipartMaxParts: 10_000, HealthPath: "/health",
	})
}
