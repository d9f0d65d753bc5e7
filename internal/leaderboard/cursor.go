package leaderboard

import (
	"encoding/base64"
	"encoding/json"
	"regexp"

	"laststand/internal/protocol"
)

// cursor says where the next page of a ranking starts or ends: the ranking, the anchor,
// and the entry at the edge. If other entries change between two pages, the pages
// neither repeat nor skip an entry that has not changed.
type cursor struct {
	RankingID RankingID   // for the open day, the span is a date, so that the cursor stays on its day
	Anchor    SliceAnchor // After or Before
	Edge      RankedEntry // without Aggregates
}

const (
	maxCursorBytes = 512      // characters of an encoded cursor
	maxPosition    = 1e16 - 1 // the largest ledger position in a member
)

var datePattern = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}$`)

// cursors returns the cursors of the pages before and after a slice. A cursor is empty if
// the ranking has no entry in that direction. The page beside an empty one includes the
// entry at the edge, which the empty page's cursor left out.
func cursors(rankingID RankingID, request SliceRequest, slice RankingSlice) (prev, next string) {
	before, after := cursor{rankingID, Before, request.Edge}, cursor{rankingID, After, request.Edge}
	switch n := len(slice.Entries); {
	case n > 0:
		before.Edge, after.Edge = slice.Entries[0].edge(), slice.Entries[n-1].edge()
	case request.Anchor == After:
		before.Edge.Newest++
	case request.Anchor == Before:
		after.Edge.Newest--
	}
	if slice.StartIndex > 0 {
		prev = before.String()
	}
	if slice.StartIndex+int64(len(slice.Entries)) < slice.Total {
		next = after.String()
	}
	return prev, next
}

// String encodes the cursor as an opaque text of letters, digits, - and _.
func (c cursor) String() string { return base64.RawURLEncoding.EncodeToString(protocol.EncodeJSON(c)) }

// parseCursor decodes a cursor for the requested ranking. If the request is for the open
// day, the cursor stays on the day for which it was made. A cursor of another ranking or
// configuration is ErrBadCursor.
func parseCursor(text string, requested RankingID) (parsed cursor, err error) {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(text) > maxCursorBytes || json.Unmarshal(raw, &parsed) != nil {
		return cursor{}, ErrBadCursor
	}
	if day := parsed.RankingID.Board.Span; requested.Board.Span == OpenDay && datePattern.MatchString(day) {
		requested.Board.Span = day
	}
	isValid := parsed.Anchor == After || parsed.Anchor == Before
	isValid = isValid && identifierPattern.MatchString(parsed.Edge.ID) && parsed.Edge.Newest >= 0 && parsed.Edge.Newest <= maxPosition
	if !isValid || parsed.RankingID != requested {
		return cursor{}, ErrBadCursor
	}
	return parsed, nil
}
