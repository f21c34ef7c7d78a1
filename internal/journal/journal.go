// Package journal keeps the records of synchronous calls in files until the database has them, so that a record
// survives the death of the process that made it.
//
// A record is appended with one write and without a flush, before the answer of its call ends. The page cache of the
// kernel outlives a process that is killed, so the record is there for the next start; it does not outlive the machine:
// after a power failure the records of the last seconds may be missing. Package request makes the records, and package
// record writes them to the database.
//
// A journal is a directory with a few segments. Records are appended to one of them. [Journal.Seal] begins another
// segment, so that earlier segments can be emptied when the database has all of their records. An idle process has
// empty segments. A segment belongs to the process that holds its lock (flock). The lock ends with the process, however
// that ends. So several processes may share a directory, and [Replay] touches only the segments of dead processes.
//
// Invariants:
//   - A frame has a length and a checksum. A frame that was not written whole is skipped; the frames before and after it
//     are read.
//   - Appending never waits for anything but the file. When it fails the caller goes on: see [Config.Failed].
//   - Segments, their bytes and the size of a record are bounded.
//
// A Journal is safe for concurrent use and starts no goroutine. The nil Journal keeps nothing.
package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"penstock"
)

// The bounds of a journal.
const (
	// MaxBytes is how much all segments of a process may hold together.
	MaxBytes = 256 << 20
	// MaxRecordBytes is how large one record may be.
	MaxRecordBytes = 1 << 20
	// MaxSegments is how many files a process has. Past that, the one that takes appends grows instead.
	MaxSegments = 64
	// segmentBytes is from which size on another segment is begun, whether or not anybody seals it.
	segmentBytes = 8 << 20
	// spareSegments is how many empty segments are kept for later.
	spareSegments = 2
)

// suffix ends the names of segments. A segment that is being made has another name until it is locked.
const suffix = ".journal"

// Config is how a journal is kept.
type Config struct {
	Dir string // is made if it is missing
	// Failed is called with the error of a record that could not be appended. The call goes on: its record is still in memory, and lost only if
	// the process dies before the database has it. May be nil.
	Failed func(error)
}

// Journal is the journal of one process.
type Journal struct {
	Config
	buffers sync.Pool // of *[]byte

	mu      sync.Mutex
	current *segment // takes appends; nil until there is one, and after Close
	spare   []*segment
	count   int // of all segments
	bytes   int64
	closed  bool
}

// segment is one file. All fields are guarded by the journal.
type segment struct {
	file *os.File
	size int64
	open int // records that are not in the database yet
}

// Mark is where a record was appended. The zero Mark is that of a record that was not.
type Mark struct{ segment *segment }

// Open makes the directory of a journal, and its first segment.
func Open(cfg Config) (*Journal, error) {
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("creating the journal: %w", err)
	}
	j := &Journal{Config: cfg, buffers: sync.Pool{New: func() any { return new([]byte) }}}
	s, err := j.newSegment()
	if err != nil {
		return nil, err
	}
	j.current = s
	return j, nil
}

// newSegment makes a file that is locked before anybody else can find it.
func (j *Journal) newSegment() (*segment, error) {
	f, err := os.CreateTemp(j.Dir, "*.new") // 0600
	if err != nil {
		return nil, fmt.Errorf("creating a segment of the journal: %w", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		err = os.Rename(f.Name(), segmentName(f))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("creating a segment of the journal: %w", err), f.Close(), os.Remove(f.Name()))
	}
	j.count++
	return &segment{file: f}, nil
}

// segmentName is what the file of a segment is called once it is locked.
func segmentName(f *os.File) string {
	name := f.Name()
	return name[:len(name)-len(filepath.Ext(name))] + suffix
}

// Append writes a record. When that fails it calls Failed, and the mark is zero.
func (j *Journal) Append(r *penstock.Request) Mark {
	if j == nil {
		return Mark{}
	}
	buffer := j.buffers.Get().(*[]byte)
	defer j.buffers.Put(buffer)
	*buffer = appendFrame((*buffer)[:0], r)
	m, err := j.append(*buffer)
	if err != nil && j.Failed != nil {
		j.Failed(err)
	}
	return m
}

func (j *Journal) append(frame []byte) (Mark, error) {
	if len(frame) > MaxRecordBytes {
		return Mark{}, fmt.Errorf("a record of %d bytes is larger than the journal takes (%d)", len(frame), MaxRecordBytes)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.bytes+int64(len(frame)) > MaxBytes {
		return Mark{}, fmt.Errorf("the journal is full: %d bytes wait to be in the database", j.bytes)
	}
	if j.current != nil && j.current.size >= segmentBytes {
		j.rotate()
	}
	s := j.current
	if s == nil {
		return Mark{}, errors.New("the journal is closed")
	}
	// At the segment's own end and not at the file's: what a write left that failed halfway is written over.
	if _, err := s.file.WriteAt(frame, s.size); err != nil {
		return Mark{}, fmt.Errorf("appending to the journal: %w", err)
	}
	s.size += int64(len(frame))
	j.bytes += int64(len(frame))
	s.open++
	return Mark{s}, nil
}

// Seal begins another segment if there is anything in the current one. The recorder calls it
// before each group, so that a segment is done with soon after it was begun.
func (j *Journal) Seal() {
	if j == nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	s := j.current
	if s == nil || s.size == 0 {
		return
	}
	if s.open == 0 {
		j.empty(s)
		return
	}
	j.rotate()
}

// rotate makes an empty segment the current one. Without one, and when none can be made, the current one grows.
func (j *Journal) rotate() {
	if len(j.spare) == 0 && j.count < MaxSegments {
		if fresh, err := j.newSegment(); err == nil {
			j.spare = append(j.spare, fresh)
		}
	}
	if n := len(j.spare); n > 0 {
		j.current, j.spare = j.spare[n-1], j.spare[:n-1]
	}
}

// Done notes that the database has a record.
func (j *Journal) Done(m Mark) {
	if m.segment == nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	s := m.segment
	s.open--
	switch {
	case s.open > 0:
	case j.closed:
		j.remove(s)
	case s == j.current:
		j.empty(s)
	default:
		j.empty(s)
		if s.size > 0 || len(j.spare) >= spareSegments {
			j.remove(s)
		} else {
			j.spare = append(j.spare, s)
		}
	}
}

// empty lets go of records that the database has. If it does not work they are replayed, which changes nothing.
func (j *Journal) empty(s *segment) {
	if s.file.Truncate(0) == nil {
		j.bytes -= s.size
		s.size = 0
	}
}

// remove deletes a segment without open records.
func (j *Journal) remove(s *segment) {
	_ = os.Remove(segmentName(s.file))
	_ = s.file.Close()
	j.bytes -= s.size
	j.count--
}

// Close removes segments without open records. Those with some stay for [Replay].
func (j *Journal) Close() error {
	if j == nil {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, s := range append(j.spare, j.current) {
		if s != nil && s.open == 0 {
			j.remove(s)
		}
	}
	j.current, j.spare, j.closed = nil, nil, true
	return nil // files that are left are closed, and unlocked, with the process
}
