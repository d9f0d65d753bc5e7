package bench

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"time"

	"laststand/internal/protocol"
	"laststand/internal/testenv"
	"laststand/loadtest/players"
	"laststand/loadtest/report"
)

type broadcastOptions struct {
	options
	watchers, pushes int
}

// pushPause is the time between pushes, so that one is delivered before the next.
const pushPause = 500 * time.Millisecond

// Broadcast measures how long a push takes to reach every watcher of an arena. Its floor is
// a server that only writes the same number of bytes to as many sockets.
//
//	go run ./loadtest bench broadcast                 # 10,000 watchers, 3 runs of each
//	go run ./loadtest bench broadcast -watchers 2000 -pushes 10 -runs 1
//
// The time of a push starts when the node opens the question, or before the first write of
// the floor. It ends when the last watcher has read the push. The processor time is that of
// the server for each frame that a watcher received. An arena also pushes that a question is
// closed.
func Broadcast(flags *flag.FlagSet) func(context.Context) error {
	var o broadcastOptions
	o.register(flags, 3, "")
	flags.IntVar(&o.watchers, "watchers", 10_000, "sockets that receive each push")
	flags.IntVar(&o.pushes, "pushes", 20, "pushes of each run")
	return func(ctx context.Context) error {
		if o.watchers < 1 || o.pushes < 1 {
			return fmt.Errorf("-watchers is %d and -pushes is %d; use at least 1", o.watchers, o.pushes)
		}
		o.title = fmt.Sprintf("%s, %d watchers, %d pushes a run, medians of %d runs", o.title, o.watchers, o.pushes, o.runs)
		return o.run(ctx, func(r *report.Report) []part {
			t := r.Table("push to the last watcher", report.Column{Name: "p50 ms", Decimals: 1}, report.Column{Name: "max ms", Decimals: 1},
				report.Column{Name: "bytes"}, report.Column{Name: "server µs", Decimals: 2})
			size := 0
			return []part{
				{"arena", func(ctx context.Context) (err error) { size, err = o.measureArena(ctx, t); return err }},
				{"floor", func(ctx context.Context) error { return o.measureFloor(ctx, t, size) }},
			}
		})
	}
}

// measureArena measures the questions of an arena with one player, and returns the size of a
// push. The host opens and closes each question.
func (o broadcastOptions) measureArena(ctx context.Context, t *report.Table) (size int, err error) {
	c, err := startCluster(ctx, clusterOptions{nodes: 1, node: testenv.NodeOptions{
		Redis: "redis", Binary: o.server, Game: "{arena: {countdown_ms: 0, reveal_ms: 60000}}",
	}})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, c.stop()) }()
	host, made, err := makeArena(ctx, c.urls[0], protocol.NewArena{
		Mode: "buzzer", Name: "broadcast", Pace: "host", Questions: protocol.ArenaQuestions{Count: o.pushes, Lang: "en"},
	})
	if err != nil {
		return 0, err
	}
	defer host.Close()
	player, err := connectPlayer(ctx, c.urls[0], 0)
	if err != nil {
		return 0, err
	}
	defer player.Close()
	if err := player.Ask(protocol.TypeArenaJoin, protocol.ArenaJoin{Code: made.Code}); err != nil {
		return 0, err
	}
	lead := func() error {
		if err := host.Ask(protocol.TypeArenaStart, protocol.ArenaRef{ArenaID: made.ArenaID}); err != nil {
			return err
		}
		time.Sleep(2 * pushPause)
		for question := range o.pushes {
			for _, after := range []int{question - 1, question} { // opens the question, closes it
				if err := host.Ask(protocol.TypeArenaNext, protocol.ArenaNext{ArenaID: made.ArenaID, After: after}); err != nil {
					return err
				}
				time.Sleep(pushPause)
			}
		}
		return nil
	}
	return o.measure(ctx, t, c, "laststand", made.Code, 2*o.pushes, lead)
}

// measureFloor measures pushes of the given size.
func (o broadcastOptions) measureFloor(ctx context.Context, t *report.Table, size int) (err error) {
	c, err := startCluster(ctx, clusterOptions{floor: []string{}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.stop()) }()
	_, err = o.measure(ctx, t, c, "floor", "", o.pushes, func() error {
		for range o.pushes {
			if err := (players.Call{URL: fmt.Sprintf("%s/push?size=%d", c.urls[0], size)}).Do(ctx, new(any)); err != nil {
				return err
			}
			time.Sleep(pushPause)
		}
		return nil
	})
	return err
}

// measure connects watchers, lets lead cause the pushes, and adds a row of figures. Each
// watcher receives a number of frames. It returns the size of a push.
func (o broadcastOptions) measure(ctx context.Context, t *report.Table, c *cluster, row, code string, frames int, lead func() error) (size int, err error) {
	w, err := connectWatchers(ctx, c.urls[0], code, o.watchers)
	if err != nil {
		return 0, err
	}
	defer w.close()
	before, err := testenv.CPUTime(c.nodes[0].PID())
	if err != nil {
		return 0, err
	}
	if err := lead(); err != nil {
		return 0, err
	}
	after, err := testenv.CPUTime(c.nodes[0].PID())
	if err != nil {
		return 0, err
	}
	times, size, err := w.times(o.pushes)
	if err != nil {
		return 0, err
	}
	t.Add(row, times[len(times)/2], times[len(times)-1], float64(size), float64((after-before).Microseconds())/float64(frames*o.watchers))
	return size, nil
}
