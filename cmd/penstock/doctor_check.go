package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"penstock/internal/app"
	"penstock/internal/config"
	"penstock/internal/payload"
)

// The files that Penstock keeps in its data directory.
const (
	keysetFile   = "keyset.json"
	databaseFile = "penstock.db"
)

const writable = "make it a directory that this user can write to, or set data (PENSTOCK_DATA) to another"

// checkData proves that the data directory can be written, or that it can be made.
func checkData(path string) finding {
	f := finding{Check: "data", Status: healthOK, Detail: path}
	probe := path
	for { // the nearest directory that is there
		info, err := os.Stat(probe)
		if err == nil && !info.IsDir() {
			return finding{"data", healthFail, probe + " is not a directory", writable}
		}
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) || probe == filepath.Dir(probe) {
			return finding{"data", healthFail, err.Error(), writable}
		}
		f.Detail = path + ", which the first start will create"
		probe = filepath.Dir(probe)
	}
	temp, err := os.CreateTemp(probe, ".penstock-doctor-*")
	if err != nil {
		return finding{"data", healthFail, err.Error(), writable}
	}
	if err := errors.Join(temp.Close(), os.Remove(temp.Name())); err != nil {
		return finding{"data", healthWarn, err.Error(), "remove the file yourself"}
	}
	return f
}

// checkKeyset proves that the keys which payloads are sealed with can be read.
func checkKeyset(p config.Process) finding {
	path := filepath.Join(p.Data, keysetFile)
	keys, err := payload.Load(path)
	if err == nil {
		return finding{Check: "keyset", Status: healthOK, Detail: fmt.Sprint(keys)}
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return finding{"keyset", healthFail, err.Error(), "make " + path + " readable for this user alone, or restore it from a backup"}
	}
	if _, err := os.Stat(filepath.Join(p.Data, databaseFile)); err == nil {
		return finding{"keyset", healthFail, path + " is missing, but there is a database",
			"restore it from a backup: stored payloads cannot be read without it"}
	}
	if !p.Database.IsZero() {
		return finding{"keyset", healthWarn, path + " is missing; the first start will create one",
			"if the database was used before, copy the keyset of the process that used it"}
	}
	return finding{Check: "keyset", Status: healthOK, Detail: path + ", which the first start will create"}
}

const (
	// providerTimeout bounds a call to a provider.
	providerTimeout = 3 * time.Second
	// providersAtOnce bounds how many are called at a time.
	providersAtOnce = 8
)

// checkProviders calls every provider. None can fail the doctor: Penstock starts without them, and they
// may be back by then.
func checkProviders(ctx context.Context, providers map[string]config.ProviderConfig) []finding {
	names := slices.Sorted(maps.Keys(providers))
	found := make([]finding, len(names))
	var group errgroup.Group
	group.SetLimit(providersAtOnce)
	for i, name := range names {
		group.Go(func() error {
			found[i] = checkProvider(ctx, providers[name])
			found[i].Check = "provider " + name
			return nil
		})
	}
	_ = group.Wait() // the checks return what they found instead of errors
	return found
}

func checkProvider(ctx context.Context, p config.ProviderConfig) finding {
	ctx, cancel := context.WithTimeout(ctx, providerTimeout)
	defer cancel()
	at := modelsURL(p)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return finding{Status: healthWarn, Detail: err.Error(), Next: "correct base_url"}
	}
	app.SetKey(req.Header, p)
	began := time.Now()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return finding{Status: healthWarn, Detail: err.Error(), Next: "check base_url and the network path to it: proxy, firewall, DNS"}
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK:
		return finding{Status: healthOK, Detail: fmt.Sprintf("%s answers in %v", at, time.Since(began).Round(time.Millisecond))}
	case http.StatusUnauthorized, http.StatusForbidden:
		return finding{Status: healthWarn, Detail: fmt.Sprintf("%s answers %s", at, resp.Status), Next: "correct api_key: the provider refuses it"}
	default:
		return finding{Status: healthWarn, Detail: fmt.Sprintf("%s answers %s", at, resp.Status),
			Next: "check that base_url ends as the provider's API does, often in /v1"}
	}
}

// modelsURL is where a provider lists its models.
func modelsURL(p config.ProviderConfig) string {
	if p.Azure != (config.Azure{}) {
		return p.BaseURL + "/openai/models?api-version=" + url.QueryEscape(p.Azure.APIVersion)
	}
	return p.BaseURL + "/models"
}

// checkAddress proves that an address can be listened on, or that Penstock itself does so already.
func checkAddress(ctx context.Context, name, address string) finding {
	listener, err := net.Listen("tcp", address)
	if err == nil {
		_ = listener.Close() // nothing was accepted
		return finding{Check: name, Status: healthOK, Detail: address + " is free"}
	}
	if !errors.Is(err, syscall.EADDRINUSE) {
		return finding{name, healthFail, err.Error(), "set " + name + " to an address of this machine"}
	}
	if servesHealth(ctx, address) {
		return finding{Check: name, Status: healthOK, Detail: address + " is in use by a Penstock server"}
	}
	return finding{name, healthFail, address + " is in use by another program", "stop that program, or set " + name + " to another address"}
}

// servesHealth reports whether what listens on an address answers as Penstock does.
func servesHealth(ctx context.Context, address string) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	at := net.JoinHostPort(host, port) + "/healthz"
	return isHealthy(ctx, "http://"+at) || isHealthy(ctx, "https://"+at)
}

// anyCertificate is for a question whose answer is trusted with nothing: the certificate names the public host, not the
// address of this machine.
var anyCertificate = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}

// isHealthy reports whether an address answers as Penstock's health check does.
func isHealthy(ctx context.Context, at string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return false
	}
	resp, err := anyCertificate.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	var health struct{ Status string }
	err = json.NewDecoder(io.LimitReader(resp.Body, 1<<10)).Decode(&health)
	return resp.StatusCode == http.StatusOK && err == nil && health.Status == "ok" && resp.Header.Get("penstock-version") != ""
}
