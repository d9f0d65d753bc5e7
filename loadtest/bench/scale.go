package bench

import (
	"context"
	"fmt"
	"time"

	"laststand/internal/testenv"
	"laststand/loadtest/players"
)

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
type Scale struct {
	options  `set:"runs=1"`
	Kinds    []string      `help:"Measure only what has these names, separated by commas."`
	Players  int           `default:"800" help:"Players, an even number."`
	Rate     int           `default:"2000" help:"Answers/s to offer, before as many as possible."`
	Duration time.Duration `default:"10s" name:"each" help:"Time of each measurement."`
}

// Run runs the program. It fails by testenv.Must.
func (o *Scale) Run(ctx context.Context) {
	testenv.FailIf(o.Players < 2*scaleArenas || o.Players%2 != 0 || o.Rate < 1 || o.Duration < time.Second,
		"-players is %d, -rate is %d and -each is %v; use an even number from %d, 1 and 1s on", o.Players, o.Rate, o.Duration, 2*scaleArenas)
	o.run(ctx, fmt.Sprintf("scale, %d players in %d arenas or in duels, PostgreSQL", o.Players, scaleArenas), o.Kinds, o.parts)
}

// parts returns all combinations of matches, stores and numbers of nodes.
func (o *Scale) parts(r *players.Report) (all []part) {
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

func (o *Scale) newPart(t *players.Table, store string, nodes int, kind string) part {
	name := fmt.Sprintf("%s/%s/%d", kind, store, nodes)
	on := testenv.NodeOptions{Count: nodes, Redis: store, Database: "postgres", Game: scaleGame, Bank: textBank(arenaQuestions)}
	play := o.play(kind)
	return playPart(name, on, play, func(ctx context.Context, p *answeringPlayers) {
		p.start()
		p.measurePlay(ctx, o.Duration).addTo(t, fmt.Sprintf("%s at %d/s", name, o.Rate))
		p.maxDelay.Store(0)
		p.measurePlay(ctx, o.Duration).addTo(t, name+" at full speed")
	})
}

// play returns what is played, with the delay of answers with which all players together reach
// the rate. A question of an arena takes the whole of it. A question of a duel takes the longer of
// two random delays, on average two thirds.
func (o *Scale) play(kind string) playOptions {
	delay := time.Duration(o.Players) * time.Second / time.Duration(o.Rate)
	if kind == "duels" {
		return playOptions{mode: "duel", players: o.Players, questions: arenaQuestions, answer: `"wrong"`, maxDelay: delay * 3 / 2}
	}
	return playOptions{mode: "survival", players: o.Players, arenas: scaleArenas, questions: arenaQuestions, answer: `"wrong"`, maxDelay: delay}
}
