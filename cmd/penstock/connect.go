package main

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"penstock/client"
	"penstock/internal/config"
)

// How often a call is tried. A person at a prompt wants to know soon that no server is there; a command that follows
// a job wants to outlast a restart of the server.
const (
	triesOnce     = 2
	triesFollowed = client.DefaultMaxTries
)

// connect makes a client of the server that the environment names.
func (sh *shell) connect(tries int) (*client.Client, error) {
	at := cmp.Or(sh.variable("PENSTOCK_URL"), client.DefaultURL)
	key, err := sh.apiKey(at)
	if err != nil {
		return nil, err
	}
	c, err := client.New(client.Config{URL: at, APIKey: key, MaxTries: tries})
	if err != nil {
		return nil, fmt.Errorf("PENSTOCK_URL: %w", err)
	}
	return c, nil
}

func (sh *shell) variable(name string) string {
	value, _ := sh.env(name)
	return value
}

// apiKey is the key to call with. The key of the development server is used without being asked for,
// but only on this machine: the key must not reach other servers.
func (sh *shell) apiKey(at string) (string, error) {
	if key := sh.variable("PENSTOCK_API_KEY"); key != "" {
		return key, nil
	}
	if !isLocal(at) {
		return "", fmt.Errorf("PENSTOCK_API_KEY is not set; set it to a key of %s", at)
	}
	path := filepath.Join(cmp.Or(sh.variable("PENSTOCK_DATA"), config.DefaultData), "dev-key")
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf(`PENSTOCK_API_KEY is not set and there is no %s; set the key, or start "penstock dev" in this directory`, path)
	}
	if err != nil {
		return "", fmt.Errorf("reading the key of the development server: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

func isLocal(at string) bool {
	u, err := url.Parse(at)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}
