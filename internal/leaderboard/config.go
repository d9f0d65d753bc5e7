package leaderboard

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"
)

// Config says which boards a game has and how they rank. Callers must not change a Config
// in use.
type Config struct {
	Game       string
	Windows    []Window
	Orders     []Order
	Weights    Weights
	MinAnswers int64          // number of asked questions from which accuracy and time rank an entry
	Location   *time.Location // time zone of the game's days

	hash string // cached Hash, set by withHash; empty: not cached
}

// identifierPattern matches an identifier of the wire contract. A game's name becomes part
// of a Redis hash tag, so it must not contain braces.
var identifier = regexp.MustCompile(`^[A-Za-z0-9_.:-]{1,64}$`)

// Validate returns all errors in the configuration, joined, or nil.
func (c Config) Validate() error {
	var faults []error
	fault := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf("leaderboards of game %q: "+format, append([]any{c.Game}, args...)...))
	}
	if !identifier.MatchString(c.Game) {
		fault("the name of a game must have 1 to 64 characters of A-Z a-z 0-9 _ . : -")
	}
	if c.Location == nil {
		fault("the time zone is missing")
	}
	if c.MinAnswers < 0 {
		fault("min_answers %d is out of range; use 0 or more", c.MinAnswers)
	}
	for _, err := range slices.Concat(c.windowFaults(), c.orderFaults(), c.weightFaults()) {
		fault("%w", err)
	}
	return errors.Join(faults...)
}

func (c Config) windowFaults() (faults []error) {
	if len(c.Windows) == 0 {
		faults = append(faults, fmt.Errorf("no windows are configured; name at least %q", All))
	}
	for i, w := range c.Windows {
		if _, err := ParseWindow(string(w)); err != nil {
			faults = append(faults, err)
		}
		if slices.Contains(c.Windows[:i], w) {
			faults = append(faults, fmt.Errorf("window %q is listed twice", w))
		}
	}
	return faults
}

func (c Config) orderFaults() (faults []error) {
	if !slices.Contains(c.Orders, ByValue) {
		faults = append(faults, fmt.Errorf("orders must contain %q, the default of queries", ByValue))
	}
	for i, o := range c.Orders {
		if _, err := ParseOrder(string(o)); err != nil {
			faults = append(faults, err)
		}
		if slices.Contains(c.Orders[:i], o) {
			faults = append(faults, fmt.Errorf("order %q is listed twice", o))
		}
	}
	return faults
}

func (c Config) weightFaults() (faults []error) {
	if c.Weights == (Weights{}) {
		faults = append(faults, errors.New("all weights are 0; set at least one"))
	}
	for _, t := range Explain(Aggregates{}, c.Weights) {
		if t.Weight < 0 || t.Weight > MaxWeight {
			faults = append(faults, fmt.Errorf("weight %s %d is out of range; use 0 to %d", t.Name, t.Weight, MaxWeight))
		}
	}
	return faults
}

// rollingWindows returns the windows of the last N days.
func (c Config) rollingWindows() []Window {
	return slices.DeleteFunc(slices.Clone(c.Windows), func(w Window) bool { return !w.Rolling() })
}

// hasWindow reports whether the game has a window.
func (c Config) hasWindow(w Window) bool { return slices.Contains(c.Windows, w) }

// RankingOrder returns the order whose ranking answers queries for the given order. Under
// default weights the value equals the score, so ByValue shares the ranking of ByScore.
func (c Config) Ranking(o Order) Order {
	if o == ByValue && c.Weights == DefaultWeights {
		return ByScore
	}
	return o
}

// RankingOrders returns the orders that have a ranking of their own, sorted, each once. At
// least one of them ranks every entry.
func (c Config) Rankings() []Order {
	rankings := make([]Order, len(c.Orders))
	for i, o := range c.Orders {
		rankings[i] = c.Ranking(o)
	}
	slices.Sort(rankings)
	return slices.Compact(rankings)
}

// Hash identifies the windows, orders and rules of the boards, as 12 hexadecimal digits.
// Board sets with different hashes belong to different configurations and are kept apart.
func (c Config) Hash() string {
	if c.hash != "" {
		return c.hash
	}
	windows := slices.Clone(c.Windows)
	slices.Sort(windows)
	sum := sha256.Sum256(fmt.Appendf(nil, "2 %v %v %v %d", windows, c.Rankings(), c.Weights, c.MinAnswers))
	return hex.EncodeToString(sum[:6])
}

// withHash returns a Config that caches its Hash, because every read needs it.
func (c Config) withHash() Config {
	c.hash = c.Hash()
	return c
}
