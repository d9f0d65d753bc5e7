package redismatch

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/errgroup"

	"laststand/internal/arena"
	"laststand/internal/match"
)

func TestAddSeat(t *testing.T) {
	eachArena(t, match.Survival, func(p *testMatch) {
		if _, err := p.Read(p.Context(), match.ReadQuery{Match: p.plan.ID, Node: "n_1", After: -1}); err != nil {
			p.Fatal(err)
		}
		want := arena.PlaceReply{Verdict: arena.In, Team: "red", Role: match.AsPlayer, Phase: match.Lobby, Nodes: []string{"n_1"}}
		if reply := p.addSeat("p_ada", "", arena.In); !reflect.DeepEqual(reply, want) {
			p.Errorf("%+v", reply)
		}
		for player, team := range map[string]string{"p_bob": "blue"} { // the smallest team
			if reply := p.addSeat(player, "", arena.In); reply.Team != team {
				p.Errorf("%s sits in %s", player, reply.Team)
			}
		}
		if reply := p.addSeat("p_cyd", "blue", arena.In); reply.Team != "blue" {
			p.Errorf("%+v", reply)
		}
		before := p.read()
		for _, request := range []string{"", "blue"} { // a player with a seat keeps it
			if reply := p.addSeat("p_ada", request, arena.In); reply.Team != "red" {
				p.Errorf("%+v", reply)
			}
		}
		v := p.read()
		if !reflect.DeepEqual(v, before) {
			p.Errorf("%+v became %+v", before, v)
		}
		if v.Players != 3 || v.Version != 4 || v.Teams["red"].Players != 1 || v.Teams["blue"].Players != 2 || len(v.Seats) != 3 {
			p.Errorf("%+v", v)
		}
		for _, seat := range v.Seats {
			if seat.Nickname != "Nick of "+seat.Player || v.Ranks["p_ada"] != 1 {
				p.Errorf("%+v, ranks %v", seat, v.Ranks)
			}
		}
		p.checkLog()
	})
}

func TestAddSeatRefusals(t *testing.T) {
	eachArena(t, match.Buzzer, func(p *testMatch) {
		p.plan.Arena.MaxPlayers = 2
		p.ban("p_eve", arena.Out) // a person without a place cannot be banned
		if n := p.client.Exists(p.Context(), p.keys.banned()).Val(); n != 0 {
			p.Error("an invented player is kept among the banned")
		}
		p.addWatcher("p_eve", match.AsSpectator, arena.In)
		p.ban("p_eve", arena.Out)
		p.ban("p_eve", arena.Banned) // repeated
		p.seat("p_ada", "p_bob")
		if reply, err := p.RemovePlace(p.Context(), p.plan.ID, "p_ada", 1); err != nil || reply.Verdict != arena.Full {
			p.Errorf("a ban beyond as many as may be: %+v, %v", reply, err)
		}
		p.addSeat("p_cyd", "", arena.Full)
		p.addSeat("p_eve", "", arena.Banned) // the ban comes first
		p.plan.Arena.MaxPlayers = 3
		for range 2 {
			if err := p.LockLobby(p.Context(), p.plan.ID); err != nil {
				p.Fatal(err)
			}
		}
		p.addSeat("p_cyd", "", arena.Locked)
		p.addSeat("p_ada", "", arena.In)
		if v := p.read(); !v.Locked || v.Version != 5 {
			p.Errorf("%+v", v.State)
		}
		p.start()
		p.addSeat("p_cyd", "", arena.Started)
		p.addSeat("p_eve", "", arena.Banned)
		p.removePlace("p_bob", arena.Left)
		p.addSeat("p_bob", "", arena.Started)
		if reply := p.addSeat("p_ada", "", arena.In); reply.Phase != match.Open {
			p.Errorf("%+v", reply)
		}
		p.applyStep(match.Over, 0)
		p.addSeat("p_bob", "", arena.Gone)
		p.addSeat("p_cyd", "", arena.Gone)
		p.addWatcher("p_cyd", match.AsSpectator, arena.Gone)
		p.ban("p_ada", arena.Gone)
		p.plan.ID = "m_none"
		p.addSeat("p_ada", "", arena.Gone)
		p.addWatcher("p_ada", match.AsHost, arena.Gone)
		p.removePlace("p_ada", arena.Gone)
		if err := p.LockLobby(p.Context(), "m_none"); !errors.Is(err, match.ErrNotFound) {
			p.Error(err)
		}
		if n := len(p.allKeys()); n != 0 {
			p.Errorf("%v came into being", p.allKeys())
		}
		p.plan.ID = p.keys.id
	})
}

