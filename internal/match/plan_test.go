package match

import (
	"encoding/json"
	"fmt"
	"strconv"

	"pgregory.net/rapid"

	"laststand/internal/protocol"
	"laststand/internal/quiz"
	"laststand/internal/rating"
)

const (
	ada = "p_ada"
	bob = "p_bob"
)

// samples contains one question of each kind.
var samples = []quiz.Drawn{
	{Question: &quiz.Question{Kind: quiz.Single, Text: "Which?", Choices: []string{"a", "b", "c", "d"}, Right: []int{2}}},
	{Question: &quiz.Question{Kind: quiz.Multiple, Text: "Which ones?", Choices: []string{"a", "b", "c"}, Right: []int{0, 2}}},
	{Question: &quiz.Question{Kind: quiz.Boolean, Text: "Is it?", Choices: []string{"yes", "no"}, Right: []int{1}}},
	{Question: &quiz.Question{Kind: quiz.Number, Text: "How many?", Target: &quiz.Target{Value: 424242, Tolerance: 1}}},
	{Question: &quiz.Question{Kind: quiz.Text, Text: "Who?", Accepted: []string{"Lovelace", "Augusta"}}},
}

// newPlan returns a rated duel of ada and bob with alternating kinds of
// questions.
func newPlan(id string, startsAt int64, questions int) *Plan {
	p := &Plan{
		Form: Form, ID: id, Game: "demo", Mode: Duel, StartsAt: startsAt,
		LimitMS: 10_000, CountdownMS: 3000, RevealMS: 2500, Rated: true, Counts: true,
		Seats: []Seat{
			{Player: ada, Nickname: "Ada", Rating: &rating.Rating{R: 1500, RD: 200, Sigma: 0.06}},
			{Player: bob, Nickname: "Bob", Rating: &rating.Rating{R: 1700, RD: 80, Sigma: 0.06}},
		},
	}
	for i := range questions {
		q := *samples[i%len(samples)].Question
		q.ID, q.Lang, q.Category, q.Difficulty = "q_"+strconv.Itoa(i), "en", "science", quiz.Easy
		q.Explanation = "explained"
		p.Questions = append(p.Questions, quiz.Drawn{Question: &q})
	}
	return p
}

// against replaces bob by a bot.
func (p *Plan) against(bot Seat) *Plan {
	p.Seats[1], p.Rated, p.Counts = bot, false, false
	return p
}

func rightAnswer(q *quiz.Drawn) protocol.Given {
	switch q.Kind {
	case quiz.Multiple:
		return protocol.Given{Choices: q.Right()}
	case quiz.Number:
		return protocol.Given{Value: json.RawMessage(strconv.FormatFloat(q.Target.Value, 'f', -1, 64))}
	case quiz.Text:
		return protocol.Given{Value: json.RawMessage(strconv.Quote(q.Accepted[0]))}
	}
	return protocol.Given{Choice: &q.Right()[0]}
}

func wrongAnswer(q *quiz.Drawn) protocol.Given {
	switch q.Kind {
	case quiz.Multiple:
		return protocol.Given{Choices: []int{1}}
	case quiz.Number:
		return protocol.Given{Value: json.RawMessage("7")}
	case quiz.Text:
		return protocol.Given{Value: json.RawMessage(`"nobody"`)}
	}
	wrong := (q.Right()[0] + 1) % len(q.Choices())
	return protocol.Given{Choice: &wrong}
}

// judgedBy returns an answer as the engine judges it.
func judgedBy(t rapid.TB, p *Plan, s State, sub Submission) Record {
	t.Helper()
	question := *sub.Answer.Question
	normal, err := p.Questions[question].Normalize(givenValue(sub.Answer))
	if err != nil {
		t.Fatal(err)
	}
	given, err := json.Marshal(sub.Answer.Given)
	if err != nil {
		t.Fatal(err)
	}
	return judge(p, s, validAnswer{question: question, normal: normal, given: given}, sub)
}

func answerTo(p *Plan, question int, given protocol.Given) protocol.Answer {
	return protocol.Answer{Match: p.ID, Question: &question, Given: given}
}

// newArena returns an arena with alternating kinds of questions and teams with
// the given ids.
func newArena(mode Mode, questions int, teams ...string) *Plan {
	p := newPlan("m_1", 0, questions)
	p.Mode, p.Seats, p.Rated, p.Counts = mode, nil, false, false
	p.Arena = &Arena{ID: "a_1", Code: "123456", Name: "party", Host: host, MaxPlayers: 1000}
	for _, id := range teams {
		p.Arena.Teams = append(p.Arena.Teams, Team{ID: id, Name: "Team " + id})
	}
	return p
}

const host = "p_host"

// seatOf returns the seat of the n-th player of an arena; the teams alternate.
func (p *Plan) seatOf(n int) Seat {
	s := Seat{Player: fmt.Sprintf("p_%03d", n), Nickname: fmt.Sprint("Player ", n)}
	if teams := p.Arena.Teams; len(teams) > 0 {
		s.Team = teams[n%len(teams)].ID
	}
	return s
}
