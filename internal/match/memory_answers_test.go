package match

import (
	"context"
	"fmt"
	"strings"
	"time"

	"laststand/internal/quiz"
)

func (m *memoryStore) Commit(_ context.Context, attempt Attempt) (Outcome, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	stored, out, err := m.decideOutcome(attempt)
	if err != nil || out.Verdict != VerdictAccepted || stored.locks[attempt.answerKey()] == attempt.ID {
		return out, err
	}
	stored.accept(attempt)
	if attempt.LockoutMS > 0 && attempt.Seat.Team != "" && attempt.Mode == Buzzer {
		stored.lockouts[answerKey(attempt.Record.Question, attempt.Seat.Team)] = time.Now().UnixMilli() + attempt.LockoutMS
	}
	out = stored.outcome(VerdictAccepted, attempt.Record)
	out.IsNew, stored.written[attempt.Seen.Node] = true, stored.state.Version
	return out, nil
}

func (m *memoryStore) CommitIfFirst(_ context.Context, attempt Attempt) (Outcome, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	attempt.Record.First = true
	stored, out, err := m.decideOutcome(attempt)
	if err != nil || out.Verdict != VerdictAccepted {
		return out, err
	}
	if stored.locks[attempt.answerKey()] != attempt.ID {
		stored.acceptFirst(attempt)
	}
	out = stored.outcome(VerdictAccepted, attempt.Record)
	out.Sealed = true
	return out, nil
}

// decideOutcome decides whether to accept an attempt, also a repeated one. The caller holds mu.
func (m *memoryStore) decideOutcome(attempt Attempt) (*storedMatch, Outcome, error) {
	stored, err := m.find(attempt.Match, attempt.Seen)
	switch {
	case err == ErrNotFound: //nolint:errorlint // find does not wrap it
		return nil, Outcome{Verdict: VerdictGone}, nil
	case err != nil:
		return nil, Outcome{}, err
	}
	state, record, totals := stored.state, attempt.Record, stored.totals[attempt.Record.Player]
	_, hasSeat := stored.seats[record.Player]
	holder, refusal := stored.locks[attempt.answerKey()], fmt.Sprint(refusalPrefix, state.ClosesAt)
	lockoutLeftMS := stored.lockouts[answerKey(record.Question, attempt.Seat.Team)] - time.Now().UnixMilli()
	verdict := VerdictAccepted
	switch {
	case holder == attempt.ID:
		return stored, stored.outcome(VerdictAccepted, stored.records[attempt.answerKey()]), nil
	case !hasSeat || totals.HasLeft:
		verdict = VerdictGone
	case record.Question > state.Question:
		verdict = VerdictEarly
	case stored.plan.Mode == Survival && totals.LastCorrect <= state.LastDecided:
		verdict = VerdictEliminated
	case holder != "" && !strings.HasPrefix(holder, refusalPrefix):
		return stored, stored.outcome(VerdictDuplicate, stored.records[attempt.answerKey()]), nil
	case state.Phase != PhaseOpen || record.Question != state.Question || holder == refusal:
		verdict = VerdictLate
	case record.ArrivedAt > state.ClosesAt+attempt.ExtraMS:
		stored.locks[attempt.answerKey()], verdict = refusal, VerdictLate
	case attempt.OpensAt != state.OpensAt:
		verdict = VerdictStale
	case stored.plan.Mode == Buzzer && attempt.Seat.Team != "" && lockoutLeftMS > 0:
		return stored, Outcome{Verdict: VerdictLockedOut, RetryMS: lockoutLeftMS}, nil
	case stored.plan.Mode == Buzzer && !stored.openFirsts[record.Question]:
		verdict = VerdictLate
	}
	return stored, Outcome{Verdict: verdict}, nil
}

// refusalPrefix is before closes_at in a lock that refuses a player's answers until the question
// closes at another time.
const refusalPrefix = "closed "

func (stored *storedMatch) outcome(verdict Verdict, record Record) Outcome {
	return Outcome{Verdict: verdict, Record: record, Answered: stored.state.Answered, Alive: stored.state.Alive, Version: stored.state.Version}
}

// accept writes the effect of an accepted answer.
func (stored *storedMatch) accept(attempt Attempt) {
	totals, s := stored.totals[attempt.Record.Player], &stored.state
	record := addStreak(totals, attempt)
	stored.locks[attempt.answerKey()], stored.records[attempt.answerKey()] = attempt.ID, record
	stored.totals[record.Player] = totals.withRecord(record)
	stored.count(record.Normalized, 1)
	s.Answered++
	s.Version++
	if record.Correct {
		s.Right++
	}
	if s.Answered >= s.Alive {
		stored.dueAt = record.ArrivedAt
	}
	if record.Correct && stored.plan.Mode == Survival || stored.plan.Mode == Race {
		stored.addTeamScore(attempt.Seat.Team, record.Points)
	}
}

// acceptFirst accepts the first right answer to a buzzer question and seals it.
func (stored *storedMatch) acceptFirst(attempt Attempt) {
	record := attempt.Record
	stored.accept(attempt)
	stored.addTeamScore(attempt.Seat.Team, 1)
	delete(stored.openFirsts, record.Question)
	first := First{
		Question: record.Question, Player: record.Player, Nickname: attempt.Seat.Nickname, Team: attempt.Seat.Team,
		ArrivedAt: record.ArrivedAt, ElapsedMS: record.ElapsedMS, Node: record.Node,
	}
	stored.state.First, stored.firsts = &first, append(stored.firsts, first)
	stored.state.Phase, stored.state.CloseReason, stored.state.DueAt, stored.dueAt = PhaseSealed, closeReasonFirstCorrect, record.ArrivedAt, record.ArrivedAt
}

func (stored *storedMatch) addTeamScore(team string, points int64) {
	if t, ok := stored.teams[team]; ok {
		t.Score += points
		stored.teams[team] = t
	}
}

func (a Attempt) answerKey() string { return answerKey(a.Record.Question, a.Record.Player) }

func (m *memoryStore) Record(_ context.Context, match, player string, question int) (Record, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	stored, err := m.find(match, Seen{})
	if err != nil {
		return Record{}, false, nil
	}
	record, ok := stored.records[answerKey(question, player)]
	return record, ok, nil
}

// addStreak returns the record of an attempt with its final points.
func addStreak(t Totals, attempt Attempt) Record {
	record := attempt.Record
	current, hasStreak := quiz.PlayerScore{Score: t.Score, Streak: t.Streak}, t.LastCorrect == record.Question
	_, record.Points = quiz.Scoring{Streak: attempt.Streak}.Add(current, record.Points, record.Correct, hasStreak, 1)
	return record
}
