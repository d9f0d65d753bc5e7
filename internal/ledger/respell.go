package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"laststand/internal/identity"
	"laststand/internal/nickname"
)

// respellPage is how many names Respell takes at a time.
const respellPage = 500

// spelling is what skeletons are reckoned by.
type spelling struct {
	rules    int64
	skeleton func(nickname string) (string, error)
	page     int // names at a time
}

func ourSpelling() spelling {
	return spelling{nickname.RulesVersion, func(name string) (string, error) {
		n, err := nickname.ParseExisting(name)
		return n.Skeleton, err
	}, respellPage}
}

// Respell brings the skeletons of all players up to the rules for nicknames that
// this program has, and gives how many names have none of their own any more,
// by game: by the new rules an older name counts as the same. These stay with
// their owners, who can take another. It goes by pages, each for good once it is
// committed; it may be ended anywhere and run by several nodes at once, and is
// cheap when nothing has changed. Names claimed meanwhile by programs of other
// rules are taken up the next time, as claimed then: views that follow names by
// their instants have to hear of them. Rules older than the ledger's change
// nothing: identity.ErrOldRules.
//
// From the first page on no claim holds that is spelt by older rules, and each
// page waits for the claims under way, and they for it.
func (l *Ledger) Respell(ctx context.Context) (map[string]int, error) {
	return l.respell(ctx, ourSpelling())
}

func (l *Ledger) respell(ctx context.Context, by spelling) (map[string]int, error) {
	bare := map[string]int{}
	more, again, tries := true, true, 0
	for more {
		p, err := l.respellPage(ctx, by, again)
		if tries < 5 && ctx.Err() == nil && (breaksUnique(err) || Unavailable(err)) { // somebody claimed a name meanwhile, or settles
			tries++
			continue
		}
		if err != nil {
			return bare, fmt.Errorf("ledger: names by the rules in force: %w", err)
		}
		for game, n := range p.bare {
			bare[game] += n
		}
		more, again, tries = len(p.names) == by.page, false, 0
	}
	return bare, nil
}

// respellOverlap is how far back names are taken up again, in ms: they commit out
// of the order of their instants.
const respellOverlap = 60_000

const (
	selectSpelling = `SELECT rules, done, named_at, game, id FROM spelling WHERE one = 1`
	moveSpelling   = `UPDATE spelling SET rules = $1, done = $2, named_at = $3, game = $4, id = $5 WHERE one = 1`

	selectUnspelt = `
SELECT game, id, nickname, skeleton, named_at FROM players
WHERE (named_at, game, id) > ($1, $2, $3) ORDER BY named_at, game, id LIMIT $4`
	selectHolding = `
WITH v (game, id, skeleton, named_at) AS ({rows})
SELECT p.game, p.id, p.skeleton, CASE WHEN (p.named_at, p.id) > (v.named_at, v.id) THEN 1 ELSE 0 END
FROM v JOIN players p ON p.game = v.game AND p.skeleton = v.skeleton`
	updateSkeletons = `
WITH v (game, id, had, skeleton) AS ({rows})
UPDATE players SET skeleton = v.skeleton FROM v WHERE players.game = v.game AND players.id = v.id AND players.skeleton = v.had`
	updateLater = `
WITH v (game, id, had, skeleton) AS ({rows})
UPDATE players SET skeleton = v.skeleton, named_at = {now}
FROM v WHERE players.game = v.game AND players.id = v.id AND players.skeleton = v.had`
)

// respellPage takes the next names, under the lock on how far they are; the last
// ones again where that is wanted.
func (l *Ledger) respellPage(ctx context.Context, by spelling, again bool) (p page, err error) {
	err = l.inTx(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, l.noClaims); err != nil {
			return err
		}
		p = page{bare: map[string]int{}, holding: map[claim]holder{}}
		var rules, done int64
		err := tx.QueryRowContext(ctx, selectSpelling).Scan(&rules, &done, &p.lastAt, &p.last.game, &p.last.text)
		if err == nil && rules > by.rules {
			err = identity.ErrOldRules
		}
		if err != nil {
			return err
		}
		p.update = updateSkeletons
		if p.later = rules == by.rules && done == 1; p.later {
			p.update = l.sql(updateLater)
		}
		switch {
		case rules < by.rules:
			done, p.lastAt, p.last = 0, 0, claim{}
		case p.later && again:
			p.lastAt -= respellOverlap
		}
		if err := p.respell(ctx, tx, l.bulk(tx), by); err != nil {
			return err
		}
		if len(p.names) < by.page {
			done = 1
		}
		_, err = tx.ExecContext(ctx, moveSpelling, by.rules, done, p.lastAt, p.last.game, p.last.text)
		return err
	})
	return p, err
}

