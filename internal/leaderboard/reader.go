package leaderboard

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
)

// Reader answers the questions of the wire contract about leaderboards. Safe
// for concurrent use; what it returns is the caller's own. Its errors wrap ErrNoWindow, ErrBadQuery, ErrBadCursor,
// ErrNotRanked or ErrNotReady; any other is the source's.
type Reader struct {
	games  map[string]Config
	source Source
	now    func() int64
}

// NewReader reads boards of valid configurations. Now is cluster time, epoch
// ms; it dates only what is asked before a game's ledger has a first row.
func NewReader(source Source, now func() int64, games ...Config) *Reader {
	r := &Reader{games: map[string]Config{}, source: source, now: now}
	for _, c := range games {
		r.games[c.Game] = c
	}
	return r
}

// Listing says what leaderboards the game has.
func (r *Reader) Listing(ctx context.Context, game string) (Listing, error) {
	cfg, err := r.config(game)
	if err != nil {
		return Listing{}, err
	}
	v := View{Game: game, Form: cfg.Form(), Board: Board{Players, OpenDay}, Ranking: cfg.Ranking(ByValue)}
	s, err := r.source.Slice(ctx, v, Cut{From: Top})
	if err != nil {
		return Listing{}, err
	}
	l := Listing{Kinds: []Kind{Players}, TimeZone: cfg.Location.String(), Day: r.today(cfg, s.Mark)}
	for _, w := range cfg.Served() {
		l.Windows = append(l.Windows, ListedWindow{ID: w, Orders: cfg.Orders})
	}
	return l, nil
}

// Page returns the entries that a query asks for.
func (r *Reader) Page(ctx context.Context, game string, q Query) (Page, error) {
	cfg, err := r.config(game)
	if err != nil {
		return Page{}, err
	}
	v, err := cfg.view(q.Window, q.Kind, q.Order)
	if err != nil {
		return Page{}, err
	}
	if err := q.check(); err != nil {
		return Page{}, err
	}
	if q.Date != "" {
		v.Board.Span = q.Date
	}
	if q.Players != nil {
		return r.some(ctx, cfg, v, q)
	}
	return r.slice(ctx, cfg, v, q)
}

// slice reads a page that is one piece of the ranking.
func (r *Reader) slice(ctx context.Context, cfg Config, v View, q Query) (Page, error) {
	cut := Cut{From: Top, Limit: q.Limit}
	switch {
	case q.Around != "":
		cut.From, cut.ID = Around, q.Around
	case q.Cursor != "":
		c, err := parseCursor(q.Cursor, v)
		if err != nil {
			return Page{}, err
		}
		v, cut.From, cut.Edge = c.view, c.from, c.edge
	}
	s, err := r.source.Slice(ctx, v, cut)
	if err != nil {
		return Page{}, err
	}
	p, err := r.page(cfg, q, s.Read)
	if err != nil {
		return Page{}, err
	}
	for i, row := range s.Rows {
		p.Entries = append(p.Entries, cfg.entry(row.Held, s.rank(i, p.Entries)))
	}
	v.Board.Span = s.Span
	p.PrevCursor, p.NextCursor = cursors(v, cut, s)
	return p, nil
}

// rank is row i's: one more than the entries with better keys.
func (s Slice) rank(i int, before []Entry) int64 {
	switch {
	case i == 0:
		return s.Better + 1
	case s.Rows[i].Key == s.Rows[i-1].Key:
		return before[i-1].Rank
	}
	return s.Start + int64(i) + 1
}

func (r SliceRow) edge() Ranked { return Ranked{Key: r.Key, Member: r.Member()} }

// some reads a page of the players that were named.
func (r *Reader) some(ctx context.Context, cfg Config, v View, q Query) (Page, error) {
	ids := slices.Clone(q.Players)
	slices.Sort(ids)
	places, err := r.source.Places(ctx, []Ask{{View: v, IDs: slices.Compact(ids)}})
	if err != nil {
		return Page{}, err
	}
	rows := places[0].Rows
	slices.SortFunc(rows, func(a, b PlaceRow) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Newest, b.Newest))
	})
	p, err := r.page(cfg, q, places[0].Read)
	if err != nil {
		return Page{}, err
	}
	for _, row := range rows {
		p.Entries = append(p.Entries, cfg.entry(row.Held, row.Better+1))
	}
	return p, nil
}

// page is the frame around the entries of a read.
func (r *Reader) page(cfg Config, q Query, read Read) (Page, error) {
	today := r.today(cfg, read.Mark)
	p := Page{
		Game: cfg.Game, Window: q.Window, Order: cmp.Or(q.Order, ByValue),
		From: cmp.Or(read.First, today), To: today,
		AsOf: read.AsOf, Total: read.Total, Entries: []Entry{},
	}
	if q.Window != Day {
		return p, nil
	}
	day := cmp.Or(read.Span, today)
	p.From, p.To = day, day
	switch {
	case day > max(today, r.clockDay(cfg)):
		return Page{}, badQuery("date=%s: today is %s", day, today)
	case read.First != "" && day >= read.First && day <= addDays(read.Mark.Day, -KeepDays):
		return Page{}, fmt.Errorf("%w: the board of %s is no longer kept", ErrNotReady, day)
	}
	return p, nil
}

// today is the day that the ledger is at, before its first row the clock's.
func (r *Reader) today(cfg Config, mark Watermark) string {
	return cmp.Or(mark.Day, r.clockDay(cfg))
}

func (r *Reader) clockDay(cfg Config) string {
	return time.UnixMilli(r.now()).In(cfg.Location).Format(time.DateOnly)
}

func (r *Reader) config(game string) (Config, error) {
	cfg, known := r.games[game]
	if !known {
		return Config{}, fmt.Errorf("%w: no game %q", ErrNoWindow, game)
	}
	return cfg, nil
}
