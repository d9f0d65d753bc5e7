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

// A validation collects the errors of a configuration.
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
	if v.fileFaults != nil {
		v.errs = append(v.errs, v.fileFaults)
	}
	v.errs.checkRanges("", reflect.ValueOf(*v.Config))
	v.validateAddresses()
	_, err := v.DrainTimeout()
	v.errs.add("drain", err)
	v.Limits.validate(&v.errs)
	if len(v.Games) == 0 {
		v.errs.addf("games: the section has no game; declare at least one game")
	}
	for _, name := range v.GameNames() {
		v.validateGame(name)
	}
	v.validateWebhooks()
}

func (v *validation) validateAddresses() {
	v.errs.add("listen", checkAddress(v.Listen))
	v.errs.add("ops_listen", checkAddress(v.OpsListen))
	if _, port, _ := net.SplitHostPort(v.Listen); v.Listen == v.OpsListen && port != "0" {
		v.errs.addf("ops_listen: %q is also the address of listen; use two different addresses", v.OpsListen)
	}
	v.validateSecret("redis", v.Redis, redisx.Validate)
	v.validateSecret("database", v.Database, ledger.Validate)
	if v.Data == "" && v.Database == "" {
		v.errs.addf("data: the embedded database needs a folder; set data or database")
	}
	v.validateProxies()
	if url := v.Tracing.Endpoint; url != "" {
		v.validateSecret("tracing.endpoint", url, checkURL)
	}
	for _, o := range v.Origins {
		_, err := httpserver.ParseOrigin(o)
		v.errs.add("origins", err)
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

func (v *validation) validateGame(name string) {
	settings, prefix := v.Games[name], "games."+name+"."
	if _, err := time.LoadLocation(settings.TimeZone); err != nil || settings.TimeZone == "Local" {
		v.errs.addf("%stime_zone: %q is not in the time zone database; use a name such as Europe/Berlin", prefix, settings.TimeZone)
	}
	if len(settings.Banks) == 0 {
		v.errs.addf("%sbanks: the list is empty; name at least one bank, such as builtin", prefix)
	}
	for _, name := range settings.HostBanks {
		if slices.Contains(settings.Banks, name) {
			v.errs.addf("%shost_banks: %q is also in banks, which all players use; remove it from one of the two lists", prefix, name)
		}
	}
	settings.validate(prefix, &v.errs)
	settings.Page.validate(prefix+"page.", &v.errs)
	settings.Retention.validate(prefix+"retention.", &v.errs)
	settings.Behaviours.validate(prefix+"behaviours.", &v.errs)
	if url := settings.Behaviours.Sink.URL; url != "" {
		v.validateSecret(prefix+"behaviours.sink.url", url, checkURL)
	}
	v.validateSinkPath(name)
	if err := v.Leaderboards(name).Validate(); err != nil { // the error names the game
		v.errs = append(v.errs, err)
	}
}

func (v *validation) validateProxies() {
	_, err := httpserver.ParseTrustedProxies(v.TrustedProxies)
	v.errs.add("trusted_proxies", err)
	v.errs.add("proxy_protocol", httpserver.ProxyProtocol(v.ProxyProtocol).Validate())
	if v.ProxyProtocol != string(httpserver.ProxyOff) && len(v.TrustedProxies) == 0 {
		v.errs.addf("proxy_protocol: %s requires trusted_proxies, because the server ignores the headers of other peers", v.ProxyProtocol)
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

// validateWebhooks adds an error for each invalid URL and each empty list of events. The webhook
// registry checks the other keys.
func (v *validation) validateWebhooks() {
	for _, game := range v.GameNames() {
		for _, h := range v.Games[game].Webhooks {
			prefix := "games." + game + ".webhooks." + h.Name + "."
			v.validateSecret(prefix+"url", h.URL, checkURL)
			if len(h.Events) == 0 {
				v.errs.addf("%sevents: the list is empty; name at least one event, or remove the key for all events: %v", prefix, webhook.EventTypes())
			}
		}
	}
	if _, err := webhook.NewRegistry(v.Endpoints(), nil); err != nil { // the error names the endpoints
		v.errs = append(v.errs, err)
	}
}