// Players, spectators and the host who were away at the end of the match find
// their places again. Other people do not.
func TestPlacesAfterTheEnd(t *testing.T) {
	eachArena(t, match.Survival, func(p *testMatch) {
		p.seat("p_ada", "p_bob", "p_eve")
		p.addWatcher("p_cyd", match.AsSpectator, arena.In)
		p.addWatcher("p_host", match.AsHost, arena.In)
		p.start()
		p.removePlace("p_bob", arena.Left)
		p.applyStep(match.Over, 0)
		if reply := p.addSeat("p_ada", "blue", arena.In); reply.Team != "red" || reply.Role != match.AsPlayer || reply.Phase != match.Over {
			p.Errorf("%+v", reply)
		}
		if reply := p.addWatcher("p_eve", match.AsSpectator, arena.In); reply.Role != match.AsPlayer {
			p.Errorf("%+v", reply)
		}
		p.addWatcher("p_cyd", match.AsSpectator, arena.In)
		p.addWatcher("p_host", match.AsHost, arena.In)
		for _, stranger := range []string{"p_bob", "p_dan"} {
			p.addSeat(stranger, "", arena.Gone)
			p.addWatcher(stranger, match.AsSpectator, arena.Gone)
		}
		p.expirePlayKeys()
		p.addSeat("p_ada", "", arena.In)
	})
}

// An arena that was closed in its lobby has no match to return to.
func TestPlacesAfterALobbyWasClosed(t *testing.T) {
	eachArena(t, match.Buzzer, func(p *testMatch) {
		p.seat("p_ada")
		p.addWatcher("p_cyd", match.AsSpectator, arena.In)
		s := p.step(p.read().State, match.Over, -1)
		s.Pushes = nil
		if done, err := p.Step(p.Context(), s); err != nil || !done.Applied {
			p.Fatalf("%+v, %v", done, err)
		}
		p.addSeat("p_ada", "", arena.Gone)
		p.addWatcher("p_cyd", match.AsSpectator, arena.Gone)
	})
}

func TestRemovePlaceInTheLobby(t *testing.T) {
	eachArena(t, match.Survival, func(p *testMatch) {
		p.seat("p_ada", "p_bob", "p_cyd")
		for i := range 2 { // it may be repeated
			if reply := p.removePlace("p_ada", arena.Out); i == 0 && reply.Team != "red" {
				p.Errorf("%+v", reply)
			}
		}
		v := p.read()
		if v.Players != 2 || v.LeftSeats != 0 || v.Version != 5 || v.Teams["red"].Players != 1 || len(v.Seats) != 2 || len(v.Ranks) != 1 {
			p.Errorf("%+v", v)
		}
		p.addSeat("p_ada", "", arena.In)
		p.ban("p_ada", arena.Out)
		p.addSeat("p_ada", "", arena.Banned)
		p.addWatcher("p_ada", match.AsSpectator, arena.Banned)
		if v := p.read(); v.Players != 2 {
			p.Errorf("%+v", v.State)
		}
	})
}

func TestAddWatcher(t *testing.T) {
	eachArena(t, match.Buzzer, func(p *testMatch) {
		version := p.read().Version
		if reply := p.addWatcher("p_host", match.AsHost, arena.In); reply.Role != match.AsHost || reply.Phase != match.Lobby {
			p.Errorf("%+v", reply)
		}
		p.addWatcher("p_cyd", match.AsSpectator, arena.In)
		if v := p.read(); v.Version != version || v.Players != 0 {
			p.Errorf("%+v", v.State)
		}
		p.member("p_host", match.AsHost)
		p.member("p_cyd", match.AsSpectator)
		if reply := p.addSeat("p_cyd", "blue", arena.In); reply.Role != match.AsPlayer {
			p.Errorf("%+v", reply)
		}
		if reply := p.addWatcher("p_cyd", match.AsSpectator, arena.In); reply.Role != match.AsPlayer || reply.Team != "blue" {
			p.Errorf("a player watches as %+v", reply)
		}
		if m := p.member("p_cyd", match.AsPlayer); m.Seat.Team != "blue" || m.Seat.Nickname != "Nick of p_cyd" {
			p.Errorf("%+v", m)
		}
		p.start()
		p.addWatcher("p_dan", match.AsSpectator, arena.In)
		p.removePlace("p_dan", arena.Out)
		p.member("p_dan", "")
		if reply := p.removePlace("p_host", arena.Out); reply.Role != match.AsHost {
			p.Errorf("%+v", reply)
		}
		p.removePlace("p_cyd", arena.Left)
		p.member("p_cyd", "")
		p.addWatcher("p_cyd", match.AsSpectator, arena.In)
		p.member("p_cyd", match.AsSpectator)
	})
}

