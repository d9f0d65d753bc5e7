package checker

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"laststand/internal/protocol"
	"laststand/internal/testenv"
)

// storedAnswers returns the stored data of the match that newPlayed plays, by path. A test
// changes one answer.
func storedAnswers() map[string]string {
	const sums = `"score":180,"time_ms":500,"matches":1,"asked":1,"answered":1,"correct":1`
	const bobSums = `"score":0,"time_ms":2500,"matches":1,"asked":1,"answered":1,"correct":0`
	return map[string]string{
		"matches/m_1?limit=200": `{"standings":[{"rank":1,"player":"ada","score":180,"correct":1,"answered":1,"asked":1,"time_ms":500},
			{"rank":2,"player":"bob","answered":1,"asked":1,"time_ms":2500}]}`,
		"players/ada/matches?limit=200":                `{"matches":[{"match":"m_1","rank":1,"score":180,"correct":1}]}`,
		"players/bob/matches?limit=200":                `{"matches":[{"match":"m_1","rank":2}]}`,
		"players/ada":                                  `{` + sums + `}`,
		"players/bob":                                  `{` + bobSums + `}`,
		"leaderboards/all?limit=200&players=ada%2Cbob": `{"entries":[{"id":"ada",` + sums + `},{"id":"bob",` + bobSums + `}]}`,
	}
}

// Everything that is stored agrees with a match that was played, and each difference is
// found.
func TestStoredDataIsCompared(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ path, old, changed, want string }{
		"nothing changed":         {"", "", "", ""},
		"a standing":              {"matches/", `"score":180`, `"score":181`, "is stored with {Rank:1 Player:ada"},
		"a missing player":        {"matches/", `"standings":[`, `"standings":[], "more":[`, "is stored with 0 players"},
		"a match twice":           {"players/ada/matches", `"matches":[`, `"matches":[{"match":"m_1","rank":1,"score":180,"correct":1},`, "for the 2. time"},
		"a match that is missing": {"players/ada/matches", `"matches"`, `"other"`, "lacks m_1"},
		"a rank of the history":   {"players/ada/matches", `"rank":1`, `"rank":2`, "the history of ada has"},
		"an unknown match":        {"players/ada/matches", `m_1`, `m_2`, "the history of ada"},
		"a profile":               {"players/ada", `"score":180`, `"score":360`, "the profile of ada has"},
		"a missing entry":         {"leaderboards/", `{"id":"bob"`, `{"id":"bob2"`, "the leaderboard has {ID:bob2"},
		"an entry twice":          {"leaderboards/", `{"id":"bob"`, `{"id":"ada"`, "the leaderboard has ada twice"},
		"an empty board":          {"leaderboards/", `"entries"`, `"other"`, "the leaderboard lacks ada"},
		"sums on the board":       {"leaderboards/", `"score":180`, `"score":0`, "the leaderboard has {ID:ada"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlayed("duel")
			if got := p.play(t); got != "<nil>" {
				t.Fatal(got)
			}
			answers := storedAnswers()
			for path := range answers {
				if test.path != "" && (path == test.path || strings.HasPrefix(path, test.path) && strings.ContainsAny(path, "?")) {
					answers[path] = strings.Replace(answers[path], test.old, test.changed, 1)
				}
			}
			s := &Stored{Checker: &p.checker, Share: 1}
			if got := s.differences(t, answers); !strings.Contains(got, test.want) || (got == "") != (test.want == "") {
				t.Errorf("found %q, want %q", got, test.want)
			}
		})
	}
}

