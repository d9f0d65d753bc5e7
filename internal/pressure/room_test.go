package pressure

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

// machine is what a room is in: it bears so many players, who take their share some
// looks after they have come in.
type machine struct {
	bears  float64
	others float64 // share of it that is not the players'
	room   *Room
	came   []int64 // inside, at the last looks
}

func newMachine(bears float64, c Config) *machine {
	m := &machine{bears: bears}
	m.room = newRoom(gauge(c), RoomConfig{Lag: m.lag, Busy: func() float64 { return min(m.load(), 1) }, Most: .015, Sure: 20})
	return m
}

// load is what there is to do, by what the machine can.
func (m *machine) load() float64 {
	weighs := int64(0)
	if late := len(m.came) - 6; late >= 0 {
		weighs = m.came[late]
	}
	return float64(weighs)/m.bears + m.others
}

func (m *machine) lag() float64 {
	if m.load() > 1 {
		return .1
	}
	return .012 * m.load()
}

// offer has so many players want to be there, for some looks; those who leave are a
// thirtieth, and come back.
func (m *machine) offer(players int64, looks int) (most int64, refused int) {
	for range looks {
		for range m.room.inside.Load() / 30 {
			m.room.Leave()
		}
		for m.room.inside.Load() < players {
			if m.room.Enter() != nil {
				refused++
				break
			}
		}
		m.came = append(m.came, m.room.inside.Load())
		most = max(most, m.room.inside.Load())
		m.room.look()
	}
	return most, refused
}

// Three times as many as a machine bears well want to play: about as many as it bears
// do, at no time many more. Before and after nobody is refused.
func TestRoomInASpike(t *testing.T) {
	t.Parallel()
	m := newMachine(1000, Config{})
	if _, refused := m.offer(850, 100); refused > 0 {
		t.Errorf("%d refused while there is time", refused)
	}
	if most, refused := m.offer(2550, 80); most > 1080 || refused == 0 {
		t.Errorf("up to %d inside in the spike, %d refused", most, refused)
	}
	if n := m.room.inside.Load(); n < 850 {
		t.Errorf("only %d inside in the end", n)
	}
	for m.room.inside.Load() > 700 {
		m.room.Leave()
	}
	if _, refused := m.offer(700, 8); refused > 0 {
		t.Errorf("%d refused after it", refused)
	}
	if m.offer(850, 20); m.room.inside.Load() != 850 {
		t.Errorf("%d are there again", m.room.inside.Load())
	}
}

// While many want to play, those who do are about as many as leave the processors some
// time, though these are seen busy now more, now less, and lag comes with garbage.
func TestRoomStaysAsItIs(t *testing.T) {
	t.Parallel()
	m := newMachine(1000, Config{})
	m.offer(800, 50)
	looks := 0
	m.room.Busy = func() float64 { looks++; return min(m.load()*[]float64{.8, 1.2, 1, .9, 1.1}[looks%5], 1) }
	m.room.Lag = func() float64 {
		if looks%16 == 0 {
			return .02
		}
		return .008
	}
	m.offer(2550, 60)
	least, most := int64(math.MaxInt64), int64(0)
	for range 200 {
		n, _ := m.offer(2550, 1)
		least, most = min(least, n), max(most, n)
	}
	if least < 780 || most > 920 {
		t.Errorf("from %d to %d are inside, where the processors are 85%% busy with 850", least, most)
	}
}

// Who all come at once to a node with nothing to do are not all let in.
func TestRoomFromNothing(t *testing.T) {
	t.Parallel()
	m := newMachine(1000, Config{})
	m.offer(10, 50)
	for wanted := int64(0); wanted < 4000; wanted += 250 {
		m.offer(wanted, 1)
	}
	if n, _ := m.offer(4000, 60); n > 2400 { // those of the looks until they weigh anything
		t.Errorf("%d came in", n)
	}
	if m.offer(4000, halving); m.room.inside.Load() < 700 || m.room.inside.Load() > 1000 { // a half stays for a while
		t.Errorf("%d are inside in the end", m.room.inside.Load())
	}
}

// A wave comes to a node that is half busy, at times more: nobody is refused.
func TestRoomForAWave(t *testing.T) {
	t.Parallel()
	m := newMachine(1000, Config{})
	m.offer(450, 50)
	looks := 0
	m.room.Busy = func() float64 {
		if looks++; looks%4 == 0 {
			return .6
		}
		return m.load()
	}
	for wanted := int64(450); wanted <= 600; wanted += 50 {
		if _, refused := m.offer(wanted, 1); refused > 0 {
			t.Errorf("%d refused of %d", refused, wanted)
		}
	}
}

