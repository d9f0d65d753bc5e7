package config

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"laststand/internal/httpserver"
	"laststand/internal/webhook"
)

// validationErrors collects all problems of a configuration, so that the operator sees them
// together.
type validationErrors []error

// addf adds an error. By convention its text starts with the configuration key and a colon.
func (e *validationErrors) addf(format string, args ...any) {
	*e = append(*e, fmt.Errorf(format, args...))
}

// add adds an error about the configuration key path. A nil error adds nothing.
func (e *validationErrors) add(path string, err error) {
	if err != nil {
		e.addf("%s: %w", path, err)
	}
}

func (e validationErrors) join() error { return errors.Join(e...) }

// Validate returns one error with all problems of the configuration, key files, word lists and
// logos included. It returns nil if there is none.
func (c *Config) Validate() error {
	v := validation{Config: c}
	v.validateWithoutKeys()
	v.validateKeys()
	return v.errs.join()
}

// ValidateWithoutKeys is Validate without key files, word lists, logos and certificates.
// Commands that need at most some of them use it.
func (c *Config) ValidateWithoutKeys() error {
	v := validation{Config: c}
	v.validateWithoutKeys()
	return v.errs.join()
}

type validation struct {
	*Config
	errs validationErrors
}

// validateKeys reads the key files, word lists, logos and certificates, and adds an error for
// each that is invalid.
func (v *validation) validateKeys() {
	for _, name := range v.GameNames() {
		_, err := v.ReadKeys(name)
		v.errs.add("games."+name+".keys", err)
		_, err = v.ReadWordLists(name)
		v.errs.add("games."+name+".names", err)
		_, err = v.ReadLogo(name)
		v.errs.add("games."+name+".page.logo", err)
	}
	for _, source := range v.keySources() {
		_, err := source.read()
		v.errs.add(source.Setting, err)
	}
	v.validateTLS()
}

func (v *validation) validateWithoutKeys() {
	if v.file.faults != nil {
		v.errs = append(v.errs, v.file.faults)
	}
	visit("", reflect.ValueOf(v.Config).Elem(), func(f field) { f.check(v) })
	if _, port, _ := net.SplitHostPort(v.Listen); v.Listen == v.OpsListen && port != "0" {
		v.errs.addf("ops_listen: %q is also the address of listen; use two different addresses", v.OpsListen)
	}
	if v.Data == "" && v.Database == "" {
		v.errs.addf("data: the embedded database needs a folder; set data or database")
	}
	if v.ProxyProtocol != string(httpserver.ProxyOff) && len(v.TrustedProxies) == 0 {
		v.errs.addf("proxy_protocol: %s requires trusted_proxies, because the server ignores the headers of other peers", v.ProxyProtocol)
	}
	for _, name := range v.Limits.DryRun {
		if ruleNames := DryRunRules(); !slices.Contains(ruleNames, name) {
			v.errs.addf("limits.dry_run: %q is not a rule; use one of %s", name, strings.Join(ruleNames, ", "))
		}
	}
	if len(v.Games) == 0 {
		v.errs.addf("games: the section has no game; declare at least one game")
	}
	for _, name := range v.GameNames() {
		v.validateGame(name)
	}
	if _, err := webhook.NewRegistry(v.Endpoints(), nil); err != nil { // the error names the endpoints
		v.errs = append(v.errs, err)
	}
}

func (v *validation) validateGame(name string) {
	settings, prefix := v.Games[name], "games."+name+"."
	if len(settings.Banks) == 0 {
		v.errs.addf("%sbanks: the list is empty; name at least one bank, such as builtin", prefix)
	}
	for _, name := range settings.HostBanks {
		if slices.Contains(settings.Banks, name) {
			v.errs.addf("%shost_banks: %q is also in banks, which all players use; remove it from one of the two lists", prefix, name)
		}
	}
	for _, err := range settings.Page.Colors().Check() { // the error begins with the key
		v.errs.addf("%spage.%w", prefix, err)
	}
	if days := settings.Retention.MatchesDays; days > 0 && days < minMatchesDays {
		v.errs.addf("%sretention.matches_days: %d is out of range; use %d or more days, or 0 to keep matches for good", prefix, days, minMatchesDays)
	}
	settings.Behaviours.validate(prefix+"behaviours.", &v.errs)
	v.validateSinkPath(name)
	for _, h := range settings.Webhooks { // the webhook registry checks the other keys
		if len(h.Events) == 0 {
			v.errs.addf("%swebhooks.%s.events: the list is empty; name at least one event, or remove the key for all events: %v", prefix, h.Name, webhook.EventTypes())
		}
	}
	if err := v.Leaderboards(name).Validate(); err != nil { // the error names the game
		v.errs = append(v.errs, err)
	}
}

func (v *validation) validateTLS() {
	switch {
	case v.TLSCert == "" && v.TLSKey == "":
	case v.TLSCert == "":
		v.errs.addf("tls_cert: tls_key is set, so tls_cert is required too")
	case v.TLSKey == "":
		v.errs.addf("tls_key: tls_cert is set, so tls_key is required too")
	default:
		v.errs.add("tls_cert, tls_key", httpserver.CheckCertificate(v.CertificateFiles()))
	}
}

// validateSinkPath adds an error if a game with an earlier name writes to the same file.
func (v *validation) validateSinkPath(name string) {
	sink := v.Sink(name)
	for _, other := range v.GameNames() {
		if other == name {
			return
		}
		if sink.Path != "" && filepath.Clean(sink.Path) == filepath.Clean(v.Sink(other).Path) {
			v.errs.addf("games.%s.behaviours.sink.path: %s is the file of game %s; use another path", name, sink.Path, other)
		}
	}
}
