package config

import (
	"time"

	"laststand/internal/leaderboard"
	"laststand/internal/ledger"
	"laststand/internal/nickname"
	"laststand/web"
)

// Game configures one game. The tags default have most defaults.
type Game struct {
	// Time zone of the game's days: the days of leaderboards and of pair_limit_per_day start at midnight in this zone.
	TimeZone string `yaml:"time_zone" default:"UTC" check:"zone" allowed:"a zone of the time zone database, such as Europe/Berlin"`
	// Whether players may create arenas. False: only clients whose token has the role host may.
	PlayersMayHost bool `yaml:"players_may_host" default:"true"`
	// Names of the question banks for duels and arenas.
	Banks []string `yaml:"banks" default:"[builtin]" allowed:"at least one name: builtin or an imported bank"`
	// Names of the question banks that are reserved for arenas of hosts (tokens of the role host). Duels and arenas of players never use these banks.
	HostBanks []string `yaml:"host_banks" default:"[]" allowed:"names that are not in banks"`
	// Keys that sign the game's tokens, the current key first. Empty: the server generates a key and stores it in the database.
	Keys       []Key `yaml:"keys"`
	TokenRules `yaml:",inline"`
	// Look of the game's page: name, logo and colours. The server refuses colours with too little contrast (WCAG 2.2, level AA).
	Page Page `yaml:"page"`
	// Rules of duels.
	Duel Duel `yaml:"duel"`
	// Rules of arenas.
	Arena Arena `yaml:"arena"`
	// Leaderboards of the game. A change rebuilds the leaderboards from the ledger.
	Leaderboards Leaderboards `yaml:"leaderboards"`
	// Queue of behaviours (events to report), and the sink that they are sent to.
	Behaviours Behaviours `yaml:"behaviours"`
	// Days that the server keeps answers and matches.
	Retention Retention `yaml:"retention"`
	// Words that nicknames, arena names and team names must not contain.
	Names Names `yaml:"names"`
	// Webhooks: endpoints that receive events of the game, such as settled matches.
	Webhooks []Webhook `yaml:"webhooks,omitempty"`
}

func (g Game) location() *time.Location {
	zone, err := time.LoadLocation(g.TimeZone)
	if err != nil {
		return time.UTC // Validate reports it
	}
	return zone
}

// Key configures a key that signs tokens of a game.
type Key struct {
	// Identifier of the key, unique in the game: the kid header of tokens.
	ID string `yaml:"id" allowed:"a unique name"`
	// Signature algorithm of the key.
	Alg string `yaml:"alg" allowed:"HS256, EdDSA"`
	// File with the key. A relative path starts at the folder of the configuration file. The server reads the file again every 5 s.
	SecretFile string `yaml:"secret_file" allowed:"a path, credential:NAME"`
}

// TokenRules configures what a game requires of its tokens, besides a valid signature.
type TokenRules struct {
	// Audience that the claim aud of every token must contain. Empty: tokens need no aud; an aud must contain the name of the game or laststand.
	TokenAudience string `yaml:"token_audience,omitempty" check:"audience" allowed:"1 to 255 ASCII characters without spaces"`
	// Maximum lifetime of a token, from iat to exp. Higher: a stolen token works longer. Lower: players log in more often. Empty: no limit.
	MaxTokenTTL string `yaml:"max_token_ttl,omitempty" range:"1m..87600h"`
}

// Page configures how the page of a game looks. Colors has the colours.
type Page struct {
	// Name of the game on its page, in the list of games and in the browser's tab. Empty: Laststand; the list shows the package name.
	Title string `yaml:"title" check:"optional title" allowed:"at most 40 characters"`
	// Image beside the title, and the icon in the browser's tab. A relative path starts at the folder of the configuration file. Empty: the emblem of Laststand.
	Logo string `yaml:"logo" allowed:"a path; PNG or JPEG of at most 50,000 bytes and 32 to 1,024 pixels"`
	// Colour of buttons and of what belongs to the player. Other colours follow from it.
	Accent string `yaml:"accent" allowed:"#rrggbb on which dark or white text has a contrast of 4.5:1"`
	// Background of the page on devices with light colours.
	Background string `yaml:"background" allowed:"#rrggbb on which dark text has a contrast of 4.5:1, and controls 3:1"`
	// Background of the page on devices with dark colours.
	DarkBackground string `yaml:"dark_background" allowed:"#rrggbb on which light text has a contrast of 4.5:1, and controls 3:1"`
}

// Duel configures the duels of a game. Keys with the suffix _ms are in milliseconds.
type Duel struct {
	// Number of questions in a duel.
	Questions int `yaml:"questions" default:"10" range:"1..100"`
	// Time to answer a question, in ms.
	TimeLimitMS int64 `yaml:"time_limit_ms" default:"15000" range:"500..600000"`
	// Time from the pairing of two players to the first question, in ms.
	CountdownMS int64 `yaml:"countdown_ms" default:"3000" range:"0..60000"`
	// Time from the close of a question to the next question, in ms. During this time players see the right answer.
	RevealMS int64 `yaml:"reveal_ms" default:"2500" range:"0..60000"`
	// Time after which a player without an opponent gets a bot as opponent, in ms. 0: never.
	BotAfterMS int64 `yaml:"bot_after_ms" default:"8000" range:"0..600000"`
	// Whether duels between two players change their ratings. Duels against a bot never do.
	Rated bool `yaml:"rated" default:"true"`
	// Maximum number of duels per day between the same two players that count for leaderboards and ratings. Later duels count for neither. 0: no limit.
	PairLimitPerDay int `yaml:"pair_limit_per_day" default:"5" range:"0..1000000"`
	// Whether a duel between two players with the same IP address (IPv6: the same /64) counts for leaderboards and ratings. Behind a proxy, set trusted_proxies before you set this to false.
	CountSameAddress bool `yaml:"count_same_address" default:"true"`
}

