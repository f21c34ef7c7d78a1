package process

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// Profiling is a CPU profile of a server that serves net/http/pprof.
type Profiling struct {
	Address string // host and port
	Key     string // of the admin API, "" for none
	Length  time.Duration
	File    string // that gets the profile
}

// Run waits for the profile and writes the file.
func (p Profiling) Run(ctx context.Context) error {
	url := fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", p.Address, max(1, int(p.Length.Seconds())))
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+p.Key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("profiling: %s: %s", resp.Status, text)
	}
	return os.WriteFile(p.File, text, 0o600)
}
