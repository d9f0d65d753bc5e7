package bench

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"time"

	"laststand/internal/testenv"
	"laststand/loadtest/players"
)

type connectionsOptions struct {
	options
	idle, storm, playing int
}

// Connections measures the memory of a websocket at rest and during a match. It also
// measures a storm of new connections, and the time until all players of a dead node are
// back. It measures the same of minimal servers on the same websocket library, for comparison.
//
//	go run ./loadtest bench connections                   # everything, about 2 minutes
//	go run ./loadtest bench connections -idle 15000 -storm 10000
//	go run ./loadtest bench connections -parts play,kill -playing 4000
//
// The parts are idle, play and kill. The part idle reports for each kind of server a row
// for the connections at rest, and then a row for the storm. A process can open about 20,000
// files, and this limits -idle. Bytes are the growth of a process, divided by its
// connections. The program measures them after garbage collection, when the resident memory
// no longer changes.
//
// The program fails if a connection was lost or a player did not come back.
func Connections(flags *flag.FlagSet) func(context.Context) error {
	var o connectionsOptions
	o.register(flags, 1, "parts")
	flags.IntVar(&o.idle, "idle", 15_000, "connections at rest")
	flags.IntVar(&o.storm, "storm", 10_000, "connections of a storm")
	flags.IntVar(&o.playing, "playing", 2_000, "players in each measurement: in arenas of 100, in duels, and on two nodes, one of which is killed")
	return func(ctx context.Context) error {
		o.title = fmt.Sprintf("%s, medians of %d runs", o.title, o.runs)
		return o.run(ctx, func(r *players.Report) []part {
			tables := newConnectionTables(r)
			return []part{
				{"idle", func(ctx context.Context) error { return measureIdle(ctx, o, tables) }},
				{"play", func(ctx context.Context) error { return measurePlaying(ctx, o, tables) }},
				{"kill", func(ctx context.Context) error { return measureKill(ctx, o, tables) }},
			}
		})
	}
}

const (
	fillTime  = 20 * time.Second // in which the connections at rest start; the ledger must first register their players
	stormTime = 3 * time.Second  // in which the connections of a storm start
)

// longQuestions is a game whose questions stay open for the longest permitted time.
const longQuestions = "{duel: {time_limit_ms: 300000, countdown_ms: 0, bot_after_ms: 0, pair_limit_per_day: 0}, arena: {time_limit_ms: 300000, countdown_ms: 0}}"

// startNodes starts nodes on a redis-server. They collect garbage as often as the minimal
// servers: a heap that may grow before a collection hides the memory of connections.
func (o connectionsOptions) startNodes(ctx context.Context, nodes int) (*cluster, error) {
	return startCluster(ctx, clusterOptions{nodes: nodes, node: testenv.NodeOptions{
		Redis: "redis", Binary: o.server, Env: []string{"GOGC=100"}, Game: longQuestions,
	}})
}

// measureIdle measures the memory of connections at rest on each kind of server. Then it
// closes them and measures a storm of connections.
func measureIdle(ctx context.Context, o connectionsOptions, r connectionTables) error {
	kinds := []struct {
		name  string
		start func() (*cluster, error)
	}{
		{"gorilla, leanest", func() (*cluster, error) { return startCluster(ctx, clusterOptions{floor: []string{}}) }},
		{"laststand", func() (*cluster, error) { return o.startNodes(ctx, 1) }},
	}
	for _, k := range kinds {
		c, err := k.start()
		if err != nil {
			return err
		}
		if err := errors.Join(o.measureIdleServer(ctx, r, k.name, c), c.stop()); err != nil {
			return fmt.Errorf("%s: %w", k.name, err)
		}
	}
	return nil
}

func (o connectionsOptions) measureIdleServer(ctx context.Context, r connectionTables, name string, c *cluster) error {
	before, err := c.steadyMemory(ctx)
	if err != nil {
		return err
	}
	atRest, err := connectIdle(ctx, c, o.idle, fillTime)
	if err != nil {
		return errors.Join(err, atRest.close())
	}
	after, err := c.steadyMemory(ctx)
	if err := errors.Join(err, atRest.close()); err != nil {
		return err
	}
	r.addMemory(name, o.idle, before, after)
	if _, err := c.steadyMemory(ctx); err != nil { // until the server has freed their memory
		return err
	}
	start := time.Now()
	storm, err := connectIdle(ctx, c, o.storm, stormTime)
	took := time.Since(start)
	refusals := storm.sumCounts("connect ")
	if err := errors.Join(err, storm.close()); err != nil {
		return err
	}
	r.addServeTimes(name+", storm", storm.stats.All().Quantiles(players.Served), took, refusals)
	return nil
}

// connectIdle starts clients at even intervals within a time. They do nothing. It returns
// when all of them are connected.
func connectIdle(ctx context.Context, c *cluster, count int, within time.Duration) (*benchClients, error) {
	k := newBenchClients(ctx, c, float64(count)/within.Seconds(), players.Habits{})
	k.AddIdle(count)
	return k, k.await(ctx, "connected", within, func() bool { return k.Connected.Load() >= int64(count) })
}

// seatsPerArena is the number of players in an arena of Connections.
const seatsPerArena = 100

// joinsPerSecond is how many players of matches connect per second.
const joinsPerSecond = 1000

// measurePlaying measures the memory of players in arenas and in duels while their question is
// open.
func measurePlaying(ctx context.Context, o connectionsOptions, r connectionTables) error {
	for _, row := range []string{"playing, arenas", "playing, duels"} {
		c, err := o.startNodes(ctx, 1)
		if err != nil {
			return err
		}
		before, after, err := o.measureOpenQuestion(ctx, c, row == "playing, arenas")
		if err := errors.Join(err, c.stop()); err != nil {
			return fmt.Errorf("%s: %w", row, err)
		}
		r.addMemory(row, o.playing, before, after)
	}
	return nil
}

