package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"laststand/internal/identity"
	"laststand/internal/nickname"
)

// skeletonPage is how many names one step of MigrateSkeletons changes.
const skeletonPage = 500

// skeletonRules are rules by which skeletons are computed, and how to apply them.
type skeletonRules struct {
	rules    int64                                 // version of the rules
	skeleton func(nickname string) (string, error) // an error: the nickname is invalid by these rules
	page     int                                   // names per step
}

func currentRules() skeletonRules {
	return skeletonRules{nickname.RulesVersion, func(name string) (string, error) {
		n, err := nickname.ParseExisting(name)
		return n.Skeleton, err
	}, skeletonPage}
}

// MigrateSkeletons updates the skeletons of all players to this program's rules for
// nicknames. By the new rules, several names may have the same skeleton. Then only the
// oldest of them keeps it, and the others lose theirs. MigrateSkeletons returns how many
// names have lost theirs, by game. Players keep such names and can choose others.
//
// MigrateSkeletons works in pages, each a transaction. It may stop at any point, and
// several nodes may run it. If nothing has changed, it reads only the names of the last
// minute before the end.
//
// Programs with older rules may claim names at the same time, until the first page is
// committed; then their claims fail. Each page waits for running claims. The next call
// updates such names and gives them a new time, so that views that follow names by time
// notice them. If the ledger has newer rules, MigrateSkeletons changes nothing and
// returns identity.ErrOldRules.
func (l *Ledger) MigrateSkeletons(ctx context.Context) (map[string]int, error) {
	return l.migrateSkeletons(ctx, currentRules())
}

func (l *Ledger) migrateSkeletons(ctx context.Context, by skeletonRules) (map[string]int, error) {
	lost := map[string]int{}
	more, isFirst, tries := true, true, 0
	for more {
		p, err := l.migratePage(ctx, by, isFirst)
		if tries < 5 && ctx.Err() == nil && (breaksUnique(err) || Unavailable(err)) { // a name was claimed at the same time, or the database is busy: retry the page
			tries++
			continue
		}
		if err != nil {
			return lost, fmt.Errorf("ledger: migrate skeletons: %w", err)
		}
		for game, n := range p.lostNames {
			lost[game] += n
		}
		more, isFirst, tries = len(p.names) == by.page, false, 0
	}
	return lost, nil
}

// skeletonOverlap is how far before the last name of the former call names are read
// again, in ms, because claims are not committed in order of time.
const skeletonOverlap = 60_000

const (
	selectProgress = `SELECT rules, done, named_at, game, id FROM spelling WHERE one = 1`
	updateProgress = `UPDATE spelling SET rules = $1, done = $2, named_at = $3, game = $4, id = $5 WHERE one = 1`

	selectNextNames = `
SELECT game, id, nickname, skeleton, named_at FROM players
WHERE (named_at, game, id) > ($1, $2, $3) ORDER BY named_at, game, id LIMIT $4`
	selectSkeletonHolders = `
WITH v (game, id, skeleton, named_at) AS ({rows})
SELECT p.game, p.id, p.skeleton, CASE WHEN (p.named_at, p.id) > (v.named_at, v.id) THEN 1 ELSE 0 END
FROM v JOIN players p ON p.game = v.game AND p.skeleton = v.skeleton`
	updateSkeletons = `
WITH v (game, id, had, skeleton) AS ({rows})
UPDATE players SET skeleton = v.skeleton FROM v WHERE players.game = v.game AND players.id = v.id AND players.skeleton = v.had`
	updateRepeated = `
WITH v (game, id, had, skeleton) AS ({rows})
UPDATE players SET skeleton = v.skeleton, named_at = {now}
FROM v WHERE players.game = v.game AND players.id = v.id AND players.skeleton = v.had`
)

// migratePage updates the next page of names, under the lock on the progress. The first
// page of a call also repeats the last names, if all names were updated once before.
func (l *Ledger) migratePage(ctx context.Context, by skeletonRules, isFirst bool) (p skeletonBatch, err error) {
	err = l.inTx(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, l.lockSpelling); err != nil {
			return err
		}
		p = skeletonBatch{lostNames: map[string]int{}, holders: map[gameText]skeletonHolder{}}
		var rules, done int64
		err := tx.QueryRowContext(ctx, selectProgress).Scan(&rules, &done, &p.lastNamedAt, &p.last.game, &p.last.text)
		if err == nil && rules > by.rules {
			err = identity.ErrOldRules
		}
		if err != nil {
			return err
		}
		p.update = updateSkeletons
		if p.isRepeat = rules == by.rules && done == 1; p.isRepeat {
			p.update = l.sql(updateRepeated)
		}
		switch {
		case rules < by.rules:
			done, p.lastNamedAt, p.last = 0, 0, gameText{}
		case p.isRepeat && isFirst:
			p.lastNamedAt -= skeletonOverlap
		}
		if err := p.migrate(ctx, tx, l.bulk(tx), by); err != nil {
			return err
		}
		if len(p.names) < by.page {
			done = 1
		}
		_, err = tx.ExecContext(ctx, updateProgress, by.rules, done, p.lastNamedAt, p.last.game, p.last.text)
		return err
	})
	return p, err
}

