package config

import (
	"sync"
	"sync/atomic"
)

// Live holds the snapshot in force. Readers take it once per piece of work and keep it, so that all
// of that work sees one configuration. Safe for concurrent use.
type Live struct {
	current atomic.Pointer[Snapshot]
	swaps   sync.Mutex // held while one snapshot replaces another
}

// NewLive puts a first snapshot in force.
func NewLive(first *Snapshot) *Live {
	l := new(Live)
	l.current.Store(first)
	return l
}

// Current returns the snapshot in force. It never blocks.
func (l *Live) Current() *Snapshot { return l.current.Load() }

// Swap puts another snapshot in force and lists what differs from the one before. The settings of
// the process stay those it was started with, so that Current always shows what really applies; a
// difference in them is listed again each time, until a restart.
func (l *Live) Swap(next *Snapshot) []Change {
	l.swaps.Lock()
	defer l.swaps.Unlock()
	return l.swap(next)
}

func (l *Live) swap(next *Snapshot) []Change {
	old := l.current.Load()
	changes := Diff(old, next)
	kept := *next
	kept.Process, kept.file.Process = old.Process, old.file.Process
	l.current.Store(&kept)
	return changes
}

// Reload reads the file at path and puts it in force. When anything is wrong with it, the error says
// what, and the snapshot in force stays.
func (l *Live) Reload(path string, env Env) ([]Change, error) {
	// Reading is part of the swap: of two reloads, the one that read last must win.
	l.swaps.Lock()
	defer l.swaps.Unlock()
	next, err := Load(path, env)
	if err != nil {
		return nil, err
	}
	return l.swap(next), nil
}
