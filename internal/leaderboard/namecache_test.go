package leaderboard

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// nickname returns the nickname in the JSON of a standing.
func (f *fakeReader) nickname(t *testing.T, display *Display, query StandingQuery) string {
	t.Helper()
	shown, err := display.Standing(t.Context(), "demo", query)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(shown.JSON), `"nickname":"`)
	name, _, _ := strings.Cut(rest, `"`)
	return name
}

func TestNamesAreLookedUpOncePerTTL(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reader := newFakeReader()
		display := reader.newDisplay()
		queryFor := func(id string) StandingQuery { return StandingQuery{Player: id} }
		for range 3 {
			if got := reader.nickname(t, display, queryFor("p_1")) + "," + reader.nickname(t, display, queryFor("p_9")); got != "Ada," {
				t.Errorf("the names are %q", got)
			}
		}
		if _, err := display.Page(t.Context(), "demo", Query{}); err != nil {
			t.Fatal(err)
		}
		if want := [][]string{{"p_1"}, {"p_9"}, {"p_2"}}; !slices.EqualFunc(reader.nameRequests, want, slices.Equal) {
			t.Errorf("looked up %q, want %q", reader.nameRequests, want)
		}
		reader.update(func() { reader.names["p_1"] = "Eve" })
		time.Sleep(nameTTL)
		if got := reader.nickname(t, display, queryFor("p_1")); got != "Ada" {
			t.Errorf("within %v: %q", nameTTL, got)
		}
		time.Sleep(time.Nanosecond)
		if got := reader.nickname(t, display, queryFor("p_1")); got != "Eve" {
			t.Errorf("after %v: %q", nameTTL, got)
		}
	})
}

func TestTeamsAndPlayersHaveSeparateNames(t *testing.T) {
	t.Parallel()
	reader := newFakeReader()
	display := reader.newDisplay()
	for kind, want := range map[Kind]string{Teams: "Team p_1", Players: "Ada", "": "Ada"} {
		if got := reader.nickname(t, display, StandingQuery{Kind: kind, Player: "p_1"}); got != want {
			t.Errorf("kind %q: %q, want %q", kind, got, want)
		}
	}
}

func TestForgetNameShowsTheNewNameImmediately(t *testing.T) {
	t.Parallel()
	reader := newFakeReader()
	display := reader.newDisplay()
	page := func() string {
		shown, err := display.Page(t.Context(), "demo", Query{})
		if err != nil {
			t.Fatal(err)
		}
		return string(shown.JSON)
	}
	if before := page(); !strings.Contains(before, "Ada") {
		t.Fatal(before)
	}
	reader.update(func() { reader.names["p_1"] = "Eve" })
	display.ForgetName("demo", "p_1")
	if after := page(); strings.Contains(after, "Ada") || !strings.Contains(after, "Eve") {
		t.Error(after)
	}
}

// hookedNames calls afterRead after each lookup of names.
type hookedNames struct {
	*fakeReader
	afterRead func()
}

func (n *hookedNames) Nicknames(ctx context.Context, game string, ids []string) (map[string]string, error) {
	found, err := n.fakeReader.Nicknames(ctx, game, ids)
	n.afterRead()
	return found, err
}

// A name that was read before a rename is not cached after it.
func TestANameReadBeforeARenameIsNotCached(t *testing.T) {
	t.Parallel()
	reader := newFakeReader()
	hooked := &hookedNames{fakeReader: reader}
	cache := newNameCache(hooked)
	hooked.afterRead = func() {
		reader.update(func() { reader.names["p_1"] = "Eve" })
		cache.remove("demo", "p_1")
	}
	for _, want := range []string{"Ada", "Eve"} {
		entries := []Entry{{ID: "p_1"}}
		if err := cache.setNames(t.Context(), "demo", Players, entries); err != nil || entries[0].Nickname != want {
			t.Errorf("%q, %v; want %q", entries[0].Nickname, err, want)
		}
	}
}

func TestALookupErrorIsReturnedForUnknownNames(t *testing.T) {
	t.Parallel()
	reader := newFakeReader()
	reader.err = errStore
	cache := newNameCache(reader)
	for range 2 {
		if err := cache.setNames(t.Context(), "demo", Players, []Entry{{ID: "p_1"}}); !errors.Is(err, errStore) {
			t.Error(err)
		}
	}
}

// While the database is unavailable, boards show the names that are known.
func TestKnownNamesAreShownDuringAnOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reader := newFakeReader()
		cache := newNameCache(reader)
		setNames := func(ids ...string) (named []string, err error) {
			entries := make([]Entry, len(ids))
			for i, id := range ids {
				entries[i].ID = id
			}
			err = cache.setNames(t.Context(), "demo", Players, entries)
			for _, entry := range entries {
				named = append(named, entry.Nickname)
			}
			return named, err
		}
		if _, err := setNames("p_1", "p_9"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(nameTTL + 1)
		reader.err = errStore
		if named, err := setNames("p_1", "p_9"); err != nil || !slices.Equal(named, []string{"Ada", ""}) {
			t.Errorf("%q, %v", named, err)
		}
		if _, err := setNames("p_1", "p_2"); !errors.Is(err, errStore) {
			t.Errorf("a name that was never looked up: %v", err)
		}
		reader.err = nil
		reader.names["p_1"] = "Eve"
		if named, err := setNames("p_1"); err != nil || !slices.Equal(named, []string{"Eve"}) {
			t.Errorf("after the outage: %q, %v", named, err)
		}
	})
}
