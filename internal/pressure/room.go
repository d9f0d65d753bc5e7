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
// time; then as many as leave them some, see bound. So who would come last is refused,
// before those who are in wait. But for Run it is safe for concurrent use.
type Room struct {
	RoomConfig
	gauge  *Gauge
	inside atomic.Int64
	most   atomic.Int64
	turns  turnstile
	bound  bound // of look
	shown  prometheus.Gauge
}

const (
	lookEvery        = 250 * time.Millisecond
	surePerProcessor = 100
	later            = 2 // times as late as others come again who are refused for lack of room: most of what a spike brings are these
)

// NewRoom makes a room for as many as a node bears whose goroutines wait for less than
// most; 0 is for all. Refusals are a gauge's. For busy see RoomConfig.
func NewRoom(g *Gauge, most time.Duration, busy func() float64) *Room {
	sure := surePerProcessor * int64(runtime.GOMAXPROCS(0))
	return newRoom(g, RoomConfig{Lag: newLag().read, Busy: busy, Most: most.Seconds(), Sure: sure})
}

func newRoom(g *Gauge, c RoomConfig) *Room {
	r := &Room{RoomConfig: c, gauge: g, bound: newBound(c.Sure)}
	r.turns = turnstile{rate: math.Inf(1), least: newcomersPerProcessor * float64(runtime.GOMAXPROCS(0))}
	r.most.Store(math.MaxInt64)
	on := promauto.With(g.Registry)
	on.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "laststand_duel_players", Help: "Players at this node who play a duel or wait for one.",
	}, func() float64 { return float64(r.inside.Load()) })
	r.shown = on.NewGauge(prometheus.GaugeOpts{
		Name: "laststand_duel_players_limit", Help: "Players for whom this node has capacity in duels now; +Inf means all.",
	})
	r.shown.Set(r.bound.is)
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
	return looking(ctx, lookEvery, r.look)
}

func (r *Room) look() {
	lag, busy := r.Lag()/r.Most, r.Busy()
	r.turns.adapt(lag >= 1 || lag >= 0.5 && busy >= wholly)
	most := r.bound.look(lag, busy, r.inside.Load())
	r.shown.Set(most)
	r.most.Store(int64(min(most, math.MaxInt64/2)))
}
