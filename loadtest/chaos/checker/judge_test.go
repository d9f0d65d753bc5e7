package checker

import (
	"encoding/json"
	"strings"
	"testing"

	"laststand/internal/protocol"
	player "laststand/loadtest/client"
)

// played is a duel of one question: ada is right after 500 ms, bob is wrong after 700
// ms. Each test falsifies one part of it.
type played struct {
	found    protocol.MatchFound
	asked    protocol.Question
	extended int64 // the new deadline; 0: not extended
	seen     []string
	closed   protocol.QuestionClosed
	over     protocol.MatchOver
	ada, bob *share
}

const opened = 1_000_000

func newPlayed(t *testing.T) *played {
	t.Helper()
	adaMS, bobMS := int64(500), int64(700)
	return &played{
		found: protocol.MatchFound{
			Mode: "duel", Questions: 1, Players: 2, StartsAt: opened, Seats: []protocol.SeatView{{ID: "ada"}, {ID: "bob"}},
		},
		asked: protocol.Question{Of: 1, Kind: "single", Choices: []string{"no", "yes"}, OpensAt: opened, ClosesAt: opened + limitMS},
		seen:  []string{"ada", "bob"},
		closed: protocol.QuestionClosed{
			Reason: "all_answered", Answer: map[string]int{"choice": 1}, Answered: 2, Right: 1,
			Results: []protocol.QuestionResult{
				{Player: "ada", Given: json.RawMessage(`{"choice":1}`), Correct: true, ElapsedMS: &adaMS, Points: 180, Score: 180},
				{Player: "bob", Given: json.RawMessage(`{"choice":0}`), ElapsedMS: &bobMS},
			},
		},
		over: protocol.MatchOver{Reason: "finished", Winner: "ada", Standings: []protocol.OverStanding{
			{Rank: 1, Player: "ada", Score: 180, Correct: 1, Answered: 1, Asked: 1, TimeMS: 500},
			{Rank: 2, Player: "bob", Answered: 1, Asked: 1, TimeMS: limitMS},
		}},
		ada: shareOf(t, "ada", 1, adaMS),
		bob: shareOf(t, "bob", 0, bobMS),
	}
}

// shareOf returns the share of a player with one accepted answer.
func shareOf(t *testing.T, player string, choice int, elapsed int64) *share {
	t.Helper()
	s := &share{player: player, over: true, asked: protocol.Question{Of: 1}, answers: map[int]*given{}, owns: map[int]protocol.Own{}}
	question := 0
	s.sent(&protocol.Answer{Question: &question, Given: protocol.Given{Choice: &choice}})
	reply, err := json.Marshal(protocol.Answered{At: opened + elapsed, ElapsedMS: elapsed})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.accepted(0, reply); err != nil {
		t.Fatal(err)
	}
	return s
}

// untruths judges the duel and returns the violations.
func (p *played) untruths(t *testing.T) string {
	t.Helper()
	var o checker
	r := o.records.of("m_1")
	r.shares["ada"], r.shares["bob"] = p.ada, p.bob
	push := func(kind string, data any) {
		seq := int64(len(r.pushes)) + 1
		raw := protocol.EncodeNumbered("m_1", kind, data).Frame(seq)
		if err := r.see(player.Received{Frame: player.Frame{Type: kind, Match: "m_1", Seq: seq, Raw: raw}}); err != nil {
			t.Fatal(err)
		}
	}
	push(protocol.TypeMatchFound, p.found)
	push(protocol.TypeQuestion, p.asked)
	if p.extended > 0 {
		push(protocol.TypeQuestionExtended, protocol.QuestionExtended{ClosesAt: p.extended})
	}
	for _, one := range p.seen {
		push(protocol.TypeAnswerSeen, protocol.AnswerSeen{Player: one})
	}
	push(protocol.TypeQuestionClosed, p.closed)
	push(protocol.TypeMatchOver, p.over)
	o.checkMatches()
	all, _ := o.violations.all()
	return strings.Join(all, "\n")
}

