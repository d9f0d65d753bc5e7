package rules

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"laststand/internal/protocol"
	player "laststand/loadtest/client"
)

const (
	opened = 1_000_000
	limit  = 10_000
)

// lesson is a match of one question as ada receives it. She is right after a second, and
// bob is wrong. A test introduces one violation.
type lesson struct {
	mode   string
	given  protocol.Given
	reply  *protocol.Answered
	second func(*Match, protocol.Answer) error // sent after the reply
	closed protocol.QuestionClosed
	own    *protocol.Own
	over   protocol.MatchOver
	after  string // an additional push
}

func rightAfterASecond() *lesson {
	one, elapsed := 1, int64(1000)
	return &lesson{
		mode: "duel", given: protocol.Given{Choice: &one},
		reply: &protocol.Answered{At: opened + elapsed, ElapsedMS: elapsed},
		closed: protocol.QuestionClosed{
			Reason: "all_answered", Answer: map[string]int{"choice": 1}, Answered: 2, Right: 1,
			Results: []protocol.QuestionResult{
				{Player: "ada", Given: json.RawMessage(`{"choice":1}`), Correct: true, ElapsedMS: &elapsed, Points: 190, Score: 190},
				{Player: "bob"},
			},
		},
		over: protocol.MatchOver{Reason: "finished", Standings: []protocol.OverStanding{
			{Rank: 1, Player: "ada", Score: 190, Correct: 1, Answered: 1, Asked: 1, TimeMS: 1000},
		}},
	}
}

// hear passes all messages to ada's match.
func (d *lesson) hear(t *testing.T) (Sums, error) {
	t.Helper()
	m := NewMatch("m_1", "ada", []byte("found"), protocol.MatchFound{Mode: d.mode, Questions: 1, Players: 2})
	var errs error
	push := func(kind string, data any) {
		raw, err := json.Marshal(data)
		if err != nil {
			t.Fatal(err)
		}
		errs = errors.Join(errs, m.Push(kind, raw, raw))
	}
	push(protocol.TypeQuestion, protocol.Question{Kind: "single", Choices: []string{"no", "yes"}, OpensAt: opened, ClosesAt: opened + limit})
	question := 0
	a := protocol.Answer{Match: "m_1", Question: &question, Given: d.given}
	m.RecordAnswer(a)
	if d.reply != nil {
		errs = errors.Join(errs, m.RecordReply(a, *d.reply, false))
	}
	if d.second != nil {
		errs = errors.Join(errs, d.second(m, a))
	}
	push(protocol.TypeQuestionClosed, d.closed)
	if d.own != nil {
		errs = errors.Join(errs, m.RecordOwn(*d.own))
	}
	push(protocol.TypeMatchOver, d.over)
	if d.after != "" {
		push(d.after, protocol.QuestionExtended{})
	}
	sums, err := m.Finish()
	return sums, errors.Join(errs, err)
}

// A correct match passes all checks, and its sums are right.
func TestTrue(t *testing.T) {
	t.Parallel()
	sums, err := rightAfterASecond().hear(t)
	if want := (Sums{Score: 190, TimeMS: 1000, Matches: 1, Asked: 1, Answered: 1, Correct: 1}); err != nil || sums != want {
		t.Errorf("%+v, %v", sums, err)
	}
	wrong := rightAfterASecond()
	none := 0
	wrong.given.Choice = &none
	wrong.closed.Results = nil
	wrong.over.Standings = nil
	sums, err = wrong.hear(t)
	if want := (Sums{TimeMS: limit, Matches: 1, Asked: 1, Answered: 1}); err != nil || sums != want {
		t.Errorf("%+v, %v", sums, err)
	}
	void := rightAfterASecond()
	void.mode, void.given.Choice, void.closed.Void = "survival", &none, true
	void.closed.Results, void.over.Standings = nil, nil
	sums, err = void.hear(t)
	if want := (Sums{Matches: 1}); err != nil || sums != want {
		t.Errorf("%+v, %v", sums, err)
	}
}

