//go:build !noui

package console

import (
	"embed"
	"io/fs"
)

// dist is written by `make web`. The file README.md in it lets Go compile before that.
//
//go:embed all:dist
var dist embed.FS

func embedded() fs.FS {
	sub, err := fs.Sub(dist, "dist")
	if err != nil {
		panic(err) // the name is valid
	}
	return sub
}
