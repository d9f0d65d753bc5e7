package identity

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"laststand/internal/nickname"
	"laststand/internal/testenv"
)

func guestRequest(name string) GuestRequest {
	return GuestRequest{Game: game, Device: device, Nickname: name, Lang: "en"}
}

func TestADeviceAlwaysGetsTheSamePlayer(t *testing.T) {
	t.Parallel()
	store := newStore()
	registry := newTestRegistry(t, store)
	first, err := registry.Guest(t.Context(), guestRequest("Ada"))
	if err != nil || !first.New || first.Player.Nickname != "Ada" || !strings.HasPrefix(first.Player.ID, "p_") || !ValidID(first.Player.ID) {
		t.Fatalf("first: %+v, %v", first, err)
	}
	if first.Player.JoinedAt != start || first.ExpiresAt != start/1000*1000+GuestTTL.Milliseconds() {
		t.Errorf("joined %d, expires %d", first.Player.JoinedAt, first.ExpiresAt)
	}
	for _, request := range []string{"", "Ada", "Bob", "\x00"} {
		again, err := registry.Guest(t.Context(), guestRequest(request))
		if err != nil || again.New || again.Player != first.Player {
			t.Errorf("again as %q: %+v, %v", request, again, err)
		}
	}
	claims, err := registry.Verify(t.Context(), first.Token)
	if err != nil || claims.Subject != first.Player.ID || claims.Game != game || claims.Role != RolePlayer {
		t.Errorf("the claims of the token are %+v, %v", claims, err)
	}
}

// Only an unknown device needs admission, and a refused device creates no player.
func TestOnlyUnknownDevicesNeedAdmission(t *testing.T) {
	t.Parallel()
	store := newStore()
	registry := newTestRegistry(t, store)
	admissions, errFull := 0, errors.New("full")
	call := func(device, name string, admitErr error) (Guest, error) {
		request := guestRequest(name)
		request.Device = device
		request.Admit = func(context.Context) error { admissions++; return admitErr }
		return registry.Guest(t.Context(), request)
	}
	before := len(store.players)
	for _, name := range []string{"", "Ada"} {
		if _, err := call(device, name, errFull); !errors.Is(err, errFull) || len(store.players) != before {
			t.Errorf("refused as %q: %v, and %d new players", name, err, len(store.players)-before)
		}
	}
	if _, err := call(device, "\x00", errFull); !errors.Is(err, nickname.ErrInvalid) || admissions != 2 {
		t.Errorf("with an invalid name: %v, %d calls of Admit, want 2", err, admissions)
	}
	for range 2 {
		if _, err := call(device, "Ada", nil); err != nil || admissions != 3 {
			t.Errorf("admitted: %v, %d calls of Admit, want 3", err, admissions)
		}
	}
	if guest, err := call(device, "", errFull); err != nil || guest.New {
		t.Errorf("a known device: %+v, %v", guest, err)
	}
}

func TestADeviceHasADifferentPlayerInEachGame(t *testing.T) {
	t.Parallel()
	store := newStore()
	registry := newTestRegistry(t, store)
	first := testenv.Need(registry.Guest(t.Context(), guestRequest("Ada")))(t)
	second, err := registry.Guest(t.Context(), GuestRequest{Game: otherGame, Device: device, Nickname: "Ada"})
	if err != nil || !second.New || second.Player.ID == first.Player.ID {
		t.Errorf("in another game: %+v, %v", second, err)
	}
	if hashDevice(game, device) == hashDevice(otherGame, device) {
		t.Error("a device has the same hash in two games")
	}
	for key := range store.devices {
		if strings.Contains(key[1], device) || len(key[1]) != 64 {
			t.Errorf("the device is stored as %q", key[1])
		}
	}
}

