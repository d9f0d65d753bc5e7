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

// eachArena runs a test with an arena on every kind of Redis, in its lobby.
func eachArena(t *testing.T, mode match.Mode, f func(p *testMatch)) {
	t.Parallel()
	testenv.EachRedis(t, func(t *testing.T, c redis.UniversalClient) { f(begin(t, c, arenaPlan(mode), lobbyState())) })
}

func arenaPlan(mode match.Mode) *match.Plan {
	p := newPlan()
	p.Mode, p.Seats, p.StartsAt, p.Rated = mode, nil, 0, false
	p.Arena = &match.Arena{
		ID: "a_" + ulid.Make().String(), Code: "123456", Host: "p_host", Teams: []match.Team{red, blue}, MaxPlayers: 100,
	}
	return p
}

func lobbyState() match.State {
	return match.State{Phase: match.Lobby, Question: -1, LastDecided: -1, DueAt: epoch + 1000}
}

// addSeat requests a seat ("" for the smallest team) and expects a verdict.
func (p *testMatch) addSeat(player, team string, want arena.Verdict) arena.PlaceReply {
	p.Helper()
	reply, err := p.AddSeat(p.Context(), p.request(player, team))
	return p.checkPlace(player, want, reply, err)
}

func (p *testMatch) request(player, team string) arena.SeatRequest {
	return arena.SeatRequest{
		Match: p.plan.ID, Seat: match.Seat{Player: player, Nickname: "Nick of " + player, Team: team},
		Teams: []string{red.ID, blue.ID}, Max: p.plan.Arena.MaxPlayers,
	}
}

func (p *testMatch) addWatcher(player string, as match.Role, want arena.Verdict) arena.PlaceReply {
	p.Helper()
	reply, err := p.AddWatcher(p.Context(), p.plan.ID, player, as)
	return p.checkPlace(player, want, reply, err)
}

func (p *testMatch) removePlace(player string, want arena.Verdict) arena.PlaceReply {
	p.Helper()
	reply, err := p.RemovePlace(p.Context(), p.plan.ID, player, 0)
	return p.checkPlace(player, want, reply, err)
}

func (p *testMatch) ban(player string, want arena.Verdict) arena.PlaceReply {
	p.Helper()
	reply, err := p.RemovePlace(p.Context(), p.plan.ID, player, 100)
	return p.checkPlace(player, want, reply, err)
}

func (p *testMatch) checkPlace(player string, want arena.Verdict, reply arena.PlaceReply, err error) arena.PlaceReply {
	p.Helper()
	if err != nil || reply.Verdict != want {
		p.Fatalf("%s: %+v, %v, want %s", player, reply, err, want)
	}
	return reply
}

// seat gives players seats, alternating between red and blue.
func (p *testMatch) seat(players ...string) {
	p.Helper()
	for _, player := range players {
		p.addSeat(player, "", arena.In)
	}
}

// start moves an arena from its lobby to its open question 0.
func (p *testMatch) start() match.State {
	p.Helper()
	p.applyStep(match.Starting, -1)
	p.applyStep(match.Countdown, -1)
	return p.applyStep(match.Open, 0)
}

// next reveals the open question and opens the next one.
func (p *testMatch) next() match.State {
	p.Helper()
	if p.read().Phase == match.Open {
		p.applyStep(match.Sealed, p.read().Question)
	}
	s := p.applyStep(match.Revealed, p.read().Question)
	return p.applyStep(match.Open, s.Question+1)
}

// race tries to be first on the open question and expects a verdict.
func (p *testMatch) race(a match.Attempt, want match.Verdict) match.Outcome {
	p.Helper()
	out, err := p.Race(p.Context(), a)
	if err != nil || out.Verdict != want {
		p.Fatalf("%s of question %d: %+v, %v, want %s", a.Record.Player, a.Record.Question, out, err, want)
	}
	return out
}

// inTeam returns an attempt whose player is in a team.
func inTeam(team match.Team, a match.Attempt) match.Attempt {
	a.Seat.Team = team.ID
	return a
}

// playerIDs returns the ids of n players.
func playerIDs(n int) []string {
	players := make([]string, n)
	for i := range players {
		players[i] = fmt.Sprintf("p_%04d", i)
	}
	return players
}
