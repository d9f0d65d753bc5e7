package leaderboard

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// DefaultLimit is the number of entries of a page if the query does not set a limit.
	DefaultLimit = 50
	// MaxLimit is the largest limit of a page, and the largest number of players that a
	// query may name.
	MaxLimit = 200
)

// Query asks for a page of a leaderboard. A zero Order, Kind or Limit means the default of
// the wire contract. At most one of Cursor, Around and Players may be set.
type Query struct {
	Window  Window
	Order   Order
	Kind    Kind
	Limit   int
	Cursor  string   // of another Page; empty: start at the top
	Around  string   // id of the entry in the middle of the page; empty: none
	Players []string // ids of the entries to return; nil: a page of adjacent entries
	Date    string   // past day to read, YYYY-MM-DD; only for window Day; empty: the open day
}

// ParseQuery parses the query string of a leaderboard request. The window comes from the
// path. Errors wrap ErrBadQuery.
func ParseQuery(window string, values url.Values) (Query, error) {
	q := Query{Window: Window(window)}
	err := eachValue(values, func(name, value string) error {
		switch name {
		case "order":
			q.Order = Order(value)
		case "kind":
			q.Kind = Kind(value)
		case "limit":
			n, err := strconv.Atoi(value)
			if err != nil || n < 1 || n > MaxLimit || strconv.Itoa(n) != value {
				return badQuery("limit=%q is invalid; use a whole number from 1 to %d", value, MaxLimit)
			}
			q.Limit = n
		case "cursor":
			q.Cursor = value
		case "around":
			q.Around = value
		case "players":
			q.Players = strings.Split(value, ",")
		case "date":
			q.Date = value
		default:
			return badQuery("unknown parameter %q", name)
		}
		return nil
	})
	return q, err
}

// StandingQuery asks for the standing of one player or team.
type StandingQuery struct {
	Window  Window
	Order   Order
	Kind    Kind
	Player  string // id of the player or team
	Explain bool   // true: include the Explanation
}

// ParseStandingQuery parses the query string of a request for one standing. The window
// and the player come from the path. Errors wrap ErrBadQuery.
func ParseStandingQuery(window, player string, values url.Values) (StandingQuery, error) {
	q := StandingQuery{Window: Window(window), Player: player}
	err := eachValue(values, func(name, value string) error {
		switch name {
		case "order":
			q.Order = Order(value)
		case "kind":
			q.Kind = Kind(value)
		case "explain":
			if value != "0" && value != "1" {
				return badQuery("explain=%q is invalid; use 0 or 1", value)
			}
			q.Explain = value == "1"
		default:
			return badQuery("unknown parameter %q", name)
		}
		return nil
	})
	return q, err
}

// eachValue calls handle for each parameter. It refuses empty and repeated parameters.
func eachValue(values url.Values, f func(name, value string) error) error {
	for name, occurrences := range values {
		if len(occurrences) != 1 || occurrences[0] == "" {
			return badQuery("parameter %q must be given once, with a value", name)
		}
		if err := f(name, occurrences[0]); err != nil {
			return err
		}
	}
	return nil
}

// rankingID checks window, kind and order, and returns the ranking that they identify. An
// empty kind means Players, an empty order ByValue.
func (c Config) view(w Window, k Kind, o Order) (View, error) {
	if !slices.Contains(c.Windows, w) {
		return View{}, fmt.Errorf("%w: %q; the game has %v", ErrNoWindow, w, c.Windows)
	}
	k, o = cmp.Or(k, Players), cmp.Or(o, ByValue)
	if !slices.Contains(Kinds(), k) {
		return View{}, badQuery("kind=%q is unknown; use one of %v", k, Kinds())
	}
	if !slices.Contains(c.Orders, o) {
		return View{}, badQuery("order=%q is not configured; use one of %v", o, c.Orders)
	}
	return View{
		Game: c.Game, ConfigHash: c.Hash(),
		Board: Board{Kind: k, Span: string(w)}, Ranking: c.Ranking(o),
	}, nil
}

// normalize returns an error for invalid or contradictory fields, and sets a zero Limit to
// the default.
func (q *Query) check() error {
	exclusive := 0
	for _, isSet := range []bool{q.Cursor != "", q.Around != "", q.Players != nil} {
		if isSet {
			exclusive++
		}
	}
	if exclusive > 1 {
		return badQuery("use only one of cursor, around and players")
	}
	if len(q.Players) > MaxLimit {
		return badQuery("%d players are too many; use at most %d", len(q.Players), MaxLimit)
	}
	for _, id := range q.Players {
		if !identifier.MatchString(id) {
			return badPlayer(id)
		}
	}
	if q.Around != "" && !identifier.MatchString(q.Around) {
		return badPlayer(q.Around)
	}
	if q.Limit < 0 || q.Limit > MaxLimit {
		return badQuery("limit %d is out of range; use 1 to %d", q.Limit, MaxLimit)
	}
	if q.Limit == 0 {
		q.Limit = DefaultLimit
	}
	return q.checkDate()
}

func (q *Query) checkDate() error {
	if q.Date == "" {
		return nil
	}
	if q.Window != Day {
		return badQuery("date is allowed only with window %q", Day)
	}
	if _, err := time.Parse(time.DateOnly, q.Date); err != nil {
		return badQuery("date=%q is invalid; write YYYY-MM-DD", q.Date)
	}
	return nil
}

func badPlayer(id string) error {
	return badQuery("player %q is invalid; an id has 1 to 64 characters of A-Z a-z 0-9 _ . : -", id)
}

func badQuery(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrBadQuery}, args...)...)
}
