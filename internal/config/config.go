package config

import (
	"cmp"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"laststand/internal/eventq"
	"laststand/internal/leaderboard"
	"laststand/internal/ledger"
	"laststand/internal/lobby"
	"laststand/internal/webhook"
)

// Config is the configuration of the server. The configuration file overrides the defaults,
// the environment overrides the file, and flags override the environment.
// docs/reference/configuration.md lists the keys.
type Config struct {
	// Address that serves players: HTTP and websockets. Port 0 picks a free port.
	Listen string `yaml:"listen" default:"127.0.0.1:8080" check:"address" allowed:"host:port"`
	// Address that serves operators: metrics, profiles and the admin API. Keep this address private.
	OpsListen string `yaml:"ops_listen" default:"127.0.0.1:8081" check:"address" allowed:"host:port"`
	// Folder for the embedded database, snapshots of nicknames and behaviour files, relative to the working directory.
	// May be empty if database is set; then the server stores no snapshots, and a start takes longer.
	Data string `yaml:"data" default:"data" allowed:"a path"`
	// URL of the Redis that all nodes share. Empty: an embedded Redis, for one node only.
	Redis string `yaml:"redis" check:"redis" allowed:"redis://, rediss:// or redis+sentinel:// URL; several addresses or ?cluster=true: a cluster; file:PATH, credential:NAME"`
	// URL of the PostgreSQL that all nodes share. Empty: an embedded SQLite, for one node only.
	Database string `yaml:"database" check:"database" allowed:"postgres:// URL, file:PATH, credential:NAME"`
	// Maximum time that a stopping server waits for running matches. Higher: fewer matches are aborted. Lower: a stop takes less time.
	Drain string `yaml:"drain" default:"20s" range:"0s..1h"`
	// PEM file with the certificate chain for TLS on listen. The server reloads a changed file. Requires tls_key. Empty: no TLS.
	TLSCert string `yaml:"tls_cert" allowed:"a path, credential:NAME"`
	// PEM file with the private key of tls_cert. Empty: no TLS.
	TLSKey string `yaml:"tls_key" allowed:"a path, credential:NAME"`

	// Games (tenants) by package name. A game has its own players, question banks, leaderboards and behaviour queue.
	Games map[string]Game `yaml:"games" allowed:"at least one"`
	// Limits on connections, requests, matches and load, per node or for all nodes together.
	Limits Limits `yaml:"limits"`
	// Origins whose web pages may call this server. Pages that this server itself serves always may.
	Origins []string `yaml:"origins" check:"origin" allowed:"https://host"`
	// Proxies whose X-Forwarded-For and PROXY headers the server trusts. All players behind a proxy that is not listed count as one address.
	TrustedProxies []string `yaml:"trusted_proxies" check:"proxy" allowed:"addresses or CIDR ranges"`
	// Audit log of the admin API.
	Audit Audit `yaml:"audit"`
	// OpenTelemetry traces.
	Tracing Tracing `yaml:"tracing"`
	// Whether connections from trusted proxies start with a PROXY protocol header, version 1 or 2. With required, the server closes every connection without the header.
	ProxyProtocol string `yaml:"proxy_protocol" default:"off" oneof:"off, optional, required"`

	file sourceFile
}

// Limits configures all limits of a node. 0 means no limit, except in connections and
// messages_per_second.
type Limits struct {
	// Maximum number of websockets per node. The last 5% are reserved for players in a match. Connections of all kinds together may be 10% and 1,000 more.
	// Above the limit the node closes new websockets with 1013. Higher: more players and more memory.
	Connections int64 `yaml:"connections" default:"100000" range:"1..10000000"`
	// Maximum number of messages per second and websocket; a burst may be as large. Above the limit: error rate_limited; the third within 10 s closes the websocket with 4429.
	MessagesPerSecond float64 `yaml:"messages_per_second" default:"20" range:"1..10000"`

	RequestLimits    `yaml:",inline"`
	ConnectionLimits `yaml:",inline"`
	MatchLimits      `yaml:",inline"`
}

// Default returns the configuration of a server without a configuration file.
func Default() Config {
	c := defaultWithUnsetLimits()
	c.Limits.applyDefaults()
	return c
}

// defaultWithUnsetLimits is Default without the limits whose defaults depend on other limits.
func defaultWithUnsetLimits() Config {
	c := Config{Games: map[string]Game{"demo": DefaultGame()}}
	setDefaults(&c)
	c.Limits.GuestsPerDayPerAddress, c.Limits.GuestRequestsPerMinutePerAddress = unsetLimit, unsetLimit
	return c
}

// Audit configures the audit log of the admin API.
type Audit struct {
	// Number of days that the server stores an entry of the audit log before it deletes the entry. Higher: more rows in the database.
	RetentionDays int64 `yaml:"retention_days" default:"400" range:"1..36500"`
}

// Retention returns RetentionDays as a duration.
func (a Audit) Retention() time.Duration {
	return time.Duration(a.RetentionDays) * 24 * time.Hour
}

// Leaderboards returns the configuration of the leaderboards of a game.
func (c *Config) Leaderboards(name string) leaderboard.Config {
	b := c.Games[name].Leaderboards
	return leaderboard.Config{
		Game: name, Windows: b.Windows, Orders: b.Orders, MinAnswers: b.MinAnswers,
		Weights: leaderboard.Weights(b.Weights), Location: c.Games[name].location(),
	}
}

