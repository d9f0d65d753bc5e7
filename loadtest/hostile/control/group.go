// Package control is the players that a server is there for: they play duels and
// an arena, read boards, watch them, and come anew, and hold all that they are
// told against the contract. It knows no patience with a server: who is closed,
// or waits for a reply in vain, says so.
package control

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"laststand/loadtest/harness"
)

// Config says who there is; all fields are needed.
type Config struct {
	URL      string
	Duelists int // an even number
	Seats    int // in the arena
	Readers  int // of boards over HTTP
	Watchers int // of boards over websockets
}

// Group is all of them at work, from Start to Stop. It is safe for concurrent
// use.
type Group struct {
	Config
	answers, reads, pongs, newGuests timer
	shed                             atomic.Int64

	life    context.Context
	kill    context.CancelFunc
	stopped chan struct{} // closed: nothing new is begun
	working sync.WaitGroup

	mu         sync.Mutex
	arena      string // the match of the arena, "" while there is none
	played     map[string]int
	violations []string
	omitted    int
}

// Start has the crowd begin.
func Start(ctx context.Context, c Config) *Group {
	w := &Group{Config: c, stopped: make(chan struct{}), played: map[string]int{}}
	w.life, w.kill = context.WithCancel(ctx)
	at := 0
	begin := func(n int, what string, one func(*person) error) {
		for i := range n {
			at++
			p := &person{of: w, id: fmt.Sprintf("%s_%d", what, i), from: address(at)}
			w.working.Go(func() { w.end(p, one(p)) })
		}
	}
	begin(c.Duelists, "duelist", (*person).duel)
	begin(c.Readers, "reader", (*person).read)
	begin(c.Watchers, "watcher", (*person).watch)
	begin(1, "newcomer", (*person).makeNewGuests)
	begin(1, "host", (*person).host)
	return w
}

// address is where the nth person comes from: ten share one.
func address(n int) *net.Dialer {
	return harness.Source(62500 + n/10) // 127.1.0.1 and on: no attacker's
}

// Stop has everybody play what they are in to its end, and go. Those who do not
// come to an end are cut off, and say so.
func (w *Group) Stop() {
	close(w.stopped)
	late := time.AfterFunc(30*time.Second, w.kill)
	w.working.Wait()
	late.Stop()
	w.kill()
}

// Match is the match that the arena plays, "" while there is none.
func (w *Group) Match() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.arena
}

// DuelsPlayed is how many duels each player has played to the end, by id.
func (w *Group) DuelsPlayed() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := make(map[string]int, len(w.played))
	for id, n := range w.played {
		all[id] = n
	}
	return all
}

// Violations is what was wrong so far, the first few, and how many more.
func (w *Group) Violations() (listed []string, more int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string{}, w.violations...), w.omitted
}

// mostUntrue bounds what is kept of untruths.
const mostUntrue = 20

// end takes why a person ended, nil for in order.
func (w *Group) end(p *person, err error) {
	if err != nil {
		w.say("%s at %s: %v", p.id, time.Now().Format(time.TimeOnly), err)
	}
}

func (w *Group) say(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.violations) == mostUntrue {
		w.omitted++
		return
	}
	w.violations = append(w.violations, fmt.Sprintf(format, args...))
}

func (w *Group) stopping() bool {
	select {
	case <-w.stopped:
		return true
	default:
		return w.life.Err() != nil
	}
}

// pause waits; false where the crowd stops meanwhile.
func (w *Group) pause(d time.Duration) bool {
	select {
	case <-w.stopped:
		return false
	case <-w.life.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// person is one of them.
type person struct {
	of   *Group
	id   string
	from *net.Dialer
}

// client is an HTTP client that connects from a person's address.
func (p *person) client() *http.Client {
	return &http.Client{Timeout: replyTimeout, Transport: &http.Transport{DialContext: p.from.DialContext}}
}

// replyTimeout is how long a person waits for any reply.
const replyTimeout = 10 * time.Second
