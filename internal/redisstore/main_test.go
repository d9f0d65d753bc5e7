package redisstore

import (
	"flag"
	"testing"

	"laststand/internal/testenv"
)

func TestMain(m *testing.M) {
	_ = flag.Set("rapid.checks", "8") // a check of leaderboards pages through every board, on three kinds of Redis; a command-line flag can set more
	testenv.Main(m)
}
