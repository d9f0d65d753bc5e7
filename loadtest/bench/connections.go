package bench

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
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
		return o.run(ctx, fmt.Sprintf("%d at rest, a storm of %d, %d players", o.idle, o.storm, o.playing), o.parts)
	}
}

const (
	fillTime  = 20 * time.Second // in which the connections at rest start; the ledger must first register their players
	stormTime = 3 * time.Second  // in which the connections of a storm start
)

// longQuestions is a game whose questions stay open for the longest permitted time.
const longQuestions = "{duel: {time_limit_ms: 300000, countdown_ms: 0, bot_after_ms: 0, pair_limit_per_day: 0}, arena: {time_limit_ms: 300000, countdown_ms: 0}}"

type connectionTables struct{ memory, serveTimes *players.Table }

// parts returns what to measure. The nodes collect garbage as often as the minimal server: a heap
// that may grow before a collection hides the memory of connections.
func (o *connectionsOptions) parts(r *players.Report) []part {
	t := connectionTables{
		r.Table("bytes of a connection", append(players.Columns(0, "connections", "resident", "heap", "stacks"), players.Columns(3, "goroutines")...)...),
		r.Table("until a client is served", slices.Concat(players.Columns(0, "clients"), players.Columns(1, "seconds", "p50 ms", "p99 ms", "max ms"), players.Columns(0, "refusals"))...),
	}
	node := clusterOptions{nodes: 1, node: testenv.NodeOptions{Redis: "redis", Env: []string{"GOGC=100"}, Game: longQuestions}}
	two := node
	two.nodes = 2
	idle := func(name string) func(context.Context, cluster) error {
		return func(ctx context.Context, c cluster) error { return o.measureIdle(ctx, t, c, name) }
	}
	play := func(inArenas bool, row string) func(context.Context, cluster) error {
		return func(ctx context.Context, c cluster) error {
			return t.addMemory(ctx, c, row, o.playing, func() (*benchClients, error) { return o.openQuestion(ctx, c, inArenas) })
		}
	}
	return []part{
		{"idle", clusterOptions{floor: []string{}}, idle("gorilla, leanest")}, {"idle", node, idle("laststand")},
		{"play", node, play(true, "playing, arenas")}, {"play", node, play(false, "playing, duels")},
		{"kill", two, func(ctx context.Context, c cluster) error { return o.measureKill(ctx, t, c) }},
	}
}

// addMemory connects clients, adds a row with the growth of the first node, divided by its
// connections, and disconnects the clients.
func (t connectionTables) addMemory(ctx context.Context, c cluster, row string, connections int, connect func() (*benchClients, error)) error {
	before, err := c.steadyMemory(ctx)
	if err != nil {
		return err
	}
	var after memory
	k, err := connect()
	if err == nil {
		after, err = c.steadyMemory(ctx)
	}
	if err := errors.Join(err, k.close()); err != nil {
		return err
	}
	n := float64(connections)
	t.memory.Add(row, n, (after.resident-before.resident)/n, (after.heap-before.heap)/n, (after.stacks-before.stacks)/n, (after.goroutines-before.goroutines)/n)
	return nil
}

// addServeTimes adds a row for clients that came at the same time: how long each waited.
func (t connectionTables) addServeTimes(row string, q players.Quantiles, took time.Duration, refusals int64) {
	t.serveTimes.Add(row, float64(q.N), took.Seconds(), q.P50, q.P99, q.Max, float64(refusals))
}

// measureIdle measures the memory of connections at rest. Then it closes them and measures a
// storm of connections.
func (o *connectionsOptions) measureIdle(ctx context.Context, t connectionTables, c cluster, name string) error {
	err := t.addMemory(ctx, c, name, o.idle, func() (*benchClients, error) { return connectIdle(ctx, c, o.idle, fillTime) })
	if err == nil {
		_, err = c.steadyMemory(ctx) // until the server has freed their memory
	}
	if err != nil {
		return err
	}
	start := time.Now()
	storm, err := connectIdle(ctx, c, o.storm, stormTime)
	took, refusals := time.Since(start), storm.sumCounts("connect ")
	if err := errors.Join(err, storm.close()); err != nil {
		return err
	}
	t.addServeTimes(name+", storm", storm.Stats.All().Quantiles(players.Served), took, refusals)
	return nil
}

// connectIdle starts clients at even intervals within a time. They do nothing. It returns
// when all of them are connected.
func connectIdle(ctx context.Context, c cluster, count int, within time.Duration) (*benchClients, error) {
	k := newBenchClients(ctx, c, float64(count)/within.Seconds(), players.Habits{})
	k.AddIdle(count)
	return k, k.await(ctx, "connected", within, func() bool { return k.Connected.Load() >= int64(count) })
}

// seatsPerArena is the number of players in an arena of Connections.
const seatsPerArena = 100

// joinsPerSecond is how many players of matches connect per second.
const joinsPerSecond = 1000

// openQuestion lets players play until all of them have an open question. In arenas most of
// them answer it; the others keep it open. In duels nobody answers.
func (o *connectionsOptions) openQuestion(ctx context.Context, c cluster, inArenas bool) (*benchClients, error) {
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
		return k.Stats.All().Quantiles(players.Question).N >= int64(o.playing)
	})
}

// measureKill kills one of two nodes during a question. It measures how long its players
// take to return to their matches on the other node.
func (o *connectionsOptions) measureKill(ctx context.Context, t connectionTables, c cluster) (err error) {
	k, err := o.openQuestion(ctx, c, true)
	defer func() { err = errors.Join(err, k.close()) }()
	if err != nil {
		return err
	}
	sessions, err := c.All[1].Metrics(ctx)
	if err != nil {
		return err
	}
	all, refused, start := k.Connected.Load(), k.sumCounts("connect "), time.Now()
	if err := c.All[0].Kill(); err != nil {
		return err
	}
	hosts := int64(o.playing / seatsPerArena) // some of them were on the other node
	lost := all - int64(sessions.Sum("laststand_ws_sessions"))
	err = k.await(ctx, "back", 0, func() bool { return k.Stats.All().Quantiles(players.Resumed).N >= lost-hosts })
	if err != nil {
		return err
	}
	took := time.Since(start)
	time.Sleep(time.Second) // for the hosts' share
	t.addServeTimes("death of a node", k.Stats.All().Quantiles(players.Resumed), took, k.sumCounts("connect ")-refused)
	return nil
}

// memory is the memory that a process uses, in bytes, and its goroutines, after a garbage
// collection.
type memory struct{ resident, heap, stacks, goroutines float64 }

// steadyMemory waits until the memory of the first node, or of the peer, no longer changes.
// Each collection halves unused stacks, and free memory returns to the system after a while.
func (c cluster) steadyMemory(ctx context.Context) (m memory, err error) {
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

func (c cluster) readMemory(ctx context.Context) (m memory, err error) {
	if err := c.All[0].CollectGarbage(ctx); err != nil {
		return m, err
	}
	all, err := c.All[0].Metrics(ctx)
	if err != nil {
		return m, err
	}
	resident, err := testenv.ResidentBytes(c.All[0].PID())
	return memory{float64(resident), all["go_memstats_heap_alloc_bytes"], all["go_memstats_stack_inuse_bytes"], all["go_goroutines"]}, err
}
