package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// certificate writes a certificate and its key, and returns their paths.
func certificate(t *testing.T, ends time.Time) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "penstock"}, NotBefore: ends.AddDate(-2, 0, 0), NotAfter: ends,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return write(t, "tls.crt", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))),
		write(t, "tls.key", string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret})))
}

// validate reads the files that a configuration names, and serve does not say that it is ready if they are wrong.
func TestTLSFilesAreChecked(t *testing.T) {
	t.Parallel()
	cert, key := certificate(t, testNow.AddDate(1, 0, 0))
	otherCert, otherKey := certificate(t, testNow.AddDate(0, 0, -1))
	empty := write(t, "empty.pem", "")
	for name, tt := range map[string]struct{ cert, key, want string }{
		"good":      {cert, key, ""},
		"missing":   {cert + ".none", key, "13:7: tls.cert_file: stat " + cert + ".none: no such file or directory; give the path"},
		"empty":     {cert, empty, "tls.key_file: " + empty + " is empty; write the PEM text into it"},
		"directory": {filepath.Dir(cert), key, "is not a regular file"},
		"swapped":   {key, cert, "tls.cert_file: tls: "},
		"strangers": {cert, otherKey, "tls.key_file: tls: private key does not match public key: it must hold the PEM private key"},
		"ended":     {otherCert, otherKey, "tls.cert_file: the certificate ended on 2026-11-14; renew it"},
	} {
		d := goodDesk(t)
		path := write(t, "penstock.yaml", goodYAML+"\ntls: {cert_file: "+tt.cert+", key_file: "+tt.key+"}\n")
		got := d.run("config", "validate", path)
		if (got.code == exitOK) != (tt.want == "") || !strings.Contains(got.stdout, tt.want) {
			t.Errorf("%s: %+v, want %q", name, got, tt.want)
		}
		if name == "swapped" && !strings.Contains(got.stdout, "are the two files swapped?") {
			t.Errorf("%s: %+v", name, got)
		}
		if tt.want == "" || name == "ended" { // a server with an ended certificate still serves callers that do not check
			continue
		}
		got = d.run("serve", "--config", path)
		if got.code != exitError || got.stdout != "" || !strings.Contains(got.stderr, "tls.") {
			t.Errorf("%s: serve: %+v", name, got)
		}
	}
}

func TestValidateChecksWhatIsEmptyAndTheDatabase(t *testing.T) {
	t.Parallel()
	d := goodDesk(t)
	for text, want := range map[string]string{
		"":                "the file has no keys, so that no model can be called",
		"# only this\n":   "the file has no keys",
		"listen: :8080\n": "No model is configured",
	} {
		path := write(t, "penstock.yaml", text)
		got := d.run("config", "validate", path)
		if (got.code == exitOK) != strings.HasPrefix(text, "listen") || !strings.Contains(got.stdout, want) {
			t.Errorf("%q: %+v", text, got)
		}
	}
	for url, want := range map[string]string{
		"postgres://u:hidden@db/x?sslmode=sometimes": "penstock.yaml:1:1: database: cannot be used: sslmode is invalid",
		"postgres://u:hidden@db":                     "database: names no database",
		"mysql://u:hidden@db/x":                      "database: must be a URL that looks like",
	} {
		d.env["DB"] = url
		got := d.run("config", "validate", write(t, "penstock.yaml", "database: ${DB}\n"))
		if got.code != exitError || !strings.Contains(got.stdout, want) || strings.Contains(got.stdout, "hidden") {
			t.Errorf("%s: %+v", url, got)
		}
	}
}

// The doctor works beside the server that it examines, also if the server speaks TLS.
func TestDoctorBesideARunningServer(t *testing.T) {
	t.Parallel()
	cert, key := certificate(t, time.Now().AddDate(1, 0, 0))
	d := goodDesk(t)
	free := func() string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		return l.Addr().String()
	}
	path := write(t, "penstock.yaml", strings.NewReplacer("http://127.0.0.1:1", upstream(t), "listen: 127.0.0.1:0\nadmin_listen: 127.0.0.1:0", "listen: "+free()+"\nadmin_listen: "+free()).Replace(goodYAML)+
		"\ntls: {cert_file: "+cert+", key_file: "+key+"}\n")
	server := d.serves(path)
	before, err := os.ReadDir(d.env["PENSTOCK_DATA"])
	if err != nil {
		t.Fatal(err)
	}
	found, got := findings(t, d, "-c", path)
	if got.code != exitOK {
		t.Errorf("%+v", got)
	}
	for _, f := range found {
		if f.Status != healthOK {
			t.Errorf("beside a running server: %+v", f)
		}
	}
	for _, name := range []string{"listen", "admin_listen"} {
		if !strings.Contains(found[name].Detail, "is in use by a Penstock server") {
			t.Errorf("%s: %+v", name, found[name])
		}
	}
	after, err := os.ReadDir(d.env["PENSTOCK_DATA"])
	if err != nil || len(after) != len(before) {
		t.Errorf("the doctor left files: %v, before %v", after, before)
	}
	if code, stderr := server.result(); code != exitOK || strings.Contains(stderr, "not ready") {
		t.Errorf("the server: %d, %s", code, stderr)
	}
}

// The files and the URL that a file names are checked in the same pass as the rest of the file.
func TestValidateFindsAllProblemsAtOnce(t *testing.T) {
	t.Parallel()
	d := goodDesk(t)
	d.env["DB"], d.env["OTHER_DB"] = "postgres://u:hidden@db/x?sslmod=require", "mysql://db/x"
	path := write(t, "penstock.yaml", goodYAML+"\ntls: {cert_file: /none.crt, key_file: /none.key}\ndatabase: \"${DB}\"\nmodles: {}\n")
	got := d.run("config", "validate", path)
	for _, want := range []string{"tls.cert_file: stat /none.crt", `database: has the unknown parameter "sslmod"; did you mean "sslmode"?`, `did you mean "models"?`} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("no %s in %+v", want, got)
		}
	}
	if got.code != exitError || strings.Contains(got.stdout+got.stderr, "hidden") {
		t.Errorf("%+v", got)
	}
	path = write(t, "penstock.yaml", goodYAML+"\ntls: {cert_file: 3, key_file: [x]}\ndatabase: \"${OTHER_DB}\"\n")
	if got := d.run("config", "validate", path); strings.Count(got.stdout, "tls.key_file") != 1 || strings.Count(got.stdout, "database:") != 1 {
		t.Errorf("a value has one problem: %+v", got)
	}
}

// The scheme of --url is checked before its key is looked for.
func TestURLIsCheckedBeforeTheKey(t *testing.T) {
	t.Parallel()
	d := newHarness(t)
	delete(d.env, "PENSTOCK_API_KEY")
	for _, at := range []string{"example.com:8080", "127.0.0.1:8080"} {
		if got := d.run("jobs", "list", "--url", at); got.code != exitUsage || !strings.Contains(got.stderr, "--url: the URL of Penstock must look like http://") {
			t.Errorf("%s: %+v", at, got)
		}
	}
}
