// Package attack simulates hostile clients of a server. Each kind attacks as hard and as
// long as its order allows. The clients note how the server refused them, and every
// violation of the contract.
package attack

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

// Order says what one kind of attackers does. All fields but Match and Revoked are
// needed.
type Order struct {
	Kind      string
	URL, Ops  string        // the server's two addresses, as http://…
	Sources   []string      // loopback addresses to connect from
	For       time.Duration // how long the attackers start new actions
	PerSecond float64       // actions a second, by all attackers together
	Sockets   int           // connections at a time, at most

	Match       string // a match of honest players; "" for none
	Bounds      Bounds
	Revoked     map[string]string // tokens that were once valid, by the reason why they are not
	SlowTimeout time.Duration     // extra time to try all cases, and for the server to cut off slow clients
}

// Bounds are what the server grants to one address. A bound of 0 is not checked.
type Bounds struct {
	Guests, Lookups int // a minute
	Codes           int // wrong codes an hour, including those of players with a token
}

// Counts are the results of an order.
type Counts struct {
	Kind    string           `json:"kind"`
	Sent    int64            `json:"sent"`                 // actions
	Served  int64            `json:"served"`               // of them, those that the server grants to all
	Refused map[string]int64 `json:"refused,omitempty"`    // by kind of refusal: see checkReply and asked
	Untrue  map[string]int64 `json:"violations,omitempty"` // the first few kinds of violations
	Omitted int64            `json:"omitted,omitempty"`    // how often other kinds occurred
}

// kinds are all attacks by name, in the order of the issue.
var kinds = []struct {
	name string
	run  func(*attacker, context.Context)
}{
	{"frames", (*attacker).floodFrames},
	{"connects", (*attacker).floodConnects},
	{"hellos", (*attacker).floodHellos},
	{"guests", (*attacker).floodGuests},
	{"lookups", (*attacker).floodLookups},
	{"slow-readers", (*attacker).readSlowly},
	{"slow-writers", (*attacker).writeSlowly},
	{"half-open", (*attacker).sayNothing},
	{"malformed-frames", (*attacker).sendMalformed},
	{"malformed-http", (*attacker).askMalformed},
	{"tokens", (*attacker).forgeTokens},
	{"codes", (*attacker).tryRandomCodes},
	{"bots", (*attacker).cheat},
	{"forwarded", (*attacker).spoofAddresses},
	{"admin", (*attacker).askForAdmin},
}

// Kinds returns the names of all attacks.
func Kinds() []string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.name
	}
	return names
}

// IsSlow says whether a kind needs time: its effect shows after seconds.
func IsSlow(kind string) bool {
	return kind == "slow-readers" || kind == "slow-writers" || kind == "half-open"
}

// Run carries out an order. It returns after For and SlowTimeout, or when ctx ends. By
// then it has closed everything that it opened.
func Run(ctx context.Context, o Order) (Counts, error) {
	for _, k := range kinds {
		if k.name != o.Kind {
			continue
		}
		a := newAttacker(o)
		defer a.close()
		bounded, cancel := context.WithTimeout(ctx, o.For+o.SlowTimeout)
		defer cancel()
		k.run(a, bounded)
		return a.counts, ctx.Err()
	}
	return Counts{}, fmt.Errorf("attack: there is no kind %q; there are %v", o.Kind, Kinds())
}

// attacker runs the attackers of one order.
type attacker struct {
	Order
	pace    *rate.Limiter
	until   time.Time // no new action starts after it
	clients clients

	mu     sync.Mutex
	counts Counts
}

func newAttacker(o Order) *attacker {
	return &attacker{
		Order: o, pace: rate.NewLimiter(rate.Limit(o.PerSecond), 1), until: time.Now().Add(o.For),
		clients: newClients(o.Sources), counts: Counts{Kind: o.Kind, Refused: map[string]int64{}, Untrue: map[string]int64{}},
	}
}

func (a *attacker) close() { a.clients.close() }

// playBots runs as many workers as the order has sockets, and at most as many as most
// says. Each calls one again and again, at the order's pace, until the order's time is
// over.
func (a *attacker) playBots(ctx context.Context, most int, one func(ctx context.Context, worker int)) {
	ctx, cancel := context.WithDeadline(ctx, a.until)
	defer cancel()
	a.runWorkers(ctx, most, one)
}

// rounds runs workers that take cases in turn, until the order's time is over and every
// case has had its turn.
func (a *attacker) rounds(ctx context.Context, most, cases int, one func(ctx context.Context, worker, n int)) {
	var turn atomic.Int64
	var workers sync.WaitGroup
	for worker := range min(a.Sockets, most) {
		workers.Go(func() {
			for {
				n := int(turn.Add(1)) - 1
				if n >= cases && time.Now().After(a.until) || !a.next(ctx) {
					return
				}
				one(ctx, worker, n)
			}
		})
	}
	workers.Wait()
}

// next waits for the order's pace and counts an action. It returns false when the
// order's time is over.
func (a *attacker) next(ctx context.Context) bool {
	if a.pace.Wait(ctx) != nil {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.counts.Sent++
	return true
}

func (a *attacker) served() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.counts.Served++
}

// granted checks how often all addresses together were granted something since the order
// began. Each address may have a full bucket and the refill since then. It may have one
// more, for the case that Redis does not answer in time.
func (a *attacker) granted(what string, times int64, each int, period time.Duration) {
	elapsed := time.Since(a.until) + a.For
	most := float64(len(a.Sources)) * (1 + float64(each)*(1+float64(elapsed)/float64(period)))
	if each > 0 && float64(times) > most {
		a.addViolation("%d addresses were granted %d %s, at most %.0f may be", len(a.Sources), times, what, most)
	}
}

func (a *attacker) refused(how string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.counts.Refused[how]++
}

// mostUntrue bounds the violations that are kept.
const mostUntrue = 12

func (a *attacker) addViolation(format string, args ...any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	line := a.Kind + ": " + fmt.Sprintf(format, args...)
	if a.counts.Untrue[line] == 0 && len(a.counts.Untrue) == mostUntrue {
		a.counts.Omitted++
		return
	}
	a.counts.Untrue[line]++
}