// A neighbour that leaves some lag, and no time, sends away a half at the most.
func TestRoomBesideABusyNeighbour(t *testing.T) {
	t.Parallel()
	m := newMachine(1000, Config{})
	m.offer(600, 50)
	m.room.Busy = func() float64 { return 1 }
	m.room.Lag = func() float64 { return .01 }
	if m.offer(600, 10*halving); m.room.inside.Load() < 300 {
		t.Errorf("%d are left", m.room.inside.Load())
	}
}

// What was held for those who were there before a calm is not held after it.
func TestRoomForgetsInCalm(t *testing.T) {
	t.Parallel()
	m := newMachine(1000, Config{})
	m.offer(900, 50)
	m.others = 2
	m.offer(900, 20)
	m.others = 0
	for m.room.inside.Load() > 200 {
		m.room.Leave()
	}
	m.offer(200, 20)
	m.others = 2
	if m.offer(200, 20); m.room.bound.is > 200 {
		t.Errorf("room for %v while goroutines wait", m.room.bound.is)
	}
}

// What keeps the processors busy and lets goroutines go at once sends nobody away.
func TestRoomBesideWhoGivesWay(t *testing.T) {
	t.Parallel()
	r := newRoom(gauge(Config{}), RoomConfig{Lag: func() float64 { return .001 }, Busy: func() float64 { return 1 }, Most: .015})
	for range 500 {
		if r.Enter() != nil {
			t.Fatal("refused")
		}
	}
	for range halving {
		r.look()
	}
	if r.bound.is < 500 {
		t.Errorf("room for %v of 500", r.bound.is)
	}
}

// Where others take the machine, a half of the players stay for a minute, and some
// always come in.
func TestRoomBesideOthers(t *testing.T) {
	t.Parallel()
	m := newMachine(1000, Config{})
	m.offer(800, 50)
	m.others = 2
	if m.offer(800, halving-10); m.room.inside.Load() < 380 {
		t.Errorf("%d are left within a minute", m.room.inside.Load())
	}
	if m.offer(800, 10*halving); m.room.inside.Load() >= 30 { // of fewer than 30 nobody leaves here
		t.Errorf("%d are left in the end", m.room.inside.Load())
	}
	m.others = 0
	if m.offer(800, 30); m.room.inside.Load() != 800 {
		t.Errorf("%d are there again", m.room.inside.Load())
	}
}

// A half of those who are there when the others come stay, also where some had come
// when there were few.
func TestRoomBesideOthersAgain(t *testing.T) {
	t.Parallel()
	m := newMachine(1000, Config{})
	m.offer(100, 50)
	m.others = 2
	m.offer(100, 4)
	m.others = 0
	m.offer(800, 50)
	m.others = 2
	if m.offer(800, 100); m.room.inside.Load() < 380 {
		t.Errorf("%d are left", m.room.inside.Load())
	}
}

// One look with too much lag narrows nothing.
func TestOneLookWithLagIsNone(t *testing.T) {
	t.Parallel()
	lag := 0.0
	r := newRoom(gauge(Config{}), RoomConfig{Lag: func() float64 { return lag }, Busy: func() float64 { return 1 }, Most: .015})
	for range 9 {
		if r.Enter() != nil {
			t.Fatal("refused")
		}
	}
	for _, l := range []float64{.1, .01, .1, .01} {
		lag = l
		r.look()
	}
	if r.bound.is < 9 {
		t.Errorf("room for %v", r.bound.is)
	}
}

// Who is refused is told when to come again, and counted; on trial only counted. Who
// comes back to a duel is let in.
func TestRoomRefuses(t *testing.T) {
	t.Parallel()
	for _, trial := range []bool{false, true} {
		g := gauge(Config{Trial: trial})
		r := newRoom(g, RoomConfig{})
		r.most.Store(1)
		if err := r.Enter(); err != nil {
			t.Fatal(err)
		}
		err := r.Enter()
		var told *protocol.Error
		switch {
		case trial && (err != nil || testutil.ToFloat64(g.told.would[Duels]) != 1 || r.inside.Load() != 2):
			t.Errorf("on trial: %v, %d inside", err, r.inside.Load())
		case !trial && (!errors.As(err, &told) || told.Code != protocol.CodeOverloaded || told.RetryAfterMS < 4000 || testutil.ToFloat64(g.told.shed[Duels]) != 1 || r.inside.Load() != 1):
			t.Errorf("%v, %d inside", err, r.inside.Load())
		}
		before := r.inside.Load()
		if r.Return(); r.inside.Load() != before+1 {
			t.Error("who comes back is not there")
		}
	}
}

