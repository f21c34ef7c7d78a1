package config

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"time"
)

// filePaths are the paths whose values name files or servers that only [Snapshot.Inspect] looks at.
var filePaths = []path{"tls", "tls.cert_file", "tls.key_file", "database"}

// Certificate reads the certificate and its key. The error names the key of the configuration and the fix.
func (t TLS) Certificate() (tls.Certificate, error) {
	cert, problem := t.certificate()
	if problem != nil {
		return cert, fmt.Errorf("%s: %s", problem.Path, problem.Message)
	}
	return cert, nil
}

func (t TLS) certificate() (tls.Certificate, *Problem) {
	certPEM, problem := readPEM("tls.cert_file", t.CertFile)
	if problem != nil {
		return tls.Certificate{}, problem
	}
	keyPEM, problem := readPEM("tls.key_file", t.KeyFile)
	if problem != nil {
		return tls.Certificate{}, problem
	}
	cert, err := tls.X509KeyPair(certPEM, keyPEM)
	if err == nil {
		return cert, nil
	}
	// The standard library does not say which of the two files is wrong.
	at, fix := path("tls.key_file"), "it must hold the PEM private key of the certificate in tls.cert_file"
	if !bytes.Contains(certPEM, []byte("-----BEGIN CERTIFICATE-----")) {
		at, fix = "tls.cert_file", "it must hold a PEM certificate chain, with the server's certificate first"
		if bytes.Contains(certPEM, []byte("PRIVATE KEY-----")) {
			fix += "; this is a private key: are the two files swapped?"
		}
	}
	p := newProblem(at, place{}, err.Error()+": "+fix)
	return tls.Certificate{}, &p
}

// maxPEMBytes bounds a certificate chain.
const maxPEMBytes = 1 << 20

func readPEM(at path, name string) ([]byte, *Problem) {
	fail := func(format string, args ...any) ([]byte, *Problem) {
		p := newProblem(at, place{}, fmt.Sprintf(format, args...))
		return nil, &p
	}
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return fail("%v; give the path of a PEM file that this user can read", err)
	case !info.Mode().IsRegular():
		return fail("%s is not a regular file; give the path of a PEM file", name)
	case info.Size() == 0:
		return fail("%s is empty; write the PEM text into it", name)
	case info.Size() > maxPEMBytes:
		return fail("%s is larger than %d bytes; give the path of a PEM file", name, maxPEMBytes)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return fail("%v; make it readable for this user", err)
	}
	return text, nil
}

// References are the values of a configuration that name files and servers. They can be looked at even if the rest of
// the file is wrong.
type References struct {
	TLS      TLS
	Database Secret

	places places
}

// LoadReferences reads the references of a file whose other values may be wrong. They are empty if the text cannot be
// read at all.
func LoadReferences(path string, env Env) (References, error) {
	data, err := readFile(path)
	if err != nil {
		return References{}, err
	}
	d := decode(data, env)
	if d.fatal {
		return References{}, nil
	}
	d.override(env)
	return References{d.file.Process.TLS, d.file.Process.Database, d.places.only(filePaths)}, nil
}

// References are those of a valid configuration.
func (s *Snapshot) References() References {
	return References{s.Process.TLS, s.Process.Database, s.places}
}

// Inspect checks what a valid configuration refers to outside of itself, as far as that needs no network: the
// certificate of the API. A file without any key is a problem too, since it is hardly meant. It returns nil if nothing is wrong.
func (s *Snapshot) Inspect(now time.Time) Problems {
	if s.blank {
		return Problems{newProblem("", place{}, `the file has no keys, so that no model can be called; "penstock config init" writes a file to begin with`)}
	}
	return s.References().Inspect(now)
}

// Inspect checks the certificate of the API. It returns nil if nothing is wrong.
func (r References) Inspect(now time.Time) Problems {
	if r.TLS == (TLS{}) {
		return nil
	}
	cert, problem := r.TLS.certificate()
	if problem != nil {
		return Problems{r.Locate(problem.Path, problem.Message)}
	}
	leaf, err := x509.ParseCertificate(cert.Certificate[0])
	switch {
	case err != nil:
		return Problems{r.Locate("tls.cert_file", err.Error())}
	case now.After(leaf.NotAfter):
		return Problems{r.Locate("tls.cert_file", fmt.Sprintf("the certificate ended on %s; renew it", leaf.NotAfter.Format(time.DateOnly)))}
	case now.Before(leaf.NotBefore):
		return Problems{r.Locate("tls.cert_file", fmt.Sprintf("the certificate begins on %s; check the clock of this machine", leaf.NotBefore.Format(time.DateOnly)))}
	}
	return nil
}

// Locate is a problem at the place where the file has a value that Inspect looks at.
func (r References) Locate(at, message string) Problem {
	return newProblem(path(at), r.places.nearest(path(at)), message)
}

// only keeps the places of some paths.
func (ps places) only(paths []path) places {
	kept := places{}
	for _, p := range paths {
		if at, ok := ps[p]; ok {
			kept[p] = at
		}
	}
	return kept
}
