package ledger

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"

	"laststand/internal/answers"
	"laststand/internal/quiz"
)

const (
	selectAsked = `
WITH v (game, hash) AS ({rows})
SELECT q.game, q.hash, q.id, q.asked_at FROM v JOIN asked_questions q ON q.game = v.game AND q.hash = v.hash`

	// lockAsked lets one transaction at a time assign numbers.
	lockAsked = `UPDATE ledger_info SET id = id WHERE id = 1`

	saveAsked = `
WITH v (game, hash, question, asked_at) AS ({rows})
INSERT INTO asked_questions (id, game, hash, question, asked_at)
SELECT COALESCE((SELECT MAX(id) FROM asked_questions), 0) + ROW_NUMBER() OVER (), game, hash, question, asked_at FROM v WHERE true
ON CONFLICT (game, hash) DO UPDATE SET asked_at = excluded.asked_at WHERE asked_questions.asked_at < excluded.asked_at`

	selectAskedByID = `
WITH v (id) AS ({rows})
SELECT q.id, q.question FROM v JOIN asked_questions q ON q.id = v.id`
)

// dayMillis is the length of a day in ms.
const dayMillis = int64(24 * time.Hour / time.Millisecond)

// askedKey identifies a stored original.
type askedKey struct{ game, hash string }

// askedQuestion is a question of a match that is saved.
type askedQuestion struct {
	askedKey

	text    string // the original as JSON
	askedAt int64  // end of the match
	order   []int
}

// newAskedQuestions returns the questions of a block.
func newAskedQuestions(b answers.Block) ([]askedQuestion, error) {
	var asked []askedQuestion
	for _, drawn := range b.Questions {
		original, order := drawn.Original()
		text, err := json.Marshal(original)
		if err != nil {
			return nil, fmt.Errorf("question %s: %w", original.ID, err)
		}
		sum := sha256.Sum256(text)
		key := askedKey{b.Game, base64.RawURLEncoding.EncodeToString(sum[:16])}
		asked = append(asked, askedQuestion{key, string(text), b.OverAt, order})
	}
	return asked, nil
}

// askedIDs are the numbers of stored originals.
type askedIDs map[askedKey]int64

// packQuestions returns the packed form of the questions of a match, whose originals are
// stored.
func (ids askedIDs) packQuestions(asked []askedQuestion) []byte {
	refs := make([]answers.AskedQuestion, len(asked))
	for i, q := range asked {
		refs[i] = answers.AskedQuestion{ID: ids[q.askedKey], Order: q.order}
	}
	return answers.PackQuestions(refs)
}

// saveQuestions stores the originals of questions that are new, or that were last asked
// more than a day before. It returns the numbers of all.
func (a *Answers) saveQuestions(ctx context.Context, asked []askedQuestion) (askedIDs, error) {
	byKey := map[askedKey]askedQuestion{}
	for _, q := range asked {
		q.askedAt = max(q.askedAt, byKey[q.askedKey].askedAt)
		byKey[q.askedKey] = q
	}
	ids, outdated, err := a.findQuestions(ctx, byKey)
	if err != nil || len(outdated) == 0 {
		return ids, err
	}
	var rows [][]any
	for _, q := range outdated {
		rows = append(rows, []any{q.game, q.hash, q.text, q.askedAt})
	}
	err = a.inTx(ctx, func(tx *transaction) error {
		tx.exec(ctx, lockAsked)
		tx.bulk(ctx, saveAsked, rows, nil)
		return nil
	})
	if err == nil {
		ids, _, err = a.findQuestions(ctx, byKey)
	}
	return ids, err
}

// findQuestions returns the numbers of stored originals, and the questions that are not
// stored or were last asked more than a day before.
func (a *Answers) findQuestions(ctx context.Context, byKey map[askedKey]askedQuestion) (ids askedIDs, outdated []askedQuestion, err error) {
	var rows [][]any
	for key := range byKey {
		rows = append(rows, []any{key.game, key.hash})
	}
	ids, isFresh := askedIDs{}, map[askedKey]bool{}
	var found askedKey
	var id, askedAt int64
	err = a.readBulk(ctx, selectAsked, rows, eachRow(func() {
		ids[found], isFresh[found] = id, askedAt > byKey[found].askedAt-dayMillis
	}, &found.game, &found.hash, &id, &askedAt))
	for key, q := range byKey {
		if !isFresh[key] {
			outdated = append(outdated, q)
		}
	}
	return ids, outdated, err
}

// readQuestions returns packed questions as their match has asked them.
func (a *Answers) readQuestions(ctx context.Context, packed []byte) ([]quiz.DrawnQuestion, error) {
	asked, err := answers.UnpackQuestions(packed)
	if err != nil {
		return nil, err
	}
	var rows [][]any
	originals := map[int64]quiz.Question{}
	for _, q := range asked {
		if _, isListed := originals[q.ID]; !isListed {
			originals[q.ID] = quiz.Question{}
			rows = append(rows, []any{q.ID})
		}
	}
	err = a.readBulk(ctx, selectAskedByID, rows, func(r *sql.Rows) error {
		var id int64
		var original quiz.Question
		err := r.Scan(&id, asJSON(&original))
		originals[id] = original
		return err
	})
	questions := make([]quiz.DrawnQuestion, len(asked))
	for i, q := range asked {
		original := originals[q.ID]
		questions[i] = original.InOrder(q.Order)
	}
	return questions, err
}
