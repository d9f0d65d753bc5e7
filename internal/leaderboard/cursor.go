package leaderboard

import (
	"encoding/base64"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// cursor says where a page was cut: the board, the direction, and the key and member of
// the entry at the edge. Entries before the edge may come and go: pages neither repeat
// nor skip an entry that stayed.
type cursor struct {
	view View    // its span is a date for the open day: a cursor stays on its day
	from CutFrom // After, Since, Before or Until
	edge Ranked
}

const maxCursor = 512

var (
	memberPattern = regexp.MustCompile(`^[0-9]{16}:[A-Za-z0-9_.:-]{1,64}$`)
	datePattern   = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}$`)
)

// opposite maps the cut of an empty page to the cut that leads back: to the entries that
// the page's own cursor left out.
var opposite = map[CutFrom]CutFrom{After: Until, Since: Before, Before: Since, Until: After}

// cursors returns the cursors to the pages before and after a slice. A cursor is empty
// if the ranking ends there.
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

// String returns the cursor's opaque form: letters, digits, - and _.
func (c cursor) String() string {
	text := strings.Join([]string{
		"1", c.view.identity(), string(c.from),
		strconv.FormatUint(math.Float64bits(c.edge.Key), 16), c.edge.Member,
	}, "|")
	return base64.RawURLEncoding.EncodeToString([]byte(text))
}

// identity differs between any two rankings.
func (v View) identity() string {
	return fmt.Sprintf("%s|%s|%s|%s|%s", v.Game, v.ConfigHash, v.Board.Kind, v.Board.Span, v.Ranking)
}

// parseCursor reads a cursor for the requested ranking. If the request is for the open
// day, the view stays on the day on which the cursor began. All other cursors, and those
// of another configuration, are ErrBadCursor.
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
