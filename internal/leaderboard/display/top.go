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
type boardTop struct {
	page      leaderboard.TopPage
	limit     int    // limit with which page was read
	entries   []byte // the entries as JSON, separated by commas
	entryEnds []int  // index in entries of the end of each entry
}

// readTop reads the first entries of a board, with their names.
func (d *Display) readTop(ctx context.Context, key pageKey, limit int) (*boardTop, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	page, err := d.reader.Top(ctx, key.game, leaderboard.Query{Window: key.window, Order: key.order, Kind: key.kind, Limit: limit})
	if err != nil {
		return nil, err
	}
	if err := d.names.setNames(ctx, key.game, key.kind, page.Entries); err != nil {
		return nil, err
	}
	page.Kind = key.kind
	d.metrics.storeReads.Inc()
	return newTop(page, limit), nil
}

func newTop(page leaderboard.TopPage, limit int) *boardTop {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	ends := make([]int, len(page.Entries))
	for i, entry := range page.Entries {
		if i > 0 {
			buffer.WriteByte(',')
		}
		if err := encoder.Encode(entry); err != nil {
			panic(err) // as in EncodeAnswer
		}
		buffer.Truncate(buffer.Len() - 1) // the line end that Encode writes
		ends[i] = buffer.Len()
	}
	return &boardTop{page: page, limit: limit, entries: buffer.Bytes(), entryEnds: ends}
}

// covers reports whether t has all entries of a push with a limit. It returns false if t is
// nil.
func (t *boardTop) covers(limit int) bool {
	return t != nil && (limit <= t.limit || len(t.entryEnds) < t.limit)
}

// emptyEntries is the place of the entries in the JSON of an empty page. The fields before it
// contain no text of clients, so its first occurrence is the right one.
var emptyEntries = []byte(`"entries":[]`)

// frameFor returns the encoded push for a limit that t covers.
func (t *boardTop) frameFor(limit int) []byte {
	page := t.page.Truncate(limit)
	n := len(page.Entries)
	page.Entries = []leaderboard.Entry{}
	empty := protocol.EncodePush(protocol.TypeBoard, page)
	if n == 0 {
		return empty
	}
	entries := t.entries[:t.entryEnds[n-1]]
	index := bytes.Index(empty, emptyEntries) + len(emptyEntries) - 1
	frame := append(make([]byte, 0, len(empty)+len(entries)), empty[:index]...)
	frame = append(frame, entries...)
	return append(frame, empty[index:]...)
}
