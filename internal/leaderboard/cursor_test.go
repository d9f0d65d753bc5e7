package leaderboard

import (
	"encoding/base64"
	"errors"
	"math"
	"strings"
	"testing"
)

func newDayRankingID(span string) RankingID {
	return RankingID{Game: "demo", ConfigHash: "f", Board: Board{Players, span}, Order: ByTime}
}

func newEdge(key float64, newest int64, id string) RankedEntry {
	return RankedEntry{BoardEntry: BoardEntry{ID: id, Newest: newest}, Key: key}
}

func TestACursorIsParsedAsItWasWritten(t *testing.T) {
	t.Parallel()
	for _, key := range []float64{0, -41000, -1.0 / 3, math.Nextafter(1234.5, 2000)} {
		want := cursor{newDayRankingID("2026-11-20"), Before, newEdge(key, 42, "p_8Zk")}
		for _, span := range []string{"2026-11-20", OpenDay} {
			if got, err := parseCursor(want.String(), newDayRankingID(span)); err != nil || got != want {
				t.Errorf("parsed for the board %s: %+v, %v, want %+v", span, got, err, want)
			}
		}
	}
}

func TestParseCursorRefusesForeignAndDamagedCursors(t *testing.T) {
	t.Parallel()
	valid := cursor{newDayRankingID("2026-11-20"), After, newEdge(1, 42, "p")}
	edit := func(from, to string) string {
		raw, err := base64.RawURLEncoding.DecodeString(valid.String())
		if err != nil {
			t.Fatal(err)
		}
		return base64.RawURLEncoding.EncodeToString([]byte(strings.Replace(string(raw), from, to, 1)))
	}
	cursorOfAll := valid
	cursorOfAll.RankingID.Board.Span = "all"
	for name, text := range map[string]string{
		"invalid base64":      "%",
		"empty":               "",
		"truncated":           valid.String()[:20],
		"another text":        base64.RawURLEncoding.EncodeToString([]byte("1|demo|f|player|2026-11-20|time|after|3ff0|p")),
		"other game":          edit("demo", "else"),
		"other configuration": edit(`"f"`, `"g"`),
		"other kind":          edit("player", "team"),
		"other order":         edit("time", "score"),
		"other board":         cursorOfAll.String(),
		"invalid direction":   edit("after", "top"),
		"invalid key":         edit(`"Key":1`, `"Key":"z"`),
		"key is infinite":     edit(`"Key":1`, `"Key":1e999`),
		"invalid position":    edit("42", "-42"),
		"position too large":  edit("42", "10000000000000000"),
		"invalid id":          edit(`"p"`, `"*"`),
		"too long":            valid.String() + strings.Repeat("A", maxCursorBytes),
	} {
		if got, err := parseCursor(text, newDayRankingID(OpenDay)); !errors.Is(err, ErrBadCursor) || !errors.Is(err, ErrBadQuery) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if _, err := parseCursor(valid.String(), newDayRankingID("2026-11-21")); !errors.Is(err, ErrBadCursor) {
		t.Errorf("a cursor of another date: %v", err)
	}
}

func FuzzCursor(f *testing.F) {
	f.Add(cursor{newDayRankingID("2026-11-20"), After, newEdge(-0.5, 42, "p")}.String())
	f.Fuzz(func(t *testing.T, text string) {
		parsed, err := parseCursor(text, newDayRankingID(OpenDay))
		if err != nil {
			return
		}
		parsedAgain, err := parseCursor(parsed.String(), newDayRankingID(OpenDay))
		if err != nil || parsedAgain != parsed {
			t.Fatalf("%q is parsed as %+v, but after String as %+v, %v", text, parsed, parsedAgain, err)
		}
	})
}

func TestTheLongestCursorIsParsed(t *testing.T) {
	t.Parallel()
	name := strings.Repeat("n", 64)
	rankingID := RankingID{Game: name, ConfigHash: strings.Repeat("f", 12), Board: Board{Players, "2026-11-20"}, Order: ByAccuracy}
	want := cursor{rankingID, Before, newEdge(-1.2345678901234567e-300, maxPosition, name)}
	if got, err := parseCursor(want.String(), rankingID); err != nil || got != want {
		t.Errorf("parsed %d characters: %+v, %v", len(want.String()), got, err)
	}
}
