package bench_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"laststand/internal/ledger"
	"laststand/internal/taskqueue"
)

// BenchmarkMany uses -many topics with one task each.
func BenchmarkMany(b *testing.B) {
	b.Run("sqlite", func(b *testing.B) {
		dir := b.TempDir()
		benchMany(b, ledger.Config{Dir: dir}, func() int64 { return folderSize(b, dir) })
	})
	b.Run("postgres", func(b *testing.B) {
		p := startPostgres(b)
		benchMany(b, ledger.Config{URL: p.fresh(b)}, func() int64 { return p.size(b) })
	})
}

func benchMany(b *testing.B, c ledger.Config, size func() int64) {
	runtime.GC()
	forgetMost(b)
	n := openNode(b, c)
	defer n.Close()
	empty := size()
	b.ReportMetric(taskqueue.MaxBatch*callsPerSecond(b, few, *many/taskqueue.MaxBatch, func(ctx context.Context) error {
		return n.call(ctx, taskqueue.MaxBatch, true)
	}), "enqueued/s")
	b.ReportMetric(float64(size()-empty)/float64(*many), "bytes/waiting-topic")
	took := n.workOff(b)
	b.ReportMetric(took.Seconds(), "s-to-drain")
	b.ReportMetric(float64(n.completed.Load())/took.Seconds(), "worked/s")
	b.ReportMetric(float64(size()-empty)/float64(*many), "bytes/idle-topic") // includes its completed task, which the database keeps
	b.ReportMetric(float64(mostMemory(b))/1e6, "MB-at-most")
	b.ReportMetric(0, "ns/op") // meaningless here: left out
}

func folderSize(b *testing.B, dir string) (total int64) {
	b.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		b.Fatal(err)
	}
	for _, file := range files {
		if info, err := os.Stat(file); err == nil {
			total += info.Size()
		}
	}
	return total
}

// forgetMost resets the value of mostMemory.
func forgetMost(b *testing.B) {
	b.Helper()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		b.Fatal(err)
	}
}

// mostMemory returns the highest memory of this process since the last reset.
func mostMemory(b *testing.B) (bytes int64) {
	b.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if _, err := fmt.Sscanf(line, "VmHWM: %d kB", &bytes); err == nil {
			return bytes << 10
		}
	}
	b.Fatal("Linux tells no VmHWM")
	return 0
}
