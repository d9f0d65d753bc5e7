package identity

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"laststand/internal/nickname"
	"laststand/internal/testenv"
)

// fakeReservations stores the reservations of one game in memory. They end after
// ReservationTTL.
type fakeReservations struct {
	mu       sync.Mutex
	reserved map[string]fakeReservation // by skeleton
	held     map[string]string          // the holder by skeleton
	isDown   bool
	failed   int // calls while it was down
}

type fakeReservation struct {
	requester string
	until     time.Time
}

func (s *fakeReservations) Reserve(_ context.Context, _, requester string, skeletons []string) ([]bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isDown {
		s.failed++
		return nil, errStore
	}
	isReserved := make([]bool, len(skeletons))
	for i, skeleton := range skeletons {
		if existing := s.reserved[skeleton]; existing.requester == "" || time.Now().After(existing.until) {
			s.reserved[skeleton], isReserved[i] = fakeReservation{requester, time.Now().Add(ReservationTTL)}, true
		}
	}
	return isReserved, nil
}

func (s *fakeReservations) ReservedFor(_ context.Context, _, skeleton string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isDown {
		s.failed++
		return "", errStore
	}
	if existing := s.reserved[skeleton]; time.Now().Before(existing.until) {
		return existing.requester, nil
	}
	return "", nil
}

func (s *fakeReservations) Hold(_ context.Context, _, requester, skeleton string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isDown {
		s.failed++
		return errStore
	}
	s.held[skeleton] = requester
	return nil
}

func (s *fakeReservations) HeldFor(_ context.Context, _, skeleton string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held[skeleton], nil
}

// newReservingRegistry returns a registry with refused words and a store of reservations.
func newReservingRegistry(t testing.TB, store *fakeStore) (*Registry, *fakeReservations) {
	t.Helper()
	registry, reservations := newTestRegistry(t, store), &fakeReservations{reserved: map[string]fakeReservation{}, held: map[string]string{}}
	words := testenv.Need(nickname.NewWords(nickname.WordsConfig{Lists: nickname.BuiltinLists()}))(t)
	registry.Words, registry.Reservations = map[string]*nickname.Words{game: words}, reservations
	return registry, reservations
}

func player(id string) Claims { return Claims{Subject: id, Game: game, Role: RolePlayer} }

// requestSuggestions requests a name that is taken, and returns the suggestions.
func requestSuggestions(t *testing.T, registry *Registry, requester Requester) []string {
	t.Helper()
	availability, err := registry.Available(t.Context(), game, "Ada", requester)
	if err != nil || availability.Available || len(availability.Suggestions) != 3 {
		t.Fatalf("%+v gets %+v, %v", requester, availability, err)
	}
	return availability.Suggestions
}

func TestOnlyItsRequesterCanClaimASuggestion(t *testing.T) {
	t.Parallel()
	for name, requester := range map[string]Requester{
		"player": {Player: "p_1", Address: "192.0.2.1"}, "address": {Address: "192.0.2.1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := newStore()
				store.claim(t, "Ada")
				registry, _ := newReservingRegistry(t, store)
				suggestions := requestSuggestions(t, registry, requester)
				_, err := registry.Rename(t.Context(), player("p_2"), suggestions[0], Requester{Address: "192.0.2.2"})
				if taken, ok := errors.AsType[*TakenError](err); !ok || len(taken.Suggestions) != 3 {
					t.Errorf("another player claims it: %v", err)
				}
				if availability, err := registry.Available(t.Context(), game, suggestions[0], Requester{Address: "192.0.2.2"}); err != nil || availability.Available || len(availability.Suggestions) != 3 {
					t.Errorf("another requester asks for it: %+v, %v", availability, err)
				}
				if availability, err := registry.Available(t.Context(), game, suggestions[1], requester); err != nil || !availability.Available {
					t.Errorf("its requester asks for it: %+v, %v", availability, err)
				}
				if got, err := registry.Rename(t.Context(), player("p_1"), suggestions[0], Requester{Address: "192.0.2.1"}); err != nil || got != suggestions[0] {
					t.Errorf("its requester claims it: %q, %v", got, err)
				}
				time.Sleep(ReservationTTL + time.Millisecond)
				if got, err := registry.Rename(t.Context(), player("p_2"), suggestions[1], Requester{Address: "192.0.2.2"}); err != nil || got != suggestions[1] {
					t.Errorf("another player claims it after the reservation: %q, %v", got, err)
				}
			})
		})
	}
}

