package file

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"

	"penstock"
	"penstock/internal/payload"
)

// sealing seals and opens the parts of one file.
type sealing struct {
	codec  Codec
	tenant penstock.TenantID
	file   penstock.ID
}

const indexPart = "index"

func chunkPart(n int) string { return "chunk " + strconv.Itoa(n) }

func (s sealing) owner(part string) payload.Owner {
	return payload.Owner{Tenant: string(s.tenant), ID: string(s.file), Part: part}
}

// readBuffer is how much of the content is asked for at a time.
const readBuffer = 64 << 10

// sealer turns content into the form that it has in a blob, as it is read.
type sealer struct {
	source *bufio.Reader
	lines  lineSink
	sealing
	index chunkIndex

	plain   []byte // the chunk being gathered
	inLine  bool   // the content so far ends within a line
	ended   int    // lines that have ended
	drained bool   // the source has ended
	done    bool   // the index was sealed
	out     []byte // sealed and not yet read
	err     error
}

func newSealer(content io.Reader, lines lineSink, s sealing) *sealer {
	return &sealer{source: bufio.NewReaderSize(content, readBuffer), lines: lines, sealing: s}
}

// Read implements io.Reader.
func (s *sealer) Read(p []byte) (int, error) {
	for len(s.out) == 0 {
		if s.err == nil {
			s.err = s.next()
		}
		if s.err != nil {
			return 0, s.err
		}
	}
	n := copy(p, s.out)
	s.out = s.out[n:]
	return n, nil
}

// next seals the next part.
func (s *sealer) next() (err error) {
	if s.done {
		return io.EOF
	}
	if !s.drained {
		entry := chunk{continues: s.inLine}
		if entry.begun, err = s.gather(); err != nil {
			return err
		}
		if len(s.plain) > 0 {
			part := chunkPart(len(s.index.chunks))
			if s.out, err = s.codec.Seal(s.owner(part), s.plain); err != nil {
				return fmt.Errorf("sealing %s: %w", part, err)
			}
			entry.plain, entry.sealed = len(s.plain), len(s.out)
			s.index.add(entry)
			return nil
		}
	}
	s.done = true
	if s.out, err = s.codec.Seal(s.owner(indexPart), s.index.encode()); err != nil {
		return fmt.Errorf("sealing the index: %w", err)
	}
	return nil
}

// gather fills the next chunk and returns how many lines began in it.
func (s *sealer) gather() (begun int, err error) {
	s.plain = s.plain[:0]
	for len(s.plain) < ChunkBytes {
		part, err := s.source.ReadSlice('\n')
		s.plain = append(s.plain, part...)
		if len(part) > 0 && !s.inLine {
			begun++
		}
		s.drained = errors.Is(err, io.EOF)
		if err != nil && !s.drained && !errors.Is(err, bufio.ErrBufferFull) {
			return begun, err
		}
		ends := err == nil
		if ends || s.drained && (s.inLine || len(part) > 0) {
			if err := s.lines.line(part, true); err != nil {
				return begun, err
			}
			s.inLine = false
			s.ended++
		} else if len(part) > 0 {
			if err := s.lines.line(part, false); err != nil {
				return begun, err
			}
			s.inLine = true
		}
		if s.drained || ends && s.ended%ChunkLines == 0 {
			return begun, nil
		}
	}
	return begun, nil
}
