package wsconn

import (
	"testing"

	"laststand/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }
