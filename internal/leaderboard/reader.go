package leaderboard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Reader answers the leaderboard queries of the wire contract. It is safe for concurrent
// use, and callers may change what it returns. Errors wrap ErrNoWindow, ErrBadQuery,
// ErrBadCursor, ErrNotRanked or ErrNotReady. Other errors come from its source or
// archive.
type Reader struct {
	games   map[string]Config
	source  RankingSource
	archive *Archive
	now     func() int64
}

// NewReader returns a reader of the boards of games, whose Configs must be valid. now returns
// cluster time in epoch ms. It decides the current day only before a game's ledger has a first
// row.
func NewReader(games []Config, source RankingSource, archive *Archive, now func() int64) *Reader {
	return &Reader{games: configsByGame(games), source: source, archive: archive, now: now}
}

func configsByGame(configs []Config) map[string]Config {
	games := map[string]Config{}
	for _, cfg := range configs {
		games[cfg.Game] = cfg.withHash()
	}
	return games
}

// LedgerWentBack drops cached rankings of past days. The caller must call it when a ledger was
// restored, because a version of a day may have other sums then.
func (r *Reader) LedgerWentBack() { r.archive.clear() }

// readServed calls read with the game's configuration. If no boards of it are served, it
// calls read again with the fallback: the configuration of the boards that were written
// last. Readers see these until the new boards are published, and appliers keep them up to
// date.
func readServed[T any](ctx context.Context, r *Reader, game string, read func(Config) (T, error)) (answer T, err error) {
	newestConfig, known := r.games[game]
	if !known {
		return answer, fmt.Errorf("%w: no game %q", ErrNoWindow, game)
	}
	answer, err = read(newestConfig)
	if !errors.Is(err, ErrNotReady) && !errors.Is(err, ErrBadCursor) { // the cursor may belong to the fallback's boards
		return answer, err
	}
	fallback, found, fallbackErr := fallbackConfig(ctx, r.source, newestConfig)
	if fallbackErr != nil || !found {
		return answer, cmp.Or(fallbackErr, err)
	}
	answer, err = read(fallback)
	if errors.Is(err, ErrNoWindow) || errors.Is(err, ErrBadQuery) && !errors.Is(err, ErrBadCursor) {
		err = fmt.Errorf("%w: the boards of the new configuration are being built", ErrNotReady) // the request needs the new configuration
	}
	return answer, err
}

// Listing returns the windows, orders and kinds of the game's leaderboards.
func (r *Reader) Listing(ctx context.Context, game string) (Listing, error) {
	return readServed(ctx, r, game, func(cfg Config) (Listing, error) {
		rankingID := RankingID{Game: cfg.Game, ConfigHash: cfg.Hash(), Board: Board{Players, OpenDay}, Order: cfg.RankingOrder(ByValue)}
		slice, err := r.source.ReadSlice(ctx, rankingID, SliceRequest{Anchor: Top})
		listing := Listing{Kinds: Kinds(), TimeZone: cfg.Location.String(), Day: r.today(cfg, slice.BoardState)}
		for _, window := range cfg.Windows {
			listing.Windows = append(listing.Windows, ListedWindow{ID: window, Orders: cfg.Orders})
		}
		return listing, err
	})
}

// Page returns the entries that a query asks for.
func (r *Reader) Page(ctx context.Context, game string, query Query) (Page, error) {
	return readServed(ctx, r, game, func(cfg Config) (Page, error) { return r.queryPage(ctx, cfg, query) })
}

func (r *Reader) queryPage(ctx context.Context, cfg Config, query Query) (Page, error) {
	rankingID, err := cfg.rankingID(query.Window, query.Kind, query.Order)
	if err != nil {
		return Page{}, err
	}
	if err := query.normalize(); err != nil {
		return Page{}, err
	}
	if query.Date != "" {
		rankingID.Board.Span = query.Date
	}
	if query.Players != "" {
		return r.readPlayers(ctx, cfg, rankingID, query)
	}
	return r.readPage(ctx, cfg, rankingID, query)
}

