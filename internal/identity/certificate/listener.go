package certificate

import (
	"crypto/tls"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"penstock/internal/config"
)

// lookInterval is how often the files are read again. Renewed certificates are written long before the old ones end.
const lookInterval = 10 * time.Second

// ListenerDeps are what a listener works with.
type ListenerDeps struct {
	Settings config.TLS
	At       string // the path of the settings, for errors
	Log      *slog.Logger
	Clock    func() time.Time
}

// Listener is the TLS of a listener. A handshake reads the files again if the last look was a while ago, so that a renewed
// certificate and a changed list of authorities need no restart. Files that cannot be used leave the old ones in use.
type Listener struct {
	ListenerDeps
	current atomic.Pointer[tls.Config]
	looked  atomic.Int64 // the time of the last look, in nanoseconds

	mu     sync.Mutex // held while the files are read
	digest [32]byte
	failed bool // the last look failed, and was logged
}

// NewTLS reads the files of a listener, and returns the configuration of its server: nil for plain HTTP.
func NewTLS(d ListenerDeps) (*tls.Config, error) {
	if d.Settings.IsZero() {
		return nil, nil
	}
	l := &Listener{ListenerDeps: d}
	l.looked.Store(d.Clock().UnixNano())
	if _, err := l.reload(); err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return l.newest(), nil },
	}, nil
}

// newest is the configuration of a handshake. One handshake reads the files; others go on with the old ones meanwhile.
func (l *Listener) newest() *tls.Config {
	last, now := l.looked.Load(), l.Clock().UnixNano()
	if now-last >= int64(lookInterval) && l.looked.CompareAndSwap(last, now) {
		l.look()
	}
	return l.current.Load()
}

// look reads the files, and logs a change, or the first of several failures.
func (l *Listener) look() {
	l.mu.Lock()
	defer l.mu.Unlock()
	changed, err := l.reload()
	switch {
	case err != nil && !l.failed:
		l.Log.Error("the TLS files cannot be used; the old ones stay in use", "listener", l.At, "error", err)
	case changed:
		l.Log.Info("the TLS files have changed", "listener", l.At)
	}
	l.failed = err != nil
}

// reload reads the files, and puts them in use if they changed.
func (l *Listener) reload() (changed bool, err error) {
	files, err := l.Settings.Load(l.At)
	if err != nil || files.Digest == l.digest {
		return false, err
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
	if l.Settings.ClientAuth == config.ClientAuthRequired {
		c.ClientAuth = tls.RequireAndVerifyClientCert
	}
	// A resumed session would keep a certificate of an authority that was removed meanwhile.
	c.SessionTicketsDisabled = true
	return c
}
