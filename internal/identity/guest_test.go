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
)

func guestRequest(request string) GuestRequest {
	return GuestRequest{Game: game, Device: device, Nickname: request, Lang: "en"}
}

func TestADeviceAlwaysGetsTheSamePlayer(t *testing.T) {
	t.Parallel()
	s := newStore()
	r := newTestRegistry(t, s)
	first, err := r.Guest(t.Context(), guestRequest("Ada"))
	if err != nil || !first.New || first.Player.Nickname != "Ada" || !strings.HasPrefix(first.Player.ID, "p_") || !ValidID(first.Player.ID) {
		t.Fatalf("first: %+v, %v", first, err)
	}
	if first.Player.JoinedAt != start || first.ExpiresAt != start/1000*1000+GuestTTL.Milliseconds() {
		t.Errorf("joined %d, expires %d", first.Player.JoinedAt, first.ExpiresAt)
	}
	for _, request := range []string{"", "Ada", "Bob", "\x00"} {
		again, err := r.Guest(t.Context(), guestRequest(request))
		if err != nil || again.New || again.Player != first.Player {
			t.Errorf("again as %q: %+v, %v", request, again, err)
		}
	}
	c, err := r.Verify(t.Context(), first.Token)
	if err != nil || c.Subject != first.Player.ID || c.Game != game || c.Role != RolePlayer {
		t.Errorf("the claims of the token are %+v, %v", c, err)
	}
}

// Only an unknown device needs admission, and a refused device creates no player.
func TestOnlyUnknownDevicesNeedAdmission(t *testing.T) {
	t.Parallel()
	s := newStore()
	r := newTestRegistry(t, s)
	admissions, full := 0, errors.New("full")
	call := func(device, request string, admitted error) (Guest, error) {
		guestReq := guestRequest(request)
		guestReq.Device = device
		guestReq.Admit = func(context.Context) error { admissions++; return admitted }
		return r.Guest(t.Context(), guestReq)
	}
	before := len(s.players)
	for _, request := range []string{"", "Ada"} {
		if _, err := call(device, request, full); !errors.Is(err, full) || len(s.players) != before {
			t.Errorf("refused as %q: %v, and %d new players", request, err, len(s.players)-before)
		}
	}
	if _, err := call(device, "\x00", full); !errors.Is(err, nickname.ErrInvalid) || admissions != 2 {
		t.Errorf("with an invalid name: %v, %d calls of Admit, want 2", err, admissions)
	}
	for range 2 {
		if _, err := call(device, "Ada", nil); err != nil || admissions != 3 {
			t.Errorf("admitted: %v, %d calls of Admit, want 3", err, admissions)
		}
	}
	if g, err := call(device, "", full); err != nil || g.New {
		t.Errorf("a known device: %+v, %v", g, err)
	}
}

func TestADeviceHasADifferentPlayerInEachGame(t *testing.T) {
	t.Parallel()
	s := newStore()
	r := newTestRegistry(t, s)
	a, err := r.Guest(t.Context(), guestRequest("Ada"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := r.Guest(t.Context(), GuestRequest{Game: other, Device: device, Nickname: "Ada"})
	if err != nil || !b.New || b.Player.ID == a.Player.ID {
		t.Errorf("in another game: %+v, %v", b, err)
	}
	if hashDevice(game, device) == hashDevice(other, device) {
		t.Error("a device has the same hash in two games")
	}
	for key := range s.devices {
		if strings.Contains(key[1], device) || len(key[1]) != 64 {
			t.Errorf("the device is stored as %q", key[1])
		}
	}
}

func TestInvalidGuestRequestsAreRefused(t *testing.T) {
	t.Parallel()
	s := newStore()
	s.claim(t, "Taken")
	r := newTestRegistry(t, s)
	tests := []struct {
		name string
		q    GuestRequest
		want error
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
			if got, err := r.Guest(t.Context(), tt.q); !errors.Is(err, tt.want) || got != (Guest{}) {
				t.Errorf("Guest: %+v, %v; want %v", got, err, tt.want)
			}
		})
	}
}

