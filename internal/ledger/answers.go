package ledger

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"laststand/internal/answers"
	"laststand/internal/match"
)

var _ answers.Ledger = (*Answers)(nil)

// Answers stores the answers of settled matches.
type Answers struct {
	*database
	history *History
}

// selectSeats also selects whether the player still exists.
const selectSeats = `
SELECT s.standing_index, s.player, p.id IS NULL
FROM seats s LEFT JOIN players p ON p.game = s.game AND p.id = s.player
WHERE s.game = $1 AND s.match_id = $2`

var insertAnswers = insertRows("answers", "game, over_at, match_id, block, questions, answers, texts") + `ON CONFLICT DO NOTHING`

// FindSeats implements answers.Ledger. A player who was erased has an opaque id in the
// ledger, and is found under the former id.
func (a *Answers) FindSeats(ctx context.Context, game, id string, players []string) (seats answers.Seats, err error) {
	m, err := a.history.readSummary(ctx, game, id)
	if err != nil {
		return seats, err
	}
	seats = answers.Seats{OverAt: m.OverAt, Indexes: map[string]int{}, Erased: map[int]bool{}}
	for _, bot := range m.Bots {
		seats.Indexes[bot.Player] = bot.Index
	}
	var index int
	var player string
	var isErased bool
	err = a.each(ctx, eachRow(func() {
		seats.Indexes[player] = index
		if isErased {
			seats.Erased[index] = true
		}
	}, &index, &player, &isErased), selectSeats, game, id)
	if err == nil {
		err = a.addFormerIDs(ctx, game, players, seats)
	}
	return seats, err
}

// addFormerIDs adds the former ids of players whose standings have an opaque id.
func (a *Answers) addFormerIDs(ctx context.Context, game string, players []string, seats answers.Seats) error {
	unknown := slices.DeleteFunc(slices.Clone(players), func(player string) bool {
		_, isKnown := seats.Indexes[player]
		return isKnown
	})
	if len(unknown) == 0 {
		return nil
	}
	tx := a.in(a.readPool)
	for former, opaque := range opaqueIDs(ctx, tx, game, unknown) {
		if index, isKnown := seats.Indexes[opaque]; isKnown {
			seats.Indexes[former] = index
		}
	}
	return tx.err
}

// SaveBlocks implements answers.Ledger. The questions are stored before the answers that
// refer to them.
func (a *Answers) SaveBlocks(ctx context.Context, blocks []answers.Block) (err error) {
	asked := make([][]askedQuestion, len(blocks))
	for i, b := range blocks {
		if asked[i], err = newAskedQuestions(b); err != nil {
			return err
		}
	}
	ids, err := a.saveQuestions(ctx, slices.Concat(asked...))
	if err != nil {
		return err
	}
	var rows [][]any
	for i, b := range blocks {
		packed, texts, err := answers.Pack(b.Answers)
		if err != nil {
			return err
		}
		rows = append(rows, []any{b.Game, b.OverAt, b.Match, int64(b.Index), ids.packQuestions(asked[i]), packed, texts})
	}
	return a.inTx(ctx, func(tx *transaction) error {
		tx.bulk(ctx, insertAnswers, rows, nil)
		return nil
	})
}

// blocksPerRead is how many blocks EachBlock reads with one statement.
const blocksPerRead = 10

// answerRow is a row of table answers.
type answerRow struct {
	block              int64
	questions, answers []byte
	texts              string
}

func (a *Answers) readRows(ctx context.Context, m match.Summary, from, limit int) ([]answerRow, error) {
	return list(ctx, a.database, func(r *answerRow) []any { return into(&r.block, &r.questions, &r.answers, &r.texts) },
		`SELECT block, questions, answers, texts FROM answers WHERE game = $1 AND over_at = $2 AND match_id = $3 AND block >= $4 ORDER BY block LIMIT $5`,
		m.Game, m.OverAt, m.Match, from, limit)
}

// Match returns the summary of a settled match and the questions that were revealed, as the
// match asked them. It returns match.ErrNotFound if there is no such match. If it has no
// answers, it returns the match without questions, with answers.ErrOnTheWay if it is new, and
// later with answers.ErrNotStored.
func (a *Answers) Match(ctx context.Context, game, id string) (answers.Match, error) {
	m, err := a.history.readSummary(ctx, game, id)
	if err != nil {
		return answers.Match{}, err
	}
	found := answers.Match{Summary: m}
	rows, err := a.readRows(ctx, m, 0, 1)
	if err != nil || len(rows) == 0 || rows[0].block != 0 {
		now, clockErr := a.Now(ctx)
		return found, cmp.Or(err, clockErr, missingReason(m, now))
	}
	found.Questions, err = a.readQuestions(ctx, rows[0].questions)
	return found, err
}

