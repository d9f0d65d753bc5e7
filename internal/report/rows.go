package report

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"laststand/internal/answers"
	"laststand/internal/protocol"
	"laststand/internal/quiz"
)

// columns are the columns of the CSV and XLSX forms, which have a row for each player and
// question. The first seven are about the player.
var columns = []string{
	"rank", "player", "nickname", "team", "score", "correct", "time_ms",
	"question", "question_id", "kind", "text", "right_answer", "given", "given_correct", "elapsed_ms", "points",
}

// number is a number that a player gave.
type number string

// eachRow calls onRow with the cells of each row: a string, a number, an int64 or a bool.
// A cell without a value is "". onRow must not keep the slice.
func eachRow(ctx context.Context, source Source, m answers.Match, onRow func([]any) error) error {
	cells, solutions := make([]any, len(columns)), make([]string, len(m.Questions))
	for i, q := range m.Questions {
		solutions[i] = solutionText(q)
	}
	return source.EachPlayer(ctx, m, 0, m.Summary.Players, func(answered answers.PlayerAnswers) error {
		p := newPlayer(m.Questions, answered)
		copy(cells, []any{int64(p.Rank), p.Player, p.Nickname, p.Team, p.Score, int64(p.Correct), p.TimeMS})
		for i, a := range p.Answers {
			q := m.Questions[i]
			copy(cells[7:], []any{int64(i), q.ID, string(q.Kind), q.Text, solutions[i], givenCell(q, a.Given), a.Correct, "", a.Points})
			if a.ElapsedMS != nil {
				cells[len(cells)-2] = *a.ElapsedMS
			}
			if err := onRow(cells); err != nil {
				return err
			}
		}
		return nil
	})
}

// solutionText returns the right answer to a question as people read it.
func solutionText(q quiz.DrawnQuestion) string {
	solution := q.Solution()
	switch value := solution.Value.(type) {
	case string:
		return strings.Join(solution.Accepted, " | ")
	case float64:
		text := strconv.FormatFloat(value, 'g', -1, 64)
		if solution.Tolerance != nil && *solution.Tolerance > 0 {
			text += " ± " + strconv.FormatFloat(*solution.Tolerance, 'g', -1, 64)
		}
		return text
	}
	if solution.Choice != nil {
		return choiceTexts(q, []int{*solution.Choice})
	}
	return choiceTexts(q, solution.Choices)
}

// givenCell returns a given answer as people read it: the texts of choices, the number or
// the text.
func givenCell(q quiz.DrawnQuestion, raw json.RawMessage) any {
	var given protocol.Given
	if json.Unmarshal(raw, &given) != nil {
		return ""
	}
	switch {
	case given.Choice != nil:
		return choiceTexts(q, []int{*given.Choice})
	case len(given.Choices) > 0:
		return choiceTexts(q, given.Choices)
	case q.Kind == quiz.Number:
		return number(given.Value)
	}
	var text string
	_ = json.Unmarshal(given.Value, &text) // "" without an answer
	return text
}

func choiceTexts(q quiz.DrawnQuestion, indexes []int) string {
	texts := make([]string, len(indexes))
	for i, index := range indexes {
		texts[i] = fmt.Sprint(index)
		if choices := q.Choices(); index < len(choices) {
			texts[i] = choices[index]
		}
	}
	return strings.Join(texts, " | ")
}
