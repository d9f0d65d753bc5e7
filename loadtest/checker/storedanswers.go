package checker

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"laststand/internal/protocol"
)

// storedAnswer is a player's answer to a question of a settled match, as the server tells it
// to the player. The form can be compared.
type storedAnswer struct {
	Given     string
	Correct   bool
	ElapsedMS int64 // -1: no answer
	Points    int64
}

func newStoredAnswer(r protocol.QuestionResult) storedAnswer {
	a := storedAnswer{Given: cmp.Or(string(r.Given), "null"), Correct: r.Correct, ElapsedMS: -1, Points: r.Points}
	if r.ElapsedMS != nil {
		a.ElapsedMS = *r.ElapsedMS
	}
	return a
}

// compareAnswers compares the stored answers of a player in a match with those that the
// server had accepted. Questions that a player was not asked are stored without an answer.
func (s *Stored) compareAnswers(ctx context.Context, match string, t *totals) (difference string, err error) {
	var stored struct {
		Questions []struct {
			Given     json.RawMessage
			Correct   bool
			ElapsedMS *int64 `json:"elapsed_ms"`
			Points    int64
		}
	}
	if err := s.GetAs(ctx, t.player, "matches/"+match+"/answers", &stored); err != nil {
		return "", err
	}
	if len(stored.Questions) < len(t.answers) {
		return fmt.Sprintf("the answers of %s to %d questions of %s are stored, and there were %d", t.player, len(stored.Questions), match, len(t.answers)), nil
	}
	for i, q := range stored.Questions {
		want, isAsked := t.answers[i]
		if !isAsked {
			want = newStoredAnswer(protocol.QuestionResult{})
		}
		got := newStoredAnswer(protocol.QuestionResult{Given: q.Given, Correct: q.Correct, ElapsedMS: q.ElapsedMS, Points: q.Points})
		if got != want {
			return fmt.Sprintf("the answer of %s to question %d of %s is stored as %+v, and was %+v", t.player, i, match, got, want), nil
		}
	}
	return "", nil
}
