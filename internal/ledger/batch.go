package ledger

import (
	"cmp"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"laststand/internal/leaderboard"
	"laststand/internal/match"
	"laststand/internal/settle"
)

// batch is the results of one commit and what became of them.
type batch struct {
	items     []*item // each match once, in the order given
	byKey     map[matchKey]*item
	committed []settle.Committed
}

// item is one result on its way.
type item struct {
	result  *match.Result
	text    string // as JSON
	out     *settle.Committed
	entries []*entry // empty unless the result counts
}

type matchKey struct{ game, id string }

func (it *item) key() matchKey { return matchKey{it.result.Game, it.result.Match} }

// newBatch checks the results. A match that is there twice is taken once.
func newBatch(results []match.Result) (*batch, error) {
	b := &batch{byKey: map[matchKey]*item{}, committed: make([]settle.Committed, len(results))}
	for i := range results {
		b.committed[i].Match = results[i].Match
		it, err := newItem(&results[i], &b.committed[i])
		if err != nil {
			return nil, err
		}
		if b.byKey[it.key()] == nil {
			b.byKey[it.key()] = it
			b.items = append(b.items, it)
		}
	}
	return b, nil
}

func newItem(r *match.Result, out *settle.Committed) (*item, error) {
	if err := checkResult(r); err != nil {
		return nil, err
	}
	text, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("%w: match %s: %w", ErrBadResult, r.Match, err)
	}
	it := &item{result: r, text: string(text), out: out}
	if r.Counts {
		for s := range humans(r) {
			it.entries = append(it.entries, newEntry(r.Match, s))
		}
	}
	return it, nil
}

func newEntry(matchID string, s *match.Standing) *entry {
	return &entry{match: matchID, Row: leaderboard.Row{
		Kind: leaderboard.ResultRow, Player: s.Player,
		Parts: leaderboard.Parts{
			Score: s.Score, TimeMS: s.TimeMS, LimitMS: s.LimitMS, Matches: 1,
			Asked: int64(s.Asked), Answered: int64(s.Answered), Correct: int64(s.Correct),
		},
	}}
}

// matchRows are the rows of insertMatch, in the one order in which all batches
// lock match ids.
func (b *batch) matchRows() [][]any {
	var rows [][]any
	for _, it := range slices.SortedFunc(slices.Values(b.items), compareItems) {
		rows = append(rows, []any{it.result.Game, it.result.Match, it.text})
	}
	return rows
}

func compareItems(a, b *item) int {
	return cmp.Or(cmp.Compare(a.result.Game, b.result.Game), cmp.Compare(a.result.Match, b.result.Match))
}

// scanNew learns from what insertMatch returns that a match is new.
func (b *batch) scanNew(rows *sql.Rows) error {
	var key matchKey
	if err := rows.Scan(&key.game, &key.id); err != nil {
		return err
	}
	b.byKey[key].out.New = true
	return nil
}

// newByGame are the new results of each game, in the order given.
func (b *batch) newByGame() map[string][]*item {
	games := map[string][]*item{}
	for _, it := range b.items {
		if it.out.New {
			games[it.result.Game] = append(games[it.result.Game], it)
		}
	}
	return games
}

func entriesOf(items []*item) []*entry {
	var all []*entry
	for _, it := range items {
		all = append(all, it.entries...)
	}
	return all
}

// place tells the caller where the result lies.
func (it *item) place(at int64) {
	it.out.At = at
	if n := len(it.entries); n > 0 {
		it.out.FirstPos, it.out.LastPos = it.entries[0].Pos, it.entries[n-1].Pos
	}
}

// seatRows are the rows of insertSeat.
func seatRows(game string, items []*item) [][]any {
	var rows [][]any
	for _, it := range items {
		r := it.result
		for s := range humans(r) {
			rows = append(rows, []any{game, s.Player, r.OverAt, r.Match, string(r.Mode),
				int64(s.Rank), s.Score, int64(s.Correct), int64(len(r.Standings))})
		}
	}
	return rows
}

// playerRows are the rows of updatePlayer: one for each player whose totals or
// rating change, however many of the results are theirs.
func playerRows(game string, items []*item) ([][]any, error) {
	sums := map[string]*playerSum{}
	of := func(player string) *playerSum {
		if sums[player] == nil {
			sums[player] = &playerSum{}
		}
		return sums[player]
	}
	for _, it := range items {
		for _, e := range it.entries {
			of(e.Player).add(e.Parts)
		}
		for s := range humans(it.result) {
			if s.Rating == nil {
				continue
			}
			if err := of(s.Player).rate(s.Rating); err != nil {
				return nil, fmt.Errorf("%w: match %s: %w", ErrBadResult, it.result.Match, err)
			}
		}
	}
	var rows [][]any
	for _, player := range slices.Sorted(maps.Keys(sums)) {
		rows = append(rows, sums[player].row(game, player))
	}
	return rows, nil
}

// playerSum is what a batch does to one player.
type playerSum struct {
	parts  leaderboard.Parts
	rating string // JSON; "": as it was
	rated  int64
}

func (p *playerSum) add(q leaderboard.Parts) {
	p.parts.Score += q.Score
	p.parts.TimeMS += q.TimeMS
	p.parts.LimitMS += q.LimitMS
	p.parts.Matches += q.Matches
	p.parts.Asked += q.Asked
	p.parts.Answered += q.Answered
	p.parts.Correct += q.Correct
}

func (p *playerSum) rate(change *match.RatingChange) error {
	text, err := json.Marshal(change.After)
	p.rating = string(text)
	p.rated++
	return err
}

func (p *playerSum) row(game, player string) []any {
	q := p.parts
	return []any{game, player, p.rating, p.rated,
		q.Score, q.TimeMS, q.LimitMS, q.Matches, q.Asked, q.Answered, q.Correct}
}
