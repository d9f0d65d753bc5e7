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
	Names    leaderboard.Names
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
	feeds   *feeds
	metrics *metrics
}

// New returns a Display. The caller must call Run, which sends the pushes after a watcher's
// first one.
func New(c Config) *Display {
	d := &Display{reader: c.Reader, now: c.Now, names: newNameCache(c.Names), metrics: newMetrics(c.Registry)}
	d.pages = newPageCache(d.metrics)
	d.feeds = newFeeds(d.readTop, d.metrics)
	return d
}

// Run reads the watched boards and pushes changes until ctx ends. Then it returns nil.
func (d *Display) Run(ctx context.Context) error { return d.feeds.run(ctx) }

// Listing returns the encoded list of a game's leaderboards.
func (d *Display) Listing(ctx context.Context, game string) (Answer, error) {
	l, err := d.reader.Listing(ctx, game)
	if err != nil {
		return Answer{}, err
	}
	return EncodeAnswer(l), nil
}

// Page returns the encoded page for a query. It may be up to 250 ms old, except for queries
// that name players or an entry to read around.
func (d *Display) Page(ctx context.Context, game string, q leaderboard.Query) (Answer, error) {
	if q.Around != "" || q.Players != nil {
		return d.page(ctx, game, q)
	}
	return d.pages.get(ctx, newPageKey(game, q), func(ctx context.Context) (Answer, error) { return d.page(ctx, game, q) })
}

func (d *Display) page(ctx context.Context, game string, q leaderboard.Query) (Answer, error) {
	page, err := d.reader.Page(ctx, game, q)
	if err != nil {
		return Answer{}, err
	}
	if err := d.names.addNames(ctx, game, q.Kind, page.Entries); err != nil {
		return Answer{}, err
	}
	page.Kind = cmp.Or(q.Kind, leaderboard.Players)
	answer := EncodeAnswer(page)
	answer.IsFinal = isOver(q.Date, d.now())
	return answer, nil
}

// Standing returns the encoded standing of one entry. It does not use the page cache.
func (d *Display) Standing(ctx context.Context, game string, q leaderboard.StandingQuery) (Answer, error) {
	s, err := d.reader.Standing(ctx, game, q)
	if err != nil {
		return Answer{}, err
	}
	entry := []leaderboard.Entry{s.Entry}
	if err := d.names.addNames(ctx, game, q.Kind, entry); err != nil {
		return Answer{}, err
	}
	s.Entry = entry[0]
	return EncodeAnswer(s), nil
}

// ForgetName makes this node look up a player's name again for all later answers. Call it
// after a rename.
func (d *Display) ForgetName(game, player string) {
	d.names.forget(game, player)
	d.pages.clear()
}

// EncodeAnswer encodes an answer as JSON. It panics if JSON cannot represent the answer.
func EncodeAnswer(answer any) Answer {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(answer); err != nil {
		panic(err)
	}
	sum := sha256.Sum256(b.Bytes())
	return Answer{JSON: b.Bytes(), ETag: base64.RawURLEncoding.EncodeToString(sum[:12])}
}

// dayEndMargin is added to the end of a day in UTC. After that time, the day has ended in
// all time zones, and in the ledger.
const dayEndMargin = 13 * time.Hour

// isPastDay reports whether a civil date (YYYY-MM-DD) is past in all time zones. now is in
// epoch ms. It returns false for an empty or invalid date.
func isOver(date string, now int64) bool {
	day, err := time.Parse(time.DateOnly, date)
	return err == nil && day.AddDate(0, 0, 1).Add(dayEndMargin).UnixMilli() <= now
}
