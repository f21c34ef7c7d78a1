package app

import (
	"penstock"
	"penstock/internal/dialect/translate"
	"penstock/internal/outbound"
)

// translator adapts package translate to the interface that package outbound declares.
type translator struct{}

// For implements outbound.Translator.
func (translator) For(from, to penstock.Endpoint) (outbound.Translation, bool) {
	return translate.For(from, to)
}

// Forward implements outbound.Translator.
func (translator) Forward(e penstock.Endpoint, body []byte) ([]byte, []string) {
	return translate.Forward(e, body)
}
