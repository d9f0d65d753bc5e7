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
	view View    // for the open day, the span is a date, so that the cursor stays on its day
	from CutFrom // After, Since, Before or Until
	edge Ranked
}

const maxCursor = 512 // characters of an encoded cursor

var (
	memberPattern = regexp.MustCompile(`^[0-9]{16}:[A-Za-z0-9_.:-]{1,64}$`)
	datePattern   = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}$`)
)

// oppositeAnchor maps the anchor of an empty page to the anchor of the page in the other
// direction: the entries that the empty page's cursor left out.
var opposite = map[CutFrom]CutFrom{After: Until, Since: Before, Before: Since, Until: After}

// cursors returns the cursors of the pages before and after a slice. A cursor is empty if
// the ranking has no entry in that direction.
func cursors(v View, cut Cut, s Slice) (prev, next string) {
	first, last := cursor{v, Before, cut.Edge}, cursor{v, After, cut.Edge}
	if n := len(s.Rows); n > 0 {
		first.edge, last.edge = s.Rows[0].edge(), s.Rows[n-1].edge()
	} else if reversed, hasCursor := opposite[cut.From]; hasCursor {
		first.from, last.from = reversed, reversed
	}
	if s.Start > 0 {
		prev = first.String()
	}
	if s.Start+int64(len(s.Rows)) < s.Total {
		next = last.String()
	}
	return prev, next
}

// String encodes the cursor as an opaque text of letters, digits, - and _.
func (c cursor) String() string {
	text := strings.Join([]string{
		"1", c.view.identity(), string(c.from),
		strconv.FormatUint(math.Float64bits(c.edge.Key), 16), c.edge.Member,
	}, "|")
	return base64.RawURLEncoding.EncodeToString([]byte(text))
}

// identity returns a text that is different for every ranking.
func (v View) identity() string {
	return fmt.Sprintf("%s|%s|%s|%s|%s", v.Game, v.ConfigHash, v.Board.Kind, v.Board.Span, v.Ranking)
}

// parseCursor decodes a cursor for the requested ranking. If the request is for the open
// day, the cursor stays on the day for which it was made. A cursor of another ranking or
// configuration is ErrBadCursor.
func parseCursor(s string, requested View) (cursor, error) {
	raw, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || len(s) > maxCursor {
		return cursor{}, ErrBadCursor
	}
	fields := strings.Split(string(raw), "|")
	if len(fields) != 9 || fields[0] != "1" {
		return cursor{}, ErrBadCursor
	}
	c := cursor{view: requested, from: CutFrom(fields[6])}
	if requested.Board.Span == OpenDay && datePattern.MatchString(fields[4]) {
		c.view.Board.Span = fields[4]
	}
	if c.view.identity() != strings.Join(fields[1:6], "|") || opposite[c.from] == "" {
		return cursor{}, ErrBadCursor
	}
	c.edge, err = parseEdge(fields[7], fields[8])
	return c, err
}

func parseEdge(bits, member string) (Ranked, error) {
	n, err := strconv.ParseUint(bits, 16, 64)
	key := math.Float64frombits(n)
	if err != nil || math.IsNaN(key) || math.IsInf(key, 0) || !memberPattern.MatchString(member) {
		return Ranked{}, ErrBadCursor
	}
	return Ranked{Key: key, Member: member}, nil
}
