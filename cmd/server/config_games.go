package main

import "laststand/internal/leaderboard"

type game struct {
	// Time zone in which the days of the game's leaderboards and limits turn.
	TimeZone string `yaml:"time_zone" allowed:"a zone of the time zone database, such as Europe/Berlin"`
	// Whether players may create arenas. False: only tokens of the role host may.
	PlayersMayHost bool `yaml:"players_may_host"`
	// Question banks for duels and arenas.
	Banks []string `yaml:"banks" allowed:"at least one name: builtin or an imported bank"`
	// Question banks only for arenas of tokens of the role host. Duels and players' arenas never draw from these banks.
	HostBanks []string `yaml:"host_banks" allowed:"names that are not in banks"`
	// Keys that sign the game's tokens, the current one first. Empty: the server generates a key and keeps it in the database.
	Keys       []gameKey `yaml:"keys"`
	tokenRules `yaml:",inline"`
	// Rules of duels.
	Duel duel `yaml:"duel"`
	// Rules of arenas.
	Arena arenaRules `yaml:"arena"`
	// Leaderboards of the game. A change rebuilds the leaderboards from the ledger.
	Leaderboards boards `yaml:"leaderboards"`
	// Queue of behaviours (events to report) and where the queue sends them.
	Behaviours behaviours `yaml:"behaviours"`
	// Words that nicknames must not contain.
	Names gameNames `yaml:"names"`
	// Endpoints that receive events of the game.
	Webhooks []webhookConfig `yaml:"webhooks,omitempty"`
}

type gameKey struct {
	// Identifier of the key: the kid of tokens.
	ID string `yaml:"id" allowed:"a unique name"`
	// Signature algorithm of the key.
	Alg string `yaml:"alg" allowed:"HS256, EdDSA"`
	// File with the key, relative to the configuration file. The server reads the file again every 5 s.
	SecretFile string `yaml:"secret_file" allowed:"a path"`
}

type duel struct {
	// Questions of a duel.
	Questions int `yaml:"questions" range:"1..100"`
	// Time to answer a question.
	TimeLimitMS int64 `yaml:"time_limit_ms" range:"500..600000"`
	// Time from the pairing to the first question.
	CountdownMS int64 `yaml:"countdown_ms" range:"0..60000"`
	// Time from the close of a question to the next question.
	RevealMS int64 `yaml:"reveal_ms" range:"0..60000"`
	// Wait after which a player without an opponent plays a bot. 0: never.
	BotAfterMS int64 `yaml:"bot_after_ms" range:"0..600000"`
	// Whether duels between players change their ratings.
	Rated bool `yaml:"rated"`
	// Duels of the same two players on one day that count for leaderboards and ratings. Later ones count for neither. 0: no limit.
	PairLimitPerDay int `yaml:"pair_limit_per_day" range:"0..1000000"`
	// Whether a duel between two players at one address (IPv6: one /64) counts for leaderboards and ratings. Set trusted_proxies before false.
	CountSameAddress bool `yaml:"count_same_address"`
}

type arenaRules struct {
	// Time to answer a question, when the arena sets none.
	TimeLimitMS int64 `yaml:"time_limit_ms" range:"500..600000"`
	// Time from the start to the first question.
	CountdownMS int64 `yaml:"countdown_ms" range:"0..60000"`
	// Time from the close of a question to the next question. Too short for a large arena: laststand_match_personal_results_skipped_total grows.
	RevealMS int64 `yaml:"reveal_ms" range:"0..60000"`
	// Players of an arena. The embedded Redis admits at most 1,000.
	MaxPlayers int `yaml:"max_players" range:"2..100000"`
	// Time that a team must wait after a wrong answer in a buzzer match. 0: only the player who was wrong is out.
	TeamLockoutMS int64 `yaml:"team_lockout_ms" range:"0..600000"`
}

type boards struct {
	// Windows of days that a leaderboard sums.
	Windows []leaderboard.Window `yaml:"windows,flow" allowed:"all, day, and Nd for N days"`
	// Orders in which a leaderboard can be read.
	Orders []leaderboard.Order `yaml:"orders,flow" allowed:"value (required), score, accuracy, time, matches"`
	// Weights of the parts of an entry's value. At least one must be above 0.
	Weights weights `yaml:"weights"`
	// Questions that an entry must have been asked to rank by accuracy or time. Higher: fewer entries that rank by luck.
	MinAnswers int64 `yaml:"min_answers" range:"0..1000000"`
}

type weights struct {
	// Weight of the score.
	Score int64 `yaml:"score" range:"0..1000000"`
	// Weight of the accuracy (0 to 10,000).
	Accuracy int64 `yaml:"accuracy" range:"0..1000000"`
	// Weight of the speed (0 to 10,000).
	Speed int64 `yaml:"speed" range:"0..1000000"`
	// Weight of the number of matches.
	Matches int64 `yaml:"matches" range:"0..1000000"`
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
