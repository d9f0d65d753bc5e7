package leaderboard

import (
	"encoding/base64"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// cursor says where the next page of a ranking starts or ends: the ranking, the anchor,
// and the entry at the edge. If other entries change between two pages, the pages
// neither repeat nor skip an entry that has not changed.
type cursor struct {
	rankingID RankingID   // for the open day, the span is a date, so that the cursor stays on its day
	anchor    SliceAnchor // After or Before
	edge      RankedMember
}

const maxCursorBytes = 512 // characters of an encoded cursor

var (
	memberPattern = regexp.MustCompile(`^[0-9]{16}:[A-Za-z0-9_.:-]{1,64}$`)
	datePattern   = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}$`)
)

// cursors returns the cursors of the pages before and after a slice. A cursor is empty if
// the ranking has no entry in that direction. The page beside an empty one includes the
// entry at the edge, which the empty page's cursor left out.
func cursors(rankingID RankingID, request SliceRequest, slice RankingSlice) (prev, next string) {
	before, after := cursor{rankingID, Before, request.Edge}, cursor{rankingID, After, request.Edge}
	switch n := len(slice.Entries); {
	case n > 0:
		before.edge, after.edge = slice.Entries[0].edge(), slice.Entries[n-1].edge()
	case request.Anchor == After:
		before.edge = request.Edge.withPositionAdded(1)
	case request.Anchor == Before:
		after.edge = request.Edge.withPositionAdded(-1)
	}
	if slice.StartIndex > 0 {
		prev = before.String()
	}
	if slice.StartIndex+int64(len(slice.Entries)) < slice.Total {
		next = after.String()
	}
	return prev, next
}

// withPositionAdded returns the place that the member has in the ranking with another
// position.
func (m RankedMember) withPositionAdded(n int64) RankedMember {
	position, id, _ := strings.Cut(m.Member, ":")
	newest, _ := strconv.ParseInt(position, 10, 64) // valid, see memberPattern
	m.Member = BoardEntry{ID: id, Newest: newest + n}.Member()
	return m
}

// String encodes the cursor as an opaque text of letters, digits, - and _.
func (c cursor) String() string {
	text := strings.Join([]string{
		"1", c.rankingID.identity(), string(c.anchor),
		strconv.FormatUint(math.Float64bits(c.edge.Key), 16), c.edge.Member,
	}, "|")
	return base64.RawURLEncoding.EncodeToString([]byte(text))
}

// identity returns a text that is different for every ranking.
func (v RankingID) identity() string {
	return fmt.Sprintf("%s|%s|%s|%s|%s", v.Game, v.ConfigHash, v.Board.Kind, v.Board.Span, v.Order)
}

// parseCursor decodes a cursor for the requested ranking. If the request is for the open
// day, the cursor stays on the day for which it was made. A cursor of another ranking or
// configuration is ErrBadCursor.
func parseCursor(text string, requested RankingID) (cursor, error) {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(text) > maxCursorBytes {
		return cursor{}, ErrBadCursor
	}
	fields := strings.Split(string(raw), "|")
	if len(fields) != 9 || fields[0] != "1" {
		return cursor{}, ErrBadCursor
	}
	parsed := cursor{rankingID: requested, anchor: SliceAnchor(fields[6])}
	if requested.Board.Span == OpenDay && datePattern.MatchString(fields[4]) {
		parsed.rankingID.Board.Span = fields[4]
	}
	if parsed.rankingID.identity() != strings.Join(fields[1:6], "|") || parsed.anchor != After && parsed.anchor != Before {
		return cursor{}, ErrBadCursor
	}
	parsed.edge, err = parseEdge(fields[7], fields[8])
	return parsed, err
}

func parseEdge(bits, member string) (RankedMember, error) {
	n, err := strconv.ParseUint(bits, 16, 64)
	key := math.Float64frombits(n)
	if err != nil || math.IsNaN(key) || math.IsInf(key, 0) || !memberPattern.MatchString(member) {
		return RankedMember{}, ErrBadCursor
	}
	return RankedMember{Key: key, Member: member}, nil
}
