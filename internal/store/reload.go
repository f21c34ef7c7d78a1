package store

// Reload is a configuration that takes the place of another in one process.
type Reload struct {
	Actor         string
	Before, After string   // their hashes
	Changes       []string // what differs, in the words of package config; without secrets
}

// ActionReload is what the audit calls a reload.
const ActionReload = "config.reload"
