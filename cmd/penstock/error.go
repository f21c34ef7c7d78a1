package main

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"penstock"
	"penstock/client"
	"penstock/internal/config"
)

// The exit codes.
const (
	exitOK          = 0
	exitError       = 1
	exitUsage       = 2
	exitItemsFailed = 3
)

// usageError is a command line that makes no sense.
type usageError struct{ message string }

func (e usageError) Error() string { return e.message }

// itemsFailedError is work that was done, but not all of it with success.
type itemsFailedError struct{ message string }

func (e itemsFailedError) Error() string { return e.message }

// configError is everything that is wrong with a configuration file.
type configError struct {
	path     string
	problems config.Problems
}

// Error is for logs, which have no place for a list.
func (e *configError) Error() string { return e.sum() + ": " + strings.Join(e.lines(), "; ") }

// sum says how much is wrong.
func (e *configError) sum() string { return e.path + " has " + plural(len(e.problems), "problem") }

// lines renders one problem per line, place first, as editors read it.
func (e *configError) lines() []string {
	lines := make([]string, len(e.problems))
	for i, p := range e.problems {
		sep := ":"
		if p.Line == 0 {
			sep = ": " // it is in no line of the file
		}
		lines[i] = e.path + sep + p.String()
	}
	return lines
}

// report says what went wrong on one line and returns the exit code.
func (sh *shell) report(ran *cobra.Command, err error) int {
	if err == nil {
		return exitOK
	}
	if e, ok := errors.AsType[usageError](err); ok {
		fmt.Fprintf(sh.stderr, "penstock: %s; see \"%s --help\"\n", oneLine(e.message), ran.CommandPath())
		return exitUsage
	}
	if e, ok := errors.AsType[*configError](err); ok && ran.Name() != "validate" { // which lists them on its own
		for _, line := range e.lines() {
			fmt.Fprintln(sh.stderr, line)
		}
	}
	fmt.Fprintf(sh.stderr, "penstock: %s\n", oneLine(explain(err)))
	if _, ok := errors.AsType[itemsFailedError](err); ok {
		return exitItemsFailed
	}
	return exitError
}

// explain adds to an error what to do next, where its text does not say so itself.
func explain(err error) string {
	if errors.Is(err, context.Canceled) {
		return "interrupted"
	}
	if _, ok := errors.AsType[*client.ConnectionError](err); ok {
		return err.Error() + connectionFix(err)
	}
	if errors.Is(err, syscall.ECONNREFUSED) { // a database or a bucket
		return err.Error() + `; check that it runs and that its address is right: "penstock doctor" tells`
	}
	if e, ok := errors.AsType[*configError](err); ok {
		return e.sum() + "; correct the file and try again"
	}
	e, ok := errors.AsType[*client.Error](err)
	if !ok {
		return err.Error()
	}
	if e.Code == "" && strings.Contains(e.Message, "HTTP request to an HTTPS server") { // the answer of net/http
		return e.Error() + "; the server needs TLS: its URL begins with https://"
	}
	switch e.Code {
	case penstock.CodeInvalidKey:
		return e.Error() + "; set PENSTOCK_API_KEY to a key of this server"
	case penstock.CodeModelNotFound:
		return e.Error() + `; "penstock models list" shows the models`
	case penstock.CodeScopeMissing:
		return e.Error() + "; set PENSTOCK_API_KEY to a key that has the scope"
	}
	return e.Error()
}

// connectionFix says what to do about a server that did not answer, "" where that is not known.
func connectionFix(err error) string {
	_, stranger := errors.AsType[x509.UnknownAuthorityError](err)
	_, otherName := errors.AsType[x509.HostnameError](err)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return `; start "penstock dev", or set PENSTOCK_URL to the address of a server`
	case errors.Is(err, http.ErrSchemeMismatch):
		return "; the server has no TLS: its URL begins with http://"
	case stranger:
		return "; name the certificate of its authority with --ca or PENSTOCK_CA"
	case otherName:
		return "; call the server by a name of its certificate"
	}
	return ""
}

func oneLine(s string) string {
	return clean(strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '\n' }), "; "))
}