// While goroutines wait newcomers come one after another, ever more slowly, and who
// would wait too long is refused; soon after they come as they like again.
func TestNewcomersTakeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lag := 1.0
		g := gauge(Config{})
		r := newRoom(g, RoomConfig{Lag: func() float64 { return lag }, Busy: func() float64 { return 1 }, Most: .015})
		r.turns.least = 4
		began := time.Now()
		come := func(n int) (waited time.Duration) {
			for range n {
				if err := r.Await(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			return time.Since(began)
		}
		if waited := come(100); waited > 0 {
			t.Errorf("they wait for %v in calm", waited)
		}
		r.look() // 400 a second came
		if waited := come(101); waited.Round(time.Millisecond) != 500*time.Millisecond {
			t.Errorf("100 come in %v, at 200 a second", waited)
		}
		for range 9 {
			r.look()
		}
		done := make(chan error, 20)
		for range cap(done) {
			go func() { done <- r.Await(t.Context()) }()
		}
		refused := 0
		for range cap(done) {
			var told *protocol.Error
			if err := <-done; errors.As(err, &told) && told.Code == protocol.CodeOverloaded {
				refused++
			}
		}
		if refused < 2 || refused > 4 || testutil.ToFloat64(g.told.shed[Entering]) != float64(refused) {
			t.Errorf("%d of 20 were refused, at 4 a second", refused)
		}
		lag = 0
		for range 40 {
			r.look()
		}
		time.Sleep(patience)
		began = time.Now()
		if waited := come(100); waited > 0 {
			t.Errorf("they wait for %v when it is over", waited)
		}
	})
}

// Who is sent away is told of a turn of his own, as far as such are promised: if all
// come again then, none of them is sent away a second time.
func TestWhoIsSentAwayHasATurn(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	turns := turnstile{rate: 10}
	var again []time.Duration
	for range 150 {
		if wait, ok := turns.take(now); !ok {
			again = append(again, wait)
		}
	}
	if len(again) != 109 {
		t.Fatalf("%d of 150 were sent away, at 10 a second for 4 s", len(again))
	}
	for i, wait := range again {
		if want := patience + time.Duration(i+1)*100*time.Millisecond; wait != want {
			t.Fatalf("%d. comes again after %v, want %v", i, wait, want)
		}
		if _, ok := turns.take(now.Add(wait)); !ok {
			t.Fatalf("%d. is sent away again", i)
		}
	}
	for range 500 {
		if wait, ok := turns.take(now); !ok && (wait < patience || wait > 2*farthest) {
			t.Fatalf("sent away for %v", wait)
		}
	}
	for range 99 {
		turns.adapt(false)
	}
	turns.rate = 1
	for range 20 {
		if wait, ok := turns.take(now.Add(time.Minute)); !ok && wait > farthest {
			t.Fatalf("sent away for %v, by who was before the calm", wait)
		}
	}
}

// Of many who come at once to a door that lets few in each second, and go on coming,
// most of those who are sent away get in when they come again.
func TestMostComeInTheSecondTime(t *testing.T) {
	t.Parallel()
	turns := turnstile{rate: 100}
	due := map[int]int{0: 1500} // by second: those who come for the first time
	again, vain := map[int]int{}, 0
	for second := range 60 {
		now := time.Unix(int64(second), 0)
		came := due[second] + again[second] + 20
		for i := range came {
			wait, ok := turns.take(now.Add(time.Duration(i) * time.Second / time.Duration(came)))
			switch {
			case ok:
			case i < again[second]:
				vain++
				fallthrough
			default:
				again[second+int(wait/time.Second)]++
			}
		}
	}
	if vain > 500 {
		t.Errorf("%d came in vain again", vain)
	}
}

// Who waits for a turn does so no longer than the context.
func TestTurnEndsWithTheContext(t *testing.T) {
	t.Parallel()
	r := newRoom(gauge(Config{}), RoomConfig{})
	r.turns.rate = 1
	ctx, end := context.WithCancel(t.Context())
	end()
	_ = r.Await(ctx) // at once
	if err := r.Await(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// It looks by itself, and not where nothing bounds it.
func TestRoomRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		looks := 0
		c := RoomConfig{Lag: func() float64 { looks++; return 0 }, Busy: func() float64 { return 0 }, Most: 1}
		ctx, stop := context.WithTimeout(t.Context(), time.Second+time.Millisecond)
		defer stop()
		if err := newRoom(gauge(Config{}), c).Run(ctx); err != nil || looks != 4 {
			t.Errorf("%v after %d looks", err, looks)
		}
		c.Most = 0
		if err := newRoom(gauge(Config{}), c).Run(t.Context()); err != nil || looks != 4 {
			t.Errorf("%v after %d looks", err, looks)
		}
	})
}
