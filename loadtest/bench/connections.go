package bench

import (
	"context"
	"fmt"
	"time"

	"laststand/internal/testenv"
	"laststand/loadtest/players"
)

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
type Connections struct {
	options `set:"runs=1"`
	Parts   []string `help:"Measure only what has these names, separated by commas."`
	Idle    int      `default:"15000" help:"Connections at rest."`
	Storm   int      `default:"10000" help:"Connections of a storm."`
	Playing int      `default:"2000" help:"Players in each measurement: in arenas of 100, in duels, and on two nodes, one of which is killed."`
}

// Run runs the program. It fails by testenv.Must.
func (o *Connections) Run(ctx context.Context) {
	o.run(ctx, fmt.Sprintf("connections, %d at rest, a storm of %d, %d players", o.Idle, o.Storm, o.Playing), o.Parts, o.parts)
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
func (o *Connections) parts(r *players.Report) []part {
	t := connectionTables{
		r.Table("bytes of a connection", "connections", "resident", "heap", "stacks", "goroutines"),
		r.Table("until a client is served", "clients", "seconds", "p50 ms", "p99 ms", "max ms", "refusals"),
	}
	node := testenv.NodeOptions{Count: 1, Redis: "redis", Env: []string{"GOGC=100"}, Game: longQuestions}
	two := node
	two.Count = 2
	idle := func(name string) func(context.Context, cluster) {
		return func(ctx context.Context, c cluster) { o.measureIdle(ctx, t, c, name) }
	}
	play := func(inArenas bool, row string) func(context.Context, cluster) {
		return func(ctx context.Context, c cluster) {
			t.addMemory(ctx, c, row, o.Playing, func(k *benchClients) { o.openQuestion(ctx, k, inArenas) })
		}
	}
	return []part{
		{"idle", testenv.NodeOptions{Floor: []string{FloorProcess}}, idle("gorilla, leanest")}, {"idle", node, idle("laststand")},
		{"play", node, play(true, "playing, arenas")}, {"play", node, play(false, "playing, duels")},
		{"kill", two, func(ctx context.Context, c cluster) { o.measureKill(ctx, t, c) }},
	}
}

// addMemory connects clients, adds a row with the growth of the first node, divided by its
// connections, and disconnects the clients.
func (t connectionTables) addMemory(ctx context.Context, c cluster, row string, connections int, connect func(*benchClients)) {
	before := c.steadyMemory(ctx)
	k := newBenchClients(ctx, c)
	defer k.end()
	connect(k)
	after := c.steadyMemory(ctx)
	k.close()
	figures := []float64{float64(connections)}
	for i, figure := range after {
		figures = append(figures, (figure-before[i])/float64(connections))
	}
	t.memory.Add(row, figures...)
}

// addServeTimes adds a row for clients that came at the same time: how long each waited.
func (t connectionTables) addServeTimes(row string, q players.Quantiles, took time.Duration, refusals int64) {
	t.serveTimes.Add(row, float64(q.N), took.Seconds(), q.P50, q.P99, q.Max, float64(refusals))
}

// measureIdle measures the memory of connections at rest. Then it closes them and measures a
// storm of connections.
func (o *Connections) measureIdle(ctx context.Context, t connectionTables, c cluster, name string) {
	t.addMemory(ctx, c, name, o.Idle, func(k *benchClients) { k.connectIdle(ctx, o.Idle, fillTime) })
	c.steadyMemory(ctx) // until the server has freed their memory
	start, storm := time.Now(), newBenchClients(ctx, c)
	defer storm.end()
	storm.connectIdle(ctx, o.Storm, stormTime)
	took, refusals := time.Since(start), storm.sumCounts("connect ")
	storm.close()
	t.addServeTimes(name+", storm", storm.Stats.All().Quantiles(players.Served), took, refusals)
}

// connectIdle starts clients at even intervals within a time. They do nothing. It returns
// when all of them are connected.
func (k *benchClients) connectIdle(ctx context.Context, count int, within time.Duration) {
	k.SetRate(float64(count) / within.Seconds())
	k.AddIdle(count)
	k.await(ctx, "connected", within, func() bool { return k.Connected.Load() >= int64(count) })
}

// seatsPerArena is the number of players in an arena of Connections.
const seatsPerArena = 100

// joinsPerSecond is how many players of matches connect per second.
const joinsPerSecond = 1000

// openQuestion lets players play until all of them have an open question. In arenas most of
// them answer it; the others keep it open. In duels nobody answers.
func (o *Connections) openQuestion(ctx context.Context, k *benchClients, inArenas bool) {
	if k.Habits.SkipShare = 1; inArenas {
		k.Habits.SkipShare = 0.05
		for range o.Playing / seatsPerArena {
			k.AddArenas(players.Arenas{Mode: "survival", MinPlayers: seatsPerArena, MaxPlayers: seatsPerArena, OwnPlayers: true})
		}
	} else {
		k.SetDuellists(o.Playing)
	}
	k.await(ctx, "asked", time.Duration(o.Playing)*time.Second/joinsPerSecond, func() bool {
		return k.Stats.All().Quantiles(players.Question).N >= int64(o.Playing)
	})
}

// measureKill kills one of two nodes during a question. It measures how long its players
// take to return to their matches on the other node.
func (o *Connections) measureKill(ctx context.Context, t connectionTables, c cluster) {
	k := newBenchClients(ctx, c)
	defer k.end()
	o.openQuestion(ctx, k, true)
	others := testenv.Must(c.All[1].Metrics(ctx)).Sum("laststand_ws_sessions")
	all, refused, start := k.Connected.Load(), k.sumCounts("connect "), time.Now()
	testenv.MustDo(c.All[0].Kill())
	hosts := int64(o.Playing / seatsPerArena) // some of them were on the other node
	lost := all - int64(others)
	k.await(ctx, "back", 0, func() bool { return k.Stats.All().Quantiles(players.Resumed).N >= lost-hosts })
	took := time.Since(start)
	time.Sleep(time.Second) // for the hosts' share
	t.addServeTimes("death of a node", k.Stats.All().Quantiles(players.Resumed), took, k.sumCounts("connect ")-refused)
	k.close()
}

// memory is the memory that a process uses after a garbage collection: resident bytes, heap, stacks,
// and then its goroutines.
type memory [4]float64

// steadyMemory waits until the memory of the first node, or of the peer, no longer changes.
// Each collection halves unused stacks, and free memory returns to the system after a while.
func (c cluster) steadyMemory(ctx context.Context) (m memory) {
	const pause, steadyReadings, maxReadings = 300 * time.Millisecond, 4, 40
	steady := 0
	for i := 0; i < maxReadings && steady < steadyReadings; i++ {
		last := m
		testenv.MustDo(c.All[0].CollectGarbage(ctx))
		all := testenv.Must(c.All[0].Metrics(ctx))
		m = memory{all["process_resident_memory_bytes"], all["go_memstats_heap_alloc_bytes"], all["go_memstats_stack_inuse_bytes"], all["go_goroutines"]}
		if steady++; i == 0 || m[0] < last[0]*0.995 || m[2] < last[2]*0.995 {
			steady = 0
		}
		time.Sleep(pause)
	}
	return m
}
