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

	"laststand/internal/httpserver"
	"laststand/internal/leaderboard"
	"laststand/internal/ledger"
	"laststand/internal/redisx"
)

// validate returns one error with all problems of the configuration, key files and word lists
// included. It returns nil if there is none.
func (c *config) validate() error {
	errs := c.validateWithoutKeys()
	c.validateKeys(&errs)
	return errs.join()
}

// validateKeys reads the key files, word lists and certificates, and adds an error for each
// that is invalid.
func (c *config) validateKeys(errs *validationErrors) {
	for _, name := range c.gameNames() {
		_, err := c.readKeys(name)
		errs.add("games."+name+".keys", err)
	}
	for _, name := range c.gameNames() {
		_, err := c.readWordLists(name)
		errs.add("games."+name+".names", err)
	}
	for _, source := range c.keySources() {
		_, err := source.read()
		errs.add(source.setting, err)
	}
	c.validateTLS(errs)
}

// validateWithoutKeys returns all problems except those in key files, word lists and
// certificates.
func (c *config) validateWithoutKeys() (errs validationErrors) {
	if c.fileFaults != nil {
		errs = append(errs, c.fileFaults)
	}
	errs.checkRanges("", reflect.ValueOf(*c))
	c.validateAddresses(&errs)
	c.validateLimits(&errs)
	if len(c.Games) == 0 {
		errs.addf("games: the section has no game; declare at least one game")
	}
	for _, name := range c.gameNames() {
		c.validateGame(name, &errs)
	}
	c.validateWebhooks(&errs)
	return errs
}

func (c *config) validateAddresses(errs *validationErrors) {
	errs.add("listen", checkAddress(c.Listen))
	errs.add("ops_listen", checkAddress(c.OpsListen))
	if _, port, _ := net.SplitHostPort(c.Listen); c.Listen == c.OpsListen && port != "0" {
		errs.addf("ops_listen: %q is also the address of listen; use two different addresses", c.OpsListen)
	}
	errs.add("redis", redisx.Validate(c.Redis))
	errs.add("database", ledger.Validate(c.Database))
	if c.Data == "" && c.Database == "" {
		errs.addf("data: the embedded database needs a folder; set data or database")
	}
	c.validateProxies(errs)
	for _, o := range c.Origins {
		_, err := httpserver.ParseOrigin(o)
		errs.add("origins", err)
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

func (c *config) validateLimits(errs *validationErrors) {
	if _, err := c.drainTimeout(); err != nil {
		errs.add("drain", err)
	}
	c.Limits.validate(errs)
}

// drainTimeout returns how long a stopping server waits for running matches.
func (c *config) drainTimeout() (time.Duration, error) {
	d, err := time.ParseDuration(c.Drain)
	if err != nil || d < 0 || d > time.Hour {
		return 0, fmt.Errorf("%q is not a duration between 0s and 1h", c.Drain)
	}
	return d, nil
}

// bankName matches the valid names of question banks.
var bankName = regexp.MustCompile(`^[A-Za-z0-9_.:-]{1,64}$`)

func (c *config) validateGame(name string, errs *validationErrors) {
	settings, prefix := c.Games[name], "games."+name+"."
	if _, err := time.LoadLocation(settings.TimeZone); err != nil || settings.TimeZone == "Local" {
		errs.addf("%stime_zone: %q is not in the time zone database; use a name such as Europe/Berlin", prefix, settings.TimeZone)
	}
	if len(settings.Banks) == 0 {
		errs.addf("%sbanks: the list is empty; name at least one bank, such as builtin", prefix)
	}
	for _, name := range settings.HostBanks {
		if slices.Contains(settings.Banks, name) {
			errs.addf("%shost_banks: %q is also in banks, which all players use; remove it from one of the two lists", prefix, name)
		}
	}
	settings.validate(prefix, errs)
	c.validateBehaviours(name, errs)
	if err := c.leaderboardConfig(name).Validate(); err != nil { // the error names the game
		*errs = append(*errs, err)
	}
}

// leaderboardConfig returns the configuration of the leaderboards of a game.
func (c *config) leaderboardConfig(name string) leaderboard.Config {
	b := c.Games[name].Leaderboards
	return leaderboard.Config{
		Game: name, Windows: b.Windows, Orders: b.Orders, MinAnswers: b.MinAnswers,
		Weights: leaderboard.Weights(b.Weights), Location: c.timeZone(name),
	}
}

// timeZone returns the time zone of a game, or UTC if it is invalid.
func (c *config) timeZone(name string) *time.Location {
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
