package openai

import (
	"testing"

	"penstock/internal/provider/providertest"
	"penstock/internal/provider/wire"
)

func FuzzCompletionStream(f *testing.F) {
	providertest.FuzzStream(f, dialect, func() wire.Reader { return &completionReader{usageInjected: true} })
}

func FuzzResponseStream(f *testing.F) {
	providertest.FuzzStream(f, responseDialect(), func() wire.Reader { return &responseReader{} })
}
