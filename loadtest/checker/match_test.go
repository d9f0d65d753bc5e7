package checker

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"laststand/internal/protocol"
)

const (
	opensAt = 1_000_000
	limitMS = 2500
)

// played is a match of one question: ada is right after 500 ms, bob is wrong after 700
// ms. Each test changes one part of it.
type played struct {
	checker  Checker
	found    protocol.MatchFound
	asked    protocol.Question
	extendTo int64    // the new deadline; 0: not extended
	seen     []string // players of answer.seen
	closed   protocol.QuestionClosed
	own      *protocol.Own         // a push to ada alone
	deadline *protocol.OwnDeadline // as own
	over     protocol.MatchOver
	after    string // type of a push after the end; "": none

	ada, bob       *View
	given          [2]protocol.Given // of ada and bob
	reply          [2]*protocol.Answered
	before         func(p *played, v *View, a protocol.Answer) error // before ada's reply
	then           func(p *played, v *View, a protocol.Answer) error // after ada's reply
	bobLeaves      bool                                              // before the end
	bobSees        func(frame []byte) []byte                         // changes what bob receives
	answersTooSoon bool                                              // ada's answer is accepted before the question comes

	errs error // of the views
}

func newPlayed(mode string) *played {
	yes, no, ada, bob := 1, 0, int64(500), int64(700)
	p := &played{
		checker: Checker{LimitMS: limitMS, RevealMS: 400},
		found: protocol.MatchFound{
			Mode: mode, Questions: 1, Players: 2, StartsAt: opensAt, Seats: []protocol.SeatView{{ID: "ada"}, {ID: "bob"}},
		},
		asked: protocol.Question{Of: 1, Kind: "single", Choices: []string{"no", "yes"}, OpensAt: opensAt, ClosesAt: opensAt + limitMS},
		closed: protocol.QuestionClosed{
			Reason: "all_answered", Answer: map[string]int{"choice": 1}, Answered: 2, Right: 1,
			Results: []protocol.QuestionResult{
				{Player: "ada", Given: json.RawMessage(`{"choice":1}`), Correct: true, ElapsedMS: &ada, Points: 180, Score: 180},
				{Player: "bob", Given: json.RawMessage(`{"choice":0}`), ElapsedMS: &bob},
			},
		},
		over: protocol.MatchOver{Reason: "finished", Winner: "ada", Standings: []protocol.OverStanding{
			{Rank: 1, Player: "ada", Score: 180, Correct: 1, Answered: 1, Asked: 1, TimeMS: 500},
			{Rank: 2, Player: "bob", Answered: 1, Asked: 1, TimeMS: limitMS},
		}},
		given: [2]protocol.Given{{Choice: &yes}, {Choice: &no}},
		reply: [2]*protocol.Answered{{At: opensAt + ada, ElapsedMS: ada}, {At: opensAt + bob, ElapsedMS: bob}},
	}
	switch mode {
	case "buzzer":
		p.buzzer()
	case "survival":
		p.closed.Results[1].Out = true
	}
	return p
}

// buzzer makes ada the first player of the team red.
func (p *played) buzzer() {
	yes, no := true, false
	p.found.Teams = []protocol.ArenaTeam{{ID: "red"}, {ID: "blue"}}
	p.closed.Reason, p.closed.First = "first_correct", &protocol.First{Player: "ada", Team: "red"}
	p.closed.Results[0].Points, p.closed.Results[0].Score, p.over.Standings[0].Score = 100, 100, 100
	p.reply[0].Correct, p.reply[0].First, p.reply[1].Correct, p.reply[1].First = &yes, &yes, &no, &no
	p.over.Teams, p.over.Winner = []protocol.TeamStanding{{Rank: 1, ID: "red", Score: 1}, {Rank: 2, ID: "blue"}}, "red"
}

