package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

const (
	healthTimeout   = 3 * time.Second
	maxHealthAnswer = 4 << 10
)

func (sh *shell) healthCommand() *cobra.Command {
	var at string
	var ready bool
	c := &cobra.Command{
		Use: "health", Short: "Ask a server whether it is alive", Args: takes(),
		Long: `Calls /healthz of the admin API, or /readyz with --ready, and exits with 1 unless the
answer is 200. No key is needed. It is the health check of the container image, which
has no other program.`,
		Example: "  penstock health\n  penstock health --ready --admin-url http://10.0.0.5:9090",
		RunE: func(c *cobra.Command, _ []string) error {
			base, err := sh.adminURL(at)
			if err != nil {
				return err
			}
			path := "healthz"
			if ready {
				path = "readyz"
			}
			hc, err := sh.httpClient()
			if err != nil {
				return err
			}
			answer, err := probe(c.Context(), cmp.Or(hc, http.DefaultClient), base.JoinPath(path).String())
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(sh.stdout, answer)
			return err
		},
	}
	adminFlag(c, &at)
	c.Flags().BoolVar(&ready, "ready", false, "ask whether the server can accept work")
	return c
}

// probe returns the text of an answer with status 200. It sends no key: health checks need none.
func probe(ctx context.Context, hc *http.Client, at string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return "", fmt.Errorf("checking the server: %w", err)
	}
	resp, err := hc.Do(req)
	if errors.Is(err, syscall.ECONNREFUSED) {
		return "", fmt.Errorf("checking the server: %v; set --admin-url or PENSTOCK_ADMIN_URL to the admin_listen of a server", err)
	}
	if err != nil {
		return "", fmt.Errorf("checking the server: %w%s", err, connectionFix(err))
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxHealthAnswer))
	if err != nil {
		return "", fmt.Errorf("checking the server: %w", err)
	}
	answer := strings.TrimSpace(string(text))
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s answers %s: %s", at, resp.Status, answer)
	}
	return answer, nil
}
