package rules

import (
	"strings"
	"testing"

	"laststand/internal/protocol"
)

// CompareBoard finds a board that is not the sum of the matches.
func TestBoard(t *testing.T) {
	t.Parallel()
	want := map[string]Sums{"ada": {Score: 190, Matches: 1}, "bob": {Score: 0, Matches: 1}, "eve": {}}
	right := []Entry{{ID: "ada", Sums: want["ada"]}, {ID: "bob", Sums: want["bob"]}}
	if differs := CompareBoard(want, right); len(differs) != 0 {
		t.Errorf("%q", differs)
	}
	for found, board := range map[string][]Entry{
		"the board lacks bob":     right[:1],
		"the board has ada twice": append(right[:2:2], right[0]),
		"who has played nothing":  append(right[:2:2], Entry{ID: "eve"}),
		"the matches add up to":   {right[0], {ID: "bob", Sums: Sums{Score: 1, Matches: 1}}},
	} {
		if differs := CompareBoard(want, board); len(differs) != 1 || !strings.Contains(differs[0], found) {
			t.Errorf("%q was to be found, and it was %q", found, differs)
		}
	}
}

// CheckBehaviours finds behaviours that are lost, or counted without being there.
func TestBehaviours(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		flow  Flow
		found string
	}{
		{Flow{Offered: 10, Sent: 6, Dropped: 1, Queued: 2, InFlight: 1}, ""},
		{Flow{Offered: 10, Sent: 6, Dropped: 1, Queued: 1, InFlight: 1}, "do not add up"},
		{Flow{Offered: 9, Sent: 9}, "10 behaviours were answered for, and 9"},
	} {
		if differs := CheckBehaviours(10, test.flow); !strings.Contains(differs, test.found) || (differs == "") != (test.found == "") {
			t.Errorf("%+v: %q", test.flow, differs)
		}
	}
}

// Matches finds a difference between the players of a match, whichever process they are in.
// It forgets a match when all its players have reported.
func TestMatches(t *testing.T) {
	t.Parallel()
	seen := func(by string, pushes ...string) Digest {
		m := NewMatch("m_1", by, []byte("found"), protocol.MatchFound{Players: 2})
		for _, p := range pushes {
			if err := m.Push("", nil, []byte(p)); err != nil {
				t.Fatal(err)
			}
		}
		return m.Digest()
	}
	for _, test := range []struct {
		bob   Digest
		found string
		open  int
	}{
		{seen("bob", "one", "two"), "", 0},
		{seen("bob", "two", "one"), "m_1 is 3 pushes", 0},
		{seen("bob", "one"), "2 (", 0},
		{seen("ada", "one", "two"), "ended twice", 1},
	} {
		var all Matches
		if differs := all.Add(seen("ada", "one", "two")); differs != "" || len(all.Open()) != 1 {
			t.Fatal(differs)
		}
		differs, alike := all.Add(test.bob), 0
		if test.found == "" {
			alike = 1 - test.open
		}
		if !strings.Contains(differs, test.found) || (differs == "") != (test.found == "") || len(all.Open()) != test.open || all.Done() != alike {
			t.Errorf("%+v: %q, open %q", test.bob, differs, all.Open())
		}
	}
}
