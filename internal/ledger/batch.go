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

// batch holds the results of one commit and their outcomes.
type batch struct {
	items     []*batchItem // each match once, in the order of the call of Commit
	byKey     map[matchKey]*batchItem
	committed []settle.Committed // one for each result of the call, in its order
}

// batchItem is one result of a batch.
type batchItem struct {
	result    *match.Result
	text      string // the match's record: the summary of the result as JSON
	committed *settle.Committed
	entries   []*entry // empty if the result does not count
	counts    bool     // whether the result counts in the ledger
}

type matchKey struct{ game, id string }

func keyOf(r *match.Result) matchKey { return matchKey{r.Game, r.Match} }

// newBatch checks the results and makes a batch of them. A match that is given more than
// once gets one item.
func newBatch(results []match.Result) (*batch, error) {
	b := &batch{byKey: map[matchKey]*batchItem{}, committed: make([]settle.Committed, len(results))}
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

func newItem(r *match.Result, out *settle.Committed) (*batchItem, error) {
	if err := checkResult(r); err != nil {
		return nil, err
	}
	it := &batchItem{committed: out}
	if err := it.setResult(r); err != nil {
		return nil, err
	}
	if r.Counts {
		it.entries = append(playerEntries(r), teamEntries(r)...)
	}
	return it, nil
}

// setResult replaces the result to record, and what follows from it except the entries.
func (it *batchItem) setResult(r *match.Result) error {
	text, err := json.Marshal(r.Summary())
	if err != nil {
		return fmt.Errorf("%w: match %s: %w", ErrBadResult, r.Match, err)
	}
	it.result, it.text, it.counts = r, string(text), r.Counts
	return nil
}

// results returns the outcomes for Commit, after it has set Counted of each.
func (b *batch) results(results []match.Result) []settle.Committed {
	for i := range results {
		b.committed[i].Counted = b.byKey[keyOf(&results[i])].counts
	}
	return b.committed
}

// matchRows returns the rows of insertMatch, in the order in which all batches lock
// match ids.
func (b *batch) matchRows() [][]any {
	var rows [][]any
	for _, it := range slices.SortedFunc(slices.Values(b.items), compareItems) {
		rows = append(rows, []any{it.result.Game, it.result.Match, it.text})
	}
	return rows
}

func compareItems(a, b *batchItem) int {
	return cmp.Or(cmp.Compare(a.result.Game, b.result.Game), cmp.Compare(a.result.Match, b.result.Match))
}

// scanNew scans a row that insertMatch returns, and marks the match as new.
func (b *batch) scanNew(rows *sql.Rows) error {
	var key matchKey
	if err := rows.Scan(&key.game, &key.id); err != nil {
		return err
	}
	b.byKey[key].committed.New = true
	return nil
}

// knownRows returns the rows of selectKnown: the matches that the ledger already has and
// whose given results count.
func (b *batch) knownRows() [][]any {
	var rows [][]any
	for _, it := range b.items {
		if !it.committed.New && it.counts {
			rows = append(rows, []any{it.result.Game, it.result.Match})
		}
	}
	return rows
}

// scanKnown scans a row of selectKnown, and sets whether the recorded match counts.
func (b *batch) scanKnown(rows *sql.Rows) error {
	var key matchKey
	var text string
	if err := rows.Scan(&key.game, &key.id, &text); err != nil {
		return err
	}
	var recorded struct{ Counts bool }
	err := json.Unmarshal([]byte(text), &recorded)
	b.byKey[key].counts = recorded.Counts
	return err
}

// newByGame returns the items of new matches by game, in the order of the batch.
func (b *batch) newByGame() map[string][]*batchItem {
	games := map[string][]*batchItem{}
	for _, it := range b.items {
		if it.committed.New {
			games[it.result.Game] = append(games[it.result.Game], it)
		}
	}
	return games
}

// setPosition sets the time (epoch ms) and the positions of the result's entries in the
// outcome.
func (it *batchItem) setPosition(at int64) {
	it.committed.At = at
	if n := len(it.entries); n > 0 {
		it.committed.FirstPos, it.committed.LastPos = it.entries[0].Pos, it.entries[n-1].Pos
	}
}

// playerRows returns the rows of updatePlayer: one for each player whose totals or
// rating change.
func playerRows(game string, items []*batchItem) ([][]any, error) {
	sums := map[string]*playerSum{}
	sumOf := func(player string) *playerSum {
		if sums[player] == nil {
			sums[player] = &playerSum{}
		}
		return sums[player]
	}
	for _, it := range items {
		for _, e := range it.entries {
			if e.HolderKind == leaderboard.Players {
				sumOf(e.Holder).add(e.Aggregates)
			}
		}
		for s := range humans(it.result) {
			if s.Rating == nil {
				continue
			}
			if err := sumOf(s.Player).rate(s.Rating); err != nil {
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

// playerSum is what a batch changes of one player.
type playerSum struct {
	aggregates leaderboard.Aggregates
	rating     string // new rating; "": unchanged
	rated      int64  // number of rated matches to add
}

func (p *playerSum) add(q leaderboard.Aggregates) { p.aggregates = p.aggregates.Add(q) }

func (p *playerSum) rate(change *match.RatingChange) error {
	text, err := json.Marshal(change.After)
	p.rating = string(text)
	p.rated++
	return err
}

func (p *playerSum) row(game, player string) []any {
	return append([]any{game, player, p.rating, p.rated}, aggregateValues(p.aggregates)...)
}
