package match

import (
	"context"
	"time"
)

func (m *memoryStore) Commit(_ context.Context, a Attempt) (Outcome, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k, out, err := m.judge(a)
	if err != nil || out.Verdict != Accepted || k.locks[a.place()] == a.ID {
		return out, err
	}
	k.accept(a)
	if a.LockoutMS > 0 && a.Seat.Team != "" && a.Mode == Buzzer {
		k.lockouts[place(a.Record.Question, a.Seat.Team)] = time.Now().UnixMilli() + a.LockoutMS
	}
	out = k.outcome(Accepted, a.Record)
	if a.Push != nil {
		k.push(*a.Push)
		out.Seq, out.Nodes = k.state.Seq, k.sortedNodes()
	}
	return out, nil
}

func (m *memoryStore) Race(_ context.Context, a Attempt) (Outcome, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	a.Record.First = true
	k, out, err := m.judge(a)
	if err != nil || out.Verdict != Accepted {
		return out, err
	}
	if k.locks[a.place()] != a.ID {
		k.win(a)
	}
	out = k.outcome(Accepted, a.Record)
	out.Sealed, out.Nodes = true, k.sortedNodes()
	return out, nil
}

// decideOutcome decides whether to accept an attempt, also a repeated one. The caller holds mu.
func (m *memoryStore) judge(a Attempt) (*storedMatch, Outcome, error) {
	k, err := m.find(a.Match, a.SeenVersion)
	switch {
	case err == ErrNotFound: //nolint:errorlint // find does not wrap it
		return nil, Outcome{Verdict: Gone}, nil
	case err != nil:
		return nil, Outcome{}, err
	}
	s, r, t := k.state, a.Record, k.totals[a.Record.Player]
	_, seated := k.seats[r.Player]
	holder := k.locks[a.place()]
	shut := k.lockouts[place(r.Question, a.Seat.Team)] - time.Now().UnixMilli()
	verdict := Accepted
	switch {
	case holder == a.ID:
		return k, k.outcome(Accepted, k.records[a.place()]), nil
	case k.plan.Mode != Duel && (!seated || t.Left):
		verdict = Gone
	case r.Question > s.Question:
		verdict = Early
	case k.plan.Mode == Survival && t.LastCorrect <= s.LastDecided:
		verdict = Eliminated
	case holder != "":
		return k, k.outcome(Duplicate, k.records[a.place()]), nil
	case s.Phase != Open || r.Question != s.Question || r.At > s.ClosesAt:
		verdict = Late
	case a.OpensAt != s.OpensAt:
		verdict = Stale
	case k.plan.Mode == Buzzer && a.Seat.Team != "" && shut > 0:
		return k, Outcome{Verdict: LockedOut, RetryMS: shut}, nil
	case k.plan.Mode == Buzzer && !k.offered[r.Question]:
		verdict = Late
	}
	return k, Outcome{Verdict: verdict}, nil
}

func (k *storedMatch) outcome(v Verdict, r Record) Outcome {
	return Outcome{Verdict: v, Record: r, Answered: k.state.Answered, Alive: k.state.Alive, Version: k.state.Version}
}

// accept writes the effect of an accepted answer.
func (k *storedMatch) accept(a Attempt) {
	r, s := a.Record, &k.state
	k.locks[a.place()], k.records[a.place()] = a.ID, r
	k.totals[r.Player] = plus(k.totals[r.Player], r)
	s.Answered++
	s.Version++
	if r.Correct {
		s.Right++
	}
	if s.Answered >= s.Alive {
		k.due = r.At
	}
	if r.Correct && k.plan.Mode == Survival {
		k.score(a.Seat.Team, r.Points)
	}
}

// acceptFirst accepts the first right answer to a buzzer question and seals it.
func (k *storedMatch) win(a Attempt) {
	r := a.Record
	k.accept(a)
	k.score(a.Seat.Team, 1)
	delete(k.offered, r.Question)
	first := First{
		Question: r.Question, Player: r.Player, Nickname: a.Seat.Nickname, Team: a.Seat.Team,
		At: r.At, ElapsedMS: r.ElapsedMS, Node: r.Node,
	}
	k.state.First, k.firsts = &first, append(k.firsts, first)
	k.state.Phase, k.state.CloseReason, k.state.DueAt, k.due = Sealed, firstCorrect, r.At, r.At
}

func (k *storedMatch) score(team string, points int64) {
	if t, ok := k.teams[team]; ok {
		t.Score += points
		k.teams[team] = t
	}
}

func (a Attempt) place() string { return place(a.Record.Question, a.Record.Player) }

func (m *memoryStore) Record(_ context.Context, match, player string, question int) (Record, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k, err := m.find(match, 0)
	if err != nil {
		return Record{}, false, nil
	}
	r, ok := k.records[place(question, player)]
	return r, ok, nil
}

func plus(t Totals, r Record) Totals {
	t.Score += r.Points
	t.Answered++
	t.SavedMS += r.SavedMS
	t.LastAnswered = r.Question + 1
	if r.Correct {
		t.Correct++
		t.LastCorrect = r.Question + 1
	}
	return t
}
