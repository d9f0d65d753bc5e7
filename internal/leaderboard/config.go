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

// Config says which boards a game has. Callers must not change a Config in use.
type Config struct {
	Game       string
	Windows    []Window
	Orders     []Order
	Weights    Weights
	MinAnswers int64 // questions asked before accuracy or time ranks an entry
	Location   *time.Location

	hash string // cached by withHash; empty: not cached
}

// identifier matches an identifier of the wire contract. A game's name goes into a hash
// tag, so it must not contain braces.
var identifier = regexp.MustCompile(`^[A-Za-z0-9_.:-]{1,64}$`)

// Validate returns all faults, joined.
func (c Config) Validate() error {
	var faults []error
	fault := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf("leaderboards of game %q: "+format, append([]any{c.Game}, args...)...))
	}
	if !identifier.MatchString(c.Game) {
		fault("the name of a game is 1 to 64 of A-Z a-z 0-9 _ . : -")
	}
	if c.Location == nil {
		fault("no time zone")
	}
	if c.MinAnswers < 0 {
		fault("min_answers %d: not below 0", c.MinAnswers)
	}
	for _, err := range slices.Concat(c.windowFaults(), c.orderFaults(), c.weightFaults()) {
		fault("%w", err)
	}
	return errors.Join(faults...)
}

func (c Config) windowFaults() (faults []error) {
	if len(c.Windows) == 0 {
		faults = append(faults, fmt.Errorf("no windows: name at least %q", All))
	}
	for i, w := range c.Windows {
		if _, err := ParseWindow(string(w)); err != nil {
			faults = append(faults, err)
		}
		if slices.Contains(c.Windows[:i], w) {
			faults = append(faults, fmt.Errorf("window %q twice", w))
		}
	}
	return faults
}

func (c Config) orderFaults() (faults []error) {
	if !slices.Contains(c.Orders, ByValue) {
		faults = append(faults, fmt.Errorf("orders must hold %q, which a query without one means", ByValue))
	}
	for i, o := range c.Orders {
		if _, err := ParseOrder(string(o)); err != nil {
			faults = append(faults, err)
		}
		if slices.Contains(c.Orders[:i], o) {
			faults = append(faults, fmt.Errorf("order %q twice", o))
		}
	}
	return faults
}

func (c Config) weightFaults() (faults []error) {
	if c.Weights == (Weights{}) {
		faults = append(faults, errors.New("all weights are 0: every value would be 0"))
	}
	for _, t := range Explain(Aggregates{}, c.Weights) {
		if t.Weight < 0 || t.Weight > MaxWeight {
			faults = append(faults, fmt.Errorf("weight %s %d: 0 to %d", t.Name, t.Weight, MaxWeight))
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

// Ranking returns the order whose ranking answers queries for o. Under default weights
// the value equals the score, so ByValue has no ranking of its own.
func (c Config) Ranking(o Order) Order {
	if o == ByValue && c.Weights == DefaultWeights {
		return ByScore
	}
	return o
}

// Rankings returns each order that has a ranking once, sorted. At least one of them
// ranks every entry.
func (c Config) Rankings() []Order {
	rankings := make([]Order, len(c.Orders))
	for i, o := range c.Orders {
		rankings[i] = c.Ranking(o)
	}
	slices.Sort(rankings)
	return slices.Compact(rankings)
}

// Hash identifies the content of the boards. Boards of another hash belong to another
// configuration; appliers never mix them.
func (c Config) Hash() string {
	if c.hash != "" {
		return c.hash
	}
	windows := slices.Clone(c.Windows)
	slices.Sort(windows)
	sum := sha256.Sum256(fmt.Appendf(nil, "2 %v %v %v %d", windows, c.Rankings(), c.Weights, c.MinAnswers))
	return hex.EncodeToString(sum[:6])
}

// withHash returns a copy of c that caches its Hash, because every read needs it.
func (c Config) withHash() Config {
	c.hash = c.Hash()
	return c
}
