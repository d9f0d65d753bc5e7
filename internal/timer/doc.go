// Package timer is the timing wheel behind After and Stop: question deadlines,
// bots, pings, whatever waits. One Wheel serves a process.
//
// Timers that are due in the same tick of 10 ms are a slot, which has one entry
// at the wheel of github.com/RussellLuo/timingwheel, one wake-up, and one place
// in the queue of the workers that call functions: adding, stopping and calling
// cost the same however many timers there are, and a tick does the same work
// however many are due in it.
//
// The library's weaknesses are fenced off:
//
//   - It fires up to a tick early and goes by the wall clock. Ticks end when
//     its own do, every wake-up is checked against a monotonic deadline, and
//     waits on if early.
//   - Cascading between its levels can lose a Stop. One level, wide enough
//     (10 ms × 16384), is all that is used: a hop goes at most a quarter
//     round, longer waits are chains of hops.
//   - A goroutine held up for most of a round in the wrong place can jump or
//     deadlock the library's wheel, a step of the wall clock can put it off. A
//     heartbeat runs on the wheel; when it stays away, or anything wakes
//     much too early, or the wall clock has stepped, a fresh wheel takes over
//     all slots that wait.
//   - It starts a goroutine for every firing. Here that goroutine only queues
//     the slot; a fixed set of workers calls the functions.
//   - Its Stop can hang while a timer is being added. A lock keeps them apart.
//
// What is left: a deadlocked library wheel cannot be ended, so its goroutine
// stays behind, with whoever is the first in a slot, or the last to leave one,
// that is in the very bucket it holds, before it is replaced.
//
// Concurrency: everything here may be called from any goroutine, functions of
// timers included, but for Close, which waits for those.
package timer
