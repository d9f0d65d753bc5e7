package bench

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"time"

	"laststand/internal/testenv"
	"laststand/loadtest/report"
)

// duelsKind says where duels live and how fast they are. Paced answers reach about 200
// answers/s embedded and 1,000 on Redis.
type duelsKind struct {
	name     string
	redis    string        // see clusterOptions
	reveal   time.Duration // pause after each question
	maxDelay time.Duration // of an answer
}

var duelsKinds = []duelsKind{
	{"embedded, no pause", "", 0, 0},
	{"embedded, paced", "", 700 * time.Millisecond, 300 * time.Millisecond},
	{"redis, no pause", "redis", 0, 0},
	{"redis, paced", "redis", 70 * time.Millisecond, 150 * time.Millisecond},
}

// duelsOptions are the flags of Duels.
type duelsOptions struct {
	options
	pairs    int
	duration time.Duration
	kinds    string
}

// Duels measures answers of duels, without pauses and at a pace, on an embedded server and
// then on a redis-server. Their players are rated, and their results are settled.
//
//	go run ./loadtest bench duels                     # both, 3 runs each
//	go run ./loadtest bench duels -pairs 100 -for 10s -runs 1
func Duels(flags *flag.FlagSet) func(context.Context) error {
	var o duelsOptions
	o.register(flags, 3)
	flags.IntVar(&o.pairs, "pairs", 100, "pairs of players")
	flags.DurationVar(&o.duration, "for", 10*time.Second, "time of each run")
	flags.StringVar(&o.kinds, "kinds", "", "`kinds` to measure, separated by semicolons; \"\": all")
	return func(ctx context.Context) error {
		kinds, err := choose(duelsKinds, func(k duelsKind) string { return k.name }, o.kinds, ";")
		if err != nil {
			return err
		}
		o.program = fmt.Sprintf("%s, %d pairs, %v a run, medians of %d runs", o.program, o.pairs, o.duration, o.runs)
		return o.run(ctx, func(ctx context.Context, r *report.Report) error {
			tables := newAnswerTables(r)
			for range o.runs {
				for _, k := range kinds {
					m, err := o.measure(ctx, k)
					if err != nil {
						return fmt.Errorf("%s: %w", k.name, err)
					}
					tables.add(k.name, m)
				}
			}
			return nil
		})
	}
}

// warmUp is how long players play before they are measured.
const warmUp = 2 * time.Second

// measure measures a kind on a node of its own.
func (o duelsOptions) measure(ctx context.Context, k duelsKind) (m measurement, err error) {
	game := fmt.Sprintf("{banks: [load], duel: {questions: 10, countdown_ms: 0, reveal_ms: %d, bot_after_ms: 0, pair_limit_per_day: 0}}", k.reveal.Milliseconds())
	c, err := startCluster(ctx, clusterOptions{nodes: 1, redis: k.redis, node: testenv.NodeOptions{Binary: o.server, Bank: textBank(100), Game: game}})
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, c.stop()) }()
	p, err := seat(ctx, c, playOptions{mode: "duel", players: 2 * o.pairs, answer: `"wrong"`, maxDelay: k.maxDelay})
	if err != nil {
		return m, err
	}
	defer p.close()
	empty, err := c.readUsage(ctx)
	if err != nil {
		return m, err
	}
	p.start()
	profiled := o.startProfile(ctx, c.node(), profileSeconds)
	m, err = c.measurePlay(ctx, p, warmUp, o.duration, empty)
	return m, errors.Join(err, profiled())
}
