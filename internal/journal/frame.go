package journal

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
)

// A frame is a magic number, the length of its payload, a checksum of both, and the payload.
const (
	magic      = "PJ\x01\xf7"
	headBytes  = len(magic) + 4 + 4
	lengthAt   = len(magic)
	checksumAt = lengthAt + 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum is over the length and the payload of a frame.
func checksum(frame []byte) uint32 {
	return crc32.Update(crc32.Checksum(frame[lengthAt:checksumAt], castagnoli), castagnoli, frame[headBytes:])
}

// seal completes the head of a frame whose payload is there.
func seal(frame []byte) {
	binary.LittleEndian.PutUint32(frame[lengthAt:], uint32(len(frame)-headBytes))
	binary.LittleEndian.PutUint32(frame[checksumAt:], checksum(frame))
}

// frames finds the payloads in the bytes of a segment, in order. What is not a whole frame is passed over until one begins
// again; lost is how often that happened before a further frame. What is torn off at the end was being written when the
// process died, and is not counted: the answer of that call did not end.
func frames(text []byte) (payloads [][]byte, lost int) {
	broken := false
	for len(text) > 0 {
		n := frameLength(text)
		if n > 0 {
			if broken {
				lost++
			}
			payloads, text, broken = append(payloads, text[headBytes:n]), text[n:], false
			continue
		}
		broken = true
		next := bytes.Index(text[1:], []byte(magic))
		if next < 0 {
			break
		}
		text = text[1+next:]
	}
	return payloads, lost
}

// frameLength is how long the frame is that text begins with, 0 if it begins with none.
func frameLength(text []byte) int {
	if len(text) < headBytes || string(text[:len(magic)]) != magic {
		return 0
	}
	length := binary.LittleEndian.Uint32(text[lengthAt:])
	if length > MaxRecordBytes || headBytes+int(length) > len(text) {
		return 0
	}
	frame := text[:headBytes+int(length)]
	if binary.LittleEndian.Uint32(frame[checksumAt:]) != checksum(frame) {
		return 0
	}
	return len(frame)
}
