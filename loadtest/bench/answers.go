package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"laststand/internal/testenv"
	"laststand/loadtest/players"
)

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
type Answers struct {
	options   `set:"runs=3"`
	Kinds     []string `help:"Measure only what has these names, separated by commas."`
	Costs     bool     `help:"Show the work for an answer of the kind answers by its parts instead."`
	Arenas    int      `default:"8" help:"Arenas that play at the same time, of answers and floor."`
	Players   int      `default:"100" help:"Players of each arena."`
	Questions int      `default:"60" help:"Questions of each arena, at most 100."`
	Rate      int      `help:"Answers/s to offer, of answers and floor; 0: as many as possible."`
}

// Run runs the program. It fails by testenv.Must.
func (o *Answers) Run(ctx context.Context) {
	o.run(ctx, fmt.Sprintf("answers, %d arenas of %d players, %d questions", o.Arenas, o.Players, o.Questions), o.Kinds, o.parts)
}

func (o *Answers) parts(r *players.Report) []part {
	node := testenv.NodeOptions{
		Count: 1, Redis: "redis", Bank: textBank(o.Questions), Game: "{banks: [load], arena: {countdown_ms: 1000, reveal_ms: 0}}",
	}
	onRedis := testenv.NodeOptions{Redis: "redis"}
	floor := onRedis
	floor.Floor = []string{FloorProcess, "-players", strconv.Itoa(o.Players)}
	survival := playOptions{mode: "survival", players: o.Arenas * o.Players, arenas: o.Arenas, questions: o.Questions, answer: `"wrong"`}
	if o.Rate > 0 {
		survival.maxDelay = time.Duration(survival.players) * time.Second / time.Duration(o.Rate)
	}
	if o.Costs {
		return []part{newCostPart(r, "answers", node, survival, 500*time.Millisecond, time.Second)}
	}
	t := newAnswerTable(r)
	playAll := func(name string, on testenv.NodeOptions, play playOptions, check func(*answeringPlayers)) part {
		return playPart(name, on, play, func(ctx context.Context, p *answeringPlayers) {
			p.measureAll(ctx).addTo(t, name)
			check(p)
		})
	}
	decideAll := func(name string, decide decideFunc) part {
		return part{name, onRedis, func(ctx context.Context, c cluster) {
			c.decideAnswers(ctx, o.Players, questionsTimes*o.Questions, decide).addTo(t, name)
		}}
	}
	buzzer := playOptions{mode: "buzzer", players: o.Players, arenas: 1, questions: o.Questions, answer: `"right"`}
	return []part{
		playAll("answers", node, survival, checkAllAccepted), playAll("floor", floor, survival, checkAllAccepted), playAll("firsts", node, buzzer, checkFirsts),
		decideAll("plain WATCH", decideByWatch), decideAll("one script", decideByScript),
	}
}

// checkAllAccepted fails unless every answer of all players was accepted.
func checkAllAccepted(p *answeringPlayers) {
	accepted, want := int(p.replies.Load()), len(p.all)*p.questions
	testenv.FailIf(accepted != want, "%d answers were accepted, want %d", accepted, want)
}

// checkFirsts fails unless every question had one first answer.
func checkFirsts(p *answeringPlayers) {
	firsts := int(p.firsts.Load())
	testenv.FailIf(firsts != p.questions, "%d questions had %d first answers", p.questions, firsts)
}

// decideFunc decides whether an answer is the first one. The key holds 1 before.
type decideFunc func(ctx context.Context, client *redis.Client, key string) error

// decideByWatch decides by WATCH, GET, MULTI, DECR and EXEC.
func decideByWatch(ctx context.Context, client *redis.Client, key string) error {
	for {
		err := client.Watch(ctx, func(tx *redis.Tx) error {
			if n, err := tx.Get(ctx, key).Int(); err != nil || n < 1 {
				return err
			}
			_, err := tx.TxPipelined(ctx, func(p redis.Pipeliner) error { return p.Decr(ctx, key).Err() })
			return err
		}, key)
		if !errors.Is(err, redis.TxFailedErr) {
			return err
		}
	}
}

var decrement = redis.NewScript(`
if tonumber(redis.call('GET', KEYS[1])) < 1 then return 0 end
redis.call('DECR', KEYS[1])
return 1`)

// decideByScript decides by a script that compares and decrements.
func decideByScript(ctx context.Context, client *redis.Client, key string) error {
	return decrement.Run(ctx, client, []string{key}).Err()
}

// questionsTimes is how many times more questions decideAnswers asks than a match. Otherwise a run
// would be too short.
const questionsTimes = 40

// decideAnswers lets one goroutine per player race for each question.
func (c cluster) decideAnswers(ctx context.Context, count, questions int, decide decideFunc) measurement {
	latencies, m := players.NewRecorder(playTimeout), measurement{from: c.readUsage(ctx)}
	for question := range questions {
		key := fmt.Sprintf("first:%d", question)
		testenv.MustDo(c.masters[0].Set(ctx, key, 1, time.Minute).Err())
		var racing errgroup.Group
		for range count {
			racing.Go(func() error {
				start := time.Now()
				err := decide(ctx, c.masters[0], key)
				latencies.Add(answered, time.Since(start))
				return err
			})
		}
		testenv.MustDo(racing.Wait())
	}
	m.to, m.answers = c.readUsage(ctx), latencies.Take().Quantiles(answered)
	return m
}

// textBank returns a bank of text questions, which the text `right` answers.
func textBank(questions int) []byte {
	all := make([]map[string]any, questions)
	for i := range all {
		all[i] = map[string]any{
			"kind": "text", "difficulty": "easy", "text": fmt.Sprintf("What is asked in question %d?", i), "accepted": []string{"right"},
		}
	}
	raw, _ := json.Marshal(map[string]any{ // plain fields always encode
		"bank": "load", "lang": "en", "category": "load", "source": "none", "licence": "CC0-1.0", "questions": all,
	})
	return raw
}
