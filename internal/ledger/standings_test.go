package ledger

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"laststand/internal/match"
	"laststand/internal/protocol"
	"laststand/internal/testenv"
)

// standingsOf returns all standings of a match, read in one page.
func standingsOf(t *testing.T, l *Ledger, id string) []protocol.OverStanding {
	t.Helper()
	m := testenv.Need(l.History.Match(t.Context(), game, id))(t)
	return testenv.Need(l.History.Standings(t.Context(), m, 0, m.Players))(t)
}

// wantStandings returns the standings of a result as the push match.over has them. Only the
// named players have nicknames.
func wantStandings(r match.Result, named ...string) []protocol.OverStanding {
	var all []protocol.OverStanding
	for _, s := range r.Standings {
		view := s.View()
		if !s.Bot {
			view.Nickname = ""
		}
		for _, id := range named {
			if s.Player == id {
				view.Nickname = "Nick " + id
			}
		}
		all = append(all, view)
	}
	return all
}

func TestMatchReturnsTheCommittedResult(t *testing.T) {
	eachLedger(t, func(t *testing.T, l *Ledger) {
		addPlayer(t, l, "p1")
		r := duel("m1", 12345, "p1", "bot", "p2")
		r.Standings[1].Bot, r.Standings[1].Nickname = true, "机器人 😀\x00\"'"
		r.Standings[0].Team, r.Standings[2].Rank = "red", 2
		testenv.Need(l.Results.Commit(t.Context(), results(r)))(t)
		if got := standingsOf(t, l, "m1"); !reflect.DeepEqual(got, wantStandings(r, "p1")) {
			t.Errorf("got %s\nwant %s", testenv.Need(json.Marshal(got))(t), testenv.Need(json.Marshal(wantStandings(r, "p1")))(t))
		}
		for _, key := range [][2]string{{game, "m2"}, {"other", "m1"}} {
			if _, err := l.History.Match(t.Context(), key[0], key[1]); !errors.Is(err, match.ErrNotFound) {
				t.Errorf("%v: %v", key, err)
			}
		}
	})
}

// A match is read page by page as it was settled, with its teams and firsts. Its record
// contains no nickname.
func TestAnArenaMatchIsReadInPages(t *testing.T) {
	eachLedger(t, func(t *testing.T, l *Ledger) {
		addPlayer(t, l, "p001")
		r := duel("m1", 99, names("p", 2*maxBulkRows+1)...)
		r.ArenaID, r.Mode, r.Winner = "a1", match.Buzzer, "red"
		r.Teams = []match.TeamResult{{Rank: 1, ID: "red", Score: 1}, {Rank: 2, ID: "blue"}}
		for i, player := range []string{"p001", "p000"} {
			r.Firsts = append(r.Firsts, match.First{Question: i, Player: player, Nickname: "Nick of then", Team: "red", ArrivedAt: 42, ElapsedMS: 7, Node: "n1"})
		}
		testenv.Need(l.Results.Commit(t.Context(), results(r)))(t)
		if e := readEntries(t, l, r); e.last-e.first+1 != int64(len(r.Standings)) {
			t.Errorf("%+v, want %d entries", e, len(r.Standings))
		}
		want := r.Summary()
		want.Firsts[0].Nickname = "Nick p001"
		got := testenv.Need(l.History.Match(t.Context(), game, "m1"))(t)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, want %+v", got, want)
		}
		var pages []protocol.OverStanding
		for from := 0; from < got.Players; from += 700 {
			pages = append(pages, testenv.Need(l.History.Standings(t.Context(), got, from, from+700))(t)...)
		}
		if !reflect.DeepEqual(pages, wantStandings(r, "p001")) {
			t.Errorf("%d standings, the first %+v", len(pages), pages[0])
		}
		if text := recordText(t, l, "m1"); strings.Contains(text, "Nick") || len(text) > 1000 {
			t.Errorf("the record of %d bytes is %.500s", len(text), text)
		}
		last := r.Standings[len(r.Standings)-1].Player
		if page, _, err := l.History.Matches(t.Context(), game, last, "", 10); err != nil || len(page) != 1 || page[0].Rank != len(r.Standings) {
			t.Errorf("history of the last: %+v, %v", page, err)
		}
	})
}

func recordText(t *testing.T, l *Ledger, id string) (text string) {
	t.Helper()
	testenv.NoError(t, l.readPool.QueryRowContext(t.Context(), `SELECT summary FROM matches WHERE game = $1 AND id = $2`, game, id).Scan(&text))
	return text
}
