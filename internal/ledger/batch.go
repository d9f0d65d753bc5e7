package ledger

import (
	"cmp"
	"database/sql"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

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

func (key matchKey) compare(other matchKey) int {
	return cmp.Or(cmp.Compare(key.game, other.game), cmp.Compare(key.id, other.id))
}

// newResultBatch checks the results and makes a batch of them. A match that is given more than
// once gets one item.
func newResultBatch(results []match.Result) (*resultBatch, error) {
	b := &resultBatch{byKey: make(map[matchKey]*resultItem, len(results)), outcomes: make([]settle.Committed, len(results))}
	for i := range results {
		r := &results[i]
		if err := checkResult(r); err != nil {
			return nil, err
		}
		b.outcomes[i].Match = r.Match
		key := matchKeyOf(r)
		if b.byKey[key] != nil {
			continue
		}
		item := &resultItem{outcome: &b.outcomes[i]}
		if err := item.setResult(r); err != nil {
			return nil, err
		}
		b.byKey[key], b.items = item, append(b.items, item)
	}
	return b, nil
}

// setResult replaces the result to record, and what follows from it.
func (item *resultItem) setResult(r *match.Result) error {
	text, err := json.Marshal(r.Summary())
	if err != nil {
		return fmt.Errorf("%w: match %s: %w", ErrBadResult, r.Match, err)
	}
	item.result, item.recordJSON, item.counts, item.entries = r, string(text), r.CountsForLeaderboards, nil
	if r.CountsForLeaderboards {
		item.entries = resultEntries(r)
	}
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
	rows := make([][]any, 0, len(b.items))
	for _, key := range slices.SortedFunc(maps.Keys(b.byKey), matchKey.compare) {
		item := b.byKey[key]
		rows = append(rows, []any{key.game, key.id, item.recordJSON, item.result.OverAt})
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

// maxIDBytes is the greatest length of an id in the wire contract, in bytes.
const maxIDBytes = 64

// checkResult returns an error that wraps ErrBadResult if a result would make the
// ledger's sums wrong or break its keys.
func checkResult(r *match.Result) error {
	if isInvalidID(r.Match) || isInvalidID(r.Game) {
		return fmt.Errorf("%w: match %q of game %q: ids are 1 to %d of A-Z a-z 0-9 _ . : -", ErrBadResult, r.Match, r.Game, maxIDBytes)
	}
	if !r.IsComplete() {
		return fmt.Errorf("%w: match %s: its standings are not loaded; read them first", ErrBadResult, r.Match)
	}
	if err := checkTeams(r); err != nil {
		return err
	}
	players := make(map[string]bool, len(r.Standings))
	rated := r.IsRated()
	for s := range humanStandings(r) {
		if isInvalidID(s.Player) || players[s.Player] {
			return fmt.Errorf("%w: match %s: player %q is listed twice or has an invalid id", ErrBadResult, r.Match, s.Player)
		}
		players[s.Player] = true
		if s.Score < 0 || s.TimeMS < 0 || s.LimitMS < 0 || s.Asked < 0 || s.Answered < 0 || s.Correct < 0 {
			return fmt.Errorf("%w: match %s: player %q has a negative value", ErrBadResult, r.Match, s.Player)
		}
		if s.Rating != nil && !rated {
			return fmt.Errorf("%w: match %s: player %q has a rating; either both players of a duel have one, or neither", ErrBadResult, r.Match, s.Player)
		}
	}
	return nil
}

func checkTeams(r *match.Result) error {
	seen := make(map[string]bool, len(r.Teams))
	for _, t := range r.Teams {
		if isInvalidID(t.ID) || seen[t.ID] || t.Score < 0 {
			return fmt.Errorf("%w: match %s: team %q is listed twice, has an invalid id or has a negative score", ErrBadResult, r.Match, t.ID)
		}
		seen[t.ID] = true
	}
	return nil
}

func isInvalidID(id string) bool {
	return id == "" || len(id) > maxIDBytes || strings.ContainsFunc(id, func(c rune) bool {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		return !letter && (c < '0' || c > '9') && !strings.ContainsRune("_.:-", c)
	})
}

// humanStandings iterates over the standings of a result, without bots.
func humanStandings(r *match.Result) iter.Seq[*match.Standing] {
	return func(yield func(*match.Standing) bool) {
		for i := range r.Standings {
			if s := &r.Standings[i]; !s.Bot && !yield(s) {
				return
			}
		}
	}
}
