package match

import (
	"encoding/json"
	"fmt"
	"strconv"

	"pgregory.net/rapid"

	"laststand/internal/protocol"
	"laststand/internal/quiz"
)

const (
	ada = "p_ada"
	bob = "p_bob"
)

// sampleQuestions contains one question of each kind.
var sampleQuestions = []quiz.DrawnQuestion{
	{Question: &quiz.Question{Kind: quiz.Single, Text: "Which?", Choices: []string{"a", "b", "c", "d"}, RightIndexes: []int{2}}},
	{Question: &quiz.Question{Kind: quiz.Multiple, Text: "Which ones?", Choices: []string{"a", "b", "c"}, RightIndexes: []int{0, 2}}},
	{Question: &quiz.Question{Kind: quiz.Boolean, Text: "Is it?", Choices: []string{"yes", "no"}, RightIndexes: []int{1}}},
	{Question: &quiz.Question{Kind: quiz.Number, Text: "How many?", Target: &quiz.Target{Value: 424242, Tolerance: 1}}},
	{Question: &quiz.Question{Kind: quiz.Text, Text: "Who?", Accepted: []string{"Lovelace", "Augusta"}}},
}

// newPlan returns a rated duel of ada and bob with alternating kinds of
// questions.
func newPlan(id string, startsAt int64, questions int) *Plan {
	plan := &Plan{
		Form: CurrentForm, ID: id, Game: "demo", Mode: Duel, StartsAt: startsAt,
		Rules: Rules{LimitMS: 10_000}, CountdownMS: 3000, RevealMS: 2500, Rated: true, CountsForLeaderboards: true,
		Seats: []Seat{
			{Player: ada, Nickname: "Ada", Rating: &Rating{R: 1500, RD: 200, Sigma: 0.06}},
			{Player: bob, Nickname: "Bob", Rating: &Rating{R: 1700, RD: 80, Sigma: 0.06}},
		},
	}
	for i := range questions {
		q := *sampleQuestions[i%len(sampleQuestions)].Question
		q.ID, q.Lang, q.Category, q.Difficulty = "q_"+strconv.Itoa(i), "en", "science", quiz.Easy
		q.Explanation = "explained"
		plan.Questions = append(plan.Questions, quiz.DrawnQuestion{Question: &q})
	}
	return plan
}

// withBotOpponent replaces bob by a bot.
func (p *Plan) withBotOpponent(bot Seat) *Plan {
	p.Seats[1], p.Rated, p.CountsForLeaderboards = bot, false, false
	return p
}

func rightAnswer(drawn *quiz.DrawnQuestion) protocol.Given {
	switch drawn.Kind {
	case quiz.Multiple:
		return protocol.Given{Choices: drawn.RightIndexes()}
	case quiz.Number:
		return protocol.Given{Value: json.RawMessage(strconv.FormatFloat(drawn.Target.Value, 'f', -1, 64))}
	case quiz.Text:
		return protocol.Given{Value: json.RawMessage(strconv.Quote(drawn.Accepted[0]))}
	}
	return protocol.Given{Choice: &drawn.RightIndexes()[0]}
}

func wrongAnswer(drawn *quiz.DrawnQuestion) protocol.Given {
	switch drawn.Kind {
	case quiz.Multiple:
		return protocol.Given{Choices: []int{1}}
	case quiz.Number:
		return protocol.Given{Value: json.RawMessage("7")}
	case quiz.Text:
		return protocol.Given{Value: json.RawMessage(`"nobody"`)}
	}
	wrong := (drawn.RightIndexes()[0] + 1) % len(drawn.Choices())
	return protocol.Given{Choice: &wrong}
}

// judgeSubmission returns an answer as the engine judges it.
func judgeSubmission(t rapid.TB, plan *Plan, state State, submission Submission) Record {
	t.Helper()
	question := *submission.Answer.Question
	normalized, err := plan.Questions[question].Normalize(submission.Answer.Given)
	if err != nil {
		t.Fatal(err)
	}
	given, err := json.Marshal(submission.Answer.Given)
	if err != nil {
		t.Fatal(err)
	}
	return judgeAnswer(plan, state, validAnswer{question: question, normal: normalized, given: given}, submission)
}

func answerTo(plan *Plan, question int, given protocol.Given) protocol.Answer {
	return protocol.Answer{Match: plan.ID, Question: &question, Given: given}
}

// newArena returns an arena with alternating kinds of questions and teams with
// the given ids.
func newArena(mode Mode, questions int, teams ...string) *Plan {
	plan := newPlan("m_1", 0, questions)
	plan.Mode, plan.Seats, plan.Rated, plan.CountsForLeaderboards = mode, nil, false, false
	plan.Arena = &Arena{ID: "a_1", Code: "123456", Name: "party", Host: host, MaxPlayers: 1000}
	for _, id := range teams {
		plan.Arena.Teams = append(plan.Arena.Teams, Team{ID: id, Name: "Team " + id})
	}
	return plan
}

const host = "p_host"

// arenaSeat returns the seat of the n-th player of an arena; the teams alternate.
func (p *Plan) arenaSeat(n int) Seat {
	s := Seat{Player: fmt.Sprintf("p_%03d", n), Nickname: fmt.Sprint("Player ", n)}
	if teams := p.Arena.Teams; len(teams) > 0 {
		s.Team = teams[n%len(teams)].ID
	}
	return s
}
