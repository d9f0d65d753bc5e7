package bench

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strconv"
	"strings"
	"time"

	"laststand/internal/testenv"
)

// scaleOptions are the flags of Scale.
type scaleOptions struct {
	options
	nodes, stores, kinds   string
	players, arenas, rate  int
	duration, warmUp, rest time.Duration
}

// Scale measures the cost of an answer as nodes are added. It spreads players of arenas, and
// then of duels, over 1, 2 and 4 nodes, on one Redis and on a cluster of three masters.
//
//	go run ./loadtest bench scale                                       # about 9 minutes
//	go run ./loadtest bench scale -nodes 1,4 -stores cluster -kinds duels -json scale.json
//
// Each case starts everything again: Redis, PostgreSQL and nodes. It measures their work at
// rest. Then the players answer at the same rate in every case, and then as fast as they
// can. All processes share this machine, so more nodes do not give more answers. The figures
// show whether an answer costs more. The work at rest is part of that cost.
//
// Players reach the rate if only their delays take time; the measured rate is lower. Arenas
// play survival and every answer is wrong, so that all play on. Duels are paired over all
// nodes, rated and settled, and their answers include that cost.
func Scale(flags *flag.FlagSet) func(context.Context) error {
	var o scaleOptions
	o.register(flags, 1)
	flags.StringVar(&o.nodes, "nodes", "1,2,4", "`numbers` of nodes")
	flags.StringVar(&o.stores, "stores", "redis,cluster", "`stores`: one Redis, a cluster of three masters")
	flags.StringVar(&o.kinds, "kinds", "arenas,duels", "`kinds` of matches")
	flags.IntVar(&o.players, "players", 800, "players, an even number")
	flags.IntVar(&o.arenas, "arenas", 8, "arenas that the players are seated in")
	flags.IntVar(&o.rate, "rate", 2000, "answers/s to offer, before as many as possible")
	flags.DurationVar(&o.duration, "each", 10*time.Second, "time of each measurement")
	flags.DurationVar(&o.warmUp, "warm", 2*time.Second, "time at a rate before its measurement")
	flags.DurationVar(&o.rest, "rest", 10*time.Second, "time of the measurement without players")
	return func(ctx context.Context) error {
		o.title = fmt.Sprintf("%s, %d players in %d arenas or in duels, PostgreSQL, medians of %d runs", o.title, o.players, o.arenas, o.runs)
		return o.runCases(ctx, o.cases)
	}
}

// cases returns all combinations of the lists, and all faults of the flags.
func (o scaleOptions) cases() (cases []playCase, err error) {
	itself := func(name string) string { return name }
	stores, wrongStores := choose([]string{"redis", "cluster"}, itself, o.stores, ",")
	kinds, wrongKinds := choose([]string{"arenas", "duels"}, itself, o.kinds, ",")
	faults := []error{wrongStores, wrongKinds}
	if o.arenas < 1 || o.players < 2*o.arenas || o.players%2 != 0 {
		faults = append(faults, fmt.Errorf("-players is %d for %d arenas; use an even number, at least two for each arena", o.players, o.arenas))
	}
	if o.rate < 1 || o.duration < time.Second || o.warmUp < 0 || o.rest < time.Second {
		faults = append(faults, errors.New("-rate must be at least 1, -each and -rest at least 1s, and -warm at least 0"))
	}
	var counts []int
	for _, number := range strings.Split(o.nodes, ",") {
		count, err := strconv.Atoi(number)
		if err != nil || count < 1 || count > 16 {
			faults = append(faults, fmt.Errorf("-nodes has %q; use numbers from 1 to 16, separated by commas", number))
		}
		counts = append(counts, count)
	}
	for _, store := range stores {
		for _, nodes := range counts {
			for _, kind := range kinds {
				cases = append(cases, o.newCase(store, nodes, kind))
			}
		}
	}
	return cases, errors.Join(faults...)
}

// scaleGame asks text questions, whose answer is `right`.
const scaleGame = `{banks: [load], duel: {questions: 10, countdown_ms: 0, reveal_ms: 0, bot_after_ms: 0, pair_limit_per_day: 0}, arena: {countdown_ms: 1000, reveal_ms: 0}}`

// arenaQuestions is the number of questions of an arena, the highest permitted.
const arenaQuestions = 100

func (o scaleOptions) newCase(store string, nodes int, kind string) playCase {
	play := playOptions{mode: "survival", players: o.players, arenas: o.arenas, questions: arenaQuestions, answer: `"wrong"`}
	if kind == "duels" {
		play.mode, play.arenas = "duel", 0
	}
	return playCase{
		name: fmt.Sprintf("%s, nodes: %d, %s", store, nodes, kind),
		cluster: clusterOptions{nodes: nodes, node: testenv.NodeOptions{
			Redis: store, Database: "postgres", Binary: o.server, Game: scaleGame, Bank: textBank(arenaQuestions),
		}},
		play: play, rest: o.rest, warmUp: o.warmUp, duration: o.duration,
		rates: []playRate{{fmt.Sprintf(", %d offered", o.rate), o.maxDelay(kind)}, {", full speed", 0}},
	}
}

// maxDelay returns the delay of answers with which all players together reach the rate. A
// question of an arena takes the whole of it. A question of a duel takes the longer of two
// random delays, on average two thirds.
func (o scaleOptions) maxDelay(kind string) time.Duration {
	all := time.Duration(o.players) * time.Second / time.Duration(max(o.rate, 1))
	if kind == "duels" {
		return all * 3 / 2
	}
	return all
}
