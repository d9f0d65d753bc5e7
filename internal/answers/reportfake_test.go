package answers

import (
	"context"
	"encoding/json"
	"fmt"

	"laststand/internal/arena"
	"laststand/internal/match"
	"laststand/internal/protocol"
	"laststand/internal/quiz"
)

// fakeSource has the answers of the players in rank order.
type fakeSource [][]Answer

func (f fakeSource) EachBlock(_ context.Context, _ Match, onBlock func([]Answer)) error {
	for _, all := range f {
		onBlock(all)
	}
	return nil
}

func (f fakeSource) EachPlayer(_ context.Context, _ Match, from, to int, onPlayer func(PlayerAnswers) error) error {
	for i := from; i < min(to, len(f)); i++ {
		if err := onPlayer(PlayerAnswers{Standing: fakeStanding(i), Answers: f[i]}); err != nil {
			return err
		}
	}
	return nil
}

func fakeStanding(i int) protocol.OverStanding {
	return protocol.OverStanding{Rank: i + 1, Player: fmt.Sprint("p_", i), Nickname: fmt.Sprint("Nick ", i), Team: "north", Score: 100, Correct: 1, TimeMS: 2000}
}

// fakeQuestions has a question of each kind.
func fakeQuestions() []quiz.DrawnQuestion {
	all := []quiz.Question{
		{Kind: quiz.Single, Choices: []string{"Rome", "Oslo", "=Paris"}, RightIndexes: []int{1}},
		{Kind: quiz.Multiple, Choices: []string{"2", "3", "4"}, RightIndexes: []int{0, 1}},
		{Kind: quiz.Number, Target: &quiz.Target{Value: -5, Tolerance: 0.5}},
		{Kind: quiz.Text, Accepted: []string{"The moon", "Moon"}},
		{Kind: quiz.Boolean, Choices: []string{"No", "Yes"}, RightIndexes: []int{0}},
	}
	var drawn []quiz.DrawnQuestion
	for i := range all {
		all[i].ID, all[i].Text = fmt.Sprint("q", i), fmt.Sprint("Question ", i, "?")
		drawn = append(drawn, quiz.DrawnQuestion{Question: &all[i]})
	}
	return drawn
}

func fakeMatch(mode match.Mode, players int) Match {
	return Match{
		Summary:   match.Summary{Match: "m_1", Game: "demo", Mode: mode, StartedAt: 1000, OverAt: 9000, Players: players},
		Questions: fakeQuestions(),
	}
}

var fakeArena = arena.Record{Game: "demo", Match: "m_1", Host: "hana", Name: "Cup"}

// answerTo returns an answer; given "" is that of an erased player.
func answerTo(question int, given string, isCorrect bool, elapsedMS int64) Answer {
	a := Answer{Question: question, Correct: isCorrect, ElapsedMS: elapsedMS}
	if given != "" {
		_ = json.Unmarshal([]byte(given), &a.Given) // JSON of this file
	}
	if isCorrect {
		a.Points = 150
	}
	return a
}

// smallSource has the answers of three players, the last of whom was erased.
func smallSource() fakeSource {
	retracted := answerTo(3, `{"value":"moon"}`, true, 1)
	retracted.Retracted = true
	return fakeSource{
		{answerTo(0, `{"choice":1}`, true, 1000), answerTo(1, `{"choices":[0,1]}`, true, 10), answerTo(2, `{"value":-5}`, true, 7), answerTo(3, `{"value":"-1+1"}`, false, 3)},
		{answerTo(0, `{"choice":2}`, false, 1001), answerTo(1, `{"choices":[1,2]}`, false, 11), retracted, answerTo(9, `{"choice":0}`, true, 1)},
		{answerTo(0, "", true, 2000), answerTo(1, "", false, 1)},
	}
}
