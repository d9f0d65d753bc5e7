package main

import (
	"fmt"
	"maps"
	"net"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"time"

	"laststand/internal/leaderboard"
	"laststand/internal/ledger"
	"laststand/internal/origin"
	"laststand/internal/redisx"
)

// validate returns one error with all problems of the configuration, key files and word lists
// included. It returns nil if there is none.
func (c *config) validate() error {
	f := c.faults()
	c.validateKeys(&f)
	return f.join()
}

// validateKeys reads the key files, word lists and certificates, and adds an error for each
// that is invalid.
func (c *config) validateKeys(f *faults) {
	for _, name := range c.gameNames() {
		_, err := c.readKeys(name)
		f.add("games."+name+".keys", err)
	}
	for _, name := range c.gameNames() {
		_, err := c.words(name)
		f.add("games."+name+".names", err)
	}
	for _, place := range c.keySources() {
		_, err := place.read()
		f.add(place.setting, err)
	}
	c.validateTLS(f)
}

// validateWithoutKeys returns all problems except those in key files, word lists and
// certificates.
func (c *config) faults() (f faults) {
	f.checkRanges("", reflect.ValueOf(*c))
	c.validateAddresses(&f)
	c.validateLimits(&f)
	if len(c.Games) == 0 {
		f.addf("games: the section has no game; declare at least one game")
	}
	for _, name := range c.gameNames() {
		c.validateGame(name, &f)
	}
	c.validateWebhooks(&f)
	return f
}

func (c *config) validateAddresses(f *faults) {
	f.add("listen", checkAddress(c.Listen))
	f.add("ops_listen", checkAddress(c.OpsListen))
	if _, port, _ := net.SplitHostPort(c.Listen); c.Listen == c.OpsListen && port != "0" {
		f.addf("ops_listen: %q is also the address of listen; use two different addresses", c.OpsListen)
	}
	f.add("redis", redisx.Validate(c.Redis))
	f.add("database", ledger.Validate(c.Database))
	if c.Data == "" && c.Database == "" {
		f.addf("data: the embedded database needs a folder; set data or database")
	}
	c.validateProxies(f)
	for _, o := range c.Origins {
		_, err := origin.Parse(o)
		f.add("origins", err)
	}
}

func checkAddress(address string) error {
	_, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return fmt.Errorf("%q is not an address of the form 127.0.0.1:8080", address)
	}
	return nil
}

func (c *config) validateLimits(f *faults) {
	if _, err := c.drain(); err != nil {
		f.add("drain", err)
	}
	c.Limits.validate(f)
}

// drainTimeout returns how long a stopping server waits for running matches.
func (c *config) drain() (time.Duration, error) {
	d, err := time.ParseDuration(c.Drain)
	if err != nil || d < 0 || d > time.Hour {
		return 0, fmt.Errorf("%q is not a duration between 0s and 1h", c.Drain)
	}
	return d, nil
}

// bankName matches the valid names of question banks.
var bankName = regexp.MustCompile(`^[A-Za-z0-9_.:-]{1,64}$`)

func (c *config) validateGame(name string, f *faults) {
	g, prefix := c.Games[name], "games."+name+"."
	if _, err := time.LoadLocation(g.TimeZone); err != nil || g.TimeZone == "Local" {
		f.addf("%stime_zone: %q is not in the time zone database; use a name such as Europe/Berlin", prefix, g.TimeZone)
	}
	if len(g.Banks) == 0 {
		f.addf("%sbanks: the list is empty; name at least one bank, such as builtin", prefix)
	}
	for _, name := range g.HostBanks {
		if slices.Contains(g.Banks, name) {
			f.addf("%shost_banks: %q is also in banks, which all players use; remove it from one of the two lists", prefix, name)
		}
	}
	g.validate(prefix, f)
	c.validateBehaviours(name, f)
	if err := c.boardConfig(name).Validate(); err != nil { // the error names the game
		*f = append(*f, err)
	}
}

// leaderboardConfig returns the configuration of the leaderboards of a game.
func (c *config) boardConfig(name string) leaderboard.Config {
	b := c.Games[name].Leaderboards
	return leaderboard.Config{
		Game: name, Windows: b.Windows, Orders: b.Orders, MinAnswers: b.MinAnswers,
		Weights: leaderboard.Weights(b.Weights), Location: c.zone(name),
	}
}

// timeZone returns the time zone of a game, or UTC if it is invalid.
func (c *config) zone(name string) *time.Location {
	zone, err := time.LoadLocation(c.Games[name].TimeZone)
	if err != nil {
		return time.UTC // validate reports it
	}
	return zone
}

// gameNames returns the names of all games, sorted.
func (c *config) gameNames() []string {
	return slices.Sorted(maps.Keys(c.Games))
}
