//go:build noui

package console

import (
	"embed"
	"io/fs"
)

func embedded() fs.FS { return embed.FS{} }
