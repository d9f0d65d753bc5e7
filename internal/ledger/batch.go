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
	text    string // its summary as JSON
	out     *settle.Committed
	entries []*entry // empty unless the result counts
	counted bool     // by what the ledger holds
}

type matchKey struct{ game, id string }

func keyOf(r *match.Result) matchKey { return matchKey{r.Game, r.Match} }

// newBatch checks the results. A match that is there twice is taken once.
func newBatch(results []match.Result) (*batch, error) {
	b := &batch{byKey: map[matchKey]*item{}, committed: make([]settle.Committed, len(results))}
	for i := range results {
		b.committed[i].Match = results[i].Match
		it, err := newItem(&results[i], &b.committed[i])
		if err != nil {
			return nil, err
		}
		if key := keyOf(it.result); b.byKey[key] == nil {
			b.byKey[key] = it
			b.items = append(b.items, it)
		}
	}
	return b, nil
}

func newItem(r *match.Result, out *settle.Committed) (*item, error) {
	if err := checkResult(r); err != nil {
		return nil, err
	}
	it := &item{out: out}
	if err := it.take(r); err != nil {
		return nil, err
	}
	if r.Counts {
		it.entries = append(playerEntries(r), teamEntries(r)...)
	}
	return it, nil
}

// take makes r the result that is recorded.
func (it *item) take(r *match.Result) error {
	text, err := json.Marshal(r.Summary())
	if err != nil {
		return fmt.Errorf("%w: match %s: %w", ErrBadResult, r.Match, err)
	}
	it.result, it.text, it.counted = r, string(text), r.Counts
	return nil
}

// answer is what Commit gives.
func (b *batch) answer(results []match.Result) []settle.Committed {
	for i := range results {
		b.committed[i].Counted = b.byKey[keyOf(&results[i])].counted
	}
	return b.committed
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

// knownRows are the rows of selectKnown: results that the ledger had already,
// and that would count.
func (b *batch) knownRows() [][]any {
	var rows [][]any
	for _, it := range b.items {
		if !it.out.New && it.counted {
			rows = append(rows, []any{it.result.Game, it.result.Match})
		}
	}
	return rows
}

// scanKnown learns whether a match that the ledger had already has counted.
func (b *batch) scanKnown(rows *sql.Rows) error {
	var key matchKey
	var text string
	if err := rows.Scan(&key.game, &key.id, &text); err != nil {
		return err
	}
	var recorded struct{ Counts bool }
	err := json.Unmarshal([]byte(text), &recorded)
	b.byKey[key].counted = recorded.Counts
	return err
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

// place tells the caller where the result lies.
func (it *item) place(at int64) {
	it.out.At = at
	if n := len(it.entries); n > 0 {
		it.out.FirstPos, it.out.LastPos = it.entries[0].Pos, it.entries[n-1].Pos
	}
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
			if e.HolderKind == leaderboard.Players {
				of(e.Holder).add(e.Aggregates)
			}
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
	parts  leaderboard.Aggregates
	rating string // JSON; "": as it was
	rated  int64
}

func (p *playerSum) add(q leaderboard.Aggregates) { p.parts = p.parts.Add(q) }

func (p *playerSum) rate(change *match.RatingChange) error {
	text, err := json.Marshal(change.After)
	p.rating = string(text)
	p.rated++
	return err
}

func (p *playerSum) row(game, player string) []any {
	return append([]any{game, player, p.rating, p.rated}, partValues(p.parts)...)
}