// differences makes every comparison once, and returns what differs.
func (s *Stored) differences(t *testing.T, answers map[string]string) string {
	t.Helper()
	s.players = make(map[string]*record)
	get := func(path string, v any) {
		if answers[path] == "" {
			t.Fatalf("the test has no answer to %s", path)
		}
		if err := json.Unmarshal([]byte(answers[path]), v); err != nil {
			t.Fatal(err)
		}
	}
	s.Get = func(_ context.Context, _, path string, v any) error { get(path, v); return nil }
	var all []string
	note := func(compare func()) {
		if difference := caught(compare); difference != nil {
			all = append(all, difference.Error())
		}
	}
	for _, m := range s.sorted() {
		s.collect(m)
		note(func() { s.compareMatch(t.Context(), m) })
	}
	for id, r := range s.players {
		note(func() { s.compareHistory(t.Context(), id, r) })
		note(func() { s.compareProfile(t.Context(), id, r) })
	}
	note(func() { s.compareBoard(t.Context(), []string{"ada", "bob"}) })
	return strings.Join(all, "\n")
}

// caught returns the error with which a comparison fails.
func caught(compare func()) (err error) {
	defer testenv.Recover(&err)
	compare()
	return nil
}

// The stored answers of a player agree with those that were accepted, and each difference is
// found.
func TestStoredAnswersAreCompared(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ stored, want string }{
		"the same":         {`{"given":{"choice":1},"correct":true,"elapsed_ms":500,"points":180}`, ""},
		"another choice":   {`{"given":{"choice":0},"correct":true,"elapsed_ms":500,"points":180}`, "is stored as"},
		"no answer":        {`{"given":null,"correct":false,"elapsed_ms":null,"points":0}`, "is stored as"},
		"other points":     {`{"given":{"choice":1},"correct":true,"elapsed_ms":500,"points":100}`, "is stored as"},
		"another question": {`{"given":{"choice":1},"correct":true,"elapsed_ms":500,"points":180},{"given":{"choice":1},"correct":true,"elapsed_ms":500,"points":180}`, "question 1"},
		"none":             {``, "to 0 questions"},
	} {
		p := newPlayed("duel")
		p.checker.KeepAnswers = true
		if got := p.play(t); got != "<nil>" {
			t.Fatal(got)
		}
		s := &Stored{Checker: &p.checker, Get: func(_ context.Context, player, path string, v any) error {
			if player != "ada" || path != "matches/m_1/answers" {
				t.Errorf("%s reads %s", player, path)
			}
			return json.Unmarshal([]byte(`{"questions":[`+test.stored+`]}`), v)
		}}
		err := caught(func() { s.compareAnswers(t.Context(), "m_1", s.sorted()[0].final["ada"]) })
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: found %v, want %q", name, err, test.want)
		}
	}
}

// A player without a match that counts has no entry.
func TestAMatchThatDoesNotCountHasNoEntry(t *testing.T) {
	t.Parallel()
	p := newPlayed("duel")
	p.found.Seats[1].Bot = true
	if got := p.play(t); got != "<nil>" {
		t.Fatal(got)
	}
	entries := "[]"
	s := &Stored{Checker: &p.checker, Share: 1, players: make(map[string]*record), Get: func(_ context.Context, _, _ string, v any) error {
		return json.Unmarshal([]byte(`{"entries":`+entries+`}`), v)
	}}
	for _, m := range s.sorted() {
		s.collect(m)
	}
	compare := func() { s.compareBoard(t.Context(), []string{"ada"}) }
	if err := caught(compare); err != nil {
		t.Error(err)
	}
	entries = `[{"id":"ada","matches":1}]`
	if err := caught(compare); err == nil {
		t.Error("the match against a bot may be on the leaderboard")
	}
}

// A final rating comes exactly if the match is rated.
func TestSettledHasTheRatingOfARatedMatch(t *testing.T) {
	t.Parallel()
	rating := 1500
	for _, test := range []struct {
		inMatchOver, inSettled *int
		isBreach               bool
	}{{nil, nil, false}, {&rating, &rating, false}, {&rating, nil, true}, {nil, &rating, true}} {
		p := newPlayed("duel")
		p.over.Standings[0].Rating = test.inMatchOver
		p.play(t)
		raw, _ := json.Marshal(protocol.Settled{Match: "m_1", Rating: test.inSettled})
		if err := p.ada.Push(Frame{Type: protocol.TypeSettled, Data: raw}, 0); (err != nil) != test.isBreach {
			t.Errorf("%+v: %v", test, err)
		}
	}
}
