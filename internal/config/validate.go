package config

import (
	"fmt"
	"net"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"time"

	"laststand/internal/httpserver"
	"laststand/internal/ledger"
	"laststand/internal/redisx"
	"laststand/internal/webhook"
)

// Validate returns one error with all problems of the configuration, key files and word lists
// included. It returns nil if there is none.
func (c *Config) Validate() error {
	errs := c.validateWithoutKeys()
	c.validateKeys(&errs)
	return errs.join()
}

// ValidateWithoutKeys is Validate without key files, word lists and certificates. Commands
// that need at most some of them use it.
func (c *Config) ValidateWithoutKeys() error { return c.validateWithoutKeys().join() }

// validateKeys reads the key files, word lists and certificates, and adds an error for each
// that is invalid.
func (c *Config) validateKeys(errs *validationErrors) {
	for _, name := range c.GameNames() {
		_, err := c.ReadKeys(name)
		errs.add("games."+name+".keys", err)
		_, err = c.ReadWordLists(name)
		errs.add("games."+name+".names", err)
	}
	for _, source := range c.keySources() {
		_, err := source.read()
		errs.add(source.Setting, err)
	}
	c.validateTLS(errs)
}

func (c *Config) validateWithoutKeys() (errs validationErrors) {
	if c.fileFaults != nil {
		errs = append(errs, c.fileFaults)
	}
	errs.checkRanges("", reflect.ValueOf(*c))
	c.validateAddresses(&errs)
	_, err := c.DrainTimeout()
	errs.add("drain", err)
	c.Limits.validate(&errs)
	if len(c.Games) == 0 {
		errs.addf("games: the section has no game; declare at least one game")
	}
	for _, name := range c.GameNames() {
		c.validateGame(name, &errs)
	}
	c.validateWebhooks(&errs)
	return errs
}

func (c *Config) validateAddresses(errs *validationErrors) {
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

func (c *Config) validateGame(name string, errs *validationErrors) {
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
	settings.Behaviours.validate(prefix+"behaviours.", errs)
	c.validateSinkPath(name, errs)
	if err := c.Leaderboards(name).Validate(); err != nil { // the error names the game
		*errs = append(*errs, err)
	}
}

func (c *Config) validateProxies(errs *validationErrors) {
	_, err := httpserver.ParseTrustedProxies(c.TrustedProxies)
	errs.add("trusted_proxies", err)
	errs.add("proxy_protocol", httpserver.ProxyProtocol(c.ProxyProtocol).Validate())
	if c.ProxyProtocol != string(httpserver.ProxyOff) && len(c.TrustedProxies) == 0 {
		errs.addf("proxy_protocol: %s requires trusted_proxies, because the server ignores the headers of other peers", c.ProxyProtocol)
	}
}

// validateTLS checks the certificate files, if any are configured.
func (c *Config) validateTLS(errs *validationErrors) {
	switch {
	case c.TLSCert == "" && c.TLSKey == "":
	case c.TLSCert == "":
		errs.addf("tls_cert: tls_key is set, so tls_cert is required too")
	case c.TLSKey == "":
		errs.addf("tls_key: tls_cert is set, so tls_key is required too")
	default:
		errs.add("tls_cert, tls_key", httpserver.CheckCertificate(c.TLSCert, c.TLSKey))
	}
}

// validateSinkPath adds an error if a game with an earlier name writes to the same file.
func (c *Config) validateSinkPath(name string, errs *validationErrors) {
	sink := c.Sink(name)
	for _, other := range c.GameNames() {
		if other == name {
			return
		}
		if sink.Path != "" && filepath.Clean(sink.Path) == filepath.Clean(c.Sink(other).Path) {
			errs.addf("games.%s.behaviours.sink.path: %s is the file of game %s; use another path", name, sink.Path, other)
		}
	}
}

// validateWebhooks adds an error for each invalid URL and each empty list of events. The webhook
// registry checks the other keys.
func (c *Config) validateWebhooks(errs *validationErrors) {
	for _, game := range c.GameNames() {
		for _, h := range c.Games[game].Webhooks {
			prefix := "games." + game + ".webhooks." + h.Name + "."
			errs.validateURL(prefix+"url", h.URL)
			if len(h.Events) == 0 {
				errs.addf("%sevents: the list is empty; name at least one event, or remove the key for all events: %v", prefix, webhook.EventTypes())
			}
		}
	}
	if _, err := webhook.NewRegistry(c.Endpoints(), nil); err != nil { // the error names the endpoints
		*errs = append(*errs, err)
	}
}
