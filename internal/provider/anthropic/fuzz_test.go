package anthropic

import (
	"testing"

	"penstock/internal/provider/providertest"
	"penstock/internal/provider/wire"
)

func FuzzMessageStream(f *testing.F) {
	providertest.FuzzStream(f, dialect, func() wire.Reader { return &messageReader{} })
}
