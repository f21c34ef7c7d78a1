package demo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"penstock/internal/demo/text"
	"penstock/internal/sim"
)

// Addresses are the base URLs of the servers that the demo runs beside Penstock.
type Addresses struct {
	Healthy, Slow, Sick string // simulated model servers
	Receiver            string // of webhooks
}

// The paces of the simulated model servers.
const (
	healthyLatency, healthyTokens = 350 * time.Millisecond, 70
	slowLatency, slowTokens       = 1200 * time.Millisecond, 14
	// headerTimeout bounds how long a client may take for the header of a request.
	headerTimeout = 10 * time.Second
	// drainTimeout is how long the servers serve after the demo was stopped: Penstock drains first.
	drainTimeout = time.Minute
)

// Servers are the model servers and the receiver of webhooks that the demo runs beside Penstock.
type Servers struct {
	Addresses
	servers   []*http.Server
	listeners []net.Listener
}

// Listen opens the servers. The receiver listens on the given address if that is free: the webhooks in the database name it.
func Listen(hooks string) (*Servers, error) {
	s := &Servers{}
	simulators := []struct {
		config sim.Config
		url    *string
	}{
		{sim.Config{FirstTokenLatency: healthyLatency, TokensPerSecond: healthyTokens, Jitter: 0.5, Reply: text.Reply}, &s.Healthy},
		{sim.Config{FirstTokenLatency: slowLatency, TokensPerSecond: slowTokens, Jitter: 0.3, Reply: text.Reply}, &s.Slow},
		{sim.Config{FirstTokenLatency: healthyLatency, Faults: sim.Faults{ServerError: 0.7, Overloaded: 0.3}}, &s.Sick},
	}
	for _, m := range simulators {
		server, err := sim.New(m.config)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("preparing a simulated upstream: %w", err), s.Close())
		}
		if *m.url, err = s.open("127.0.0.1:0", server); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	var err error
	if s.Receiver, err = s.open(hooks, new(receiver)); err != nil {
		if s.Receiver, err = s.open("127.0.0.1:0", new(receiver)); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

func (s *Servers) open(address string, h http.Handler) (url string, err error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return "", fmt.Errorf("starting a server of the demo: %w", err)
	}
	s.listeners = append(s.listeners, l)
	s.servers = append(s.servers, &http.Server{Handler: h, ReadHeaderTimeout: headerTimeout})
	return "http://" + l.Addr().String(), nil
}

// Close closes servers that do not run.
func (s *Servers) Close() error {
	var errs []error
	for _, l := range s.listeners {
		errs = append(errs, l.Close())
	}
	return errors.Join(errs...)
}

// Run serves until ctx ends, and then until the open calls have ended.
func (s *Servers) Run(ctx context.Context) error {
	ended := make(chan error, len(s.servers))
	for i, server := range s.servers {
		go func() { ended <- server.Serve(s.listeners[i]) }()
	}
	var errs []error
	select {
	case <-ctx.Done():
	case err := <-ended:
		errs = append(errs, err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	for _, server := range s.servers {
		errs = append(errs, server.Shutdown(ctx))
	}
	return errors.Join(errs...)
}
