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
	return serve(ctx, proxy, nil)
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

// Streams that are held open last for a minute, longer than it takes to open all of them, and say little meanwhile:
// what is looked at is memory.
const (
	heldTokens    = 16
	heldPerSecond = 0.25
)

// upstreamRole is the simulated upstream as providers are reached: over TLS, with many streams on one connection.
// It writes its certificate to a file, for those who are to trust it.
func upstreamRole(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return flag.ErrHelp
	}
	model, err := sim.New(sim.Config{OutputTokens: heldTokens, TokensPerSecond: heldPerSecond})
	if err != nil {
		return err
	}
	if args[0] == "" {
		return serve(ctx, model, nil)
	}
	cert, err := selfSigned(args[0])
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