// page is some names in the order of their claims.
type page struct {
	later  bool // all names were respelt once: what comes now was claimed since
	update string
	lastAt int64
	last   claim // by id: up to whom names have been respelt
	names  []named
	bare   map[string]int // by game, those that have lost theirs

	holding map[claim]holder // who has a skeleton that is wanted
	freed   []respelt        // of skeletons that others on the page are to have
}

// claim is a skeleton or an id in a game.
type claim struct{ game, text string }

func (p *page) respell(ctx context.Context, tx *sql.Tx, b bulk, by spelling) error {
	if err := p.read(ctx, tx, by); err != nil {
		return err
	}
	if err := p.holders(ctx, b); err != nil {
		return err
	}
	p.decide()
	return p.write(ctx, b)
}

// named is a player with the skeleton that the ledger has and the one that it
// is to have.
type named struct {
	game, id  string
	has, want string
	at        int64
}

// holder is who has a skeleton; waits are those whose turn is still to come.
type holder struct {
	id    string
	waits bool
}

type respelt struct{ game, id, had, skeleton string }

// Marks before the id of a player who has no skeleton of their own, for good or
// until it is their turn. No name can be claimed by such a skeleton: it holds a
// control character.
const (
	bareMark  = "\x01"
	movedMark = "\x02"
)

func (p *page) read(ctx context.Context, tx *sql.Tx, by spelling) error {
	return scanAll(func(rows *sql.Rows) error {
		var n named
		var name string
		if err := rows.Scan(&n.game, &n.id, &name, &n.has, &n.at); err != nil {
			return err
		}
		p.lastAt, p.last = n.at, claim{n.game, n.id}
		var err error
		if n.want, err = by.skeleton(name); err != nil {
			n.want = bareMark + n.id // no name by the rules in force
		}
		p.names = append(p.names, n)
		return nil
	})(tx.QueryContext(ctx, selectUnspelt, p.lastAt, p.last.game, p.last.text, by.page))
}

// holders reads who has what is wanted, seen from the first who wants it.
func (p *page) holders(ctx context.Context, b bulk) error {
	var wanted [][]any
	seen := map[claim]bool{}
	for _, n := range p.names {
		want := claim{n.game, n.want}
		if n.want != n.has && !seen[want] {
			seen[want] = true
			wanted = append(wanted, []any{n.game, n.id, n.want, n.at})
		}
	}
	return b.run(ctx, selectHolding, wanted, func(rows *sql.Rows) error {
		var who holder
		var has claim
		err := rows.Scan(&has.game, &who.id, &has.text, &who.waits)
		p.holding[has] = who
		return err
	})
}

// decide gives each name the skeleton that it wants, unless an older one has it.
func (p *page) decide() {
	for i := range p.names {
		n := &p.names[i]
		marked := strings.HasPrefix(n.has, bareMark)
		if marked && p.later {
			n.want = n.has
		}
		if n.want == n.has {
			continue
		}
		if who, held := p.holding[claim{n.game, n.want}]; held && who.waits && !p.later {
			p.free(who.id, claim{n.game, n.want})
		} else if held {
			n.want = bareMark + n.id
		}
		if strings.HasPrefix(n.want, bareMark) && !marked {
			p.bare[n.game]++
		}
		if has := (claim{n.game, n.has}); p.holding[has].id == n.id { // somebody further on wants it
			p.free(n.id, has)
			delete(p.holding, has)
		}
		p.holding[claim{n.game, n.want}] = holder{id: n.id}
	}
}

// free takes a skeleton from a player who is to get another, or whose turn is
// still to come.
func (p *page) free(id string, has claim) {
	moved := movedMark + id
	p.freed = append(p.freed, respelt{has.game, id, has.text, moved})
	for i := range p.names {
		if n := &p.names[i]; n.game == has.game && n.id == id {
			n.has = moved
		}
	}
}

// write first frees what others on the page are to have. A player who has been
// renamed meanwhile is left alone: their turn comes with the new name.
func (p *page) write(ctx context.Context, b bulk) error {
	var given []respelt
	for _, n := range p.names {
		if n.want != n.has {
			given = append(given, respelt{n.game, n.id, n.has, n.want})
		}
	}
	for _, changes := range [][]respelt{p.freed, given} {
		var rows [][]any
		for _, c := range changes {
			rows = append(rows, []any{c.game, c.id, c.had, c.skeleton})
		}
		if err := b.run(ctx, p.update, rows, nil); err != nil {
			return err
		}
	}
	return nil
}
