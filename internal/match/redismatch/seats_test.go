package redismatch

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/errgroup"

	"laststand/internal/arena"
	"laststand/internal/match"
)

func TestAddSeatRefusals(t *testing.T) {
	runArenaOnEachRedis(t, match.Buzzer, func(m *testMatch) {
		m.plan.Arena.MaxPlayers = 2
		m.removeAndBan("p_eve", arena.VerdictOut) // a person without a place cannot be banned
		if n := m.client.Exists(m.Context(), m.keys.banned()).Val(); n != 0 {
			m.Error("a player without a place was stored as banned")
		}
		m.addWatcher("p_eve", match.SpectatorRole, arena.VerdictIn)
		m.removeAndBan("p_eve", arena.VerdictOut)
		m.removeAndBan("p_eve", arena.VerdictBanned) // repeated
		m.addSeats("p_ada", "p_bob")
		if reply, err := m.RemovePlace(m.Context(), m.plan.ID, "p_ada", 1); err != nil || reply.Verdict != arena.VerdictFull {
			m.Errorf("a ban above the limit: %+v, %v", reply, err)
		}
		m.addSeat("p_cyd", "", arena.VerdictFull)
		m.addSeat("p_eve", "", arena.VerdictBanned) // the ban comes first
		m.plan.Arena.MaxPlayers = 3
		for range 2 {
			m.must(m.LockLobby(m.Context(), m.plan.ID))
		}
		m.addSeat("p_cyd", "", arena.VerdictLocked)
		m.addSeat("p_ada", "", arena.VerdictIn)
		if view := m.read(); !view.Locked || view.Version != 5 {
			m.Errorf("%+v", view.State)
		}
		m.startArena()
		m.addSeat("p_cyd", "", arena.VerdictStarted)
		m.addSeat("p_eve", "", arena.VerdictBanned)
		m.removePlace("p_bob", arena.VerdictLeft)
		m.addSeat("p_bob", "", arena.VerdictStarted)
		if reply := m.addSeat("p_ada", "", arena.VerdictIn); reply.Phase != match.PhaseOpen {
			m.Errorf("%+v", reply)
		}
		m.applyStep(match.PhaseOver, 0)
		m.addSeat("p_bob", "", arena.VerdictGone)
		m.addSeat("p_cyd", "", arena.VerdictGone)
		m.addWatcher("p_cyd", match.SpectatorRole, arena.VerdictGone)
		m.removeAndBan("p_ada", arena.VerdictGone)
		m.plan.ID = "m_none"
		m.addSeat("p_ada", "", arena.VerdictGone)
		m.addWatcher("p_ada", match.HostRole, arena.VerdictGone)
		m.removePlace("p_ada", arena.VerdictGone)
		if err := m.LockLobby(m.Context(), "m_none"); !errors.Is(err, match.ErrNotFound) {
			m.Error(err)
		}
		if n := len(m.allKeys()); n != 0 {
			m.Errorf("keys were created: %v", m.allKeys())
		}
		m.plan.ID = m.keys.id
	})
}

// Players, spectators and the host who were away at the end of the match find
// their places again. Other people do not.
func TestPlacesAreFoundAfterMatchEnd(t *testing.T) {
	runArenaOnEachRedis(t, match.Survival, func(m *testMatch) {
		m.addSeats("p_ada", "p_bob", "p_eve")
		m.addWatcher("p_cyd", match.SpectatorRole, arena.VerdictIn)
		m.addWatcher("p_host", match.HostRole, arena.VerdictIn)
		m.startArena()
		m.removePlace("p_bob", arena.VerdictLeft)
		m.applyStep(match.PhaseOver, 0)
		if reply := m.addSeat("p_ada", "blue", arena.VerdictIn); reply.Team != "red" || reply.Role != match.PlayerRole || reply.Phase != match.PhaseOver {
			m.Errorf("%+v", reply)
		}
		if reply := m.addWatcher("p_eve", match.SpectatorRole, arena.VerdictIn); reply.Role != match.PlayerRole {
			m.Errorf("%+v", reply)
		}
		m.addWatcher("p_cyd", match.SpectatorRole, arena.VerdictIn)
		m.addWatcher("p_host", match.HostRole, arena.VerdictIn)
		for _, stranger := range []string{"p_bob", "p_dan"} {
			m.addSeat(stranger, "", arena.VerdictGone)
			m.addWatcher(stranger, match.SpectatorRole, arena.VerdictGone)
		}
		m.deletePlayKeys()
		m.addSeat("p_ada", "", arena.VerdictIn)
	})
}

// An arena that was closed in its lobby has no match to return to.
func TestClosedLobbyHasNoPlaces(t *testing.T) {
	runArenaOnEachRedis(t, match.Buzzer, func(m *testMatch) {
		m.addSeats("p_ada")
		m.addWatcher("p_cyd", match.SpectatorRole, arena.VerdictIn)
		step := m.step(m.read().State, match.PhaseOver, -1)
		step.Pushes = nil
		m.apply(step)
		m.addSeat("p_ada", "", arena.VerdictGone)
		m.addWatcher("p_cyd", match.SpectatorRole, arena.VerdictGone)
	})
}

