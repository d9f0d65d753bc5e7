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

// Config says which boards a game has. It is not changed once in use.
type Config struct {
	Game       string
	Windows    []Window
	Orders     []Order
	Weights    Weights
	MinAnswers int64 // asked, before accuracy or time ranks an entry
	Location   *time.Location

	form string // see formed
}

// An identifier of the wire contract; games name hash tags and so hold no brace.
var identifier = regexp.MustCompile(`^[A-Za-z0-9_.:-]{1,64}$`)

// Validate reports everything that is wrong, joined.
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
	for _, t := range Explain(Parts{}, c.Weights) {
		if t.Weight < 0 || t.Weight > MaxWeight {
			faults = append(faults, fmt.Errorf("weight %s %d: 0 to %d", t.Name, t.Weight, MaxWeight))
		}
	}
	return faults
}

// rolling are the windows of the last N days.
func (c Config) rolling() []Window {
	return slices.DeleteFunc(slices.Clone(c.Windows), func(w Window) bool { return !w.Rolling() })
}

// keeps reports whether a window is configured.
func (c Config) keeps(w Window) bool { return slices.Contains(c.Windows, w) }

// Ranking is the order whose ranking an order is read from: under default
// weights the value is the score and has none of its own.
func (c Config) Ranking(o Order) Order {
	if o == ByValue && c.Weights == DefaultWeights {
		return ByScore
	}
	return o
}

// Rankings are the orders that are kept, each once, the same for every
// sequence of the same orders. One of them ranks every entry.
func (c Config) Rankings() []Order {
	kept := make([]Order, len(c.Orders))
	for i, o := range c.Orders {
		kept[i] = c.Ranking(o)
	}
	slices.Sort(kept)
	return slices.Compact(kept)
}

// Form names what boards are made by. Boards of another form, from before the
// configuration changed, are never read or written: each form has its own.
func (c Config) Form() string {
	if c.form != "" {
		return c.form
	}
	windows := slices.Clone(c.Windows)
	slices.Sort(windows)
	sum := sha256.Sum256(fmt.Appendf(nil, "2 %v %v %v %d", windows, c.Rankings(), c.Weights, c.MinAnswers))
	return hex.EncodeToString(sum[:6])
}

// formed is a Config that is not changed any more and keeps its Form, which every
// read asks for.
func (c Config) formed() Config {
	c.form = c.Form()
	return c
}