func TestGuestsAreRefusedWithoutASigningKey(t *testing.T) {
	t.Parallel()
	public, _ := newEd25519Keys(t)
	s := newStore()
	r := newTestRegistryWith(t, s, openTestTokens(t, s, map[string][]Key{game: {{ID: "k1", Alg: EdDSA, Secret: public}}}))
	if _, err := r.Guest(t.Context(), guestRequest("Ada")); !errors.Is(err, ErrCannotSign) || len(s.players) > 0 {
		t.Errorf("Guest: %v, and %d players; want %v and none", err, len(s.players), ErrCannotSign)
	}
}

func TestTakenNicknameIsRefusedWithSuggestions(t *testing.T) {
	t.Parallel()
	s := newStore()
	r := newTestRegistry(t, s)
	s.claim(t, "Ada") // after the registry has read the names
	_, err := r.Guest(t.Context(), guestRequest("ada"))
	taken, ok := errors.AsType[*TakenError](err)
	if !ok || len(taken.Suggestions) != 3 {
		t.Fatalf("Guest: %v, want a TakenError with three suggestions", err)
	}
	for i, suggestion := range taken.Suggestions {
		q := guestRequest(suggestion)
		q.Device += fmt.Sprint(i)
		if g, err := r.Guest(t.Context(), q); err != nil || !g.New || g.Player.Nickname != suggestion {
			t.Errorf("suggestion %q: %+v, %v", suggestion, g, err)
		}
	}
}

func TestGeneratedNicknamesDifferAndNeedNoQuery(t *testing.T) {
	t.Parallel()
	s := newStore()
	r := newTestRegistry(t, s)
	seen := map[string]bool{}
	for i := range 200 {
		q := GuestRequest{Game: game, Device: fmt.Sprintf("%s-%d", device, i), Lang: []string{"en", "zh-CN", ""}[i%3]}
		g, err := r.Guest(t.Context(), q)
		if err != nil || !g.New || seen[g.Player.Nickname] {
			t.Fatalf("guest %d: %+v, %v", i, g, err)
		}
		seen[g.Player.Nickname] = true
	}
	if s.takenQueries > 0 {
		t.Errorf("%d queries for nicknames that the filter rules out", s.takenQueries)
	}
}

