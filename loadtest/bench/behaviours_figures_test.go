package bench

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/redis/go-redis/v9"
)

// spent is the work and the resources up to a time, or between two times.
type spent struct {
	at       time.Time
	took     time.Duration // between two times
	reported int64
	process  time.Duration // processor time
	redis    time.Duration
}

func spend(b *testing.B, rdb *redis.Client, f *flow) spent {
	b.Helper()
	s := spent{at: time.Now(), reported: f.reported.Load()}
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		b.Fatal(err)
	}
	s.process = time.Duration(use.Utime.Nano() + use.Stime.Nano())
	info, err := rdb.Info(b.Context(), "cpu").Result()
	if err != nil {
		b.Fatal(err)
	}
	var user, system float64
	for line := range strings.Lines(info) {
		_, _ = fmt.Sscanf(line, "used_cpu_user:%f", &user)
		_, _ = fmt.Sscanf(line, "used_cpu_sys:%f", &system)
	}
	s.redis = time.Duration((user + system) * float64(time.Second))
	return s
}

func (s spent) since(o spent) spent {
	return spent{
		took: s.at.Sub(o.at), reported: s.reported - o.reported,
		process: s.process - o.process, redis: s.redis - o.redis,
	}
}

// figures are the figures of one run.
type figures struct {
	rate           float64 // events/s
	process, redis float64 // µs per event
	p50, p99       float64 // ms from offered to reported
}

func (s spent) figures(taken *hdrhistogram.Histogram) figures {
	each := func(d time.Duration) float64 { return float64(d.Microseconds()) / float64(s.reported) }
	return figures{
		rate:    float64(s.reported) / s.took.Seconds(),
		process: each(s.process), redis: each(s.redis),
		p50: float64(taken.ValueAtQuantile(50)), p99: float64(taken.ValueAtQuantile(99)),
	}
}

func (g figures) String() string {
	return fmt.Sprintf("%9.0f events/s, %5.2f us/event here, %5.2f in Redis, p50 %4.0f ms, p99 %4.0f ms", g.rate, g.process, g.redis, g.p50, g.p99)
}

func (g figures) report(b *testing.B) {
	b.ReportMetric(g.rate, "events/s")
	b.ReportMetric(g.process, "here-us/event")
	b.ReportMetric(g.redis, "redis-us/event")
	b.ReportMetric(g.p50, "p50-ms")
	b.ReportMetric(g.p99, "p99-ms")
	b.ReportMetric(0, "ns/op") // meaningless here: left out
}
