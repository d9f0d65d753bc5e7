package bench

import (
	"context"
	"flag"
	"fmt"
	"time"

	"laststand/internal/testenv"
	"laststand/loadtest/players"
)

type scaleOptions struct {
	options
	players, rate int
	duration      time.Duration
}

// Scale measures the cost of an answer as nodes are added. It spreads players of arenas, and
// then of duels, over 1, 2 and 4 nodes, on one Redis and on a cluster of three masters.
//
//	go run ./loadtest bench scale                                       # about 9 minutes
//	go run ./loadtest bench scale -kinds duels/cluster/1,duels/cluster/4
//
// Each case starts everything again: Redis, PostgreSQL and nodes. The players answer at the same rate in every case, and then as fast as they
// can. All processes share this machine, so more nodes do not give more answers. The figures
// show whether an answer costs more. What the processes do without players is part of it.
//
// Players reach the rate if only their delays take time; the measured rate is lower. Arenas
// play survival and every answer is wrong, so that all play on. Duels are paired over all
// nodes, rated and settled, and their answers include that cost.
func Scale(flags *flag.FlagSet) func(context.Context) {
	var o scaleOptions
	o.register(flags, 1, "kinds")
	flags.IntVar(&o.players, "players", 800, "players, an even number")
	flags.IntVar(&o.rate, "rate", 2000, "answers/s to offer, before as many as possible")
	flags.DurationVar(&o.duration, "each", 10*time.Second, "time of each measurement")
	return func(ctx context.Context) {
		if o.players < 2*scaleArenas || o.players%2 != 0 || o.rate < 1 || o.duration < time.Second {
			testenv.Fail("-players is %d, -rate is %d and -each is %v; use an even number from %d, 1 and 1s on", o.players, o.rate, o.duration, 2*scaleArenas)
		}
		o.run(ctx, fmt.Sprintf("%d players in %d arenas or in duels, PostgreSQL", o.players, scaleArenas), o.parts)
	}
}

// parts returns all combinations of matches, stores and numbers of nodes.
func (o *scaleOptions) parts(r *players.Report) (all []part) {
	t := newAnswerTable(r)
	for _, store := range []string{"redis", "cluster"} {
		for _, nodes := range []int{1, 2, 4} {
			for _, kind := range []string{"arenas", "duels"} {
				all = append(all, o.newPart(t, store, nodes, kind))
			}
		}
	}
	return all
}

// scaleGame asks text questions, whose answer is `right`.
const scaleGame = `{banks: [load], duel: {questions: 10, countdown_ms: 0, reveal_ms: 0, bot_after_ms: 0, pair_limit_per_day: 0}, arena: {countdown_ms: 1000, reveal_ms: 0}}`

const (
	scaleArenas    = 8   // that the players are seated in
	arenaQuestions = 100 // of an arena, the highest permitted number
)

func (o *scaleOptions) newPart(t *players.Table, store string, nodes int, kind string) part {
	name := fmt.Sprintf("%s/%s/%d", kind, store, nodes)
	on := clusterOptions{nodes: nodes, node: testenv.NodeOptions{Redis: store, Database: "postgres", Game: scaleGame, Bank: textBank(arenaQuestions)}}
	play := o.play(kind)
	return playPart(name, on, play, func(ctx context.Context, p *answeringPlayers) {
		p.start()
		p.measurePlay(ctx, o.duration).addTo(t, fmt.Sprintf("%s at %d/s", name, o.rate))
		p.maxDelay.Store(0)
		p.measurePlay(ctx, o.duration).addTo(t, name+" at full speed")
	})
}

// play returns what is played, with the delay of answers with which all players together reach
// the rate. A question of an arena takes the whole of it. A question of a duel takes the longer of
// two random delays, on average two thirds.
func (o *scaleOptions) play(kind string) playOptions {
	delay := time.Duration(o.players) * time.Second / time.Duration(o.rate)
	if kind == "duels" {
		return playOptions{mode: "duel", players: o.players, questions: arenaQuestions, answer: `"wrong"`, maxDelay: delay * 3 / 2}
	}
	return playOptions{mode: "survival", players: o.players, arenas: scaleArenas, questions: arenaQuestions, answer: `"wrong"`, maxDelay: delay}
}