// A guest gets suggestions with the refusal. The guest can claim one from any
// address.
func TestADeviceCanClaimItsSuggestionFromAnyAddress(t *testing.T) {
	t.Parallel()
	store := newStore()
	store.claim(t, "Ada")
	registry, _ := newReservingRegistry(t, store)
	request := guestRequest("Ada")
	request.Address = "192.0.2.1"
	_, err := registry.Guest(t.Context(), request)
	taken, ok := errors.AsType[*TakenError](err)
	if !ok || len(taken.Suggestions) != 3 {
		t.Fatalf("a taken nickname: %v", err)
	}
	otherDevice := request
	otherDevice.Device += "2"
	for _, request.Nickname = range taken.Suggestions[:1] {
		otherDevice.Nickname = request.Nickname
		if _, err := registry.Guest(t.Context(), otherDevice); !errors.Is(err, ErrNicknameTaken) {
			t.Errorf("another device of the address claims it: %v", err)
		}
		request.Address = "192.0.2.9"
		if guest, err := registry.Guest(t.Context(), request); err != nil || !guest.New || guest.Player.Nickname != request.Nickname {
			t.Errorf("the device claims it: %+v, %v", guest, err)
		}
	}
	// A known device gets its player, whatever nickname it sends.
	request.Nickname = taken.Suggestions[1]
	if guest, err := registry.Guest(t.Context(), request); err != nil || guest.New {
		t.Errorf("a known device: %+v, %v", guest, err)
	}
}

// Two players of one school behind one address also get different suggestions.
func TestRequestersGetDifferentSuggestions(t *testing.T) {
	t.Parallel()
	store := newStore()
	store.claim(t, "Ada")
	registry, _ := newReservingRegistry(t, store)
	got := make([][]string, 100)
	var requests sync.WaitGroup
	for i := range got {
		requests.Go(func() {
			requester := Requester{Address: "192.0.2.1"}
			if i < 30 {
				requester.Player = fmt.Sprint("p", i)
			}
			got[i] = requestSuggestions(t, registry, requester)
		})
	}
	requests.Wait()
	names := slices.Sorted(slices.Values(slices.Concat(got...)))
	if len(slices.Compact(names)) != 300 {
		t.Errorf("some names were suggested twice: %v", got)
	}
	if availability, err := registry.Available(t.Context(), game, got[99][0], Requester{Address: "192.0.2.1"}); err != nil || !availability.Available {
		t.Errorf("a requester of the address asks for its suggestion: %+v, %v", availability, err)
	}
}

// Without a store of reservations, a player still gets three suggestions, which are not
// reserved. The ledger alone decides claims. Each failed call is counted. A reply calls the
// store once for each round of draws. A further round follows if a draw repeats a name or
// contains a refused word, so their number varies.
func TestSuggestionsAreNotReservedWithoutRedis(t *testing.T) {
	t.Parallel()
	store := newStore()
	store.claim(t, "Ada")
	registry, reservations := newReservingRegistry(t, store)
	suggestions := requestSuggestions(t, registry, Requester{Player: "p_1"})
	reservations.isDown = true
	requestSuggestions(t, registry, Requester{Player: "p_2"})
	if got, err := registry.Rename(t.Context(), player("p_2"), suggestions[0], Requester{}); err != nil || got != suggestions[0] {
		t.Errorf("a claim: %q, %v", got, err)
	}
	if n := testutil.ToFloat64(registry.metrics.failedSuggestions.WithLabelValues(game, suggestionNotStored)); int(n) != reservations.failed || n < 2 {
		t.Errorf("%v failures are counted, want %d: of at least one reservation and of a lookup", n, reservations.failed)
	}
}

func TestSuggestionsUseThePlayersLanguage(t *testing.T) {
	t.Parallel()
	store := newStore()
	store.claim(t, "Ada")
	registry, _ := newReservingRegistry(t, store)
	for lang, wantHan := range map[string]bool{"zh-CN": true, "en": false, "": false} {
		suggestions := requestSuggestions(t, registry, Requester{Lang: lang})
		hasHan := strings.ContainsFunc(suggestions[2], func(c rune) bool { return unicode.Is(unicode.Han, c) })
		if !strings.HasPrefix(suggestions[0], "Ada-") || !strings.HasPrefix(suggestions[1], "Ada-") || hasHan != wantHan || !strings.Contains(suggestions[2], "Ada") {
			t.Errorf("%q: %v", lang, suggestions)
		}
	}
}

