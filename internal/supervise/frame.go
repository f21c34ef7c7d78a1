package supervise

import (
	"encoding/binary"
	"fmt"
	"io"
)

// A frame is a kind, the length of its body as four bytes in network order, and the body.

// frameKind is the kind of a frame.
type frameKind byte

const (
	frameReady   frameKind = 'R' // child: accepts tasks
	frameTask    frameKind = 'T' // parent: a timeout in nanoseconds (0: none), and the task
	frameCancel  frameKind = 'C' // parent: the answer is no longer needed
	frameMessage frameKind = 'M' // child: a message about the running task
	frameAnswer  frameKind = 'A' // child: the answer
	frameFailure frameKind = 'F' // child: the reason why there is no answer
)

const frameHeader = 5

// writeFrame writes a frame of several parts.
func writeFrame(w io.Writer, kind frameKind, parts ...[]byte) error {
	size := 0
	for _, part := range parts {
		size += len(part)
	}
	header := make([]byte, frameHeader, frameHeader+min(size, 4<<10))
	header[0] = byte(kind)
	binary.BigEndian.PutUint32(header[1:], uint32(size))
	if size <= 4<<10 {
		for _, part := range parts {
			header = append(header, part...)
		}
		parts = nil
	}
	if _, err := w.Write(header); err != nil {
		return err
	}
	for _, part := range parts {
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// readFrame reads a frame with a body of at most limit bytes. A larger frame is an ErrProtocol.
func readFrame(r io.Reader, limit int) (frameKind, []byte, error) {
	var header [frameHeader]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return 0, nil, err
	}
	size := binary.BigEndian.Uint32(header[1:])
	if int64(size) > int64(limit) {
		return 0, nil, fmt.Errorf("%w: a frame of %d bytes, %d are the most", ErrProtocol, size, limit)
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(r, body); err != nil {
		return 0, nil, fmt.Errorf("reading a frame: %w", err)
	}
	return frameKind(header[0]), body, nil
}
