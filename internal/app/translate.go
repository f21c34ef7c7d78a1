package app

import (
	"penstock"
	"penstock/internal/attempt"
	"penstock/internal/dialect/translate"
)

// translator adapts package translate to the interface that package attempt declares.
type translator struct{}

// For implements attempt.Translator.
func (translator) For(from, to penstock.Endpoint) (attempt.Translation, bool) {
	return translate.For(from, to)
}

// Forward implements attempt.Translator.
func (translator) Forward(e penstock.Endpoint, body []byte) ([]byte, []string) {
	return translate.Forward(e, body)
}
