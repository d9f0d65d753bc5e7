// Package display is what clients see of the boards: answers with names in
// them, encoded once for all who ask in the same moment, and pushed to who
// watches. Everybody sees the same bytes, over HTTP and over the websocket.
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

// Reader reads boards; *leaderboard.Reader.
type Reader interface {
	Listing(ctx context.Context, game string) (leaderboard.Listing, error)
	Page(ctx context.Context, game string, q leaderboard.Query) (leaderboard.Page, error)
	Top(ctx context.Context, game string, q leaderboard.Query) (leaderboard.TopPage, error)
	Standing(ctx context.Context, game string, q leaderboard.StandingQuery) (leaderboard.Standing, error)
}

// Config is what a display is made of; all fields are needed.
type Config struct {
	Reader   Reader
	Names    leaderboard.Names
	Now      func() int64 // cluster time, epoch ms: says which days are over
	Registry prometheus.Registerer
}

// Shown is an answer as clients get it.
type Shown struct {
	JSON []byte // shared: nobody writes to it
	Tag  string // names the bytes, on every node alike
	Over bool   // of a day that is over: only corrections and names change it
}

// Display shows the boards of a node. Safe for concurrent use. Its errors are
// the reader's, and those of the names.
type Display struct {
	reader  Reader
	now     func() int64
	names   *names
	pages   *pages
	feeds   *feeds
	metrics *metrics
}

// New makes a display. Run has it push.
func New(c Config) *Display {
	d := &Display{reader: c.Reader, now: c.Now, names: newNames(c.Names), metrics: newMetrics(c.Registry)}
	d.pages = newPages(d.metrics)
	d.feeds = newFeeds(d.readTop, d.metrics)
	return d
}

// Run pushes boards to who watches them until ctx ends.
func (d *Display) Run(ctx context.Context) error { return d.feeds.run(ctx) }

// Listing says what leaderboards a game has.
func (d *Display) Listing(ctx context.Context, game string) (Shown, error) {
	l, err := d.reader.Listing(ctx, game)
	if err != nil {
		return Shown{}, err
	}
	return Show(l), nil
}

// Page answers a query. Pages that lie somewhere on the board are up to 250 ms
// old; those of named players and around one are read anew.
func (d *Display) Page(ctx context.Context, game string, q leaderboard.Query) (Shown, error) {
	if q.Around != "" || q.Players != nil {
		return d.page(ctx, game, q)
	}
	return d.pages.get(ctx, keyOf(game, q), func(ctx context.Context) (Shown, error) { return d.page(ctx, game, q) })
}

func (d *Display) page(ctx context.Context, game string, q leaderboard.Query) (Shown, error) {
	page, err := d.reader.Page(ctx, game, q)
	if err != nil {
		return Shown{}, err
	}
	if err := d.names.fill(ctx, game, q.Kind, page.Entries); err != nil {
		return Shown{}, err
	}
	page.Kind = cmp.Or(q.Kind, leaderboard.Players)
	shown := Show(page)
	shown.Over = over(q.Date, d.now())
	return shown, nil
}

// Standing answers for one entry, read anew.
func (d *Display) Standing(ctx context.Context, game string, q leaderboard.StandingQuery) (Shown, error) {
	s, err := d.reader.Standing(ctx, game, q)
	if err != nil {
		return Shown{}, err
	}
	entry := []leaderboard.Entry{s.Entry}
	if err := d.names.fill(ctx, game, q.Kind, entry); err != nil {
		return Shown{}, err
	}
	s.Entry = entry[0]
	return Show(s), nil
}

// Renamed has every later answer of this node show a player's new name.
func (d *Display) Renamed(game, player string) {
	d.names.forget(game, player)
	d.pages.clear()
}

// Show encodes an answer, which always succeeds: it panics on what JSON does
// not have.
func Show(answer any) Shown {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(answer); err != nil {
		panic(err)
	}
	sum := sha256.Sum256(b.Bytes())
	return Shown{JSON: b.Bytes(), Tag: base64.RawURLEncoding.EncodeToString(sum[:12])}
}

// behind is how long after a day's end at Greenwich it has ended everywhere,
// and the ledger knows.
const behind = 13 * time.Hour

// over reports whether a civil date, "" for none, is surely over.
func over(date string, now int64) bool {
	day, err := time.Parse(time.DateOnly, date)
	return err == nil && day.AddDate(0, 0, 1).Add(behind).UnixMilli() <= now
}
