package leaderboard

import (
	"encoding/base64"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// cursor is where a page was cut: the board, the direction and the entry at
// the edge, by its key and member. So it holds its place also when entries
// before it come and go, and pages neither repeat nor skip one that stayed.
type cursor struct {
	view View // its board's span is resolved: a cursor stays on its day
	from From // After, Since, Before or Until
	edge Ranked
}

const maxCursor = 512

var (
	memberForm = regexp.MustCompile(`^[0-9]{16}:[A-Za-z0-9_.:-]{1,64}$`)
	dateForm   = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}$`)
)

// turned leads back from a page with nothing on it: to what the page's own
// cursor left out.
var turned = map[From]From{After: Until, Since: Before, Before: Since, Until: After}

// cursors returns those to the pages before and after a slice cut by cut.
// Either is empty where the ranking ends.
func cursors(v View, cut Cut, s Slice) (prev, next string) {
	first, last := cursor{v, Before, cut.Edge}, cursor{v, After, cut.Edge}
	if n := len(s.Rows); n > 0 {
		first.edge, last.edge = s.Rows[0].edge(), s.Rows[n-1].edge()
	} else if back, byCursor := turned[cut.From]; byCursor {
		first.from, last.from = back, back
	}
	if s.Start > 0 {
		prev = first.String()
	}
	if s.Start+int64(len(s.Rows)) < s.Total {
		next = last.String()
	}
	return prev, next
}

// String is the cursor's opaque form: letters, digits, - and _.
func (c cursor) String() string {
	text := strings.Join([]string{
		"1", c.view.identity(), string(c.from),
		strconv.FormatUint(math.Float64bits(c.edge.Key), 16), c.edge.Member,
	}, "|")
	return base64.RawURLEncoding.EncodeToString([]byte(text))
}

// identity tells rankings apart.
func (v View) identity() string {
	return fmt.Sprintf("%s|%s|%s|%s|%s", v.Game, v.Form, v.Board.Kind, v.Board.Span, v.Ranking)
}

// parseCursor reads a cursor for the ranking asked for, whose span it may
// narrow from the open day to the day that the cursor began on. Anything else,
// a cursor from before the configuration changed too, is ErrBadCursor.
func parseCursor(s string, asked View) (cursor, error) {
	raw, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || len(s) > maxCursor {
		return cursor{}, ErrBadCursor
	}
	f := strings.Split(string(raw), "|")
	if len(f) != 9 || f[0] != "1" {
		return cursor{}, ErrBadCursor
	}
	c := cursor{view: asked, from: From(f[6])}
	if asked.Board.Span == OpenDay && dateForm.MatchString(f[4]) {
		c.view.Board.Span = f[4]
	}
	if c.view.identity() != strings.Join(f[1:6], "|") || turned[c.from] == "" {
		return cursor{}, ErrBadCursor
	}
	c.edge, err = parseEdge(f[7], f[8])
	return c, err
}

func parseEdge(bits, member string) (Ranked, error) {
	n, err := strconv.ParseUint(bits, 16, 64)
	key := math.Float64frombits(n)
	if err != nil || math.IsNaN(key) || math.IsInf(key, 0) || !memberForm.MatchString(member) {
		return Ranked{}, ErrBadCursor
	}
	return Ranked{Key: key, Member: member}, nil
}
