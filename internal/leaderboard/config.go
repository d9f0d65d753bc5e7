package leaderboard

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Config says which boards a game has and how they rank. Callers must not change a Config
// in use. As JSON it has what Hash depends on.
type Config struct {
	Game       string         `json:"-"`
	Windows    []Window       `json:"windows"`
	Orders     []Order        `json:"orders"`
	Weights    Weights        `json:"weights"`
	MinAnswers int64          `json:"min_answers"` // an entry ranks by accuracy and time after it was asked this many questions, answered or not
	Location   *time.Location `json:"-"`           // time zone of the game's days

	hash     string  // cached Hash, set by withHash; empty: not cached
	rankings []Order // cached RankingOrders, set by withHash; nil: not cached
}

// identifierPattern matches an identifier of the wire contract. A game's name becomes part
// of a Redis hash tag, so it must not contain braces.
var identifierPattern = regexp.MustCompile(`^[A-Za-z0-9_.:-]{1,64}$`)

// Validate returns all errors in the configuration, joined, or nil.
func (c Config) Validate() error {
	var errs []error
	addError := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("leaderboards of game %q: "+format, append([]any{c.Game}, args...)...))
	}
	if !identifierPattern.MatchString(c.Game) {
		addError("the name of a game must have 1 to 64 characters of A-Z a-z 0-9 _ . : -")
	}
	if c.Location == nil {
		addError("the time zone is missing")
	}
	if c.MinAnswers < 0 {
		addError("min_answers %d is out of range; use 0 or more", c.MinAnswers)
	}
	if len(c.Windows) == 0 {
		addError("no windows are configured; name at least %q", All)
	}
	if !slices.Contains(c.Orders, ByValue) {
		addError("orders must contain %q, the default of queries", ByValue)
	}
	for _, err := range c.Weights.problems() {
		addError("%w", err)
	}
	for i, window := range c.Windows {
		if n := window.Days(); window != All && window != Day && (n < 2 || n > MaxWindowDays) {
			addError("unknown window %q; write %q, %q, or 2d to %dd", window, All, Day, MaxWindowDays)
		}
		if slices.Contains(c.Windows[:i], window) {
			addError("window %q is listed twice", window)
		}
	}
	for i, order := range c.Orders {
		if !slices.Contains(Orders(), order) {
			addError("unknown order %q; use one of %v", order, Orders())
		}
		if slices.Contains(c.Orders[:i], order) {
			addError("order %q is listed twice", order)
		}
	}
	return errors.Join(errs...)
}

// rollingWindows returns the windows of the last N days.
func (c Config) rollingWindows() []Window {
	return slices.DeleteFunc(slices.Clone(c.Windows), func(window Window) bool { return !window.IsRolling() })
}

// hasWindow reports whether the game has a window.
func (c Config) hasWindow(window Window) bool { return slices.Contains(c.Windows, window) }

// RankingOrder returns the order whose ranking answers queries for the given order. Under
// default weights the value equals the score, so ByValue shares the ranking of ByScore.
func (c Config) RankingOrder(order Order) Order {
	if order == ByValue && c.Weights == DefaultWeights {
		return ByScore
	}
	return order
}

// RankingOrders returns the orders that have a ranking of their own, sorted, each once. At
// least one of them ranks every entry.
func (c Config) RankingOrders() []Order {
	if c.rankings != nil {
		return c.rankings
	}
	orders := make([]Order, len(c.Orders))
	for i, order := range c.Orders {
		orders[i] = c.RankingOrder(order)
	}
	slices.Sort(orders)
	return slices.Compact(orders)
}

// keys returns the keys of an entry in the rankings that rank it, by order.
func (c Config) keys(aggregates Aggregates) iter.Seq2[Order, float64] {
	return func(yield func(Order, float64) bool) {
		for _, order := range c.RankingOrders() {
			if Rankable(order, aggregates, c.MinAnswers) && !yield(order, Key(order, aggregates, c.Weights)) {
				return
			}
		}
	}
}

// Hash identifies the windows, orders and rules of the boards, as 12 hexadecimal digits.
// Board sets with different hashes belong to different configurations and are kept apart.
func (c Config) Hash() string {
	if c.hash != "" {
		return c.hash
	}
	windows := slices.Clone(c.Windows)
	slices.Sort(windows)
	sum := sha256.Sum256(fmt.Appendf(nil, "3 %v %v %v %d", windows, c.RankingOrders(), c.Weights, c.MinAnswers))
	return hex.EncodeToString(sum[:6])
}

// withHash returns a Config that caches its Hash and RankingOrders, because every read
// needs them.
func (c Config) withHash() Config {
	c.hash, c.rankings = c.Hash(), c.RankingOrders()
	return c
}

// Window is a span of days: All, Day, or the last N days, written for example "7d".
type Window string

// The windows without a number.
const (
	All Window = "all" // all days of the game
	Day Window = "day" // the current day
)

// MaxWindowDays is the length of the longest rolling window.
const MaxWindowDays = 400

// IsRolling reports whether the window is the last N days.
func (w Window) IsRolling() bool { return w.Days() > 0 }

// Days returns the length N of the rolling window "Nd", or 0 for other windows. N has at
// most three digits.
func (w Window) Days() int {
	digits, isRolling := strings.CutSuffix(string(w), "d")
	if !isRolling || digits == "" || len(digits) > 3 || digits[0] < '1' || digits[0] > '9' {
		return 0
	}
	n, _ := strconv.Atoi(digits) // 0 if there is another character
	return n
}
