package file

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"penstock"
	"penstock/internal/dialect/attach"
	"penstock/internal/store"
)

// sniffer reads content on its way to a blob, and finds out its type and its hash. The type is that of the content: neither a name
// nor a header decides it.
type sniffer struct {
	from io.Reader
	sum  hash.Hash
	head []byte // the first bytes, at most headBytes
	tail []byte // the start of a character that continues in the next bytes
	text bool   // all of it so far is text
}

const headBytes = 16

func newSniffer(from io.Reader) *sniffer {
	return &sniffer{from: from, sum: sha256.New(), text: true}
}

// Read implements io.Reader.
func (s *sniffer) Read(p []byte) (int, error) {
	n, err := s.from.Read(p)
	s.sum.Write(p[:n])
	if missing := headBytes - len(s.head); missing > 0 {
		s.head = append(s.head, p[:min(n, missing)]...)
	}
	if s.text {
		s.check(p[:n])
	}
	return n, err
}

// check says whether more bytes are text: valid UTF-8 without control characters, except those that lay text out.
func (s *sniffer) check(more []byte) {
	if len(s.tail) > 0 {
		more = append(s.tail, more...)
	}
	cut := attach.WholeCharacters(more)
	s.text = utf8.Valid(more[:cut]) && bytes.IndexFunc(more[:cut], isControl) < 0
	s.tail = slices.Clone(more[cut:])
}

func isControl(r rune) bool { return r < ' ' && r != '\t' && r != '\n' && r != '\r' && r != '\f' }

// signatures are the first bytes of the types.
var signatures = []struct{ mediaType, first string }{
	{"image/png", "\x89PNG\r\n\x1a\n"}, {"image/jpeg", "\xff\xd8\xff"}, {"image/gif", "GIF87a"}, {"image/gif", "GIF89a"}, {attach.PDF, "%PDF-"},
}

// mediaType is the type of all that was read, "" for one that requests cannot hold.
func (s *sniffer) mediaType() string {
	for _, t := range signatures {
		if bytes.HasPrefix(s.head, []byte(t.first)) {
			return t.mediaType
		}
	}
	if bytes.HasPrefix(s.head, []byte("RIFF")) && len(s.head) >= 12 && string(s.head[8:12]) == "WEBP" {
		return "image/webp"
	}
	if s.text && len(s.tail) == 0 {
		return attach.Text
	}
	return ""
}

// finish completes a file that requests may name. Codes: invalid_request, too_large.
func (s *sniffer) finish(f *store.File, most int64) error {
	f.MediaType, f.SHA256 = s.mediaType(), hex.EncodeToString(s.sum.Sum(nil))
	switch {
	case f.Bytes == 0:
		return penstock.InvalidParam("file", "The file is empty.")
	case f.Bytes > most:
		return penstock.Errorf(penstock.CodeTooLarge, "The file has %d bytes. A file with the purpose %s has at most %d: that is what a request can hold (limits.max_body_bytes).",
			f.Bytes, f.Purpose, most)
	case f.MediaType == "":
		return penstock.InvalidParam("file", "The content is of no type that requests can hold: %s (in UTF-8).", strings.Join(attach.MediaTypes, ", "))
	case f.Purpose == store.PurposeVision && !attach.IsImage(f.MediaType):
		return penstock.InvalidParam("file", "The content is %s; a file with the purpose vision must be an image. Use the purpose user_data.", f.MediaType)
	}
	return nil
}

// MaxMediaBytes is the largest file that a body of so many bytes can hold in base64, with some space for the rest of the body.
func MaxMediaBytes(maxBody int64) int64 { return max(maxBody-maxBody/16, 0) / 4 * 3 }
