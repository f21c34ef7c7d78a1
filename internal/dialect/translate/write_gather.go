package translate

import (
	"net/http"
	"strings"

	"penstock/internal/provider"
)

// gathered is an answer that is put together before it is written in one piece.
type gathered struct {
	id    string
	parts []*part
	said  strings.Builder // all text
	size  int
	buf   []byte
}

// part is reasoning, a text, or a call with its arguments.
type part struct {
	kind     partKind
	id, name string
	text     strings.Builder
}

type partKind int

const (
	partText partKind = iota
	partThought
	partCall
)

// partBytes is about what a part costs besides its text.
const partBytes = 128

func (g *gathered) begin(id string) { g.id = id }

func (g *gathered) thought(text string) {
	if g.fits(len(text)) {
		g.extend(partThought, text)
	}
}

func (g *gathered) text(text string) {
	if g.fits(len(text)) {
		g.said.WriteString(text)
		g.extend(partText, text)
	}
}

// extend adds to the last part if it is of this kind, else a part.
func (g *gathered) extend(kind partKind, text string) {
	if n := len(g.parts); n == 0 || g.parts[n-1].kind != kind {
		g.add(&part{kind: kind})
	}
	g.parts[len(g.parts)-1].text.WriteString(text)
}

func (g *gathered) call(id, name string) {
	if g.fits(len(id) + len(name)) {
		g.add(&part{kind: partCall, id: id, name: name})
	}
}

// arguments belong to the call that began last, which is the last part unless text arrived in between.
func (g *gathered) arguments(text string) {
	if !g.fits(len(text)) {
		return
	}
	for i := len(g.parts) - 1; i >= 0; i-- {
		if g.parts[i].kind == partCall {
			g.parts[i].text.WriteString(text)
			return
		}
	}
}

func (g *gathered) idle() {}

func (g *gathered) add(p *part) {
	g.size += partBytes
	g.parts = append(g.parts, p)
}

// fits counts what is to be kept. From the first part that is too much on, nothing is.
func (g *gathered) fits(more int) bool {
	g.size += more
	return g.size <= maxAnswerBytes
}

// all returns the whole text, or an error if it is too long.
func (g *gathered) all() ([]*part, error) {
	if g.size > maxAnswerBytes {
		return nil, malformed(nil, "it is too large to be gathered")
	}
	return g.parts, nil
}

// take gives nothing until everything is there.
func (g *gathered) take() provider.Chunk {
	if len(g.buf) == 0 {
		return provider.Chunk{}
	}
	return taken(&g.buf, &g.said)
}

// errorType is the class of an upstream's failure, by the word that both dialects have for it.
func errorType(failure *provider.Error) string {
	if failure.StatusCode >= http.StatusInternalServerError {
		return "api_error"
	}
	return "invalid_request_error"
}

// valid makes an upstream's text valid for JSON.
func valid(text string) string { return strings.ToValidUTF8(text, "\ufffd") }
