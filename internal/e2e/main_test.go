package e2e

import (
	"os"
	"testing"

	"penstock/internal/store/postgres/pgtest"
)

func TestMain(m *testing.M) {
	code := pgtest.Main(m)
	RemoveBinary()
	os.Exit(code)
}
