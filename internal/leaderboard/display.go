package leaderboard

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/protocol"
)

// BoardReader is what a Display needs of a *Reader.
type BoardReader interface {
	Listing(ctx context.Context, game string) (Listing, error)
	Page(ctx context.Context, game string, q Query) (Page, error)
	Standing(ctx context.Context, game string, q StandingQuery) (Standing, error)
}

// Display encodes leaderboards for clients, over HTTP and the websocket. Concurrent callers
// share reads. Safe for concurrent use. Its errors come from its reader and its names.
type Display struct {
	reader  BoardReader
	now     func() int64
	names   *nameCache
	pages   *pageCache
	metrics *displayMetrics

	mu      sync.Mutex
	watched map[pageKey]map[*watcher]struct{} // the watchers, at least one, of each board; the Limit of a key is 0
}

// watcher is one session that watches a board. Display.mu guards its fields.
type watcher struct {
	push            func(frame []byte) // must not block
	limit           int
	lastTag         string // ETag of the last pushed page; empty: none was pushed
	pushedSincePoll bool   // true: the first push was after the last poll
}

// NewDisplay returns a Display. now returns cluster time in epoch ms, which decides which days
// are past. The caller must call Run, which sends the pushes after a watcher's first one.
func NewDisplay(reader BoardReader, names NameSource, now func() int64, registry prometheus.Registerer) *Display {
	metrics := newDisplayMetrics(registry)
	return &Display{
		reader: reader, now: now, names: newNameCache(names), pages: newPageCache(metrics), watched: map[pageKey]map[*watcher]struct{}{}, metrics: metrics,
	}
}

// Listing returns the encoded list of a game's leaderboards.
func (d *Display) Listing(ctx context.Context, game string) (Answer, error) {
	listing, err := d.reader.Listing(ctx, game)
	if err != nil {
		return Answer{}, err
	}
	return EncodeAnswer(listing), nil
}

// Page returns the encoded page for a query. It may be up to 250 ms old, except for queries
// that name players or an entry to read around.
func (d *Display) Page(ctx context.Context, game string, query Query) (Answer, error) {
	if query.Around != "" || query.Players != "" {
		return d.readAnswer(ctx, game, query)
	}
	return d.pages.get(ctx, newPageKey(game, query), func(ctx context.Context) (Answer, error) { return d.readAnswer(ctx, game, query) })
}

// readAnswer reads and encodes the page for a query.
func (d *Display) readAnswer(ctx context.Context, game string, query Query) (Answer, error) {
	page, err := d.readPage(ctx, game, query)
	if err != nil {
		return Answer{}, err
	}
	answer := EncodeAnswer(page)
	answer.IsFinal = isPastDay(query.Date, d.now())
	return answer, nil
}

// readPage reads the page for a query, with the names of its entries.
func (d *Display) readPage(ctx context.Context, game string, query Query) (Page, error) {
	page, err := d.reader.Page(ctx, game, query)
	if err == nil {
		err = d.names.setNames(ctx, game, query.Kind, page.Entries)
	}
	page.Kind = cmp.Or(query.Kind, Players)
	return page, err
}

// Standing returns the encoded standing of one entry. It does not use the page cache.
func (d *Display) Standing(ctx context.Context, game string, query StandingQuery) (Answer, error) {
	standing, err := d.reader.Standing(ctx, game, query)
	if err != nil {
		return Answer{}, err
	}
	entry := []Entry{standing.Entry}
	if err := d.names.setNames(ctx, game, query.Kind, entry); err != nil {
		return Answer{}, err
	}
	standing.Entry = entry[0]
	return EncodeAnswer(standing), nil
}

// ForgetName makes this node look up a player's name again for all later answers. Call it
// after a rename.
func (d *Display) ForgetName(game, player string) {
	d.names.remove(game, player)
	d.pages.clear()
}

// Answer is an encoded answer for clients: a page, a standing or a listing.
type Answer struct {
	JSON    []byte // shared; must not be changed
	ETag    string // hash of the bytes, the same on every node
	IsFinal bool   // true: about a past day, so only corrections and renames can change it
}

// EncodeAnswer encodes an answer as JSON. It panics if JSON cannot represent the answer.
func EncodeAnswer(answer any) Answer {
	content := append(protocol.EncodeJSON(answer), '\n')
	sum := sha256.Sum256(content)
	return Answer{JSON: content, ETag: base64.RawURLEncoding.EncodeToString(sum[:12])}
}

// dayEndMargin is added to the end of a day in UTC. After that time, the day has ended in
// all time zones, and in the ledger.
const dayEndMargin = 13 * time.Hour

// isPastDay reports whether a civil date (YYYY-MM-DD) is past in all time zones. now is in
// epoch ms. It returns false for an empty or invalid date.
func isPastDay(date string, now int64) bool {
	day, err := time.Parse(time.DateOnly, date)
	return err == nil && day.AddDate(0, 0, 1).Add(dayEndMargin).UnixMilli() <= now
}
