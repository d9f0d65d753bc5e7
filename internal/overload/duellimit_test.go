package overload

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"laststand/internal/protocol"
)

// fakeMachine simulates a machine with a duel limit. It has capacity for a number of players.
// A player causes load some updates after it was accepted.
type fakeMachine struct {
	capacity      float64
	otherLoad     float64 // share of the machine that others use
	shedder       *Shedder
	players       int64
	playerHistory []int64 // players at each update
}

func newFakeMachine(capacity float64, config ShedderConfig) *fakeMachine {
	m := &fakeMachine{capacity: capacity}
	config.ReadBusy, config.CountDuelPlayers = func() float64 { return min(m.load(), 1) }, func() int64 { return m.players }
	m.shedder = newDuelShedder(config, m.lag)
	m.shedder.duels.controller.minPlayers = 20
	return m
}

// newDuelShedder returns a shedder that refuses duels from a lag of 15 ms on.
func newDuelShedder(config ShedderConfig, readLag func() float64) *Shedder {
	config.MaxLag = duelLagDivisor * 15 * time.Millisecond
	shedder := newTestShedder(config)
	shedder.duels.readLag, shedder.duels.controller.minPlayers = readLag, 0
	return shedder
}

func noPlayers() int64 { return 0 }
func allBusy() float64 { return 1 }

// load returns the load of the players and of other programs, as a share of the
// capacity.
func (m *fakeMachine) load() float64 {
	active := int64(0)
	if index := len(m.playerHistory) - 6; index >= 0 {
		active = m.playerHistory[index]
	}
	return float64(active)/m.capacity + m.otherLoad
}

func (m *fakeMachine) lag() float64 {
	if m.load() > 1 {
		return .1
	}
	return .012 * m.load()
}

// offerPlayers lets players join until the number of players who play is the given one,
// at each of some updates. At each update a thirtieth of the players leave and come back.
func (m *fakeMachine) offerPlayers(players int64, updates int) (maxPlayers int64, refused int) {
	for range updates {
		m.players -= m.players / 30
		for m.players < players {
			release, err := m.shedder.Acquire(Duels)
			if err != nil {
				refused++
				break
			}
			m.players++
			release()
		}
		m.playerHistory = append(m.playerHistory, m.players)
		maxPlayers = max(maxPlayers, m.players)
		m.shedder.updateLimits()
	}
	return maxPlayers, refused
}

// In a spike of three times the capacity about as many play as the machine can serve,
// and never many more. Before and after it no player is refused.
func TestDuelLimitAcceptsTheCapacityInASpike(t *testing.T) {
	t.Parallel()
	m := newFakeMachine(1000, ShedderConfig{})
	if _, refused := m.offerPlayers(850, 100); refused > 0 {
		t.Errorf("%d refused below the capacity", refused)
	}
	if maxPlayers, refused := m.offerPlayers(2550, 80); maxPlayers > 1080 || refused == 0 {
		t.Errorf("up to %d players in the spike, %d refused", maxPlayers, refused)
	}
	if n := m.players; n < 850 {
		t.Errorf("only %d players in the end", n)
	}
	m.players = min(m.players, 700)
	if _, refused := m.offerPlayers(700, 8); refused > 0 {
		t.Errorf("%d refused after the spike", refused)
	}
	if m.offerPlayers(850, 20); m.players != 850 {
		t.Errorf("%d players again", m.players)
	}
}

// While many want to play, the number of players stays near the target load, even with
// uneven processor use and lag from garbage collection.
func TestDuelLimitStaysNearTheTargetLoad(t *testing.T) {
	t.Parallel()
	m := newFakeMachine(1000, ShedderConfig{})
	m.offerPlayers(800, 50)
	updates := 0
	m.shedder.ReadBusy = func() float64 { updates++; return min(m.load()*[]float64{.8, 1.2, 1, .9, 1.1}[updates%5], 1) }
	m.shedder.duels.readLag = func() float64 {
		if updates%16 == 0 {
			return .02
		}
		return .008
	}
	m.offerPlayers(2550, 60)
	minPlayers, maxPlayers := int64(math.MaxInt64), int64(0)
	for range 200 {
		n, _ := m.offerPlayers(2550, 1)
		minPlayers, maxPlayers = min(minPlayers, n), max(maxPlayers, n)
	}
	if minPlayers < 780 || maxPlayers > 920 {
		t.Errorf("from %d to %d players, although the processors are 85%% busy with 850", minPlayers, maxPlayers)
	}
}

