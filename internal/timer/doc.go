// Package timer runs work later, repeatedly and together. A Wheel is the timing wheel for
// question deadlines, bots, pings and other delays; one serves a process. Every repeats work
// at intervals (every.go), and a Batcher does the work of many callers together (batcher.go).
// The rest of this text is about the wheel.
//
// Timers that are due in the same tick of 10 ms share a slot. A slot is one
// entry in the wheel of github.com/RussellLuo/timingwheel. It causes one
// wake-up and takes one place in the queue of the workers that call functions.
// Adding, stopping and calling cost the same for any number of timers. A tick
// does the same work however many timers are due in it.
//
// Words of this package:
//
//   - Tick: 10 ms. Slot: all timers of one tick. Shard: every 64th slot, under
//     one mutex.
//   - Entry: a timer of the library. A slot that is due in more than 41 s uses a
//     chain of entries, one after the other.
//   - Run queue: the due slots that wait for a worker.
//   - Generation: one library wheel. The next generation replaces a faulty one and
//     takes over its slots.
//
// This package works around these weaknesses of the library:
//
//   - It fires up to a tick early and uses the wall clock. The ticks of this
//     package end when those of the library end. Every wake-up is checked against
//     a monotonic deadline. If it is early, a timer of the runtime waits for the rest.
//   - A cascade between its levels can lose a Stop. This package uses one level
//     only (10 ms × 16384). An entry waits for at most a quarter of a round;
//     longer waits are chains of entries.
//   - A goroutine that stalls for most of a round can make the library's wheel
//     jump or deadlock. A step of the wall clock can delay it. If a slot is
//     overdue or the wall clock has stepped, a new generation takes over all
//     waiting slots.
//   - It starts a goroutine for every firing. Here that goroutine only queues
//     the slot. A fixed set of workers calls the functions.
//   - Its Stop can hang while a timer is being added. A lock separates the two.
//     Entries are never stopped: an entry of an empty slot does nothing.
//
// One problem remains: a deadlocked library wheel cannot be ended. Its
// goroutine stays until the process ends. So does a goroutine that adds to the
// blocked bucket before the wheel is replaced.
//
// Concurrency: all functions may be called from any goroutine, also from
// functions of timers. The exception is Close, which waits for those functions.
//
// The main types are Wheel and Timer. Start reading in lifecycle.go, which starts and ends
// the goroutines, then wheel.go, run_queue.go, generation.go and timer.go. This package
// must not know what its timers and loops are for.
package timer
