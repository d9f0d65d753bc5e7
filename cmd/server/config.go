package main

import "laststand/internal/proxies"

// config is the configuration of the server: the defaults, overridden by the configuration
// file, then by the environment, then by the flags. The wire contract, section 6, fixes most
// names.
type config struct {
	// Address for players: HTTP and websockets. Port 0 picks a free port.
	Listen string `yaml:"listen" allowed:"host:port"`
	// Address for operators: metrics, profiles and the admin API. Keep this address private.
	OpsListen string `yaml:"ops_listen" allowed:"host:port"`
	// Folder of the embedded database, of name snapshots and of behaviour files, relative to the working directory.
	// May be empty when database is set; then no name snapshots are kept and a start takes longer.
	Data string `yaml:"data" allowed:"a path"`
	// Redis that all nodes share. Empty: an embedded Redis, for one node only.
	Redis string `yaml:"redis" allowed:"redis://, rediss:// or redis+sentinel:// URL; several addresses or ?cluster=true: a cluster"`
	// PostgreSQL that all nodes share. Empty: an embedded SQLite, for one node only.
	Database string `yaml:"database" allowed:"postgres:// URL"`
	// Longest time that a stopping server waits for running matches. Higher: fewer matches are cut off. Lower: a stop takes less time.
	Drain string `yaml:"drain" allowed:"0s to 1h"`
	// Certificate chain in PEM for TLS on listen, read again when the file changes. Needs tls_key. Empty: no TLS.
	TLSCert string `yaml:"tls_cert" allowed:"a path"`
	// Private key in PEM of tls_cert.
	TLSKey string `yaml:"tls_key" allowed:"a path"`

	// Games (tenants) by package name. A game has its own players, question banks, leaderboards and behaviour queue.
	Games map[string]game `yaml:"games" allowed:"at least one"`
	// Limits of each node and of all nodes together.
	Limits limits `yaml:"limits"`
	// Origins whose pages may call this server, besides pages of the same host.
	Origins []string `yaml:"origins" allowed:"https://host"`
	// Proxies whose X-Forwarded-For and PROXY headers the server believes. Without them all players behind a proxy count as one address.
	TrustedProxies []string `yaml:"trusted_proxies" allowed:"addresses or CIDR ranges"`
	// Audit log of the admin API.
	Audit auditConfig `yaml:"audit"`
	// PROXY protocol, version 1 or 2, on connections of trusted proxies. With required, the server closes every connection without the header.
	ProxyProtocol string `yaml:"proxy_protocol" allowed:"off, optional, required"`

	file     string         // it was read from; "": none
	dir      string         // that relative secret files start from
	fileKeys map[string]any // what the file itself sets
}

type limits struct {
	// Websockets of a node. The last twentieth is kept for players in a match. Connections of any kind get a tenth and 1,000 more.
	// Higher: more players and more memory. Lower: newcomers are closed with 1013 earlier.
	Connections int64 `yaml:"connections" range:"1..10000000"`
	// Messages per second of one websocket, with as many at once. Beyond it: error rate_limited; the third in 10 s closes the websocket with 4429.
	MessagesPerSecond float64 `yaml:"messages_per_second" range:"1..10000"`

	requestLimits    `yaml:",inline"`
	connectionLimits `yaml:",inline"`
	matchLimits      `yaml:",inline"`
}

// defaults returns the configuration of a server without a configuration file.
func defaults() config {
	return config{
		Listen: "127.0.0.1:8080", OpsListen: "127.0.0.1:8081", Data: "data", Drain: "20s",
		Games:         map[string]game{"demo": defaultGame()},
		Limits:        limits{Connections: 100_000, MessagesPerSecond: 20, requestLimits: defaultRequestLimits(), connectionLimits: defaultConnectionLimits(), matchLimits: defaultMatchLimits()},
		ProxyProtocol: string(proxies.Off),
		Audit:         auditConfig{RetentionDays: 400},
	}
}
