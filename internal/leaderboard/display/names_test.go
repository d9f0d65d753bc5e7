package display

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"laststand/internal/leaderboard"
)

// nickname returns the name that a standing shows.
func (h *fakeReader) nickname(t *testing.T, d *Display, q leaderboard.StandingQuery) string {
	t.Helper()
	shown, err := d.Standing(t.Context(), "demo", q)
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(shown.JSON), `"nickname":"`)
	name, _, _ := strings.Cut(after, `"`)
	return name
}

func TestNamesAreAskedForOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newFakeReader()
		d := h.Show()
		of := func(id string) leaderboard.StandingQuery { return leaderboard.StandingQuery{Player: id} }
		for range 3 {
			if got := h.nickname(t, d, of("p_1")) + "," + h.nickname(t, d, of("p_9")); got != "Ada," {
				t.Errorf("the names are %q", got)
			}
		}
		if _, err := d.Page(t.Context(), "demo", leaderboard.Query{}); err != nil {
			t.Fatal(err)
		}
		if want := [][]string{{"p_1"}, {"p_9"}, {"p_2"}}; !slices.EqualFunc(h.asked, want, slices.Equal) {
			t.Errorf("looked up %q, want %q", h.asked, want)
		}
		h.set(func() { h.names["p_1"] = "Eve" })
		time.Sleep(nameTTL)
		if got := h.nickname(t, d, of("p_1")); got != "Ada" {
			t.Errorf("within %v: %q", nameTTL, got)
		}
		time.Sleep(time.Nanosecond)
		if got := h.nickname(t, d, of("p_1")); got != "Eve" {
			t.Errorf("after %v: %q", nameTTL, got)
		}
	})
}

func TestATeamHasItsOwnName(t *testing.T) {
	t.Parallel()
	h := newFakeReader()
	d := h.Show()
	for kind, want := range map[leaderboard.Kind]string{leaderboard.Teams: "Team p_1", leaderboard.Players: "Ada", "": "Ada"} {
		if got := h.nickname(t, d, leaderboard.StandingQuery{Kind: kind, Player: "p_1"}); got != want {
			t.Errorf("kind %q: %q, want %q", kind, got, want)
		}
	}
}

func TestARenameIsSeenAtOnce(t *testing.T) {
	t.Parallel()
	h := newFakeReader()
	d := h.Show()
	page := func() string {
		shown, err := d.Page(t.Context(), "demo", leaderboard.Query{})
		if err != nil {
			t.Fatal(err)
		}
		return string(shown.JSON)
	}
	if before := page(); !strings.Contains(before, "Ada") {
		t.Fatal(before)
	}
	h.set(func() { h.names["p_1"] = "Eve" })
	d.ForgetName("demo", "p_1")
	if after := page(); strings.Contains(after, "Ada") || !strings.Contains(after, "Eve") {
		t.Error(after)
	}
}

// hookedNames calls afterRead after each lookup of names.
type interruptedNames struct {
	*fakeReader
	meanwhile func()
}

func (o *interruptedNames) Nicknames(ctx context.Context, game string, ids []string) (map[string]string, error) {
	found, err := o.fakeReader.Nicknames(ctx, game, ids)
	o.meanwhile()
	return found, err
}

// A name that was read before a rename is not cached after it.
func TestARenameDuringAReadWins(t *testing.T) {
	t.Parallel()
	h := newFakeReader()
	late := &interruptedNames{fakeReader: h}
	n := newNameCache(late)
	late.meanwhile = func() {
		h.set(func() { h.names["p_1"] = "Eve" })
		n.forget("demo", "p_1")
	}
	for _, want := range []string{"Ada", "Eve"} {
		entries := []leaderboard.Entry{{ID: "p_1"}}
		if err := n.addNames(t.Context(), "demo", leaderboard.Players, entries); err != nil || entries[0].Nickname != want {
			t.Errorf("%q, %v; want %q", entries[0].Nickname, err, want)
		}
	}
}

func TestNamesAreUnavailable(t *testing.T) {
	t.Parallel()
	h := newFakeReader()
	h.fail = errStore
	n := newNameCache(h)
	for range 2 {
		if err := n.addNames(t.Context(), "demo", leaderboard.Players, []leaderboard.Entry{{ID: "p_1"}}); !errors.Is(err, errStore) {
			t.Error(err)
		}
	}
}

// While the database is unavailable, boards show the names that are known.
func TestKnownNamesAreShownDuringAnOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newFakeReader()
		n := newNameCache(h)
		fill := func(ids ...string) (named []string, err error) {
			entries := make([]leaderboard.Entry, len(ids))
			for i, id := range ids {
				entries[i].ID = id
			}
			err = n.addNames(t.Context(), "demo", leaderboard.Players, entries)
			for _, e := range entries {
				named = append(named, e.Nickname)
			}
			return named, err
		}
		if _, err := fill("p_1", "p_9"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(nameTTL + 1)
		h.fail = errStore
		if named, err := fill("p_1", "p_9"); err != nil || !slices.Equal(named, []string{"Ada", ""}) {
			t.Errorf("%q, %v", named, err)
		}
		if _, err := fill("p_1", "p_2"); !errors.Is(err, errStore) {
			t.Errorf("a name that was never looked up: %v", err)
		}
		h.fail = nil
		h.names["p_1"] = "Eve"
		if named, err := fill("p_1"); err != nil || !slices.Equal(named, []string{"Eve"}) {
			t.Errorf("after the outage: %q, %v", named, err)
		}
	})
}