// play passes the whole match to the checker, and returns everything that it found.
func (p *played) play(t *testing.T) string {
	t.Helper()
	p.ada, p.bob = p.checker.Player("ada"), p.checker.Player("bob")
	seq := int64(0)
	push := func(kind string, data any) {
		seq++
		raw := protocol.EncodeNumberedPush("m_1", kind, data).Frame(seq)
		p.push(t, p.ada, raw)
		if p.bobSees != nil {
			raw = p.bobSees(raw)
		}
		if !p.bobLeaves || kind != protocol.TypeMatchOver {
			p.push(t, p.bob, raw)
		}
	}
	push(protocol.TypeMatchFound, p.found)
	if p.answersTooSoon {
		p.answer(p.ada, 0)
	}
	push(protocol.TypeQuestion, p.asked)
	if p.deadline != nil {
		p.push(t, p.ada, protocol.EncodePush(protocol.TypeOwnDeadline, p.deadline))
	}
	if !p.answersTooSoon {
		p.answer(p.ada, 0)
	}
	p.answer(p.bob, 1)
	if p.extendTo > 0 {
		push(protocol.TypeQuestionExtended, protocol.QuestionExtended{ClosesAt: p.extendTo})
	}
	for _, player := range p.seen {
		push(protocol.TypeAnswerSeen, protocol.AnswerSeen{Player: player})
	}
	push(protocol.TypeQuestionClosed, p.closed)
	if p.own != nil {
		p.push(t, p.ada, protocol.EncodePush(protocol.TypeOwn, p.own))
	}
	push(protocol.TypeMatchOver, p.over)
	if p.after != "" {
		push(p.after, protocol.QuestionExtended{})
	}
	p.ada.Finish()
	if !p.bobLeaves {
		p.bob.Finish()
	}
	p.checker.JudgeRest()
	all, _ := p.checker.Violations.All()
	return strings.Join(append(all, fmt.Sprint(p.errs)), "\n")
}

func (p *played) push(t *testing.T, v *View, raw []byte) {
	t.Helper()
	if raw == nil {
		return
	}
	f := Frame{Raw: raw}
	if err := json.Unmarshal(raw, &f); err != nil {
		t.Fatal(err)
	}
	p.errs = errors.Join(p.errs, v.Push(f, opensAt))
}

// answer sends the answer of a player and passes on the reply.
func (p *played) answer(v *View, nth int) {
	question := 0
	a := protocol.Answer{Match: "m_1", Question: &question, Given: p.given[nth]}
	v.Sent(a)
	if nth == 0 && p.before != nil {
		p.errs = errors.Join(p.errs, p.before(p, v, a))
	}
	if p.reply[nth] != nil {
		p.errs = errors.Join(p.errs, p.accept(v, a, *p.reply[nth]))
	}
	if nth == 0 && p.then != nil {
		p.errs = errors.Join(p.errs, p.then(p, v, a))
	}
}

func (p *played) accept(v *View, a protocol.Answer, reply protocol.Answered) error {
	raw, _ := json.Marshal(reply)
	_, err := v.Accepted(a, raw)
	return err
}

// second returns a step in which ada sends another answer and gets a refusal.
func second(e protocol.Error) func(*played, *View, protocol.Answer) error {
	return func(p *played, v *View, a protocol.Answer) error {
		a.Given = p.given[1]
		v.Sent(a)
		return v.Refused(a, e, 1)
	}
}

// refuse returns a step in which ada's answer gets a refusal.
func refuse(code protocol.Code, attempts int) func(*played, *View, protocol.Answer) error {
	return func(_ *played, v *View, a protocol.Answer) error {
		return v.Refused(a, protocol.Error{Code: code}, attempts)
	}
}

// unanswered changes a match so that ada's answer does not count.
func unanswered(p *played) {
	p.reply[0] = nil
	p.closed.Results[0] = protocol.QuestionResult{Player: "ada"}
	p.closed.Reason, p.closed.Answered, p.closed.Right = "timeout", 1, 0
	p.over.Standings = []protocol.OverStanding{
		{Rank: 1, Player: "ada", Asked: 1, TimeMS: limitMS}, {Rank: 1, Player: "bob", Answered: 1, Asked: 1, TimeMS: limitMS},
	}
	p.over.Winner = ""
}

