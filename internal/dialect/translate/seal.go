package translate

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"

	"github.com/go-json-experiment/json"

	"penstock"
)

// Models that reason demand their reasoning back in loops of tools, with the signature that their service made. A response carries it
// as the encrypted_content of a reasoning item, which callers and Penstock send back as they got it.
//
// The content is marked with its origin: the provider and the model. Only a call to the same origin turns it back. Reasoning of
// another origin, sealed content of OpenAI's own among it, is dropped, because no service can read content that another service sealed, and no service
// shall get it. The mark does not prove anything: a caller can write it, as it can write every other part of its input. The
// upstream checks its own signatures.
//
// The text of the reasoning is not part of the sealed content: filters judge the text that callers read, and cannot read sealed content. The text is
// the summary of the item. A hash tells whether it is still the text that was signed; otherwise the reasoning is dropped,
// because the upstream would refuse it.

// sealMark begins the sealed content of reasoning that Penstock translated.
const sealMark = "penstock.1."

// maxSignatureBytes bounds a signature that is gathered from the events of a stream.
const maxSignatureBytes = 1 << 20

// sealKind is where sealed reasoning belongs in the upstream's dialect.
type sealKind string

const (
	sealThinking sealKind = "thinking" // the signature of a thinking block of a message
	sealRedacted sealKind = "redacted" // a block of thinking that is encrypted
	sealPart     sealKind = "part"     // the signature of the part that follows, Gemini's
	sealEnd      sealKind = "end"      // a signature behind the last part, Gemini's
)

// sealed is reasoning with the signature or the encrypted data that its service needs to accept it again.
type sealed struct {
	Kind sealKind `json:"kind"`
	Sum  string   `json:"sum,omitzero"` // of the text of thinking, see textSum
	Data string   `json:"data"`         // the signature, or all of it, encrypted

	text string // of thinking
}

// textSum is a hash of the text that a signature belongs to.
func textSum(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

// sealer is a writer that can carry sealed reasoning.
type sealer interface{ seal(sealed) }

// sealTo gives sealed reasoning to a writer, and reports whether the writer can carry it.
func sealTo(w writer, s sealed) bool {
	to, ok := ableTo[sealer](w)
	if ok && s.Data != "" {
		to.seal(s)
	}
	return ok
}

// originMark is the mark of an origin. Names of providers are not for callers, so it is a hash.
func originMark(origin string) string {
	sum := sha256.Sum256([]byte(origin))
	return sealMark + hex.EncodeToString(sum[:8]) + "."
}

// content is the encrypted_content of a reasoning item.
func (s sealed) content(origin string) string {
	return originMark(origin) + base64.RawURLEncoding.EncodeToString(encode(s))
}

// unseal reads the encrypted_content of a reasoning item. It is nil for the content of another origin. Content of this origin that
// Penstock did not write is an error.
func unseal(where, content, origin string) (*sealed, error) {
	rest, own := strings.CutPrefix(content, originMark(origin))
	if !own || origin == "" {
		return nil, nil
	}
	s := new(sealed)
	text, err := base64.RawURLEncoding.DecodeString(rest)
	if err == nil {
		err = json.Unmarshal(text, s, json.RejectUnknownMembers(true))
	}
	if err != nil || s.Data == "" {
		return nil, errSeal(where)
	}
	return s, nil
}

func errSeal(where string) error {
	where += ".encrypted_content"
	return penstock.InvalidParam(where, "%s is not what a response contained. Send the reasoning item back unchanged, or leave it out.", where)
}

// isForeign reports whether sealed content was made by a translation, so that no upstream of responses can read it.
func isForeign(content string) bool { return strings.HasPrefix(content, sealMark) }

// mentionsSeal reports whether a body may have sealed content of a translation. A body without it is not read any further.
func mentionsSeal(text []byte) bool { return bytes.Contains(text, []byte(sealMark)) }

// thought is sealed reasoning in the message of a chat that it belongs to.
type thought struct {
	sealed
	texts, calls int // how many texts and calls of the message come before it
}

// chatBody is the body of a chat completion, with the reasoning of its messages, which a chat completion has no place for.
type chatBody struct {
	text     []byte
	thoughts map[int][]thought // by the index of the message
}

// block is the reasoning as a block of a message.
func (s sealed) block() block {
	switch s.Kind {
	case sealThinking:
		return block{Type: "thinking", Thinking: &s.text, Signature: &s.Data}
	case sealRedacted:
		return block{Type: "redacted_thinking", Data: s.Data}
	}
	return block{Type: "text", partSignature: s.Data} // of an empty text
}

// withThoughts puts reasoning in its place between the texts and the calls of an assistant's message.
func withThoughts(thoughts []thought, texts, calls blocks) blocks {
	said := make(blocks, 0, len(thoughts)+len(texts)+len(calls))
	signature := "" // of the next part
	put := func(b block) {
		b.partSignature, signature = signature, ""
		said = append(said, b)
	}
	before := func(texts, calls int) {
		for len(thoughts) > 0 && thoughts[0].texts <= texts && thoughts[0].calls <= calls {
			if thoughts[0].Kind == sealPart {
				signature = thoughts[0].Data
			} else {
				said = append(said, thoughts[0].block())
			}
			thoughts = thoughts[1:]
		}
	}
	for i, b := range texts {
		before(i, 0)
		put(b)
	}
	for i, b := range calls {
		before(len(texts), i)
		put(b)
	}
	before(len(texts), len(calls))
	return said
}

// signature gathers a signature that may arrive in parts.
type signature struct {
	text strings.Builder
	long bool // it is too long to be gathered
}

func (s *signature) add(part string) {
	if s.long = s.long || s.text.Len()+len(part) > maxSignatureBytes; !s.long {
		s.text.WriteString(part)
	}
}

// take returns the signature and begins another. A signature that is too long is named as dropped.
func (s *signature) take(n *notes) string {
	text := s.text.String()
	if s.long {
		n.lose("signature")
		text = ""
	}
	*s = signature{}
	return text
}
