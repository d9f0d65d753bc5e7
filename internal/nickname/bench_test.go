package nickname_test

import (
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"laststand/internal/nickname"
)

const filterNames = 10_000_000

// fullFilter returns a filter with filterNames names. It builds the filter at its first call.
var fullFilter = sync.OnceValue(func() *nickname.Filter {
	f := nickname.NewFilter(filterNames, 0.01)
	for i := range filterNames {
		f.Add("player" + strconv.Itoa(i))
	}
	return f
})

// makeSkeletons returns skeletons of different lengths. Benchmarks make them in advance, so that
// they do not measure that.
func makeSkeletons(prefix string) []string {
	skeletons := make([]string, 1<<16)
	for i := range skeletons {
		skeletons[i] = prefix + strconv.Itoa(i*151)
	}
	return skeletons
}

// BenchmarkFilter reads a filter of 10 million names: by one goroutine, by all
// processors, and while another goroutine adds.
func BenchmarkFilter(b *testing.B) {
	filter := fullFilter()
	for _, lookup := range []struct {
		name   string
		prefix string
	}{{"absent", "nobody"}, {"present", "player"}} {
		skeletons := makeSkeletons(lookup.prefix)
		b.Run(lookup.name, func(b *testing.B) {
			b.ReportAllocs()
			b.ReportMetric(float64(filter.Bytes())/filterNames, "B/name")
			for i := 0; b.Loop(); i++ {
				filter.MayContain(skeletons[i%len(skeletons)])
			}
		})
	}
	absent := makeSkeletons("nobody")
	parallel := func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			for i := 0; pb.Next(); i++ {
				filter.MayContain(absent[i%len(absent)])
			}
		})
	}
	b.Run("absent/parallel", parallel)
	b.Run("absent/parallel/adding", func(b *testing.B) {
		var stop atomic.Bool
		var adder sync.WaitGroup
		adder.Go(func() {
			for i := 0; !stop.Load(); i++ {
				filter.Add("player" + strconv.Itoa(i%filterNames))
			}
		})
		parallel(b)
		stop.Store(true)
		adder.Wait()
	})
	b.Run("add", func(b *testing.B) {
		present := makeSkeletons("player")
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			filter.Add(present[i%len(present)])
		}
	})
}

// BenchmarkSnapshot writes and reads a filter of 10 million names in memory.
func BenchmarkSnapshot(b *testing.B) {
	filter := fullFilter()
	var snapshot []byte
	b.Run("write", func(b *testing.B) {
		for b.Loop() {
			snapshot = encode(b, filter, testInfo)
		}
		b.SetBytes(int64(len(snapshot)))
	})
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			if _, _, err := nickname.ParseSnapshot(snapshot); err != nil {
				b.Fatal(err)
			}
		}
		b.SetBytes(int64(len(snapshot)))
	})
}
