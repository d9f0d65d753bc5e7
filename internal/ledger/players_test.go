package ledger

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"laststand/internal/identity"
	"laststand/internal/match"
	"laststand/internal/testenv"
)

func guest(id, device, skeleton string) identity.NewPlayer {
	return identity.NewPlayer{Game: game, ID: id, DeviceHash: device, Nickname: "Nick " + skeleton, Skeleton: skeleton, JoinedAt: 42}
}

func TestOneGuestPerDevice(t *testing.T) {
	eachLedger(t, func(t *testing.T, l *Ledger) {
		got := make([]identity.Player, 50)
		var created atomic.Int64
		runConcurrently(50, func(i int) {
			p, isNew, err := l.Players.CreateGuest(t.Context(), guest(fmt.Sprint("p", i), "device", fmt.Sprint("name", i)))
			if err != nil {
				t.Error(err)
			}
			if isNew {
				created.Add(1)
			}
			got[i] = p
		})
		if n := len(slices.Compact(got)); n != 1 || created.Load() != 1 {
			t.Errorf("%d players, %d created: want one", n, created.Load())
		}
		want := identity.Player{Game: game, ID: got[0].ID, Nickname: got[0].Nickname, JoinedAt: 42}
		if stored := testenv.Need(l.Players.Player(t.Context(), game, got[0].ID))(t); stored != want || got[0] != want {
			t.Errorf("stored %+v, returned %+v, want %+v", stored, got[0], want)
		}
	})
}

func TestOnePlayerPerNickname(t *testing.T) {
	eachLedger(t, func(t *testing.T, l *Ledger) {
		var created, taken atomic.Int64
		runConcurrently(50, func(i int) {
			_, _, err := l.Players.CreateGuest(t.Context(), guest(fmt.Sprint("p", i), fmt.Sprint("device", i), "ada"))
			switch {
			case err == nil:
				created.Add(1)
			case errors.Is(err, identity.ErrNicknameTaken):
				taken.Add(1)
			default:
				t.Error(err)
			}
		})
		if created.Load() != 1 || taken.Load() != 49 {
			t.Errorf("created %d, refused %d: want 1 and 49", created.Load(), taken.Load())
		}
		if !testenv.Need(l.Names.NicknameTaken(t.Context(), game, "ada"))(t) {
			t.Error("NicknameTaken is false for a claimed nickname")
		}
		if testenv.Need(l.Names.NicknameTaken(t.Context(), "other.game", "ada"))(t) {
			t.Error("the nickname is taken in another game")
		}
	})
}

func TestGuestNeedsADevice(t *testing.T) {
	t.Parallel()
	l := openLedger(t, testenv.SQL{Dir: t.TempDir()})
	for range 2 {
		if _, _, err := l.Players.CreateGuest(t.Context(), guest("p1", "", "ada")); err == nil {
			t.Error("a guest without a device was created")
		}
	}
}

func TestEnsurePlayer(t *testing.T) {
	eachLedger(t, func(t *testing.T, l *Ledger) {
		if _, err := l.Players.Player(t.Context(), game, "sub1"); !errors.Is(err, identity.ErrNotFound) {
			t.Errorf("unknown player: %v", err)
		}
		if _, err := l.Players.Seat(t.Context(), game, "sub1"); !errors.Is(err, identity.ErrNotFound) {
			t.Errorf("seat of an unknown player: %v", err)
		}
		for i, wantNew := range []bool{true, false} {
			p, created, err := l.Players.EnsurePlayer(t.Context(), identity.NewPlayer{Game: game, ID: "sub1", Nickname: "Ada", Skeleton: fmt.Sprint("ada", i), JoinedAt: 1})
			if err != nil || created != wantNew || p.Nickname != "Ada" || p.Rating != (match.Rating{}) {
				t.Errorf("call %d: %+v, created %v, %v", i, p, created, err)
			}
		}
		_, _, err := l.Players.EnsurePlayer(t.Context(), identity.NewPlayer{Game: game, ID: "sub2", Nickname: "ADA", Skeleton: "ada0", JoinedAt: 1})
		if !errors.Is(err, identity.ErrNicknameTaken) {
			t.Errorf("taken nickname: %v", err)
		}
	})
}

