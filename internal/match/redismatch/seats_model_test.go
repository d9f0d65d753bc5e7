package redismatch

import (
	"testing"

	"pgregory.net/rapid"

	"laststand/internal/arena"
	"laststand/internal/match"
)

// lobbyModel is the simplest model of an arena's lobby.
type lobbyModel struct {
	teams  map[string]string // teams by player
	roles  map[string]match.Role
	banned map[string]bool
	locked bool
	max    int
}

func (l *lobbyModel) count(team string) (n int) {
	for _, t := range l.teams {
		if t == team {
			n++
		}
	}
	return n
}

func (l *lobbyModel) addSeat(player, team string) (arena.Verdict, string) {
	has, in := l.teams[player]
	switch {
	case l.banned[player]:
		return arena.VerdictBanned, ""
	case in:
		return arena.VerdictIn, has
	case l.locked:
		return arena.VerdictLocked, ""
	case len(l.teams) >= l.max:
		return arena.VerdictFull, ""
	}
	if team == "" {
		team = red.ID
		if l.count(blue.ID) < l.count(red.ID) {
			team = blue.ID
		}
	}
	delete(l.roles, player)
	l.teams[player] = team
	return arena.VerdictIn, team
}

func (l *lobbyModel) addWatcher(player string, as match.Role) (arena.Verdict, match.Role) {
	if l.banned[player] {
		return arena.VerdictBanned, as
	}
	if _, in := l.teams[player]; in {
		return arena.VerdictIn, match.PlayerRole
	}
	l.roles[player] = as
	return arena.VerdictIn, as
}

func (l *lobbyModel) removePlace(player string, ban bool) arena.Verdict {
	_, seated := l.teams[player]
	if !seated && l.roles[player] == "" {
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
func TestLobbyIsAsItsModel(t *testing.T) {
	eachRedisWithArena(t, match.Survival, func(p *testMatch) {
		rapid.Check(p.T, func(r *rapid.T) {
			l := &lobbyModel{
				teams: map[string]string{}, roles: map[string]match.Role{}, banned: map[string]bool{},
				max: rapid.IntRange(1, 5).Draw(r, "max"),
			}
			p := p.newMatch(arenaPlan(match.Survival), lobbyState())
			p.plan.Arena.MaxPlayers = l.max
			someone := rapid.SampledFrom(playerIDs(7))
			r.Repeat(map[string]func(*rapid.T){
				"sit": func(r *rapid.T) {
					player, team := someone.Draw(r, "player"), rapid.SampledFrom([]string{"", "red", "blue"}).Draw(r, "team")
					want, in := l.addSeat(player, team)
					if reply := p.addSeat(player, team, want); reply.Team != in {
						r.Fatalf("%+v, want %s", reply, in)
					}
				},
				"watch": func(r *rapid.T) {
					player, as := someone.Draw(r, "player"), rapid.SampledFrom([]match.Role{match.HostRole, match.SpectatorRole}).Draw(r, "as")
					want, role := l.addWatcher(player, as)
					if reply := p.addWatcher(player, as, want); reply.Role != role {
						r.Fatalf("%+v, want %s", reply, role)
					}
				},
				"unsit": func(r *rapid.T) {
					player := someone.Draw(r, "player")
					p.removePlace(player, l.removePlace(player, false))
				},
				"ban": func(r *rapid.T) {
					player := someone.Draw(r, "player")
					p.ban(player, l.removePlace(player, true))
				},
				"lock": func(r *rapid.T) {
					if rapid.IntRange(0, 9).Draw(r, "one in ten") == 0 {
						l.locked = true
						if err := p.LockLobby(p.Context(), p.plan.ID); err != nil {
							r.Fatal(err)
						}
					}
				},
				"": func(r *rapid.T) {
					view := p.read()
					if view.Players != int64(len(l.teams)) || len(view.Seats) != len(l.teams) || view.Locked != l.locked ||
						view.Teams["red"].Players != int64(l.count("red")) || view.Teams["blue"].Players != int64(l.count("blue")) {
						r.Fatalf("%+v, want %+v", view, l)
					}
				},
			})
			p.checkSeats(int64(len(l.teams)))
		})
	})
}
