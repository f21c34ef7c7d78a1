package app

import (
	"penstock"
	"penstock/internal/attempt"
	"penstock/internal/dialect/translate"
	"penstock/internal/provider"
)

// translator adapts package translate to the interface that package attempt declares.
type translator struct{}

// For implements attempt.Translator.
func (translator) For(from, to penstock.Endpoint) (attempt.Translation, bool) {
	t, ok := translate.For(from, to)
	return translation{t}, ok
}

// Forward implements attempt.Translator.
func (translator) Forward(e penstock.Endpoint, body []byte) ([]byte, []string) { return translate.Forward(e, body) }

type translation struct{ translate.Translation }

func (t translation) Request(body []byte, to attempt.Upstream) ([]byte, []string, error) {
	return t.Translation.Request(body, translate.Upstream(to))
}

func (t translation) Answer(upstream provider.Answer, asked attempt.Asked) provider.Answer {
	return t.Translation.Answer(upstream, translate.Asked(asked))
}
