package bench

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
	chunk      = 64 // events per admission of a producer
)

// owners returns the games of successive events, as indices: the same in every run.
var owners = sync.OnceValue(func() []int {
	zipf := rand.NewZipf(rand.New(rand.NewPCG(1, 2)), 1.1, 1, uint64(*games-1))
	all := make([]int, 1_000_000)
	for i := range all {
		all[i] = int(zipf.Uint64())
	}
	return all
})

// gameNames returns n names of games.
func gameNames(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("com.example.game%06d", i)
	}
	return names
}

var padding = strings.Repeat("x", eventBytes-timestampBytes)

// timestampBytes is the number of digits of epoch ms.
const timestampBytes = 13

// newEvent returns a string of the usual size that starts with the time of the offer.
func newEvent() string { return strconv.FormatInt(time.Now().UnixMilli(), 10) + padding }

// offeredAt returns the time in an event of newEvent.
func offeredAt(event string) int64 {
	at, _ := strconv.ParseInt(event[:timestampBytes], 10, 64) // 0 gives a latency that is obviously wrong
	return at
}
