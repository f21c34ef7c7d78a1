// Package check holds the files under deploy/, the Dockerfile and compose.yaml against the programs that read them: the
// linter of BuildKit, the loader of Compose, the linter and the renderer of Helm, the types of Kubernetes and the parsers
// of Prometheus. It is a module of its own, so that these programs are no dependencies of Penstock. `make deploy` runs it.
package check