// A match that keeps the contract passes.
func TestAMatchWithoutBreachesPasses(t *testing.T) {
	t.Parallel()
	accepted := &protocol.AcceptedAnswer{Given: json.RawMessage(`{"choice":1}`), At: opensAt + 500, ElapsedMS: 500}
	for name, test := range map[string]struct {
		mode   string
		change func(p *played)
	}{
		"duel":     {"duel", func(*played) {}},
		"buzzer":   {"buzzer", func(*played) {}},
		"survival": {"survival", func(*played) {}},
		"a void question": {"survival", func(p *played) {
			p.given[0], p.closed.Void = p.given[1], true
			p.closed.Results[0].Given, p.closed.Results[0].Correct, p.closed.Results[0].Points, p.closed.Results[0].Score = json.RawMessage(`{"choice":0}`), false, 0, 0
			p.closed.Right, p.closed.Results[1].Out = 0, false
			p.over.Standings = []protocol.OverStanding{{Rank: 1, Player: "ada"}, {Rank: 1, Player: "bob"}}
			p.over.Winner = ""
		}},
		"both answers seen":    {"duel", func(p *played) { p.seen = []string{"ada", "bob"} }},
		"an extended question": {"duel", func(p *played) { p.extendTo = opensAt + 2*limitMS }},
		"the same answer twice": {"duel", func(p *played) {
			p.then = func(p *played, v *View, a protocol.Answer) error { return p.accept(v, a, *p.reply[0]) }
		}},
		"a refused second answer": {"duel", func(p *played) {
			p.then = second(protocol.Error{Code: protocol.CodeDuplicateAnswer, Accepted: accepted})
		}},
		"no answer":                 {"duel", func(p *played) { unanswered(p); p.before = refuse(protocol.CodeQuestionClosed, 1) }},
		"refused for now, not kept": {"duel", func(p *played) { unanswered(p); p.before = refuse(protocol.CodeUnavailable, 1) }},
		"refused for now, and kept": {"duel", func(p *played) { p.reply[0], p.before = nil, refuse(protocol.CodeUnavailable, 1) }},
		"too fast, after a first":   {"duel", func(p *played) { p.reply[0], p.before = nil, refuse(protocol.CodeRateLimited, 2) }},
		"a locked team tries again": {"buzzer", func(p *played) {
			p.before = func(_ *played, v *View, a protocol.Answer) error {
				return v.Refused(a, protocol.Error{Code: protocol.CodeQuestionNotOpen, RetryAfterMS: 9}, 1)
			}
		}},
		"a player leaves": {"duel", func(p *played) {
			p.checker.Leavers, p.bobLeaves, p.over.Reason, p.over.Winner = true, true, "forfeit", "bob"
		}},
		"a stranger": {"duel", func(p *played) {
			p.checker.Strangers, p.found.Players = true, 3
			p.over.Standings = append(p.over.Standings, protocol.OverStanding{Rank: 3, Player: "eve"})
		}},
		"an answer of just in time": {"duel", func(p *played) { p.reply[0].At, p.answersTooSoon = opensAt+500, true }},
		"an answer in the time given back": {"duel", func(p *played) {
			elapsed := int64(limitMS + 100)
			p.extendTo, p.reply[0].At, p.reply[0].ElapsedMS = opensAt+2*limitMS, opensAt+elapsed, elapsed
			p.closed.Results[0].ElapsedMS, p.closed.Results[0].Points, p.closed.Results[0].Score = &elapsed, 100, 100
			p.over.Standings[0].Score, p.over.Standings[0].TimeMS = 100, limitMS
		}},
		"extra time": {"race", func(p *played) {
			p.found.Scoring, p.asked.Points, p.found.ArenaID, p.closed.Counts = protocol.Scoring{Preset: "speed", Points: 100}, 1, "a_1", []int64{1, 1}
			p.extraTime(opensAt+2*limitMS, 100)
		}},
		"the state holds the answer": {"duel", func(p *played) { p.then = state(accepted) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlayed(test.mode)
			test.change(p)
			if got := p.play(t); got != "<nil>" {
				t.Error(got)
			}
		})
	}
}

