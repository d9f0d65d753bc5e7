package leaderboard

import (
	"encoding/base64"
	"errors"
	"math"
	"strings"
	"testing"
)

func newDayView(span string) View {
	return View{Game: "demo", ConfigHash: "f", Board: Board{Players, span}, Ranking: ByTime}
}

func TestACursorKeepsItsPosition(t *testing.T) {
	t.Parallel()
	for _, key := range []float64{0, -41000, -1.0 / 3, math.Nextafter(1234.5, 2000)} {
		want := cursor{newDayView("2026-11-20"), Before, Ranked{Key: key, Member: "0000000000000042:p_8Zk"}}
		for _, asked := range []string{"2026-11-20", OpenDay} {
			if got, err := parseCursor(want.String(), newDayView(asked)); err != nil || got != want {
				t.Errorf("asked for %s: %+v, %v, want %+v", asked, got, err, want)
			}
		}
	}
}

func TestAForeignOrDamagedCursorIsRefused(t *testing.T) {
	t.Parallel()
	good := cursor{newDayView("2026-11-20"), After, Ranked{Key: 1, Member: "0000000000000042:p"}}
	edit := func(from, to string) string {
		raw, err := base64.RawURLEncoding.DecodeString(good.String())
		if err != nil {
			t.Fatal(err)
		}
		return base64.RawURLEncoding.EncodeToString([]byte(strings.Replace(string(raw), from, to, 1)))
	}
	all := good
	all.view.Board.Span = "all"
	for name, s := range map[string]string{
		"no base64":     "%",
		"empty":         "",
		"cut":           good.String()[:20],
		"other version": edit("1|", "2|"),
		"other game":    edit("demo", "else"),
		"other form":    edit("|f|", "|g|"),
		"other kind":    edit("player", "team"),
		"other order":   edit("time", "score"),
		"other board":   all.String(),
		"no direction":  edit("after", "top"),
		"no key":        edit("3ff0", "zzzz"),
		"no number":     edit("3ff0000000000000", "7ff8000000000001"),
		"no member":     edit("0000000000000042:p", "42:p"),
		"a glob":        edit("42:p", "42:*"),
		"too long":      good.String() + strings.Repeat("A", maxCursor),
	} {
		if got, err := parseCursor(s, newDayView(OpenDay)); !errors.Is(err, ErrBadCursor) || !errors.Is(err, ErrBadQuery) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if _, err := parseCursor(good.String(), newDayView("2026-11-21")); !errors.Is(err, ErrBadCursor) {
		t.Errorf("a cursor of another date: %v", err)
	}
}

func FuzzCursor(f *testing.F) {
	f.Add(cursor{newDayView("2026-11-20"), After, Ranked{Key: -0.5, Member: "0000000000000042:p"}}.String())
	f.Fuzz(func(t *testing.T, s string) {
		c, err := parseCursor(s, newDayView(OpenDay))
		if err != nil {
			return
		}
		again, err := parseCursor(c.String(), newDayView(OpenDay))
		if err != nil || again != c {
			t.Fatalf("%q is %+v, which is written and read as %+v, %v", s, c, again, err)
		}
	})
}
