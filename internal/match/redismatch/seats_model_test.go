package redismatch

import (
	"testing"

	"pgregory.net/rapid"

	"laststand/internal/arena"
	"laststand/internal/match"
)

// lobbyModel is the simplest model of an arena's lobby.
type lobbyModel struct {
	teams    map[string]string // teams by player
	roles    map[string]match.Role
	banned   map[string]bool
	locked   bool
	maxSeats int
}

func (l *lobbyModel) countTeam(team string) (n int) {
	for _, t := range l.teams {
		if t == team {
			n++
		}
	}
	return n
}

func (l *lobbyModel) addSeat(player, team string) (arena.Verdict, string) {
	ownTeam, isIn := l.teams[player]
	switch {
	case l.banned[player]:
		return arena.VerdictBanned, ""
	case isIn:
		return arena.VerdictIn, ownTeam
	case l.locked:
		return arena.VerdictLocked, ""
	case len(l.teams) >= l.maxSeats:
		return arena.VerdictFull, ""
	}
	if team == "" {
		team = red.ID
		if l.countTeam(blue.ID) < l.countTeam(red.ID) {
			team = blue.ID
		}
	}
	delete(l.roles, player)
	l.teams[player] = team
	return arena.VerdictIn, team
}

func (l *lobbyModel) addWatcher(player string, role match.Role) (arena.Verdict, match.Role) {
	if l.banned[player] {
		return arena.VerdictBanned, role
	}
	if _, isIn := l.teams[player]; isIn {
		return arena.VerdictIn, match.PlayerRole
	}
	l.roles[player] = role
	return arena.VerdictIn, role
}

func (l *lobbyModel) removePlace(player string, ban bool) arena.Verdict {
	_, isIn := l.teams[player]
	if !isIn && l.roles[player] == "" {
		if l.banned[player] {
			return arena.VerdictBanned
		}
		return arena.VerdictOut
	}
	if ban {
		l.banned[player] = true
	}
	delete(l.teams, player)
	delete(l.roles, player)
	return arena.VerdictOut
}

// Any sequence of operations on a lobby agrees with the model.
func TestLobbyAgreesWithModel(t *testing.T) {
	runArenaOnEachRedis(t, match.Survival, func(m *testMatch) {
		rapid.Check(m.T, func(rt *rapid.T) {
			model := &lobbyModel{
				teams: map[string]string{}, roles: map[string]match.Role{}, banned: map[string]bool{},
				maxSeats: rapid.IntRange(1, 5).Draw(rt, "max"),
			}
			m := m.newMatch(arenaPlan(match.Survival), lobbyState())
			m.plan.Arena.MaxPlayers = model.maxSeats
			someone := rapid.SampledFrom(playerIDs(7))
			rt.Repeat(map[string]func(*rapid.T){
				"sit": func(rt *rapid.T) {
					player, team := someone.Draw(rt, "player"), rapid.SampledFrom([]string{"", "red", "blue"}).Draw(rt, "team")
					want, wantTeam := model.addSeat(player, team)
					if reply := m.addSeat(player, team, want); reply.Team != wantTeam {
						rt.Fatalf("%+v, want %s", reply, wantTeam)
					}
				},
				"watch": func(rt *rapid.T) {
					player, role := someone.Draw(rt, "player"), rapid.SampledFrom([]match.Role{match.HostRole, match.SpectatorRole}).Draw(rt, "as")
					want, wantRole := model.addWatcher(player, role)
					if reply := m.addWatcher(player, role, want); reply.Role != wantRole {
						rt.Fatalf("%+v, want %s", reply, wantRole)
					}
				},
				"unsit": func(rt *rapid.T) {
					player := someone.Draw(rt, "player")
					m.removePlace(player, model.removePlace(player, false))
				},
				"ban": func(rt *rapid.T) {
					player := someone.Draw(rt, "player")
					m.removeAndBan(player, model.removePlace(player, true))
				},
				"lock": func(rt *rapid.T) {
					if rapid.IntRange(0, 9).Draw(rt, "one in ten") == 0 {
						model.locked = true
						if err := m.LockLobby(m.Context(), m.plan.ID); err != nil {
							rt.Fatal(err)
						}
					}
				},
				"": func(rt *rapid.T) {
					view := m.read()
					if view.Players != int64(len(model.teams)) || view.LeftSeats != 0 || len(view.Seats) != len(model.teams) || view.Locked != model.locked ||
						view.Teams["red"].Players != int64(model.countTeam("red")) || view.Teams["blue"].Players != int64(model.countTeam("blue")) {
						rt.Fatalf("%+v, want %+v", view, model)
					}
				},
			})
			m.checkSeats(int64(len(model.teams)))
		})
	})
}