// When very many players join an idle node at the same time, not all are accepted.
func TestIdleNodeDoesNotAcceptVeryManyPlayersTogether(t *testing.T) {
	t.Parallel()
	m := newFakeMachine(1000, ShedderConfig{})
	m.offerPlayers(10, 50)
	for wanted := int64(0); wanted < 4000; wanted += 250 {
		m.offerPlayers(wanted, 1)
	}
	if n, _ := m.offerPlayers(4000, 60); n > 2400 { // includes the players accepted before they cause load
		t.Errorf("%d accepted", n)
	}
	if m.offerPlayers(4000, floorPeriodUpdates); m.players < 700 || m.players > 1000 { // the floor keeps a half for a while
		t.Errorf("%d players in the end", m.players)
	}
}

// On a half-busy node, which is busier at times, all players of a small rise are
// accepted.
func TestDuelLimitAcceptsSmallRise(t *testing.T) {
	t.Parallel()
	m := newFakeMachine(1000, ShedderConfig{})
	m.offerPlayers(450, 50)
	updates := 0
	m.shedder.ReadBusy = func() float64 {
		if updates++; updates%4 == 0 {
			return .6
		}
		return m.load()
	}
	for wanted := int64(450); wanted <= 600; wanted += 50 {
		if _, refused := m.offerPlayers(wanted, 1); refused > 0 {
			t.Errorf("%d refused of %d", refused, wanted)
		}
	}
}

// Other load that leaves some lag, but uses all processors, halves the players at most.
func TestModerateOtherLoadKeepsHalfOfPlayers(t *testing.T) {
	t.Parallel()
	m := newFakeMachine(1000, ShedderConfig{})
	m.offerPlayers(600, 50)
	m.shedder.ReadBusy = func() float64 { return 1 }
	m.shedder.duels.readLag = func() float64 { return .01 }
	if m.offerPlayers(600, 10*floorPeriodUpdates); m.players < 300 {
		t.Errorf("%d players left", m.players)
	}
}

// The floor of players before an idle time does not apply after it.
func TestFloorDoesNotApplyAfterIdleTime(t *testing.T) {
	t.Parallel()
	m := newFakeMachine(1000, ShedderConfig{})
	m.offerPlayers(900, 50)
	m.otherLoad = 2
	m.offerPlayers(900, 20)
	m.otherLoad = 0
	m.players = min(m.players, 200)
	m.offerPlayers(200, 20)
	m.otherLoad = 2
	if m.offerPlayers(200, 20); m.shedder.duels.controller.limit > 200 {
		t.Errorf("limit %v while goroutines wait", m.shedder.duels.controller.limit)
	}
}

// Load that uses all processors without lag refuses no player.
func TestDuelLimitIgnoresLoadWithoutLag(t *testing.T) {
	t.Parallel()
	shedder := newDuelShedder(ShedderConfig{ReadBusy: allBusy, CountDuelPlayers: func() int64 { return 500 }}, func() float64 { return .001 })
	for range floorPeriodUpdates {
		shedder.updateLimits()
	}
	if limit := shedder.duels.controller.limit; limit < 500 {
		t.Errorf("limit %v with 500 players", limit)
	}
}

