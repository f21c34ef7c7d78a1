package certificate

import (
	"context"
	"crypto/tls"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"penstock/internal/config"
)

// pollInterval is how often the files are read again. Renewed certificates are in use long before the old ones end.
const pollInterval = 15 * time.Second

// Listener is the TLS of a listener. It uses the certificate and the authorities that its files have at the time of a
// handshake.
type Listener struct {
	settings config.TLS
	at       string // the path of the settings
	log      *slog.Logger
	current  atomic.Pointer[tls.Config]

	mu     sync.Mutex // held while current is replaced
	digest [32]byte
	failed bool // the last reading failed, and was logged
}

// NewListener reads the files of a listener. The path of the settings is for errors.
func NewListener(settings config.TLS, at string, log *slog.Logger) (*Listener, error) {
	l := &Listener{settings: settings, at: at, log: log}
	_, err := l.reload()
	return l, err
}

// Config is the configuration for a server. Each handshake uses the newest files.
func (l *Listener) Config() *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return l.current.Load(), nil },
	}
}

// Refresh reads the files now. If they cannot be used, the old ones stay in use and the log has the reason, once.
func (l *Listener) Refresh(ctx context.Context) {
	changed, err := l.reload()
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err != nil && !l.failed:
		l.log.ErrorContext(ctx, "the TLS files cannot be used; the old ones stay in use", "listener", l.at, "error", err)
	case changed:
		l.log.InfoContext(ctx, "the TLS files have changed", "listener", l.at)
	}
	l.failed = err != nil
}

// Run reads the files again and again until ctx ends.
func (l *Listener) Run(ctx context.Context) error {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			l.Refresh(ctx)
		}
	}
}

// reload reads the files, and puts them in use if they changed.
func (l *Listener) reload() (changed bool, err error) {
	files, err := l.settings.Load(l.at)
	if err != nil {
		return false, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if files.Digest == l.digest {
		return false, nil
	}
	l.digest = files.Digest
	l.current.Store(l.config(files))
	return true, nil
}

func (l *Listener) config(files config.TLSFiles) *tls.Config {
	c := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{files.Certificate}, NextProtos: []string{"h2", "http/1.1"}}
	if files.ClientCAs == nil {
		return c
	}
	c.ClientCAs, c.ClientAuth = files.ClientCAs, tls.VerifyClientCertIfGiven
	if l.settings.ClientAuth == config.ClientAuthRequired {
		c.ClientAuth = tls.RequireAndVerifyClientCert
	}
	// A resumed session would keep a certificate of an authority that was removed meanwhile.
	c.SessionTicketsDisabled = true
	return c
}
