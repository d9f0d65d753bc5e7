package players

import (
	"encoding/json"
	"time"

	"laststand/internal/protocol"
)

type attempt struct {
	protocol.Answer
	isSecond bool // it differs from the accepted answer
	sentAt   time.Time
}

// planAnswer chooses an answer to the newest question, and the time to send it.
func (r *matchRun) planAnswer(h received) {
	q, _ := r.view.Question()
	if late := h.ReceivedAt.UnixMilli() - q.OpensAt; h.ReceivedAt.UnixMilli() <= q.ClosesAt {
		r.group.Stats.Add(Question, time.Duration(late)*time.Millisecond)
	}
	habits := r.group.Habits
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
func (r *matchRun) useExtraTime(h received) error {
	var own protocol.OwnDeadline
	if err := json.Unmarshal(h.Data, &own); err != nil {
		return err
	}
	q, closed := r.view.Question()
	if r.answer != nil && closed == nil && *r.answer.Question == own.Question && r.chance(r.group.Habits.LastMomentShare) {
		r.answerAt = h.ReceivedAt.Add(time.Duration(own.ClosesAt-q.OpensAt-50+r.dice.Int64N(100)) * time.Millisecond)
	}
	return nil
}

func (r *matchRun) sendAnswer(now time.Time) {
	if r.answer == nil || now.Before(r.answerAt) {
		return
	}
	a := *r.answer
	a.sentAt, r.answer, r.answerAt = now, nil, time.Time{}
	r.view.Sent(a.Answer)
	r.ask(protocol.TypeAnswer, a)
}

// handleAnswered handles the reply to an answer. It sends some answers again, and a
// different answer after others. The server must not accept the latter.
func (r *matchRun) handleAnswered(h received) error {
	a, ok := h.request.data.(attempt)
	if !ok {
		return unexpected(h)
	}
	known, err := r.view.Accepted(a.Answer, h.Data)
	switch {
	case err != nil:
		return err
	case known:
		r.group.Stats.Count("answer repeated", 1)
		return nil
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
	return nil
}

// handleAnswerRefusal handles the refusal of an answer. The player sends it again if the
// server asks for it and the question is still open.
func (r *matchRun) handleAnswerRefusal(h received, e protocol.Error, after time.Duration) error {
	a, ok := h.request.data.(attempt)
	if !ok || r.group.Strict && (e.Code != protocol.CodeQuestionClosed || r.view.Mode() == "duel") {
		return unexpected(h)
	}
	if err := r.view.Refused(a.Answer, e, h.request.attempts); err != nil {
		return err
	}
	q, closed := r.view.Question()
	if (isForNow(e) || IsLockedOut(e)) && !a.isSecond && r.view.IsPlaying() && closed == nil && *a.Question == q.Question {
		r.answer, r.answerAt = &a, time.Now().Add(after)
	}
	return nil
}
