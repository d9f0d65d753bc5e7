package protocol

import "encoding/json"

// The types of an arena's messages.
const (
	TypeArenaJoin     = "arena.join"
	TypeArenaLeave    = "arena.leave"
	TypeArenaStart    = "arena.start"
	TypeArenaClose    = "arena.close"
	TypeArenaLock     = "arena.lock"
	TypeArenaNext     = "arena.next"
	TypeArenaKick     = "arena.kick"
	TypeArenaExtend   = "arena.extend"
	TypeArenaJoined   = "arena.joined"
	TypeArenaLeft     = "arena.left"
	TypeArenaOK       = "arena.ok"
	TypeArenaExtended = "arena.extended"
	TypeArenaLobby    = "arena.lobby"
	TypeArenaKicked   = "arena.kicked"
	TypeArenaClosed   = "arena.closed"
	TypeOwn           = "own"
	TypeOwnDeadline   = "own.deadline"
)

// NewArena is the body of the HTTP request that creates an arena. A nil TimeLimitMS or
// MaxPlayers means the game's default. Scoring and LateJoin are for races; a nil Scoring
// means 100 points by speed. LateJoin is no or zero; "" means no. A question accepts
// answers ReadingMS after it has opened.
type NewArena struct {
	Mode        string         `json:"mode" need:"true"`
	Name        string         `json:"name" need:"true"`
	Teams       []ArenaTeam    `json:"teams,omitempty"`
	Questions   ArenaQuestions `json:"questions" need:"true"`
	TimeLimitMS *int64         `json:"time_limit_ms,omitempty"`
	Pace        string         `json:"pace" need:"true"`
	MaxPlayers  *int           `json:"max_players,omitempty"`
	Ranked      bool           `json:"ranked,omitempty"`
	Scoring     *NewScoring    `json:"scoring,omitempty"`
	LateJoin    string         `json:"late_join,omitempty"`
	ReadingMS   int64          `json:"reading_ms,omitempty"`
}

// NewScoring is the scoring of a new race, see Scoring. A nil Points means 100.
type NewScoring struct {
	Preset  string `json:"preset" need:"true"`
	Points  *int64 `json:"points,omitempty"`
	Penalty int64  `json:"penalty,omitempty"`
	Streak  int64  `json:"streak,omitempty"`
	Partial bool   `json:"partial,omitempty"`
}

// ArenaTeam is a team that players of an arena can join.
type ArenaTeam struct {
	ID   string `json:"id" need:"true"`
	Name string `json:"name" need:"true"`
}

// ArenaQuestions chooses the questions of an arena: either those with IDs or in Items, in
// that order, or Count random ones of the category, language and difficulty; "" means
// any.
type ArenaQuestions struct {
	Count      int         `json:"count"`
	Bank       string      `json:"bank,omitempty"`
	IDs        []string    `json:"ids,omitempty"`
	Items      []ArenaItem `json:"items,omitempty"`
	Category   string      `json:"category,omitempty"`
	Lang       string      `json:"lang,omitempty"`
	Difficulty string      `json:"difficulty,omitempty"`
}

// ArenaItem is one question with its own settings. A nil TimeLimitMS means that of the
// arena. Points multiplies the points of its answers in a race: 0, 1 or 2; nil means 1.
type ArenaItem struct {
	ID          string `json:"id" need:"true"`
	TimeLimitMS *int64 `json:"time_limit_ms,omitempty"`
	Points      *int64 `json:"points,omitempty"`
}

// ArenaMade is the reply to the request that creates an arena.
type ArenaMade struct {
	ArenaID string `json:"arena_id"`
	Code    string `json:"code"`
	JoinURL string `json:"join_url"`
}

// ArenaLook is the public state of an arena. Anyone with its join code can read it over
// HTTP.
type ArenaLook struct {
	ArenaID  string      `json:"arena_id"`
	Name     string      `json:"name"`
	Mode     string      `json:"mode"`
	State    string      `json:"state"` // lobby, playing or over
	Teams    []TeamCount `json:"teams"`
	Players  int64       `json:"players"`
	LateJoin string      `json:"late_join,omitempty"` // zero: players may join during the match
}

