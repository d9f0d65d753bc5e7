package redismatch

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"

	"laststand/internal/arena"
	"laststand/internal/match"
	"laststand/internal/testenv"
)

// repeatingScripter runs every script twice, as the client library may, and returns
// the second reply.
type repeatingScripter struct{ redis.Scripter }

func (s repeatingScripter) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	s.Scripter.EvalSha(ctx, sha, keys, args...)
	return s.Scripter.EvalSha(ctx, sha, keys, args...)
}

func (s repeatingScripter) Eval(ctx context.Context, script string, keys []string, args ...any) *redis.Cmd {
	s.Scripter.Eval(ctx, script, keys, args...)
	return s.Scripter.Eval(ctx, script, keys, args...)
}

// A match whose scripts all run twice has the same state as one whose scripts
// run once.
func TestRepeatedScriptsChangeNothing(t *testing.T) {
	t.Parallel()
	testenv.EachRedis(t, func(t *testing.T, client redis.UniversalClient) {
		m := &testMatch{T: t, Store: New(client, repeatingScripter{client}), client: client}
		m.newMatch(newPlan(), duelState()).checkDuel()
		m.newMatch(arenaPlan(match.Survival), lobbyState()).checkArena()
	})
}

// The end of a place is repeated, with or without a ban. The caller gets the first reply:
// it says what the place was.
func TestRepeatedEndOfPlaceReturnsFirstReply(t *testing.T) {
	t.Parallel()
	testenv.EachRedis(t, func(t *testing.T, client redis.UniversalClient) {
		m := &testMatch{T: t, Store: New(client, repeatingScripter{client}), client: client}
		m = m.newMatch(arenaPlan(match.Buzzer), lobbyState())
		check := func(verdict arena.Verdict, role match.Role, team string, reply arena.PlaceReply) {
			m.Helper()
			if reply.Verdict != verdict || reply.Role != role || reply.Team != team {
				m.Errorf("%+v, want %s, %s, %q", reply, verdict, role, team)
			}
		}
		m.addSeats("p_ada", "p_bob", "p_cyd", "p_dan")
		m.addWatcher("p_eve", match.SpectatorRole, arena.VerdictIn)
		check(arena.VerdictOut, match.PlayerRole, "red", m.removePlace("p_ada", arena.VerdictOut))
		check(arena.VerdictOut, match.PlayerRole, "blue", m.removeAndBan("p_bob", arena.VerdictOut))
		check(arena.VerdictOut, match.SpectatorRole, "", m.removeAndBan("p_eve", arena.VerdictOut))
		check(arena.VerdictOut, "", "", m.removePlace("p_ada", arena.VerdictOut)) // another attempt
		check(arena.VerdictBanned, "", "", m.removeAndBan("p_bob", arena.VerdictBanned))
		m.startArena()
		check(arena.VerdictLeft, match.PlayerRole, "red", m.removeAndBan("p_cyd", arena.VerdictLeft))
		if view := m.read(); view.EndedPlaces != 4 || view.LeftSeats != 1 {
			m.Errorf("%+v", view.State)
		}
	})
}

func (m *testMatch) checkDuel() {
	m.Helper()
	open := m.applyStep(match.PhaseOpen, 0)
	m.accept(m.attempt(open, "p_ada", 10))
	m.accept(wrongAnswer(m.attempt(open, "p_bob", 10)))
	m.applyStep(match.PhaseSealed, 0)
	view := m.read()
	if view.Answered != 2 || view.Right != 1 || view.Version != 5 || view.Totals["p_ada"].Score != 190 || len(view.Frames) != 5 {
		m.Errorf("%+v", view)
	}
	m.checkLog()
}

func (m *testMatch) checkArena() {
	m.Helper()
	m.addSeats("p_ada", "p_bob", "p_cyd", "p_dan")
	m.removePlace("p_dan", arena.VerdictOut)
	m.must(m.LockLobby(m.Context(), m.plan.ID))
	open := m.startArena()
	m.commit(inTeam(red, m.attempt(open, "p_ada", 10)), match.VerdictAccepted)
	m.removePlace("p_bob", arena.VerdictLeft)
	m.commit(wrongAnswer(m.attempt(open, "p_cyd", 10)), match.VerdictAccepted)
	view := m.read()
	if view.Players != 3 || view.LeftSeats != 1 || view.Alive != 2 || view.Answered != 2 || view.Version != 13 || view.Teams["red"].Score != 190 {
		m.Errorf("%+v", view)
	}
	m.applyStep(match.PhaseOver, 0)
	m.checkLog()
	for range 2 {
		m.must(m.MarkSettled(m.Context(), []match.Result{{Match: m.plan.ID, ArenaID: m.plan.Arena.ID}}))
	}
	if view := m.read(); view.Phase != match.PhaseSettled {
		m.Errorf("%+v", view.State)
	}
}
