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
	Cursor  string // of another Page; empty: start at the top
	Around  string // id of the entry in the middle of the page; empty: none
	Players string // ids of the entries to return, separated by commas; empty: a page of adjacent entries
	Date    string // past day to read, YYYY-MM-DD; only for window Day; empty: the open day
}

// ParseQuery parses the query string of a leaderboard request. The window comes from the
// path. Errors wrap ErrBadQuery.
func ParseQuery(window string, values url.Values) (Query, error) {
	query := Query{
		Window: Window(window), Order: Order(values.Get("order")), Kind: Kind(values.Get("kind")),
		Cursor: values.Get("cursor"), Around: values.Get("around"), Players: values.Get("players"), Date: values.Get("date"),
	}
	if limit := values.Get("limit"); limit != "" {
		n, err := strconv.Atoi(limit)
		if err != nil || n < 1 || n > MaxLimit || strconv.Itoa(n) != limit {
			return Query{}, queryError("limit=%q is invalid; use a whole number from 1 to %d", limit, MaxLimit)
		}
		query.Limit = n
	}
	return query, checkParameters(values, "order", "kind", "limit", "cursor", "around", "players", "date")
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
	query := StandingQuery{Window: Window(window), Order: Order(values.Get("order")), Kind: Kind(values.Get("kind")), Player: player}
	if explain := values.Get("explain"); explain != "" && explain != "0" && explain != "1" {
		return StandingQuery{}, queryError("explain=%q is invalid; use 0 or 1", explain)
	}
	query.Explain = values.Get("explain") == "1"
	return query, checkParameters(values, "order", "kind", "explain")
}

// checkParameters refuses unknown, empty and repeated parameters.
func checkParameters(values url.Values, known ...string) error {
	for name, occurrences := range values {
		if !slices.Contains(known, name) {
			return queryError("unknown parameter %q", name)
		}
		if len(occurrences) != 1 || occurrences[0] == "" {
			return queryError("parameter %q must be given once, with a value", name)
		}
	}
	return nil
}

// rankingID checks window, kind and order, and returns the ranking that they identify. An
// empty kind means Players, an empty order ByValue.
func (c Config) rankingID(window Window, k Kind, order Order) (RankingID, error) {
	if !slices.Contains(c.Windows, window) {
		return RankingID{}, fmt.Errorf("%w: %q; the game has %v", ErrNoWindow, window, c.Windows)
	}
	k, order = cmp.Or(k, Players), cmp.Or(order, ByValue)
	if !slices.Contains(Kinds(), k) {
		return RankingID{}, queryError("kind=%q is unknown; use one of %v", k, Kinds())
	}
	if !slices.Contains(c.Orders, order) {
		return RankingID{}, queryError("order=%q is not configured; use one of %v", order, c.Orders)
	}
	return RankingID{
		Game: c.Game, ConfigHash: c.Hash(),
		Board: Board{Kind: k, Span: string(window)}, Order: c.RankingOrder(order),
	}, nil
}

// normalize returns an error for invalid or contradictory fields, and sets a zero Limit to
// the default.
func (q *Query) normalize() error {
	if q.Cursor != "" && q.Around != "" || q.Players != "" && (q.Cursor != "" || q.Around != "") {
		return queryError("use only one of cursor, around and players")
	}
	var ids []string
	switch {
	case q.Around != "":
		ids = []string{q.Around}
	case q.Players != "":
		ids = strings.Split(q.Players, ",")
	}
	if len(ids) > MaxLimit {
		return queryError("%d players are too many; use at most %d", len(ids), MaxLimit)
	}
	for _, id := range ids {
		if !identifierPattern.MatchString(id) {
			return queryError("player %q is invalid; an id has 1 to 64 characters of A-Z a-z 0-9 _ . : -", id)
		}
	}
	if q.Limit < 0 || q.Limit > MaxLimit {
		return queryError("limit %d is out of range; use 1 to %d", q.Limit, MaxLimit)
	}
	q.Limit = cmp.Or(q.Limit, DefaultLimit)
	if q.Date == "" {
		return nil
	}
	if q.Window != Day {
		return queryError("date is allowed only with window %q", Day)
	}
	if _, err := time.Parse(time.DateOnly, q.Date); err != nil {
		return queryError("date=%q is invalid; write YYYY-MM-DD", q.Date)
	}
	return nil
}

func queryError(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrBadQuery}, args...)...)
}