// maxAnswerDelay is how long after its result a match may wait for its answers to be saved.
const maxAnswerDelay = 48 * time.Hour

// missingReason returns why the ledger does not have all answers of a match. now is the time
// of the database, epoch ms.
func missingReason(m match.Summary, now int64) error {
	if now-m.OverAt <= maxAnswerDelay.Milliseconds() {
		return answers.ErrOnTheWay
	}
	return answers.ErrNotStored
}

// Of returns the answers of one player in a match that Match has returned, in the order of
// questions. It returns answers.ErrNotPlayer if the player has no standing in it.
func (a *Answers) Of(ctx context.Context, m answers.Match, player string) (own []answers.Answer, err error) {
	var index int
	found, err := a.get(ctx, into(&index), `SELECT standing_index FROM seats WHERE game = $1 AND player = $2 AND over_at = $3 AND match_id = $4`,
		m.Summary.Game, player, m.Summary.OverAt, m.Summary.Match)
	if err != nil || !found {
		return nil, cmp.Or(err, answers.ErrNotPlayer)
	}
	all, err := a.readBlock(ctx, m.Summary, index/answers.BlockPlayers)
	return slices.DeleteFunc(all, func(answer answers.Answer) bool { return answer.Player != index }), err
}

// readBlock returns the answers of a block; none if there is no such block.
func (a *Answers) readBlock(ctx context.Context, m match.Summary, block int) ([]answers.Answer, error) {
	rows, err := a.readRows(ctx, m, block, 1)
	if err != nil || len(rows) == 0 || rows[0].block != int64(block) {
		return nil, err
	}
	return answers.Unpack(block, rows[0].answers, rows[0].texts)
}

// EachPlayer calls onPlayer with the standings whose place is at least from and less than
// to, and their answers, best first. Match has returned m. It stops at the first error of
// onPlayer and returns it. It holds one page in memory.
func (a *Answers) EachPlayer(ctx context.Context, m answers.Match, from, to int, onPlayer func(answers.PlayerAnswers) error) error {
	pageSize := answers.BlockPlayers
	if len(m.Summary.Voided) > 0 { // the players of a page may be in all blocks
		pageSize = 10 * answers.BlockPlayers
	}
	for to = min(to, m.Summary.Players); from < to; {
		end := min(from-from%pageSize+pageSize, to)
		page, err := a.readPlayers(ctx, m.Summary, from, end)
		if err != nil {
			return err
		}
		for _, player := range page {
			if err := onPlayer(player); err != nil {
				return err
			}
		}
		from = end
	}
	return nil
}

// readPlayers returns the standings at some places of a match, with their answers.
func (a *Answers) readPlayers(ctx context.Context, m match.Summary, from, to int) ([]answers.PlayerAnswers, error) {
	standings, err := a.history.standings(ctx, m, from, to)
	if err != nil {
		return nil, err
	}
	players, places, blocks := make([]answers.PlayerAnswers, len(standings)), map[int]int{}, map[int]bool{}
	for i, s := range standings {
		players[i].Standing, places[s.Index], blocks[s.Index/answers.BlockPlayers] = s.OverStanding, i, true
	}
	for block := range blocks {
		all, err := a.readBlock(ctx, m, block)
		if err != nil {
			return nil, fmt.Errorf("ledger: answers of match %s: %w", m.Match, err)
		}
		for _, answer := range all { // in the order of questions
			if i, isWanted := places[answer.Player]; isWanted {
				players[i].Answers = append(players[i].Answers, answer)
			}
		}
	}
	return players, nil
}

// EachBlock calls onBlock with the answers of each block of a match that Match has
// returned. It holds some blocks in memory.
func (a *Answers) EachBlock(ctx context.Context, m answers.Match, onBlock func([]answers.Answer)) error {
	for next := int64(0); ; {
		rows, err := a.readRows(ctx, m.Summary, int(next), blocksPerRead)
		if err != nil || len(rows) == 0 {
			return err
		}
		for _, row := range rows {
			all, err := answers.Unpack(int(row.block), row.answers, row.texts)
			if err != nil {
				return err
			}
			onBlock(all)
			next = row.block + 1
		}
	}
}
