package bench

import (
	"context"
	"fmt"
	"time"

	"laststand/internal/testenv"
	"laststand/loadtest/players"
)

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
type Duels struct {
	options  `set:"runs=3"`
	Kinds    []string      `help:"Measure only what has these names, separated by commas."`
	Pairs    int           `default:"100" help:"Pairs of players."`
	Costs    bool          `help:"Show the work for an answer of the kind redis by its parts instead."`
	Trace    bool          `help:"Show the time of an answer by its parts instead, with one pair on a redis-server."`
	Duration time.Duration `default:"10s" name:"for" help:"Time of each run."`
}

// Run runs the program. It fails by testenv.Must.
func (o *Duels) Run(ctx context.Context) {
	if o.Trace {
		o.Pairs = 1
	}
	o.run(ctx, fmt.Sprintf("duels, %d pairs, %v a run", o.Pairs, o.Duration), o.Kinds, o.parts)
}

func (o *Duels) parts(r *players.Report) []part {
	play := playOptions{mode: "duel", players: 2 * o.Pairs, answer: `"wrong"`}
	switch {
	case o.Trace:
		play.maxDelay, play.isTraced = 150*time.Millisecond, true
		return []part{newTracePart(r, newDuelCluster("redis", 70*time.Millisecond), play, warmUpTime, o.Duration)}
	case o.Costs:
		return []part{newCostPart(r, "redis", newDuelCluster("redis", 0), play, warmUpTime, o.Duration)}
	}
	t := newAnswerTable(r)
	measure := func(name string, on testenv.NodeOptions, maxDelay time.Duration) part {
		play := play
		play.maxDelay = maxDelay
		return playPart(name, on, play, func(ctx context.Context, p *answeringPlayers) {
			p.start()
			p.measurePlay(ctx, o.Duration).addTo(t, name)
		})
	}
	floor, postgres := newDuelCluster("redis", 0), newDuelCluster("redis", 70*time.Millisecond)
	floor.Floor = []string{FloorProcess, "-questions", "10"}
	postgres.Database = "postgres"
	postgres.Game = "{retention: {answers_days: 30, matches_days: 60}, " + postgres.Game[1:]
	return []part{
		measure("embedded", newDuelCluster("", 0), 0),
		measure("embedded paced", newDuelCluster("", 700*time.Millisecond), 300*time.Millisecond),
		measure("redis", newDuelCluster("redis", 0), 0),
		measure("floor", floor, 0),
		measure("redis paced", newDuelCluster("redis", 70*time.Millisecond), 150*time.Millisecond),
		measure("postgres paced", postgres, 150*time.Millisecond),
		withOldMatches(measure("beside deletion", postgres, 150*time.Millisecond)),
	}
}

// newDuelCluster returns a node for duels on a Redis (see StartNodes), with a pause after each
// question.
func newDuelCluster(redis string, pause time.Duration) testenv.NodeOptions {
	game := fmt.Sprintf("{banks: [load], duel: {questions: 10, countdown_ms: 0, reveal_ms: %d, bot_after_ms: 0, pair_limit_per_day: 0}}", pause.Milliseconds())
	return testenv.NodeOptions{Count: 1, Redis: redis, Bank: textBank(100), Game: game}
}

const (
	expiredMatches   = 300_000 // in a ledger that deletes old matches: those that it may delete
	erasedPlayers    = 100     // whose answers it erases
	matchesPerErased = 2000    // of each of them; newer than the expired ones
)

// fillLedger writes matches of two players each, with the numbers $1 to $2. The first match
// is $3 days old. There are $4 players. The answers are those of one question, in the form that
// docs/reference/answers.md describes.
var fillLedger = []string{
	`INSERT INTO matches (game, id, summary, over_at)
	 SELECT 'demo', 'm_old' || i, '{}', (extract(epoch FROM now()) - $3 * 86400)::bigint * 1000 + i FROM generate_series($1::int, $2) i WHERE $4 > 0`,
	`INSERT INTO seats (game, player, over_at, match_id, mode, standing_index, rank, team, score, correct, answered, asked, time_ms, rating, rating_delta, player_count)
	 SELECT 'demo', 'old_' || (i + s) % $4, over_at, id, 'duel', s, s + 1, '', 180 - 180 * s, 1 - s, 1, 1, 500, 0, 0, 2
	 FROM generate_series($1::int, $2) i JOIN matches ON game = 'demo' AND id = 'm_old' || i, generate_series(0, 1) s WHERE $3 > 0`,
	`INSERT INTO answers (game, over_at, match_id, block, questions, answers, texts)
	 SELECT game, over_at, id, 0, '', '\x0005f403e802000104f4030000', '[]' FROM generate_series($1::int, $2) i JOIN matches ON game = 'demo' AND id = 'm_old' || i
	 WHERE $3 > 0 AND $4 > 0`,
}

// withOldMatches returns a measurement during which the node deletes old matches and erases
// answers of players.
func withOldMatches(p part) part {
	measure := p.measure
	p.measure = func(ctx context.Context, c cluster) {
		for _, part := range []struct{ from, to, days, players int }{
			{1, expiredMatches, 400, 5000}, {expiredMatches + 1, expiredMatches + erasedPlayers*matchesPerErased/2, 2, erasedPlayers},
		} {
			for _, statement := range fillLedger {
				testenv.Must(c.ledger.Exec(ctx, statement, part.from, part.to, part.days, part.players))
			}
		}
		testenv.Must(c.ledger.Exec(ctx, `INSERT INTO erasures (game, subject, opaque_id, last_move_pos, erased_at)
			SELECT 'demo', 'old_' || i, '', 0, 1 FROM generate_series(0, $1::int - 1) i`, erasedPlayers))
		testenv.Must(c.ledger.Exec(ctx, "VACUUM ANALYZE"))
		testenv.MustDo(c.Restart(0)) // a node looks for old matches when it starts
		measure(ctx, c)
		c.checkDeleting(ctx)
	}
	return p
}

// checkDeleting fails unless the node has deleted and erased, and is not done.
func (c cluster) checkDeleting(ctx context.Context) {
	var matches, erasures int
	testenv.MustDo(c.ledger.QueryRow(ctx, `SELECT (SELECT count(*) FROM answers WHERE match_id LIKE 'm_old%') + (SELECT count(*) FROM matches WHERE id LIKE 'm_old%'), count(*) FROM erasures`).
		Scan(&matches, &erasures))
	all := 2 * (expiredMatches + erasedPlayers*matchesPerErased/2)
	testenv.FailIf(matches == all || matches <= all-2*expiredMatches || erasures == erasedPlayers || erasures == 0,
		"the node did not delete and erase all the time: %d of %d rows and %d of %d erasures are left", matches, all, erasures, erasedPlayers)
}
