package config

import (
	"net/url"
	"regexp"
	"strings"
)

// Console is the pages for people, which the listener of the public API serves.
type Console struct {
	// Disabled is whether the pages are left out. The APIs stay as they are. Zero: the pages are served.
	Disabled bool `yaml:"disabled,omitempty"`

	// BasePath is the path below which a proxy serves Penstock, such as /penstock, without a slash at its end. Requests are
	// served with the path and without it, so the proxy may keep the path or cut it off. At most 128 bytes. Zero: the path of
	// PublicURL.
	BasePath string `yaml:"base_path,omitempty"`
}

// basePath is a path of words, so that it cannot name another host or break out of an attribute.
var basePath = regexp.MustCompile(`^(/[A-Za-z0-9][A-Za-z0-9._~-]*)+$`)

func (c *checker) console(p Console) {
	if p.BasePath != "" && (len(p.BasePath) > 128 || !basePath.MatchString(p.BasePath)) {
		c.fail("console.base_path", "must be a path such as /penstock, without a slash at its end")
	}
}

// ConsolePath is the path below which callers find the console: "" or a path without a slash at its end.
func (p *Process) ConsolePath() string {
	if p.Console.BasePath != "" {
		return p.Console.BasePath
	}
	public, err := url.Parse(p.PublicURL)
	if err != nil {
		return ""
	}
	if path := strings.TrimRight(public.Path, "/"); basePath.MatchString(path) {
		return path
	}
	return ""
}
