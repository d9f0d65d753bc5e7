package main

import (
	"laststand/internal/leaderboard"
	"laststand/internal/proxies"
)

// config is what the server runs by: the configuration file, over it the
// environment and the flags, under it the defaults. Field names are those of
// the wire contract, section 6.
type config struct {
	Listen    string `yaml:"listen"`
	OpsListen string `yaml:"ops_listen"`
	Data      string `yaml:"data"`
	Redis     string `yaml:"redis"`
	Database  string `yaml:"database"`
	Drain     string `yaml:"drain"`
	TLSCert   string `yaml:"tls_cert"`
	TLSKey    string `yaml:"tls_key"`

	Games          map[string]game `yaml:"games"`
	Limits         limits          `yaml:"limits"`
	Origins        []string        `yaml:"origins"`
	TrustedProxies []string        `yaml:"trusted_proxies"`
	Audit          auditing        `yaml:"audit"`
	ProxyProtocol  string          `yaml:"proxy_protocol"`

	file string         // it was read from; "": none
	dir  string         // that relative secret files start from
	said map[string]any // what the file itself sets
}

type game struct {
	TimeZone       string    `yaml:"time_zone"`
	PlayersMayHost bool      `yaml:"players_may_host"`
	Banks          []string  `yaml:"banks"`
	HostBanks      []string  `yaml:"host_banks"` // for arenas of the role host only; no duel draws from them
	Keys           []gameKey `yaml:"keys"`
	tokenRules     `yaml:",inline"`
	Duel           duel       `yaml:"duel"`
	Arena          arenaRules `yaml:"arena"`
	Leaderboards   boards     `yaml:"leaderboards"`
	Behaviours     behaviours `yaml:"behaviours"`
	Names          gameNames  `yaml:"names"`
	Webhooks       []hook     `yaml:"webhooks,omitempty"`
}

type gameKey struct {
	ID         string `yaml:"id"`
	Alg        string `yaml:"alg"`
	SecretFile string `yaml:"secret_file"`
}

type duel struct {
	Questions       int   `yaml:"questions"`
	TimeLimitMS     int64 `yaml:"time_limit_ms"`
	CountdownMS     int64 `yaml:"countdown_ms"`
	RevealMS        int64 `yaml:"reveal_ms"`
	BotAfterMS      int64 `yaml:"bot_after_ms"`
	Rated           bool  `yaml:"rated"`
	PairLimitPerDay int   `yaml:"pair_limit_per_day"`

	CountSameAddress bool `yaml:"count_same_address"`
}

type arenaRules struct {
	TimeLimitMS   int64 `yaml:"time_limit_ms"`
	CountdownMS   int64 `yaml:"countdown_ms"`
	RevealMS      int64 `yaml:"reveal_ms"`
	MaxPlayers    int   `yaml:"max_players"`
	TeamLockoutMS int64 `yaml:"team_lockout_ms"`
}

type boards struct {
	Windows    []leaderboard.Window `yaml:"windows,flow"`
	Orders     []leaderboard.Order  `yaml:"orders,flow"`
	Weights    weights              `yaml:"weights"`
	MinAnswers int64                `yaml:"min_answers"`
}

type weights struct {
	Score    int64 `yaml:"score"`
	Accuracy int64 `yaml:"accuracy"`
	Speed    int64 `yaml:"speed"`
	Matches  int64 `yaml:"matches"`
}

type limits struct {
	Connections       int64   `yaml:"connections"`
	MessagesPerSecond float64 `yaml:"messages_per_second"`

	entranceLimits   `yaml:",inline"`
	connectionLimits `yaml:",inline"`
	matchLimits      `yaml:",inline"`
}

// defaults is the configuration of a server that nobody configured.
func defaults() config {
	return config{
		Listen: "127.0.0.1:8080", OpsListen: "127.0.0.1:8081", Data: "data", Drain: "20s",
		Games:         map[string]game{"demo": defaultGame()},
		Limits:        limits{Connections: 100_000, MessagesPerSecond: 20, entranceLimits: defaultEntranceLimits(), connectionLimits: defaultConnectionLimits(), matchLimits: defaultMatchLimits()},
		ProxyProtocol: string(proxies.Off),
		Audit:         auditing{KeepDays: 400},
	}
}

func defaultGame() game {
	g := game{
		TimeZone: "UTC", PlayersMayHost: true, Banks: []string{"builtin"}, HostBanks: []string{},
		Duel:  duel{Questions: 10, TimeLimitMS: 15_000, CountdownMS: 3000, RevealMS: 2500, BotAfterMS: 8000, Rated: true, PairLimitPerDay: 5, CountSameAddress: true},
		Arena: arenaRules{TimeLimitMS: 15_000, CountdownMS: 3000, RevealMS: 2500, MaxPlayers: 10_000, TeamLockoutMS: 2000},
		Leaderboards: boards{
			Windows: []leaderboard.Window{leaderboard.All, leaderboard.Day, "7d", "30d"}, Orders: leaderboard.Orders(),
			Weights: weights{Score: 1}, MinAnswers: 20,
		},
		Names: defaultNames(),
	}
	g.Behaviours.fill(false)
	return g
}
