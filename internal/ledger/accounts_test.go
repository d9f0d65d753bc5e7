package ledger

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"laststand/internal/identity"
	"laststand/internal/testenv"
)

// addGuest creates a guest with the given id, a device and a nickname.
func addGuest(t testing.TB, l *Ledger, id string) {
	t.Helper()
	if _, _, err := l.Players.CreateGuest(t.Context(), guest(id, "device "+id, "name "+id)); err != nil {
		t.Fatal(err)
	}
}

// playerOrError returns the player of a token's subject, or the text of the error.
func playerOrError(t testing.TB, l *Ledger, sub string) string {
	t.Helper()
	p, err := l.Players.Known(t.Context(), game, sub)
	for _, known := range []error{identity.ErrNotFound, identity.ErrErased} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	return testenv.Need(p, err)(t).ID
}

func TestAnAccountIsLinkedToAGuest(t *testing.T) {
	eachLedger(t, func(t *testing.T, l *Ledger) {
		for _, id := range []string{"p1", "p2", "p3"} {
			addGuest(t, l, id)
		}
		addPlayer(t, l, "idle") // a player without results
		addPlayer(t, l, "busy")
		addArena(t, l, "m_new", "new")
		addArena(t, l, "m_idle", "idle")
		addArena(t, l, "m_busy", "busy")
		testenv.Need(l.Results.Commit(t.Context(), results(duel("m1", 1000, "busy", "p3"))))(t)
		for _, step := range []struct {
			guest, account string
			want           error
		}{
			{"p1", "new", nil},
			{"p1", "new", nil}, // again
			{"p1", "other", identity.ErrAccountTaken},
			{"p2", "new", identity.ErrAccountTaken},
			{"p2", "busy", identity.ErrAccountTaken},
			{"p2", "p1", identity.ErrAccountTaken}, // p1 is a guest, which cannot be an account
			{"p2", "p3", identity.ErrAccountTaken}, // a guest with results
			{"p2", "p2", identity.ErrNotGuest},
			{"busy", "sub", identity.ErrNotGuest},
			{"nobody", "sub", identity.ErrNotFound},
			{"p2", "idle", nil},
			{"p2", "idle", nil},
		} {
			if err := l.Accounts.LinkAccount(t.Context(), game, step.guest, step.account); !errors.Is(err, step.want) {
				t.Errorf("link account: %s and %s: %v, want %v", step.guest, step.account, err, step.want)
			}
		}
		for sub, want := range map[string]string{
			"new": "p1", "idle": "p2", "p1": "p1", "busy": "busy", "p2": "p2", "p3": "p3", "other": "no such player", "sub": "no such player",
		} {
			if got := playerOrError(t, l, sub); got != want {
				t.Errorf("%s is linked to %s, want %s", sub, got, want)
			}
		}
		for id, want := range map[string]string{"m_new": "p1", "m_idle": "p2", "m_busy": "busy"} {
			if r := testenv.Need(l.Arenas.Arena(t.Context(), game, id))(t); r.Host != want {
				t.Errorf("the host of %s is %s, want %s", id, r.Host, want)
			}
		}
		if testenv.Need(l.Names.NicknameTaken(t.Context(), game, "nickidle"))(t) {
			t.Error("the nickname of the deleted player is still in use")
		}
		p, created, err := l.Players.EnsurePlayer(t.Context(), identity.NewPlayer{Game: game, ID: "new", Nickname: "X", Skeleton: "x", JoinedAt: 1})
		if err != nil || created || p.ID != "p1" {
			t.Errorf("the account became %+v, %v, %v", p, created, err)
		}
		revocations := testenv.Need(l.Revocations.RevocationsSince(t.Context(), 0, 10))(t)
		if len(revocations) != 1 || revocations[0].Kind != identity.KindLinked || revocations[0].ID != "idle" {
			t.Errorf("revocations %+v", revocations)
		}
	})
}

// A subject's first token arrives while the subject is linked to a guest. The subject
// becomes a player or the guest's account, never both.
func TestLinkingAnAccountRacesItsFirstToken(t *testing.T) {
	eachLedger(t, func(t *testing.T, l *Ledger) {
		for i := range 8 {
			guest, sub := fmt.Sprint("guest", i), fmt.Sprint("sub", i)
			addGuest(t, l, guest)
			runConcurrently(6, func(n int) {
				if n == 0 {
					if err := l.Accounts.LinkAccount(t.Context(), game, guest, sub); err != nil {
						t.Errorf("link account: %v", err)
					}
					return
				}
				p, _, err := l.Players.EnsurePlayer(t.Context(), identity.NewPlayer{Game: game, ID: sub, Nickname: sub, Skeleton: sub, JoinedAt: 1})
				if err != nil || p.ID != sub && p.ID != guest {
					t.Errorf("%s: %+v, %v", sub, p, err)
				}
			})
			if got := playerOrError(t, l, sub); got != guest {
				t.Errorf("%s is linked to %s, want %s", sub, got, guest)
			}
			if testenv.Need(l.Names.NicknameTaken(t.Context(), game, sub))(t) {
				t.Errorf("the player %s has left its name", sub)
			}
		}
	})
}

