package redismatch

import (
	"fmt"
	"testing"

	"github.com/oklog/ulid/v2"
	"github.com/redis/go-redis/v9"

	"laststand/internal/arena"
	"laststand/internal/match"
	"laststand/internal/testenv"
)

var (
	red  = match.Team{ID: "red", Name: "Red"}
	blue = match.Team{ID: "blue", Name: "Blue"}
)

// runArenaOnEachRedis runs a test with an arena on every kind of Redis, in its lobby.
func runArenaOnEachRedis(t *testing.T, mode match.Mode, f func(m *testMatch)) {
	t.Parallel()
	testenv.EachRedis(t, func(t *testing.T, client redis.UniversalClient) {
		f(newTestMatch(t, client, arenaPlan(mode), lobbyState()))
	})
}

func runNamedArenaOnEachRedis(t *testing.T, name string, mode match.Mode, f func(m *testMatch)) {
	t.Run(name, func(t *testing.T) { runArenaOnEachRedis(t, mode, f) })
}

func arenaPlan(mode match.Mode) *match.Plan {
	plan := newPlan()
	plan.Mode, plan.Seats, plan.StartsAt, plan.Rated = mode, nil, 0, false
	plan.Arena = &match.Arena{
		ID: "a_" + ulid.Make().String(), Code: "123456", Host: "p_host", Teams: []match.Team{red, blue}, MaxPlayers: 100,
	}
	return plan
}

func lobbyState() match.State {
	return match.State{Phase: match.PhaseLobby, Question: -1, LastDecided: -1, DueAt: epoch + 1000}
}

// addSeat requests a seat ("" for the smallest team) and expects a verdict.
func (m *testMatch) addSeat(player, team string, want arena.Verdict) arena.PlaceReply {
	m.Helper()
	reply, err := m.AddSeat(m.Context(), m.seatRequest(player, team))
	return m.checkPlace(player, want, reply, err)
}

func (m *testMatch) seatRequest(player, team string) arena.SeatRequest {
	return arena.SeatRequest{
		Match: m.plan.ID, Seat: match.Seat{Player: player, Nickname: "Nick of " + player, Team: team},
		Teams: []string{red.ID, blue.ID}, MaxSeats: m.plan.Arena.MaxPlayers,
	}
}

func (m *testMatch) addWatcher(player string, role match.Role, want arena.Verdict) arena.PlaceReply {
	m.Helper()
	reply, err := m.AddWatcher(m.Context(), m.plan.ID, player, role)
	return m.checkPlace(player, want, reply, err)
}

func (m *testMatch) removePlace(player string, want arena.Verdict) arena.PlaceReply {
	m.Helper()
	reply, err := m.RemovePlace(m.Context(), m.plan.ID, player, 0)
	return m.checkPlace(player, want, reply, err)
}

func (m *testMatch) removeAndBan(player string, want arena.Verdict) arena.PlaceReply {
	m.Helper()
	reply, err := m.RemovePlace(m.Context(), m.plan.ID, player, 100)
	return m.checkPlace(player, want, reply, err)
}

func (m *testMatch) checkPlace(player string, want arena.Verdict, reply arena.PlaceReply, err error) arena.PlaceReply {
	m.Helper()
	if err != nil || reply.Verdict != want {
		m.Fatalf("%s: %+v, %v, want %s", player, reply, err, want)
	}
	return reply
}

// addSeats gives players seats, alternating between red and blue.
func (m *testMatch) addSeats(players ...string) {
	m.Helper()
	for _, player := range players {
		m.addSeat(player, "", arena.VerdictIn)
	}
}

// startArena moves an arena with these players from its lobby to its open question 0.
func (m *testMatch) startArena(players ...string) match.State {
	m.Helper()
	m.addSeats(players...)
	m.applyStep(match.PhaseStarting, -1)
	m.applyStep(match.PhaseCountdown, -1)
	return m.applyStep(match.PhaseOpen, 0)
}

// openNextQuestion reveals the open question and opens the next one.
func (m *testMatch) openNextQuestion() match.State {
	m.Helper()
	if m.read().Phase == match.PhaseOpen {
		m.applyStep(match.PhaseSealed, m.read().Question)
	}
	step := m.applyStep(match.PhaseRevealed, m.read().Question)
	return m.applyStep(match.PhaseOpen, step.Question+1)
}

// commitIfFirst tries to be first on the open question and expects a verdict.
func (m *testMatch) commitIfFirst(attempt match.Attempt, want match.Verdict) match.Outcome {
	m.Helper()
	outcome, err := m.CommitIfFirst(m.Context(), attempt)
	if err != nil || outcome.Verdict != want {
		m.Fatalf("%s of question %d: %+v, %v, want %s", attempt.Record.Player, attempt.Record.Question, outcome, err, want)
	}
	return outcome
}

// inTeam returns an attempt whose player is in a team.
func inTeam(team match.Team, attempt match.Attempt) match.Attempt {
	attempt.Seat.Team = team.ID
	return attempt
}

// playerIDs returns the ids of n players.
func playerIDs(n int) []string {
	players := make([]string, n)
	for i := range players {
		players[i] = fmt.Sprintf("p_%04d", i)
	}
	return players
}

// A late player gets a seat in each phase of a match that allows it, with no points. An open
// question waits for the player. Whoever left gets no second seat.
func TestLateSeatInEveryPhase(t *testing.T) {
	runArenaOnEachRedis(t, match.Race, func(m *testMatch) {
		late := func(player string, want arena.Verdict) {
			m.Helper()
			request := m.seatRequest(player, "")
			request.AllowLate = true
			reply, err := m.AddSeat(m.Context(), request)
			m.checkPlace(player, want, reply, err)
		}
		m.addSeats("p_ada", "p_bob")
		m.applyStep(match.PhaseStarting, -1)
		m.addSeat("p_cyd", "", arena.VerdictStarted)
		late("p_cyd", arena.VerdictIn)
		m.applyStep(match.PhaseCountdown, -1)
		late("p_dan", arena.VerdictIn)
		open := m.applyStep(match.PhaseOpen, 0)
		before := m.read()
		late("p_eve", arena.VerdictIn)
		late("p_eve", arena.VerdictIn)
		if view := m.read(); view.Alive != before.Alive+1 || view.Players != 5 || view.Version != before.Version+1 || view.Teams["red"].Players+view.Teams["blue"].Players != 5 {
			m.Errorf("%+v, teams %v; before %+v", view.State, view.Teams, before.State)
		}
		outcome := m.commit(m.attempt(open, "p_eve", 100), match.VerdictAccepted)
		if outcome.Alive != before.Alive+1 || outcome.Answered != 1 {
			m.Errorf("%+v", outcome)
		}
		m.applyStep(match.PhaseRevealed, 0)
		late("p_fay", arena.VerdictIn)
		if view := m.read(); view.Totals["p_fay"].Score != 0 || len(view.Seats) != 6 {
			m.Errorf("%+v", view)
		}
		m.removePlace("p_fay", arena.VerdictLeft)
		late("p_fay", arena.VerdictStarted)
		m.must(m.LockLobby(m.Context(), m.plan.ID))
		late("p_gus", arena.VerdictLocked)
		m.applyStep(match.PhaseOver, 0)
		late("p_gus", arena.VerdictGone)
		m.checkLog()
	})
}
