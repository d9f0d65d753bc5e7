package protocol

import "encoding/json"

// The types of an arena's messages.
const (
	TypeArenaJoin   = "arena.join"
	TypeArenaLeave  = "arena.leave"
	TypeArenaStart  = "arena.start"
	TypeArenaClose  = "arena.close"
	TypeArenaLock   = "arena.lock"
	TypeArenaNext   = "arena.next"
	TypeArenaKick   = "arena.kick"
	TypeArenaJoined = "arena.joined"
	TypeArenaLeft   = "arena.left"
	TypeArenaOK     = "arena.ok"
	TypeArenaLobby  = "arena.lobby"
	TypeArenaKicked = "arena.kicked"
	TypeArenaClosed = "arena.closed"
	TypeOwn         = "own"
)

// NewArena is the body that makes an arena over HTTP.
type NewArena struct {
	Mode        string         `json:"mode" need:"true"`
	Name        string         `json:"name" need:"true"`
	Teams       []ArenaTeam    `json:"teams,omitempty"`
	Questions   ArenaQuestions `json:"questions" need:"true"`
	TimeLimitMS *int64         `json:"time_limit_ms,omitempty"`
	Pace        string         `json:"pace" need:"true"`
	MaxPlayers  *int           `json:"max_players,omitempty"`
	Ranked      bool           `json:"ranked,omitempty"`
}

// ArenaTeam is a side to take.
type ArenaTeam struct {
	ID   string `json:"id" need:"true"`
	Name string `json:"name" need:"true"`
}

// ArenaQuestions says what an arena asks: the questions of the ids in their
// order, or as many as Count drawn by the wishes.
type ArenaQuestions struct {
	Count      int      `json:"count"`
	Bank       string   `json:"bank,omitempty"`
	IDs        []string `json:"ids,omitempty"`
	Category   string   `json:"category,omitempty"`
	Lang       string   `json:"lang,omitempty"`
	Difficulty string   `json:"difficulty,omitempty"`
}

// ArenaMade answers the making of an arena.
type ArenaMade struct {
	ArenaID string `json:"arena_id"`
	Code    string `json:"code"`
	JoinURL string `json:"join_url"`
}

// ArenaLook is an arena as anyone with its code sees it over HTTP.
type ArenaLook struct {
	ArenaID string      `json:"arena_id"`
	Name    string      `json:"name"`
	Mode    string      `json:"mode"`
	State   string      `json:"state"` // lobby, playing or over
	Teams   []TeamCount `json:"teams"`
	Players int64       `json:"players"`
}

// TeamCount is a team and how many players it has.
type TeamCount struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Players int64  `json:"players"`
}

// ArenaJoin asks for a place in an arena. As is player where it is "".
type ArenaJoin struct {
	Code string `json:"code" need:"true"`
	Team string `json:"team,omitempty"`
	As   string `json:"as,omitempty"`
}

// ArenaJoined answers arena.join. Match is there once it has begun.
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
}

// ArenaRef names an arena: the data of arena.leave, start, close and lock.
type ArenaRef struct {
	ArenaID string `json:"arena_id" need:"true"`
}

// ArenaNext goes on from question After, -1 before the first.
type ArenaNext struct {
	ArenaID string `json:"arena_id" need:"true"`
	After   int    `json:"after" need:"true"`
}

// ArenaKick takes a player's seat away, with Ban for good.
type ArenaKick struct {
	ArenaID string `json:"arena_id" need:"true"`
	Player  string `json:"player" need:"true"`
	Ban     bool   `json:"ban,omitempty"`
}

// ArenaLobby says who is there before an arena begins.
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

// Own tells a player of a match of over 50 what a question did to them. Given
// and ElapsedMS are null where there was no answer.
type Own struct {
	Match     string          `json:"match"`
	Question  int             `json:"question"`
	Given     json.RawMessage `json:"given"`
	Correct   bool            `json:"correct"`
	ElapsedMS *int64          `json:"elapsed_ms"`
	Points    int64           `json:"points"`
	Score     int64           `json:"score"`
	Rank      int64           `json:"rank"`
	Out       bool            `json:"out,omitempty"`
}
