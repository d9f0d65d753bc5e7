package display

import (
	"bytes"
	"context"
	"encoding/json"

	"laststand/internal/leaderboard"
	"laststand/internal/protocol"
)

// top is the first entries of a board with each entry encoded once, from which the
// pushes of all limits are cut. It is not changed once made.
type top struct {
	page    leaderboard.TopPage
	limit   int    // that it was read with
	entries []byte // in JSON, with commas between
	ends    []int  // where each of them ends
}

// readTop reads the first entries of a board, with their names.
func (d *Display) readTop(ctx context.Context, of pageKey, limit int) (*top, error) {
	ctx, cancel := context.WithTimeout(ctx, readWithin)
	defer cancel()
	page, err := d.reader.Top(ctx, of.game, leaderboard.Query{Window: of.window, Order: of.order, Kind: of.kind, Limit: limit})
	if err != nil {
		return nil, err
	}
	if err := d.names.fill(ctx, of.game, of.kind, page.Entries); err != nil {
		return nil, err
	}
	page.Kind = of.kind
	d.metrics.read.Inc()
	return newTop(page, limit), nil
}

func newTop(page leaderboard.TopPage, limit int) *top {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	ends := make([]int, len(page.Entries))
	for i, entry := range page.Entries {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := e.Encode(entry); err != nil {
			panic(err) // as in show
		}
		b.Truncate(b.Len() - 1) // the line end that Encode writes
		ends[i] = b.Len()
	}
	return &top{page: page, limit: limit, entries: b.Bytes(), ends: ends}
}

// covers reports whether it holds all that a push with that limit shows.
func (t *top) covers(limit int) bool {
	return t != nil && (limit <= t.limit || len(t.ends) < t.limit)
}

// noEntries is where the entries go in a page without any. The fields before it
// hold no quotes of clients.
var noEntries = []byte(`"entries":[]`)

// frame is the push with a limit that it covers.
func (t *top) frame(limit int) []byte {
	page := t.page.Cut(limit)
	n := len(page.Entries)
	page.Entries = []leaderboard.Entry{}
	empty := protocol.EncodePush(protocol.TypeBoard, page)
	if n == 0 {
		return empty
	}
	entries := t.entries[:t.ends[n-1]]
	at := bytes.Index(empty, noEntries) + len(noEntries) - 1
	frame := append(make([]byte, 0, len(empty)+len(entries)), empty[:at]...)
	frame = append(frame, entries...)
	return append(frame, empty[at:]...)
}