func TestGeneratedNicknameIsDrawnAgain(t *testing.T) {
	t.Parallel()
	r := newTestRegistry(t, newStore())
	refusals := 3
	got, created, err := r.createNamed(t.Context(), NewPlayer{Game: game, ID: "p_1"}, "en",
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

func TestGeneratedNicknamesRunOut(t *testing.T) {
	t.Parallel()
	r := newTestRegistry(t, newStore())
	tries := 0
	_, _, err := r.createNamed(t.Context(), NewPlayer{Game: game, ID: "p_1"}, "en",
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
	s := newStore()
	r := newTestRegistry(t, s)
	c := Claims{Subject: "operator:17", Game: game, Role: RolePlayer}
	first, err := r.Ensure(t.Context(), c)
	if err != nil || first.ID != c.Subject || first.Nickname == "" {
		t.Fatalf("Ensure: %+v, %v", first, err)
	}
	if again, err := r.Ensure(t.Context(), c); err != nil || again != first {
		t.Errorf("again: %+v, %v", again, err)
	}
	for want, c := range map[error]Claims{
		ErrNotPlayer: {Subject: "x", Game: game, Role: RoleHost},
		ErrNoGame:    {Subject: "x", Game: "nowhere", Role: RolePlayer},
	} {
		if _, err := r.Ensure(t.Context(), c); !errors.Is(err, want) {
			t.Errorf("%+v: %v, want %v", c, err, want)
		}
	}
	s.setDown(true)
	if _, err := r.Ensure(t.Context(), Claims{Subject: "new", Game: game, Role: RolePlayer}); !errors.Is(err, errStore) {
		t.Errorf("with the store down: %v", err)
	}
}

func TestAvailableSaysWhetherANicknameIsFree(t *testing.T) {
	t.Parallel()
	s := newStore()
	s.claim(t, "Ada")
	r := newTestRegistry(t, s)
	a, err := r.Available(t.Context(), game, "ADA", Requester{})
	if err != nil || a.Available || len(a.Suggestions) != 3 {
		t.Errorf("taken: %+v, %v", a, err)
	}
	s.mu.Lock()
	s.takenQueries = 0
	s.mu.Unlock()
	a, err = r.Available(t.Context(), game, "Grace", Requester{})
	if err != nil || !a.Available || a.Nickname != "Grace" || a.Suggestions != nil || s.takenQueries != 0 {
		t.Errorf("free: %+v, %v, %d queries", a, err, s.takenQueries)
	}
	if _, err = r.Available(t.Context(), game, "\x00\x00", Requester{}); !errors.Is(err, nickname.ErrInvalid) {
		t.Errorf("invalid: %v", err)
	}
	if _, err = r.Available(t.Context(), "nowhere", "Grace", Requester{}); !errors.Is(err, ErrNoGame) {
		t.Errorf("unknown game: %v", err)
	}
}

func TestAFalsePositiveDoesNotRefuseAFreeNickname(t *testing.T) {
	t.Parallel()
	s := newStore()
	r := newTestRegistry(t, s)
	n, err := nickname.Parse("Ada")
	if err != nil {
		t.Fatal(err)
	}
	r.views[game].add(n) // the filter now contains a name that the store does not have
	if a, err := r.Available(t.Context(), game, "Ada", Requester{}); err != nil || !a.Available {
		t.Errorf("available: %+v, %v", a, err)
	}
	if g, err := r.Guest(t.Context(), guestRequest("Ada")); err != nil || !g.New {
		t.Errorf("guest: %+v, %v", g, err)
	}
}

func TestRenameChangesTheNickname(t *testing.T) {
	t.Parallel()
	s := newStore()
	s.claim(t, "Taken")
	r := newTestRegistry(t, s)
	c := Claims{Subject: "operator:17", Game: game, Role: RolePlayer}
	for _, tt := range []struct {
		request string
		want    error
	}{
		{"Grace", nil}, {"GRACE", nil}, {"Taken", ErrNicknameTaken}, {"\x00\x00", nickname.ErrInvalid},
	} {
		got, err := r.Rename(t.Context(), c, tt.request, Requester{})
		if !errors.Is(err, tt.want) || tt.want == nil && got != tt.request {
			t.Errorf("%q: %q, %v; want %v", tt.request, got, err, tt.want)
		}
	}
	if p := s.players[[2]string{game, c.Subject}]; p.Nickname != "GRACE" {
		t.Errorf("the player is %q", p.Nickname)
	}
}

// If the subject is the player's own id, a rename needs no lookup of the player.
func TestRenameOfTheOwnIdNeedsNoPlayerLookup(t *testing.T) {
	t.Parallel()
	s := newStore()
	r := newTestRegistry(t, s)
	g, err := r.Guest(t.Context(), guestRequest("Ada"))
	if err != nil {
		t.Fatal(err)
	}
	lookups := &lookupCounter{Players: s}
	r.Players = lookups
	if got, err := r.Rename(t.Context(), player(g.Player.ID), "Grace", Requester{}); err != nil || got != "Grace" || lookups.times != 0 {
		t.Errorf("%q, %v; %d lookups of the player", got, err, lookups.times)
	}
	s.link("op:1", g.Player.ID)
	if got, err := r.Rename(t.Context(), player("op:1"), "Eva", Requester{}); err != nil || got != "Eva" || lookups.times != 1 || s.players[[2]string{game, g.Player.ID}].Nickname != "Eva" {
		t.Errorf("by an account: %q, %v; %d lookups of the player", got, err, lookups.times)
	}
	s.link("op:1", "")
	if _, err := r.Rename(t.Context(), player("op:1"), "Ida", Requester{}); !errors.Is(err, ErrErased) {
		t.Errorf("by the account of an erased player: %v", err)
	}
	host := player(g.Player.ID)
	host.Role = RoleHost
	if _, err := r.Rename(t.Context(), host, "Ida", Requester{}); !errors.Is(err, ErrNotPlayer) {
		t.Errorf("by a host: %v", err)
	}
}

// lookupCounter counts lookups of a subject's player.
type lookupCounter struct {
	Players
	times int
}

func (u *lookupCounter) Known(ctx context.Context, game, subject string) (Player, error) {
	u.times++
	return u.Players.Known(ctx, game, subject)
}

// advance advances virtual time, and waits until all goroutines are idle.
func advance(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}
