package bench_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	churners  = 2
	stopAfter = 500 * time.Millisecond
	batchTime = 5 * time.Millisecond
)

// outcome is the result of one process. Times are in seconds.
type outcome struct {
	Heap, RSS               float64 // bytes per timer
	Add                     float64 // per timer, of those added at once
	CPU                     float64
	P50, P99, P999, Max     float64
	Earliest                float64 // below 0: early
	Called, Stopped, Missed int
}

// A load is the timers of one process. Each timer has a cell. It contains the deadline in
// ns since the start and, after the call, how late the call was.
type load struct {
	after after
	start time.Time

	called atomic.Int64
	late   []cell // first the pending timers, then those of the churners
}

type cell struct{ ns int64 }

const (
	uncalled = math.MinInt64
	stopped  = math.MinInt64 + 1
)

// add adds a timer with its cell. The timer's function takes 16 bytes.
func (l *load) add(c *cell, d time.Duration) pendant {
	c.ns = int64(time.Since(l.start) + d)
	return l.after(d, func() { c.call() })
}

// running is the load that cells report to. It is a package variable so that the functions
// need not hold it.
var running *load

func (c *cell) call() {
	c.ns = int64(time.Since(running.start)) - c.ns
	running.called.Add(1)
}

func measure() (outcome, error) {
	start, known := kinds[*timersKind]
	if !known {
		return outcome{}, fmt.Errorf("there is no kind of timers %q", *timersKind)
	}
	churning := int(float64(*adds) * churned.Seconds())
	l := &load{start: time.Now(), late: make([]cell, *timersCount+churning), after: start()}
	running = l
	for i := range l.late {
		l.late[i].ns = uncalled
	}
	var o outcome
	heapBefore, rssBefore := ownMemory()
	cpuBefore := ownCPU()
	o.Add = l.fill(l.late[:*timersCount])
	cpuMeasuring := ownCPU()
	heapAfter, rssAfter := ownMemory()
	cpuMeasuring = ownCPU() - cpuMeasuring
	o.Heap, o.RSS = (heapAfter-heapBefore)/float64(*timersCount), (rssAfter-rssBefore)/float64(*timersCount)
	o.Stopped = l.churn(l.late[*timersCount:])
	l.await(int64(len(l.late) - o.Stopped))
	o.CPU = ownCPU() - cpuBefore - cpuMeasuring
	l.sum(&o)
	return o, nil
}

// fill adds timers at once and returns the time per timer.
func (l *load) fill(cells []cell) float64 {
	began := time.Now()
	for i := range cells {
		l.add(&cells[i], *from+rand.N(*to-*from))
	}
	return time.Since(began).Seconds() / float64(len(cells))
}

// churn adds timers and stops nine of ten until it has used all cells. It returns the
// number of stopped timers.
func (l *load) churn(cells []cell) int {
	var all sync.WaitGroup
	var stops atomic.Int64
	for i := range churners {
		part := len(cells) / churners
		all.Go(func() { stops.Add(l.churnPart(cells[i*part : (i+1)*part])) })
	}
	all.Wait()
	return int(stops.Load())
}

func (l *load) churnPart(cells []cell) (stops int64) {
	began := time.Now()
	rate := float64(*adds) / churners
	held := make([]pendant, int(rate*stopAfter.Seconds()))
	stop := func(i int) {
		if i >= 0 && i%10 != 0 && held[i%len(held)].Stop() {
			cells[i].ns = stopped
			stops++
		}
	}
	for i := range cells {
		if due := time.Duration(float64(i) / rate * float64(time.Second)); i%int(rate*batchTime.Seconds()) == 0 {
			time.Sleep(time.Until(began.Add(due)))
		}
		stop(i - len(held))
		held[i%len(held)] = l.add(&cells[i], 2*time.Second+rand.N(3*time.Second))
	}
	for i := max(len(cells)-len(held), 0); i < len(cells); i++ {
		stop(i)
	}
	return stops
}

// await waits until all timers have run, or are long overdue.
func (l *load) await(all int64) {
	for last := time.Now().Add(*to + 20*time.Second); l.called.Load() < all && time.Now().Before(last); {
		time.Sleep(50 * time.Millisecond)
	}
}

func (l *load) sum(o *outcome) {
	late := make([]int64, 0, len(l.late))
	for _, c := range l.late {
		switch c.ns {
		case uncalled, stopped:
		default:
			late = append(late, c.ns)
		}
	}
	slices.Sort(late)
	o.Called = int(l.called.Load())
	o.Missed = len(l.late) - o.Stopped - o.Called
	at := func(share float64) float64 { return time.Duration(late[int(share*float64(len(late)-1))]).Seconds() }
	o.Earliest, o.P50, o.P99, o.P999, o.Max = at(0), at(0.5), at(0.99), at(0.999), at(1)
}

// ownMemory returns the live heap and the resident memory of the process.
func ownMemory() (heap, rss float64) {
	runtime.GC()
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return float64(m.HeapAlloc), 0
	}
	var size, resident float64
	_, _ = fmt.Sscan(string(statm), &size, &resident)
	return float64(m.HeapAlloc), resident * float64(os.Getpagesize())
}

func ownCPU() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // it cannot fail for the process itself
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}
