// Package timer is the timing wheel behind After and Stop: question deadlines,
// bots, pings, whatever waits. One Wheel serves a process.
//
// It wraps github.com/RussellLuo/timingwheel, whose cheap adds and stops it
// keeps and whose weaknesses it fences off:
//
//   - The library fires up to a tick early and goes by the wall clock. Every
//     wake-up is checked against a monotonic deadline, and waits on if early.
//   - Cascading between its levels can lose a Stop. One level, wide enough
//     (10 ms × 16384), is all that is used: a hop goes at most a quarter
//     round, longer waits are chains of hops.
//   - A goroutine held up for most of a round in the wrong place can jump or
//     deadlock the library's wheel, a step of the wall clock can put it off. A
//     heartbeat runs on the wheel; when it stays away, or anything wakes
//     much too early, or the wall clock has stepped, a fresh wheel takes over
//     all pending timers.
//   - It starts a goroutine for every firing. Here that goroutine only queues
//     the timer; a fixed set of workers runs the functions.
//   - Its Stop can hang while a timer is being added. A lock keeps them apart.
//
// What is left: a deadlocked library wheel cannot be ended, so its goroutine
// stays behind, with whoever adds to the very slot that it holds or stops a
// timer there before it is replaced.
//
// Concurrency: everything here may be called from any goroutine, functions of
// timers included, but for Close, which waits for those.
package timer
