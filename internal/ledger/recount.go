package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"laststand/internal/answers"
	"laststand/internal/leaderboard"
	"laststand/internal/match"
	"laststand/internal/protocol"
)

var updateSeat = updateRows("seats", "game, match_id, standing_index", "rank, score, correct, answered, asked, time_ms")

// recount counts a match again after one more of its questions has become void.
type recount struct {
	tx            *transaction
	before, after match.Summary
	question      int // the question that becomes void
	seats         []*recountedSeat
}

// recountedSeat is a standing before and after the recount.
type recountedSeat struct {
	index         int
	before, after match.Standing
}

// newRecount reads the standings of a match, which the caller has locked.
func newRecount(ctx context.Context, tx *transaction, m match.Summary, question int) *recount {
	r := &recount{tx: tx, before: m, after: m, question: question}
	r.after.AddVoid(question)
	tx.each(ctx, func(rows *sql.Rows) error {
		var seat recountedSeat
		s := &seat.before
		err := rows.Scan(&seat.index, &s.Player, &s.Rank, &s.Team, &s.Score, &s.Correct, &s.Answered, &s.Asked, &s.TimeMS, &s.HasLeft)
		r.seats = append(r.seats, &seat)
		return err
	}, `
SELECT standing_index, player, rank, team, score, correct, answered, asked, time_ms, has_left FROM seats
WHERE game = $1 AND match_id = $2 ORDER BY standing_index`, m.Game, m.Match)
	for _, bot := range m.Bots {
		r.seats = append(r.seats, &recountedSeat{index: bot.Index, before: match.Standing{
			Player: bot.Player, Nickname: bot.Nickname, Rank: bot.Rank, Team: bot.Team, Bot: true, Score: bot.Score, Correct: bot.Correct, Answered: bot.Answered, Asked: bot.Asked, TimeMS: bot.TimeMS,
		}})
	}
	return r
}

// recountBlocks counts the answers of all players again, and saves their new points. It holds
// one block in memory. isComplete is false if the stored answers do not explain the standings
// before: some have not arrived, or are lost.
func (r *recount) recountBlocks(ctx context.Context) (isComplete bool, err error) {
	byBlock := map[int][]*recountedSeat{}
	for _, seat := range r.seats {
		byBlock[seat.index/answers.BlockPlayers] = append(byBlock[seat.index/answers.BlockPlayers], seat)
	}
	for block := 0; block*answers.BlockPlayers < r.after.Players; block++ {
		all, found, err := lockAnswers(ctx, r.tx, r.after, block)
		if errors.Is(err, answers.ErrMalformed) {
			err = fmt.Errorf("%w: block %d: %w", answers.ErrNotStored, block, err)
		}
		if err != nil || !found && block == 0 { // block 0 has the questions
			return false, err
		}
		places := map[int][]int{} // of the answers in all, by player
		for i := range all {
			places[all[i].Player] = append(places[all[i].Player], i)
		}
		for _, seat := range byBlock[block] {
			if !r.recountSeat(seat, all, places[seat.index]) {
				return false, nil
			}
		}
		if !found {
			continue
		}
		if err := updateAnswers(ctx, r.tx, r.after, block, all); err != nil {
			return false, err
		}
	}
	return true, nil
}

// recountSeat sets the new standing of a player, and the new points of the player's answers,
// which have some places in the block. It returns false if the answers do not explain the
// standing before.
func (r *recount) recountSeat(seat *recountedSeat, block []answers.Answer, places []int) bool {
	own := make([]answers.Answer, len(places))
	for i, place := range places {
		own[i] = block[place]
	}
	b := seat.before
	stored := answers.Sums{Score: b.Score, Correct: b.Correct, Answered: b.Answered, TimeMS: b.TimeMS}
	if answers.Recount(&r.before, slices.Clone(own)) != stored || b.Asked != r.before.Questions {
		return false
	}
	sums := answers.Recount(&r.after, own)
	for i, place := range places {
		block[place] = own[i]
	}
	seat.after = b
	seat.after.Score, seat.after.Correct, seat.after.Answered, seat.after.TimeMS, seat.after.Asked = sums.Score, sums.Correct, sums.Answered, sums.TimeMS, r.after.Questions
	return true
}

// rank sets the new ranks of players and teams.
func (r *recount) rank() {
	standings := make([]*match.Standing, len(r.seats))
	for i, seat := range r.seats {
		standings[i] = &seat.after
	}
	r.after.SetRanks(standings)
	changes := map[string]int64{}
	if r.after.Mode == match.Buzzer {
		r.after.Firsts = slices.DeleteFunc(slices.Clone(r.after.Firsts), func(first match.First) bool {
			isVoid := first.Question == r.question
			if isVoid {
				changes[first.Team]--
			}
			return isVoid
		})
	} else {
		for _, seat := range r.seats {
			changes[seat.after.Team] += seat.after.Score - seat.before.Score
		}
	}
	r.after.AddTeamScores(changes)
}

// changes returns by how much the values of players and teams change on leaderboards.
func (r *recount) changes() (players, teams map[string]leaderboard.Aggregates) {
	players, teams = map[string]leaderboard.Aggregates{}, map[string]leaderboard.Aggregates{}
	for _, seat := range r.seats {
		if seat.before.Bot {
			continue
		}
		change := aggregatesOf(&seat.after).Sub(aggregatesOf(&seat.before))
		change.LimitMS = -r.after.Rules.Limit(r.question)
		players[seat.after.Player] = change
		teams[seat.after.Team] = teams[seat.after.Team].Add(change)
	}
	scores := map[string]int64{}
	for _, team := range r.after.Teams {
		scores[team.ID] += team.Score
	}
	for _, team := range r.before.Teams {
		scores[team.ID] -= team.Score
	}
	for id, score := range scores {
		change := teams[id]
		change.Score = score
		teams[id] = change
	}
	return players, teams
}

// save stores the new standings and the new summary.
func (r *recount) save(ctx context.Context) {
	m := r.after
	var rows [][]any
	m.Bots = nil
	for _, seat := range r.seats {
		s := seat.after
		if s.Bot {
			m.Bots = append(m.Bots, match.IndexedStanding{Index: seat.index, OverStanding: s.View()})
			continue
		}
		rows = append(rows, []any{m.Game, m.Match, int64(seat.index), int64(s.Rank), s.Score, int64(s.Correct), int64(s.Answered), int64(s.Asked), s.TimeMS})
	}
	r.tx.bulk(ctx, updateSeat, rows, nil)
	r.tx.bulk(ctx, updateMatch, [][]any{{m.Game, m.Match, string(protocol.EncodeJSON(m))}}, nil)
}
