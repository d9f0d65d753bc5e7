package bench

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strconv"
	"time"

	"laststand/internal/testenv"
	"laststand/loadtest/report"
)

// answersOptions are the flags of Answers.
type answersOptions struct {
	options
	arenas, players, questions, rate int
	kinds                            string
}

// answersKind is something that Answers measures on a cluster of its own.
type answersKind struct {
	name  string
	start func(ctx context.Context, o answersOptions) (*cluster, error)
	run   func(ctx context.Context, c *cluster, o answersOptions) (measurement, error)
}

var answersKinds = []answersKind{
	{"answers", startArenaNode, playSurvival},
	{"floor", startAnswersFloor, playSurvival},
	{"firsts", startArenaNode, playBuzzer},
	{"plain WATCH", startRedisOnly, decideByWatch},
	{"one script", startRedisOnly, decideByScript},
}

// Answers measures answers and first right answers in arenas.
//
//	go run ./loadtest bench answers                    # 3 runs of each kind
//	go run ./loadtest bench answers -players 100 -questions 20 -runs 1
//	go run ./loadtest bench answers -kinds answers,floor -rate 4000   # spread over time
//
// The kinds are:
//
//   - answers: survival. All players answer at the same time and all are wrong, so each
//     question is void and all play on. The time runs from the answer to `answered`.
//   - floor: the same frames without a game. A minimal script accepts each answer.
//   - firsts: buzzer, in one arena. All players are right at the same time; one answer per
//     question is the first. Every decided answer counts.
//   - plain WATCH, one script: the decision alone on a Redis, by as many goroutines. The
//     first does WATCH, GET, MULTI, DECR and EXEC for each answer.
//
// With -rate, players answer at random times after the question. They reach that rate if
// everything else takes no time, so the measured rate is lower.
func Answers(flags *flag.FlagSet) func(context.Context) error {
	var o answersOptions
	o.register(flags, 3)
	flags.IntVar(&o.arenas, "arenas", 8, "arenas that play at the same time, of answers and floor")
	flags.IntVar(&o.players, "players", 100, "players of each arena")
	flags.IntVar(&o.questions, "questions", 60, "questions of each arena, at most 100")
	flags.IntVar(&o.rate, "rate", 0, "answers/s to offer, of answers and floor; 0: as many as possible")
	flags.StringVar(&o.kinds, "kinds", "", "`kinds` to measure, separated by commas; \"\": all")
	return func(ctx context.Context) error {
		kinds, err := choose(answersKinds, func(k answersKind) string { return k.name }, o.kinds, ",")
		if err != nil {
			return err
		}
		o.program = fmt.Sprintf("%s, %d arenas of %d players, %d questions, medians of %d runs", o.program, o.arenas, o.players, o.questions, o.runs)
		return o.run(ctx, func(ctx context.Context, r *report.Report) error {
			return o.measureKinds(ctx, newAnswerTables(r), kinds)
		})
	}
}

// measureKinds measures all kinds in turn, as often as runs are wanted.
func (o answersOptions) measureKinds(ctx context.Context, t answerTables, kinds []answersKind) error {
	for range o.runs {
		for _, k := range kinds {
			c, err := k.start(ctx, o)
			if err != nil {
				return fmt.Errorf("%s: %w", k.name, err)
			}
			m, err := k.run(ctx, c, o)
			if err := errors.Join(err, c.stop()); err != nil {
				return fmt.Errorf("%s: %w", k.name, err)
			}
			t.add(k.name, m)
		}
	}
	return nil
}

func startArenaNode(ctx context.Context, o answersOptions) (*cluster, error) {
	return startCluster(ctx, clusterOptions{nodes: 1, redis: "redis", node: testenv.NodeOptions{
		Binary: o.server, Bank: textBank(o.questions), Game: "{banks: [load], arena: {countdown_ms: 1000, reveal_ms: 0}}",
	}})
}

func startAnswersFloor(ctx context.Context, o answersOptions) (*cluster, error) {
	return startCluster(ctx, clusterOptions{redis: "redis", floor: []string{AnswersFloorProcess, "-players", strconv.Itoa(o.players)}})
}

func startRedisOnly(ctx context.Context, _ answersOptions) (*cluster, error) {
	return startCluster(ctx, clusterOptions{redis: "redis"})
}

// playSurvival plays arenas in which every answer is wrong, until all arenas are over.
func playSurvival(ctx context.Context, c *cluster, o answersOptions) (measurement, error) {
	var maxDelay time.Duration
	if o.rate > 0 {
		maxDelay = time.Duration(o.arenas*o.players) * time.Second / time.Duration(o.rate)
	}
	m, p, err := o.play(ctx, c, playOptions{mode: "survival", players: o.arenas * o.players, arenas: o.arenas, questions: o.questions, answer: `"wrong"`, maxDelay: maxDelay})
	if want := o.arenas * o.players * o.questions; err == nil && p.replies != want {
		err = fmt.Errorf("%d answers were accepted, want %d", p.replies, want)
	}
	return m, err
}

// playBuzzer plays an arena in which every answer is right, until it is over.
func playBuzzer(ctx context.Context, c *cluster, o answersOptions) (measurement, error) {
	m, p, err := o.play(ctx, c, playOptions{mode: "buzzer", players: o.players, arenas: 1, questions: o.questions, answer: `"right"`})
	if err == nil && p.firsts != o.questions {
		err = fmt.Errorf("%d questions had %d first answers", o.questions, p.firsts)
	}
	return m, err
}

// profileSeconds is less than a run takes.
const profileSeconds = 4

func (o answersOptions) play(ctx context.Context, c *cluster, play playOptions) (m measurement, p *players, err error) {
	if p, err = seat(ctx, c, play); err != nil {
		return m, nil, err
	}
	defer p.close()
	profiled := o.startProfile(ctx, c.node(), profileSeconds)
	m, err = c.measureAll(ctx, p)
	return m, p, errors.Join(err, profiled())
}
