// Package control simulates the honest players of a server. They play duels and an
// arena, read and watch leaderboards, and arrive as new guests. They check everything
// that the server sends against the contract. They tolerate nothing: a closed connection
// and a missing reply are both violations.
package control

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	player "laststand/loadtest/client"
)

// Config says how many players there are of each kind. All fields are needed.
type Config struct {
	URL      string
	Duelists int // an even number
	Seats    int // in the arena
	Readers  int // of leaderboards, over HTTP
	Watchers int // of leaderboards, over websockets
}

// Group is all of these players, from Start to Stop. It is safe for concurrent use.
type Group struct {
	Config
	answers, reads, pongs, newGuests timer
	shed                             atomic.Int64

	life    context.Context
	kill    context.CancelFunc
	stopped chan struct{} // when it is closed, players start nothing new
	working sync.WaitGroup

	mu         sync.Mutex
	arena      string // the match of the arena, "" while there is none
	played     map[string]int
	violations []string
	omitted    int
}

// Start starts the players.
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

// address returns the address from which the nth person connects. Ten persons share one.
func address(n int) *net.Dialer {
	return player.FromAddress(62500 + n/10) // 127.1.0.1 and up: no attacker uses these
}

// Stop lets all players finish what they are in, and then disconnects them. If a player
// does not finish in time, Stop cuts it off, and that player reports it.
func (w *Group) Stop() {
	close(w.stopped)
	late := time.AfterFunc(30*time.Second, w.kill)
	w.working.Wait()
	late.Stop()
	w.kill()
}

// Match returns the match of the current arena, "" if there is none.
func (w *Group) Match() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.arena
}

// DuelsPlayed returns how many duels each player has finished, by id.
func (w *Group) DuelsPlayed() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := make(map[string]int, len(w.played))
	for id, n := range w.played {
		all[id] = n
	}
	return all
}

// Violations returns the first few violations, and how many more there were.
func (w *Group) Violations() (listed []string, more int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string{}, w.violations...), w.omitted
}

// mostUntrue bounds the violations that are kept.
const mostUntrue = 20

// end records why a person ended; nil means a proper end.
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

// pause waits for d. It returns false if the group stops before that.
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

// person is one of the honest players.
type person struct {
	of   *Group
	id   string
	from *net.Dialer
}

// client returns an HTTP client that connects from the person's address.
func (p *person) client() *http.Client {
	return &http.Client{Timeout: replyTimeout, Transport: &http.Transport{DialContext: p.from.DialContext}}
}

// replyTimeout is how long a person waits for any reply.
const replyTimeout = 10 * time.Second
