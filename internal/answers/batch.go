package answers

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"laststand/internal/match"
	"laststand/internal/protocol"
	"laststand/internal/timer"
)

// batch is some blocks that are saved together, and the matches that the ledger has
// completely after that.
type batch struct {
	saver    *Saver
	blocks   []Block
	answers  int
	complete []string
	waiting  map[string]bool // claimed matches to save; not those with a refused block
}

// add adds a block, unless one of the match was refused, and saves a full batch.
func (b *batch) add(ctx context.Context, block Block) error {
	if !b.waiting[block.Match] {
		return nil
	}
	b.blocks, b.answers = append(b.blocks, block), b.answers+len(block.Answers)
	if b.answers < batchAnswers {
		return nil
	}
	return b.flush(ctx)
}

// flush saves the batch and releases its complete matches. Then it pauses for as long as
// the ledger was busy, so that results have room.
func (b *batch) flush(ctx context.Context) error {
	if len(b.blocks) == 0 && len(b.complete) == 0 {
		return nil
	}
	began := time.Now()
	if err := b.save(ctx); err != nil {
		return err
	}
	b.saver.metrics.saved.Add(float64(b.answers))
	busy := time.Since(began)
	for _, id := range b.complete {
		if !b.waiting[id] {
			continue
		}
		if err := b.saver.Store.ReleaseAnswers(ctx, id); err != nil {
			return err
		}
		delete(b.waiting, id)
	}
	*b = batch{saver: b.saver, waiting: b.waiting}
	timer.Sleep(ctx, busy)
	return nil
}

// save saves the blocks. If the ledger refuses them together, it saves one at a time, and
// leaves out a match with a refused block. It returns only outages.
func (b *batch) save(ctx context.Context) error {
	s := b.saver
	if err := s.Ledger.SaveBlocks(ctx, b.blocks); err == nil || s.IsUnavailable(err) {
		return err
	}
	for _, block := range b.blocks {
		if b.waiting[block.Match] {
			err := s.Ledger.SaveBlocks(ctx, []Block{block})
			if err == nil {
				continue
			}
			if s.IsUnavailable(err) {
				return err
			}
			delete(b.waiting, block.Match)
			s.metrics.failures.WithLabelValues(reasonRefused).Inc()
			s.Logger.Error("ledger refused answers of a match; they wait until the match expires", "match", block.Match, "block", block.Index, "error", err)
		}
		b.answers -= len(block.Answers)
	}
	return nil
}

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
	for _, record := range records {
		player, given := r.seats.Indexes[record.Player], new(protocol.Given)
		if json.Unmarshal(record.Given, given) != nil {
			unreadable++
			continue
		}
		answer := Answer{
			Player: player, Question: record.Question, Given: given, Correct: record.Correct,
			Retracted: r.view.IsUncounted(record, r.totals[record.Player]), ElapsedMS: record.ElapsedMS, Points: record.Points, ArrivedAt: record.ArrivedAt,
		}
		if r.seats.Erased[player] {
			answer.Given = nil
		}
		block.Answers = append(block.Answers, answer)
	}
	r.saver.metrics.lost.WithLabelValues(reasonUnreadable).Add(float64(unreadable))
	slices.SortFunc(block.Answers, func(a, b Answer) int {
		return cmp.Or(cmp.Compare(a.Question, b.Question), cmp.Compare(a.Player, b.Player))
	})
	return block, nil
}