// Each violation is found by its own check.
func TestUntrue(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	first := func(d *lesson, by string, shown bool) {
		d.mode, d.closed.Reason = "buzzer", "first_correct"
		d.closed.First = &protocol.First{Player: by}
		d.reply.Correct, d.reply.First = &yes, &shown
		d.closed.Results, d.over.Standings = nil, nil
	}
	refuse := func(e protocol.Error) func(*Match, protocol.Answer) error {
		return func(m *Match, a protocol.Answer) error { return m.RecordRefusal(a, e, true) }
	}
	for want, lie := range map[string]func(*lesson){
		"a second answer": func(d *lesson) {
			d.second = func(m *Match, a protocol.Answer) error { return m.RecordReply(a, *d.reply, true) }
		},
		"a second one is refused for": func(d *lesson) {
			d.second = refuse(protocol.Error{Code: protocol.CodeDuplicateAnswer, Accepted: &protocol.AcceptedAnswer{At: opened + 2}})
		},
		"an answer got question_not_open": func(d *lesson) { d.second = refuse(protocol.Error{Code: protocol.CodeQuestionNotOpen}) },
		"the same answer got": func(d *lesson) {
			d.second = func(m *Match, a protocol.Answer) error {
				return m.RecordReply(a, protocol.Answered{At: opened + 5, ElapsedMS: 5}, false)
			}
		},
		"an accepted answer got question_closed": func(d *lesson) {
			d.second = func(m *Match, a protocol.Answer) error {
				return m.RecordRefusal(a, protocol.Error{Code: protocol.CodeQuestionClosed}, false)
			}
		},
		"an answer got {Question:0 At:1020000": func(d *lesson) { d.reply.At, d.reply.ElapsedMS = opened+20_000, 20_000 },
		"points 200":                           func(d *lesson) { d.closed.Results[0].Points = 200 },
		"score 380":                            func(d *lesson) { d.closed.Results[0].Score = 380 },
		"given {\"choice\":0}":                 func(d *lesson) { d.closed.Results[0].Given = json.RawMessage(`{"choice":0}`) },
		"told given null in none":              func(d *lesson) { d.closed.Results[0].Given, d.closed.Results[0].ElapsedMS = nil, nil },
		"its player was told given  in none":   func(d *lesson) { d.own = &protocol.Own{Match: "m_1"} },
		"its end says":                         func(d *lesson) { d.over.Standings[0].Score = 200 },
		"it was abandoned":                     func(d *lesson) { d.over.Reason = "abandoned" },
		"after its end came":                   func(d *lesson) { d.after = protocol.TypeQuestionExtended },
		"told to be first: true":               func(d *lesson) { first(d, "bob", true) },
		"told to be first: false":              func(d *lesson) { first(d, "ada", false) },
		"closed by timeout, and its first is &{Player:ada": func(d *lesson) {
			first(d, "ada", true)
			d.closed.Reason = "timeout"
		},
		"this player was right: true": func(d *lesson) {
			first(d, "bob", false)
			d.reply.Correct = &no
		},
		"question 7 closed, which is not open": func(d *lesson) { d.closed.Question = 7 },
	} {
		d := rightAfterASecond()
		lie(d)
		if _, err := d.hear(t); !errors.Is(err, player.ErrContract) || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%q was to be found, and it was %v", want, err)
		}
	}
}

// A player who is out of a survival match gets no answer accepted.
func TestOut(t *testing.T) {
	t.Parallel()
	m := NewMatch("m_1", "ada", nil, protocol.MatchFound{Mode: "survival", Questions: 2, Players: 2})
	for n := range 2 {
		question, wrong := n, 0
		raw, _ := json.Marshal(protocol.Question{Question: n, OpensAt: opened, ClosesAt: opened + limit})
		closed, _ := json.Marshal(protocol.QuestionClosed{Question: n, Answer: map[string]int{"choice": 1}})
		a := protocol.Answer{Question: &question, Given: protocol.Given{Choice: &wrong}}
		err := m.Push(protocol.TypeQuestion, raw, raw)
		m.RecordAnswer(a)
		if err := errors.Join(err, m.RecordReply(a, protocol.Answered{Question: n, At: opened}, false), m.Push(protocol.TypeQuestionClosed, closed, closed)); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Push(protocol.TypeMatchOver, json.RawMessage(`{"reason":"finished"}`), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Finish(); !errors.Is(err, player.ErrContract) || !strings.Contains(err.Error(), "who was out") {
		t.Errorf("%v", err)
	}
}

// An answer that the server refused for now may count. The result of the question shows
// whether it does, unless the server later refused the repeated answer for good. The result
// must still belong to that answer.
func TestUnsureAnswer(t *testing.T) {
	t.Parallel()
	unsure := func(m *Match, a protocol.Answer) error { m.MarkUnsure(a); return nil }
	late := func(m *Match, a protocol.Answer) error {
		m.MarkUnsure(a)
		return m.RecordRefusal(a, protocol.Error{Code: protocol.CodeQuestionClosed}, false)
	}
	other := 0
	for name, test := range map[string]struct {
		after   func(*Match, protocol.Answer) error
		counts  bool
		given   *int
		untrue  bool
		correct int
	}{
		"it counts":                     {unsure, true, nil, false, 1},
		"it does not":                   {unsure, false, nil, false, 0},
		"it counts, and was too late":   {late, true, nil, true, 0},
		"another one than was sent":     {unsure, true, &other, true, 0},
		"it counts, and nobody refused": {nil, true, nil, true, 0},
	} {
		d := rightAfterASecond()
		d.reply, d.second = nil, test.after
		if test.given != nil {
			d.given = protocol.Given{Choice: test.given}
		}
		if !test.counts {
			d.closed.Results[0] = protocol.QuestionResult{Player: "ada"}
			d.over.Standings[0] = protocol.OverStanding{Rank: 1, Player: "ada", Asked: 1, TimeMS: limit}
		}
		sums, err := d.hear(t)
		if (err != nil) != test.untrue || err == nil && sums.Correct != test.correct {
			t.Errorf("%s: %v; %+v", name, err, sums)
		}
	}
}
