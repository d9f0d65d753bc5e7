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
)

// fakeReservations stores the reservations of one game in memory. They end after
// ReservationTTL.
type fakeReservations struct {
	mu       sync.Mutex
	reserved map[string]fakeReservation // by skeleton
	isDown   bool
}

type fakeReservation struct {
	requester string
	until     time.Time
}

func (s *fakeReservations) Reserve(_ context.Context, reservation Reservation) ([]bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isDown {
		return nil, errStore
	}
	isReserved := make([]bool, len(reservation.Skeletons))
	for i, skeleton := range reservation.Skeletons {
		existing := s.reserved[skeleton]
		if existing.requester == "" || existing.requester == reservation.Requester && !reservation.Shared || time.Now().After(existing.until) {
			s.reserved[skeleton], isReserved[i] = fakeReservation{reservation.Requester, time.Now().Add(ReservationTTL)}, true
		}
	}
	return isReserved, nil
}

func (s *fakeReservations) ReservedFor(_ context.Context, _, skeleton string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isDown {
		return "", errStore
	}
	if existing := s.reserved[skeleton]; time.Now().Before(existing.until) {
		return existing.requester, nil
	}
	return "", nil
}

// newReservingRegistry returns a registry with refused words and a store of reservations.
func newReservingRegistry(t testing.TB, s *fakeStore) (*Registry, *fakeReservations) {
	t.Helper()
	r, reservations := newTestRegistry(t, s), &fakeReservations{reserved: map[string]fakeReservation{}}
	words, err := nickname.NewWords(nickname.WordsConfig{Lists: nickname.BuiltinLists()})
	if err != nil {
		t.Fatal(err)
	}
	r.Words, r.Reservations = map[string]*nickname.Words{game: words}, reservations
	return r, reservations
}

func player(id string) Claims { return Claims{Subject: id, Game: game, Role: RolePlayer} }

// requestSuggestions requests a name that is taken, and returns the suggestions.
func requestSuggestions(t *testing.T, r *Registry, requester Requester) []string {
	t.Helper()
	a, err := r.Available(t.Context(), game, "Ada", requester)
	if err != nil || a.Available || len(a.Suggestions) != 3 {
		t.Fatalf("%+v gets %+v, %v", requester, a, err)
	}
	return a.Suggestions
}

