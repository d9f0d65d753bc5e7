package main

import "laststand/internal/httpserver"

// config is the configuration of the server. The configuration file overrides the defaults,
// the environment overrides the file, and flags override the environment. PROTOCOL.md,
// section 6, fixes most keys.
type config struct {
	// Address that serves players: HTTP and websockets. Port 0 picks a free port.
	Listen string `yaml:"listen" allowed:"host:port"`
	// Address that serves operators: metrics, profiles and the admin API. Keep this address private.
	OpsListen string `yaml:"ops_listen" allowed:"host:port"`
	// Folder for the embedded database, snapshots of nicknames and behaviour files, relative to the working directory.
	// May be empty if database is set; then the server stores no snapshots, and a start takes longer.
	Data string `yaml:"data" allowed:"a path"`
	// URL of the Redis that all nodes share. Empty: an embedded Redis, for one node only.
	Redis string `yaml:"redis" allowed:"redis://, rediss:// or redis+sentinel:// URL; several addresses or ?cluster=true: a cluster"`
	// URL of the PostgreSQL that all nodes share. Empty: an embedded SQLite, for one node only.
	Database string `yaml:"database" allowed:"postgres:// URL"`
	// Maximum time that a stopping server waits for running matches. Higher: fewer matches are aborted. Lower: a stop takes less time.
	Drain string `yaml:"drain" allowed:"0s to 1h"`
	// PEM file with the certificate chain for TLS on listen. The server reloads a changed file. Requires tls_key. Empty: no TLS.
	TLSCert string `yaml:"tls_cert" allowed:"a path"`
	// PEM file with the private key of tls_cert. Empty: no TLS.
	TLSKey string `yaml:"tls_key" allowed:"a path"`

	// Games (tenants) by package name. A game has its own players, question banks, leaderboards and behaviour queue.
	Games map[string]gameConfig `yaml:"games" allowed:"at least one"`
	// Limits on connections, requests, matches and load, per node or for all nodes together.
	Limits limitsConfig `yaml:"limits"`
	// Origins whose web pages may call this server. Pages that this server itself serves always may.
	Origins []string `yaml:"origins" allowed:"https://host"`
	// Proxies whose X-Forwarded-For and PROXY headers the server trusts. All players behind a proxy that is not listed count as one address.
	TrustedProxies []string `yaml:"trusted_proxies" allowed:"addresses or CIDR ranges"`
	// Audit log of the admin API.
	Audit auditConfig `yaml:"audit"`
	// Whether connections from trusted proxies start with a PROXY protocol header, version 1 or 2. With required, the server closes every connection without the header.
	ProxyProtocol string `yaml:"proxy_protocol" allowed:"off, optional, required"`

	filePath   string         // path of the configuration file; "": none
	fileFolder string         // folder of the configuration file; relative paths in secret_file and blocklist_files start here
	fileKeys   map[string]any // the keys that the file sets, without the defaults
	fileFaults error          // unknown keys and wrong types of the file; nil: none
}

// limitsConfig configures all limits of a node. 0 means no limit, except in connections and
// messages_per_second.
type limitsConfig struct {
	// Maximum number of websockets per node. The last 5% are reserved for players in a match. Connections of all kinds together may be 10% and 1,000 more.
	// Above the limit the node closes new websockets with 1013. Higher: more players and more memory.
	Connections int64 `yaml:"connections" range:"1..10000000"`
	// Maximum number of messages per second and websocket; a burst may be as large. Above the limit: error rate_limited; the third within 10 s closes the websocket with 4429.
	MessagesPerSecond float64 `yaml:"messages_per_second" range:"1..10000"`

	requestLimits    `yaml:",inline"`
	connectionLimits `yaml:",inline"`
	matchLimits      `yaml:",inline"`
}

// defaults returns the configuration of a server without a configuration file.
func defaults() config {
	return config{
		Listen: "127.0.0.1:8080", OpsListen: "127.0.0.1:8081", Data: "data", Drain: "20s",
		Games:         map[string]gameConfig{"demo": defaultGame()},
		Limits:        limitsConfig{Connections: 100_000, MessagesPerSecond: 20, requestLimits: defaultRequestLimits(), connectionLimits: defaultConnectionLimits(), matchLimits: defaultMatchLimits()},
		ProxyProtocol: string(httpserver.ProxyOff),
		Audit:         auditConfig{RetentionDays: 400},
	}
}