func TestRenameClaimsTheNewNickname(t *testing.T) {
	eachLedger(t, func(t *testing.T, l *Ledger) {
		addPlayer(t, l, "p1")
		addPlayer(t, l, "p2")
		for _, c := range []struct {
			id, nickname, skeleton string
			want                   error
		}{
			{"p1", "nICK P1", "nickp1", nil}, // their own
			{"p1", "Nick P2", "nickp2", identity.ErrNicknameTaken},
			{"p1", "Ada", "ada", nil},
			{"p2", "Ada", "ada", identity.ErrNicknameTaken},
			{"p2", "Nick p1", "nickp1", nil}, // freed
			{"p3", "Bob", "bob", identity.ErrNotFound},
		} {
			if err := l.Names.Rename(t.Context(), game, c.id, c.nickname, c.skeleton); !errors.Is(err, c.want) {
				t.Errorf("%+v: %v", c, err)
			}
		}
		got := testenv.Need(l.Names.Nicknames(t.Context(), game, []string{"p1", "p2", "p3"}))(t)
		if len(got) != 2 || got["p1"] != "Ada" || got["p2"] != "Nick p1" {
			t.Errorf("nicknames %v", got)
		}
	})
}

func TestOneOfConcurrentClaimsWins(t *testing.T) {
	eachLedger(t, func(t *testing.T, l *Ledger) {
		ids := names("p", 20)
		for _, id := range ids {
			addPlayer(t, l, id)
		}
		var won atomic.Int64
		runConcurrently(len(ids), func(i int) {
			switch err := l.Names.Rename(t.Context(), game, ids[i], "Ada", "ada"); {
			case err == nil:
				won.Add(1)
			case !errors.Is(err, identity.ErrNicknameTaken):
				t.Error(err)
			}
		})
		if won.Load() != 1 {
			t.Errorf("%d players have the nickname", won.Load())
		}
	})
}

func TestNicknamesReturnsUpToMaxNames(t *testing.T) {
	eachLedger(t, func(t *testing.T, l *Ledger) {
		ids := names("p", MaxNames)
		for _, id := range ids {
			addPlayer(t, l, id)
		}
		for _, n := range []int{0, 1, 2, 3, 20, 61, MaxNames} {
			got := testenv.Need(l.Names.Nicknames(t.Context(), game, ids[:n]))(t)
			if len(got) != n || n > 0 && got[ids[n-1]] != "Nick "+ids[n-1] {
				t.Errorf("%d ids: %d nicknames", n, len(got))
			}
		}
		if _, err := l.Names.Nicknames(t.Context(), game, append(ids, "one more")); err == nil {
			t.Error("too many ids were accepted")
		}
	})
}

func TestConcurrentNodesStoreOneFirstKey(t *testing.T) {
	eachLedger(t, func(t *testing.T, l *Ledger) {
		read := make([]string, 10)
		runConcurrently(len(read), func(i int) {
			k := identity.Key{ID: fmt.Sprint("k", i), Alg: "HS256", Secret: []byte{0, 0xff, byte(i)}}
			if err := l.TokenKeys.AddKeyIfNone(t.Context(), "", k); err != nil {
				t.Error(err)
			}
			keys, err := l.TokenKeys.Keys(t.Context(), "")
			if err != nil || len(keys) != 1 || keys[0].ID != fmt.Sprint("k", keys[0].Secret[2]) {
				t.Errorf("keys %v, %v", keys, err)
				return
			}
			read[i] = keys[0].ID + keys[0].Alg
		})
		if len(slices.Compact(read)) != 1 {
			t.Errorf("the nodes read different keys: %v", read)
		}
		if keys := testenv.Need(l.TokenKeys.Keys(t.Context(), game))(t); len(keys) != 0 {
			t.Errorf("the game has the server's key: %v", keys)
		}
	})
}