func TestOnlyItsRequesterCanClaimASuggestion(t *testing.T) {
	t.Parallel()
	for name, requester := range map[string]Requester{
		"player": {Player: "p_1", Address: "192.0.2.1"}, "address": {Address: "192.0.2.1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStore()
				s.claim(t, "Ada")
				r, _ := newReservingRegistry(t, s)
				three := requestSuggestions(t, r, requester)
				_, err := r.Rename(t.Context(), player("p_2"), three[0], Requester{Address: "192.0.2.2"})
				if taken, ok := errors.AsType[*TakenError](err); !ok || len(taken.Suggestions) != 3 {
					t.Errorf("another player claims it: %v", err)
				}
				if a, err := r.Available(t.Context(), game, three[0], Requester{Address: "192.0.2.2"}); err != nil || a.Available || len(a.Suggestions) != 3 {
					t.Errorf("another requester asks for it: %+v, %v", a, err)
				}
				if a, err := r.Available(t.Context(), game, three[1], requester); err != nil || !a.Available {
					t.Errorf("its requester asks for it: %+v, %v", a, err)
				}
				if got, err := r.Rename(t.Context(), player("p_1"), three[0], Requester{Address: "192.0.2.1"}); err != nil || got != three[0] {
					t.Errorf("its requester claims it: %q, %v", got, err)
				}
				time.Sleep(ReservationTTL + time.Millisecond)
				if got, err := r.Rename(t.Context(), player("p_2"), three[1], Requester{Address: "192.0.2.2"}); err != nil || got != three[1] {
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
	s := newStore()
	s.claim(t, "Ada")
	r, _ := newReservingRegistry(t, s)
	q := guestRequest("Ada")
	q.Address = "192.0.2.1"
	_, err := r.Guest(t.Context(), q)
	taken, ok := errors.AsType[*TakenError](err)
	if !ok || len(taken.Suggestions) != 3 {
		t.Fatalf("a taken nickname: %v", err)
	}
	other := q
	other.Device += "2"
	for _, q.Nickname = range taken.Suggestions[:1] {
		other.Nickname = q.Nickname
		if _, err := r.Guest(t.Context(), other); !errors.Is(err, ErrNicknameTaken) {
			t.Errorf("another device of the address claims it: %v", err)
		}
		q.Address = "192.0.2.9"
		if g, err := r.Guest(t.Context(), q); err != nil || !g.New || g.Player.Nickname != q.Nickname {
			t.Errorf("the device claims it: %+v, %v", g, err)
		}
	}
	// A known device gets its player, whatever nickname it sends.
	q.Nickname = taken.Suggestions[1]
	if g, err := r.Guest(t.Context(), q); err != nil || g.New {
		t.Errorf("a known device: %+v, %v", g, err)
	}
}

// Two players of one school behind one address also get different suggestions.
func TestRequestersGetDifferentSuggestions(t *testing.T) {
	t.Parallel()
	s := newStore()
	s.claim(t, "Ada")
	r, _ := newReservingRegistry(t, s)
	got := make([][]string, 100)
	var all sync.WaitGroup
	for i := range got {
		all.Go(func() {
			requester := Requester{Address: "192.0.2.1"}
			if i < 30 {
				requester.Player = fmt.Sprint("p", i)
			}
			got[i] = requestSuggestions(t, r, requester)
		})
	}
	all.Wait()
	names := slices.Sorted(slices.Values(slices.Concat(got...)))
	if len(slices.Compact(names)) != 300 {
		t.Errorf("some names were suggested twice: %v", got)
	}
	if a, err := r.Available(t.Context(), game, got[99][0], Requester{Address: "192.0.2.1"}); err != nil || !a.Available {
		t.Errorf("a requester of the address asks for its suggestion: %+v, %v", a, err)
	}
}

// Without a store of reservations, suggestions are not reserved. The ledger alone
// decides claims.
func TestSuggestionsAreNotReservedWithoutRedis(t *testing.T) {
	t.Parallel()
	s := newStore()
	s.claim(t, "Ada")
	r, reservations := newReservingRegistry(t, s)
	three := requestSuggestions(t, r, Requester{Player: "p_1"})
	reservations.isDown = true
	requestSuggestions(t, r, Requester{Player: "p_2"})
	if got, err := r.Rename(t.Context(), player("p_2"), three[0], Requester{}); err != nil || got != three[0] {
		t.Errorf("a claim: %q, %v", got, err)
	}
	if n := testutil.ToFloat64(r.metrics.failedSuggestions.WithLabelValues(game, suggestionNotStored)); n != 2 {
		t.Errorf("%v failures are counted, want 2: of a reservation and of a lookup", n)
	}
}

func TestSuggestionsUseThePlayersLanguage(t *testing.T) {
	t.Parallel()
	s := newStore()
	s.claim(t, "Ada")
	r, _ := newReservingRegistry(t, s)
	for lang, han := range map[string]bool{"zh-CN": true, "en": false, "": false} {
		three := requestSuggestions(t, r, Requester{Lang: lang})
		last := strings.ContainsFunc(three[2], func(c rune) bool { return unicode.Is(unicode.Han, c) })
		if !strings.HasPrefix(three[0], "Ada-") || !strings.HasPrefix(three[1], "Ada-") || last != han || !strings.Contains(three[2], "Ada") {
			t.Errorf("%q: %v", lang, three)
		}
	}
}

// A shortened name may contain a refused word. Then the suggestions start with another text.
func TestSuggestionsContainNoRefusedWords(t *testing.T) {
	t.Parallel()
	s := newStore()
	requests := []string{"Bobby al Assass", "管 理 Ada"}
	for _, request := range requests {
		s.claim(t, request)
	}
	r, _ := newReservingRegistry(t, s)
	for _, request := range requests {
		a, err := r.Available(t.Context(), game, request, Requester{Lang: "zh"})
		if err != nil || len(a.Suggestions) != 3 {
			t.Errorf("%q: %+v, %v", request, a, err)
		}
		for _, other := range a.Suggestions {
			if _, err := r.parseName(game, other); err != nil {
				t.Errorf("for %q, the suggestion %q is refused: %v", request, other, err)
			}
		}
	}
	words, err := nickname.NewWords(nickname.WordsConfig{Custom: []nickname.WordList{{Name: "own", Text: "*ad*"}}})
	if err != nil {
		t.Fatal(err)
	}
	r.Words[game] = words
	three, err := r.suggest(t.Context(), game, nickname.Name{Display: "Ada", Skeleton: "ada"}, Requester{})
	if err != nil || len(three) != 3 || slices.ContainsFunc(three, func(n string) bool { return strings.Contains(strings.ToLower(n), "ad") }) {
		t.Errorf("suggestions for a refused name: %v, %v", three, err)
	}
}

func TestEachGameHasItsOwnRefusedWords(t *testing.T) {
	t.Parallel()
	s := newStore()
	r, _ := newReservingRegistry(t, s)
	reg := prometheus.NewRegistry()
	r.metrics = newNicknameMetrics(reg)
	q := guestRequest("4dm1n")
	if _, err := r.Guest(t.Context(), q); !errors.Is(err, nickname.ErrInvalid) || strings.Contains(err.Error(), "dm") {
		t.Errorf("a guest: %v", err)
	}
	if _, err := r.Rename(t.Context(), player("p_1"), "客服", Requester{}); !errors.Is(err, nickname.ErrInvalid) {
		t.Errorf("a claim: %v", err)
	}
	if _, err := r.Available(t.Context(), game, "管理员", Requester{}); !errors.Is(err, nickname.ErrInvalid) {
		t.Errorf("a lookup: %v", err)
	}
	q.Game = other // which has no words
	if g, err := r.Guest(t.Context(), q); err != nil || g.Player.Nickname != "4dm1n" {
		t.Errorf("in a game without words: %+v, %v", g, err)
	}
	if _, err := r.Available(t.Context(), game, "\x00", Requester{}); !errors.Is(err, nickname.ErrInvalid) {
		t.Error(err)
	}
	for reason, want := range map[string]float64{refusalWord: 3, refusalInvalid: 1, refusalTaken: 0, refusalReserved: 0} {
		if n := testutil.ToFloat64(r.metrics.refusals.WithLabelValues(game, reason)); n != want {
			t.Errorf("refused as %s: %v, want %v", reason, n, want)
		}
	}
}

func TestMigrateSkeletonsCountsConflicts(t *testing.T) {
	t.Parallel()
	s := newStore()
	r := newTestRegistry(t, s)
	if err := r.MigrateSkeletons(t.Context()); err != nil {
		t.Error(err)
	}
	if n := testutil.ToFloat64(r.metrics.conflicts.WithLabelValues(game)); n != 3 || testutil.CollectAndCount(r.metrics.conflicts) != 1 {
		t.Errorf("%v conflicts are counted", n)
	}
	s.setDown(true)
	if err := r.MigrateSkeletons(t.Context()); !errors.Is(err, errStore) {
		t.Errorf("with the store down: %v", err)
	}
}
