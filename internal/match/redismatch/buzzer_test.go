package redismatch

import (
	"reflect"
	"sync"
	"testing"
	"time"

	"laststand/internal/arena"
	"laststand/internal/match"
)

func TestFirstRightAnswerSealsQuestion(t *testing.T) {
	runArenaOnEachRedis(t, match.Buzzer, func(m *testMatch) {
		m.addSeats("p_ada", "p_bob", "p_cyd")
		m.addReadingNode("n_1")
		open := m.startArena()
		m.commit(wrongAnswer(m.attempt(open, "p_cyd", 100)), match.VerdictAccepted)
		attempt := m.firstAttempt(open, "p_ada", 1000)
		outcome := m.commitIfFirst(attempt, match.VerdictAccepted)
		attempt.Record.First = true
		view := m.read()
		want := match.Outcome{
			Verdict: match.VerdictAccepted, Record: attempt.Record, Answered: 2, Alive: 3, Sealed: true, IsNew: true, Version: view.Version,
		}
		if !reflect.DeepEqual(outcome, want) {
			m.Errorf("%+v, want %+v", outcome, want)
		}
		first := match.First{Player: "p_ada", Nickname: "p_ada", Team: "red", ArrivedAt: attempt.Record.ArrivedAt, ElapsedMS: 1000, Node: "n_1"}
		if view.Phase != match.PhaseSealed || view.CloseReason != "first_correct" || view.Right != 1 || view.DueAt != attempt.Record.ArrivedAt || *view.First != first {
			m.Errorf("%+v, first %+v", view.State, view.First)
		}
		if m.indexedDueAt() != attempt.Record.ArrivedAt || view.Teams["red"].Score != 1 || view.Teams["blue"].Score != 0 || view.Ranks["p_ada"] != 1 || view.Ranks["p_bob"] != 2 {
			m.Errorf("due at %d, teams %v, ranks %v", m.indexedDueAt(), view.Teams, view.Ranks)
		}
		if totals := (match.Totals{Score: 100, Correct: 1, Answered: 1, SavedMS: 9000, LastCorrect: 1, LastAnswered: 1}); view.Totals["p_ada"] != totals {
			m.Errorf("%+v", view.Totals["p_ada"])
		}
		m.commitIfFirst(m.firstAttempt(open, "p_bob", 900), match.VerdictLate)
		m.openNextQuestion()
		if view := m.read(); view.First != nil || !reflect.DeepEqual(view.Firsts, []match.First{first}) {
			m.Errorf("first %+v of %+v", view.First, view.Firsts)
		}
		m.checkSeats(3)
		m.checkLog()
	})
}

// firstAttempt returns an attempt of the red team to be first.
func (m *testMatch) firstAttempt(state match.State, player string, after int64) match.Attempt {
	attempt := inTeam(red, m.attempt(state, player, after))
	attempt.Record.Points, attempt.Record.Node = 100, "n_1"
	return attempt
}

// The verdict of a race in each state of the match.
func TestVerdictsOfCommitIfFirst(t *testing.T) {
	runArenaOnEachRedis(t, match.Buzzer, func(m *testMatch) {
		m.addSeats("p_ada", "p_bob", "p_cyd")
		m.commitIfFirst(m.firstAttempt(match.State{OpensAt: epoch}, "p_ada", 0), match.VerdictEarly)
		open := m.startArena()
		m.commitIfFirst(m.firstAttempt(match.State{Question: 1, OpensAt: epoch}, "p_ada", 0), match.VerdictEarly)
		m.commitIfFirst(m.firstAttempt(open, "p_cyd", 10_001), match.VerdictLate)
		m.commitIfFirst(m.firstAttempt(open, "p_eve", 0), match.VerdictGone)
		stale := m.firstAttempt(open, "p_ada", 0)
		stale.OpensAt--
		m.commitIfFirst(stale, match.VerdictStale)
		unknownMatch := m.firstAttempt(open, "p_ada", 0)
		unknownMatch.Match = "m_none"
		m.commitIfFirst(unknownMatch, match.VerdictGone)
		wrongAttempt := wrongAnswer(m.attempt(open, "p_bob", 0))
		m.commit(wrongAttempt, match.VerdictAccepted)
		if out := m.commitIfFirst(m.firstAttempt(open, "p_bob", 0), match.VerdictDuplicate); !reflect.DeepEqual(out.Record, wrongAttempt.Record) || out.Sealed {
			m.Errorf("%+v", out)
		}
		m.removePlace("p_cyd", arena.VerdictLeft)
		m.commitIfFirst(m.firstAttempt(open, "p_cyd", 0), match.VerdictGone)
		if view := m.read(); view.Answered != 1 || view.First != nil || view.Totals["p_ada"] != (match.Totals{}) {
			m.Errorf("a refused attempt changed the match: %+v", view)
		}
		m.applyStep(match.PhaseSealed, 0)
		m.commitIfFirst(m.firstAttempt(open, "p_ada", 0), match.VerdictLate)
		m.openNextQuestion()
		m.commitIfFirst(m.firstAttempt(open, "p_ada", 0), match.VerdictLate)
		m.commitIfFirst(m.firstAttempt(open, "p_bob", 0), match.VerdictDuplicate)
		m.checkLog()
	})
}

