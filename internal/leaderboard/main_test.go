package leaderboard

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	_ = flag.Set("rapid.checks", "40") // each of them compares every board after every step; the command line may say more
	goleak.VerifyTestMain(m)
}