func TestWatcherMayBecomePlayer(t *testing.T) {
	runArenaOnEachRedis(t, match.Buzzer, func(m *testMatch) {
		version := m.read().Version
		m.addReadingNode("n_1")
		if reply := m.addWatcher("p_host", match.HostRole, arena.VerdictIn); reply.Role != match.HostRole || reply.Phase != match.PhaseLobby {
			m.Errorf("%+v", reply)
		}
		m.addWatcher("p_cyd", match.SpectatorRole, arena.VerdictIn)
		if view := m.read(); view.Version != version || view.Players != 0 {
			m.Errorf("%+v", view.State)
		}
		m.expectRole("p_host", match.HostRole)
		m.expectRole("p_cyd", match.SpectatorRole)
		if reply := m.addSeat("p_cyd", "blue", arena.VerdictIn); reply.Role != match.PlayerRole || !slices.Equal(reply.Nodes, []string{"n_1"}) {
			m.Errorf("%+v", reply)
		}
		if reply := m.addWatcher("p_cyd", match.SpectatorRole, arena.VerdictIn); reply.Role != match.PlayerRole || reply.Team != "blue" {
			m.Errorf("a player became a watcher: %+v", reply)
		}
		if member := m.expectRole("p_cyd", match.PlayerRole); member.Seat.Team != "blue" || member.Seat.Nickname != "Nick of p_cyd" {
			m.Errorf("%+v", member)
		}
		m.startArena()
		m.addWatcher("p_dan", match.SpectatorRole, arena.VerdictIn)
		m.removePlace("p_dan", arena.VerdictOut)
		m.expectRole("p_dan", "")
		if reply := m.removePlace("p_host", arena.VerdictOut); reply.Role != match.HostRole {
			m.Errorf("%+v", reply)
		}
		m.removePlace("p_cyd", arena.VerdictLeft)
		m.expectRole("p_cyd", "")
		m.addWatcher("p_cyd", match.SpectatorRole, arena.VerdictIn)
		m.expectRole("p_cyd", match.SpectatorRole)
	})
}

func TestMembersAreThosePeopleWithAPlace(t *testing.T) {
	runArenaOnEachRedis(t, match.Buzzer, func(m *testMatch) {
		m.addSeats("p_ada", "p_bob", "p_cyd")
		m.addWatcher("p_host", match.HostRole, arena.VerdictIn)
		m.addWatcher("p_dan", match.SpectatorRole, arena.VerdictIn)
		m.removePlace("p_cyd", arena.VerdictOut)
		m.startArena()
		m.removePlace("p_bob", arena.VerdictLeft)
		m.removePlace("p_dan", arena.VerdictOut)
		members, err := m.Members(m.Context(), m.plan.ID, "p_ada", "p_bob", "p_cyd", "p_dan", "p_host", "p_none")
		if want := []string{"p_ada", "p_host"}; err != nil || !slices.Equal(slices.Sorted(maps.Keys(members)), want) {
			m.Errorf("%+v, %v", members, err)
		}
		if view := m.read(); view.EndedPlaces != 3 {
			m.Errorf("%+v", view.State)
		}
		m.addWatcher("p_bob", match.SpectatorRole, arena.VerdictIn)
		m.expectRole("p_bob", match.SpectatorRole)
		m.checkLog()
	})
}

// expectRole expects a person to have a role in an arena, "" for none.
func (m *testMatch) expectRole(player string, role match.Role) match.Member {
	m.Helper()
	members, err := m.Members(m.Context(), m.plan.ID, player)
	member, hasPlace := members[player]
	if err != nil || hasPlace != (role != "") || hasPlace && (member.Role != role || member.Seat.Player != player) {
		m.Fatalf("%s: %+v, %v, want %q", player, member, err, role)
	}
	return member
}

// A thousand players request five hundred seats at two nodes at the same time, each
// player twice.
func TestSeatsAreLimitedUnderConcurrency(t *testing.T) {
	runArenaOnEachRedis(t, match.Survival, func(m *testMatch) {
		m.plan.Arena.MaxPlayers = 500
		stores := []*Store{m.Store, New(m.client, m.client)}
		var seated, refused atomic.Int64
		var running errgroup.Group
		running.SetLimit(64)
		players := playerIDs(1000)
		for i, player := range slices.Concat(players, players) {
			running.Go(func() error {
				reply, err := stores[i%2].AddSeat(m.Context(), m.seatRequest(player, ""))
				switch reply.Verdict {
				case arena.VerdictIn:
					seated.Add(1)
				case arena.VerdictFull:
					refused.Add(1)
				}
				return err
			})
		}
		m.must(running.Wait())
		view := m.read()
		if view.Players != 500 || seated.Load() < 500 || seated.Load() > 1000 || seated.Load()+refused.Load() != 2000 || view.Version != 501 {
			m.Errorf("%d in, %d refused, %+v", seated.Load(), refused.Load(), view.State)
		}
		if view.Teams["red"].Players != 250 || view.Teams["blue"].Players != 250 || len(view.Seats) != match.ShortListPlayers {
			m.Errorf("%v, %d shown", view.Teams, len(view.Seats))
		}
		m.checkSeats(500)
	})
}

// checkSeats checks that exactly the players with a seat are in both orders,
// and that all these keys expire.
func (m *testMatch) checkSeats(n int64) {
	m.Helper()
	seats := m.client.HKeys(m.Context(), m.keys.seats()).Val()
	rank := m.client.ZRange(m.Context(), m.keys.rank(), 0, -1).Val()
	slices.Sort(seats)
	slices.Sort(rank)
	if !slices.Equal(seats, rank) || int64(len(seats)) != n {
		m.Errorf("%d seats, want %d, %d ranked", len(seats), n, len(rank))
	}
	if top := m.client.ZCard(m.Context(), m.keys.top()).Val(); m.plan.Mode == match.Survival && top != n {
		m.Errorf("%d of %d seats in the order for the list", top, n)
	}
	for _, key := range m.allKeys() {
		if ttl := m.client.PTTL(m.Context(), key).Val(); ttl <= 0 && !strings.HasSuffix(key, ":tomb") {
			m.Errorf("%s lives for %v", key, ttl)
		}
	}
}