// skeletonBatch is one page of names, in the order of their claims.
type skeletonBatch struct {
	isRepeat    bool          // all names were updated once to these rules; the page has names that were claimed since
	update      string        // statement that changes skeletons
	lastNamedAt int64         // when the last name of the page was claimed, epoch ms
	last        gameText      // id of the player with the last name of the page
	names       []namedPlayer // oldest first

	lostNames map[string]int              // how many names have lost their skeleton, by game
	holders   map[gameText]skeletonHolder // the current holders of wanted skeletons, by skeleton
	freed     []skeletonChange            // changes that free skeletons for other names of the page
}

// gameText is a skeleton or a player's id in a game.
type gameText struct{ game, text string }

func (p *skeletonBatch) migrate(ctx context.Context, tx *sql.Tx, b bulk, by skeletonRules) error {
	if err := p.read(ctx, tx, by); err != nil {
		return err
	}
	if err := p.readHolders(ctx, b); err != nil {
		return err
	}
	p.decide()
	return p.write(ctx, b)
}

// namedPlayer is a player with the current skeleton, and the wanted one by the new rules.
type namedPlayer struct {
	game, id        string
	current, wanted string
	namedAt         int64
}

// skeletonHolder is the player who has a skeleton. isPending means that the player's name
// is newer, so that it is updated later.
type skeletonHolder struct {
	id        string
	isPending bool
}

// skeletonChange replaces a player's former skeleton.
type skeletonChange struct{ game, id, former, skeleton string }

// A player without a skeleton has one of these marks and its id instead. No name has
// such a skeleton, because a mark is a control character.
const (
	lostMark  = "\x01" // the name has lost its skeleton to an older name, or is invalid
	movedMark = "\x02" // another name gets the skeleton; the player gets another one in this or a later page
)

// readNames reads the next names, and computes the skeletons that they want.

func (p *skeletonBatch) read(ctx context.Context, tx *sql.Tx, by skeletonRules) error {
	return scanAll(func(rows *sql.Rows) error {
		var n namedPlayer
		var name string
		if err := rows.Scan(&n.game, &n.id, &name, &n.current, &n.namedAt); err != nil {
			return err
		}
		p.lastNamedAt, p.last = n.namedAt, gameText{n.game, n.id}
		var err error
		if n.wanted, err = by.skeleton(name); err != nil {
			n.wanted = lostMark + n.id // invalid by the current rules
		}
		p.names = append(p.names, n)
		return nil
	})(tx.QueryContext(ctx, selectNextNames, p.lastNamedAt, p.last.game, p.last.text, by.page))
}

// readHolders reads the holders of the wanted skeletons.
func (p *skeletonBatch) readHolders(ctx context.Context, b bulk) error {
	var wanted [][]any
	seen := map[gameText]bool{}
	for _, n := range p.names {
		want := gameText{n.game, n.wanted}
		if n.wanted != n.current && !seen[want] {
			seen[want] = true
			wanted = append(wanted, []any{n.game, n.id, n.wanted, n.namedAt})
		}
	}
	return b.run(ctx, selectSkeletonHolders, wanted, func(rows *sql.Rows) error {
		var other skeletonHolder
		var has gameText
		err := rows.Scan(&has.game, &other.id, &has.text, &other.isPending)
		p.holders[has] = other
		return err
	})
}

// decide assigns each name the skeleton that it wants, unless an older name has it.
func (p *skeletonBatch) decide() {
	for i := range p.names {
		n := &p.names[i]
		hasLost := strings.HasPrefix(n.current, lostMark)
		if hasLost && p.isRepeat {
			n.wanted = n.current
		}
		if n.wanted == n.current {
			continue
		}
		if other, exists := p.holders[gameText{n.game, n.wanted}]; exists && other.isPending && !p.isRepeat {
			p.freeSkeleton(other.id, gameText{n.game, n.wanted})
		} else if exists {
			n.wanted = lostMark + n.id
		}
		if strings.HasPrefix(n.wanted, lostMark) && !hasLost {
			p.lostNames[n.game]++
		}
		if has := (gameText{n.game, n.current}); p.holders[has].id == n.id { // a later name wants it
			p.freeSkeleton(n.id, has)
			delete(p.holders, has)
		}
		p.holders[gameText{n.game, n.wanted}] = skeletonHolder{id: n.id}
	}
}

// freeSkeleton removes a skeleton from a player who will get another one, now or later.
func (p *skeletonBatch) freeSkeleton(id string, has gameText) {
	moved := movedMark + id
	p.freed = append(p.freed, skeletonChange{has.game, id, has.text, moved})
	for i := range p.names {
		if n := &p.names[i]; n.game == has.game && n.id == id {
			n.current = moved
		}
	}
}

// write first frees the skeletons that other names of the page get, and then writes the
// new skeletons. It skips players who were renamed at the same time. Their new names are
// on a later page.
func (p *skeletonBatch) write(ctx context.Context, b bulk) error {
	var given []skeletonChange
	for _, n := range p.names {
		if n.wanted != n.current {
			given = append(given, skeletonChange{n.game, n.id, n.current, n.wanted})
		}
	}
	for _, changes := range [][]skeletonChange{p.freed, given} {
		var rows [][]any
		for _, c := range changes {
			rows = append(rows, []any{c.game, c.id, c.former, c.skeleton})
		}
		if err := b.run(ctx, p.update, rows, nil); err != nil {
			return err
		}
	}
	return nil
}
