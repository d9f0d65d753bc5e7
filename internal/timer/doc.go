// Package timer runs work later, repeatedly and together. A Wheel is the timing wheel for
// question deadlines, bots, pings and other delays; one serves a process. Every repeats work
// at intervals (every.go), and a Batcher does the work of many callers together (batcher.go).
// The rest of this text is about the wheel.
//
// Timers that are due in the same tick of 10 ms share a slot. A slot is one timer
// of the runtime. It causes one wake-up and takes one place in the queue of the
// workers that call functions. Adding, stopping and calling cost the same for any
// number of timers. A tick does the same work however many timers are due in it.
// An idle wheel uses no CPU.
//
// Words of this package:
//
//   - Tick: 10 ms. Slot: all timers of one tick.
//   - Run queue: the due slots that wait for a worker. A fixed set of workers
//     calls the functions.
//
// Concurrency: all functions may be called from any goroutine, also from
// functions of timers. The exception is Close, which waits for those functions.
//
// The main types are Wheel and Timer. Start reading in wheel.go, then run_queue.go and
// timer.go. This package must not know what its timers and loops are for.
package timer
