package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"laststand/internal/identity"
	"laststand/internal/nickname"
)

// skeletonPageSize is how many names one step of MigrateSkeletons changes.
const skeletonPageSize = 500

// skeletonRules are rules by which skeletons are computed, and how to apply them.
type skeletonRules struct {
	version  int64                                 // version of the rules
	compute  func(nickname string) (string, error) // an error: the nickname is invalid by these rules
	pageSize int                                   // names per step
}

func currentRules() skeletonRules {
	return skeletonRules{nickname.RulesVersion, func(name string) (string, error) {
		n, err := nickname.ParseExisting(name)
		return n.Skeleton, err
	}, skeletonPageSize}
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
func (s *Names) MigrateSkeletons(ctx context.Context) (map[string]int, error) {
	lostNames := map[string]int{}
	more, isFirst, tries := true, true, 0
	for more {
		p, err := s.migratePage(ctx, isFirst)
		if tries < 5 && ctx.Err() == nil && (isUniqueViolation(err) || IsUnavailable(err)) { // a name was claimed at the same time, or the database is busy: retry the page
			tries++
			continue
		}
		if err != nil {
			return lostNames, fmt.Errorf("ledger: migrate skeletons: %w", err)
		}
		for game, n := range p.lostNames {
			lostNames[game] += n
		}
		more, isFirst, tries = len(p.names) == s.rules.pageSize, false, 0
	}
	return lostNames, nil
}

// skeletonOverlapMS is how far before the last name of the former call names are read
// again, in ms, because claims are not committed in order of time.
const skeletonOverlapMS = 60_000

const (
	selectProgress = `SELECT version, done, named_at, game, player FROM nickname_rules WHERE id = 1`
	updateProgress = `UPDATE nickname_rules SET version = $1, done = $2, named_at = $3, game = $4, player = $5 WHERE id = 1`

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
func (s *Names) migratePage(ctx context.Context, isFirst bool) (p namesPage, err error) {
	err = s.inTx(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, s.lockNicknameRules); err != nil {
			return err
		}
		p = namesPage{lostNames: map[string]int{}, holders: map[gameKey]skeletonHolder{}}
		var storedVersion, done int64
		err := tx.QueryRowContext(ctx, selectProgress).Scan(&storedVersion, &done, &p.lastNamedAt, &p.lastID.game, &p.lastID.key)
		if err == nil && storedVersion > s.rules.version {
			err = identity.ErrOldRules
		}
		if err != nil {
			return err
		}
		p.updateSQL = updateSkeletons
		if p.isRepeat = storedVersion == s.rules.version && done == 1; p.isRepeat {
			p.updateSQL = s.expandSQL(updateRepeated)
		}
		switch {
		case storedVersion < s.rules.version:
			done, p.lastNamedAt, p.lastID = 0, 0, gameKey{}
		case p.isRepeat && isFirst:
			p.lastNamedAt -= skeletonOverlapMS
		}
		if err := p.migrate(ctx, tx, s.newBulkRunner(tx), s.rules); err != nil {
			return err
		}
		if len(p.names) < s.rules.pageSize {
			done = 1
		}
		_, err = tx.ExecContext(ctx, updateProgress, s.rules.version, done, p.lastNamedAt, p.lastID.game, p.lastID.key)
		return err
	})
	return p, err
}

// namesPage is one page of names, in the order of their claims.
type namesPage struct {
	isRepeat    bool          // all names were updated once to these rules; the page has names that were claimed since
	updateSQL   string        // statement that changes skeletons
	lastNamedAt int64         // when the last name of the page was claimed, epoch ms
	lastID      gameKey       // id of the player with the last name of the page
	names       []namedPlayer // oldest first

	lostNames map[string]int             // how many names have lost their skeleton, by game
	holders   map[gameKey]skeletonHolder // the current holders of wanted skeletons, by skeleton
	freed     []skeletonChange           // changes that free skeletons for other names of the page
}

// gameKey is a skeleton or a player's id in a game.
type gameKey struct{ game, key string }