func TestErasingAPlayerDeletesTheProfileAndKeepsResults(t *testing.T) {
	eachLedger(t, func(t *testing.T, l *Ledger) {
		addGuest(t, l, "p1")
		addPlayer(t, l, "op")
		testenv.Need(l.Results.Commit(t.Context(), results(duel("m1", 1000, "p1", "op"))))(t)
		for _, step := range []func() error{
			func() error { return l.Accounts.LinkAccount(t.Context(), game, "p1", "account") },
			func() error { return l.Accounts.Erase(t.Context(), game, "p1") },
			func() error { return l.Accounts.Erase(t.Context(), game, "op") },
		} {
			testenv.NoError(t, step())
		}
		addGuest(t, l, "p3")
		if err := l.Accounts.LinkAccount(t.Context(), game, "p3", "account"); !errors.Is(err, identity.ErrBadAccount) {
			t.Errorf("linked to an erased account: %v", err)
		}
		for _, gone := range []string{"p1", "op", "account"} {
			if got := playerOrError(t, l, gone); got != identity.ErrErased.Error() {
				t.Errorf("%s is linked to %s", gone, got)
			}
			_, _, err := l.Players.EnsurePlayer(t.Context(), identity.NewPlayer{Game: game, ID: gone, Nickname: "X", Skeleton: "x" + gone, JoinedAt: 1})
			if !errors.Is(err, identity.ErrErased) {
				t.Errorf("%s was created again: %v", gone, err)
			}
		}
		if err := l.Accounts.Erase(t.Context(), game, "p1"); !errors.Is(err, identity.ErrNotFound) {
			t.Errorf("erased twice: %v", err)
		}
		if _, err := l.Players.Player(t.Context(), game, "p1"); !errors.Is(err, identity.ErrNotFound) {
			t.Errorf("profile: %v", err)
		}
		if names := testenv.Need(l.Names.Nicknames(t.Context(), game, []string{"p1", "op"}))(t); len(names) > 0 {
			t.Errorf("names %v", names)
		}
		// The results stay, later ones too. Other players can take the name and device.
		testenv.Need(l.Results.Commit(t.Context(), results(duel("m2", 2000, "p1", "op"))))(t)
		if all := standingsOf(t, l, "m2"); all[0].Player != "p1" || all[0].Nickname != "" {
			t.Errorf("standings %+v", all)
		}
		next := guest("p2", "device p1", "name p1")
		if p, created, err := l.Players.CreateGuest(t.Context(), next); err != nil || !created || p.ID != "p2" {
			t.Errorf("the device again: %+v, %v, %v", p, created, err)
		}
		revocations := testenv.Need(l.Revocations.RevocationsSince(t.Context(), 0, 10))(t)
		for _, b := range revocations {
			if b.EndsAt != b.ChangedAt+60_000 {
				t.Errorf("%s is revoked for %d ms", b.ID, b.EndsAt-b.ChangedAt)
			}
		}
		if len(revocations) != 3 || revocations[0].ID != "p1" || revocations[1].ID != "account" || revocations[2].ID != "op" || revocations[2].Kind != identity.KindErased {
			t.Errorf("revocations %+v", revocations)
		}
	})
}

// A player who is erased while tokens use the id is not created again.
func TestAnErasedPlayerIsNotCreatedAgainByATokenAtTheSameTime(t *testing.T) {
	eachLedger(t, func(t *testing.T, l *Ledger) {
		for i := range 8 {
			sub := fmt.Sprint("sub", i)
			addPlayer(t, l, sub)
			var created atomic.Int64
			runConcurrently(6, func(n int) {
				if n == 0 {
					if err := l.Accounts.Erase(t.Context(), game, sub); err != nil {
						t.Errorf("erase: %v", err)
					}
					return
				}
				_, isNew, err := l.Players.EnsurePlayer(t.Context(), identity.NewPlayer{Game: game, ID: sub, Nickname: sub, Skeleton: "again" + sub, JoinedAt: 1})
				if err != nil && !errors.Is(err, identity.ErrErased) {
					t.Error(err)
				}
				if isNew {
					created.Add(1)
				}
			})
			if got := playerOrError(t, l, sub); created.Load() > 0 || got != identity.ErrErased.Error() {
				t.Errorf("%s: %d created, and it is linked to %s", sub, created.Load(), got)
			}
		}
	})
}