func TestWithoutPlace(t *testing.T) {
	eachArena(t, match.Buzzer, func(p *testMatch) {
		p.seat("p_ada", "p_bob", "p_cyd")
		p.addWatcher("p_host", match.AsHost, arena.In)
		p.addWatcher("p_dan", match.AsSpectator, arena.In)
		p.removePlace("p_cyd", arena.Out)
		p.start()
		p.removePlace("p_bob", arena.Left)
		p.removePlace("p_dan", arena.Out)
		absent, err := p.WithoutPlace(p.Context(), p.plan.ID, []string{"p_ada", "p_bob", "p_cyd", "p_dan", "p_host", "p_none"})
		if want := []string{"p_bob", "p_cyd", "p_dan", "p_none"}; err != nil || !slices.Equal(absent, want) {
			p.Errorf("%q, %v", absent, err)
		}
		if v := p.read(); v.EndedPlaces != 3 {
			p.Errorf("%+v", v.State)
		}
		p.addWatcher("p_bob", match.AsSpectator, arena.In)
		if absent, _ := p.WithoutPlace(p.Context(), p.plan.ID, []string{"p_bob"}); len(absent) != 0 {
			p.Errorf("%q", absent)
		}
		p.checkLog()
	})
}

// member expects a person to have a role in an arena, "" for none.
func (p *testMatch) member(player string, as match.Role) match.Member {
	p.Helper()
	m, err := p.Member(p.Context(), p.plan.ID, player)
	if as == "" && !errors.Is(err, match.ErrNotFound) || as != "" && (err != nil || m.Role != as || m.Seat.Player != player) {
		p.Fatalf("%s: %+v, %v, want %q", player, m, err, as)
	}
	return m
}

// A thousand players request five hundred seats at two nodes, each twice at the
// same time.
func TestNoSeatTooMany(t *testing.T) {
	eachArena(t, match.Survival, func(p *testMatch) {
		p.plan.Arena.MaxPlayers = 500
		stores := []*Store{p.Store, New(p.client, p.client)}
		var in, full atomic.Int64
		var all errgroup.Group
		all.SetLimit(64)
		players := playerIDs(1000)
		for i, player := range slices.Concat(players, players) {
			all.Go(func() error {
				reply, err := stores[i%2].AddSeat(p.Context(), p.request(player, ""))
				switch reply.Verdict {
				case arena.In:
					in.Add(1)
				case arena.Full:
					full.Add(1)
				}
				return err
			})
		}
		if err := all.Wait(); err != nil {
			p.Fatal(err)
		}
		v := p.read()
		if v.Players != 500 || in.Load() < 500 || in.Load() > 1000 || in.Load()+full.Load() != 2000 || v.Version != 501 {
			p.Errorf("%d in, %d refused, %+v", in.Load(), full.Load(), v.State)
		}
		if v.Teams["red"].Players != 250 || v.Teams["blue"].Players != 250 || len(v.Seats) != match.ShortView {
			p.Errorf("%v, %d shown", v.Teams, len(v.Seats))
		}
		p.checkSeats(500)
	})
}

// checkSeats checks that exactly the players with a seat are in both orders,
// and that all these keys expire.
func (p *testMatch) checkSeats(n int64) {
	p.Helper()
	seats := p.client.HKeys(p.Context(), p.keys.seats()).Val()
	rank := p.client.ZRange(p.Context(), p.keys.rank(), 0, -1).Val()
	slices.Sort(seats)
	slices.Sort(rank)
	if !slices.Equal(seats, rank) || int64(len(seats)) != n {
		p.Errorf("%d seats, want %d, %d ranked", len(seats), n, len(rank))
	}
	if top := p.client.ZCard(p.Context(), p.keys.top()).Val(); p.plan.Mode == match.Survival && top != n {
		p.Errorf("%d of %d to be shown", top, n)
	}
	for _, key := range p.allKeys() {
		if ttl := p.client.PTTL(p.Context(), key).Val(); ttl <= 0 && !strings.HasSuffix(key, ":tomb") {
			p.Errorf("%s lives for %v", key, ttl)
		}
	}
}
