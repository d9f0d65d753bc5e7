package leaderboard

import (
	"context"
	"errors"
	"net/url"
	"reflect"
	"strings"
	"testing"
)

func TestParseQueryRefusesUnknownAndInvalidParameters(t *testing.T) {
	t.Parallel()
	values := url.Values{
		"order": {"time"}, "kind": {"player"}, "limit": {"200"}, "cursor": {"c"},
		"around": {"a"}, "players": {"a,b"}, "date": {"2026-11-20"},
	}
	want := Query{
		Window: Day, Order: ByTime, Kind: Players, Limit: 200, Cursor: "c",
		Around: "a", Players: "a,b", Date: "2026-11-20",
	}
	if got, err := ParseQuery("day", values); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range []string{"limit=0", "limit=201", "limit=x", "limit=", "limit=1&limit=2", "colour=red", "explain=1"} {
		values, err := url.ParseQuery(bad)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ParseQuery("all", values); !errors.Is(err, ErrBadQuery) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestParseStandingQueryRefusesInvalidParameters(t *testing.T) {
	t.Parallel()
	got, err := ParseStandingQuery("all", "p", url.Values{"order": {"score"}, "kind": {"player"}, "explain": {"1"}})
	if want := (StandingQuery{Window: All, Order: ByScore, Kind: Players, Player: "p", Explain: true}); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range []url.Values{{"explain": {"yes"}}, {"limit": {"1"}}} {
		if _, err := ParseStandingQuery("all", "p", bad); !errors.Is(err, ErrBadQuery) {
			t.Errorf("%v: %v", bad, err)
		}
	}
}

// unusedSource serves no configuration. It panics when its boards are read.
type unusedSource struct {
	RankingSource
}

func (unusedSource) ServedConfig(context.Context, string) (Config, bool, error) {
	return Config{}, false, nil
}

func TestABadQueryReadsNothing(t *testing.T) {
	t.Parallel()
	reader := NewReader([]Config{validConfig()}, unusedSource{}, nil, func() int64 { return 0 })
	for name, tt := range map[string]struct {
		query Query
		want  error
	}{
		"unknown window":     {Query{Window: "90d"}, ErrNoWindow},
		"unknown order":      {Query{Window: All, Order: "luck"}, ErrBadQuery},
		"unknown kind":       {Query{Window: All, Kind: "crowd"}, ErrBadQuery},
		"limit":              {Query{Window: All, Limit: MaxLimit + 1}, ErrBadQuery},
		"cursor and around":  {Query{Window: All, Cursor: "c", Around: "a"}, ErrBadQuery},
		"no id":              {Query{Window: All, Around: "a b"}, ErrBadQuery},
		"two to read around": {Query{Window: All, Around: "a,b"}, ErrBadQuery},
		"an empty id":        {Query{Window: All, Players: "a,"}, ErrBadQuery},
		"too many":           {Query{Window: All, Players: strings.Repeat("p,", MaxLimit) + "p"}, ErrBadQuery},
		"date of all":        {Query{Window: All, Date: "2026-11-20"}, ErrBadQuery},
		"no date":            {Query{Window: Day, Date: "2026-13-01"}, ErrBadQuery},
		"damaged cursor":     {Query{Window: All, Cursor: "c"}, ErrBadCursor},
	} {
		if _, err := reader.Page(t.Context(), "demo", tt.query); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
	}
	if _, err := reader.Page(t.Context(), "other", Query{Window: All}); !errors.Is(err, ErrNoWindow) {
		t.Errorf("another game: %v", err)
	}
	if _, err := reader.Standing(t.Context(), "demo", StandingQuery{Window: All, Player: "a b"}); !errors.Is(err, ErrNotRanked) {
		t.Errorf("the standing of an invalid id: %v", err)
	}
	if _, err := reader.WindowStandings(t.Context(), "other", []string{"a"}); !errors.Is(err, ErrNoWindow) {
		t.Errorf("window standings of another game: %v", err)
	}
}

func FuzzParseQuery(f *testing.F) {
	f.Add("order=value&limit=50&players=a,b&date=2026-11-20")
	f.Fuzz(func(t *testing.T, rawQuery string) {
		values, err := url.ParseQuery(rawQuery)
		if err != nil {
			return
		}
		query, err := ParseQuery("day", values)
		if err != nil && !errors.Is(err, ErrBadQuery) {
			t.Fatalf("%q: %v", rawQuery, err)
		}
		if err == nil && query.normalize() == nil && (query.Limit < 1 || query.Limit > MaxLimit || strings.Count(query.Players, ",") >= MaxLimit) {
			t.Fatalf("%q became %+v", rawQuery, query)
		}
	})
}