// A closed question stays closed, also after an extension.
func TestClosedBuzzerQuestionStaysClosed(t *testing.T) {
	runArenaOnEachRedis(t, match.Buzzer, func(m *testMatch) {
		m.addSeats("p_ada")
		openFirst := func() string { return m.client.Get(m.Context(), m.keys.first(0)).Val() }
		open := m.startArena()
		if m.applyStep(match.PhaseOpen, 0); openFirst() != "1" { // extended
			m.Errorf("after an extension: %q", openFirst())
		}
		m.commitIfFirst(m.firstAttempt(open, "p_ada", 10), match.VerdictAccepted)
		if openFirst() != "0" {
			m.Errorf("after the first right answer: %q", openFirst())
		}
		next := m.openNextQuestion()
		m.client.Del(m.Context(), m.keys.first(1)) // as if the store had lost it
		m.commitIfFirst(m.firstAttempt(next, "p_ada", 10), match.VerdictLate)
		m.applyStep(match.PhaseOver, 1)
		if got := m.client.Get(m.Context(), m.keys.first(1)).Val(); got != "0" {
			m.Errorf("after the end: %q", got)
		}
	})
}

// A wrong answer locks its player out, and the team for a while.
func TestWrongBuzzerAnswerLocksOutPlayerAndTeam(t *testing.T) {
	runArenaOnEachRedis(t, match.Buzzer, func(m *testMatch) {
		open := m.startArena("p_ada", "p_bob", "p_cyd", "p_dan")
		wrongAttempt := inTeam(red, wrongAnswer(m.attempt(open, "p_ada", 10)))
		wrongAttempt.LockoutMS = 60_000
		for range 2 { // the client library may repeat it
			if out := m.commit(wrongAttempt, match.VerdictAccepted); out.Answered != 1 || out.Alive != 4 {
				m.Errorf("%+v", out)
			}
		}
		m.commit(inTeam(red, wrongAnswer(m.attempt(open, "p_ada", 20))), match.VerdictDuplicate)
		wrongTeamMate := inTeam(red, wrongAnswer(m.attempt(open, "p_cyd", 20)))
		wrongTeamMate.LockoutMS = 60_000
		lockedOut := m.commit(wrongTeamMate, match.VerdictLockedOut)
		rightTeamMate := m.firstAttempt(open, "p_cyd", 30)
		rightTeamMate.LockoutMS = 60_000
		for _, out := range []match.Outcome{lockedOut, m.commitIfFirst(rightTeamMate, match.VerdictLockedOut)} {
			if out.RetryMS < 1000 || out.RetryMS > 60_000 {
				m.Errorf("%+v", out)
			}
		}
		otherTeam := inTeam(blue, wrongAnswer(m.attempt(open, "p_bob", 40)))
		m.commit(otherTeam, match.VerdictAccepted)
		withoutTeam := wrongAnswer(m.attempt(open, "p_dan", 50))
		withoutTeam.LockoutMS = 60_000
		m.commit(withoutTeam, match.VerdictAccepted) // no team: nobody is locked out
		if view := m.read(); view.Answered != 3 || view.Right != 0 || view.Phase != match.PhaseOpen || m.indexedDueAt() != open.DueAt {
			m.Errorf("%+v, due at %d", view.State, m.indexedDueAt())
		}
		m.client.Del(m.Context(), m.keys.lockout(0, "red")) // simulate the expiry
		m.commitIfFirst(rightTeamMate, match.VerdictAccepted)
	})
}

