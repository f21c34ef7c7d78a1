package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"flag"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httputil"
	"net/http/pprof"
	"net/url"
	"os"
	"time"

	"penstock/internal/sim"
)

// idleConns is how many connections the proxy keeps to its upstream: as many as Penstock does. With Go's default of
// two it would dial anew for nearly every call.
const idleConns = 512

// proxyRole is what Penstock is judged by: Go's own reverse proxy, with nothing before or behind it.
func proxyRole(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return flag.ErrHelp
	}
	to, err := url.Parse(args[0])
	if err != nil {
		return err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConns, transport.MaxIdleConnsPerHost = 0, idleConns
	transport.DisableCompression = true
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Body = sized{io.LimitReader(r.Out.Body, r.Out.ContentLength), r.Out.Body}
		},
		Transport: transport,
	}
	return serve(ctx, profiled(proxy), nil)
}

// profiled answers with a CPU profile of this process where Go's servers usually do.
func profiled(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/debug/pprof/profile" {
			pprof.Profile(w, r)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// sized is a body that ends at its length without being asked again. Go's client looks once more whether a body has really ended,
// and its server closes the body when the answer begins: an upstream that answers sooner than the client looks, as the simulated one
// does on a busy machine, would have the proxy cut that answer.
type sized struct {
	io.Reader
	io.Closer
}

// serve answers on a port of its own, which it prints, until ctx ends.
func serve(ctx context.Context, h http.Handler, cert *tls.Certificate) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { _ = s.Close() })
	if cert == nil {
		fmt.Printf("http://%s\n", listener.Addr())
		err = s.Serve(listener)
	} else {
		fmt.Printf("https://%s\n", listener.Addr())
		s.TLSConfig = &tls.Config{Certificates: []tls.Certificate{*cert}}
		err = s.ServeTLS(listener, "", "")
	}
	if err == http.ErrServerClosed {
		return nil
	}
	return err
}

// upstreams are the ways in which the simulated upstream answers here.
var upstreams = map[string]sim.Config{
	"fast": {Fast: true},
	// Streams that are held open last for a minute, longer than it takes to open all of them, and have few chunks: the row
	// measures memory.
	"slow": {OutputTokens: 16, TokensPerSecond: 0.25},
	// Streams as a fast model answers them: every chunk is a read and a write of its own.
	"paced": {OutputTokens: 40, TokensPerSecond: 100},
}

// upstreamRole is the simulated upstream behind TLS and HTTP/2, as providers are. It writes its certificate to a file for the
// clients that have to trust it. Without a file it serves plain HTTP/1.1.
func upstreamRole(ctx context.Context, args []string) error {
	if len(args) != 2 {
		return flag.ErrHelp
	}
	settings, ok := upstreams[args[0]]
	if !ok {
		return fmt.Errorf("there is no upstream %q", args[0])
	}
	model, err := sim.New(settings)
	if err != nil {
		return err
	}
	if args[1] == "" {
		return serve(ctx, model, nil)
	}
	cert, err := selfSigned(args[1])
	if err != nil {
		return err
	}
	return serve(ctx, model, &cert)
}

func selfSigned(file string) (tls.Certificate, error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(24 * time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		return tls.Certificate{}, err
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private}, os.WriteFile(file, text, 0o600)
}