// readPage reads a page of adjacent entries. The query must be normalized.
func (r *Reader) readPage(ctx context.Context, cfg Config, rankingID RankingID, query Query) (Page, error) {
	request := SliceRequest{Anchor: Top, Limit: query.Limit}
	switch {
	case query.Around != "":
		request.Anchor, request.ID = Around, query.Around
	case query.Cursor != "":
		parsed, err := parseCursor(query.Cursor, rankingID)
		if err != nil {
			return Page{}, err
		}
		rankingID, request.Anchor, request.Edge = parsed.RankingID, parsed.Anchor, parsed.Edge
	}
	slice, err := r.readSlice(ctx, cfg, rankingID, request)
	if err != nil {
		return Page{}, err
	}
	page, err := r.newPage(cfg, query, slice.BoardState)
	if err != nil {
		return Page{}, err
	}
	page.Entries = cfg.newEntries(slice)
	if rankingID.Board.Span == OpenDay {
		rankingID.Board.Span = slice.Span
	}
	page.PrevCursor, page.NextCursor = cursors(rankingID, request, slice)
	page.rankingID, page.rows = rankingID, slice.Entries
	return page, nil
}

// truncate returns the page from the top of a board that a query with a smaller limit would
// return. It shares its entries with p.
func (p Page) truncate(limit int) Page {
	if limit < len(p.Entries) {
		p.Entries, p.rows = p.Entries[:limit:limit], p.rows[:limit:limit]
		p.NextCursor = cursor{p.rankingID, After, p.rows[limit-1].edge()}.String()
	}
	return p
}

// readPlayers reads a page with the players or teams that the query names.
func (r *Reader) readPlayers(ctx context.Context, cfg Config, rankingID RankingID, query Query) (Page, error) {
	ids := strings.Split(query.Players, ",")
	slices.Sort(ids)
	result, err := r.readStandings(ctx, cfg, rankingID, slices.Compact(ids))
	if err != nil {
		return Page{}, err
	}
	slices.SortFunc(result.Entries, func(a, b StandingEntry) int { return a.compare(b.RankedEntry) })
	page, err := r.newPage(cfg, query, result.BoardState)
	if err != nil {
		return Page{}, err
	}
	for _, row := range result.Entries {
		page.Entries = append(page.Entries, cfg.newEntry(row.BoardEntry, row.BetterCount+1))
	}
	return page, nil
}

// newPage returns a page without entries, filled in from the state of a board. It refuses
// days after today.
func (r *Reader) newPage(cfg Config, query Query, state BoardState) (Page, error) {
	today := r.today(cfg, state)
	page := Page{
		Game: cfg.Game, Window: query.Window, Order: cmp.Or(query.Order, ByValue),
		From: cmp.Or(state.FirstDay, today), To: today,
		AsOf: state.AsOf, Total: state.Total, Entries: []Entry{},
	}
	switch {
	case query.Window.IsRolling():
		page.From = cmp.Or(state.WindowFirstDay, addDays(today, 1-query.Window.Days()))
	case query.Window == Day:
		page.From = cmp.Or(state.Span, today)
		page.To = page.From
	}
	if page.From > max(today, r.clockDay(cfg)) {
		return Page{}, queryError("date=%s is in the future; today is %s", page.From, today)
	}
	return page, nil
}

// today returns the ledger's open day. Before the ledger's first row it returns the day
// of the clock.
func (r *Reader) today(cfg Config, state BoardState) string {
	return cmp.Or(state.LedgerDay, r.clockDay(cfg))
}

// clockDay returns the civil date of now in the game's time zone.
func (r *Reader) clockDay(cfg Config) string {
	return time.UnixMilli(r.now()).In(cfg.Location).Format(time.DateOnly)
}
