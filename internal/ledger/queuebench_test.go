package ledger

import (
	"crypto/rand"
	"fmt"
	"testing"
	"time"

	"laststand/internal/taskqueue"
)

// BenchmarkQueue enqueues, claims and completes tasks, one at a time and in batches of
// 100. All tasks have one topic, or each has its own. The databases are those of
// BenchmarkCommit.
func BenchmarkQueue(b *testing.B) {
	for _, size := range []int{1, 100} {
		for _, topics := range []string{"one", "each"} {
			b.Run(fmt.Sprintf("batch=%d/topics=%s", size, topics), func(b *testing.B) {
				eachBenched(b, func(b *testing.B, l *Ledger, _ []string) { benchQueue(b, l, size, topics == "each") })
			})
		}
	}
}

func benchQueue(b *testing.B, l *Ledger, size int, each bool) {
	ctx, n, took := b.Context(), 0, map[string]time.Duration{}
	timed := func(name string, f func() error) {
		start := time.Now()
		if err := f(); err != nil {
			b.Fatal(err)
		}
		took[name] += time.Since(start)
	}
	unique := rand.Text() // the database may have tasks of an earlier run
	for b.Loop() {
		batch := make([]taskqueue.NewTask, size)
		for i := range batch {
			batch[i] = newTask("one", fmt.Sprint(unique, "-", n))
			if each {
				batch[i].Topic = fmt.Sprint(kind, "/", unique, "-", n)
			}
			n++
		}
		var tasks []taskqueue.Task
		timed("enqueue", func() error { _, err := l.Tasks.Enqueue(ctx, batch); return err })
		timed("claim", func() (err error) { tasks, err = l.Claims.Claim(ctx, kind, size, lease); return err })
		timed("complete", func() error { _, err := l.Claims.Complete(ctx, taskLeases(tasks)); return err })
	}
	for name, d := range took {
		b.ReportMetric(float64(n)/d.Seconds(), name+"/s")
	}
}
