package leaderboard

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// Reader answers the leaderboard queries of the wire contract. It is safe for concurrent
// use, and callers may change what it returns. Errors wrap ErrNoWindow, ErrBadQuery,
// ErrBadCursor, ErrNotRanked or ErrNotReady. Other errors come from the Source, the
// Archive or the Configs of its options.
type Reader struct {
	games   map[string]Config
	source  Source
	configs ServedConfigs
	archive *Archive
	now     func() int64
}

// ReaderOptions must be complete. Games are valid Configs. Now returns cluster time in
// epoch ms. It decides the current day only before a game's ledger has a first row.
type ReaderOptions struct {
	Games   []Config
	Source  Source
	Configs ServedConfigs
	Archive *Archive
	Now     func() int64
}

// NewReader returns a reader of the games' boards.
func NewReader(o ReaderOptions) *Reader {
	r := &Reader{games: map[string]Config{}, source: o.Source, configs: o.Configs, archive: o.Archive, now: o.Now}
	for _, c := range o.Games {
		r.games[c.Game] = c.withHash()
	}
	return r
}

// Listing returns the windows, orders and kinds of the game's leaderboards.
func (r *Reader) Listing(ctx context.Context, game string) (l Listing, err error) {
	err = r.withServedConfig(ctx, game, func(cfg Config) error {
		l, err = r.listing(ctx, cfg)
		return err
	})
	return l, err
}

func (r *Reader) listing(ctx context.Context, cfg Config) (Listing, error) {
	v := View{Game: cfg.Game, ConfigHash: cfg.Hash(), Board: Board{Players, OpenDay}, Ranking: cfg.Ranking(ByValue)}
	s, err := r.source.ReadSlice(ctx, v, Cut{From: Top})
	if err != nil {
		return Listing{}, err
	}
	l := Listing{Kinds: Kinds(), TimeZone: cfg.Location.String(), Day: r.today(cfg, s.Mark)}
	for _, w := range cfg.Windows {
		l.Windows = append(l.Windows, ListedWindow{ID: w, Orders: cfg.Orders})
	}
	return l, nil
}

// Page returns the entries that a query asks for.
func (r *Reader) Page(ctx context.Context, game string, q Query) (p Page, err error) {
	err = r.withServedConfig(ctx, game, func(cfg Config) error {
		p, err = r.queryPage(ctx, cfg, q)
		return err
	})
	return p, err
}

func (r *Reader) queryPage(ctx context.Context, cfg Config, q Query) (Page, error) {
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
		return r.readPlayers(ctx, cfg, v, q)
	}
	top, err := r.readPage(ctx, cfg, v, q)
	return top.Page, err
}

// TopPage is a page from the top of a leaderboard. Truncate returns shorter pages.
type TopPage struct {
	Page
	Next func(n int) string // returns the NextCursor for a page with the first n entries
}

// Truncate returns the page that a query with a smaller limit would return. It shares its
// entries with t. limit must be at most the limit with which t was read.
func (t TopPage) Cut(limit int) Page {
	p := t.Page
	if limit < len(p.Entries) {
		p.Entries, p.NextCursor = p.Entries[:limit:limit], t.Next(limit)
	}
	return p
}

// Top returns the first page of a leaderboard. It ignores all fields of the query except
// Window, Order, Kind and Limit.
func (r *Reader) Top(ctx context.Context, game string, q Query) (top TopPage, err error) {
	q = Query{Window: q.Window, Order: q.Order, Kind: q.Kind, Limit: q.Limit}
	err = r.withServedConfig(ctx, game, func(cfg Config) error {
		v, err := cfg.view(q.Window, q.Kind, q.Order)
		if err != nil {
			return err
		}
		if err := q.check(); err != nil {
			return err
		}
		top, err = r.readPage(ctx, cfg, v, q)
		return err
	})
	return top, err
}

