package bench

import (
	"context"
	"flag"
	"fmt"
	"time"

	"laststand/internal/testenv"
	"laststand/loadtest/report"
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
		return o.run(ctx, func(r *report.Report) []part {
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
