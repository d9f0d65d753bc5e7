// Package attack is what hostile clients do to a server: each kind of them as
// hard as its order allows, and no harder or longer. They note how they were
// refused, and whatever a server must never have done.
package attack

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

// Order says what one kind of attackers does. All fields but Match and
// Barred are needed.
type Order struct {
	Kind      string
	URL, Ops  string        // the server's two addresses, as http://…
	Sources   []string      // addresses of loopback to connect from
	For       time.Duration // how long anything new is begun
	PerSecond float64       // things done, by all together
	Sockets   int           // connections at a time, at the most

	Match       string // one that honest players are in; "" for none
	Bounds      Bounds
	Revoked     map[string]string // tokens that were good once, by why they are not
	SlowTimeout time.Duration     // how much longer it may take to go through all cases, and the server to cut off who dawdles
}

// Bounds are what the server grants an address; 0 is not held against it.
type Bounds struct {
	Guests, Lookups int // a minute
	Codes           int // wrong ones an hour, those of players with a token among them
}

// Counts is what became of it.
type Counts struct {
	Kind    string           `json:"kind"`
	Sent    int64            `json:"sent"`                 // things done
	Served  int64            `json:"served"`               // of them, those that a server grants to everybody
	Refused map[string]int64 `json:"refused,omitempty"`    // by how: see heard and asked
	Untrue  map[string]int64 `json:"violations,omitempty"` // what must not have been, the first few kinds of it
	Omitted int64            `json:"omitted,omitempty"`    // how often something else
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

// Kinds are the names of all attacks.
func Kinds() []string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.name
	}
	return names
}

// IsSlow says whether a kind takes its time: what it does shows after seconds.
func IsSlow(kind string) bool {
	return kind == "slow-readers" || kind == "slow-writers" || kind == "half-open"
}

// Run carries an order out, and returns when it is over: after its time and its
// patience, or when ctx ends. All that it opened is closed by then.
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

// attacker is the attackers of one order.
type attacker struct {
	Order
	pace    *rate.Limiter
	until   time.Time // nothing new is begun after it
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

// playBots has workers, as many as there may be sockets and at most so many, do one
// thing after the other at the order's pace until its time is over.
func (a *attacker) playBots(ctx context.Context, most int, one func(ctx context.Context, worker int)) {
	ctx, cancel := context.WithDeadline(ctx, a.until)
	defer cancel()
	a.runWorkers(ctx, most, one)
}

// rounds has workers go through cases in turn, until the order's time is over
// and each has had its turn.
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

// next waits for the order's pace and counts; false when its time is over.
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

// granted holds how often all addresses together were granted something since
// the order's beginning against what each is: a full bucket and what trickles in.
// One more of an address is let go where Redis did not answer in time.
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

// mostUntrue bounds what is kept of untruths.
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