// extraTime gives ada extra time in percent, and tells her that the question closes at
// closesAt. She needs the same share of her limit.
func (p *played) extraTime(closesAt, percent int64) {
	p.deadline = &protocol.OwnDeadline{Match: "m_1", ClosesAt: closesAt, Extra: percent}
	p.reply[0].At = opensAt + 500*(100+percent)/100
}

// state returns a step in which ada's client receives a match.state with her answer.
func state(held *protocol.AcceptedAnswer) func(*played, *View, protocol.Answer) error {
	return func(_ *played, v *View, _ protocol.Answer) error {
		raw, _ := json.Marshal(protocol.MatchState{Question: &protocol.Question{}, YourAnswer: held})
		return v.Push(Frame{Type: protocol.TypeMatchState, Data: raw}, 0)
	}
}

// A state may tell of an extension before its push comes. An own deadline alone may not, nor one
// that does not fit the state.
func TestOwnDeadlineFitsItsState(t *testing.T) {
	t.Parallel()
	const extended = opensAt + 2*limitMS
	for name, test := range map[string]struct {
		stated *protocol.Question
		own    int64
		isOK   bool
	}{
		"state":       {&protocol.Question{ClosesAt: extended}, extended + limitMS, true},
		"alone":       {nil, extended + limitMS, false},
		"after state": {&protocol.Question{ClosesAt: extended}, extended + limitMS + 1, false},
	} {
		p := newPlayed("race")
		v := p.checker.Player("ada")
		for i, data := range []any{p.found, p.asked} {
			raw := protocol.EncodeNumberedPush("m_1", []string{protocol.TypeMatchFound, protocol.TypeQuestion}[i], data).Frame(int64(i + 1))
			p.push(t, v, raw)
		}
		own := protocol.OwnDeadline{Match: "m_1", ClosesAt: test.own, Extra: 100}
		kind, data := protocol.TypeOwnDeadline, any(own)
		if test.stated != nil {
			kind, data = protocol.TypeMatchState, protocol.MatchState{Question: test.stated, OwnDeadline: &own}
		}
		raw, _ := json.Marshal(data)
		if err := v.Push(Frame{Type: kind, Data: raw}, 0); (err == nil) != test.isOK {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Each breach is found by its own rule.
func TestEachBreachIsFound(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	for want, test := range map[string]struct {
		mode   string
		change func(p *played)
	}{
		"is told {Match:m_1 Question:0 ClosesAt:9":  {"survival", func(p *played) { p.extraTime(9, 100) }},
		"with 0% extra time":                        {"survival", func(p *played) { p.extraTime(opensAt+2*limitMS, 70) }},
		"an answer got {\"question\":0,\"at\":1001": {"survival", func(p *played) { p.reply[0].At = opensAt + 1000 }},
		"points:181":                            {"duel", func(p *played) { p.closed.Results[0].Points = 181 }},
		"score:380":                             {"duel", func(p *played) { p.closed.Results[0].Score = 380 }},
		"points:180":                            {"buzzer", func(p *played) { p.closed.Results[0].Points = 180 }},
		"Score:181":                             {"duel", func(p *played) { p.over.Standings[0].Score = 181 }},
		"TimeMS:700":                            {"duel", func(p *played) { p.over.Standings[1].TimeMS = 700 }},
		"Rank:1 Player:bob":                     {"duel", func(p *played) { p.over.Standings[1].Rank = 1 }},
		"names 1 players, not 2":                {"duel", func(p *played) { p.over.Standings = p.over.Standings[:1] }},
		`winner is "bob"`:                       {"duel", func(p *played) { p.over.Winner = "bob" }},
		`winner is "blue"`:                      {"buzzer", func(p *played) { p.over.Winner = "blue" }},
		"{Rank:1 ID:red Score:2}":               {"buzzer", func(p *played) { p.over.Teams[0].Score = 2 }},
		"ends with the teams":                   {"buzzer", func(p *played) { p.over.Teams = p.over.Teams[:1] }},
		"ended as abandoned":                    {"duel", func(p *played) { p.over.Reason = "abandoned" }},
		"ended as forfeit, and its end says":    {"duel", func(p *played) { p.checker.Leavers, p.over.Reason, p.over.Standings[0].Score = true, "forfeit", 7 }},
		"correct:true elapsedMS:500 points:180": {"duel", func(p *played) { p.closed.Answer = map[string]int{"choice": 0} }},
		`given:{"choice":0} correct:true elapsedMS:500`:              {"duel", func(p *played) { p.closed.Results[0].Given = json.RawMessage(`{"choice":0}`) }},
		"its close says 2 and 2":                                     {"duel", func(p *played) { p.closed.Right = 2 }},
		`an answer got {"question":0,"at":1000500,"elapsed_ms":400}`: {"duel", func(p *played) { p.reply[0].ElapsedMS = 400 }},
		"and it is {given:null correct:false elapsedMS:-1":           {"duel", func(p *played) { p.reply[0], p.before = nil, refuse(protocol.CodeRateLimited, 1) }},
		"2 answers were accepted and 1 right":                        {"duel", func(p *played) { p.closed.Answered = 1 }},
		"says ada: {given:null correct:true elapsedMS:-1": {"duel", func(p *played) {
			p.closed.Results[0].Given, p.closed.Results[0].ElapsedMS = json.RawMessage("null"), nil
		}},
		"says ada: {given:null correct:false elapsedMS:-1 points:0 score:0 isOut:false}, and it is {given:{\"choice\":1}": {"duel", func(p *played) { p.own = &protocol.Own{Match: "m_1"} }},
		"is told":                                      {"duel", func(p *played) { p.own = &protocol.Own{Match: "m_1", Question: 7} }},
		"names 1 of 2 players":                         {"duel", func(p *played) { p.closed.Results = p.closed.Results[:1] }},
		"1 answers were accepted and 0 right":          {"duel", func(p *played) { p.reply[0] = nil }},
		"when 1 of 2 had answered":                     {"duel", func(p *played) { unanswered(p); p.closed.Reason = "all_answered" }},
		"its first is &{Player:ada":                    {"duel", func(p *played) { p.closed.First = &protocol.First{Player: "ada"} }},
		"closed by timeout, and its first":             {"buzzer", func(p *played) { p.closed.Reason = "timeout" }},
		"bob was right: false, and is the fir":         {"buzzer", func(p *played) { p.closed.First.Player = "bob" }},
		"ada was right: true, is the first: t":         {"buzzer", func(p *played) { p.reply[0].First = &no }},
		"bob was right: false, is the first: ":         {"buzzer", func(p *played) { p.reply[1].Correct = &yes }},
		"survives: true, void: true":                   {"survival", func(p *played) { p.closed.Void = true }},
		"isOut:false}, and":                            {"survival", func(p *played) { p.closed.Results[1].Out = false }},
		"pushed before":                                {"duel", func(p *played) { p.seen = []string{"ada", "ada"} }},
		"the limit is 2500":                            {"duel", func(p *played) { p.asked.ClosesAt-- }},
		"had to open at 1001000":                       {"duel", func(p *played) { p.found.StartsAt += 1000 }},
		"and came at 1000000":                          {"duel", func(p *played) { p.asked.OpensAt, p.asked.ClosesAt = opensAt+200, opensAt+200+limitMS }},
		"question 0 of 1 is due":                       {"duel", func(p *played) { p.found.Questions, p.asked.Question = 1, 1 }},
		"after 1 of 2 questions":                       {"duel", func(p *played) { p.found.Questions, p.asked.Of = 2, 2 }},
		"3 were found":                                 {"duel", func(p *played) { p.found.Players = 3 }},
		"bob did not see its end":                      {"duel", func(p *played) { p.bobLeaves = true }},
		"push 5 of m_1 came after push 4":              {"duel", func(p *played) { p.after = protocol.TypeQuestionExtended }},
		"question 0 is open":                           {"duel", func(p *played) { p.closed.Question = 7 }},
		"an answer got {\"question\":0,\"at\":1020000": {"duel", func(p *played) { p.reply[0].At, p.reply[0].ElapsedMS = opensAt+20_000, 20_000 }},
		"an answer before that got":                    {"duel", func(p *played) { p.reply[0].At, p.reply[0].ElapsedMS, p.answersTooSoon = opensAt-10, 0, true }},
		"was closed to an answer that got":             {"duel", func(p *played) { p.before = refuse(protocol.CodeQuestionClosed, 1) }},
		"an answer that was accepted":                  {"duel", func(p *played) { p.then = refuse(protocol.CodeQuestionClosed, 1) }},
		"an answer got question_not_open":              {"duel", func(p *played) { p.before = refuse(protocol.CodeQuestionNotOpen, 1) }},
		"the only answer is refused":                   {"duel", func(p *played) { p.then = refuse(protocol.CodeDuplicateAnswer, 1) }},
		"a second one is refused for": {"duel", func(p *played) {
			p.then = second(protocol.Error{Code: protocol.CodeDuplicateAnswer, Accepted: &protocol.AcceptedAnswer{At: 2}})
		}},
		"a second answer {\"choice\":0} was accepted": {"duel", func(p *played) {
			p.then = func(p *played, v *View, a protocol.Answer) error {
				a.Given = p.given[1]
				v.Sent(a)
				return p.accept(v, a, *p.reply[0])
			}
		}},
		"the same answer got": {"duel", func(p *played) {
			p.then = func(p *played, v *View, a protocol.Answer) error { return p.accept(v, a, protocol.Answered{At: 1}) }
		}},
		"accepted an answer to question 0 of m_1 that the player did not send": {"duel", func(p *played) {
			p.then = func(p *played, v *View, a protocol.Answer) error {
				a.Given = p.given[1]
				return p.accept(v, a, *p.reply[0])
			}
		}},
		"refused an answer to question 0 of m_1 that the player did not send": {"duel", func(p *played) {
			p.then = func(p *played, v *View, a protocol.Answer) error {
				a.Given = p.given[1]
				return v.Refused(a, protocol.Error{Code: protocol.CodeDuplicateAnswer}, 1)
			}
		}},
		"the answer to question 0 of m_1 got": {"duel", func(p *played) { p.reply[0].Question = 3 }},
		`sent something else than {"choice":0}`: {"duel", func(p *played) {
			p.reply[0], p.before = nil, refuse(protocol.CodeUnavailable, 1)
			p.closed.Results[0].Given = json.RawMessage(`{"choice":0}`)
		}},
		"and the state has": {"duel", func(p *played) { p.then = state(nil) }},
		"was not answered, and the state": {"duel", func(p *played) {
			p.ada = p.checker.Player("ada")
			p.reply[0], p.answersTooSoon = nil, false
			p.before = func(_ *played, v *View, _ protocol.Answer) error {
				v.part.answers = map[int]*answer{}
				return state(&protocol.AcceptedAnswer{})(nil, v, protocol.Answer{})
			}
		}},
		"differs from what another client": {"duel", func(p *played) {
			p.bobSees = func(f []byte) []byte { return []byte(strings.Replace(string(f), `"answered":2`, `"answered":3`, 1)) }
		}},
		"push 3 of m_1 came after push 1": {"duel", func(p *played) {
			p.bobSees = func(f []byte) []byte {
				if strings.Contains(string(f), `"seq":2,`) {
					return nil
				}
				return f
			}
		}},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			p := newPlayed(test.mode)
			test.change(p)
			if got := p.play(t); !strings.Contains(got, want) {
				t.Errorf("found %q", got)
			}
		})
	}
}

// numbered passes pushes with the next numbers to views.
func numbered(t *testing.T, seq *int64, kind string, data any, views ...*View) {
	t.Helper()
	*seq++
	raw := protocol.EncodeNumberedPush("m_1", kind, data).Frame(*seq)
	for _, v := range views {
		f := Frame{Raw: raw}
		if err := json.Unmarshal(raw, &f); err != nil {
			t.Fatal(err)
		}
		if err := v.Push(f, 0); err != nil {
			t.Error(err)
		}
	}
}

// A player who is out of a survival match gets no answer accepted.
func TestAnAnswerAfterTheEliminationIsABreach(t *testing.T) {
	t.Parallel()
	c, seq, wrong := new(Checker), int64(0), 0
	ada := c.Player("ada")
	numbered(t, &seq, protocol.TypeMatchFound, protocol.MatchFound{Mode: "survival", Questions: 2, Players: 2, Seats: []protocol.SeatView{{ID: "ada"}, {ID: "bob"}}}, ada)
	for question := range 2 {
		numbered(t, &seq, protocol.TypeQuestion, protocol.Question{Question: question, Of: 2, OpensAt: opensAt, ClosesAt: opensAt + limitMS}, ada)
		a := protocol.Answer{Match: "m_1", Question: &question, Given: protocol.Given{Choice: &wrong}}
		ada.Sent(a)
		raw, _ := json.Marshal(protocol.Answered{Question: question, At: opensAt})
		if _, err := ada.Accepted(a, raw); err != nil {
			t.Error(err)
		}
		numbered(t, &seq, protocol.TypeQuestionClosed, protocol.QuestionClosed{Question: question, Answer: map[string]int{"choice": 1}}, ada)
	}
	numbered(t, &seq, protocol.TypeMatchOver, protocol.MatchOver{Reason: "finished"}, ada)
	ada.Finish()
	c.JudgeRest()
	if all, _ := c.Violations.All(); !strings.Contains(strings.Join(all, "\n"), "question 1: an answer of ada was accepted, who was out") {
		t.Errorf("%q", all)
	}
}

// A match that stops, that ends while a question is open, or in which an answer to no
// question was accepted, breaks the contract. Players who may leave excuse the first.
func TestAMatchMustReachItsEnd(t *testing.T) {
	t.Parallel()
	for want, test := range map[string]struct{ isOpen, isOver, answersNext, leavers bool }{
		"":                                {false, true, false, false},
		"it was never over":               {isOver: false},
		"it ended while question 0":       {isOpen: true, isOver: true},
		"question 1 was never asked":      {isOver: true, answersNext: true},
		"nothing, because players may le": {leavers: true},
	} {
		c, seq, zero, next := &Checker{Leavers: test.leavers}, int64(0), 0, 1
		ada := c.Player("ada")
		host := c.Player("")
		numbered(t, &seq, protocol.TypeMatchFound, protocol.MatchFound{Mode: "duel", Questions: 1, Players: 1, Seats: []protocol.SeatView{{ID: "ada"}}}, ada, host)
		numbered(t, &seq, protocol.TypeQuestion, protocol.Question{Of: 1, OpensAt: opensAt, ClosesAt: opensAt + limitMS}, ada, host)
		if test.answersNext {
			a := protocol.Answer{Match: "m_1", Question: &next, Given: protocol.Given{Choice: &zero}}
			ada.Sent(a)
			if _, err := ada.Accepted(a, json.RawMessage(`{"question":1,"at":1000}`)); err != nil {
				t.Error(err)
			}
		}
		if !test.isOpen {
			numbered(t, &seq, protocol.TypeQuestionClosed, protocol.QuestionClosed{Reason: "timeout", Results: []protocol.QuestionResult{{Player: "ada"}}}, ada, host)
		}
		if test.isOver {
			over := protocol.MatchOver{Reason: "finished", Winner: "ada", Standings: []protocol.OverStanding{{Rank: 1, Player: "ada", Asked: 1, TimeMS: limitMS}}}
			numbered(t, &seq, protocol.TypeMatchOver, over, ada, host)
		}
		ada.Finish()
		c.JudgeRest()
		all, _ := c.Violations.All()
		if got := strings.Join(all, "\n"); !strings.Contains(got, want) && !test.leavers || (got == "") != (want == "" || test.leavers) {
			t.Errorf("%q: found %q", want, got)
		}
		if s := c.Summary(); want == "" && (s.Matches["duel"] != 1 || s.Pushes != 4 || s.Unsure != 0) {
			t.Errorf("%+v", s)
		}
	}
}

// A question must not open before the pause after the one before it is over. That question
// was due to close with its last answer, or some time after its deadline.
func TestAQuestionOpensAfterThePause(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reason string
		openMS int64 // from the opening of the first question to that of the second
		early  bool
	}{
		{"all_answered", 700 + 400 - maxClockSkewMS, false}, {"all_answered", 700 + 400 - maxClockSkewMS - 1, true},
		{"timeout", limitMS + answerGraceMS + 400 - maxClockSkewMS, false}, {"timeout", limitMS + answerGraceMS + 400 - maxClockSkewMS - 1, true},
	} {
		c, seq := &Checker{RevealMS: 400}, int64(0)
		host := c.Player("")
		numbered(t, &seq, protocol.TypeMatchFound, protocol.MatchFound{Mode: "duel", Questions: 2, Players: 1, StartsAt: opensAt, Seats: []protocol.SeatView{{ID: "ada"}}}, host)
		for question, at := range []int64{opensAt, opensAt + test.openMS} {
			elapsed := int64(700)
			numbered(t, &seq, protocol.TypeQuestion, protocol.Question{Question: question, Of: 2, OpensAt: at, ClosesAt: at + limitMS}, host)
			numbered(t, &seq, protocol.TypeQuestionClosed, protocol.QuestionClosed{
				Question: question, Reason: test.reason, Answered: 1, Results: []protocol.QuestionResult{{Player: "ada", Given: json.RawMessage(`{"choice":1}`), ElapsedMS: &elapsed}},
			}, host)
		}
		over := protocol.MatchOver{Reason: "finished", Winner: "ada", Standings: []protocol.OverStanding{{Rank: 1, Player: "ada", Answered: 2, Asked: 2, TimeMS: 2 * limitMS}}}
		numbered(t, &seq, protocol.TypeMatchOver, over, host)
		c.JudgeRest()
		all, _ := c.Violations.All()
		if got := strings.Join(all, "\n"); strings.Contains(got, "question 1: it had to open") != test.early || (got == "") == test.early {
			t.Errorf("%+v: %s", test, got)
		}
	}
}

