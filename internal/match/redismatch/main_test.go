package redismatch

import (
	"flag"
	"testing"

	"laststand/internal/testenv"
)

func TestMain(m *testing.M) {
	_ = flag.Set("rapid.checks", "30") // each of them plays a match; the command line may say more
	testenv.Main(m)
}
