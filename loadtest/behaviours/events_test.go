package behaviours

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	eventBytes = 200
	chunk      = 64 // events that a producer is admitted with at once
)

// owners says whose events are, as indices of games: the same in every run.
var owners = sync.OnceValue(func() []int {
	zipf := rand.NewZipf(rand.New(rand.NewPCG(1, 2)), 1.1, 1, uint64(*games-1))
	all := make([]int, 1_000_000)
	for i := range all {
		all[i] = int(zipf.Uint64())
	}
	return all
})

// gameNames are of as many games.
func gameNames(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("com.example.game%06d", i)
	}
	return names
}

var padding = strings.Repeat("x", eventBytes-timestampBytes)

// timestampBytes are the digits of epoch ms.
const timestampBytes = 13

// newEvent is a string of the usual size that says when it was offered.
func newEvent() string { return strconv.FormatInt(time.Now().UnixMilli(), 10) + padding }

// offeredAt is what newEvent wrote.
func offeredAt(event string) int64 {
	at, _ := strconv.ParseInt(event[:timestampBytes], 10, 64) // 0 gives a latency that nobody overlooks
	return at
}
