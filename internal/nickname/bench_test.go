package nickname_test

import (
	"bytes"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"laststand/internal/nickname"
)

const many = 10_000_000

// tenMillion is a full filter, made once.
var tenMillion = sync.OnceValue(func() *nickname.Filter {
	f := nickname.NewFilter(many, 0.01)
	for i := range many {
		f.Add("player" + strconv.Itoa(i))
	}
	return f
})

// names returns skeletons of different lengths in advance, so that benchmarks do not
// measure making them.
func names(prefix string) []string {
	all := make([]string, 1<<16)
	for i := range all {
		all[i] = prefix + strconv.Itoa(i*151)
	}
	return all
}

// BenchmarkFilter reads a filter of 10 million names: by one goroutine, by all
// processors, and while another goroutine adds.
func BenchmarkFilter(b *testing.B) {
	f := tenMillion()
	for _, look := range []struct {
		name   string
		prefix string
	}{{"absent", "nobody"}, {"present", "player"}} {
		wanted := names(look.prefix)
		b.Run(look.name, func(b *testing.B) {
			b.ReportAllocs()
			b.ReportMetric(float64(f.Bytes())/many, "B/name")
			for i := 0; b.Loop(); i++ {
				f.MayHave(wanted[i%len(wanted)])
			}
		})
	}
	absent := names("nobody")
	parallel := func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			for i := 0; pb.Next(); i++ {
				f.MayHave(absent[i%len(absent)])
			}
		})
	}
	b.Run("absent/parallel", parallel)
	b.Run("absent/parallel/adding", func(b *testing.B) {
		var stop atomic.Bool
		var adding sync.WaitGroup
		adding.Go(func() {
			for i := 0; !stop.Load(); i++ {
				f.Add("player" + strconv.Itoa(i%many))
			}
		})
		parallel(b)
		stop.Store(true)
		adding.Wait()
	})
	b.Run("add", func(b *testing.B) {
		present := names("player")
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			f.Add(present[i%len(present)])
		}
	})
}

// BenchmarkSnapshot writes and reads a filter of 10 million names in memory.
func BenchmarkSnapshot(b *testing.B) {
	f := tenMillion()
	var out bytes.Buffer
	b.Run("write", func(b *testing.B) {
		for b.Loop() {
			out.Reset()
			if err := f.Write(&out, stamp); err != nil {
				b.Fatal(err)
			}
		}
		b.SetBytes(int64(out.Len()))
	})
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			if _, _, err := nickname.ReadFilter(bytes.NewReader(out.Bytes())); err != nil {
				b.Fatal(err)
			}
		}
		b.SetBytes(int64(out.Len()))
	})
}
