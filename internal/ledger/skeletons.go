package ledger

import (
	"context"
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
		more, isFirst, tries = p.names == s.rules.pageSize, false, 0
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
	selectSkeletonHolder = `SELECT id, CASE WHEN (named_at, id) > ($3, $4) THEN 1 ELSE 0 END FROM players WHERE game = $1 AND skeleton = $2`
	updateSkeleton       = `
UPDATE players SET skeleton = $4, named_at = CASE WHEN $5 = 1 THEN {now} ELSE named_at END WHERE game = $1 AND id = $2 AND skeleton = $3`
)

// migratePage updates the next page of names, under the lock on the progress. The first
// page of a call also repeats the last names, if all names were updated once before.
func (s *Names) migratePage(ctx context.Context, isFirst bool) (p *namesPage, err error) {
	err = s.inTx(ctx, func(tx *transaction) error {
		if _, err := tx.exec(ctx, s.lockNicknameRules); err != nil {
			return err
		}
		p = &namesPage{transaction: tx, moved: map[gameKey]bool{}, lostNames: map[string]int{}}
		var storedVersion, done int64
		err := tx.queryRow(ctx, selectProgress).Scan(&storedVersion, &done, &p.last.namedAt, &p.last.game, &p.last.id)
		if err == nil && storedVersion > s.rules.version {
			err = identity.ErrOldRules
		}
		if err != nil {
			return err
		}
		p.isRepeat = storedVersion == s.rules.version && done == 1
		switch {
		case storedVersion < s.rules.version:
			done, p.last = 0, namedPlayer{}
		case p.isRepeat && isFirst:
			p.last.namedAt -= skeletonOverlapMS
		}
		if err := p.migrate(ctx, s.rules); err != nil {
			return err
		}
		if p.names < s.rules.pageSize {
			done = 1
		}
		_, err = tx.exec(ctx, updateProgress, s.rules.version, done, p.last.namedAt, p.last.game, p.last.id)
		return err
	})
	return p, err
}

// namesPage is one page of names, in the order of their claims, and the transaction that
// updates them.
type namesPage struct {
	*transaction
	isRepeat  bool             // all names were updated once to these rules; the page has names that were claimed since
	last      namedPlayer      // the last name of the page
	names     int              // number of names
	moved     map[gameKey]bool // players whose skeleton another name of the page has got
	lostNames map[string]int   // how many names have lost their skeleton, by game
}

// gameKey is a skeleton or a player's id in a game.
type gameKey struct{ game, key string }

// namedPlayer is a player with the name and its skeleton. namedAt is when the name was
// claimed, epoch ms.
type namedPlayer struct {
	game, id       string
	name, skeleton string
	namedAt        int64
}

// A player without a skeleton has one of these marks and its id instead. No name has
// such a skeleton, because a mark is a control character.
const (
	lostMark  = "\x01" // the name has lost its skeleton to an older name, or is invalid
	movedMark = "\x02" // another name gets the skeleton; the player gets another one in this or a later page
)

func (p *namesPage) migrate(ctx context.Context, rules skeletonRules) error {
	names, err := collect(func(n *namedPlayer) []any {
		return []any{&n.game, &n.id, &n.name, &n.skeleton, &n.namedAt}
	})(p.query(ctx, selectNextNames, p.last.namedAt, p.last.game, p.last.id, rules.pageSize))
	if err != nil {
		return err
	}
	for _, n := range names {
		p.last = n
		p.names++
		if p.moved[gameKey{n.game, n.id}] {
			n.skeleton = movedMark + n.id
		}
		if err := p.migrateName(ctx, n, rules); err != nil {
			return err
		}
	}
	return nil
}

// migrateName gives a name the skeleton that it wants by the rules, unless an older name
// has it. It skips a player who was renamed at the same time. The new name is on a later
// page.
func (p *namesPage) migrateName(ctx context.Context, n namedPlayer, rules skeletonRules) error {
	hasLost := strings.HasPrefix(n.skeleton, lostMark)
	if hasLost && p.isRepeat {
		return nil
	}
	wanted, err := rules.compute(n.name)
	if err != nil {
		wanted = lostMark + n.id // invalid by the current rules
	}
	if wanted == n.skeleton {
		return nil
	}
	isFree, err := p.freeSkeleton(ctx, n, wanted)
	if err != nil {
		return err
	}
	if !isFree {
		wanted = lostMark + n.id
	}
	if strings.HasPrefix(wanted, lostMark) && !hasLost {
		p.lostNames[n.game]++
	}
	return p.setSkeleton(ctx, n, wanted)
}

// freeSkeleton reports whether a name can get a skeleton: no other player has it, or the
// holder's name is newer. It takes the skeleton from such a holder, who gets another one
// later. A repeated page takes none.
func (p *namesPage) freeSkeleton(ctx context.Context, n namedPlayer, wanted string) (isFree bool, err error) {
	holder := namedPlayer{game: n.game, skeleton: wanted}
	var isNewer bool
	found, err := scanOptional(p.queryRow(ctx, selectSkeletonHolder, n.game, wanted, n.namedAt, n.id), &holder.id, &isNewer)
	switch {
	case err != nil || !found:
		return !found, err
	case !isNewer || p.isRepeat:
		return false, nil
	}
	p.moved[gameKey{n.game, holder.id}] = true
	return true, p.setSkeleton(ctx, holder, movedMark+holder.id)
}

// setSkeleton replaces the skeleton of a name. In a repeated page it also sets a new time.
func (p *namesPage) setSkeleton(ctx context.Context, n namedPlayer, skeleton string) error {
	_, err := p.exec(ctx, updateSkeleton, n.game, n.id, n.skeleton, skeleton, boolToInt(p.isRepeat))
	return err
}
