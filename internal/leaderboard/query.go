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

// Query asks for a page of a leaderboard. Zero fields mean the defaults of the wire
// contract. At most one of Cursor, Around and Players may be set.
type Query struct {
	Window  Window
	Order   Order
	Kind    Kind
	Limit   int
	Cursor  string
	Around  string
	Players []string
	Date    string // of window Day only
}

// ParseQuery reads the query string of a leaderboard request. The window comes from the
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
				return badQuery("limit=%q: a whole number from 1 to %d", value, MaxLimit)
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

// StandingQuery asks for one player's standing.
type StandingQuery struct {
	Window  Window
	Order   Order
	Kind    Kind
	Player  string
	Explain bool
}

// ParseStandingQuery reads the query string of a request for one standing. The window
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
				return badQuery("explain=%q: 1, or leave it out", value)
			}
			q.Explain = value == "1"
		default:
			return badQuery("unknown parameter %q", name)
		}
		return nil
	})
	return q, err
}

// eachValue calls f for each parameter. It refuses empty and repeated parameters.
func eachValue(values url.Values, f func(name, value string) error) error {
	for name, occurrences := range values {
		if len(occurrences) != 1 || occurrences[0] == "" {
			return badQuery("parameter %q: give it once, with a value", name)
		}
		if err := f(name, occurrences[0]); err != nil {
			return err
		}
	}
	return nil
}

// view checks window, kind and order, and returns the ranking that they name.
func (c Config) view(w Window, k Kind, o Order) (View, error) {
	if !slices.Contains(c.Windows, w) {
		return View{}, fmt.Errorf("%w: %q, only %v", ErrNoWindow, w, c.Windows)
	}
	k, o = cmp.Or(k, Players), cmp.Or(o, ByValue)
	if !slices.Contains(Kinds(), k) {
		return View{}, badQuery("kind=%q: one of %v", k, Kinds())
	}
	if !slices.Contains(c.Orders, o) {
		return View{}, badQuery("order=%q: one of %v", o, c.Orders)
	}
	return View{
		Game: c.Game, ConfigHash: c.Hash(),
		Board: Board{Kind: k, Span: string(w)}, Ranking: c.Ranking(o),
	}, nil
}

// check refuses contradictory fields and fills in the defaults.
func (q *Query) check() error {
	exclusive := 0
	for _, isSet := range []bool{q.Cursor != "", q.Around != "", q.Players != nil} {
		if isSet {
			exclusive++
		}
	}
	if exclusive > 1 {
		return badQuery("cursor, around and players exclude each other")
	}
	if len(q.Players) > MaxLimit {
		return badQuery("%d players: at most %d", len(q.Players), MaxLimit)
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
		return badQuery("limit %d: 1 to %d", q.Limit, MaxLimit)
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
		return badQuery("date goes with window %q only", Day)
	}
	if _, err := time.Parse(time.DateOnly, q.Date); err != nil {
		return badQuery("date=%q: write YYYY-MM-DD", q.Date)
	}
	return nil
}

func badPlayer(id string) error {
	return badQuery("player %q: 1 to 64 of A-Z a-z 0-9 _ . : -", id)
}

func badQuery(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrBadQuery}, args...)...)
}
