package players

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"
	"time"

	"laststand/internal/protocol"
	"laststand/loadtest/checker"
)

// asked returns a run whose player has just received a question.
func asked(t *testing.T, mode string, c Config) *matchRun {
	t.Helper()
	r := newRun(t, c)
	for i, push := range []struct {
		kind string
		data any
	}{
		{protocol.TypeMatchFound, protocol.MatchFound{Mode: mode, Questions: 1, Players: 2}},
		{protocol.TypeQuestion, protocol.Question{Of: 1, Kind: "single", Choices: []string{"a", "b"}, OpensAt: 1000, ClosesAt: 11000}},
	} {
		h := received{Frame: checker.Frame{Type: push.kind, Match: "m_1", Seq: int64(i + 1), ReceivedAt: time.Now()}}
		h.Data, _ = json.Marshal(push.data)
		h.Raw = h.Data
		r.receive(h)
	}
	return r
}

// sent lets the player send its answer, and returns the request.
func sent(t *testing.T, r *matchRun) *request {
	t.Helper()
	if r.answer == nil {
		t.Fatal("no answer is planned")
	}
	a := *r.answer
	r.sendAnswer(r.answerAt)
	if !r.isAwaitingReply(protocol.TypeAnswer) {
		t.Fatal("no answer was sent")
	}
	return &request{kind: protocol.TypeAnswer, data: a, attempts: 1}
}

// The player sends an answer again after a temporary refusal, and after its team was locked
// out. In any other mode than buzzer the lockout is a violation.
func TestAnAnswerIsSentAgain(t *testing.T) {
	t.Parallel()
	lockout := protocol.Error{Code: protocol.CodeQuestionNotOpen, RetryAfterMS: 60_000}
	for name, test := range map[string]struct {
		mode    string
		refusal protocol.Error
		again   bool
	}{
		"overloaded":           {"duel", protocol.Error{Code: protocol.CodeOverloaded, RetryAfterMS: 60_000}, true},
		"locked out":           {"buzzer", lockout, true},
		"locked out of a duel": {"duel", lockout, false},
	} {
		r := asked(t, test.mode, Config{})
		h := refusal(protocol.TypeAnswer, nil, test.refusal)
		h.request = sent(t, r)
		err := caught(func() { r.handleRefusal(h) })
		if again := r.answer != nil && time.Until(r.answerAt) > 50*time.Second; again != test.again || errors.Is(err, checker.ErrContract) == test.again {
			t.Errorf("%s: sent again: %t, %v", name, again, err)
		}
	}
}

// After an accepted answer the player sends the same answer or a different one, as its
// habits say.
func TestAnAcceptedAnswerIsFollowedByAnother(t *testing.T) {
	t.Parallel()
	for name, habits := range map[string]Habits{"neither": {}, "the same": {RepeatShare: 1}, "a second": {SecondShare: 1}} {
		r := asked(t, "duel", Config{Habits: habits})
		h := received{Frame: checker.Frame{Type: protocol.TypeAnswered, Data: json.RawMessage(`{"question":0,"at":1500,"elapsed_ms":500}`)}}
		h.request = sent(t, r)
		r.unanswered = nil // without the answered request
		r.handleAnswered(h)
		repeats, seconds := r.isAwaitingReply(protocol.TypeAnswer), r.answer != nil && r.answer.isSecond
		if repeats != (name == "the same") || seconds != (name == "a second") {
			t.Errorf("%s: the same %t, a second %t", name, repeats, seconds)
		}
	}
}

// A second answer has the same kind and a different value.
func TestASecondAnswerDiffers(t *testing.T) {
	t.Parallel()
	for _, q := range []protocol.Question{
		{Kind: "single", Choices: []string{"a", "b"}}, {Kind: "boolean", Choices: []string{"a", "b"}}, {Kind: "multiple", Choices: []string{"a", "b"}},
		{Kind: "number"}, {Kind: "text"},
	} {
		one := ArbitraryAnswer(q)
		other := OtherAnswer(q, one)
		if reflect.DeepEqual(one, other) || (one.Choice == nil) != (other.Choice == nil) || (one.Choices == nil) != (other.Choices == nil) || (one.Value == nil) != (other.Value == nil) {
			t.Errorf("%s: %+v, then %+v", q.Kind, one, other)
		}
	}
	both := protocol.Given{Choices: []int{0, 1}}
	if other := OtherAnswer(protocol.Question{Kind: "multiple", Choices: []string{"a", "b"}}, both); len(other.Choices) != 1 {
		t.Errorf("%+v", other)
	}
}
