package redisboard_test

import (
	"flag"
	"testing"

	"laststand/internal/testenv"
)

func TestMain(m *testing.M) {
	_ = flag.Set("rapid.checks", "8") // each of them walks every board, on three kinds of Redis; the command line may say more
	testenv.Main(m)
}
