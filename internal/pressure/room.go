package pressure

import (
	"context"
	"math"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// RoomConfig is what a room is made of. Both functions tell of the time since they
// were called last, and are called by one goroutine.
type RoomConfig struct {
	Lag  func() float64 // see Lag, in seconds
	Busy func() float64 // the share of the processors that are at work, 0 to 1
	Most float64        // the lag from which on nobody else comes in, in seconds; 0: everybody always does
	Sure int64          // so many always come in
}

// Room is how many play duels at a node: as many as come, while the processors have
// time; then no more than leave them some, by what those there take of it; and fewer
// while goroutines wait for a processor. So who would come last is refused, before
// those who are in wait. But for Run it is safe for concurrent use.
//
// It is a limit of how many are there at once, by the queueing delay, with feedforward
// by the use: who is let in takes its share only some seconds later, so that a limit
// by the delay alone would let in far too many, and then nobody for long.
type Room struct {
	RoomConfig
	gauge  *Gauge
	inside atomic.Int64
	most   atomic.Int64
	turns  turnstile

	shown prometheus.Gauge

	// Of look.
	bound float64      // +Inf for none
	past  [trail]int64 // inside, at the last looks
	at    int          // of the oldest of them
	high  int          // looks in a row with too much lag
	since int          // looks since least was set
	least float64      // the bound does not fall below it
}

const (
	lookEvery = 250 * time.Millisecond
	trail     = 8    // looks until who has come in takes a share in full
	steady    = 2    // looks in a row that have too much lag
	easy      = 0.5  // so busy anybody comes in
	full      = 0.85 // so busy they are to be
	used      = 0.95 // so full it is to be, to be widened
	wholly    = 0.95 // so busy newcomers take turns before there is too much lag
	ease      = 0.97 // of those inside are to be there, while there is too much lag
	stride    = 0.1  // more come in at a look where nothing waits, less where nearly too much does
	halving   = 240  // looks in which the bound falls to a half, at most

	surePerProcessor = 100
)

// NewRoom makes a room for as many as a node bears whose goroutines wait for less than
// most; 0 is for all. Refusals are a gauge's. For busy see RoomConfig.
func NewRoom(g *Gauge, most time.Duration, busy func() float64) *Room {
	sure := surePerProcessor * int64(runtime.GOMAXPROCS(0))
	return newRoom(g, RoomConfig{Lag: newLag().read, Busy: busy, Most: most.Seconds(), Sure: sure})
}

func newRoom(g *Gauge, c RoomConfig) *Room {
	r := &Room{RoomConfig: c, gauge: g, bound: math.Inf(1), since: halving}
	r.turns = turnstile{rate: math.Inf(1), least: newcomersPerProcessor * float64(runtime.GOMAXPROCS(0))}
	r.most.Store(math.MaxInt64)
	on := promauto.With(g.Registry)
	on.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "laststand_room_players", Help: "Players at this node who play a duel or wait for one.",
	}, func() float64 { return float64(r.inside.Load()) })
	r.shown = on.NewGauge(prometheus.GaugeOpts{
		Name: "laststand_room_most", Help: "How many of them there may be just now, for all the node has to do.",
	})
	r.shown.Set(r.bound)
	return r
}

// Enter lets a player in, until Leave, or refuses as Gauge.Refuse does.
func (r *Room) Enter() error {
	if r.inside.Add(1) <= r.most.Load() {
		return nil
	}
	err := r.gauge.refuseFor(Duels, later*spread())
	if err != nil {
		r.Leave()
	}
	return err
}

// Return lets a player in who has been in a duel before it is asked how many there
// are: nobody is refused what has begun.
func (r *Room) Return() { r.inside.Add(1) }

// Leave notes that a player has left.
func (r *Room) Leave() { r.inside.Add(-1) }

// Run looks four times a second until ctx ends. It returns nil.
func (r *Room) Run(ctx context.Context) error {
	if r.Most == 0 {
		return nil
	}
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-look.C:
			r.look()
		}
	}
}

func (r *Room) look() {
	lag, busy, inside := r.Lag(), r.Busy(), r.inside.Load()
	before := min(r.past[r.at], inside)
	r.past[r.at] = inside
	r.at = (r.at + 1) % trail
	r.since++
	r.turns.adapt(lag >= r.Most || lag >= r.Most/2 && busy >= wholly)
	if lag < r.Most {
		r.high = 0
		r.widen(float64(before), float64(inside), busy, lag/r.Most)
	} else if r.high++; r.high >= steady {
		r.narrow(float64(inside))
	}
	r.shown.Set(r.bound)
	r.most.Store(int64(min(r.bound, math.MaxInt64/2)))
}

// narrow has fewer be inside than there were when it began. What others on the machine
// take from this node does not end by refusing players: so a half of them stay for a
// while, whatever the lag.
func (r *Room) narrow(inside float64) {
	half := max(inside/2, float64(r.Sure))
	if r.since >= halving {
		r.since, r.least = 0, half
	}
	r.least = max(r.least, half) // more have come in meanwhile
	if r.high == steady {
		r.bound = min(r.bound, inside)
	}
	r.bound = max(r.bound*ease, r.least)
}

// widen has as many be inside as the processors can do with, by what those take who
// have been inside for a while; beyond that some more, by how far the lag is from too
// much.
func (r *Room) widen(before, inside, busy, lag float64) {
	switch {
	case busy < easy:
		r.bound = math.Inf(1)
		return
	case math.IsInf(r.bound, 1):
		r.bound = inside
	}
	if inside >= used*r.bound {
		r.bound *= 1 + stride*(1-lag)*(1-lag)
	}
	r.bound = max(r.bound, before*full/busy, float64(r.Sure))
}
