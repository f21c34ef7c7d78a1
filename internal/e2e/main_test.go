package e2e

import (
	"os"
	"testing"

	"penstock/internal/store/postgres/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }
