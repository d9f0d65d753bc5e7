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

func TestACursorIsParsedAsItWasWritten(t *testing.T) {
	t.Parallel()
	for _, key := range []float64{0, -41000, -1.0 / 3, math.Nextafter(1234.5, 2000)} {
		want := cursor{newDayRankingID("2026-11-20"), Before, RankedMember{Key: key, Member: "0000000000000042:p_8Zk"}}
		for _, span := range []string{"2026-11-20", OpenDay} {
			if got, err := parseCursor(want.String(), newDayRankingID(span)); err != nil || got != want {
				t.Errorf("parsed for the board %s: %+v, %v, want %+v", span, got, err, want)
			}
		}
	}
}

func TestParseCursorRefusesForeignAndDamagedCursors(t *testing.T) {
	t.Parallel()
	valid := cursor{newDayRankingID("2026-11-20"), After, RankedMember{Key: 1, Member: "0000000000000042:p"}}
	edit := func(from, to string) string {
		raw, err := base64.RawURLEncoding.DecodeString(valid.String())
		if err != nil {
			t.Fatal(err)
		}
		return base64.RawURLEncoding.EncodeToString([]byte(strings.Replace(string(raw), from, to, 1)))
	}
	cursorOfAll := valid
	cursorOfAll.rankingID.Board.Span = "all"
	for name, text := range map[string]string{
		"invalid base64":      "%",
		"empty":               "",
		"truncated":           valid.String()[:20],
		"other version":       edit("1|", "2|"),
		"other game":          edit("demo", "else"),
		"other configuration": edit("|f|", "|g|"),
		"other kind":          edit("player", "team"),
		"other order":         edit("time", "score"),
		"other board":         cursorOfAll.String(),
		"invalid direction":   edit("after", "top"),
		"invalid key":         edit("3ff0", "zzzz"),
		"key is NaN":          edit("3ff0000000000000", "7ff8000000000001"),
		"invalid member":      edit("0000000000000042:p", "42:p"),
		"member with a *":     edit("42:p", "42:*"),
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
	f.Add(cursor{newDayRankingID("2026-11-20"), After, RankedMember{Key: -0.5, Member: "0000000000000042:p"}}.String())
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
