package answers

import (
	"cmp"
	"context"
	"slices"

	"laststand/internal/match"
)

// matchReader reads the answers of a settled match, block by block.
type matchReader struct {
	saver  *Saver
	view   match.View
	seats  Seats
	totals map[string]match.Totals
	blocks [][]string // players who have answered, by block
}

// newMatchReader returns the reader of a match, or match.ErrNotFound if the ledger does not
// have its result.
func (s *Saver) newMatchReader(ctx context.Context, view match.View) (*matchReader, error) {
	r := &matchReader{saver: s, view: view}
	var err error
	if r.totals, err = s.Store.AllTotals(ctx, view.Plan.ID); err != nil {
		return nil, err
	}
	var players []string
	for player, totals := range r.totals {
		if totals.LastAnswered > 0 || totals.HasLeft { // the last answer of a player who left may be retracted
			players = append(players, player)
		}
	}
	slices.Sort(players)
	if r.seats, err = s.Ledger.FindSeats(ctx, view.Plan.Game, view.Plan.ID, players); err != nil {
		return nil, err
	}
	for _, player := range players {
		index, isKnown := r.seats.Indexes[player]
		if !isKnown {
			s.metrics.lost.WithLabelValues(reasonNoStanding).Inc()
			continue
		}
		for len(r.blocks) <= index/BlockPlayers {
			r.blocks = append(r.blocks, nil)
		}
		r.blocks[index/BlockPlayers] = append(r.blocks[index/BlockPlayers], player)
	}
	return r, nil
}

// blockCount returns the number of blocks: at least one, which has the questions.
func (r *matchReader) blockCount() int { return max(len(r.blocks), 1) }

func (r *matchReader) readBlock(ctx context.Context, index int) (Block, error) {
	plan := r.view.Plan
	block := Block{Game: plan.Game, Match: plan.ID, OverAt: r.seats.OverAt, Index: index}
	if index == 0 {
		block.Questions = plan.Questions[:r.view.RevealedQuestions()]
	}
	if index >= len(r.blocks) || len(r.blocks[index]) == 0 {
		return block, nil
	}
	records, unreadable, err := r.saver.Store.RecordsOf(ctx, plan.ID, r.blocks[index], min(r.view.Question+1, len(plan.Questions)))
	if err != nil {
		return Block{}, err
	}
	r.saver.metrics.lost.WithLabelValues(reasonUnreadable).Add(float64(unreadable))
	for _, record := range records {
		player := r.seats.Indexes[record.Player]
		answer := newAnswer(record, player, r.view.IsUncounted(record, r.totals[record.Player]))
		if r.seats.Erased[player] {
			answer.Given = nil
		}
		block.Answers = append(block.Answers, answer)
	}
	slices.SortFunc(block.Answers, func(a, b Answer) int {
		return cmp.Or(cmp.Compare(a.Question, b.Question), cmp.Compare(a.Player, b.Player))
	})
	return block, nil
}
