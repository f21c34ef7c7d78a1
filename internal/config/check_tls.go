package config

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"time"
)

// filePaths are the paths whose values name files or servers that only [Snapshot.Inspect] looks at.
var filePaths = []path{"tls", "tls.cert_file", "tls.key_file", "tls.client_ca_file",
	"admin.tls", "admin.tls.cert_file", "admin.tls.key_file", "admin.tls.client_ca_file", "database"}

func (t *TLS) fillDefaults(written places, at path) {
	if t.ClientCAFile != "" {
		fill(written, at+".client_auth", &t.ClientAuth, ClientAuthOptional)
	}
}

// tls checks the settings of one listener. [Snapshot.Inspect] reads the files.
func (c *checker) tls(at path, t TLS) {
	if t.CertFile == "" && t.KeyFile != "" {
		c.fail(at+".cert_file", "is required with %s.key_file", at)
	}
	if t.KeyFile == "" && t.CertFile != "" {
		c.fail(at+".key_file", "is required with %s.cert_file", at)
	}
	switch {
	case t.ClientCAFile == "" && t.ClientAuth != "":
		c.fail(at+".client_auth", "has no effect without %s.client_ca_file: add that, or remove this", at)
	case t.ClientCAFile != "" && t.CertFile == "":
		c.fail(at+".client_ca_file", "needs %s.cert_file: client certificates are part of TLS", at)
	case t.ClientCAFile != "":
		oneOf(c, at+".client_auth", t.ClientAuth, []string{ClientAuthOptional, ClientAuthRequired})
	}
}

// IsZero reports whether the listener serves plain HTTP.
func (t TLS) IsZero() bool { return t == TLS{} }

// TLSFiles are the contents of the files of a listener.
type TLSFiles struct {
	Certificate tls.Certificate
	ClientCAs   *x509.CertPool // nil if client certificates are not asked for
	Digest      [sha256.Size]byte
}

// Load reads the files of the listener whose settings are at a path. The error names the key of the configuration and the
// fix.
func (t TLS) Load(at string) (TLSFiles, error) {
	files, problem := t.load(path(at))
	if problem != nil {
		return files, fmt.Errorf("%s: %s", problem.Path, problem.Message)
	}
	return files, nil
}

func (t TLS) load(at path) (files TLSFiles, problem *Problem) {
	sum := sha256.New()
	read := func(at path, name string) (text []byte) {
		if problem == nil {
			text, problem = readPEM(at, name)
			fmt.Fprintf(sum, "%d:%s", len(text), text)
		}
		return text
	}
	certPEM, keyPEM := read(at+".cert_file", t.CertFile), read(at+".key_file", t.KeyFile)
	var clientCAs []byte
	if t.ClientCAFile != "" {
		clientCAs = read(at+".client_ca_file", t.ClientCAFile)
	}
	if problem != nil {
		return files, problem
	}
	if files.Certificate, problem = keyPair(at, certPEM, keyPEM); problem != nil {
		return files, problem
	}
	if t.ClientCAFile != "" {
		if files.ClientCAs = x509.NewCertPool(); !files.ClientCAs.AppendCertsFromPEM(clientCAs) {
			p := newProblem(at+".client_ca_file", place{}, t.ClientCAFile+" has no certificate; it must hold the PEM certificates of authorities")
			return files, &p
		}
	}
	sum.Sum(files.Digest[:0])
	return files, nil
}

func keyPair(at path, certPEM, keyPEM []byte) (tls.Certificate, *Problem) {
	cert, err := tls.X509KeyPair(certPEM, keyPEM)
	if err == nil {
		return cert, nil
	}
	// The standard library does not say which of the two files is wrong.
	wrong, fix := at+".key_file", fmt.Sprintf("it must hold the PEM private key of the certificate in %s.cert_file", at)
	if !bytes.Contains(certPEM, []byte("-----BEGIN CERTIFICATE-----")) {
		wrong, fix = at+".cert_file", "it must hold a PEM certificate chain, with the server's certificate first"
		if bytes.Contains(certPEM, []byte("PRIVATE KEY-----")) {
			fix += "; this is a private key: are the two files swapped?"
		}
	}
	p := newProblem(wrong, place{}, err.Error()+": "+fix)
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
	AdminTLS TLS
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
	return References{d.file.Process.TLS, d.file.Process.Admin.TLS, d.file.Process.Database, d.places.only(filePaths)}, nil
}

// References are those of a valid configuration.
func (s *Snapshot) References() References {
	return References{s.Process.TLS, s.Process.Admin.TLS, s.Process.Database, s.places}
}

// Inspect checks what a valid configuration refers to outside of itself, as far as that needs no network: the
// certificates of the listeners. A file without any key is a problem too, since it is hardly meant. It returns nil if nothing is wrong.
func (s *Snapshot) Inspect(now time.Time) Problems {
	if s.blank {
		return Problems{newProblem("", place{}, `the file has no keys, so that no model can be called; "penstock config init" writes a file to begin with`)}
	}
	return s.References().Inspect(now)
}

// Inspect checks the certificates of both listeners. It returns nil if nothing is wrong.
func (r References) Inspect(now time.Time) Problems {
	var all Problems
	for _, l := range []struct {
		at  path
		tls TLS
	}{{"tls", r.TLS}, {"admin.tls", r.AdminTLS}} {
		if problem := l.tls.inspect(l.at, now); problem != nil {
			all = append(all, r.Locate(problem.Path, problem.Message))
		}
	}
	return all
}

func (t TLS) inspect(at path, now time.Time) *Problem {
	if t.IsZero() {
		return nil
	}
	files, problem := t.load(at)
	if problem != nil {
		return problem
	}
	leaf, err := x509.ParseCertificate(files.Certificate.Certificate[0])
	message := ""
	switch {
	case err != nil:
		message = err.Error()
	case now.After(leaf.NotAfter):
		message = fmt.Sprintf("the certificate ended on %s; renew it", leaf.NotAfter.Format(time.DateOnly))
	case now.Before(leaf.NotBefore):
		message = fmt.Sprintf("the certificate begins on %s; check the clock of this machine", leaf.NotBefore.Format(time.DateOnly))
	default:
		return nil
	}
	p := newProblem(at+".cert_file", place{}, message)
	return &p
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
