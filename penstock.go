// Package penstock is the vocabulary of Penstock: the nouns that callers, workers, stores and
// providers share, the closed lists of codes they exchange, and the state machine of a job.
//
// It owns meaning, not behaviour: it does no I/O, starts nothing and imports only the standard
// library, so every other package may depend on it. One word stands for one idea here, in SQL, in
// metrics, in logs and in the API; docs/reference/glossary.md lists them.
//
// Values of this package are plain data. They are safe to copy, and safe to share once no one
// writes to them.
package penstock

// Version is the release of this source tree. The build stamps a commit beside it.
const Version = "0.1.0-dev"