// In the last millisecond of a lockout the team may answer. Otherwise the reply
// would contain a retry time of 0.
func TestLastMillisecondOfLockoutAllowsAnswer(t *testing.T) {
	runArenaOnEachRedis(t, match.Buzzer, func(m *testMatch) {
		m.plan.Arena.MaxPlayers = 100
		players := playerIDs(m.plan.Arena.MaxPlayers)
		open := m.startArena(players...)
		for _, player := range players {
			m.must(m.client.Set(m.Context(), m.keys.lockout(0, "red"), "another", time.Millisecond).Err())
			attempt := inTeam(red, wrongAnswer(m.attempt(open, player, 20)))
			attempt.LockoutMS = 60_000
			if out, err := m.Commit(m.Context(), attempt); err != nil || out.Verdict == match.VerdictLockedOut && out.RetryMS <= 0 {
				m.Fatalf("%+v, %v", out, err)
			}
		}
	})
}

// A lockout ends with its question.
func TestLockoutEndsWithQuestion(t *testing.T) {
	runArenaOnEachRedis(t, match.Buzzer, func(m *testMatch) {
		wrongAttempt := inTeam(red, wrongAnswer(m.attempt(m.startArena("p_ada", "p_bob"), "p_ada", 10)))
		wrongAttempt.LockoutMS = 60_000
		m.commit(wrongAttempt, match.VerdictAccepted)
		attempt := m.firstAttempt(m.openNextQuestion(), "p_bob", 10)
		attempt.LockoutMS = 60_000
		m.commitIfFirst(attempt, match.VerdictAccepted)
	})
}

func TestQuestionIsDueAfterAllWrongAnswers(t *testing.T) {
	runArenaOnEachRedis(t, match.Buzzer, func(m *testMatch) {
		open := m.startArena("p_ada", "p_bob", "p_cyd")
		m.commit(wrongAnswer(m.attempt(open, "p_ada", 10)), match.VerdictAccepted)
		m.removePlace("p_ada", arena.VerdictLeft) // the question does not wait for players who have answered
		if view := m.read(); view.Alive != 3 || m.indexedDueAt() != open.DueAt {
			m.Errorf("%+v, due at %d", view.State, m.indexedDueAt())
		}
		m.removePlace("p_cyd", arena.VerdictLeft)
		last := wrongAnswer(m.attempt(open, "p_bob", 20))
		m.commit(last, match.VerdictAccepted)
		if view := m.read(); view.Alive != 2 || view.Answered != 2 || m.indexedDueAt() != last.Record.ArrivedAt {
			m.Errorf("%+v, due at %d", view.State, m.indexedDueAt())
		}
	})
}

// A player leaves while the player's own right answer tries to be first.
func TestPlayerLeavesDuringOwnFirstAnswer(t *testing.T) {
	runArenaOnEachRedis(t, match.Buzzer, func(m *testMatch) {
		open := m.startArena("p_ada", "p_bob")
		attempt := m.firstAttempt(open, "p_ada", 10)
		var running sync.WaitGroup
		var outcome match.Outcome
		running.Go(func() { outcome, _ = m.CommitIfFirst(m.Context(), attempt) })
		running.Go(func() { _, _ = m.RemovePlace(m.Context(), m.plan.ID, "p_ada", 0) })
		running.Wait()
		view := m.read()
		if first := outcome.Verdict == match.VerdictAccepted; first != (view.First != nil) || !first && outcome.Verdict != match.VerdictGone || view.LeftSeats != 1 {
			m.Errorf("%+v, %+v", outcome, view.State)
		}
		m.removePlace("p_ada", arena.VerdictLeft)
	})
}
