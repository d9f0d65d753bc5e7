package players

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"time"

	"laststand/internal/protocol"
	"laststand/internal/testenv"
	"laststand/loadtest/checker"
)

type attempt struct {
	protocol.Answer
	isSecond bool // it differs from the accepted answer
	isBlind  bool // the player has not received the question
	sentAt   time.Time
}

// planAnswer chooses an answer to the newest question, and the time to send it.
func (r *matchRun) planAnswer(h received) {
	q, _ := r.view.Question()
	if late := h.ReceivedAt.UnixMilli() - q.OpensAt; h.ReceivedAt.UnixMilli() <= q.ClosesAt {
		r.group.Stats.Add(Question, time.Duration(late)*time.Millisecond)
	}
	habits := r.group.Habits
	if habits.Cheats {
		r.cheat(q)
		return
	}
	if r.chance(habits.MoveShare) { // a network fails now and then
		r.dropConnection()
	}
	if r.view.IsOut() && !r.chance(habits.OutShare) || r.chance(habits.SkipShare) {
		return
	}
	r.answer = &attempt{Answer: protocol.Answer{Match: h.Match, Question: &q.Question, Given: r.group.solutions.answer(r.dice, q)}}
	wait := time.Nanosecond
	if habits.Think > 0 {
		wait = time.Duration(r.dice.Int64N(int64(habits.Think)))
	}
	if q.ReadsUntil != nil { // the clocks of two nodes may differ by 50 ms
		wait += time.Duration(*q.ReadsUntil-q.OpensAt+50) * time.Millisecond
	}
	if r.chance(habits.LastMomentShare) { // shortly before the deadline, or shortly after
		wait = time.Duration(q.ClosesAt-q.OpensAt-50+r.dice.Int64N(100)) * time.Millisecond
	}
	r.answerAt = h.ReceivedAt.Add(wait)
}

// useExtraTime moves some answers of a player with extra time to its own deadline.
func (r *matchRun) useExtraTime(h received) {
	own := decode[protocol.OwnDeadline](h)
	q, closed := r.view.Question()
	if r.answer != nil && closed == nil && *r.answer.Question == own.Question && r.chance(r.group.Habits.LastMomentShare) {
		r.answerAt = h.ReceivedAt.Add(time.Duration(own.ClosesAt-q.OpensAt-50+r.dice.Int64N(100)) * time.Millisecond)
	}
}

func (r *matchRun) sendAnswer(now time.Time) {
	if r.answer == nil || now.Before(r.answerAt) {
		return
	}
	a := *r.answer
	a.sentAt, r.answer, r.answerAt = now, nil, time.Time{}
	r.sendAttempt(a)
}

func (r *matchRun) sendAttempt(a attempt) {
	if a.Match == r.view.Match() {
		r.view.Sent(a.Answer)
	}
	r.ask(protocol.TypeAnswer, a)
}

// handleAnswered handles the reply to an answer. It sends some answers again, and a
// different answer after others. The server must not accept the latter.
func (r *matchRun) handleAnswered(h received) {
	a, ok := h.request.data.(attempt)
	breachByReplyIf(!ok, h)
	if isKnown := testenv.Must(r.view.Accepted(a.Answer, h.Data)); isKnown {
		r.group.Stats.Count("answer repeated", 1)
		return
	}
	r.group.Stats.Count("answer accepted", 1)
	if h.request.attempts == 1 {
		r.group.Stats.Add(Answer, h.ReceivedAt.Sub(a.sentAt))
	}
	q, closed := r.view.Question()
	switch {
	case r.chance(r.group.Habits.RepeatShare):
		r.ask(protocol.TypeAnswer, a)
	case closed == nil && q.Question == *a.Question && r.chance(r.group.Habits.SecondShare):
		a.Given, a.isSecond = OtherAnswer(q, a.Given), true
		r.answer, r.answerAt = &a, time.Now()
	}
}

// handleAnswerRefusal handles the refusal of an answer. The player sends it again if the
// server asks for it and the question is still open.
func (r *matchRun) handleAnswerRefusal(h received, e protocol.Error, after time.Duration) {
	a, ok := h.request.data.(attempt)
	breachByReplyIf(!ok || r.group.Strict && (e.Code != protocol.CodeQuestionClosed || r.view.Mode() == "duel"), h)
	if a.isBlind { // any other refusal is right
		breachByReplyIf(e.Code == protocol.CodeInternal, h)
		return
	}
	testenv.MustDo(r.view.Refused(a.Answer, e, h.request.attempts))
	q, closed := r.view.Question()
	if (isForNow(e) || IsLockedOut(e)) && !a.isSecond && r.view.IsPlaying() && closed == nil && *a.Question == q.Question {
		r.answer, r.answerAt = &a, time.Now().Add(after)
	}
}

// ArbitraryAnswer returns a well-formed answer to a question of any kind. It is right only
// by chance.
func ArbitraryAnswer(q protocol.Question) protocol.Given { return arbitraryAnswer(q, 0) }

// OtherAnswer returns an answer to the question that differs from the given one.
func OtherAnswer(q protocol.Question, g protocol.Given) protocol.Given {
	other := arbitraryAnswer(q, 0)
	if reflect.DeepEqual(other, g) {
		other = arbitraryAnswer(q, 1)
	}
	return other
}

// arbitraryAnswer returns answer 0 or 1.
func arbitraryAnswer(q protocol.Question, n int) protocol.Given {
	switch q.Kind {
	case "single", "boolean":
		return protocol.Given{Choice: &n}
	case "multiple":
		return protocol.Given{Choices: []int{n}}
	case "number":
		return protocol.Given{Value: json.RawMessage(strconv.Itoa(42 + n))}
	}
	return protocol.Given{Value: json.RawMessage(strconv.Quote(fmt.Sprintf("guess %d", n)))}
}

// solutions are the right answers that players have learnt from closed questions, so
// that many answers are right. It is safe for concurrent use; the zero value is empty.
type solutions struct {
	mu     sync.Mutex
	byText map[string]solution // by the question's text
}

// solution is a right answer; it does not depend on the order of the choices.
type solution struct {
	texts []string
	value json.RawMessage
}

// learn records a question and its close.
func (b *solutions) learn(q protocol.Question, c protocol.QuestionClosed) {
	if q.Question != c.Question {
		return
	}
	right := checker.DecodeCorrectAnswer(c.Answer)
	s := solution{value: right.Value}
	for _, i := range right.Indexes() {
		if i < len(q.Choices) {
			s.texts = append(s.texts, q.Choices[i])
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.byText == nil {
		b.byText = make(map[string]solution)
	}
	b.byText[q.Text] = s
}

// answer is right three times out of four if the question is known.
func (b *solutions) answer(dice *rand.Rand, q protocol.Question) protocol.Given {
	b.mu.Lock()
	s, known := b.byText[q.Text]
	b.mu.Unlock()
	if !known || dice.IntN(4) == 0 {
		return ArbitraryAnswer(q)
	}
	var right []int
	for i, text := range q.Choices {
		if slices.Contains(s.texts, text) {
			right = append(right, i)
		}
	}
	switch {
	case q.Kind == "multiple" && len(right) > 0:
		return protocol.Given{Choices: right}
	case len(right) > 0:
		return protocol.Given{Choice: &right[0]}
	}
	return protocol.Given{Value: s.value}
}
