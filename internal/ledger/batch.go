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

// resultBatch holds the results of one commit and their outcomes.
type resultBatch struct {
	items    []*resultItem // each match once, in the order of the call of Commit
	byKey    map[matchKey]*resultItem
	outcomes []settle.Committed // one for each result of the call, in its order
}

// resultItem is one result of a batch.
type resultItem struct {
	result     *match.Result
	recordJSON string // the match's record: the summary of the result as JSON
	outcome    *settle.Committed
	entries    []*entry // empty if the result does not count
	counts     bool     // whether the result counts in the ledger
}

type matchKey struct{ game, id string }

func matchKeyOf(r *match.Result) matchKey { return matchKey{r.Game, r.Match} }

// newResultBatch checks the results and makes a batch of them. A match that is given more than
// once gets one item.
func newResultBatch(results []match.Result) (*resultBatch, error) {
	b := &resultBatch{byKey: map[matchKey]*resultItem{}, outcomes: make([]settle.Committed, len(results))}
	for i := range results {
		b.outcomes[i].Match = results[i].Match
		item, err := newResultItem(&results[i], &b.outcomes[i])
		if err != nil {
			return nil, err
		}
		if key := matchKeyOf(item.result); b.byKey[key] == nil {
			b.byKey[key] = item
			b.items = append(b.items, item)
		}
	}
	return b, nil
}

func newResultItem(r *match.Result, outcome *settle.Committed) (*resultItem, error) {
	if err := checkResult(r); err != nil {
		return nil, err
	}
	item := &resultItem{outcome: outcome}
	if err := item.setResult(r); err != nil {
		return nil, err
	}
	if r.CountsForLeaderboards {
		item.entries = append(playerEntries(r), teamEntries(r)...)
	}
	return item, nil
}

// setResult replaces the result to record, and what follows from it except the entries.
func (item *resultItem) setResult(r *match.Result) error {
	text, err := json.Marshal(r.Summary())
	if err != nil {
		return fmt.Errorf("%w: match %s: %w", ErrBadResult, r.Match, err)
	}
	item.result, item.recordJSON, item.counts = r, string(text), r.CountsForLeaderboards
	return nil
}

// completeOutcomes returns the outcomes of the given results, after it has set
// CountsForLeaderboards of each.
func (b *resultBatch) completeOutcomes(results []match.Result) []settle.Committed {
	for i := range results {
		b.outcomes[i].CountsForLeaderboards = b.byKey[matchKeyOf(&results[i])].counts
	}
	return b.outcomes
}

// matchRows returns the rows of insertMatch, in the order in which all batches lock
// match ids.
func (b *resultBatch) matchRows() [][]any {
	var rows [][]any
	for _, item := range slices.SortedFunc(slices.Values(b.items), func(a, b *resultItem) int {
		return cmp.Or(cmp.Compare(a.result.Game, b.result.Game), cmp.Compare(a.result.Match, b.result.Match))
	}) {
		rows = append(rows, []any{item.result.Game, item.result.Match, item.recordJSON, item.result.OverAt})
	}
	return rows
}

func (b *resultBatch) scanNew(rows *sql.Rows) error {
	var key matchKey
	if err := rows.Scan(&key.game, &key.id); err != nil {
		return err
	}
	b.byKey[key].outcome.IsNew = true
	return nil
}

// knownRows returns the rows of selectKnown: the matches that the ledger already has and
// whose given results count.
func (b *resultBatch) knownRows() [][]any {
	var rows [][]any
	for _, item := range b.items {
		if !item.outcome.IsNew && item.counts {
			rows = append(rows, []any{item.result.Game, item.result.Match})
		}
	}
	return rows
}

// scanKnown scans a row of selectKnown, and sets whether the recorded match counts.
func (b *resultBatch) scanKnown(rows *sql.Rows) error {
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

// newItemsByGame returns the items of new matches by game, in the order of the batch.
func (b *resultBatch) newItemsByGame() map[string][]*resultItem {
	games := map[string][]*resultItem{}
	for _, item := range b.items {
		if item.outcome.IsNew {
			games[item.result.Game] = append(games[item.result.Game], item)
		}
	}
	return games
}

// setPositions sets the time (epoch ms) and the positions of the result's entries in the
// outcome.
func (item *resultItem) setPositions(committedAt int64) {
	item.outcome.CommittedAt = committedAt
	if n := len(item.entries); n > 0 {
		item.outcome.FirstPos, item.outcome.LastPos = item.entries[0].Pos, item.entries[n-1].Pos
	}
}

// playerRows returns the rows of updatePlayer: one for each player whose totals or
// rating change.
func playerRows(game string, items []*resultItem) ([][]any, error) {
	changes := map[string]*playerChange{}
	changeOf := func(player string) *playerChange {
		if changes[player] == nil {
			changes[player] = &playerChange{}
		}
		return changes[player]
	}
	for _, item := range items {
		for _, e := range item.entries {
			if e.HolderKind == leaderboard.Players {
				c := changeOf(e.Holder)
				c.aggregates = c.aggregates.Add(e.Aggregates)
			}
		}
		for s := range humanStandings(item.result) {
			if s.Rating == nil {
				continue
			}
			text, err := json.Marshal(s.Rating.After)
			if err != nil {
				return nil, fmt.Errorf("%w: match %s: %w", ErrBadResult, item.result.Match, err)
			}
			c := changeOf(s.Player)
			c.ratingJSON, c.ratedMatches = string(text), c.ratedMatches+1
		}
	}
	var rows [][]any
	for _, player := range slices.Sorted(maps.Keys(changes)) {
		rows = append(rows, changes[player].row(game, player))
	}
	return rows, nil
}

// playerChange is what a batch changes of one player.
type playerChange struct {
	aggregates   leaderboard.Aggregates
	ratingJSON   string // new rating; "": unchanged
	ratedMatches int64  // number of rated matches to add
}

func (p *playerChange) row(game, player string) []any {
	return append([]any{game, player, p.ratingJSON, p.ratedMatches}, aggregateValues(p.aggregates)...)
}
