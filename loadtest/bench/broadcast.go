package bench

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"laststand/internal/protocol"
	"laststand/internal/testenv"
	"laststand/loadtest/players"
)

// pushPause is the time between pushes, so that one is delivered before the next.
const pushPause = 500 * time.Millisecond

// Broadcast measures how long a push takes to reach every watcher of an arena. Its floor is
// a server that only writes frames to as many sockets.
//
//	go run ./loadtest bench broadcast                 # 10,000 watchers, 3 runs of each
//	go run ./loadtest bench broadcast -watchers 2000 -pushes 10 -runs 1
//
// The time of a push starts when the server opens the question. It ends when the last watcher has
// read the push. The processor time is that of the server for each frame that a watcher received. It
// also pushes that a question is closed.
type Broadcast struct {
	options  `set:"runs=3"`
	Watchers int `default:"10000" help:"Sockets that receive each push."`
	Pushes   int `default:"20" help:"Pushes of each run."`
}

// Run runs the program. It fails by testenv.Must.
func (o *Broadcast) Run(ctx context.Context) {
	testenv.FailIf(o.Watchers < 1 || o.Pushes < 1, "-watchers is %d and -pushes is %d; use at least 1", o.Watchers, o.Pushes)
	o.run(ctx, fmt.Sprintf("broadcast, %d watchers, %d pushes a run", o.Watchers, o.Pushes), nil, o.parts)
}

func (o *Broadcast) parts(r *players.Report) []part {
	t := r.Table("push to the last watcher", "p50 ms", "max ms", "bytes", "server µs")
	node := testenv.NodeOptions{Count: 1, Redis: "redis", Game: "{arena: {countdown_ms: 0, reveal_ms: 60000}}"}
	measure := func(row string) func(context.Context, cluster) {
		return func(ctx context.Context, c cluster) { o.measure(ctx, t, c, row) }
	}
	return []part{{"arena", node, measure("laststand")}, {"floor", testenv.NodeOptions{Floor: []string{FloorProcess}}, measure("floor")}}
}

// measure adds a row of figures of the questions of an arena with one player and the watchers.
func (o *Broadcast) measure(ctx context.Context, t *players.Table, c cluster, row string) {
	host, made := makeArena(ctx, c.URLs()[0], protocol.NewArena{
		Mode: "buzzer", Name: "broadcast", Pace: "host", Questions: protocol.ArenaQuestions{Count: o.Pushes, Lang: "en"},
	})
	defer host.Close()
	player := testenv.Must(connectPlayer(ctx, c.URLs()[0], 0))
	defer player.Close()
	testenv.MustDo(player.Ask(protocol.TypeArenaJoin, protocol.ArenaJoin{Code: made.Code}))
	w := watchers{all: make([]*players.Player, o.Watchers), last: make([]float64, o.Pushes)}
	defer w.close()
	w.connect(ctx, c.URLs()[0], made.Code)
	for _, one := range w.all {
		w.reading.Go(func() error { return w.read(one) })
	}
	server := c.All[0].PID()
	before := testenv.Must(testenv.CPUTime(server))
	o.lead(host, made.ArenaID)
	spent := testenv.Must(testenv.CPUTime(server)) - before
	testenv.MustDo(w.reading.Wait())
	slices.Sort(w.last)
	t.Add(row, w.last[o.Pushes/2], w.last[o.Pushes-1], float64(w.size), micros(spent)/float64(2*o.Pushes*o.Watchers))
}

// lead lets the host start the arena, and open and close each question.
func (o *Broadcast) lead(host *players.Player, arenaID string) {
	testenv.MustDo(host.Ask(protocol.TypeArenaStart, protocol.ArenaRef{ArenaID: arenaID}))
	time.Sleep(2 * pushPause)
	for n := range 2 * o.Pushes {
		testenv.MustDo(host.Ask(protocol.TypeArenaNext, protocol.ArenaNext{ArenaID: arenaID, After: (n+1)/2 - 1}))
		time.Sleep(pushPause)
	}
}

// watchers are connections that receive the pushes of an arena.
type watchers struct {
	all     []*players.Player
	reading errgroup.Group

	mu   sync.Mutex
	last []float64 // ms from the opening of each question until the last watcher received it
	size int       // bytes of a push
}

func (w *watchers) connect(ctx context.Context, url, code string) {
	connecting, ctx := errgroup.WithContext(ctx)
	connecting.SetLimit(64)
	for i := range w.all {
		connecting.Go(func() (err error) {
			d := players.Dialer{LocalDialer: players.FromAddress(i / players.PerAddress), Buffer: 1024}
			if w.all[i], err = connectAs(ctx, d, url, "host", "watcher_"+strconv.Itoa(i)); err != nil { // hosts need no row in the ledger
				return err
			}
			return w.all[i].Ask(protocol.TypeArenaJoin, protocol.ArenaJoin{Code: code, As: "spectator"})
		})
	}
	testenv.MustDo(connecting.Wait())
}

// read notes when the questions come to a watcher.
func (w *watchers) read(one *players.Player) error {
	for n := 0; n < len(w.last); {
		frame, err := one.ReadRaw(clientTimeout)
		if err != nil {
			return fmt.Errorf("a watcher received %d of %d pushes: %w", n, len(w.last), err)
		}
		receivedAt := float64(time.Now().UnixMicro()) / 1000
		openedAt, ok := players.ParseNumber(players.TextAfter(frame, `"opens_at":`))
		if !ok || !bytes.HasPrefix(frame, []byte(`{"type":"`+protocol.TypeQuestion+`",`)) {
			continue
		}
		w.mu.Lock()
		w.last[n], w.size = max(w.last[n], receivedAt-float64(openedAt)), len(frame)
		w.mu.Unlock()
		n++
	}
	return nil
}

func (w *watchers) close() {
	for _, one := range w.all {
		if one != nil {
			_ = one.Close()
		}
	}
	_ = w.reading.Wait() // closing the connections has caused errors
}