func (p *namesPage) migrate(ctx context.Context, tx *sql.Tx, bulk bulkRunner, rules skeletonRules) error {
	if err := p.readNames(ctx, tx, rules); err != nil {
		return err
	}
	if err := p.readHolders(ctx, bulk); err != nil {
		return err
	}
	p.chooseSkeletons()
	return p.writeSkeletons(ctx, bulk)
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

func (p *namesPage) readNames(ctx context.Context, tx *sql.Tx, rules skeletonRules) error {
	return scanAll(func(rows *sql.Rows) error {
		var n namedPlayer
		var name string
		if err := rows.Scan(&n.game, &n.id, &name, &n.current, &n.namedAt); err != nil {
			return err
		}
		p.lastNamedAt, p.lastID = n.namedAt, gameKey{n.game, n.id}
		var err error
		if n.wanted, err = rules.compute(name); err != nil {
			n.wanted = lostMark + n.id // invalid by the current rules
		}
		p.names = append(p.names, n)
		return nil
	})(tx.QueryContext(ctx, selectNextNames, p.lastNamedAt, p.lastID.game, p.lastID.key, rules.pageSize))
}

// readHolders reads the holders of the wanted skeletons.
func (p *namesPage) readHolders(ctx context.Context, bulk bulkRunner) error {
	var wanted [][]any
	seen := map[gameKey]bool{}
	for _, n := range p.names {
		key := gameKey{n.game, n.wanted}
		if n.wanted != n.current && !seen[key] {
			seen[key] = true
			wanted = append(wanted, []any{n.game, n.id, n.wanted, n.namedAt})
		}
	}
	return bulk.run(ctx, selectSkeletonHolders, wanted, func(rows *sql.Rows) error {
		var holder skeletonHolder
		var key gameKey
		err := rows.Scan(&key.game, &holder.id, &key.key, &holder.isPending)
		p.holders[key] = holder
		return err
	})
}

// chooseSkeletons assigns each name the skeleton that it wants, unless an older name has it.
func (p *namesPage) chooseSkeletons() {
	for i := range p.names {
		n := &p.names[i]
		hasLost := strings.HasPrefix(n.current, lostMark)
		if hasLost && p.isRepeat {
			n.wanted = n.current
		}
		if n.wanted == n.current {
			continue
		}
		if holder, exists := p.holders[gameKey{n.game, n.wanted}]; exists && holder.isPending && !p.isRepeat {
			p.freeSkeleton(holder.id, gameKey{n.game, n.wanted})
		} else if exists {
			n.wanted = lostMark + n.id
		}
		if strings.HasPrefix(n.wanted, lostMark) && !hasLost {
			p.lostNames[n.game]++
		}
		if held := (gameKey{n.game, n.current}); p.holders[held].id == n.id { // a later name wants it
			p.freeSkeleton(n.id, held)
			delete(p.holders, held)
		}
		p.holders[gameKey{n.game, n.wanted}] = skeletonHolder{id: n.id}
	}
}

// freeSkeleton removes a skeleton from a player who will get another one, now or later.
func (p *namesPage) freeSkeleton(id string, held gameKey) {
	moved := movedMark + id
	p.freed = append(p.freed, skeletonChange{held.game, id, held.key, moved})
	for i := range p.names {
		if n := &p.names[i]; n.game == held.game && n.id == id {
			n.current = moved
		}
	}
}

// writeSkeletons first frees the skeletons that other names of the page get, and then writes the
// new skeletons. It skips players who were renamed at the same time. Their new names are
// on a later page.
func (p *namesPage) writeSkeletons(ctx context.Context, bulk bulkRunner) error {
	var assigned []skeletonChange
	for _, n := range p.names {
		if n.wanted != n.current {
			assigned = append(assigned, skeletonChange{n.game, n.id, n.current, n.wanted})
		}
	}
	for _, changes := range [][]skeletonChange{p.freed, assigned} {
		var rows [][]any
		for _, c := range changes {
			rows = append(rows, []any{c.game, c.id, c.former, c.skeleton})
		}
		if err := bulk.run(ctx, p.updateSQL, rows, nil); err != nil {
			return err
		}
	}
	return nil
}
