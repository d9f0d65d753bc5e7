package redisqueue

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/oklog/ulid/v2"

	"laststand/internal/eventq"
	"laststand/internal/redisx"
	"laststand/internal/testenv"
)

// benchQueue is a queue in a real Redis, with typical bodies of 200 bytes. Its
// client combines concurrent calls in one round trip.
func benchQueue(b *testing.B) (*Store, eventq.Policy, []eventq.Item) {
	conn, err := redisx.Open(b.Context(), redisx.Config{URL: testenv.Redis(b).URL})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.Close() })
	items := make([]eventq.Item, eventq.MaxPush)
	for i := range items {
		id := ulid.Make().String()
		items[i] = eventq.Item{ID: id, At: epoch, QueuedAt: epoch, Body: fmt.Appendf(nil,
			`{"id":%q,"type":"match_end","at":%d,"player":"p_%012x","session":"%032x","account":"guest","data":{"score":%d}}`, id, epoch, i*i, i*i*i, i)}
	}
	return New(conn.Bulk), eventq.Policy{
		Game: "com.example.quiz", MaxLen: 100_000, Overflow: eventq.DropOldest,
		BatchSize: eventq.MaxBatch, FlushMS: 1000, MaxAgeMS: 170_000,
	}, items
}

// stopwatch measures the processor time of Redis during a benchmark.
type stopwatch struct {
	b     *testing.B
	store *Store
	from  float64
	spent float64
}

func watch(b *testing.B, s *Store) *stopwatch { return &stopwatch{b: b, store: s, from: cpu(b, s)} }

// cpu returns the processor time that Redis has used, in seconds.
func cpu(b *testing.B, s *Store) (spent float64) {
	for _, line := range strings.Fields(s.client.Info(b.Context(), "cpu").Val()) {
		name, value, _ := strings.Cut(line, ":")
		if name == "used_cpu_user" || name == "used_cpu_sys" {
			seconds, err := strconv.ParseFloat(value, 64)
			if err != nil {
				b.Fatal(err)
			}
			spent += seconds
		}
	}
	return spent
}

// pauseDuring runs f without counting its time.
func (w *stopwatch) pauseDuring(f func()) {
	w.b.StopTimer()
	w.spent += cpu(w.b, w.store) - w.from
	f()
	w.from = cpu(w.b, w.store)
	w.b.StartTimer()
}

func (w *stopwatch) report(items int) {
	w.spent += cpu(w.b, w.store) - w.from
	w.b.ReportMetric(1e6*w.spent/float64(w.b.N*items), "redis-µs/item")
	w.b.ReportMetric(float64(w.b.N*items)/w.b.Elapsed().Seconds(), "items/s")
}

// BenchmarkPush pushes to a queue that has room, and to a full one, where each
// push drops as many items as it adds.
func BenchmarkPush(b *testing.B) {
	for _, full := range []bool{false, true} {
		for _, posted := range []bool{false, true} {
			for _, n := range []int{1, 64, 256} {
				b.Run(fmt.Sprintf("full=%v/posted=%v/%d", full, posted, n), func(b *testing.B) { benchPush(b, full, posted, n) })
			}
		}
	}
}

func benchPush(b *testing.B, full, posted bool, n int) {
	s, terms, items := benchQueue(b)
	if full {
		terms.MaxLen = 10 * n
	}
	w := watch(b, s)
	b.ReportAllocs()
	for b.Loop() {
		if posted {
			for i := range n {
				items[i].ID, items[i].Unique = ulid.Make().String(), true
			}
		}
		pushed, err := s.Push(b.Context(), terms, eventq.Push{ID: ulid.Make().String(), Items: items[:n], Now: epoch})
		if err != nil {
			b.Fatal(err)
		}
		if !full && pushed.Length > 50_000 {
			w.pauseDuring(func() { s.client.FlushDB(b.Context()) })
		}
	}
	w.report(n)
}

// BenchmarkTake takes and finishes batches of 128 items. The items come from
// pushes of the given size.
func BenchmarkTake(b *testing.B) {
	for _, n := range []int{4, 64, 100, 256} {
		b.Run(strconv.Itoa(n), func(b *testing.B) { benchTake(b, n) })
	}
}

func benchTake(b *testing.B, n int) {
	s, terms, items := benchQueue(b)
	w := watch(b, s)
	b.ReportAllocs()
	left := 0
	for b.Loop() {
		for left < eventq.MaxBatch {
			w.pauseDuring(func() { left = fill(b, s, terms, items[:n]) })
		}
		batch := ulid.Make().String()
		taken, err := s.Take(b.Context(), terms, eventq.Take{Batch: batch, Messages: 1, Now: epoch, Lease: 20_000})
		if err != nil || len(taken.Items) != eventq.MaxBatch {
			b.Fatal(len(taken.Items), err)
		}
		left = taken.Left
		if err := s.Finish(b.Context(), terms, eventq.BatchResult{Batch: batch, Sent: eventq.MaxBatch, Now: epoch}); err != nil {
			b.Fatal(err)
		}
	}
	w.report(eventq.MaxBatch)
}

// fill pushes some thousand items, and returns the length of the queue.
func fill(b *testing.B, s *Store, terms eventq.Policy, items []eventq.Item) (length int) {
	for length < min(50_000, 2000*len(items)) {
		pushed, err := s.Push(b.Context(), terms, eventq.Push{ID: ulid.Make().String(), Items: items, Now: epoch})
		if err != nil {
			b.Fatal(err)
		}
		length = pushed.Length
	}
	return length
}

// BenchmarkBoth runs producers and consumers of some games at once.
func BenchmarkBoth(b *testing.B) {
	const n, games = 64, 32
	s, terms, items := benchQueue(b)
	w := watch(b, s)
	b.ReportAllocs()
	b.SetParallelism(16)
	b.RunParallel(func(pb *testing.PB) {
		own := terms
		for i := 0; pb.Next(); i++ {
			own.Game = fmt.Sprint("com.example.quiz", i%games)
			for range 2 {
				if _, err := s.Push(b.Context(), own, eventq.Push{ID: ulid.Make().String(), Items: items[:n], Now: epoch}); err != nil {
					b.Error(err)
				}
			}
			batch := ulid.Make().String()
			taken, err := s.Take(b.Context(), own, eventq.Take{Batch: batch, Messages: 1, Now: epoch, Lease: 20_000})
			if err != nil {
				b.Error(err)
			}
			if err := s.Finish(b.Context(), own, eventq.BatchResult{Batch: batch, Sent: int64(len(taken.Items)), Now: epoch}); err != nil {
				b.Error(err)
			}
		}
	})
	w.report(2 * n)
}