// A shortened name may contain a refused word. Then the suggestions start with another text.
func TestSuggestionsContainNoRefusedWords(t *testing.T) {
	t.Parallel()
	store := newStore()
	requests := []string{"Bobby al Assass", "管 理 Ada"}
	for _, request := range requests {
		store.claim(t, request)
	}
	registry, _ := newReservingRegistry(t, store)
	for _, request := range requests {
		availability, err := registry.Available(t.Context(), game, request, Requester{Lang: "zh"})
		if err != nil || len(availability.Suggestions) != 3 {
			t.Errorf("%q: %+v, %v", request, availability, err)
		}
		for _, suggestion := range availability.Suggestions {
			if _, err := registry.parseName(game, suggestion); err != nil {
				t.Errorf("for %q, the suggestion %q is refused: %v", request, suggestion, err)
			}
		}
	}
	words := testenv.Need(nickname.NewWords(nickname.WordsConfig{Custom: []nickname.WordList{{Name: "own", Text: "*ad*"}}}))(t)
	registry.Words[game] = words
	suggestions, err := registry.suggest(t.Context(), game, nickname.Name{Display: "Ada", Skeleton: "ada"}, Requester{})
	if err != nil || len(suggestions) != 3 || slices.ContainsFunc(suggestions, func(n string) bool { return strings.Contains(strings.ToLower(n), "ad") }) {
		t.Errorf("suggestions for a refused name: %v, %v", suggestions, err)
	}
}

func TestEachGameHasItsOwnRefusedWords(t *testing.T) {
	t.Parallel()
	store := newStore()
	registry, _ := newReservingRegistry(t, store)
	metrics := prometheus.NewRegistry()
	registry.metrics = newNicknameMetrics(metrics)
	request := guestRequest("4dm1n")
	if _, err := registry.Guest(t.Context(), request); !errors.Is(err, nickname.ErrInvalid) || strings.Contains(err.Error(), "dm") {
		t.Errorf("a guest: %v", err)
	}
	if _, err := registry.Rename(t.Context(), player("p_1"), "客服", Requester{}); !errors.Is(err, nickname.ErrInvalid) {
		t.Errorf("a claim: %v", err)
	}
	if _, err := registry.Available(t.Context(), game, "管理员", Requester{}); !errors.Is(err, nickname.ErrInvalid) {
		t.Errorf("a lookup: %v", err)
	}
	request.Game = otherGame // which has no words
	if guest, err := registry.Guest(t.Context(), request); err != nil || guest.Player.Nickname != "4dm1n" {
		t.Errorf("in a game without words: %+v, %v", guest, err)
	}
	if _, err := registry.Available(t.Context(), game, "\x00", Requester{}); !errors.Is(err, nickname.ErrInvalid) {
		t.Error(err)
	}
	for reason, want := range map[string]float64{refusalWord: 3, refusalInvalid: 1, refusalTaken: 0, refusalReserved: 0} {
		if n := testutil.ToFloat64(registry.metrics.refusals.WithLabelValues(game, reason)); n != want {
			t.Errorf("refused as %s: %v, want %v", reason, n, want)
		}
	}
}

// The ledger has lost the claims of two names. For some minutes only their holders get them.
func TestANameThatTheLedgerHasLostIsNotGivenToAnother(t *testing.T) {
	t.Parallel()
	store := newStore()
	registry, _ := newReservingRegistry(t, store)
	testenv.Need(registry.Guest(t.Context(), guestRequest("Grace")))(t)
	testenv.Need(registry.Rename(t.Context(), player("user:1"), "Linus", Requester{}))(t)

	claim := func(id, name string, want error) {
		t.Helper()
		if _, err := registry.Rename(t.Context(), player(id), name, Requester{}); !errors.Is(err, want) {
			t.Errorf("%s claims %s: %v, want %v", id, name, err, want)
		}
	}
	store.mu.Lock()
	clear(store.players)
	clear(store.devices)
	clear(store.names)
	store.mu.Unlock()
	registry.LedgerWentBack(registry.now())
	claim("user:2", "Grace", ErrNicknameTaken)
	claim("user:2", "Linus", ErrNicknameTaken)
	claim("user:2", "Margaret", nil)
	claim("user:1", "Linus", nil)
	stranger := guestRequest("Grace")
	stranger.Device = device + "-2"
	if _, err := registry.Guest(t.Context(), stranger); !errors.Is(err, ErrNicknameTaken) {
		t.Errorf("another device claims Grace: %v", err)
	}
	registry.LedgerWentBack(registry.now() - HoldTTL.Milliseconds())
	claim("user:3", "Grace", nil)
}
