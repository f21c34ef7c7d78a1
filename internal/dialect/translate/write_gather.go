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

// part is a text, or a call with its arguments.
type part struct {
	call     bool
	id, name string
	text     strings.Builder
}

// partBytes is about what a part costs besides its text.
const partBytes = 128

func (g *gathered) begin(id string) { g.id = id }

func (g *gathered) text(text string) {
	if !g.fits(len(text)) {
		return
	}
	g.said.WriteString(text)
	if n := len(g.parts); n == 0 || g.parts[n-1].call {
		g.add(&part{})
	}
	g.parts[len(g.parts)-1].text.WriteString(text)
}

func (g *gathered) call(id, name string) {
	if g.fits(len(id) + len(name)) {
		g.add(&part{call: true, id: id, name: name})
	}
}

// arguments belong to the call that began last, which is the last part unless text arrived in between.
func (g *gathered) arguments(text string) {
	if !g.fits(len(text)) {
		return
	}
	for i := len(g.parts) - 1; i >= 0; i-- {
		if g.parts[i].call {
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