// HostedArena is an arena in the list of its host. Match is the id of its match, "" before
// the match starts, and for an arena that ended without one.
type HostedArena struct {
	ArenaID   string `json:"arena_id"`
	Name      string `json:"name"`
	Mode      string `json:"mode"`
	State     string `json:"state"` // lobby, playing or over
	CreatedAt int64  `json:"created_at"`
	Players   int64  `json:"players"`
	Match     string `json:"match,omitempty"`
}

// TeamCount is a team and its number of players.
type TeamCount struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Players int64  `json:"players"`
}

// ArenaJoin is the data of arena.join. As is the role: player, spectator or host; ""
// means player.
type ArenaJoin struct {
	Code string `json:"code" need:"true"`
	Team string `json:"team,omitempty"`
	As   string `json:"as,omitempty"`
}

// ArenaJoined is the reply to arena.join. Match is the match's id, "" before it starts. Only
// the host gets Extra.
type ArenaJoined struct {
	ArenaID string      `json:"arena_id"`
	Mode    string      `json:"mode"`
	Name    string      `json:"name"`
	As      string      `json:"as"`
	Team    string      `json:"team,omitempty"`
	Teams   []TeamCount `json:"teams"`
	Players int64       `json:"players"`
	State   string      `json:"state"`
	Match   string      `json:"match,omitempty"`
	Extra   []ExtraTime `json:"extra,omitempty"`
}

// ExtraTime is a player with a longer time limit: by Percent of the limit.
type ExtraTime struct {
	Player   string `json:"player"`
	Nickname string `json:"nickname"`
	Percent  int64  `json:"percent"`
}

// ArenaRef names an arena. It is the data of arena.leave, arena.start, arena.close and
// arena.lock.
type ArenaRef struct {
	ArenaID string `json:"arena_id" need:"true"`
}

// ArenaNext is the data of arena.next, with which a host opens the question that follows
// question After. Questions count from 0; After is -1 to open the first one.
type ArenaNext struct {
	ArenaID string `json:"arena_id" need:"true"`
	After   int    `json:"after" need:"true"`
}

// ArenaKick is the data of arena.kick, which removes a player from the arena. If Ban is
// true, the player cannot join it again.
type ArenaKick struct {
	ArenaID string `json:"arena_id" need:"true"`
	Player  string `json:"player" need:"true"`
	Ban     bool   `json:"ban,omitempty"`
}

// ArenaExtend is the data of arena.extend, which gives a player extra time. It names the
// player by either Player, the id, or Nickname. Percent is 0, 25, 50 or 100.
type ArenaExtend struct {
	ArenaID  string `json:"arena_id" need:"true"`
	Player   string `json:"player,omitempty"`
	Nickname string `json:"nickname,omitempty"`
	Percent  int64  `json:"percent" need:"true"`
}

// ArenaExtended is the reply to arena.extend: all players of the arena with extra time.
type ArenaExtended struct {
	Extra []ExtraTime `json:"extra"`
}

// ArenaLobby is the push with the numbers of players who wait before an arena's match
// starts.
type ArenaLobby struct {
	ArenaID string      `json:"arena_id"`
	Teams   []TeamCount `json:"teams"`
	Players int64       `json:"players"`
}

// ArenaEnd is the data of arena.kicked and arena.closed.
type ArenaEnd struct {
	ArenaID string `json:"arena_id"`
	Reason  string `json:"reason"`
}

// OwnDeadline is the push to a player with extra time that a question closes at ClosesAt for
// that player. This is Extra percent of the limit after the closes_at of the others.
type OwnDeadline struct {
	Match    string `json:"match"`
	Question int    `json:"question"`
	ClosesAt int64  `json:"closes_at"`
	Extra    int64  `json:"extra"`
}

// Own is the push with a player's own result of a question, in a match of more than 50
// players. Given and ElapsedMS are null if the player sent no answer. ToNext is how many
// points the player of a race is behind the next higher score.
type Own struct {
	Match     string          `json:"match"`
	Question  int             `json:"question"`
	Given     json.RawMessage `json:"given"`
	Correct   bool            `json:"correct"`
	ElapsedMS *int64          `json:"elapsed_ms"`
	Points    int64           `json:"points"`
	Score     int64           `json:"score"`
	Rank      int64           `json:"rank"`
	ToNext    int64           `json:"to_next,omitempty"`
	Out       bool            `json:"out,omitempty"`
}