// A duel that keeps the contract passes, and a single fault anywhere fails.
func TestJudge(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		do   func(p *played)
		want string
	}{
		"as it was":              {func(*played) {}, ""},
		"in time given back":     {func(p *played) { p.extended = opened + 2*limitMS }, ""},
		"a reply that was lost":  {func(p *played) { p.ada.answers[0].reply = nil }, ""},
		"points":                 {func(p *played) { p.closed.Results[0].Points = 181 }, "points 181"},
		"a score":                {func(p *played) { p.over.Standings[0].Score = 181 }, "Score:181"},
		"a time":                 {func(p *played) { p.over.Standings[1].TimeMS = 700 }, "TimeMS:700"},
		"a rank":                 {func(p *played) { p.over.Standings[1].Rank = 1 }, "Rank:1"},
		"the winner":             {func(p *played) { p.over.Winner = "bob" }, `winner is "bob"`},
		"the reason":             {func(p *played) { p.over.Reason = "abandoned" }, "ended as abandoned"},
		"the right answer":       {func(p *played) { p.closed.Answer = map[string]int{"choice": 0} }, "correct true"},
		"somebody else's answer": {func(p *played) { p.closed.Results[0].Given = json.RawMessage(`{"choice":0}`) }, `given {"choice":0}`},
		"an answer that is lost": {func(p *played) { p.closed.Results[1].ElapsedMS, p.closed.Answered = nil, 1 }, "2 answers were accepted"},
		"one too many":           {func(p *played) { p.ada.answers = map[int]*given{} }, "1 answers were accepted"},
		"a first in a duel":      {func(p *played) { p.closed.First = &protocol.First{Player: "ada"} }, "its first is"},
		"void":                   {func(p *played) { p.closed.Void = true }, "void: true"},
		"seen twice":             {func(p *played) { p.seen = []string{"ada", "ada"} }, "pushed before"},
		"too short a question":   {func(p *played) { p.asked.ClosesAt-- }, "open for"},
		"too early a question":   {func(p *played) { p.found.StartsAt += 1000 }, "was to open"},
		"late, and accepted":     {func(p *played) { p.bob.answers[0].said.At += limitMS }, "an answer got"},
		"closed, and accepted":   {func(p *played) { p.bob.answers[0].closed = true }, "was closed to an answer"},
		"a question missing":     {func(p *played) { p.found.Questions, p.asked.Of = 2, 2 }, "after 1 of 2"},
		"a player missing":       {func(p *played) { p.found.Players = 3 }, "3 were found"},
		"an end not seen":        {func(p *played) { p.bob.over = false }, "did not see its end"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlayed(t)
			test.do(p)
			if got := p.untruths(t); test.want == "" && got != "" || !strings.Contains(got, test.want) {
				t.Errorf("found %q, want %q", got, test.want)
			}
		})
	}
}

// All players must see the same pushes, in the order of their numbers.
func TestRecord(t *testing.T) {
	t.Parallel()
	r := &record{id: "m_1", shares: map[string]*share{}}
	for _, test := range []struct {
		seq  int64
		raw  string
		good bool
	}{{1, "one", true}, {1, "one", true}, {1, "other", false}, {3, "three", false}, {2, "two", true}} {
		err := r.see(player.Received{Frame: player.Frame{Match: "m_1", Seq: test.seq, Raw: []byte(test.raw)}})
		if (err == nil) != test.good {
			t.Errorf("push %d %q: %v", test.seq, test.raw, err)
		}
	}
}

// The same answer always gets the same reply.
func TestShare(t *testing.T) {
	t.Parallel()
	s := shareOf(t, "ada", 1, 500)
	same := s.answers[0].reply
	if known, err := s.accepted(0, same); err != nil || !known {
		t.Errorf("the same reply: %v, %v", known, err)
	}
	if _, err := s.accepted(0, json.RawMessage(`{"question":0,"at":1,"elapsed_ms":1}`)); err == nil {
		t.Error("another reply passes")
	}
	if err := s.refused(0, protocol.Error{Code: protocol.CodeQuestionClosed}, nil); err == nil {
		t.Error("a refusal of what was accepted passes")
	}
	state := protocol.MatchState{Question: &protocol.Question{}}
	if err := s.holds(state); err == nil {
		t.Error("a state without the answer passes")
	}
	state.YourAnswer = &protocol.AcceptedAnswer{Given: s.answers[0].raw, At: opened + 500, ElapsedMS: 500}
	if err := s.holds(state); err != nil {
		t.Error(err)
	}
}