func TestInvalidGuestRequestsAreRefused(t *testing.T) {
	t.Parallel()
	store := newStore()
	store.claim(t, "Taken")
	registry := newTestRegistry(t, store)
	tests := []struct {
		name    string
		request GuestRequest
		want    error
	}{
		{"unknown game", GuestRequest{Game: "nowhere", Device: device}, ErrNoGame},
		{"empty game", GuestRequest{Game: "", Device: device}, ErrNoGame},
		{"no device", GuestRequest{Game: game}, ErrBadDevice},
		{"short device", GuestRequest{Game: game, Device: device[:21]}, ErrBadDevice},
		{"long device", GuestRequest{Game: game, Device: strings.Repeat("d", 65)}, ErrBadDevice},
		{"device of another alphabet", GuestRequest{Game: game, Device: device + "+"}, ErrBadDevice},
		{"invalid nickname", guestRequest("\x00\x00"), nickname.ErrInvalid},
		{"taken nickname", guestRequest("Taken"), ErrNicknameTaken},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got, err := registry.Guest(t.Context(), tt.request); !errors.Is(err, tt.want) || got != (Guest{}) {
				t.Errorf("Guest: %+v, %v; want %v", got, err, tt.want)
			}
		})
	}
}

func TestGuestsAreRefusedWithoutASigningKey(t *testing.T) {
	t.Parallel()
	public, _ := newEd25519Keys(t)
	store := newStore()
	registry := newTestRegistryWith(t, store, openTestTokens(t, store, map[string][]Key{game: {{ID: "k1", Alg: EdDSA, Secret: public}}}))
	if _, err := registry.Guest(t.Context(), guestRequest("Ada")); !errors.Is(err, ErrCannotSign) || len(store.players) > 0 {
		t.Errorf("Guest: %v, and %d players; want %v and none", err, len(store.players), ErrCannotSign)
	}
}

func TestTakenNicknameIsRefusedWithSuggestions(t *testing.T) {
	t.Parallel()
	store := newStore()
	registry := newTestRegistry(t, store)
	store.claim(t, "Ada") // after the registry has read the names
	_, err := registry.Guest(t.Context(), guestRequest("ada"))
	taken, ok := errors.AsType[*TakenError](err)
	if !ok || len(taken.Suggestions) != 3 {
		t.Fatalf("Guest: %v, want a TakenError with three suggestions", err)
	}
	for i, suggestion := range taken.Suggestions {
		request := guestRequest(suggestion)
		request.Device += fmt.Sprint(i)
		if guest, err := registry.Guest(t.Context(), request); err != nil || !guest.New || guest.Player.Nickname != suggestion {
			t.Errorf("suggestion %q: %+v, %v", suggestion, guest, err)
		}
	}
}

func TestGeneratedNicknamesDifferAndNeedNoQuery(t *testing.T) {
	t.Parallel()
	store := newStore()
	registry := newTestRegistry(t, store)
	seen := map[string]bool{}
	for i := range 200 {
		request := GuestRequest{Game: game, Device: fmt.Sprintf("%s-%d", device, i), Lang: []string{"en", "zh-CN", ""}[i%3]}
		guest, err := registry.Guest(t.Context(), request)
		if err != nil || !guest.New || seen[guest.Player.Nickname] {
			t.Fatalf("guest %d: %+v, %v", i, guest, err)
		}
		seen[guest.Player.Nickname] = true
	}
	if store.takenQueries > 0 {
		t.Errorf("%d queries for nicknames that the filter rules out", store.takenQueries)
	}
}

func TestATakenGeneratedNicknameIsDrawnAgain(t *testing.T) {
	t.Parallel()
	registry := newTestRegistry(t, newStore())
	refusals := 3
	got, created, err := registry.createNamed(t.Context(), NewPlayer{Game: game, ID: "p_1"}, "en",
		func(_ context.Context, p NewPlayer) (Player, bool, error) {
			if refusals--; refusals >= 0 {
				return Player{}, false, ErrNicknameTaken
			}
			return Player{ID: p.ID, Nickname: p.Nickname}, true, nil
		})
	if err != nil || !created || got.Nickname == "" || refusals != -1 {
		t.Errorf("%+v, created %v, %v, %d refusals left", got, created, err, refusals)
	}
}

