package ledger

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"laststand/internal/quiz"
)

// QuestionBanks stores the question banks of operators.
type QuestionBanks struct{ *database }

var saveQuestion = insertRows("questions", "bank, id, question") + `ON CONFLICT (bank, id) DO UPDATE SET question = excluded.question`

// SaveBank adds questions to a bank, which it creates if needed. A question replaces one
// with the same id; the others stay. It saves all or none.
func (b *QuestionBanks) SaveBank(ctx context.Context, name string, questions []quiz.Question) error {
	rows, err := questionRows(name, questions)
	if err != nil {
		return err
	}
	return b.inTx(ctx, func(tx *transaction) error {
		// The revision comes first: the lock on its row makes writers of banks wait for
		// each other.
		tx.exec(ctx, `UPDATE ledger_info SET bank_revision = bank_revision + 1`)
		tx.exec(ctx, `INSERT INTO banks (name) VALUES ($1) ON CONFLICT DO NOTHING`, name)
		tx.bulk(ctx, saveQuestion, rows, nil)
		return nil
	})
}

// questionRows returns the rows to save. If an id is repeated, its last question counts.
func questionRows(name string, questions []quiz.Question) ([][]any, error) {
	var rows [][]any
	savedIDs := make(map[string]bool, len(questions))
	for _, q := range slices.Backward(questions) {
		if savedIDs[q.ID] {
			continue
		}
		savedIDs[q.ID] = true
		text, err := json.Marshal(q)
		if err != nil {
			return nil, fmt.Errorf("question %s: %w", q.ID, err)
		}
		rows = append(rows, []any{name, q.ID, string(text)})
	}
	return rows, nil
}

// Banks returns the number of questions of each bank.
func (b *QuestionBanks) Banks(ctx context.Context) (map[string]int, error) {
	banks := map[string]int{}
	var name string
	var questions int
	return banks, b.each(ctx, eachRow(func() { banks[name] = questions }, &name, &questions), `
SELECT b.name, COUNT(q.id) FROM banks b LEFT JOIN questions q ON q.bank = b.name GROUP BY b.name`)
}

// LoadBank returns a bank's questions in the order of their ids, or quiz.ErrNoBank.
func (b *QuestionBanks) LoadBank(ctx context.Context, name string) (questions []quiz.Question, err error) {
	questions, err = list(ctx, b.database, func(q *quiz.Question) []any { return into(asJSON(q)) }, `
SELECT q.question FROM banks b LEFT JOIN questions q ON q.bank = b.name WHERE b.name = $1 ORDER BY q.id`, name)
	switch {
	case err == nil && len(questions) == 0:
		err = quiz.ErrNoBank
	case err == nil && questions[0].ID == "": // the only row of an empty bank
		questions = nil
	}
	return questions, err
}

// BankRevision grows with every change of any bank.
func (b *QuestionBanks) BankRevision(ctx context.Context) (int64, error) {
	return getValue[int64](ctx, b.database, "SELECT bank_revision FROM ledger_info")
}
