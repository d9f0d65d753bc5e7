package ws

import (
	"errors"
	"sync"
	"syscall"
	"time"

	"laststand/internal/timer"
)

// How soon a session that asks for nothing goes to sleep, and how soon again a system
// that had no room for another sleeper is asked for all that are up.
const (
	quietAfter = 2 * time.Second
	lullEvery  = time.Second
	againAfter = time.Minute
)

// beds are where sessions sleep. One that sleeps has no goroutine: a poller looks
// after its socket, and its read loop goes on in a new one as soon as something has
// come or the client has gone, or when it is roused since it is to end. Who is not
// heard of for a while is lulled by the wheel. While no session is there, neither is
// the poller. The zero value has none to give: init.
//
// A session is asleep, or its read loop runs: it is changed under mu, by whoever
// rouses it and so has to run it. An event names the bed and the turn, which no two
// sleeps share: one that comes late, for a socket that is closed or a session that
// is up, wakes nobody.
type beds struct {
	wheel   *timer.Wheel
	now     func() int64
	metrics *metrics

	mu     sync.Mutex
	all    []bed    // by number from 0
	free   []uint32 // numbers
	turns  uint32   // counts sleeps
	asleep int
	poll   *poller // nil until the first sleeps
	fresh  func() (*poller, error)

	quiet, every time.Duration
	full         time.Duration // until when nobody is lulled, since started: the system had no room
	lulls        bool          // lulling is set
	lulling      timer.Timer
}

type bed struct {
	*session // nil: it is free
	turn     uint32
	asleep   bool
}

func (b *beds) init(s *Server) {
	b.wheel, b.now, b.metrics = s.Wheel, s.Now, s.metrics
	b.quiet, b.every, b.fresh = quietAfter, lullEvery, newPoller
}

// take gives a session a bed, where its connection lets it sleep. Before anybody
// else knows of it.
func (b *beds) take(se *session) {
	if se.wire.raw == nil || !canPoll {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.free) == 0 {
		b.free = append(b.free, uint32(len(b.all)))
		b.all = append(b.all, bed{})
	}
	last := len(b.free) - 1
	se.bed = b.free[last] + 1
	b.free = b.free[:last]
	b.all[se.bed-1] = bed{session: se}
	b.stir()
}

// leave takes the bed of a session that ends. It waits for the poller with the
// last one.
func (b *beds) leave(se *session) {
	if se.bed == 0 {
		return
	}
	b.mu.Lock()
	b.all[se.bed-1] = bed{}
	b.free = append(b.free, se.bed-1)
	var last *poller
	if len(b.free) == len(b.all) {
		last, b.poll = b.poll, nil
		b.all, b.free = nil, nil
	}
	b.mu.Unlock()
	if last != nil {
		last.close()
	}
}

// sleep puts a session to sleep whose read loop calls it, and is to end where that
// is true: the session is no longer its own. False where it goes on: nothing is
// wrong with that.
func (b *beds) sleep(se *session) bool {
	if se.bed == 0 || se.wire.in.amid() {
		return false
	}
	b.mu.Lock()
	poll := b.open()
	if poll == nil {
		b.mu.Unlock()
		return false
	}
	b.turns++
	turn := b.turns
	b.all[se.bed-1].turn = turn
	b.count(se.bed-1, true)
	b.mu.Unlock()
	err := poll.arm(se.wire.raw, uint64(turn)<<32|uint64(se.bed-1))
	return b.armed(se, turn, err)
}

// armed says whether a session sleeps, or has been roused meanwhile and is another's.
// Where it sleeps again since, this turn's arming may have undone that one's: it is
// awakened.
func (b *beds) armed(se *session, turn uint32, err error) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case !b.sleeps(se):
	case b.all[se.bed-1].turn != turn:
		b.rise(se.bed - 1)
	case err != nil || se.leaving.Load() != nil:
		b.count(se.bed-1, false)
		if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.ENOMEM) {
			b.full = sinceStart() + againAfter
		}
		return false
	}
	return true
}

// sleeps says whether a session does; not where it has ended. The caller holds mu.
func (b *beds) sleeps(se *session) bool {
	return int(se.bed) <= len(b.all) && b.all[se.bed-1].session == se && b.all[se.bed-1].asleep
}

// rouse runs a session that sleeps. It is called for those that are to end, after
// that was decided: who goes to sleep looks for it afterwards.
func (b *beds) rouse(se *session) {
	if se.bed == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sleeps(se) {
		b.rise(se.bed - 1)
	}
}

// wake runs the sessions of events.
func (b *beds) wake(events []uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, event := range events {
		number, turn := uint32(event), uint32(event>>32)
		if int(number) < len(b.all) && b.all[number].asleep && b.all[number].turn == turn {
			b.rise(number)
		}
	}
}

// abandon runs all that sleep, where their poller has failed.
func (b *beds) abandon(failed *poller) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.poll != failed {
		return // it was closed
	}
	b.poll = nil
	for number := range b.all {
		if b.all[number].asleep {
			b.rise(uint32(number))
		}
	}
}

// rise runs a session that sleeps. The caller holds mu.
func (b *beds) rise(number uint32) {
	b.count(number, false)
	go b.all[number].run() // Server.running waits for it
}

// count notes that a session sleeps, or is up. The caller holds mu.
func (b *beds) count(number uint32, asleep bool) {
	b.all[number].asleep = asleep
	if asleep {
		b.asleep++
	} else {
		b.asleep--
		b.metrics.awakenings.Inc()
		b.stir()
	}
	b.metrics.sleeping.Set(float64(b.asleep))
}

// open gives the poller; nil where the system has none to give. The caller holds mu.
func (b *beds) open() *poller {
	if b.poll == nil {
		poll, err := b.fresh()
		if err != nil {
			b.full = sinceStart() + againAfter
			return nil
		}
		b.poll = poll
		go poll.run(b.wake, b.abandon) // close waits for it
	}
	return b.poll
}

// stir has the quiet lulled from now on. The caller holds mu.
func (b *beds) stir() {
	if !b.lulls {
		b.lulls = true
		b.wheel.Set(&b.lulling, b.every, b.lull)
	}
}

// lull has those go to sleep that are up and have not been heard of for a while,
// until all sleep. Where the system has no room for them it lets them be for long: to
// be lulled in vain each second costs more than a goroutine.
func (b *beds) lull() {
	for _, se := range b.restless() {
		se.wire.lull()
	}
}

func (b *beds) restless() (quiet []*session) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lulls = false
	before, awake := b.now()-b.quiet.Milliseconds(), len(b.all)-len(b.free)-b.asleep
	if awake == 0 {
		return nil
	}
	b.stir()
	if sinceStart() < b.full {
		return nil
	}
	for _, one := range b.all {
		if one.session != nil && !one.asleep && one.heard.Load() <= before {
			quiet = append(quiet, one.session)
		}
	}
	return quiet
}