func TestGuestFailsAfterTheMaximumOfTakenNicknames(t *testing.T) {
	t.Parallel()
	registry := newTestRegistry(t, newStore())
	tries := 0
	_, _, err := registry.createNamed(t.Context(), NewPlayer{Game: game, ID: "p_1"}, "en",
		func(context.Context, NewPlayer) (Player, bool, error) {
			tries++
			return Player{}, false, ErrNicknameTaken
		})
	if err == nil || errors.Is(err, ErrNicknameTaken) || tries != maxNicknameDraws {
		t.Errorf("%v after %d tries", err, tries)
	}
}

func TestEnsureReturnsOnePlayerPerSubject(t *testing.T) {
	t.Parallel()
	store := newStore()
	registry := newTestRegistry(t, store)
	claims := Claims{Subject: "operator:17", Game: game, Role: RolePlayer}
	first, err := registry.Ensure(t.Context(), claims)
	if err != nil || first.ID != claims.Subject || first.Nickname == "" {
		t.Fatalf("Ensure: %+v, %v", first, err)
	}
	if again, err := registry.Ensure(t.Context(), claims); err != nil || again != first {
		t.Errorf("again: %+v, %v", again, err)
	}
	for want, claims := range map[error]Claims{
		ErrNotPlayer: {Subject: "x", Game: game, Role: RoleHost},
		ErrNoGame:    {Subject: "x", Game: "nowhere", Role: RolePlayer},
	} {
		if _, err := registry.Ensure(t.Context(), claims); !errors.Is(err, want) {
			t.Errorf("%+v: %v, want %v", claims, err, want)
		}
	}
	store.setDown(true)
	if _, err := registry.Ensure(t.Context(), Claims{Subject: "new", Game: game, Role: RolePlayer}); !errors.Is(err, errStore) {
		t.Errorf("with the store down: %v", err)
	}
}

// A guest's token outlives its player if the ledger went back. It does not create a player,
// because the guest's device would then get another one.
func TestATokenOfALostGuestCreatesNoPlayer(t *testing.T) {
	t.Parallel()
	registry := newTestRegistry(t, newStore())
	lost := newPlayerID()
	if _, err := registry.Ensure(t.Context(), Claims{Subject: lost, Game: game, Role: RolePlayer}); !errors.Is(err, ErrUnknownGuest) || !errors.Is(err, ErrToken) {
		t.Errorf("%s: %v", lost, err)
	}
	for _, subject := range []string{"p_42", "x" + lost, strings.ToUpper(lost), lost[:len(lost)-1], lost[2:]} {
		if p, err := registry.Ensure(t.Context(), Claims{Subject: subject, Game: game, Role: RolePlayer}); err != nil || p.ID != subject {
			t.Errorf("the subject %s of a login service: %+v, %v", subject, p, err)
		}
	}
}

func TestAvailableSaysWhetherANicknameIsFree(t *testing.T) {
	t.Parallel()
	store := newStore()
	store.claim(t, "Ada")
	registry := newTestRegistry(t, store)
	availability, err := registry.Available(t.Context(), game, "ADA", Requester{})
	if err != nil || availability.Available || len(availability.Suggestions) != 3 {
		t.Errorf("taken: %+v, %v", availability, err)
	}
	store.mu.Lock()
	store.takenQueries = 0
	store.mu.Unlock()
	availability, err = registry.Available(t.Context(), game, "Grace", Requester{})
	if err != nil || !availability.Available || availability.Nickname != "Grace" || availability.Suggestions != nil || store.takenQueries != 0 {
		t.Errorf("free: %+v, %v, %d queries", availability, err, store.takenQueries)
	}
	if _, err = registry.Available(t.Context(), game, "\x00\x00", Requester{}); !errors.Is(err, nickname.ErrInvalid) {
		t.Errorf("invalid: %v", err)
	}
	if _, err = registry.Available(t.Context(), "nowhere", "Grace", Requester{}); !errors.Is(err, ErrNoGame) {
		t.Errorf("unknown game: %v", err)
	}
}

