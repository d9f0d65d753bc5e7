package bench

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// eventsEach is the number of events of each game.
const eventsEach = 3

// BenchmarkBehaviourMany gives many games few events each, and then none. It measures their cost
// while the events wait and after they are reported.
func BenchmarkBehaviourMany(b *testing.B) {
	b.Run("waiting", func(b *testing.B) {
		defer func(before time.Duration) { *flush = before }(*flush)
		*flush = time.Hour
		benchMany(b, func(o *ours) int64 { return o.counts(b).Queued })
	})
	b.Run("reported", func(b *testing.B) {
		benchMany(b, func(o *ours) int64 { return o.flow.reported.Load() })
	})
}

// benchMany fills the queues, waits until all events have reached the wanted state, and
// measures from then on.
func benchMany(b *testing.B, come func(o *ours) int64) {
	rdb := connect(b)
	heap, data := inUse(), redisBytes(b, rdb)
	want := int64(*many * eventsEach)
	f := newFlow(want)
	o := newOurs(b, rdb, f, gameNames(*many))
	stop := start(b, o.report)
	defer stop()
	o.fill(b)
	for late := time.Now().Add(5 * time.Minute); come(o) < want; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(late) {
			b.Fatalf("%d of %d events have come so far", come(o), want)
		}
	}
	before := spend(b, rdb, f)
	time.Sleep(*seconds)
	idle := spend(b, rdb, f).since(before)
	if got := come(o); got != want {
		b.Fatalf("%d events, of which there are %d", got, want)
	}
	b.ReportMetric(100*idle.process.Seconds()/idle.took.Seconds(), "here-%cpu")
	b.ReportMetric(100*idle.redis.Seconds()/idle.took.Seconds(), "redis-%cpu")
	b.ReportMetric(float64(idle.commands)/idle.took.Seconds(), "commands/s")
	b.ReportMetric(float64(inUse()-heap)/float64(*many), "here-B/game")
	b.ReportMetric(float64(redisBytes(b, rdb)-data)/float64(*many), "redis-B/game")
	b.ReportMetric(0, "ns/op") // meaningless here: left out
}

// fill offers the events of some games at a time. It continues with the next games when the
// queues have those events.
func (o *ours) fill(b *testing.B) {
	const some = 5000
	for first := 0; first < len(o.games); first += some {
		games := o.games[first:min(first+some, len(o.games))]
		for _, game := range games {
			if !o.flow.admit(b.Context(), eventsEach) {
				return
			}
			for range eventsEach {
				o.Offer(game, *sample())
			}
		}
		for o.counts(b).Offered < o.flow.offered.Load() {
			time.Sleep(time.Millisecond)
		}
	}
}

// inUse returns the bytes of memory that this process uses.
func inUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}

// redisBytes returns the bytes that Redis uses for its data.
func redisBytes(b *testing.B, rdb *redis.Client) (used int64) {
	for line := range strings.Lines(ask(b, rdb, "memory")) {
		_, _ = fmt.Sscanf(line, "used_memory:%d", &used)
	}
	return used
}
