package display

import (
	"bytes"
	"context"
	"encoding/json"

	"laststand/internal/leaderboard"
	"laststand/internal/protocol"
)

// boardTop holds the first entries of a board, each encoded once. The frames for all limits
// are assembled from it. It does not change.
type top struct {
	page    leaderboard.TopPage
	limit   int    // limit with which page was read
	entries []byte // the entries as JSON, separated by commas
	ends    []int  // index in entries of the end of each entry
}

// readTop reads the first entries of a board, with their names.
func (d *Display) readTop(ctx context.Context, key pageKey, limit int) (*top, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	page, err := d.reader.Top(ctx, key.game, leaderboard.Query{Window: key.window, Order: key.order, Kind: key.kind, Limit: limit})
	if err != nil {
		return nil, err
	}
	if err := d.names.addNames(ctx, key.game, key.kind, page.Entries); err != nil {
		return nil, err
	}
	page.Kind = key.kind
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
			panic(err) // as in EncodeAnswer
		}
		b.Truncate(b.Len() - 1) // the line end that Encode writes
		ends[i] = b.Len()
	}
	return &top{page: page, limit: limit, entries: b.Bytes(), ends: ends}
}

// covers reports whether t has all entries of a push with a limit. It returns false if t is
// nil.
func (t *top) covers(limit int) bool {
	return t != nil && (limit <= t.limit || len(t.ends) < t.limit)
}

// emptyEntries is the place of the entries in the JSON of an empty page. The fields before it
// contain no text of clients, so its first occurrence is the right one.
var noEntries = []byte(`"entries":[]`)

// frameFor returns the encoded push for a limit that t covers.
func (t *top) frameFor(limit int) []byte {
	page := t.page.Cut(limit)
	n := len(page.Entries)
	page.Entries = []leaderboard.Entry{}
	empty := protocol.EncodePush(protocol.TypeBoard, page)
	if n == 0 {
		return empty
	}
	entries := t.entries[:t.ends[n-1]]
	index := bytes.Index(empty, noEntries) + len(noEntries) - 1
	frame := append(make([]byte, 0, len(empty)+len(entries)), empty[:index]...)
	frame = append(frame, entries...)
	return append(frame, empty[index:]...)
}