// If other programs use the machine, half of the players stay for a minute, and the
// minimum is always accepted.
func TestHalfOfPlayersStayForAMinuteUnderOtherLoad(t *testing.T) {
	t.Parallel()
	m := newFakeMachine(1000, ShedderConfig{})
	m.offerPlayers(800, 50)
	m.otherLoad = 2
	if m.offerPlayers(800, floorPeriodUpdates-10); m.players < 380 {
		t.Errorf("%d players left within a minute", m.players)
	}
	if m.offerPlayers(800, 10*floorPeriodUpdates); m.players >= 30 { // below 30 players nobody leaves in this test
		t.Errorf("%d players left in the end", m.players)
	}
	m.otherLoad = 0
	if m.offerPlayers(800, 30); m.players != 800 {
		t.Errorf("%d players again", m.players)
	}
}

// The floor is half of the players when the other load starts, even if there were few
// at an earlier time.
func TestFloorIsHalfOfPlayersWhenLoadStarts(t *testing.T) {
	t.Parallel()
	m := newFakeMachine(1000, ShedderConfig{})
	m.offerPlayers(100, 50)
	m.otherLoad = 2
	m.offerPlayers(100, 4)
	m.otherLoad = 0
	m.offerPlayers(800, 50)
	m.otherLoad = 2
	if m.offerPlayers(800, 100); m.players < 380 {
		t.Errorf("%d players left", m.players)
	}
}

// A single update with too much lag does not lower the limit.
func TestSingleUpdateWithLagIsIgnored(t *testing.T) {
	t.Parallel()
	lag := 0.0
	shedder := newDuelShedder(ShedderConfig{ReadBusy: allBusy, CountDuelPlayers: func() int64 { return 9 }}, func() float64 { return lag })
	for _, value := range []float64{.1, .01, .1, .01} {
		lag = value
		shedder.updateLimits()
	}
	if limit := shedder.duels.controller.limit; limit < 9 {
		t.Errorf("limit %v", limit)
	}
}

// A refused player gets a retry time, and is counted; in dry run only counted. A player who
// is joining counts.
func TestDuelLimitRefusesWithRetryTime(t *testing.T) {
	t.Parallel()
	for _, dryRun := range []bool{false, true} {
		shedder := newTestShedder(ShedderConfig{DryRun: dryRun, CountDuelPlayers: func() int64 { return 1 }})
		shedder.duels.max.Store(2)
		release, err := shedder.Acquire(Duels)
		if err != nil {
			t.Fatal(err)
		}
		_, err = shedder.Acquire(Duels)
		var refusal *protocol.Error
		switch {
		case dryRun && (err != nil || testutil.ToFloat64(shedder.metrics.wouldRefuse.WithLabelValues(string(Duels))) != 1):
			t.Errorf("dry run: %v", err)
		case !dryRun && (!errors.As(err, &refusal) || refusal.Code != protocol.CodeOverloaded || refusal.RetryAfterMS < 4000 || testutil.ToFloat64(shedder.metrics.refused.WithLabelValues(string(Duels))) != 1):
			t.Errorf("%v", err)
		}
		if release(); !dryRun {
			if _, err := shedder.Acquire(Duels); err != nil {
				t.Errorf("after the other player's join has failed: %v", err)
			}
		}
	}
}

// With lag new hellos are admitted one after another at a falling rate, and those that
// would wait too long are refused. Soon after the lag all are admitted immediately again.
func TestHellosAreQueuedUnderLag(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lag := 1.0
		shedder := newDuelShedder(ShedderConfig{ReadBusy: allBusy, CountDuelPlayers: noPlayers}, func() float64 { return lag })
		shedder.hellos.minPerSecond = 4
		startedAt := time.Now()
		awaitHellos := func(n int) (waited time.Duration) {
			for range n {
				if err := shedder.AwaitHello(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			return time.Since(startedAt)
		}
		if waited := awaitHellos(100); waited > 0 {
			t.Errorf("hellos wait for %v without lag", waited)
		}
		shedder.updateLimits() // 400 per second were admitted
		if waited := awaitHellos(101); waited.Round(time.Millisecond) != 500*time.Millisecond {
			t.Errorf("100 are admitted in %v, at 200 per second", waited)
		}
		for range 9 {
			shedder.updateLimits()
		}
		results := make(chan error, 20)
		for range cap(results) {
			go func() { results <- shedder.AwaitHello(t.Context()) }()
		}
		refused := 0
		for range cap(results) {
			var refusal *protocol.Error
			if err := <-results; errors.As(err, &refusal) && refusal.Code == protocol.CodeOverloaded {
				refused++
			}
		}
		if refused < 2 || refused > 4 || testutil.ToFloat64(shedder.metrics.refused.WithLabelValues(string(NewSessions))) != float64(refused) {
			t.Errorf("%d of 20 refused, at 4 per second", refused)
		}
		lag = 0
		for range 40 {
			shedder.updateLimits()
		}
		time.Sleep(maxAdmissionWait)
		startedAt = time.Now()
		if waited := awaitHellos(100); waited > 0 {
			t.Errorf("hellos wait for %v after the lag", waited)
		}
	})
}

