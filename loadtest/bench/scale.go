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
	"laststand/loadtest/report"
)

// scaleOptions are the flags of Scale.
type scaleOptions struct {
	options
	nodes, stores, kinds   string
	players, arenas, rate  int
	duration, warmUp, rest time.Duration
}

// scaleCase is a cluster and what is played on it.
type scaleCase struct {
	nodes       int
	store, kind string
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
		cases, err := o.cases()
		if err != nil {
			return err
		}
		o.program = fmt.Sprintf("%s, %d players in %d arenas or in duels, PostgreSQL, medians of %d runs", o.program, o.players, o.arenas, o.runs)
		return o.run(ctx, func(ctx context.Context, r *report.Report) error {
			tables := newAnswerTables(r)
			for range o.runs {
				for _, c := range cases {
					if err := o.measure(ctx, tables, c); err != nil {
						return fmt.Errorf("%s on %d nodes on %s: %w", c.kind, c.nodes, c.store, err)
					}
				}
			}
			return nil
		})
	}
}

// cases returns all combinations of the lists, and all faults of the flags.
func (o scaleOptions) cases() (cases []scaleCase, err error) {
	itself := func(name string) string { return name }
	stores, wrongStores := choose([]string{"redis", "cluster"}, itself, o.stores, ",")
	kinds, wrongKinds := choose([]string{"arenas", "duels"}, itself, o.kinds, ",")
	faults := []error{wrongStores, wrongKinds}
	for _, list := range strings.Split(o.nodes, ",") {
		nodes, err := strconv.Atoi(list)
		if err != nil || nodes < 1 || nodes > 16 {
			faults = append(faults, fmt.Errorf("-nodes has %q; use numbers from 1 to 16, separated by commas", list))
		}
		for _, store := range stores {
			for _, kind := range kinds {
				cases = append(cases, scaleCase{nodes, store, kind})
			}
		}
	}
	if o.arenas < 1 || o.players < 2*o.arenas || o.players%2 != 0 {
		faults = append(faults, fmt.Errorf("-players is %d for %d arenas; use an even number, at least two for each arena", o.players, o.arenas))
	}
	if o.rate < 1 || o.duration < time.Second || o.warmUp < 0 || o.rest < time.Second {
		faults = append(faults, errors.New("-rate must be at least 1, -each and -rest at least 1s, and -warm at least 0"))
	}
	return cases, errors.Join(faults...)
}

// scaleGame asks text questions, whose answer is `right`.
const scaleGame = `{banks: [load], duel: {questions: 10, countdown_ms: 0, reveal_ms: 0, bot_after_ms: 0, pair_limit_per_day: 0}, arena: {countdown_ms: 1000, reveal_ms: 0}}`

// arenaQuestions is the number of questions of an arena, the highest permitted.
const arenaQuestions = 100

// measure measures a case at rest, at the offered rate, and as fast as possible.
func (o scaleOptions) measure(ctx context.Context, t answerTables, s scaleCase) (err error) {
	c, err := startCluster(ctx, clusterOptions{nodes: s.nodes, redis: s.store, postgres: true, node: testenv.NodeOptions{
		Binary: o.server, Game: scaleGame, Bank: textBank(arenaQuestions),
	}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.stop()) }()
	for _, store := range c.stores {
		store.RaisePriority()
	}
	rest, err := c.measureRest(ctx, o.rest)
	if err != nil {
		return err
	}
	row := fmt.Sprintf("%s, %d nodes, %s", s.store, s.nodes, s.kind)
	t.add(row+", at rest", rest)
	play := playOptions{mode: "survival", players: o.players, arenas: o.arenas, questions: arenaQuestions, answer: `"wrong"`, maxDelay: o.maxDelay(s.kind)}
	if s.kind == "duels" {
		play.mode, play.arenas = "duel", 0
	}
	p, err := seat(ctx, c, play)
	if err != nil {
		return err
	}
	defer p.close()
	p.start()
	for _, offered := range []string{fmt.Sprintf("%d offered", o.rate), "full speed"} {
		m, err := c.measurePlay(ctx, p, o.warmUp, o.duration, rest.to)
		if err != nil {
			return err
		}
		t.add(row+", "+offered, m)
		p.maxDelay.Store(0)
	}
	return nil
}

// maxDelay returns the delay of answers with which all players together reach the rate. A
// question of an arena takes the whole of it. A question of a duel takes the longer of two
// random delays, on average two thirds.
func (o scaleOptions) maxDelay(kind string) time.Duration {
	all := time.Duration(o.players) * time.Second / time.Duration(o.rate)
	if kind == "duels" {
		return all * 3 / 2
	}
	return all
}
