package bench

import (
	"context"
	"flag"
	"fmt"
	"time"

	"laststand/internal/testenv"
	"laststand/loadtest/players"
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
		return o.run(ctx, func(r *players.Report) []part {
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
func (o duelsOptions) traceParts(r *players.Report) []part {
	k := o.newCase("trace", "redis", 70*time.Millisecond, 0)
	k.play.maxDelay, k.play.isTraced = 150*time.Millisecond, true
	k.traces = r.Table("lone answer", players.Column{Name: "p50 µs"}, players.Column{Name: "p99 µs"}, players.Column{Name: "answers"})
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

// withOldMatches returns a case in which the node deletes old matches and erases answers of
// players while others play.
func withOldMatches(k playCase, name string) playCase {
	k.name = name
	k.prepare = func(ctx context.Context, c *cluster) (check func(context.Context) error, err error) {
		players := erasedPlayers
		for _, part := range []struct{ from, to, days, players int }{
			{1, expiredMatches, 400, 5000}, {expiredMatches + 1, expiredMatches + players*matchesPerErased/2, 2, players},
		} {
			for _, statement := range fillLedger {
				if _, err := c.ledger.Exec(ctx, statement, part.from, part.to, part.days, part.players); err != nil {
					return nil, err
				}
			}
		}
		if _, err := c.ledger.Exec(ctx, `INSERT INTO erasures (game, subject, opaque_id, last_move_pos, erased_at)
			SELECT 'demo', 'old_' || i, '', 0, 1 FROM generate_series(0, $1::int - 1) i`, players); err != nil {
			return nil, err
		}
		return c.checkDeleting, c.restartNode(ctx)
	}
	return k
}

// restartNode restarts the only node. It looks for old matches when it starts.
func (c *cluster) restartNode(ctx context.Context) error {
	if _, err := c.ledger.Exec(ctx, "VACUUM ANALYZE"); err != nil {
		return err
	}
	if _, err := c.nodes[0].Stop(); err != nil {
		return err
	}
	err := c.nodes[0].Restart()
	c.urls[0] = c.nodes[0].URL
	return err
}

// checkDeleting returns an error unless the node has deleted and erased, and is not done.
func (c *cluster) checkDeleting(ctx context.Context) error {
	var matches, erasures int
	err := c.ledger.QueryRow(ctx, `SELECT (SELECT count(*) FROM answers WHERE match_id LIKE 'm_old%') + (SELECT count(*) FROM matches WHERE id LIKE 'm_old%'), count(*) FROM erasures`).
		Scan(&matches, &erasures)
	all := 2 * (expiredMatches + erasedPlayers*matchesPerErased/2)
	if err == nil && (matches == all || matches <= all-2*expiredMatches || erasures == erasedPlayers || erasures == 0) {
		return fmt.Errorf("the node did not delete and erase all the time: %d of %d rows and %d of %d erasures are left", matches, all, erasures, erasedPlayers)
	}
	return err
}

// oldMatchesCases returns the cases of paced duels on PostgreSQL, without old matches and
// with them.
func (o duelsOptions) oldMatchesCases() []playCase {
	k := o.newCase("postgres paced", "redis", 70*time.Millisecond, 150*time.Millisecond)
	k.cluster.node.Database = "postgres"
	k.cluster.node.Game = "{retention: {answers_days: 30, matches_days: 60}, " + k.cluster.node.Game[1:]
	return []playCase{k, withOldMatches(k, "beside deletion")}
}
