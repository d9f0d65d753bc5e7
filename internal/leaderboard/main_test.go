package leaderboard

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	_ = flag.Set("rapid.checks", "40") // each check compares every board after every action; a command-line flag can set more
	goleak.VerifyTestMain(m)
}