func TestAFalsePositiveDoesNotRefuseAFreeNickname(t *testing.T) {
	t.Parallel()
	store := newStore()
	registry := newTestRegistry(t, store)
	name := testenv.Need(nickname.Parse("Ada"))(t)
	registry.views[game].add(name.Skeleton) // the filter now contains a name that the store does not have
	if availability, err := registry.Available(t.Context(), game, "Ada", Requester{}); err != nil || !availability.Available {
		t.Errorf("available: %+v, %v", availability, err)
	}
	if guest, err := registry.Guest(t.Context(), guestRequest("Ada")); err != nil || !guest.New {
		t.Errorf("guest: %+v, %v", guest, err)
	}
}

func TestRenameChangesTheNickname(t *testing.T) {
	t.Parallel()
	store := newStore()
	store.claim(t, "Taken")
	registry := newTestRegistry(t, store)
	claims := Claims{Subject: "operator:17", Game: game, Role: RolePlayer}
	for _, tt := range []struct {
		request string
		want    error
	}{
		{"Grace", nil}, {"GRACE", nil}, {"Taken", ErrNicknameTaken}, {"\x00\x00", nickname.ErrInvalid},
	} {
		got, err := registry.Rename(t.Context(), claims, tt.request, Requester{})
		if !errors.Is(err, tt.want) || tt.want == nil && got != tt.request {
			t.Errorf("%q: %q, %v; want %v", tt.request, got, err, tt.want)
		}
	}
	if p := store.players[[2]string{game, claims.Subject}]; p.Nickname != "GRACE" {
		t.Errorf("the player is %q", p.Nickname)
	}
}

// If the subject is the player's own id, a rename needs no lookup of the player.
func TestRenameOfTheOwnIdNeedsNoPlayerLookup(t *testing.T) {
	t.Parallel()
	store := newStore()
	registry := newTestRegistry(t, store)
	guest := testenv.Need(registry.Guest(t.Context(), guestRequest("Ada")))(t)
	counter := &lookupCounter{Players: store}
	registry.Players = counter
	if got, err := registry.Rename(t.Context(), player(guest.Player.ID), "Grace", Requester{}); err != nil || got != "Grace" || counter.lookups != 0 {
		t.Errorf("%q, %v; %d lookups of the player", got, err, counter.lookups)
	}
	store.link("op:1", guest.Player.ID)
	if got, err := registry.Rename(t.Context(), player("op:1"), "Eva", Requester{}); err != nil || got != "Eva" || counter.lookups != 1 || store.players[[2]string{game, guest.Player.ID}].Nickname != "Eva" {
		t.Errorf("by an account: %q, %v; %d lookups of the player", got, err, counter.lookups)
	}
	store.link("op:1", "")
	if _, err := registry.Rename(t.Context(), player("op:1"), "Ida", Requester{}); !errors.Is(err, ErrErased) {
		t.Errorf("by the account of an erased player: %v", err)
	}
	host := player(guest.Player.ID)
	host.Role = RoleHost
	if _, err := registry.Rename(t.Context(), host, "Ida", Requester{}); !errors.Is(err, ErrNotPlayer) {
		t.Errorf("by a host: %v", err)
	}
}

// lookupCounter counts lookups of a subject's player.
type lookupCounter struct {
	Players
	lookups int
}

func (c *lookupCounter) Known(ctx context.Context, game, subject string) (Player, error) {
	c.lookups++
	return c.Players.Known(ctx, game, subject)
}

// advance advances virtual time, and waits until all goroutines are idle.
func advance(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}