// measureOpenQuestion returns the memory of the node before it has players, and while all have
// an open question.
func (o connectionsOptions) measureOpenQuestion(ctx context.Context, c *cluster, inArenas bool) (before, after memory, err error) {
	if before, err = c.steadyMemory(ctx); err != nil {
		return before, after, err
	}
	k, err := o.openQuestion(ctx, c, inArenas)
	if err == nil {
		after, err = c.steadyMemory(ctx)
	}
	return before, after, errors.Join(err, k.close())
}

// openQuestion lets players play until all of them have an open question. In arenas most of
// them answer it; the others keep it open. In duels nobody answers.
func (o connectionsOptions) openQuestion(ctx context.Context, c *cluster, inArenas bool) (*benchClients, error) {
	habits := players.Habits{SkipShare: 1}
	if inArenas {
		habits.SkipShare = 0.05
	}
	k := newBenchClients(ctx, c, joinsPerSecond, habits)
	if inArenas {
		for range o.playing / seatsPerArena {
			k.AddArenas(players.Arenas{Mode: "survival", MinPlayers: seatsPerArena, MaxPlayers: seatsPerArena, OwnPlayers: true})
		}
	} else {
		k.SetDuellists(o.playing)
	}
	return k, k.await(ctx, "asked", time.Duration(o.playing)*time.Second/joinsPerSecond, func() bool {
		return k.stats.All().Quantiles(players.Question).N >= int64(o.playing)
	})
}

// measureKill kills one of two nodes during a question. It measures how long its players
// take to return to their matches on the other node.
func measureKill(ctx context.Context, o connectionsOptions, r connectionTables) (err error) {
	c, err := o.startNodes(ctx, 2)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.stop()) }()
	k, err := o.openQuestion(ctx, c, true)
	defer func() { err = errors.Join(err, k.close()) }()
	if err != nil {
		return err
	}
	sessions, err := c.nodes[1].Metrics(ctx)
	if err != nil {
		return err
	}
	all, refused, start := k.Connected.Load(), k.sumCounts("connect "), time.Now()
	if err := c.nodes[0].Kill(); err != nil {
		return err
	}
	hosts := int64(o.playing / seatsPerArena) // some of them were on the other node
	lost := all - int64(sessions.Sum("laststand_ws_sessions"))
	err = k.await(ctx, "back", 0, func() bool { return k.stats.All().Quantiles(players.Resumed).N >= lost-hosts })
	if err != nil {
		return err
	}
	took := time.Since(start)
	time.Sleep(time.Second) // for the hosts' share
	r.addServeTimes("death of a node", k.stats.All().Quantiles(players.Resumed), took, k.sumCounts("connect ")-refused)
	return nil
}

// memory is the memory that a process uses, in bytes, and its goroutines, after a garbage
// collection.
type memory struct{ resident, heap, stacks, goroutines float64 }

type connectionTables struct{ memory, serveTimes *players.Table }

func newConnectionTables(r *players.Report) connectionTables {
	return connectionTables{
		r.Table("bytes of a connection", players.Column{Name: "connections"}, players.Column{Name: "resident"}, players.Column{Name: "heap"},
			players.Column{Name: "stacks"}, players.Column{Name: "goroutines", Decimals: 3}),
		r.Table("until a client is served", players.Column{Name: "clients"}, players.Column{Name: "seconds", Decimals: 1}, players.Column{Name: "p50 ms", Decimals: 1},
			players.Column{Name: "p99 ms", Decimals: 1}, players.Column{Name: "max ms", Decimals: 1}, players.Column{Name: "refusals"}),
	}
}

// addMemory adds the growth of a process, divided by its connections.
func (r connectionTables) addMemory(row string, connections int, before, after memory) {
	n := float64(connections)
	r.memory.Add(row, n, (after.resident-before.resident)/n, (after.heap-before.heap)/n, (after.stacks-before.stacks)/n, (after.goroutines-before.goroutines)/n)
}

// addServeTimes adds a row for clients that came at the same time: how long each waited.
func (r connectionTables) addServeTimes(row string, q players.Quantiles, took time.Duration, refusals int64) {
	r.serveTimes.Add(row, float64(q.N), took.Seconds(), q.P50, q.P99, q.Max, float64(refusals))
}

// steadyMemory waits until the memory of the first node, or of the peer, no longer changes.
// Each collection halves unused stacks, and free memory returns to the system after a while.
func (c *cluster) steadyMemory(ctx context.Context) (m memory, err error) {
	const pause, steadyReadings, maxReadings = 300 * time.Millisecond, 4, 40
	steady := 0
	for i := 0; i < maxReadings && steady < steadyReadings; i++ {
		last := m
		if m, err = c.readMemory(ctx); err != nil {
			return m, err
		}
		if steady++; i == 0 || m.resident < last.resident*0.995 || m.stacks < last.stacks*0.995 {
			steady = 0
		}
		time.Sleep(pause)
	}
	return m, nil
}

func (c *cluster) readMemory(ctx context.Context) (m memory, err error) {
	if err := c.nodes[0].CollectGarbage(ctx); err != nil {
		return m, err
	}
	all, err := c.nodes[0].Metrics(ctx)
	if err != nil {
		return m, err
	}
	resident, err := testenv.ResidentBytes(c.nodes[0].PID())
	return memory{float64(resident), all["go_memstats_heap_alloc_bytes"], all["go_memstats_stack_inuse_bytes"], all["go_goroutines"]}, err
}
