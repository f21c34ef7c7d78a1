// Package penstock is the vocabulary of Penstock: the nouns that callers, workers, stores and
// providers share, the closed lists of codes they exchange, and the state machine of a job.
//
// It does no I/O, starts nothing and imports only the standard library, so every other package may depend on it. Each
// idea has one word, which is also used in SQL, metrics, logs and the API; docs/reference/glossary.md lists the words.
//
// Values of this package are plain data. They are safe to copy, and safe to share as long as no goroutine writes to
// them.
package penstock

// Version is the release of this source tree. The build adds the commit.
const Version = "0.1.0-dev"
