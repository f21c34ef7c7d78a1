package translate

import (
	"io"

	"penstock/internal/dialect"
	"penstock/internal/provider"
)

// whole translates calls whose answers are never streamed and have no text: embeddings, rankings and counts of tokens.
type whole struct {
	request  func(body []byte) ([]byte, []string, error)
	answer   func(body []byte, asked dialect.Asked, meta provider.Meta) ([]byte, error)
	envelope func(failure *provider.Error) any
}

// Request implements [Translation].
func (t *whole) Request(body []byte, _ dialect.Upstream) (translated []byte, dropped []string, err error) {
	return t.request(body)
}

// Error implements [Translation].
func (t *whole) Error(failure *provider.Error) *provider.Error {
	return (&translation{envelope: t.envelope}).Error(failure)
}

// Answer implements [Translation].
func (t *whole) Answer(upstream provider.Answer, asked dialect.Asked) provider.Answer {
	return &wholeAnswer{Answer: upstream, translate: t.answer, asked: asked}
}

// wholeAnswer is an answer in one piece, in the caller's dialect.
type wholeAnswer struct {
	provider.Answer
	translate func(body []byte, asked dialect.Asked, meta provider.Meta) ([]byte, error)
	asked     dialect.Asked
	err       error // how it ended, nil until then
}

func (a *wholeAnswer) Next() (provider.Chunk, error) {
	if a.err != nil {
		return provider.Chunk{}, a.err
	}
	text, err := io.ReadAll(io.LimitReader(&chunkReader{from: a.Answer}, maxAnswerBytes+1))
	if err == nil && len(text) > maxAnswerBytes {
		err = malformed(nil, "it is too large to be translated")
	}
	if err == nil {
		text, err = a.translate(text, a.asked, a.Meta())
	}
	if a.err = err; err != nil {
		return provider.Chunk{}, err
	}
	a.err = io.EOF
	return provider.Chunk{Wire: text, Last: true}, nil
}