// Refused hellos get distinct retry times up to maxExclusiveRetry. If all retry then, none is
// refused again.
func TestRefusedHellosGetDistinctRetryTimes(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	queue := admissionQueue{perSecond: 10}
	var waits []time.Duration
	for range 150 {
		if wait, ok := queue.reserve(now); !ok {
			waits = append(waits, wait)
		}
	}
	if len(waits) != 109 {
		t.Fatalf("%d of 150 were refused, at 10 per second for 4 s", len(waits))
	}
	for i, wait := range waits {
		if want := maxAdmissionWait + time.Duration(i+1)*100*time.Millisecond; wait != want {
			t.Fatalf("retry %d is after %v, want %v", i, wait, want)
		}
		if _, ok := queue.reserve(now.Add(wait)); !ok {
			t.Fatalf("retry %d is refused", i)
		}
	}
	for range 500 {
		if wait, ok := queue.reserve(now); !ok && (wait < maxAdmissionWait || wait > 2*maxExclusiveRetry) {
			t.Fatalf("refused for %v", wait)
		}
	}
	for range 99 {
		queue.adaptRate(false)
	}
	queue.perSecond = 1
	for range 20 {
		if wait, ok := queue.reserve(now.Add(time.Minute)); !ok && wait > maxExclusiveRetry {
			t.Fatalf("refused for %v, because of earlier retry times", wait)
		}
	}
}

// When many hellos arrive at the same time and others keep arriving, most of those refused are
// admitted on their retry.
func TestMostRefusedHellosSucceedOnRetry(t *testing.T) {
	t.Parallel()
	queue := admissionQueue{perSecond: 100}
	firstAttempts := map[int]int{0: 1500} // first attempts, by second
	retries, refusedAgain := map[int]int{}, 0
	for second := range 60 {
		now := time.Unix(int64(second), 0)
		attempts := firstAttempts[second] + retries[second] + 20
		for i := range attempts {
			wait, ok := queue.reserve(now.Add(time.Duration(i) * time.Second / time.Duration(attempts)))
			switch {
			case ok:
			case i < retries[second]:
				refusedAgain++
				fallthrough
			default:
				retries[second+int(wait/time.Second)]++
			}
		}
	}
	if refusedAgain > 500 {
		t.Errorf("%d were refused again", refusedAgain)
	}
}

// A hello waits for its admission no longer than its context allows.
func TestAwaitHelloEndsWithTheContext(t *testing.T) {
	t.Parallel()
	shedder := newTestShedder(ShedderConfig{})
	shedder.hellos.perSecond = 1
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_ = shedder.AwaitHello(ctx) // the first hello is admitted immediately
	if err := shedder.AwaitHello(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// Run updates the limit, unless there is none.
func TestRunUpdatesTheLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		updates := 0
		shedder := newDuelShedder(ShedderConfig{ReadBusy: allBusy, CountDuelPlayers: noPlayers}, func() float64 { updates++; return 0 })
		for range 2 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second+time.Millisecond)
			if err := shedder.Run(ctx); err != nil || updates != 4 {
				t.Errorf("%v after %d updates", err, updates)
			}
			cancel()
			shedder.MaxLag = 0
		}
	})
}