// LeaderboardConfigs returns the configurations of the leaderboards of all games.
func (c *Config) LeaderboardConfigs() (configs []leaderboard.Config) {
	for _, name := range c.GameNames() {
		configs = append(configs, c.Leaderboards(name))
	}
	return configs
}

// DuelSettings returns the settings of duels, by game.
func (c *Config) DuelSettings() map[string]lobby.DuelSettings {
	duels := make(map[string]lobby.DuelSettings)
	for name, g := range c.Games {
		duels[name] = lobby.DuelSettings{
			Questions: g.Duel.Questions, LimitMS: g.Duel.TimeLimitMS, CountdownMS: g.Duel.CountdownMS,
			RevealMS: g.Duel.RevealMS, BotAfterMS: g.Duel.BotAfterMS, Rated: g.Duel.Rated,
			PairLimitPerDay: int64(g.Duel.PairLimitPerDay), CountSameAddress: g.Duel.CountSameAddress,
		}
	}
	return duels
}

// GameNames returns the names of all games, sorted.
func (c *Config) GameNames() []string {
	return slices.Sorted(maps.Keys(c.Games))
}

// DrainTimeout returns how long a stopping server waits for running matches. The configuration
// must be valid.
func (c *Config) DrainTimeout() time.Duration {
	d, _ := time.ParseDuration(c.Drain)
	return d
}

// Scheme returns the URL scheme of the players' address.
func (c *Config) Scheme() string {
	if c.TLSCert != "" {
		return "https"
	}
	return "http"
}

// Missing returns the error for something that a command names and the configuration lacks.
func (c *Config) Missing(what string) error {
	if c.file.path == "" {
		return fmt.Errorf("%s is not in the configuration: no --config was given", what)
	}
	return fmt.Errorf("%s is not in %s", what, c.file.path)
}

// CheckGame returns an error if the configuration lacks a game.
func (c *Config) CheckGame(name string) error {
	if _, known := c.Games[name]; known {
		return nil
	}
	err := c.Missing(fmt.Sprintf("game %q", name))
	if near := nearest(name, c.GameNames()); near != "" {
		return fmt.Errorf("%w; did you mean %s?", err, near)
	}
	return err
}

// Ledger returns the configuration of the ledger, with the time zone, the pair limit
// and the retention of each game.
func (c *Config) Ledger(log *slog.Logger) ledger.Config {
	zones := make(map[string]*time.Location, len(c.Games))
	pairs := make(map[string]int64, len(c.Games))
	retention := make(map[string]ledger.Retention, len(c.Games))
	for name, g := range c.Games {
		retention[name] = g.Retention.ledgerRetention()
		zones[name], pairs[name] = g.location(), int64(g.Duel.PairLimitPerDay)
	}
	return ledger.Config{URL: c.Secret(c.Database), Dir: c.Data, TimeZones: zones, PairDuelLimits: pairs, Retention: retention, Logger: log}
}

// QueuePolicy returns the settings of a game's behaviour queue. The configuration must be valid.
func (c *Config) QueuePolicy(name string) eventq.Policy {
	b := c.Games[name].Behaviours
	flush, _ := time.ParseDuration(b.Batch.FlushInterval) // validate checked both durations
	age, _ := time.ParseDuration(b.MaxAge)
	return eventq.Policy{
		Game: name, MaxLen: b.MaxLen, Overflow: eventq.Overflow(b.Overflow), BatchSize: b.Batch.MaxSize,
		FlushMS: flush.Milliseconds(), MaxAgeMS: age.Milliseconds(), PerSecond: b.Rate.PerSecond, Burst: b.Rate.Burst,
		Hot: b.Hot, Report: b.Report,
	}
}

// Sink returns the sink configuration of a game, with the default path of type file.
func (c *Config) Sink(name string) Sink {
	s := c.Games[name].Behaviours.Sink
	if s.Type == SinkFile {
		s.Path = cmp.Or(s.Path, filepath.Join(c.Data, "behaviours", name+".ndjson"))
	}
	return s
}

// Endpoints returns the webhooks of all games as the webhook registry expects them.
func (c *Config) Endpoints() (endpoints []webhook.Endpoint) {
	for _, game := range c.GameNames() {
		for _, settings := range c.Games[game].Webhooks {
			endpoints = append(endpoints, webhook.Endpoint{
				Game: game, Name: settings.Name, URL: c.Secret(settings.URL), AllowPrivate: settings.AllowPrivate, Events: settings.Events, Ordered: settings.Ordered,
			})
		}
	}
	return endpoints
}

// Tracing configures OpenTelemetry traces of HTTP requests, answers, commits to the ledger and
// webhooks. They contain no tokens, names, addresses or contents of answers.
type Tracing struct {
	// URL of a collector that takes OTLP over HTTP, such as http://127.0.0.1:4318/v1/traces. The server drops traces that the collector does not accept. Empty: no traces.
	Endpoint string `yaml:"endpoint" check:"optional url" allowed:"http:// or https:// URL, file:PATH, credential:NAME"`
	// Percentage of requests, answers, commits and webhooks that are traced, each by chance. Higher: more traces and more CPU.
	SamplePercent float64 `yaml:"sample_percent" default:"1" range:"0..100"`
}