// A survival match ranks by the last question that a player survived, any other by score.
// Less time breaks a tie, and equals share a rank.
func TestRanks(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string][4]int{"survival": {3, 1, 1, 4}, "duel": {1, 3, 3, 2}} {
		all := map[string]*totals{
			"ada": {Sums: Sums{Score: 300, TimeMS: 5}, lastRight: 1}, "bob": {Sums: Sums{Score: 100, TimeMS: 9}, lastRight: 2},
			"cyd": {Sums: Sums{Score: 100, TimeMS: 9}, lastRight: 2}, "dan": {Sums: Sums{Score: 300, TimeMS: 7}, lastRight: 1},
		}
		rank(mode, all)
		if got := [4]int{all["ada"].rank, all["bob"].rank, all["cyd"].rank, all["dan"].rank}; got != want {
			t.Errorf("%s: %v, want %v", mode, got, want)
		}
	}
}

// The clock of a node may lag: a stamp shortly before the opening counts as no time. An
// earlier stamp counts as the limit.
func TestElapsedTime(t *testing.T) {
	t.Parallel()
	q := protocol.Question{OpensAt: opensAt, ClosesAt: opensAt + limitMS}
	for at, want := range map[int64]int64{opensAt + 700: 700, opensAt - 50: 0, opensAt - 51: limitMS} {
		if got := (&round{asked: q}).elapsedMS(at, 0); got != want {
			t.Errorf("a stamp at %d: %d, want %d", at, got, want)
		}
	}
}
