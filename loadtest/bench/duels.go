package bench

import (
	"context"
	"flag"
	"fmt"
	"time"

	"laststand/internal/testenv"
	"laststand/loadtest/report"
)

type duelsOptions struct {
	options
	pairs    int
	duration time.Duration
	trace    bool
}

// Duels measures answers of duels, without pauses and at a pace, on an embedded server and
// then on a redis-server. Their players are rated, and their results are settled. Paced
// answers reach about 200 answers/s embedded and 1,000 on Redis.
//
//	go run ./loadtest bench duels                     # all kinds, 3 runs each
//	go run ./loadtest bench duels -kinds redis,floor -pairs 100 -for 10s -runs 1
//	go run ./loadtest bench duels -costs              # the work for an answer, by part
//	go run ./loadtest bench duels -trace              # the time of an answer that comes alone, by part
//	go run ./loadtest bench duels -kinds 'postgres paced,beside deletion'
//
// Beside deletion is the same as postgres paced, while the node deletes old matches and
// erases the answers of players.
//
// The kind floor exchanges the same frames without a game: a minimal script accepts each answer.
func Duels(flags *flag.FlagSet) func(context.Context) error {
	var o duelsOptions
	o.register(flags, 3, "kinds")
	flags.IntVar(&o.pairs, "pairs", 100, "pairs of players")
	o.registerCosts(flags, "redis")
	flags.BoolVar(&o.trace, "trace", false, "show the time of an answer by its parts instead, with one pair on a redis-server")
	flags.DurationVar(&o.duration, "for", 10*time.Second, "time of each run")
	return func(ctx context.Context) error {
		if o.trace {
			o.pairs = 1
		}
		o.title = fmt.Sprintf("%s, %d pairs, %v a run, medians of %d runs", o.title, o.pairs, o.duration, o.runs)
		return o.run(ctx, func(r *report.Report) []part {
			if o.trace {
				return o.traceParts(r)
			}
			if o.costs {
				return costParts(r, o.newCase("redis", "redis", 0, 0))
			}
			return caseParts(r, append([]playCase{
				o.newCase("embedded", "", 0, 0),
				o.newCase("embedded paced", "", 700*time.Millisecond, 300*time.Millisecond),
				o.newCase("redis", "redis", 0, 0),
				o.floorCase(),
				o.newCase("redis paced", "redis", 70*time.Millisecond, 150*time.Millisecond),
			}, o.oldMatchesCases()...))
		})
	}
}

// traceParts returns the measurement of the time of a lone answer by its parts.
func (o duelsOptions) traceParts(r *report.Report) []part {
	k := o.newCase("trace", "redis", 70*time.Millisecond, 0)
	k.play.maxDelay, k.play.isTraced = 150*time.Millisecond, true
	k.traces = r.Table("lone answer", report.Column{Name: "p50 µs"}, report.Column{Name: "p99 µs"}, report.Column{Name: "answers"})
	return caseParts(r, []playCase{k})
}

// floorCase returns the case of the floor of duels, see floor. It starts on the same Redis.
func (o duelsOptions) floorCase() playCase {
	k := o.newCase("floor", "redis", 0, 0)
	k.cluster.floor = []string{"-questions", "10"}
	return k
}

// newCase returns a case of duels on a Redis (see StartStores), with a pause after each
// question and a longest delay of an answer.
func (o duelsOptions) newCase(name, redis string, pause, maxDelay time.Duration) playCase {
	game := fmt.Sprintf("{banks: [load], duel: {questions: 10, countdown_ms: 0, reveal_ms: %d, bot_after_ms: 0, pair_limit_per_day: 0}}", pause.Milliseconds())
	return playCase{
		name:    name,
		cluster: clusterOptions{nodes: 1, node: testenv.NodeOptions{Redis: redis, Binary: o.server, Bank: textBank(100), Game: game}},
		play:    playOptions{mode: "duel", players: 2 * o.pairs, answer: `"wrong"`},
		warmUp:  2 * time.Second, duration: o.duration, rates: []playRate{{"", maxDelay}},
	}
}