// readPage reads a page of adjacent entries. The query must be normalized.
func (r *Reader) readPage(ctx context.Context, cfg Config, v View, q Query) (TopPage, error) {
	cut := Cut{From: Top, Limit: q.Limit}
	switch {
	case q.Around != "":
		cut.From, cut.ID = Around, q.Around
	case q.Cursor != "":
		c, err := parseCursor(q.Cursor, v)
		if err != nil {
			return TopPage{}, err
		}
		v, cut.From, cut.Edge = c.view, c.from, c.edge
	}
	s, err := r.readSlice(ctx, cfg, v, cut)
	if err != nil {
		return TopPage{}, err
	}
	p, err := r.newPage(cfg, q, s.BoardState)
	if err != nil {
		return TopPage{}, err
	}
	for i, row := range s.Rows {
		p.Entries = append(p.Entries, cfg.entry(row.BoardEntry, s.rankOf(i, p.Entries)))
	}
	if v.Board.Span == OpenDay {
		v.Board.Span = s.Span
	}
	p.PrevCursor, p.NextCursor = cursors(v, cut, s)
	return TopPage{Page: p, Next: func(n int) string {
		first := s
		first.Rows = s.Rows[:n]
		_, next := cursors(v, cut, first)
		return next
	}}, nil
}

// rankAt returns the rank of entry i: one more than the number of entries with better
// keys. entriesBefore are the entries 0 to i-1 with their ranks.
func (s Slice) rankOf(i int, before []Entry) int64 {
	switch {
	case i == 0:
		return s.Better + 1
	case s.Rows[i].Key == s.Rows[i-1].Key:
		return before[i-1].Rank
	}
	return s.Start + int64(i) + 1
}

func (r SliceRow) edge() Ranked { return Ranked{Key: r.Key, Member: r.Member()} }

// readPlayers reads a page with the players or teams that the query names.
func (r *Reader) readPlayers(ctx context.Context, cfg Config, v View, q Query) (Page, error) {
	ids := slices.Clone(q.Players)
	slices.Sort(ids)
	places, err := r.readStandings(ctx, cfg, v, slices.Compact(ids))
	if err != nil {
		return Page{}, err
	}
	rows := places.Rows
	slices.SortFunc(rows, func(a, b StandingRow) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Newest, b.Newest))
	})
	p, err := r.newPage(cfg, q, places.BoardState)
	if err != nil {
		return Page{}, err
	}
	for _, row := range rows {
		p.Entries = append(p.Entries, cfg.entry(row.BoardEntry, row.Better+1))
	}
	return p, nil
}

// newPage returns a page without entries, filled in from the state of a board. It refuses
// days after today.
func (r *Reader) newPage(cfg Config, q Query, read BoardState) (Page, error) {
	today := r.today(cfg, read.Mark)
	p := Page{
		Game: cfg.Game, Window: q.Window, Order: cmp.Or(q.Order, ByValue),
		From: cmp.Or(read.First, today), To: today,
		AsOf: read.AsOf, Total: read.Total, Entries: []Entry{},
	}
	switch {
	case q.Window.Rolling():
		p.From = cmp.Or(read.From, addDays(today, 1-q.Window.Days()))
	case q.Window == Day:
		p.From = cmp.Or(read.Span, today)
		p.To = p.From
	}
	if p.From > max(today, r.clockDay(cfg)) {
		return Page{}, badQuery("date=%s is in the future; today is %s", p.From, today)
	}
	return p, nil
}

// today returns the ledger's open day. Before the ledger's first row it returns the day
// of the clock.
func (r *Reader) today(cfg Config, mark Watermark) string {
	return cmp.Or(mark.Day, r.clockDay(cfg))
}

// clockDay returns the civil date of now in the game's time zone.
func (r *Reader) clockDay(cfg Config) string {
	return time.UnixMilli(r.now()).In(cfg.Location).Format(time.DateOnly)
}
