package redismatch

import (
	"flag"
	"testing"

	"laststand/internal/testenv"
)

func TestMain(m *testing.M) {
	_ = flag.Set("rapid.checks", "30") // each check plays a match; flags may raise the number
	testenv.Main(m)
}