// Arena configures the arenas of a game. Keys with the suffix _ms are in milliseconds.
type Arena struct {
	// Time to answer a question if the arena sets no time limit, in ms.
	TimeLimitMS int64 `yaml:"time_limit_ms" default:"15000" range:"500..600000"`
	// Time from the start of the match to the first question, in ms.
	CountdownMS int64 `yaml:"countdown_ms" default:"3000" range:"0..60000"`
	// Time from the close of a question to the next question, in ms. If this is too short for a large arena, laststand_match_personal_results_skipped_total grows.
	RevealMS int64 `yaml:"reveal_ms" default:"2500" range:"0..60000"`
	// Maximum number of players in an arena. The embedded Redis allows at most 1,000.
	MaxPlayers int `yaml:"max_players" default:"10000" range:"2..100000"`
	// Time that a team must wait after a wrong answer in a buzzer match, in ms. 0: no wait; only that player may not answer the question again.
	TeamLockoutMS int64 `yaml:"team_lockout_ms" default:"2000" range:"0..600000"`
}

// Leaderboards configures the leaderboards of a game.
type Leaderboards struct {
	// Windows of the leaderboards: one leaderboard for each span of days.
	Windows []leaderboard.Window `yaml:"windows,flow" default:"[all, day, 7d, 30d]" allowed:"all, day, and Nd for N days"`
	// Orders (sort keys) in which clients can read a leaderboard.
	Orders []leaderboard.Order `yaml:"orders,flow" allowed:"value (required), score, accuracy, time, matches"`
	// Weights of the parts that make up the value of an entry. At least one weight must be above 0.
	Weights Weights `yaml:"weights"`
	// Minimum number of questions that an entry must have been asked to rank by accuracy or time. Higher: fewer entries rank by luck. 0: one question is enough.
	MinAnswers int64 `yaml:"min_answers" default:"20" range:"0..1000000"`
}

// Retention configures how many days of 24 hours the server keeps answers and matches. Leaderboards, totals and ratings
// never lose a result.
type Retention struct {
	// Days after the end of a match until its answers are deleted, with the questions as they were asked. At the latest, answers are deleted with their match. 0: with the match.
	AnswersDays int `yaml:"answers_days" default:"365" range:"0..36500"`
	// Days after the end of a match until it is deleted, with its standings. 0: never. Otherwise at least 7, because results may wait for an unreachable database.
	MatchesDays int `yaml:"matches_days" range:"0..36500"`
}

// minMatchesDays is the minimum of MatchesDays, except 0. The ledger refuses results that are older than MatchesDays.
const minMatchesDays = 7

func (r Retention) ledgerRetention() ledger.Retention {
	const day = 24 * time.Hour
	return ledger.Retention{Answers: time.Duration(r.AnswersDays) * day, Matches: time.Duration(r.MatchesDays) * day}
}

// Weights configures the value of an entry: the sum of each part times its weight. 0 means that
// the part does not count.
type Weights struct {
	// Weight of the score (sum of points).
	Score int64 `yaml:"score" default:"1" range:"0..1000000"`
	// Weight of the accuracy, a number from 0 to 10,000.
	Accuracy int64 `yaml:"accuracy" range:"0..1000000"`
	// Weight of the speed, a number from 0 to 10,000.
	Speed int64 `yaml:"speed" range:"0..1000000"`
	// Weight of the number of matches.
	Matches int64 `yaml:"matches" range:"0..1000000"`
}

// DefaultGame returns the configuration of a game that sets nothing.
func DefaultGame() Game {
	var g Game
	setDefaults(&g)
	colors := web.DefaultColors()
	g.Page.Accent, g.Page.Background, g.Page.DarkBackground = colors.Accent, colors.Background, colors.DarkBackground
	g.Leaderboards.Orders = leaderboard.Orders()
	g.Names.Blocklists = nickname.BuiltinLists()
	g.Behaviours.applyDefaults(false)
	return g
}

// Names configures the words that nicknames, arena names and team names must not contain.
type Names struct {
	// Built-in lists of refused words: names that players could mistake for staff, and a sample of insults. An empty list: no built-in list.
	Blocklists []string `yaml:"blocklists,flow" allowed:"staff_en, staff_zh, en, zh"`
	// Files with refused words: one word per line, at most 20,000 words and 2 MiB per file. Relative paths start at the folder of the configuration file.
	BlocklistFiles []string `yaml:"blocklist_files,flow,omitempty" allowed:"paths"`
	// Words and whole names that the server allows although a list refuses them.
	AllowedWords []string `yaml:"allowed_words,flow,omitempty" allowed:"at most 1000 words of 2 letters or more"`
}
