package cli

import (
	"context"
	"errors"
	"io"
	"log/slog"

	"laststand/internal/config"
	"laststand/internal/ledger"
)

// Flags are the flags of every command. A flag that is not given takes its value from the
// environment variable, then from the configuration file, then from the defaults.
type Flags struct {
	Listen    *string `placeholder:"ADDR" env:"LASTSTAND_LISTEN" help:"The address for players and HTTP (default 127.0.0.1:8080); port 0 picks a free one."`
	OpsListen *string `placeholder:"ADDR" env:"LASTSTAND_OPS_LISTEN" help:"The address for metrics, profiles and the admin API (default 127.0.0.1:8081)."`
	Data      *string `placeholder:"DIR" env:"LASTSTAND_DATA" help:"The folder of the embedded database (default data)."`
	Redis     *string `placeholder:"URL" env:"LASTSTAND_REDIS" help:"The Redis URL: redis://, rediss://, redis+sentinel://; several addresses or ?cluster=true for a cluster; with a password file:PATH or credential:NAME (default: embedded)."`
	Database  *string `placeholder:"URL" env:"LASTSTAND_DATABASE" help:"The database URL: postgres://, with a password file:PATH or credential:NAME (default: embedded SQLite)."`
	Config    string  `placeholder:"FILE" env:"LASTSTAND_CONFIG" help:"The YAML file with games, limits and these settings."`
	Drain     *string `placeholder:"TIME" env:"LASTSTAND_DRAIN" help:"How long a stop waits for matches to end (default 20s)."`
	TLSCert   *string `name:"tls-cert" placeholder:"FILE" env:"LASTSTAND_TLS_CERT" help:"The PEM file with the certificate chain for --listen; the server reloads it on change."`
	TLSKey    *string `name:"tls-key" placeholder:"FILE" env:"LASTSTAND_TLS_KEY" help:"The PEM file with the private key of --tls-cert."`
}

// Load reads and validates the configuration, key files and word lists included.
func (f *Flags) Load() (config.Config, error) {
	c, err := f.read()
	if err == nil {
		err = c.Validate()
	}
	return c, err
}

// loadWithoutKeys is Load without key files and word lists.
func (f *Flags) loadWithoutKeys() (config.Config, error) {
	c, err := f.read()
	if err == nil {
		err = c.ValidateWithoutKeys()
	}
	return c, err
}

// read returns the configuration of the file, overridden by the environment and by flags. It
// does not validate it.
func (f *Flags) read() (config.Config, error) {
	c, err := config.Read(f.Config)
	if err != nil {
		return c, err
	}
	for _, override := range []struct {
		flag    *string
		setting *string
	}{
		{f.Listen, &c.Listen}, {f.OpsListen, &c.OpsListen}, {f.Data, &c.Data}, {f.Redis, &c.Redis},
		{f.Database, &c.Database}, {f.Drain, &c.Drain}, {f.TLSCert, &c.TLSCert}, {f.TLSKey, &c.TLSKey},
	} {
		if override.flag != nil {
			*override.setting = *override.flag
		}
	}
	return c, nil
}

// withLedger reads the configuration without key files, opens the ledger, and calls command
// with them. It fails in a folder without a database, which is probably a wrong one.
func (f *Flags) withLedger(command func(*config.Config, *ledger.Ledger) error) error {
	return f.openLedger(true, command)
}

// openLedger is withLedger, but creates a missing database unless mustExist is set.
func (f *Flags) openLedger(mustExist bool, command func(*config.Config, *ledger.Ledger) error) error {
	c, err := f.loadWithoutKeys()
	if err != nil {
		return err
	}
	ledgerConfig := c.Ledger(slog.New(slog.DiscardHandler)) // commands print their own results
	ledgerConfig.MustExist = mustExist
	l, err := ledger.Open(context.Background(), ledgerConfig)
	if err != nil {
		return err
	}
	return errors.Join(command(&c, l), l.Close())
}

// Output is where a command writes: its standard output and standard error.
type Output struct{ Stdout, Stderr io.Writer }

// stdio is the file name that means standard input or standard output.
const stdio = "-"
