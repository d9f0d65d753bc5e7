package display

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/leaderboard"
	"laststand/internal/loop"
)

// Reader reads boards. *leaderboard.Reader implements it.
type Reader interface {
	Listing(ctx context.Context, game string) (leaderboard.Listing, error)
	Page(ctx context.Context, game string, q leaderboard.Query) (leaderboard.Page, error)
	Top(ctx context.Context, game string, q leaderboard.Query) (leaderboard.TopPage, error)
	Standing(ctx context.Context, game string, q leaderboard.StandingQuery) (leaderboard.Standing, error)
}

// Config configures a Display. All fields are required.
type Config struct {
	Reader   Reader
	Names    leaderboard.NameSource
	Now      func() int64 // cluster time, epoch ms; decides which days are past
	Registry prometheus.Registerer
}

// Answer is an encoded answer for clients.
type Answer struct {
	JSON    []byte // shared; must not be changed
	ETag    string // hash of the bytes, the same on every node
	IsFinal bool   // true: about a past day, so only corrections and renames can change it
}

// Display encodes leaderboards for clients. Safe for concurrent use. Its errors come from
// the Reader and the Names of its Config.
type Display struct {
	reader  Reader
	now     func() int64
	names   *nameCache
	pages   *pageCache
	feeds   *feedRegistry
	metrics *metrics
}

// New returns a Display. The caller must call Run, which sends the pushes after a watcher's
// first one.
func New(cfg Config) *Display {
	display := &Display{reader: cfg.Reader, now: cfg.Now, names: newNameCache(cfg.Names), metrics: newMetrics(cfg.Registry)}
	display.pages = newPageCache(display.metrics)
	display.feeds = &feedRegistry{readTop: display.readTop, metrics: display.metrics, byKey: make(map[pageKey]*feed)}
	return display
}

// Run reads the watched boards and pushes changes until ctx ends. Then it returns nil.
func (d *Display) Run(ctx context.Context) error {
	loop.Every(ctx, pushInterval, d.feeds.pollAll)
	return nil
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
func (d *Display) Page(ctx context.Context, game string, query leaderboard.Query) (Answer, error) {
	if query.Around != "" || query.Players != nil {
		return d.readPage(ctx, game, query)
	}
	return d.pages.get(ctx, newPageKey(game, query), func(ctx context.Context) (Answer, error) { return d.readPage(ctx, game, query) })
}

func (d *Display) readPage(ctx context.Context, game string, query leaderboard.Query) (Answer, error) {
	page, err := d.reader.Page(ctx, game, query)
	if err != nil {
		return Answer{}, err
	}
	if err := d.names.setNames(ctx, game, query.Kind, page.Entries); err != nil {
		return Answer{}, err
	}
	page.Kind = cmp.Or(query.Kind, leaderboard.Players)
	answer := EncodeAnswer(page)
	answer.IsFinal = isPastDay(query.Date, d.now())
	return answer, nil
}

// readTop reads the first entries of a board, with their names.
func (d *Display) readTop(ctx context.Context, key pageKey, limit int) (leaderboard.TopPage, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	top, err := d.reader.Top(ctx, key.game, leaderboard.Query{Window: key.window, Order: key.order, Kind: key.kind, Limit: limit})
	if err == nil {
		err = d.names.setNames(ctx, key.game, key.kind, top.Entries)
	}
	top.Kind = key.kind
	d.metrics.storeReads.Inc()
	return top, err
}

// Standing returns the encoded standing of one entry. It does not use the page cache.
func (d *Display) Standing(ctx context.Context, game string, query leaderboard.StandingQuery) (Answer, error) {
	standing, err := d.reader.Standing(ctx, game, query)
	if err != nil {
		return Answer{}, err
	}
	entry := []leaderboard.Entry{standing.Entry}
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

// EncodeAnswer encodes an answer as JSON. It panics if JSON cannot represent the answer.
func EncodeAnswer(answer any) Answer {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(answer); err != nil {
		panic(err)
	}
	sum := sha256.Sum256(buffer.Bytes())
	return Answer{JSON: buffer.Bytes(), ETag: base64.RawURLEncoding.EncodeToString(sum[:12])}
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
