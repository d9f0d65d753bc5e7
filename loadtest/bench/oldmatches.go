package bench

import (
	"context"
	"fmt"
	"time"
)

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
