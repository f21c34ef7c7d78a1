package dev

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"

	"penstock/internal/config"
)

// The admin API of the development server leaves its default address if another program listens there, and says so. An
// address that was set does not move.
func TestDevAdminAddress(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { taken.Close() })
	vars := map[string]string{"PENSTOCK_DATA": t.TempDir(), "PENSTOCK_LISTEN": "127.0.0.1:0", "PENSTOCK_ADMIN_LISTEN": taken.Addr().String()}
	err = Run(t.Context(), Options{Env: environment(vars), Log: io.Discard, Out: io.Discard})
	if err == nil || !strings.Contains(err.Error(), "PENSTOCK_ADMIN_LISTEN") || !strings.Contains(err.Error(), taken.Addr().String()) {
		t.Errorf("with an address that is in use: %v", err)
	}

	if standard, err := net.Listen("tcp", config.DefaultAdminListen); err == nil { // else another program has it, which is as good
		t.Cleanup(func() { standard.Close() })
	}
	delete(vars, "PENSTOCK_ADMIN_LISTEN")
	vars["PENSTOCK_DATA"] = t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	out := &greeted{cancel: cancel}
	if err := Run(ctx, Options{Env: environment(vars), Log: io.Discard, Out: out}); err != nil {
		t.Errorf("with the default address: %v", err)
	}
	if !strings.Contains(out.String(), "Another program listens on "+config.DefaultAdminListen) {
		t.Errorf("the greeting does not say that the admin API moved: %s", out)
	}
}

// greeted keeps the greeting and ends the server after it.
type greeted struct {
	strings.Builder
	cancel func()
}

func (g *greeted) Write(p []byte) (int, error) {
	n, err := g.Builder.Write(p)
	if strings.Contains(g.String(), "Another program") {
		g.cancel()
	}
	return n, err
}
