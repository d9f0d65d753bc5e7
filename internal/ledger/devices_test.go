package ledger

import (
	"errors"
	"testing"

	"laststand/internal/identity"
	"laststand/internal/testenv"
)

// playerOfDevice returns the player of a device, "" for an unknown device.
func playerOfDevice(t *testing.T, l *Ledger, device string) string {
	t.Helper()
	p, err := l.Players.Guest(t.Context(), game, device)
	if errors.Is(err, identity.ErrNotFound) {
		return ""
	}
	return testenv.Need(p, err)(t).ID
}

// A revocation of a guest or of its account detaches the guest's device.
func TestRevokingDetachesTheDevice(t *testing.T) {
	eachLedger(t, func(t *testing.T, l *Ledger) {
		for _, id := range []string{"p1", "p2", "p3"} {
			addGuest(t, l, id)
		}
		testenv.NoError(t, l.Accounts.LinkAccount(t.Context(), game, "p2", "account"))
		for _, id := range []string{"p1", "account", "nobody"} {
			testenv.Need(l.Revocations.SetRevocation(t.Context(), identity.Revocation{Game: game, Kind: identity.KindSubject, ID: id, Reason: "a lost phone"}))(t)
		}
		for device, want := range map[string]string{"device p1": "", "device p2": "", "device p3": "p3"} {
			if got := playerOfDevice(t, l, device); got != want {
				t.Errorf("%s is that of %q, want %q", device, got, want)
			}
		}
		if id := playerOrError(t, l, "account"); id != "p2" {
			t.Errorf("the account is linked to %s", id)
		}
		testenv.Need(l.Revocations.SetRevocation(t.Context(), ban("p3")))(t)
		if playerOfDevice(t, l, "device p3") != "p3" {
			t.Error("a ban has detached the device")
		}
	})
}

func TestRotateDeviceReplacesTheHash(t *testing.T) {
	eachLedger(t, func(t *testing.T, l *Ledger) {
		addGuest(t, l, "p1")
		addGuest(t, l, "p2")
		addPlayer(t, l, "operators")
		for i, step := range []struct {
			player, from, to string
			want             error
		}{
			{"p1", "device p1", "new", nil},
			{"p1", "device p1", "new", nil}, // repeated, because the reply was lost
			{"p1", "device p1", "other", identity.ErrWrongDevice},
			{"p1", "device p2", "other", identity.ErrWrongDevice},
			{"p1", "new", "device p2", identity.ErrBadDevice},
			{"p2", "x", "new", identity.ErrWrongDevice},
			{"operators", "x", "other", identity.ErrWrongDevice},
			{"nobody", "x", "other", identity.ErrWrongDevice},
		} {
			if err := l.Players.RotateDevice(t.Context(), game, step.player, step.from, step.to); !errors.Is(err, step.want) {
				t.Errorf("step %d: %v, want %v", i, err, step.want)
			}
		}
		for device, want := range map[string]string{"device p1": "", "new": "p1", "device p2": "p2", "other": ""} {
			if got := playerOfDevice(t, l, device); got != want {
				t.Errorf("%s is that of %q, want %q", device, got, want)
			}
		}
	})
}

func TestResetDeviceSetsTheHashOfAGuest(t *testing.T) {
	eachLedger(t, func(t *testing.T, l *Ledger) {
		for _, id := range []string{"p1", "p2", "gone"} {
			addGuest(t, l, id)
		}
		addPlayer(t, l, "operators")
		testenv.NoError(t, errors.Join(l.Accounts.LinkAccount(t.Context(), game, "p2", "account"), l.Accounts.Erase(t.Context(), game, "gone")))
		testenv.Need(l.Revocations.SetRevocation(t.Context(), identity.Revocation{Game: game, Kind: identity.KindSubject, ID: "p1", Reason: "a lost phone"}))(t)
		for _, step := range []struct {
			id, player string
			want       error
		}{
			{"p1", "p1", nil},
			{"account", "p2", nil},
			{"operators", "", identity.ErrNotGuest},
			{"nobody", "", identity.ErrNotFound},
			{"gone", "", identity.ErrNotFound},
		} {
			player, err := l.Players.ResetDevice(t.Context(), game, step.id, "new of "+step.id)
			if player != step.player || !errors.Is(err, step.want) || playerOfDevice(t, l, "new of "+step.id) != step.player {
				t.Errorf("%s: %q, %v; want %q, %v", step.id, player, err, step.player, step.want)
			}
		}
		if got := playerOfDevice(t, l, "device p2"); got != "" {
			t.Errorf("the former device is that of %q", got)
		}
	})
}

func TestAnAccountIsUnlinked(t *testing.T) {
	eachLedger(t, func(t *testing.T, l *Ledger) {
		addGuest(t, l, "p1")
		addGuest(t, l, "p2")
		addPlayer(t, l, "operators")
		for _, by := range []string{"p1", "account"} {
			testenv.NoError(t, l.Accounts.LinkAccount(t.Context(), game, "p1", "account"))
			if account, err := l.Accounts.UnlinkAccount(t.Context(), game, by); account != "account" || err != nil {
				t.Errorf("by %s: %q, %v", by, account, err)
			}
			revocations := testenv.Need(l.Revocations.ListRevocations(t.Context(), game, identity.KindUnlinked, 0, 10))(t)
			if len(revocations) != 1 || revocations[0].ID != "account" || revocations[0].EndsAt != revocations[0].ChangedAt+60_000 {
				t.Errorf("unlinked: revocations %+v", revocations)
			}
			if a, p := playerOrError(t, l, "account"), playerOrError(t, l, "p1"); a != identity.ErrNotFound.Error() || p != "p1" {
				t.Errorf("the account is linked to %s, the guest for %s", a, p)
			}
		}
		for _, id := range []string{"p2", "operators", "nobody"} {
			if _, err := l.Accounts.UnlinkAccount(t.Context(), game, id); !errors.Is(err, identity.ErrNoAccount) {
				t.Errorf("%s: %v", id, err)
			}
		}
		addPlayer(t, l, "account") // it has come meanwhile
		testenv.NoError(t, l.Accounts.LinkAccount(t.Context(), game, "p1", "account"))
		if revocations := testenv.Need(l.Revocations.ListRevocations(t.Context(), game, identity.KindUnlinked, 0, 10))(t); len(revocations) > 0 {
			t.Errorf("linked again: revocations %+v", revocations)
		}
		if playerOrError(t, l, "operators") != "operators" {
			t.Error("a player of the operator's login service was not found")
		}
	})
}
